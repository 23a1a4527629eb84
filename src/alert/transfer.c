/* SPDX-License-Identifier: Apache-2.0 */
#include "alert/transfer.h"

#include <errno.h>
#include <pthread.h>

#include "alert/prose.h"
#include "base/mem.h"
#include "base/num.h"

/* --- libcurl's memory --- */

static void *take(size_t n)
{
    return mem_alloc(n);
}

static void *retake(void *p, size_t n)
{
    return mem_realloc(p, n);
}

static void *take_zeroed(size_t count, size_t size)
{
    return mem_zalloc(count, size);
}

static char *duplicate(const char *s)
{
    return mem_strdup(s);
}

static int global_error;

static void global_init(void)
{
    CURLcode code =
        curl_global_init_mem(CURL_GLOBAL_DEFAULT, take, mem_free, retake, duplicate, take_zeroed);
    global_error = code == CURLE_OK ? 0 : code == CURLE_OUT_OF_MEMORY ? -ENOMEM : -EIO;
}

int transfer_global_init(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, global_init);
    return global_error;
}

/* --- what comes and goes --- */

static void keep(struct transfer *t, struct span part)
{
    size_t room = TRANSPORT_ANSWER_MAX - buf_len(&t->answer);
    t->is_cut = t->is_cut || part.n > room;
    if (buf_append(&t->answer, span_of(part.p, part.n < room ? part.n : room)) < 0)
        t->is_cut = true;
}

static size_t on_answer(char *p, size_t size, size_t n, void *ctx)
{
    struct transfer *t = ctx;
    keep(t, span_of(p, size * n));
    return t->is_cut ? 0 : size * n;
}

/* A line of SMTP: those that refuse something are kept. */
static size_t on_smtp_line(char *p, size_t size, size_t n, void *ctx)
{
    struct transfer *t = ctx;
    struct span line = span_of(p, size * n);
    while (line.n > 0 && (line.p[line.n - 1] == '\n' || line.p[line.n - 1] == '\r'))
        line.n--;
    if (line.n >= 3 && (line.p[0] == '4' || line.p[0] == '5')) {
        if (buf_len(&t->answer) > 0)
            keep(t, SPAN("; "));
        keep(t, line);
    }
    return size * n;
}

static size_t on_mail(char *p, size_t size, size_t n, void *ctx)
{
    struct transfer *t = ctx;
    size_t room = size * n;
    struct span part = span_take(&t->unsent, t->unsent.n < room ? t->unsent.n : room);
    if (part.n > 0)
        memcpy(p, part.p, part.n);
    return part.n;
}

/* --- options --- */

#define SET(t, option, value)                                                                      \
    do {                                                                                           \
        if ((t)->setup == CURLE_OK)                                                                \
            (t)->setup = curl_easy_setopt((t)->easy, option, value);                               \
    } while (0)

static bool is_one_line(struct span s)
{
    for (size_t i = 0; i < s.n; i++)
        if ((unsigned char)s.p[i] < ' ' || s.p[i] == 0x7f)
            return false;
    return true;
}

/* s as a C string; NULL, with t->setup set, where it is none or there is no memory. */
static const char *text(struct transfer *t, struct span s)
{
    struct span copy = is_one_line(s) ? arena_dup(&t->arena, s) : SPAN("");
    if (t->setup == CURLE_OK && !is_one_line(s))
        t->setup = CURLE_BAD_FUNCTION_ARGUMENT;
    else if (t->setup == CURLE_OK && !copy.p)
        t->setup = CURLE_OUT_OF_MEMORY;
    return t->setup == CURLE_OK ? copy.p : NULL;
}

static void set_text(struct transfer *t, CURLoption option, struct span s)
{
    const char *value = s.n > 0 ? text(t, s) : NULL; /* first: it may set t->setup */
    if (value)
        SET(t, option, value);
}

static void add_line(struct transfer *t, struct curl_slist **list, const char *line)
{
    struct curl_slist *more = line ? curl_slist_append(*list, line) : NULL;
    if (more)
        *list = more;
    else if (t->setup == CURLE_OK)
        t->setup = CURLE_OUT_OF_MEMORY;
}

