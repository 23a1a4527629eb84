/* SPDX-License-Identifier: Apache-2.0 */
/*
 * http/server_conn.c - the life of a client connection, from the accepted descriptor to its end.
 *
 * One lazy timer per connection: moving the deadline is a store; the timer looks at it when it
 * fires.
 */
#include "http/server_conn.h"

#include <errno.h>

#include "base/limits.h"
#include "base/mem.h"

#define LINGER_NS (2 * NS_PER_S)
/* A peer that takes nothing of the last answer for that long is given up. */
#define LINGER_QUEUED_NS (30 * NS_PER_S)

void server_conn_deadline(struct http_server_conn *c, enum conn_timer kind, int64_t delay_ns)
{
    struct loop *l = c->server->loop;

    c->_timer_kind = kind;
    if (kind == CONN_TIMER_NONE)
        return;
    c->_deadline = mono_add(loop_now(l), delay_ns);
    if (!timer_is_running(&c->_timer) || c->_deadline.ns < c->_timer_due.ns) {
        c->_timer_due = c->_deadline;
        loop_timer_start(l, &c->_timer, delay_ns);
    }
}

/* --- end --- */

void server_conn_close(struct http_server_conn *c, bool with_reset)
{
    if (c->_state == CONN_CLOSED)
        return;
    c->_state = CONN_CLOSED;
    sock_close(&c->_sock, with_reset);
    loop_timer_stop(c->server->loop, &c->_timer);
    task_cancel(&c->_next);
    loop_defer(c->server->loop, &c->_next); /* frees */
}

static void conn_free(struct http_server_conn *c)
{
    struct http_server *s = c->server;

    list_remove(&c->_link);
    message_done(&c->_in);
    buf_done(&c->_rest);
    task_cancel(&c->_next);
    s->n_conns--;
    server_conn_count(s, STAT_CONNS_CLIENT_OPEN, -1);
    mem_free(c);
}

void server_conn_cancel(struct http_server_conn *c)
{
    if (c->_state == CONN_OPEN) {
        c->_state = CONN_WAITING;
        c->server->ops->on_gone(c, -ECANCELED, (struct stamp){.at = clock_mono()});
    }
    server_conn_close(c, false);
    conn_free(c);
}

void server_conn_linger(struct http_server_conn *c)
{
    c->_state = CONN_CLOSING;
    c->_linger_queued = sock_queued_bytes(&c->_sock);
    sock_shutdown(&c->_sock);
    server_conn_deadline(c, CONN_TIMER_LINGER,
                         c->_linger_queued > 0 ? LINGER_QUEUED_NS : LINGER_NS);
    sock_resume(&c->_sock);
}

void server_conn_gone(struct http_server_conn *c, int error, struct stamp at)
{
    int status = error == -ETIMEDOUT ? 408 : error == -EPROTO ? 400 : 0;

    if (c->_state == CONN_OPEN) {
        c->_state = CONN_WAITING;
        c->server->ops->on_gone(c, error, at);
        c->request = NULL;
    }
    if (status != 0 && !c->_is_answered) {
        server_conn_count(c->server,
                          status == 408 ? STAT_HTTP_BAD_TOO_SLOW : STAT_HTTP_BAD_MALFORMED, 1);
        server_answer_refuse(c, status,
                             status == 408 ? "request body came too slowly"
                                           : "malformed chunked request body");
        return;
    }
    server_conn_close(c, false);
}

void http_server_abandon(struct http_server_conn *c)
{
    c->_is_broken = true;
}

