/* SPDX-License-Identifier: Apache-2.0 */
/*
 * http/client.c - the life of a connection to a server:
 *
 *   RESOLVING -> CONNECTING -> READY (told by a task) -> BUSY -> IDLE (pooled) -> READY ...
 *                                                            \-> CLOSED (freed by a task)
 *
 * Callbacks that could come from within a call of the user are told from the loop's task list.
 */
#include "http/client.h"

#include <errno.h>

#include "base/check.h"
#include "base/mem.h"
#include "base/stat.h"

enum { INTERIM_MAX = 16 }; /* 1xx heads in front of one answer */

enum client_state {
    CLIENT_RESOLVING,
    CLIENT_CONNECTING,
    CLIENT_READY, /* usable; on_ready is due or was told, nothing was sent yet */
    CLIENT_BUSY,
    CLIENT_FAILING, /* on_failed is due */
    CLIENT_IDLE,
    CLIENT_CLOSED,
};

/* A lookup under way; it outlives the pool if need be. */
struct pool_lookup {
    struct http_pool *pool; /* NULL: the pool is gone */
};

struct http_pool {
    struct loop *loop;
    struct resolver *resolver;
    struct http_pool_config config;
    struct list idle;    /* most recently used first */
    struct list waiting; /* RESOLVING */
    size_t n_idle;
    struct pool_lookup *lookup; /* under way, or NULL */
    mono_t resolved_at;
    struct http1_head parsed; /* scratch, as in server_conn.h */
    bool is_literal;
    int n_addrs;
    struct addr addrs[RESOLVER_ADDRS_MAX];
};

static const struct sock_ops client_sock_ops;

/* --- end of a connection --- */

static void client_close(struct http_client *c)
{
    if (c->_state == CLIENT_CLOSED)
        return;
    if (c->_state == CLIENT_IDLE) {
        c->_pool->n_idle--;
        stat_add(STAT_CONNS_UPSTREAM_IDLE, -1);
    }
    c->_state = CLIENT_CLOSED;
    list_remove(&c->_link);
    sock_close(&c->_sock, false);
    loop_timer_stop(c->_pool->loop, &c->_idle);
    task_cancel(&c->_later);
    loop_defer(c->_pool->loop, &c->_later);
}

static void client_free(struct http_client *c)
{
    task_cancel(&c->_later);
    message_done(&c->_in);
    stat_add(STAT_CONNS_UPSTREAM_OPEN, -1);
    mem_free(c);
}

static void client_fail_later(struct http_client *c, enum http_phase phase, int error)
{
    c->_state = CLIENT_FAILING;
    c->_phase = phase;
    c->_error = error;
    list_remove(&c->_link);
    loop_defer(c->_pool->loop, &c->_later);
}

/* --- connecting --- */

/* Tries the addresses from _addr_i on until one connect is under way. */
static void client_connect(struct http_client *c)
{
    struct http_pool *p = c->_pool;
    int error = -ENOENT;

    while (c->_addr_i < p->n_addrs) {
        error = sock_connect(&c->_sock, &p->addrs[c->_addr_i++]);
        if (error == 0) {
            c->_state = CLIENT_CONNECTING;
            return;
        }
    }
    client_fail_later(c, HTTP_PHASE_CONNECT, error);
}

static void client_on_connected(struct sock *s)
{
    struct http_client *c = CONTAINER_OF(s, struct http_client, _sock);

    c->t_ready = clock_mono();
    c->tcp_ns = mono_diff(c->t_ready, c->_t_start);
    c->_state = CLIENT_READY;
    c->ops->on_ready(c);
}

