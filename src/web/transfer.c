/* SPDX-License-Identifier: Apache-2.0 */
#include "web/transfer.h"

#include <errno.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/num.h"

/* --- what comes --- */

static size_t on_header(char *p, size_t size, size_t n, void *ctx)
{
    struct transfer *t = ctx;
    (void)p;
    t->n_header_bytes += size * n;
    return t->n_header_bytes <= TRANSFER_HEADERS_MAX ? size * n : 0;
}

/* --- what goes --- */

static void add_header(struct transfer *t, struct span name, struct span value)
{
    struct buf b;
    buf_init(&b, 1 << 20);
    /* "Name;" is how libcurl is told of an empty one. */
    int r = value.n > 0 ? buf_printf(&b, "%.*s: %.*s", SPAN_ARG(name), SPAN_ARG(value))
                        : buf_printf(&b, "%.*s;", SPAN_ARG(name));
    if (r < 0 && t->handle.setup == CURLE_OK)
        t->handle.setup = CURLE_OUT_OF_MEMORY;
    web_handle_add(&t->handle, &t->headers, web_handle_text(&t->handle, buf_span(&b)));
    buf_done(&b);
}

static void set_method(struct transfer *t)
{
    const struct web_request *r = t->request;
    if (!t->is_post) {
        WEB_HANDLE_SET(&t->handle, CURLOPT_HTTPGET, 1L);
        return;
    }
    WEB_HANDLE_SET(&t->handle, CURLOPT_POST, 1L);
    WEB_HANDLE_SET(&t->handle, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)r->body.n);
    WEB_HANDLE_SET(&t->handle, CURLOPT_POSTFIELDS, r->body.n > 0 ? r->body.p : "");
    if (r->content_type.n > 0)
        add_header(t, SPAN("Content-Type"), r->content_type);
    else
        web_handle_add(&t->handle, &t->headers, "Content-Type:"); /* not that of a form */
    web_handle_add(&t->handle, &t->headers, "Expect:");           /* no waiting for 100 */
}

/* What says who we are, and may be for one host only. */
static void set_credentials(struct transfer *t)
{
    const struct web_request *r = t->request;
    for (size_t i = 0; i < r->n_headers; i++)
        add_header(t, r->headers[i].name, r->headers[i].value);
    if (r->user.n > 0 || r->password.n > 0) {
        const char *user = web_handle_text(&t->handle, r->user);
        const char *password = web_handle_text(&t->handle, r->password);
        WEB_HANDLE_SET(&t->handle, CURLOPT_USERNAME, user);
        WEB_HANDLE_SET(&t->handle, CURLOPT_PASSWORD, password);
    }
}

static bool has_host(const struct web_request *r)
{
    for (size_t i = 0; i < r->n_headers; i++)
        if (span_eq_nocase(r->headers[i].name, SPAN("Host")))
            return true;
    return false;
}

static void set_place(struct transfer *t)
{
    const struct web_request *r = t->request;
    struct renamed by = {.url = SPAN("")};
    int error = 0;
    if (t->at.is_home && r->link.server_name.n > 0)
        error = redirect_rename(t->at.url.p, r->link.server_name, &t->places, &by);
    if (error < 0 && t->handle.setup == CURLE_OK)
        t->handle.setup = error == -ENOMEM ? CURLE_OUT_OF_MEMORY : CURLE_URL_MALFORMAT;
    if (by.url.n == 0) {
        web_handle_set_text(&t->handle, CURLOPT_URL, t->at.url);
        return;
    }
    web_handle_set_text(&t->handle, CURLOPT_URL, by.url);
    web_handle_add(&t->handle, &t->connect_to, web_handle_text(&t->handle, by.connect_to));
    WEB_HANDLE_SET(&t->handle, CURLOPT_CONNECT_TO, t->connect_to);
    if (!has_host(r))
        web_handle_add(&t->handle, &t->headers, web_handle_text(&t->handle, by.host));
}

static int64_t timeout_ms(const struct transfer *t)
{
    int64_t all = t->request->timeout_ms > 0 ? t->request->timeout_ms : WEB_TIMEOUT_MS;
    int64_t left = all - t->before_us / 1000;
    return left > 1 ? left : 1;
}