void http_server_end(struct http_server_conn *c)
{
    bool is_whole = c->_is_answered && !http_writer_is_open(&c->_out);

    c->request = NULL;
    if (c->_state != CONN_OPEN)
        return;
    c->_state = CONN_WAITING;
    if (!sock_is_open(&c->_sock) || c->_is_broken) {
        server_conn_close(c, true);
    } else if (is_whole && c->_keep_alive && c->_is_body_done && !c->server->is_stopping) {
        server_conn_deadline(c, CONN_TIMER_IDLE, c->server->config.idle_timeout_ns);
        if (sock_is_paused(&c->_sock)) /* by a pipelined request or by the handler */
            loop_defer(c->server->loop, &c->_next);
    } else if (!is_whole && (!c->_is_answered || c->_out._framing.kind == HTTP1_BODY_UNTIL_CLOSE)) {
        server_conn_close(c, true); /* only a reset tells this client that something is missing */
    } else if (c->_is_body_done && buf_len(&c->_rest) == 0 && sock_queued_bytes(&c->_sock) == 0) {
        server_conn_close(c, false);
    } else {
        server_conn_linger(c);
    }
}

/* --- what the socket tells --- */

static void conn_on_secured(struct sock *s)
{
    struct http_server_conn *c = CONTAINER_OF(s, struct http_server_conn, _sock);

    c->_is_securing = false;
    server_conn_deadline(c, CONN_TIMER_IDLE, c->server->config.idle_timeout_ns);
}

static void conn_on_data(struct sock *s, struct span data, struct stamp at)
{
    struct http_server_conn *c = CONTAINER_OF(s, struct http_server_conn, _sock);

    server_conn_count(c->server, STAT_BYTES_CLIENT_IN, (int64_t)data.n);
    server_request_feed(c, data, at, false);
}

static void conn_on_eof(struct sock *s, struct stamp at)
{
    struct http_server_conn *c = CONTAINER_OF(s, struct http_server_conn, _sock);

    c->_is_peer_done = true;
    if (c->_state == CONN_OPEN)
        server_conn_gone(c, 0, at);
    else if (sock_queued_bytes(&c->_sock) == 0)
        server_conn_close(c, false);
    else if (c->_state == CONN_WAITING)
        server_conn_linger(
            c); /* it closed its side only: the rest of the last answer still goes out */
}

static void conn_on_hangup(struct sock *s)
{
    conn_on_eof(s, (struct stamp){.at = clock_mono()});
}

static void conn_on_error(struct sock *s, int error)
{
    struct http_server_conn *c = CONTAINER_OF(s, struct http_server_conn, _sock);

    if (c->_is_securing)
        server_conn_count(c->server, STAT_TLS_HANDSHAKE_FAILURES, 1);
    if (c->_state == CONN_OPEN)
        server_conn_gone(c, error == -EPROTO || error == -ETIMEDOUT ? -ECONNRESET : error,
                         (struct stamp){.at = clock_mono()});
    else
        server_conn_close(c, false);
}

static void conn_on_drained(struct sock *s)
{
    struct http_server_conn *c = CONTAINER_OF(s, struct http_server_conn, _sock);

    if (c->_state == CONN_OPEN)
        c->server->ops->on_drained(c);
    else if (c->_state == CONN_WAITING && buf_len(&c->_rest) > 0 && !sock_is_full(s))
        loop_defer(c->server->loop, &c->_next);
    else if (c->_state == CONN_CLOSING && sock_queued_bytes(s) == 0 && c->_is_peer_done)
        server_conn_close(c, false);
    else if (c->_state == CONN_CLOSING && sock_queued_bytes(s) == 0)
        server_conn_deadline(c, CONN_TIMER_LINGER, LINGER_NS);
}

static const struct sock_ops conn_sock_ops = {
    .on_secured = conn_on_secured,
    .on_data = conn_on_data,
    .on_eof = conn_on_eof,
    .on_hangup = conn_on_hangup,
    .on_error = conn_on_error,
    .on_drained = conn_on_drained,
};

/* --- time --- */

static void conn_linger_check(struct http_server_conn *c)
{
    size_t queued = sock_queued_bytes(&c->_sock);

    if (queued > 0 && queued < c->_linger_queued) {
        c->_linger_queued = queued; /* slow, but it takes what is left */
        server_conn_deadline(c, CONN_TIMER_LINGER, LINGER_QUEUED_NS);
        return;
    }
    server_conn_close(c, false);
}

