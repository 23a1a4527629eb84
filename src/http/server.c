/* SPDX-License-Identifier: Apache-2.0 */
/*
 * http/server.c - the life of a client connection:
 *
 *   WAITING  between requests, or inside an unfinished head
 *   OPEN     a request is with the handler
 *   CLOSING  the last answer is out or going out; input is thrown away until the client closes too
 *            (closing with unread input would reset the connection and take the answer with it)
 *   CLOSED   the socket is closed; memory goes at the end of the turn
 *
 * While a request is OPEN and complete, further bytes belong to a pipelined request: the first read
 * of them is kept in _rest and reading pauses, so at most one read is held.
 *
 * One lazy timer per connection: moving the deadline is a store; the timer looks at it when it
 * fires.
 */
#include "http/server.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "base/check.h"
#include "base/jsonw.h"
#include "base/limits.h"
#include "base/mem.h"
#include "base/stat.h"

enum conn_state { CONN_WAITING, CONN_OPEN, CONN_CLOSING, CONN_CLOSED };
enum timer_kind { TIMER_NONE, TIMER_IDLE, TIMER_HEAD, TIMER_BODY, TIMER_WRITE, TIMER_LINGER };

#define LINGER_NS (2 * NS_PER_S)
/* A peer that takes nothing of the last answer for that long is given up. */
#define LINGER_QUEUED_NS (30 * NS_PER_S)

struct http_server {
    struct loop *loop;
    const struct http_server_ops *ops;
    struct http_server_config config;
    void *owner;
    struct listener listener;
    bool is_stopping;
    size_t n_conns;
    struct list conns;
    struct buf head; /* scratch for rendering answer heads */
    /* Scratch for parsing request heads: 4 KiB are too much to clear on the stack for every read.
     */
    struct http1_head parsed;
};

/* Adds to a counter about clients. */
static void server_count(const struct http_server *s, enum stat_id id, int64_t n)
{
    if (!s->config.is_internal)
        stat_add(id, n);
}

/* --- timer --- */

static void conn_deadline_set(struct http_server_conn *c, enum timer_kind kind, int64_t delay_ns)
{
    struct loop *l = c->server->loop;

    c->_timer_kind = kind;
    if (kind == TIMER_NONE)
        return;
    c->_deadline = mono_add(loop_now(l), delay_ns);
    if (!timer_is_running(&c->_timer) || c->_deadline.ns < c->_timer_due.ns) {
        c->_timer_due = c->_deadline;
        loop_timer_start(l, &c->_timer, delay_ns);
    }
}

/* --- end of a connection --- */

static void conn_close(struct http_server_conn *c, bool with_reset)
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
    server_count(s, STAT_CONNS_CLIENT_OPEN, -1);
    mem_free(c);
}

/* The last answer is written or queued: send the rest, then wait for the client to close. */
static void conn_linger(struct http_server_conn *c)
{
    c->_state = CONN_CLOSING;
    c->_linger_queued = sock_queued_bytes(&c->_sock);
    sock_shutdown(&c->_sock);
    conn_deadline_set(c, TIMER_LINGER, c->_linger_queued > 0 ? LINGER_QUEUED_NS : LINGER_NS);
    sock_resume(&c->_sock);
}

static int bad_body_default(int status, const char *why, struct buf *out)
{
    struct jsonw w;

    jsonw_init(&w, out);
    jsonw_begin_object(&w);
    jsonw_key(&w, "error");
    jsonw_begin_object(&w);
    jsonw_key(&w, "message");
    jsonw_cstr(&w, why); /* some of these texts have quotes in them */
    jsonw_key(&w, "type");
    jsonw_cstr(&w, "invalid_request_error");
    jsonw_key(&w, "param");
    jsonw_null(&w);
    jsonw_key(&w, "code");
    jsonw_cstr(&w, status == 408   ? "request_timeout"
                   : status == 431 ? "head_too_large"
                                   : "bad_request");
    jsonw_end_object(&w);
    jsonw_end_object(&w);
    return jsonw_error(&w) < 0 ? jsonw_error(&w) : buf_append(out, SPAN("\n"));
}

/* Answers a request that cannot be served and closes. Nothing of it was answered yet. */
static void conn_refuse(struct http_server_conn *c, int status, const char *why)
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
        conn_close(c, false);
    else
        conn_linger(c);
    buf_done(&body);
}

/* The open request lost its client or its own body; tells the handler once. */
static void conn_gone(struct http_server_conn *c, int error, struct stamp at)
{
    int status = error == -ETIMEDOUT ? 408 : error == -EPROTO ? 400 : 0;

    if (c->_state == CONN_OPEN) {
        c->_state = CONN_WAITING;
        c->server->ops->on_gone(c, error, at);
        c->request = NULL;
    }
    if (status != 0 && !c->_is_answered) {
        server_count(c->server, STAT_HTTP_BAD_REQUESTS, 1);
        conn_refuse(c, status,
                    status == 408 ? "request body came too slowly"
                                  : "malformed chunked request body");
        return;
    }
    conn_close(c, false);
}