static void set_link(struct transfer *t)
{
    struct web_link link = t->request->link;
    if (!t->at.is_home)
        link.cert_file = link.key_file = SPAN("");
    web_handle_link(&t->handle, &link);
}

static int prepare(struct transfer *t)
{
    const struct web_request *r = t->request;
    web_handle_basics(&t->handle, timeout_ms(t), t);
    set_link(t);
    set_place(t);
    WEB_HANDLE_SET(&t->handle, CURLOPT_PROTOCOLS_STR, "http,https");
    WEB_HANDLE_SET(&t->handle, CURLOPT_FOLLOWLOCATION, 0L);
    WEB_HANDLE_SET(&t->handle, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
    WEB_HANDLE_SET(&t->handle, CURLOPT_USERAGENT, "inferometer");
    WEB_HANDLE_SET(&t->handle, CURLOPT_HEADERFUNCTION, on_header);
    WEB_HANDLE_SET(&t->handle, CURLOPT_HEADERDATA, t);
    if (r->coding != WEB_CODING_AS_SENT)
        WEB_HANDLE_SET(&t->handle, CURLOPT_ACCEPT_ENCODING,
                       r->coding == WEB_CODING_PLAIN ? "identity" : "");
    if (!r->keeps_connection) {
        WEB_HANDLE_SET(&t->handle, CURLOPT_FORBID_REUSE, 1L);
        WEB_HANDLE_SET(&t->handle, CURLOPT_FRESH_CONNECT, 1L);
    }
    set_method(t);
    if (t->at.is_home)
        set_credentials(t);
    WEB_HANDLE_SET(&t->handle, CURLOPT_HTTPHEADER, t->headers);
    return web_handle_setup(&t->handle);
}

static void forget_lists(struct transfer *t)
{
    curl_slist_free_all(t->headers);
    curl_slist_free_all(t->connect_to);
    t->headers = t->connect_to = NULL;
}

static bool is_http(struct span url)
{
    return (url.n > 7 && span_eq_nocase(span_of(url.p, 7), SPAN("http://"))) ||
           (url.n > 8 && span_eq_nocase(span_of(url.p, 8), SPAN("https://")));
}

int transfer_new(struct transfer **ret)
{
    struct transfer *t = mem_zalloc(1, sizeof(*t));
    if (!t)
        return -ENOMEM;
    list_init(&t->node);
    arena_init(&t->places, NULL);
    web_handle_init(&t->handle, WEB_ANSWER_MAX);
    int error = web_handle_setup(&t->handle);
    if (error < 0)
        transfer_free(t);
    else
        *ret = t;
    return error;
}

int transfer_begin(struct transfer *t, const struct web_request *r)
{
    if (!is_http(r->url))
        return -EINVAL;
    t->request = r;
    t->is_post = r->is_post;
    web_handle_bound(&t->handle, r->answer_max > 0 ? r->answer_max : WEB_ANSWER_MAX);
    t->at.url = arena_dup(&t->places, r->url);
    t->at.is_home = true;
    t->first = t->at.url.p;
    return t->first ? prepare(t) : -ENOMEM;
}

bool transfer_rest(struct transfer *t)
{
    bool is_small = buf_len(&t->handle.answer) <= TRANSFER_KEPT_BYTES;
    list_remove(&t->node);
    forget_lists(t);
    arena_reset(&t->places);
    web_handle_reset(&t->handle);
    *t = (struct transfer){.handle = t->handle, .places = t->places};
    list_init(&t->node);
    return is_small;
}

struct transfer *transfer_free(struct transfer *t)
{
    if (!t)
        return NULL;
    list_remove(&t->node);
    forget_lists(t);
    web_handle_done(&t->handle);
    arena_done(&t->places);
    mem_free(t);
    return NULL;
}

/* --- the end --- */

/* µs of libcurl as ns since the beginning; 0 there: it did not come to that. */
static int64_t time_of(const struct transfer *t, CURLINFO what)
{
    curl_off_t us = 0;
    (void)curl_easy_getinfo(t->handle.easy, what, &us);
    return us > 0 ? (t->before_us + us) * 1000 : -1;
}

static void set_times(struct transfer *t)
{
    long n_connects = 0;
    struct web_reply *reply = &t->reply;
    (void)curl_easy_getinfo(t->handle.easy, CURLINFO_NUM_CONNECTS, &n_connects);
    bool is_new = n_connects > 0; /* one that was kept had neither name nor handshake */
    reply->name_ns = is_new ? time_of(t, CURLINFO_NAMELOOKUP_TIME_T) : -1;
    reply->connect_ns = is_new ? time_of(t, CURLINFO_CONNECT_TIME_T) : -1;
    reply->tls_ns = is_new ? time_of(t, CURLINFO_APPCONNECT_TIME_T) : -1;
    reply->first_byte_ns = time_of(t, CURLINFO_STARTTRANSFER_TIME_T);
    reply->total_ns = time_of(t, CURLINFO_TOTAL_TIME_T);
}

void transfer_fail(struct transfer *t, int error, struct span words)
{
    t->reply.error = error;
    t->reply.words = words;
    t->reply.body = t->reply.content_type = SPAN(""); /* may be void */
}

static bool is_redirect(const struct transfer *t)
{
    int s = t->reply.status;
    return t->request->follows_redirects &&
           (s == 301 || s == 302 || s == 303 || s == 307 || s == 308);
}

static struct span words_of_redirect(int error)
{
    return error == -ELOOP             ? SPAN("redirected more than 5 times")
           : error == -EPROTONOSUPPORT ? SPAN("redirected to something else than http or https")
           : error == -ENOMEM          ? span_cstr(err_str(error))
                                       : SPAN("redirected to something that is no URL");
}

/* On to there. */
static int follow(struct transfer *t, const char *location)
{
    struct redirect to;
    curl_off_t us = 0;
    int r = redirect_resolve(t->first, t->at.url.p, location, &t->places, &to);
    if (r < 0)
        return r;
    (void)curl_easy_getinfo(t->handle.easy, CURLINFO_TOTAL_TIME_T, &us);
    t->before_us += us;
    t->n_redirects++;
    t->is_post = t->is_post && (t->reply.status == 307 || t->reply.status == 308);
    t->at = to;
    web_handle_reset(&t->handle); /* location is void */
    forget_lists(t);
    r = prepare(t);
    return r == -EINVAL ? -EBADMSG : r;
}

static void set_reply(struct transfer *t)
{
    long status = 0;
    curl_off_t wait_s = 0;
    char *type = NULL;
    (void)curl_easy_getinfo(t->handle.easy, CURLINFO_RESPONSE_CODE, &status);
    (void)curl_easy_getinfo(t->handle.easy, CURLINFO_RETRY_AFTER, &wait_s);
    (void)curl_easy_getinfo(t->handle.easy, CURLINFO_CONTENT_TYPE, &type);
    t->reply = (struct web_reply){.status = (int)status,
                                  .body = buf_span(&t->handle.answer),
                                  .content_type = span_cstr(type),
                                  .is_cut = t->handle.is_cut,
                                  .retry_after_ms = wait_s > 0 ? wait_s * 1000 : -1,
                                  .redirected_to = t->at.shown};
    set_times(t);
}

/* Enough of an answer is one. */
static bool is_enough(const struct transfer *t, CURLcode code)
{
    return code == CURLE_WRITE_ERROR && t->reply.is_cut && t->reply.status > 0;
}

/* As transfer_end. */
static bool go_on(struct transfer *t)
{
    struct curl_header *location = NULL;
    int error = -ELOOP;
    if (curl_easy_header(t->handle.easy, "Location", 0, CURLH_HEADER, -1, &location) != CURLHE_OK)
        return true;
    if (t->n_redirects < TRANSFER_REDIRECTS_MAX)
        error = follow(t, location->value);
    if (error < 0)
        transfer_fail(t, error, words_of_redirect(error));
    return error < 0;
}

bool transfer_end(struct transfer *t, CURLcode code)
{
    set_reply(t);
    if (code == CURLE_WRITE_ERROR && t->n_header_bytes > TRANSFER_HEADERS_MAX)
        transfer_fail(t, -EMSGSIZE, SPAN("the answer's headers are larger than 64 KiB"));
    else if (code != CURLE_OK && !is_enough(t, code))
        transfer_fail(t, web_handle_error(code), web_handle_words(&t->handle, code));
    else if (is_redirect(t))
        return go_on(t);
    return true;
}
