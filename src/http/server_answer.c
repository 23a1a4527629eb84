/* SPDX-License-Identifier: Apache-2.0 */
/*
 * http/server_answer.c - answers out: the handler's, and the server's own to what is no request.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/check.h"
#include "base/jsonw.h"
#include "base/limits.h"
#include "http/server_conn.h"

/* A send that failed may have left a part of its bytes on the way. */
static int conn_sent(struct http_server_conn *c, int result)
{
    int64_t write_ns = c->server->config.write_timeout_ns;

    if (result < 0)
        c->_is_broken = true;
    else if (write_ns > 0 && !http_writer_is_open(&c->_out) && sock_queued_bytes(&c->_sock) > 0) {
        c->_linger_queued = sock_queued_bytes(&c->_sock);
        server_conn_deadline(c, CONN_TIMER_WRITE, write_ns);
    }
    return result;
}

int http_server_continue(struct http_server_conn *c)
{
    static const char line[] = "HTTP/1.1 100 Continue\r\n\r\n";
    char text[sizeof(line)];
    struct iovec iov = {.iov_base = text, .iov_len = sizeof(line) - 1};

    if (!c->_expects_continue || c->_is_answered)
        return 0;
    c->_expects_continue = false;
    memcpy(text, line, sizeof(line));
    return conn_sent(c, sock_send(&c->_sock, &iov, 1, NULL));
}

/* The framing that this client and status allow; may clear keep-alive. */
static struct http_framing framing_allowed(struct http_server_conn *c, int status,
                                           struct http_framing wanted, bool *ret_no_body)
{
    bool is_bodyless = status == 204 || status == 304 || status < 200;

    *ret_no_body = is_bodyless || c->_is_head_request;
    if (is_bodyless)
        return (struct http_framing){HTTP1_BODY_NONE, 0};
    if (wanted.kind == HTTP1_BODY_UNTIL_CLOSE && !c->_is_http10)
        wanted.kind = HTTP1_BODY_CHUNKED;
    if (wanted.kind == HTTP1_BODY_CHUNKED && c->_is_http10)
        wanted.kind = HTTP1_BODY_UNTIL_CLOSE;
    if (wanted.kind == HTTP1_BODY_UNTIL_CLOSE && !c->_is_head_request)
        c->_keep_alive = false;
    if (wanted.kind == HTTP1_BODY_NONE && !c->_is_head_request)
        wanted = (struct http_framing){HTTP1_BODY_LENGTH, 0};
    return wanted;
}

static int head_render(struct http_server_conn *c, int status, struct span reason,
                       struct span fields, struct http_framing framing)
{
    struct buf *b = &c->server->head;
    int r;

    buf_clear(b);
    if (!reason.p)
        reason = span_cstr(http1_reason(status));
    r = http_head_status(b, 1, status, reason);
    if (r == 0)
        r = buf_append(b, fields);
    if (r == 0 && !c->_keep_alive)
        r = buf_append(b, SPAN("Connection: close\r\n"));
    else if (r == 0 && c->_is_http10)
        r = buf_append(b, SPAN("Connection: keep-alive\r\n"));
    return r < 0 ? r : http_head_end(b, framing);
}

int http_server_head(struct http_server_conn *c, int status, struct span reason, struct span fields,
                     struct http_framing framing, const struct span *parts, int n, bool is_last)
{
    bool no_body;
    struct http_framing allowed;
    int r;

    if (NEVER(c->_is_answered && status >= 200))
        return -EPROTO;
    if (!c->_is_body_done || c->server->is_stopping)
        c->_keep_alive = false;
    allowed = framing_allowed(c, status, framing, &no_body);
    r = head_render(c, status, reason, fields, allowed);
    if (r < 0)
        return r;
    if (no_body)
        allowed.kind = HTTP1_BODY_NONE;
    if (status >= 200)
        c->_is_answered = true;
    for (int i = 0; i < n; i++)
        server_conn_count(c->server, STAT_BYTES_CLIENT_OUT, (int64_t)parts[i].n);
    return conn_sent(c, http_writer_start(&c->_out, &c->_sock, buf_span(&c->server->head), allowed,
                                          parts, n, is_last, NULL));
}

int http_server_body(struct http_server_conn *c, const struct span *parts, int n, bool is_last)
{
    for (int i = 0; i < n; i++)
        server_conn_count(c->server, STAT_BYTES_CLIENT_OUT, (int64_t)parts[i].n);
    return conn_sent(c, http_writer_body(&c->_out, parts, n, is_last, NULL));
}

void http_server_reply(struct http_server_conn *c, int status, struct span content_type,
                       struct span body)
{
    char fields[160];
    int n = snprintf(fields, sizeof(fields), "Content-Type: %.*s\r\n",
                     (int)(content_type.n < 120 ? content_type.n : 120), content_type.p);

    if (http_server_head(c, status, (struct span){0}, span_of(fields, (size_t)n),
                         (struct http_framing){HTTP1_BODY_LENGTH, body.n}, &body, 1, true) < 0)
        c->_keep_alive = false;
    http_server_end(c);
}

bool http_server_is_full(const struct http_server_conn *c)
{
    return sock_is_full(&c->_sock);
}

size_t http_server_queued_bytes(const struct http_server_conn *c)
{
    return sock_queued_bytes(&c->_sock);
}

bool http_server_path(struct http_server_conn *c, struct sock_path *ret)
{
    return sock_look_at_path(&c->_sock, ret);
}

/* --- refusals --- */

static int bad_body_default(int status, const char *why, struct buf *out)
{
    struct jsonw w;

    jsonw_init(&w, out);
    jsonw_begin_object(&w);
    jsonw_key(&w, "error");
    jsonw_begin_object(&w);
    jsonw_key(&w, "message");
    jsonw_cstr(&w, why); /* some of these texts have quotes in them */
    jsonw_put_cstr(&w, "type", "invalid_request_error");
    jsonw_key(&w, "param");
    jsonw_null(&w);
    jsonw_put_cstr(&w, "code",
                   status == 408   ? "request_timeout"
                   : status == 431 ? "head_too_large"
                                   : "bad_request");
    jsonw_end_object(&w);
    jsonw_end_object(&w);
    return jsonw_error(&w) < 0 ? jsonw_error(&w) : buf_append(out, SPAN("\n"));
}

void server_answer_refuse(struct http_server_conn *c, int status, const char *why)
{
    struct http_server *s = c->server;
    struct buf body;
    struct span part;
    int (*render)(int, const char *, struct buf *) =
        s->config.bad_body ? s->config.bad_body : bad_body_default;

    buf_init(&body, 4 * KIB);
    c->_keep_alive = false;
    c->_is_head_request = false;
    c->_is_answered = false;
    if (render(status, why, &body) < 0)
        buf_clear(&body);
    part = buf_span(&body);
    if (http_server_head(c, status, (struct span){0}, SPAN("Content-Type: application/json\r\n"),
                         (struct http_framing){HTTP1_BODY_LENGTH, part.n}, &part, 1, true) < 0)
        server_conn_close(c, false);
    else
        server_conn_linger(c);
    buf_done(&body);
}