/* The whole answer is queued; is the client taking it? */
static void conn_write_check(struct http_server_conn *c)
{
    size_t queued = sock_queued_bytes(&c->_sock);

    if (c->_state != CONN_OPEN || queued == 0)
        return;
    if (queued == c->_linger_queued) {
        server_conn_gone(c, 0, (struct stamp){.at = clock_mono()});
        return;
    }
    c->_linger_queued = queued;
    server_conn_deadline(c, CONN_TIMER_WRITE, c->server->config.write_timeout_ns);
}

static void conn_on_timer(struct timer *t)
{
    struct http_server_conn *c = CONTAINER_OF(t, struct http_server_conn, _timer);
    int64_t left = mono_diff(c->_deadline, loop_now(c->server->loop));

    if (c->_timer_kind == CONN_TIMER_NONE)
        return;
    if (left > 0) {
        c->_timer_due = c->_deadline;
        loop_timer_start(c->server->loop, t, left);
        return;
    }
    switch (c->_timer_kind) {
    case CONN_TIMER_IDLE:
        if (c->_is_securing)
            server_conn_count(c->server, STAT_TLS_HANDSHAKE_FAILURES, 1);
        server_conn_close(c, false);
        break;
    case CONN_TIMER_HEAD:
        server_conn_count(c->server, STAT_HTTP_BAD_TOO_SLOW, 1);
        if (c->server->ops->on_bad)
            c->server->ops->on_bad(c->server, 408, "request head came too slowly", c->_first);
        server_answer_refuse(c, 408, "request head came too slowly");
        break;
    case CONN_TIMER_BODY:
        if (sock_is_paused(&c->_sock)) /* held back by us: not the client's fault */
            server_conn_deadline(c, CONN_TIMER_BODY, c->server->config.body_timeout_ns);
        else
            server_conn_gone(c, -ETIMEDOUT, (struct stamp){.at = clock_mono()});
        break;
    case CONN_TIMER_WRITE:
        conn_write_check(c);
        break;
    case CONN_TIMER_LINGER:
        conn_linger_check(c);
        break;
    default:
        break;
    }
}

/* Runs later in the turn: frees a closed connection, or goes on with a pipelined request. */
static void conn_on_next(struct task *t)
{
    struct http_server_conn *c = CONTAINER_OF(t, struct http_server_conn, _next);
    struct buf rest;

    if (c->_state == CONN_CLOSED) {
        conn_free(c);
        return;
    }
    if (c->_state != CONN_WAITING)
        return;
    sock_resume(&c->_sock);
    if (buf_len(&c->_rest) == 0)
        return;
    rest = c->_rest;
    buf_init(&c->_rest, LIMIT_READ_BYTES);
    server_request_feed(c, buf_span(&rest), c->_rest_at, true);
    buf_done(&rest);
}

/* --- birth --- */

int server_conn_new(struct http_server *s, int fd, struct tls_context *tls)
{
    struct http_server_conn *c = mem_zalloc(1, sizeof(*c));

    if (!c)
        return -ENOMEM;
    c->server = s;
    c->_state = CONN_WAITING;
    sock_init(&c->_sock, s->loop, &conn_sock_ops, s->config.max_queue_bytes);
    message_init(&c->_in, MESSAGE_REQUESTS);
    buf_init(&c->_rest, LIMIT_READ_BYTES);
    timer_init(&c->_timer, conn_on_timer);
    task_init(&c->_next, conn_on_next);
    list_push_back(&s->conns, &c->_link);
    s->n_conns++;
    server_conn_count(s, STAT_CONNS_ACCEPTED, 1);
    server_conn_count(s, STAT_CONNS_CLIENT_OPEN, 1);
    c->_is_securing = tls != NULL;
    if (sock_attach(&c->_sock, fd) < 0 || (tls && sock_start_tls_server(&c->_sock, tls) < 0))
        server_conn_close(c, false);
    else
        server_conn_deadline(c, CONN_TIMER_IDLE,
                             c->_is_securing ? s->config.head_timeout_ns
                                             : s->config.idle_timeout_ns);
    return 0;
}
