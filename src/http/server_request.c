/* SPDX-License-Identifier: Apache-2.0 */
/*
 * http/server_request.c - requests in.
 *
 * While a request is OPEN and complete, further bytes belong to a pipelined request: the first read
 * of them is kept in _rest and reading pauses, so at most one read is held. The same is done with
 * what lies behind a number of requests that were answered at once, so that other connections have
 * their turn, and while the client does not take the answers.
 */
#include <errno.h>

#include "http/server_conn.h"

enum { REQUESTS_PER_TURN = 16 };

/* A piece of a body below it is told together with those beside it: what a handler does with each
 * may be a system call. */
enum { PIECE_BYTES = 1024 };

static void request_bad(struct http_server_conn *c, enum message_status status)
{
    struct http_server *s = c->server;
    bool is_large =
        status == MESSAGE_TOO_LARGE ||
        (status == MESSAGE_ERROR && !c->_in.is_bad_chunk && c->_in.error == HTTP1_TOO_MANY_FIELDS);
    int code = is_large ? 431 : 400;
    const char *why = status == MESSAGE_TOO_LARGE   ? "request head over 64 KiB"
                      : status == MESSAGE_NO_MEMORY ? "out of memory"
                                                    : http1_error_text(c->_in.error);

    if (status == MESSAGE_NO_MEMORY) {
        server_conn_count(s, STAT_CONNS_REFUSED_NO_MEMORY, 1);
        server_conn_close(c, false);
        return;
    }
    server_conn_count(s, is_large ? STAT_HTTP_BAD_TOO_LARGE : STAT_HTTP_BAD_MALFORMED, 1);
    if (s->ops->on_bad)
        s->ops->on_bad(s, code, why, c->_first);
    server_answer_refuse(c, code, why);
}

static void request_begin(struct http_server_conn *c, const struct http1_head *head,
                          struct stamp at)
{
    struct http_request_info info = {
        .head = head, .first = c->_first, .last = at, .is_pipelined = c->_is_pipelined};

    c->_state = CONN_OPEN;
    c->_is_answered = false;
    c->_is_body_done = false;
    c->_keep_alive = head->keep_alive;
    c->_is_http10 = head->minor == 0;
    c->_is_head_request = span_eq(head->method, SPAN("HEAD"));
    c->_expects_continue = head->expects_continue;
    c->request = NULL;
    server_conn_deadline(c, CONN_TIMER_BODY, c->server->config.body_timeout_ns);
    c->server->ops->on_request(c, &info);
}

/* Keeps bytes of the next request; false without memory. */
static bool request_keep_rest(struct http_server_conn *c, struct span in, struct stamp at)
{
    sock_pause(&c->_sock);
    c->_rest_at = at;
    return buf_append(&c->_rest, in) == 0;
}

/* Between two requests; conn_on_next goes on. */
static void request_take_turns(struct http_server_conn *c, struct span in, struct stamp at)
{
    if (!request_keep_rest(c, in, at))
        server_conn_close(c, false);
    else if (!sock_is_full(&c->_sock)) /* else when it has drained */
        loop_defer(c->server->loop, &c->_next);
}

static void body_flush(struct http_server_conn *c, struct stamp at)
{
    struct buf *b = &c->server->pieces;

    if (buf_len(b) > 0 && c->_state == CONN_OPEN)
        c->server->ops->on_body(c, buf_span(b), at);
    buf_clear(b);
}

static void body_piece(struct http_server_conn *c, struct span piece, struct stamp at)
{
    c->_deadline = mono_add(loop_now(c->server->loop), c->server->config.body_timeout_ns);
    if (piece.n < PIECE_BYTES && buf_append(&c->server->pieces, piece) == 0)
        return;
    body_flush(c, at);
    if (c->_state == CONN_OPEN)
        c->server->ops->on_body(c, piece, at);
}

/* One step of the reader; false when the connection is no longer fed. is_pipelined: these bytes
 * came while an earlier request was with the handler. */
static bool request_step(struct http_server_conn *c, struct span *in, struct stamp at,
                         bool is_pipelined)
{
    struct http1_head *head = &c->server->parsed;
    struct span body = {0};
    enum message_status status;

    if (c->_state == CONN_WAITING && message_is_idle(&c->_in)) {
        c->_first = at;
        c->_is_pipelined = is_pipelined;
        server_conn_deadline(c, CONN_TIMER_HEAD, c->server->config.head_timeout_ns);
    }
    status = message_next(&c->_in, in, head, &body);
    if (status != MESSAGE_BODY) { /* as the last step of each read is: nothing stays in pieces */
        body_flush(c, at);
        if (c->_state == CONN_CLOSING || c->_state == CONN_CLOSED)
            return false;
    }
    switch (status) {
    case MESSAGE_HEAD:
        request_begin(c, head, at);
        return c->_state != CONN_CLOSED;
    case MESSAGE_BODY:
        if (c->_state == CONN_OPEN)
            body_piece(c, body, at);
        return c->_state != CONN_CLOSED;
    case MESSAGE_END:
        c->_is_body_done = true;
        if (c->_state == CONN_OPEN) {
            server_conn_deadline(c, CONN_TIMER_NONE, 0);
            c->server->ops->on_end(c, at);
        }
        return c->_state != CONN_CLOSED;
    case MESSAGE_MORE:
        return true;
    case MESSAGE_ERROR:
    case MESSAGE_TOO_LARGE:
    case MESSAGE_NO_MEMORY:
        if (c->_state == CONN_OPEN)
            server_conn_gone(c, status == MESSAGE_NO_MEMORY ? -ENOMEM : -EPROTO, at);
        else
            request_bad(c, status);
        return false;
    }
    return false;
}

void server_request_feed(struct http_server_conn *c, struct span in, struct stamp at,
                         bool is_pipelined)
{
    int n_begun = 0;

    while (in.n > 0) {
        if (c->_state == CONN_CLOSING || c->_state == CONN_CLOSED)
            return;
        if (c->_state == CONN_OPEN && c->_is_body_done) {
            if (!request_keep_rest(c, in, at))
                c->_keep_alive = false; /* serve this one, then close */
            return;
        }
        if (c->_state == CONN_WAITING && message_is_idle(&c->_in) &&
            (n_begun++ == REQUESTS_PER_TURN || sock_is_full(&c->_sock))) {
            request_take_turns(c, in, at);
            return;
        }
        if (!request_step(c, &in, at, is_pipelined))
            return;
        if (c->_is_body_done)
            is_pipelined = true; /* what follows in this read */
    }
    /* A head without body ends without further bytes. */
    if (c->_state == CONN_OPEN && !c->_is_body_done)
        (void)request_step(c, &in, at, is_pipelined);
}

void http_server_pause(struct http_server_conn *c)
{
    sock_pause(&c->_sock);
}

void http_server_resume(struct http_server_conn *c)
{
    if (buf_len(&c->_rest) > 0)
        return; /* paused for a pipelined request, not for the body */
    c->_deadline = mono_add(loop_now(c->server->loop), c->server->config.body_timeout_ns);
    sock_resume(&c->_sock);
}