static void pool_on_answer(void *arg, const struct resolver_answer *answer)
{
    struct pool_lookup *k = arg;
    struct http_pool *p = k->pool;
    mono_t now = clock_mono();
    struct list waiting;

    mem_free(k);
    if (!p)
        return;
    p->lookup = NULL;
    if (answer->error == 0) {
        p->n_addrs = answer->n_addrs;
        memcpy(p->addrs, answer->addrs, sizeof(p->addrs));
        p->resolved_at = loop_now(p->loop);
    }
    list_init(&waiting);
    while (!list_is_empty(&p->waiting)) {
        struct http_client *c = CONTAINER_OF(p->waiting.next, struct http_client, _link);
        list_remove(&c->_link);
        list_push_back(&waiting, &c->_link);
    }
    while (!list_is_empty(&waiting)) {
        struct http_client *c = CONTAINER_OF(waiting.next, struct http_client, _link);
        list_remove(&c->_link);
        c->dns_ns = mono_diff(now, c->_t_start);
        c->_t_start = now;
        if (p->n_addrs == 0) /* nothing new, nothing old */
            client_fail_later(c, HTTP_PHASE_DNS, answer->error);
        else
            client_connect(c);
    }
}

static int pool_lookup_start(struct http_pool *p)
{
    struct pool_lookup *k;
    int r;

    if (p->lookup)
        return 0;
    k = mem_alloc(sizeof(*k));
    if (!k)
        return -ENOMEM;
    k->pool = p;
    r = resolver_lookup(p->resolver, p->loop, p->config.host, p->config.port, pool_on_answer, k);
    if (r < 0) {
        mem_free(k);
        return r;
    }
    p->lookup = k;
    return 0;
}

static bool pool_is_resolved(const struct http_pool *p)
{
    return p->is_literal ||
           (p->n_addrs > 0 && mono_diff(loop_now(p->loop), p->resolved_at) < p->config.dns_ttl_ns);
}

/* --- answers in --- */

/* The answer is complete: back into the pool where both sides agree, else closed. */
static void client_release(struct http_client *c)
{
    struct http_pool *p = c->_pool;

    c->user = NULL;
    c->ops = NULL;
    if (!c->_keep_alive || http_writer_is_open(&c->_out) || !sock_is_open(&c->_sock) ||
        p->n_idle >= p->config.max_idle || sock_queued_bytes(&c->_sock) > 0) {
        client_close(c);
        return;
    }
    c->_state = CLIENT_IDLE;
    list_push_front(&p->idle, &c->_link);
    p->n_idle++;
    stat_inc(STAT_CONNS_UPSTREAM_IDLE);
    sock_resume(&c->_sock);
    loop_timer_start(p->loop, &c->_idle, p->config.idle_timeout_ns);
}

static void client_fail(struct http_client *c, enum http_phase phase, int error, struct stamp at)
{
    const struct http_client_ops *ops = c->ops;

    client_close(c);
    ops->on_failed(c, phase, error, c->_had_bytes, at);
}

/* One step of the reader; false when this read is over for the user. */
static bool client_step(struct http_client *c, struct span *in, struct stamp at)
{
    struct http1_head *head = &c->_pool->parsed;
    struct span body = {0};

    switch (message_next(&c->_in, in, head, &body)) {
    case MESSAGE_HEAD:
        /* 101 we never ask for; a flood of others would never end. */
        if (head->status == 101 || (head->status < 200 && ++c->_n_interim > INTERIM_MAX)) {
            client_fail(c, HTTP_PHASE_EXCHANGE, -EPROTO, at);
            return false;
        }
        c->_keep_alive = head->keep_alive;
        c->ops->on_head(c, head, at);
        return c->_state == CLIENT_BUSY;
    case MESSAGE_BODY:
        c->ops->on_body(c, body, at);
        return c->_state == CLIENT_BUSY;
    case MESSAGE_END:
        if (in->n > 0)
            c->_keep_alive = false; /* bytes behind the answer: not to be trusted with another */
        c->ops->on_end(c, at);
        client_release(c);
        return false;
    case MESSAGE_MORE:
        return true;
    case MESSAGE_NO_MEMORY:
        client_fail(c, HTTP_PHASE_EXCHANGE, -ENOMEM, at);
        return false;
    default:
        client_fail(c, HTTP_PHASE_EXCHANGE, -EPROTO, at);
        return false;
    }
}