static void add_header(struct transfer *t, struct span name, struct span value)
{
    struct buf b;
    buf_init(&b, 1 << 20);
    /* "Name;" is how libcurl is told of an empty one. */
    int r = value.n > 0 ? buf_printf(&b, "%.*s: %.*s", SPAN_ARG(name), SPAN_ARG(value))
                        : buf_printf(&b, "%.*s;", SPAN_ARG(name));
    if (r < 0 && t->setup == CURLE_OK)
        t->setup = CURLE_OUT_OF_MEMORY;
    add_line(t, &t->headers, text(t, buf_span(&b)));
    buf_done(&b);
}

static long timeout_ms(const struct receiver_request *r)
{
    return (long)(r->timeout_ms > 0 ? r->timeout_ms : TRANSPORT_TIMEOUT_MS);
}

static void set_common(struct transfer *t)
{
    const struct receiver_request *r = t->request;
    SET(t, CURLOPT_NOSIGNAL, 1L);
    SET(t, CURLOPT_QUICK_EXIT, 1L);
    SET(t, CURLOPT_ERRORBUFFER, t->error);
    SET(t, CURLOPT_TIMEOUT_MS, timeout_ms(r));
    SET(t, CURLOPT_PRIVATE, (char *)t);
    SET(t, CURLOPT_WRITEFUNCTION, on_answer);
    SET(t, CURLOPT_WRITEDATA, t);
    if (r->tls.skips_verification) {
        SET(t, CURLOPT_SSL_VERIFYPEER, 0L);
        SET(t, CURLOPT_SSL_VERIFYHOST, 0L);
    }
    if (r->tls.ca_file.n > 0) {
        SET(t, CURLOPT_CAPATH, NULL);         /* its issuers, and no others */
        SET(t, CURLOPT_CA_CACHE_TIMEOUT, 0L); /* as they are now */
    }
    set_text(t, CURLOPT_CAINFO, r->tls.ca_file);
    set_text(t, CURLOPT_SSLCERT, r->tls.cert_file);
    set_text(t, CURLOPT_SSLKEY, r->tls.key_file);
    set_text(t, CURLOPT_PROXY, r->proxy_url);
}

static void set_http(struct transfer *t)
{
    const struct receiver_request *r = t->request;
    set_text(t, CURLOPT_URL, r->url);
    SET(t, CURLOPT_PROTOCOLS_STR, "http,https");
    SET(t, CURLOPT_FOLLOWLOCATION, 0L);
    SET(t, CURLOPT_FORBID_REUSE, 1L);
    SET(t, CURLOPT_FRESH_CONNECT, 1L);
    SET(t, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
    SET(t, CURLOPT_POST, 1L);
    SET(t, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)r->body.n);
    SET(t, CURLOPT_POSTFIELDS, r->body.p);
    add_header(t, SPAN("User-Agent"), SPAN("inferometer"));
    add_header(t, SPAN("Content-Type"), r->content_type);
    add_line(t, &t->headers, "Expect:"); /* no waiting for 100 */
    for (size_t i = 0; i < r->n_headers; i++)
        add_header(t, r->headers[i].name, r->headers[i].value);
    SET(t, CURLOPT_HTTPHEADER, t->headers);
}

static void set_mail(struct transfer *t)
{
    const struct receiver_request *r = t->request;
    struct buf url;
    buf_init(&url, 4096);
    if (buf_printf(&url, "%.*s/%.*s", SPAN_ARG(r->url), SPAN_ARG(r->hello)) < 0)
        t->setup = CURLE_OUT_OF_MEMORY;
    set_text(t, CURLOPT_URL, buf_span(&url));
    buf_done(&url);
    SET(t, CURLOPT_PROTOCOLS_STR, "smtp,smtps");
    SET(t, CURLOPT_USE_SSL, (long)(r->needs_tls ? CURLUSESSL_ALL : CURLUSESSL_NONE));
    set_text(t, CURLOPT_MAIL_FROM, r->from);
    for (size_t i = 0; i < r->n_to; i++)
        add_line(t, &t->to, text(t, r->to[i]));
    SET(t, CURLOPT_MAIL_RCPT, t->to);
    SET(t, CURLOPT_MAIL_RCPT_ALLLOWFAILS, 1L); /* those who can be told are told */
    set_text(t, CURLOPT_USERNAME, r->user);
    set_text(t, CURLOPT_PASSWORD, r->password);
    SET(t, CURLOPT_SERVER_RESPONSE_TIMEOUT, timeout_ms(r) / 1000 + 1); /* 2 min of its own */
    SET(t, CURLOPT_UPLOAD, 1L);
    SET(t, CURLOPT_INFILESIZE_LARGE, (curl_off_t)r->body.n);
    SET(t, CURLOPT_READFUNCTION, on_mail);
    SET(t, CURLOPT_READDATA, t);
    SET(t, CURLOPT_HEADERFUNCTION, on_smtp_line);
    SET(t, CURLOPT_HEADERDATA, t);
    t->unsent = r->body;
}

