/* SPDX-License-Identifier: Apache-2.0 */
#include "alert/smtp.h"

#include <errno.h>

#include "base/mem.h"

/* --- what comes and goes --- */

/* A line of the server's: those that refuse something are kept. */
static size_t on_line(char *p, size_t size, size_t n, void *ctx)
{
    struct smtp *m = ctx;
    struct span line = span_of(p, size * n);
    while (line.n > 0 && (line.p[line.n - 1] == '\n' || line.p[line.n - 1] == '\r'))
        line.n--;
    if (line.n >= 3 && (line.p[0] == '4' || line.p[0] == '5')) {
        if (buf_len(&m->handle.answer) > 0)
            (void)web_handle_keep(&m->handle, SPAN("; "));
        (void)web_handle_keep(&m->handle, line); /* as much of it as there is room for */
    }
    return size * n;
}

static size_t on_mail(char *p, size_t size, size_t n, void *ctx)
{
    struct smtp *m = ctx;
    size_t room = size * n;
    struct span part = span_take(&m->unsent, m->unsent.n < room ? m->unsent.n : room);
    if (part.n > 0)
        memcpy(p, part.p, part.n);
    return part.n;
}

/* --- options --- */

static void set_url(struct smtp *m)
{
    const struct receiver_request *r = m->request;
    struct buf url;
    buf_init(&url, 4096);
    if (buf_printf(&url, "%.*s/%.*s", SPAN_ARG(r->url), SPAN_ARG(r->hello)) < 0 &&
        m->handle.setup == CURLE_OK)
        m->handle.setup = CURLE_OUT_OF_MEMORY;
    web_handle_set_text(&m->handle, CURLOPT_URL, buf_span(&url));
    buf_done(&url);
}

static int prepare(struct smtp *m)
{
    const struct receiver_request *r = m->request;
    struct web_handle *h = &m->handle;
    int64_t timeout_ms = r->timeout_ms > 0 ? r->timeout_ms : WEB_TIMEOUT_MS;
    web_handle_basics(h, timeout_ms, m);
    web_handle_link(h, &r->link);
    set_url(m);
    WEB_HANDLE_SET(h, CURLOPT_PROTOCOLS_STR, "smtp,smtps");
    WEB_HANDLE_SET(h, CURLOPT_USE_SSL, (long)(r->needs_tls ? CURLUSESSL_ALL : CURLUSESSL_NONE));
    web_handle_set_text(h, CURLOPT_MAIL_FROM, r->from);
    for (size_t i = 0; i < r->n_to; i++)
        web_handle_add(h, &m->to, web_handle_text(h, r->to[i]));
    WEB_HANDLE_SET(h, CURLOPT_MAIL_RCPT, m->to);
    WEB_HANDLE_SET(h, CURLOPT_MAIL_RCPT_ALLLOWFAILS, 1L); /* those who can be told are told */
    web_handle_set_text(h, CURLOPT_USERNAME, r->user);
    web_handle_set_text(h, CURLOPT_PASSWORD, r->password);
    /* 2 min of its own */
    WEB_HANDLE_SET(h, CURLOPT_SERVER_RESPONSE_TIMEOUT, (long)(timeout_ms / 1000 + 1));
    WEB_HANDLE_SET(h, CURLOPT_UPLOAD, 1L);
    WEB_HANDLE_SET(h, CURLOPT_INFILESIZE_LARGE, (curl_off_t)r->body.n);
    WEB_HANDLE_SET(h, CURLOPT_READFUNCTION, on_mail);
    WEB_HANDLE_SET(h, CURLOPT_READDATA, m);
    WEB_HANDLE_SET(h, CURLOPT_HEADERFUNCTION, on_line);
    WEB_HANDLE_SET(h, CURLOPT_HEADERDATA, m);
    m->unsent = r->body;
    return web_handle_setup(h);
}

int smtp_new(const struct receiver_request *r, struct smtp **ret)
{
    struct smtp *m = mem_zalloc(1, sizeof(*m));
    if (!m)
        return -ENOMEM;
    m->request = r;
    web_handle_init(&m->handle, TRANSPORT_ANSWER_MAX);
    int error = prepare(m);
    if (error < 0)
        smtp_free(m);
    else
        *ret = m;
    return error;
}

struct smtp *smtp_free(struct smtp *m)
{
    if (!m)
        return NULL;
    web_handle_done(&m->handle);
    curl_slist_free_all(m->to);
    mem_free(m);
    return NULL;
}

void smtp_end(struct smtp *m, CURL *easy, CURLcode code)
{
    long status = 0;
    (void)curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &status);
    m->reply = (struct receiver_reply){
        .status = (int)status, .body = buf_span(&m->handle.answer), .retry_after_ms = -1};
    /* A server that said no has answered. */
    if (code == CURLE_OK || (status >= 400 && code != CURLE_OPERATION_TIMEDOUT))
        return;
    m->reply.error = web_handle_error(code);
    m->reply.words = web_handle_words(&m->handle, code);
}
