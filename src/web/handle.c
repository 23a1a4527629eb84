/* SPDX-License-Identifier: Apache-2.0 */
#include "web/handle.h"

#include <errno.h>
#include <pthread.h>

#include "base/mem.h"
#include "base/num.h"
#include "base/utf8.h"

/* --- libcurl's memory --- */

/* Whether there was none for libcurl, which also says so of texts that exceed its own bounds. */
static _Thread_local bool was_refused;

static void *note(void *p)
{
    was_refused = was_refused || !p;
    return p;
}

static void *take(size_t n)
{
    return note(mem_alloc(n));
}

static void *retake(void *p, size_t n)
{
    return note(mem_realloc(p, n));
}

static void *take_zeroed(size_t count, size_t size)
{
    return note(mem_zalloc(count, size));
}

static char *duplicate(const char *s)
{
    return note(mem_strdup(s));
}

static int global_error;

static void global_init(void)
{
    CURLcode code =
        curl_global_init_mem(CURL_GLOBAL_DEFAULT, take, mem_free, retake, duplicate, take_zeroed);
    global_error = code == CURLE_OK ? 0 : code == CURLE_OUT_OF_MEMORY ? -ENOMEM : -EIO;
}

int web_handle_global(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, global_init);
    return global_error;
}

bool web_handle_lacked_memory(void)
{
    return was_refused;
}

/* --- the handle --- */

void web_handle_init(struct web_handle *h, size_t answer_max)
{
    was_refused = false;
    *h = (struct web_handle){.easy = curl_easy_init(), .answer_max = answer_max};
    arena_init(&h->arena, NULL);
    buf_init(&h->answer, answer_max);
    if (!h->easy)
        h->setup = CURLE_OUT_OF_MEMORY;
}

void web_handle_done(struct web_handle *h)
{
    curl_easy_cleanup(h->easy);
    buf_done(&h->answer);
    arena_done(&h->arena);
}

void web_handle_reset(struct web_handle *h)
{
    was_refused = false;
    curl_easy_reset(h->easy);
    arena_reset(&h->arena);
    buf_clear(&h->answer);
    h->setup = CURLE_OK;
    h->is_cut = false;
    h->error[0] = '\0';
}

void web_handle_bound(struct web_handle *h, size_t answer_max)
{
    if (answer_max == h->answer_max)
        return;
    buf_done(&h->answer);
    buf_init(&h->answer, answer_max);
    h->answer_max = answer_max;
}

int web_handle_setup(const struct web_handle *h)
{
    return h->setup == CURLE_OK ? 0 : h->setup == CURLE_OUT_OF_MEMORY ? -ENOMEM : -EINVAL;
}

/* --- what comes --- */

bool web_handle_keep(struct web_handle *h, struct span part)
{
    size_t room = h->answer_max - buf_len(&h->answer);
    h->is_cut = h->is_cut || part.n > room;
    if (buf_append(&h->answer, span_of(part.p, part.n < room ? part.n : room)) < 0)
        return false;
    return !h->is_cut;
}

static size_t on_answer(char *p, size_t size, size_t n, void *ctx)
{
    return web_handle_keep(ctx, span_of(p, size * n)) ? size * n : 0;
}

/* --- options --- */

static bool is_one_line(struct span s)
{
    for (size_t i = 0; i < s.n; i++)
        if ((unsigned char)s.p[i] < ' ' || s.p[i] == 0x7f)
            return false;
    return true;
}

const char *web_handle_text(struct web_handle *h, struct span s)
{
    struct span copy = is_one_line(s) ? arena_dup(&h->arena, s) : SPAN("");
    if (h->setup == CURLE_OK && !is_one_line(s))
        h->setup = CURLE_BAD_FUNCTION_ARGUMENT;
    else if (h->setup == CURLE_OK && !copy.p)
        h->setup = CURLE_OUT_OF_MEMORY;
    return h->setup == CURLE_OK ? copy.p : NULL;
}

void web_handle_set_text(struct web_handle *h, CURLoption option, struct span s)
{
    const char *value = s.n > 0 ? web_handle_text(h, s) : NULL; /* first: it may set h->setup */
    if (value)
        WEB_HANDLE_SET(h, option, value);
}