/* --- requests in --- */

static void conn_request_bad(struct http_server_conn *c, enum message_status status)
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
        conn_close(c, false);
        return;
    }
    server_count(c->server, STAT_HTTP_BAD_REQUESTS, 1);
    if (s->ops->on_bad)
        s->ops->on_bad(s, code, why, c->_first);
    conn_refuse(c, code, why);
}

static void conn_request_begin(struct http_server_conn *c, const struct http1_head *head,
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
    conn_deadline_set(c, TIMER_BODY, c->server->config.body_timeout_ns);
    c->server->ops->on_request(c, &info);
}

/* Bytes of the next request while this one is being served. */
static void conn_keep_rest(struct http_server_conn *c, struct span in, struct stamp at)
{
    sock_pause(&c->_sock);
    c->_rest_at = at;
    if (buf_append(&c->_rest, in) < 0)
        c->_keep_alive = false; /* cannot hold it: serve this one, then close */
}

/* One step of the reader; false when the connection is no longer fed. is_pipelined: these bytes
 * came while an earlier request was with the handler. */
static bool conn_step(struct http_server_conn *c, struct span *in, struct stamp at,
                      bool is_pipelined)
{
    struct http1_head *head = &c->server->parsed;
    struct span body = {0};
    enum message_status status;

    if (c->_state == CONN_WAITING && message_is_idle(&c->_in)) {
        c->_first = at;
        c->_is_pipelined = is_pipelined;
        conn_deadline_set(c, TIMER_HEAD, c->server->config.head_timeout_ns);
    }
    status = message_next(&c->_in, in, head, &body);
    switch (status) {
    case MESSAGE_HEAD:
        conn_request_begin(c, head, at);
        return c->_state != CONN_CLOSED;
    case MESSAGE_BODY:
        if (c->_state == CONN_OPEN) {
            c->_deadline = mono_add(loop_now(c->server->loop), c->server->config.body_timeout_ns);
            c->server->ops->on_body(c, body, at);
        }
        return c->_state != CONN_CLOSED;
    case MESSAGE_END:
        c->_is_body_done = true;
        if (c->_state == CONN_OPEN) {
            conn_deadline_set(c, TIMER_NONE, 0);
            c->server->ops->on_end(c, at);
        }
        return c->_state != CONN_CLOSED;
    case MESSAGE_MORE:
        return true;
    case MESSAGE_ERROR:
    case MESSAGE_TOO_LARGE:
    case MESSAGE_NO_MEMORY:
        if (c->_state == CONN_OPEN)
            conn_gone(c, status == MESSAGE_NO_MEMORY ? -ENOMEM : -EPROTO, at);
        else
            conn_request_bad(c, status);
        return false;
    }
    return false;
}

static void conn_feed(struct http_server_conn *c, struct span in, struct stamp at,
                      bool is_pipelined)
{
    while (in.n > 0) {
        if (c->_state == CONN_CLOSING || c->_state == CONN_CLOSED)
            return;
        if (c->_state == CONN_OPEN && c->_is_body_done) {
            conn_keep_rest(c, in, at);
            return;
        }
        if (!conn_step(c, &in, at, is_pipelined))
            return;
        if (c->_is_body_done)
            is_pipelined = true; /* what follows in this read */
    }
    /* A head without body ends without further bytes. */
    if (c->_state == CONN_OPEN && !c->_is_body_done)
        (void)conn_step(c, &in, at, is_pipelined);
}

static void conn_on_data(struct sock *s, struct span data, struct stamp at)
{
    struct http_server_conn *c = CONTAINER_OF(s, struct http_server_conn, _sock);

    server_count(c->server, STAT_BYTES_CLIENT_IN, (int64_t)data.n);
    conn_feed(c, data, at, false);
}

static void conn_on_eof(struct sock *s, struct stamp at)
{
    struct http_server_conn *c = CONTAINER_OF(s, struct http_server_conn, _sock);

    c->_is_peer_done = true;
    if (c->_state == CONN_OPEN)
        conn_gone(c, 0, at);
    else if (sock_queued_bytes(&c->_sock) == 0)
        conn_close(c, false);
    else if (c->_state == CONN_WAITING)
        conn_linger(c); /* it closed its side only: the rest of the last answer still goes out */
}

static void conn_on_hangup(struct sock *s)
{
    conn_on_eof(s, (struct stamp){.at = clock_mono()});
}