static void client_on_data(struct sock *s, struct span data, struct stamp at)
{
    struct http_client *c = CONTAINER_OF(s, struct http_client, _sock);

    stat_add(STAT_BYTES_UPSTREAM_IN, (int64_t)data.n);
    if (c->_state != CLIENT_BUSY) { /* an idle or unused connection has nothing to say */
        if (c->_state ==
            CLIENT_READY) /* reused: a last word to an idle client, as good as closed */
            client_fail(c, HTTP_PHASE_EXCHANGE, c->is_reused ? -EPIPE : -EPROTO, at);
        else
            client_close(c);
        return;
    }
    c->_had_bytes = true;
    do {
        if (!client_step(c, &data, at))
            return;
    } while (data.n > 0);
    /* A head without body ends without further bytes. */
    if (!message_is_idle(&c->_in) && !client_step(c, &data, at))
        return;
    if (c->ops->on_read_done)
        c->ops->on_read_done(c);
}

static void client_on_eof(struct sock *s, struct stamp at)
{
    struct http_client *c = CONTAINER_OF(s, struct http_client, _sock);

    if (c->_state == CLIENT_READY || (c->_state == CLIENT_BUSY && message_is_idle(&c->_in))) {
        client_fail(c, HTTP_PHASE_EXCHANGE, -EPIPE, at);
    } else if (c->_state == CLIENT_BUSY) {
        if (message_eof(&c->_in) == MESSAGE_END) {
            c->_keep_alive = false;
            c->ops->on_end(c, at);
            client_release(c);
        } else {
            client_fail(c, HTTP_PHASE_EXCHANGE, -EPIPE, at);
        }
    } else {
        client_close(c);
    }
}

static void client_on_error(struct sock *s, int error)
{
    struct http_client *c = CONTAINER_OF(s, struct http_client, _sock);
    struct stamp now = {.at = clock_mono()};

    if (c->_state == CLIENT_CONNECTING) {
        if (c->_addr_i < c->_pool->n_addrs) {
            sock_init(&c->_sock, c->_pool->loop, &client_sock_ops,
                      c->_pool->config.max_queue_bytes);
            client_connect(c);
            return;
        }
        client_fail(c, HTTP_PHASE_CONNECT, error, now);
    } else if (c->_state == CLIENT_READY || c->_state == CLIENT_BUSY) {
        client_fail(c, HTTP_PHASE_EXCHANGE, error, now);
    } else {
        client_close(c);
    }
}

static void client_on_drained(struct sock *s)
{
    struct http_client *c = CONTAINER_OF(s, struct http_client, _sock);

    if (c->_state == CLIENT_BUSY)
        c->ops->on_drained(c);
}

static const struct sock_ops client_sock_ops = {
    .on_connected = client_on_connected,
    .on_data = client_on_data,
    .on_eof = client_on_eof,
    .on_error = client_on_error,
    .on_drained = client_on_drained,
};

static void client_on_later(struct task *t)
{
    struct http_client *c = CONTAINER_OF(t, struct http_client, _later);

    switch (c->_state) {
    case CLIENT_CLOSED:
        client_free(c);
        break;
    case CLIENT_READY:
        c->ops->on_ready(c);
        break;
    case CLIENT_FAILING:
        client_fail(c, c->_phase, c->_error, (struct stamp){.at = clock_mono()});
        break;
    default:
        break;
    }
}

static void client_on_idle_timeout(struct timer *t)
{
    client_close(CONTAINER_OF(t, struct http_client, _idle));
}

/* --- pool --- */

int http_pool_new(struct loop *l, struct resolver *r, const struct http_pool_config *config,
                  struct http_pool **ret)
{
    struct http_pool *p = mem_zalloc(1, sizeof(*p));

    if (!p)
        return -ENOMEM;
    p->loop = l;
    p->resolver = r;
    p->config = *config;
    list_init(&p->idle);
    list_init(&p->waiting);
    p->is_literal = addr_from_literal(span_cstr(config->host), config->port, &p->addrs[0]);
    p->n_addrs = p->is_literal ? 1 : 0;
    if (!p->is_literal && !r) {
        mem_free(p);
        return -EINVAL;
    }
    *ret = p;
    return 0;
}

struct http_pool *http_pool_free(struct http_pool *p)
{
    if (!p)
        return NULL;
    while (!list_is_empty(&p->idle)) {
        struct http_client *c = CONTAINER_OF(p->idle.next, struct http_client, _link);
        client_close(c);
        client_free(c);
    }
    if (p->lookup)
        p->lookup->pool = NULL;
    mem_free(p);
    return NULL;
}