void web_handle_add(struct web_handle *h, struct curl_slist **list, const char *line)
{
    struct curl_slist *more = line ? curl_slist_append(*list, line) : NULL;
    if (more)
        *list = more;
    else if (h->setup == CURLE_OK)
        h->setup = CURLE_OUT_OF_MEMORY;
}

void web_handle_basics(struct web_handle *h, int64_t timeout_ms, void *owner)
{
    WEB_HANDLE_SET(h, CURLOPT_NOSIGNAL, 1L);
    WEB_HANDLE_SET(h, CURLOPT_QUICK_EXIT, 1L);
    WEB_HANDLE_SET(h, CURLOPT_ERRORBUFFER, h->error);
    WEB_HANDLE_SET(h, CURLOPT_TIMEOUT_MS, (long)timeout_ms);
    WEB_HANDLE_SET(h, CURLOPT_PRIVATE, (char *)owner);
    WEB_HANDLE_SET(h, CURLOPT_WRITEFUNCTION, on_answer);
    WEB_HANDLE_SET(h, CURLOPT_WRITEDATA, h);
}

void web_handle_link(struct web_handle *h, const struct web_link *link)
{
    if (link->skips_verification) {
        WEB_HANDLE_SET(h, CURLOPT_SSL_VERIFYPEER, 0L);
        WEB_HANDLE_SET(h, CURLOPT_SSL_VERIFYHOST, 0L);
    }
    if (link->ca_file.n > 0) {
        WEB_HANDLE_SET(h, CURLOPT_CAPATH, NULL);         /* its issuers, and no others */
        WEB_HANDLE_SET(h, CURLOPT_CA_CACHE_TIMEOUT, 0L); /* as they are now */
    }
    web_handle_set_text(h, CURLOPT_CAINFO, link->ca_file);
    web_handle_set_text(h, CURLOPT_SSLCERT, link->cert_file);
    web_handle_set_text(h, CURLOPT_SSLKEY, link->key_file);
    if (span_eq(link->proxy_url, SPAN("none")))
        WEB_HANDLE_SET(h, CURLOPT_PROXY, "");
    else
        web_handle_set_text(h, CURLOPT_PROXY, link->proxy_url);
}

/* --- the end --- */

static const struct {
    CURLcode code;
    int error;
} errors[] = {
    {CURLE_OK, 0},
    {CURLE_URL_MALFORMAT, -EINVAL},
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
    {CURLE_PARTIAL_FILE, -ECONNRESET},
    {CURLE_SEND_ERROR, -ECONNRESET},
    {CURLE_RECV_ERROR, -ECONNRESET},
    {CURLE_BAD_CONTENT_ENCODING, -EBADMSG},
    {CURLE_WEIRD_SERVER_REPLY, -EBADMSG},
    {CURLE_UNSUPPORTED_PROTOCOL, -EBADMSG}, /* that of the answer */
    {CURLE_OUT_OF_MEMORY, -ENOMEM},
    {CURLE_WRITE_ERROR, -ENOMEM}, /* the answer could not be kept */
    {CURLE_ABORTED_BY_CALLBACK, -ECANCELED},
};

int web_handle_error(CURLcode code)
{
    if (code == CURLE_OUT_OF_MEMORY && !was_refused)
        return -EMSGSIZE;
    for (size_t i = 0; i < ARRAY_LEN(errors); i++)
        if (errors[i].code == code)
            return errors[i].error;
    return -EIO;
}

static struct span said(const struct web_handle *h, CURLcode code)
{
    struct span words = span_cstr(h->error[0] ? h->error : curl_easy_strerror(code));
    if (web_handle_error(code) == -EMSGSIZE)
        return SPAN("a line of the answer is too long");
    /* libcurl writes out the whole URL of a proxy that it cannot use, with the password. */
    if (span_starts_with(words, SPAN("Unsupported proxy")))
        return SPAN("the proxy's URL is none");
    return words;
}

struct span web_handle_words(struct web_handle *h, CURLcode code)
{
    struct span from = said(h, code);
    size_t n = 0;
    while (from.n > 0 && n + 4 < sizeof(h->words)) {
        uint32_t c = utf8_take(&from);
        n += utf8_put(utf8_is_odd(c) ? ' ' : c, h->words + n);
    }
    struct span words = span_trim(span_of(h->words, n));
    return span_ends_with(words, SPAN(".")) ? span_of(words.p, words.n - 1) : words;
}