static void conn_on_error(struct sock *s, int error)
{
    struct http_server_conn *c = CONTAINER_OF(s, struct http_server_conn, _sock);

    if (c->_state == CONN_OPEN)
        conn_gone(c, error == -EPROTO || error == -ETIMEDOUT ? -ECONNRESET : error,
                  (struct stamp){.at = clock_mono()});
    else
        conn_close(c, false);
}

static void conn_on_drained(struct sock *s)
{
    struct http_server_conn *c = CONTAINER_OF(s, struct http_server_conn, _sock);

    if (c->_state == CONN_OPEN)
        c->server->ops->on_drained(c);
    else if (c->_state == CONN_CLOSING && sock_queued_bytes(s) == 0 && c->_is_peer_done)
        conn_close(c, false);
    else if (c->_state == CONN_CLOSING && sock_queued_bytes(s) == 0)
        conn_deadline_set(c, TIMER_LINGER, LINGER_NS);
}

static const struct sock_ops conn_sock_ops = {
    .on_data = conn_on_data,
    .on_eof = conn_on_eof,
    .on_hangup = conn_on_hangup,
    .on_error = conn_on_error,
    .on_drained = conn_on_drained,
};

static void conn_linger_check(struct http_server_conn *c)
{
    size_t queued = sock_queued_bytes(&c->_sock);

    if (queued > 0 && queued < c->_linger_queued) {
        c->_linger_queued = queued; /* slow, but it takes what is left */
        conn_deadline_set(c, TIMER_LINGER, LINGER_QUEUED_NS);
        return;
    }
    conn_close(c, false);
}

/* The whole answer is queued; is the client taking it? */
static void conn_write_check(struct http_server_conn *c)
{
    size_t queued = sock_queued_bytes(&c->_sock);

    if (c->_state != CONN_OPEN || queued == 0)
        return;
    if (queued == c->_linger_queued) {
        conn_gone(c, 0, (struct stamp){.at = clock_mono()});
        return;
    }
    c->_linger_queued = queued;
    conn_deadline_set(c, TIMER_WRITE, c->server->config.write_timeout_ns);
}