size_t http_pool_n_idle(const struct http_pool *p)
{
    return p->n_idle;
}

static struct http_client *pool_take_idle(struct http_pool *p)
{
    struct http_client *c = CONTAINER_OF(p->idle.next, struct http_client, _link);

    list_remove(&c->_link);
    p->n_idle--;
    stat_add(STAT_CONNS_UPSTREAM_IDLE, -1);
    loop_timer_stop(p->loop, &c->_idle);
    c->is_reused = true;
    c->dns_ns = c->tcp_ns = -1;
    c->_had_bytes = false;
    c->t_ready = clock_mono();
    c->_state = CLIENT_READY;
    loop_defer(p->loop, &c->_later);
    return c;
}

static struct http_client *pool_new_client(struct http_pool *p)
{
    struct http_client *c = mem_zalloc(1, sizeof(*c));

    if (!c)
        return NULL;
    c->_pool = p;
    c->dns_ns = c->tcp_ns = -1;
    c->_t_start = clock_mono();
    list_init(&c->_link);
    task_init(&c->_later, client_on_later);
    timer_init(&c->_idle, client_on_idle_timeout);
    message_init(&c->_in, MESSAGE_RESPONSES);
    sock_init(&c->_sock, p->loop, &client_sock_ops, p->config.max_queue_bytes);
    stat_inc(STAT_CONNS_UPSTREAM_OPEN);
    return c;
}

int http_pool_acquire(struct http_pool *p, const struct http_client_ops *ops, void *user,
                      bool fresh, struct http_client **ret)
{
    struct http_client *c;

    if (!fresh && !list_is_empty(&p->idle)) {
        c = pool_take_idle(p);
        c->ops = ops;
        c->user = user;
        *ret = c;
        return 0;
    }
    c = pool_new_client(p);
    if (!c)
        return -ENOMEM;
    c->ops = ops;
    c->user = user;
    *ret = c;
    if (pool_is_resolved(p)) {
        client_connect(c);
        return 0;
    }
    c->_state = CLIENT_RESOLVING;
    list_push_back(&p->waiting, &c->_link);
    if (pool_lookup_start(p) < 0)
        client_fail_later(c, HTTP_PHASE_DNS, -EAGAIN);
    return 0;
}

/* --- requests out --- */

int http_client_send(struct http_client *c, struct span head, struct http_framing framing,
                     const struct span *parts, int n, bool is_last, bool is_head_method,
                     mono_t *ret_before)
{
    if (NEVER(c->_state != CLIENT_READY))
        return -EPROTO;
    c->_state = CLIENT_BUSY;
    c->_in.request_was_head = is_head_method;
    c->_n_interim = 0;
    for (int i = 0; i < n; i++)
        stat_add(STAT_BYTES_UPSTREAM_OUT, (int64_t)parts[i].n);
    return http_writer_start(&c->_out, &c->_sock, head, framing, parts, n, is_last, ret_before);
}

int http_client_body(struct http_client *c, const struct span *parts, int n, bool is_last,
                     mono_t *ret_before)
{
    for (int i = 0; i < n; i++)
        stat_add(STAT_BYTES_UPSTREAM_OUT, (int64_t)parts[i].n);
    return http_writer_body(&c->_out, parts, n, is_last, ret_before);
}

void http_client_abort(struct http_client *c)
{
    c->user = NULL;
    client_close(c);
}

void http_client_pause(struct http_client *c)
{
    sock_pause(&c->_sock);
}

void http_client_resume(struct http_client *c)
{
    sock_resume(&c->_sock);
}

bool http_client_is_full(const struct http_client *c)
{
    return sock_is_full(&c->_sock);
}

bool http_client_is_broken(const struct http_client *c)
{
    return sock_is_broken(&c->_sock);
}

size_t http_client_queued_bytes(const struct http_client *c)
{
    return sock_queued_bytes(&c->_sock);
}

const char *http_client_error_text(const struct http_client *c)
{
    return c->_in.is_bad_chunk ? "malformed chunked body" : http1_error_text(c->_in.error);
}