int transfer_new(const struct receiver_request *r, struct transfer **ret)
{
    struct transfer *t = mem_zalloc(1, sizeof(*t));
    if (!t)
        return -ENOMEM;
    list_init(&t->node);
    t->request = r;
    arena_init(&t->arena, NULL);
    buf_init(&t->answer, TRANSPORT_ANSWER_MAX);
    t->easy = curl_easy_init();
    if (!t->easy)
        t->setup = CURLE_OUT_OF_MEMORY;
    if (t->setup == CURLE_OK)
        set_common(t);
    if (t->setup == CURLE_OK && r->kind == REQUEST_MAIL)
        set_mail(t);
    else if (t->setup == CURLE_OK)
        set_http(t);
    if (t->setup == CURLE_OK) {
        *ret = t;
        return 0;
    }
    int error = t->setup == CURLE_OUT_OF_MEMORY ? -ENOMEM : -EINVAL;
    transfer_free(t);
    return error;
}

struct transfer *transfer_free(struct transfer *t)
{
    if (!t)
        return NULL;
    list_remove(&t->node);
    curl_easy_cleanup(t->easy);
    curl_slist_free_all(t->headers);
    curl_slist_free_all(t->to);
    buf_done(&t->answer);
    arena_done(&t->arena);
    mem_free(t);
    return NULL;
}

/* --- the end --- */

static const struct {
    CURLcode code;
    int error;
} errors[] = {
    {CURLE_COULDNT_RESOLVE_HOST, -EHOSTUNREACH},
    {CURLE_COULDNT_RESOLVE_PROXY, -EHOSTUNREACH},
    {CURLE_COULDNT_CONNECT, -ECONNREFUSED},
    {CURLE_OPERATION_TIMEDOUT, -ETIMEDOUT},
    {CURLE_USE_SSL_FAILED, -EPROTONOSUPPORT},
    {CURLE_PEER_FAILED_VERIFICATION, -EKEYREJECTED},
    {CURLE_SSL_CACERT_BADFILE, -EKEYREJECTED},
    {CURLE_SSL_CERTPROBLEM, -EKEYREJECTED},
    {CURLE_SSL_CONNECT_ERROR, -EPROTO},
    {CURLE_GOT_NOTHING, -ECONNRESET},
    {CURLE_SEND_ERROR, -ECONNRESET},
    {CURLE_RECV_ERROR, -ECONNRESET},
    {CURLE_OUT_OF_MEMORY, -ENOMEM},
    {CURLE_ABORTED_BY_CALLBACK, -ECANCELED},
};

static int error_of(CURLcode code)
{
    for (size_t i = 0; i < ARRAY_LEN(errors); i++)
        if (errors[i].code == code)
            return errors[i].error;
    return -EIO;
}

static struct span words_of(struct transfer *t, CURLcode code)
{
    const char *words = t->error[0] ? t->error : curl_easy_strerror(code);
    struct buf b;
    size_t n = 0;
    buf_init(&b, sizeof(t->words));
    if (prose_clean(span_cstr(words), false, &b) == 0)
        n = span_copy(span_trim(buf_span(&b)), t->words, sizeof(t->words));
    if (n > 0 && t->words[n - 1] == '.')
        n--;
    buf_done(&b);
    return span_of(t->words, n);
}

void transfer_end(struct transfer *t, CURL *easy, CURLcode code)
{
    long status = 0;
    curl_off_t wait_s = 0;
    bool is_mail = t->request->kind == REQUEST_MAIL;
    (void)curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &status);
    (void)curl_easy_getinfo(easy, CURLINFO_RETRY_AFTER, &wait_s);
    t->reply = (struct receiver_reply){.status = (int)status,
                                       .body = buf_span(&t->answer),
                                       .retry_after_ms = wait_s > 0 ? wait_s * 1000 : -1};
    /* Enough of an answer is one; so is a mail server that said no. */
    if (code == CURLE_OK || (code == CURLE_WRITE_ERROR && t->is_cut && status > 0) ||
        (is_mail && status >= 400 && code != CURLE_OPERATION_TIMEDOUT))
        return;
    t->reply.error = error_of(code);
    t->reply.words = words_of(t, code);
}