static void conn_on_timer(struct timer *t)
{
    struct http_server_conn *c = CONTAINER_OF(t, struct http_server_conn, _timer);
    int64_t left = mono_diff(c->_deadline, loop_now(c->server->loop));

    if (c->_timer_kind == TIMER_NONE)
        return;
    if (left > 0) {
        c->_timer_due = c->_deadline;
        loop_timer_start(c->server->loop, t, left);
        return;
    }
    switch (c->_timer_kind) {
    case TIMER_IDLE:
        conn_close(c, false);
        break;
    case TIMER_HEAD:
        server_count(c->server, STAT_HTTP_BAD_REQUESTS, 1);
        if (c->server->ops->on_bad)
            c->server->ops->on_bad(c->server, 408, "request head came too slowly", c->_first);
        conn_refuse(c, 408, "request head came too slowly");
        break;
    case TIMER_BODY:
        if (sock_is_paused(&c->_sock)) /* held back by us: not the client's fault */
            conn_deadline_set(c, TIMER_BODY, c->server->config.body_timeout_ns);
        else
            conn_gone(c, -ETIMEDOUT, (struct stamp){.at = clock_mono()});
        break;
    case TIMER_WRITE:
        conn_write_check(c);
        break;
    case TIMER_LINGER:
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
    conn_feed(c, buf_span(&rest), c->_rest_at, true);
    buf_done(&rest);
}

static void server_on_accept(struct listener *l, int fd)
{
    struct http_server *s = CONTAINER_OF(l, struct http_server, listener);
    struct http_server_conn *c;

    if (s->n_conns >= s->config.max_conns) {
        server_count(s, STAT_CONNS_REFUSED, 1);
        close(fd);
        return;
    }
    c = mem_zalloc(1, sizeof(*c));
    if (!c) {
        server_count(s, STAT_CONNS_REFUSED, 1);
        close(fd);
        return;
    }
    c->server = s;
    c->_state = CONN_WAITING;
    sock_init(&c->_sock, s->loop, &conn_sock_ops, s->config.max_queue_bytes);
    message_init(&c->_in, MESSAGE_REQUESTS);
    buf_init(&c->_rest, LIMIT_READ_BYTES);
    timer_init(&c->_timer, conn_on_timer);
    task_init(&c->_next, conn_on_next);
    list_push_back(&s->conns, &c->_link);
    s->n_conns++;
    server_count(s, STAT_CONNS_ACCEPTED, 1);
    server_count(s, STAT_CONNS_CLIENT_OPEN, 1);
    if (sock_attach(&c->_sock, fd) < 0) {
        conn_close(c, false);
        return;
    }
    conn_deadline_set(c, TIMER_IDLE, s->config.idle_timeout_ns);
}

/* --- server object --- */

int http_server_new(struct loop *l, const struct http_server_ops *ops,
                    const struct http_server_config *config, void *owner, struct http_server **ret)
{
    struct http_server *s = mem_zalloc(1, sizeof(*s));

    if (!s)
        return -ENOMEM;
    s->loop = l;
    s->ops = ops;
    s->config = *config;
    s->owner = owner;
    s->listener._watch.fd = -1;
    list_init(&s->conns);
    buf_init(&s->head, 2 * LIMIT_HEAD_BYTES);
    *ret = s;
    return 0;
}

struct http_server *http_server_free(struct http_server *s)
{
    if (!s)
        return NULL;
    listener_stop(&s->listener);
    while (!list_is_empty(&s->conns)) {
        struct http_server_conn *c = CONTAINER_OF(s->conns.next, struct http_server_conn, _link);
        if (c->_state == CONN_OPEN) {
            c->_state = CONN_WAITING;
            s->ops->on_gone(c, -ECANCELED, (struct stamp){.at = clock_mono()});
        }
        conn_close(c, false);
        conn_free(c);
    }
    buf_done(&s->head);
    mem_free(s);
    return NULL;
}

void *http_server_owner(const struct http_server *s)
{
    return s->owner;
}

int http_server_listen(struct http_server *s, int fd)
{
    return listener_start(&s->listener, s->loop, fd, server_on_accept);
}

void http_server_stop_accepting(struct http_server *s)
{
    struct list *next;

    s->is_stopping = true;
    listener_stop(&s->listener);
    for (struct list *i = s->conns.next; i != &s->conns; i = next) {
        struct http_server_conn *c = CONTAINER_OF(i, struct http_server_conn, _link);
        next = i->next;
        if (c->_state == CONN_WAITING && message_is_idle(&c->_in) && buf_len(&c->_rest) == 0)
            conn_close(c, false);
    }
}

size_t http_server_n_conns(const struct http_server *s)
{
    return s->n_conns;
}

/* --- answers out --- */

struct loop *http_server_loop(struct http_server_conn *c)
{
    return c->server->loop;
}

/* A send that failed may have left a part of its bytes on the way. */
static int conn_sent(struct http_server_conn *c, int result)
{
    int64_t write_ns = c->server->config.write_timeout_ns;

    if (result < 0)
        c->_is_broken = true;
    else if (write_ns > 0 && !http_writer_is_open(&c->_out) && sock_queued_bytes(&c->_sock) > 0) {
        c->_linger_queued = sock_queued_bytes(&c->_sock);
        conn_deadline_set(c, TIMER_WRITE, write_ns);
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
        server_count(c->server, STAT_BYTES_CLIENT_OUT, (int64_t)parts[i].n);
    return conn_sent(c, http_writer_start(&c->_out, &c->_sock, buf_span(&c->server->head), allowed,
                                          parts, n, is_last, NULL));
}

int http_server_body(struct http_server_conn *c, const struct span *parts, int n, bool is_last)
{
    for (int i = 0; i < n; i++)
        server_count(c->server, STAT_BYTES_CLIENT_OUT, (int64_t)parts[i].n);
    return conn_sent(c, http_writer_body(&c->_out, parts, n, is_last, NULL));
}

void http_server_end(struct http_server_conn *c)
{
    bool is_whole = c->_is_answered && !http_writer_is_open(&c->_out);

    c->request = NULL;
    if (c->_state != CONN_OPEN)
        return;
    c->_state = CONN_WAITING;
    if (!sock_is_open(&c->_sock) || c->_is_broken) {
        conn_close(c, true);
    } else if (is_whole && c->_keep_alive && c->_is_body_done && !c->server->is_stopping) {
        conn_deadline_set(c, TIMER_IDLE, c->server->config.idle_timeout_ns);
        if (sock_is_paused(&c->_sock)) /* by a pipelined request or by the handler */
            loop_defer(c->server->loop, &c->_next);
    } else if (!is_whole && (!c->_is_answered || c->_out._framing.kind == HTTP1_BODY_UNTIL_CLOSE)) {
        conn_close(c, true); /* only a reset tells this client that something is missing */
    } else if (c->_is_body_done && buf_len(&c->_rest) == 0 && sock_queued_bytes(&c->_sock) == 0) {
        conn_close(c, false);
    } else {
        conn_linger(c);
    }
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

bool http_server_is_full(const struct http_server_conn *c)
{
    return sock_is_full(&c->_sock);
}

size_t http_server_queued_bytes(const struct http_server_conn *c)
{
    return sock_queued_bytes(&c->_sock);
}
