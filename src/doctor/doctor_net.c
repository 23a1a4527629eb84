/* SPDX-License-Identifier: Apache-2.0 */
/*
 * doctor/doctor_net.c - the loop is turned until what was asked for has come, or time is up.
 */
#include "doctor/doctor_net.h"

#include <errno.h>

#include "base/limits.h"

enum { QUEUE_BYTES = 1 << 20 };

/* --- waiting --- */

struct wait {
    struct timer timer; /* first: the timer's owner */
    bool is_done, is_late;
};

static void on_late(struct timer *t)
{
    struct wait *w = CONTAINER_OF(t, struct wait, timer);

    w->is_late = true;
    w->is_done = true;
}

static void wait_begin(struct wait *w)
{
    *w = (struct wait){.is_done = false};
    timer_init(&w->timer, on_late);
}

static void wait_for(struct doctor_net *n, struct wait *w, int64_t timeout_ns)
{
    loop_timer_start(n->loop, &w->timer, timeout_ns);
    while (!w->is_done)
        loop_turn(n->loop, -1);
    loop_timer_stop(n->loop, &w->timer);
}

/* --- the way there --- */

static int open_pool(struct doctor_net *n, const struct doctor_target *to)
{
    struct http_pool_config c = {
        .port = to->port,
        .dns_ttl_ns = 30 * NS_PER_S,
        .max_queue_bytes = QUEUE_BYTES,
        .tls = n->tls,
        .proxy = to->proxy,
    };

    (void)span_copy(to->host, c.host, sizeof(c.host));
    return http_pool_new(n->loop, n->resolver, &c, &n->pool);
}

int doctor_net_open(struct doctor_net *n, const struct doctor_target *to, struct err *reterr)
{
    struct tls_client_config tls = {.ca_file = to->ca_file, .is_unverified = to->is_unverified};
    int r;

    *n = (struct doctor_net){NULL, NULL, NULL, NULL};
    r = loop_new(&n->loop);
    if (r == 0)
        r = resolver_new(&n->resolver);
    if (r == 0 && to->is_tls)
        r = tls_client_new(&tls, &n->tls, reterr);
    if (r == 0)
        r = open_pool(n, to);
    if (r < 0)
        doctor_net_close(n);
    return r;
}

void doctor_net_close(struct doctor_net *n)
{
    if (n->pool)
        n->pool = http_pool_free(n->pool);
    if (n->resolver)
        n->resolver = resolver_free(n->resolver);
    if (n->loop) {
        loop_turn(n->loop, 0); /* what was deferred, and answers of the resolver */
        n->loop = loop_free(n->loop);
    }
    n->tls = tls_context_unref(n->tls);
}

/* --- names --- */

/* Static storage would be for one run at a time; an answer may come after the wait is over. */
struct lookup {
    struct wait wait;
    struct resolver_answer *ret;
};

static void on_name(void *arg, const struct resolver_answer *answer)
{
    struct lookup *l = arg;

    *l->ret = *answer;
    l->wait.is_done = true;
}

int doctor_net_name(struct doctor_net *n, const char *host, uint16_t port, int64_t timeout_ns,
                    struct resolver_answer *ret)
{
    struct lookup l = {.ret = ret};
    int r;

    wait_begin(&l.wait);
    r = resolver_lookup(n->resolver, n->loop, host, port, on_name, &l);
    if (r < 0)
        return r;
    wait_for(n, &l.wait, timeout_ns);
    if (!l.wait.is_late)
        return ret->error;
    l.wait.is_done = false; /* its answer still comes to this frame */
    while (!l.wait.is_done)
        loop_turn(n->loop, -1);
    return -ETIMEDOUT;
}

/* --- connections --- */

struct dial {
    struct wait wait;
    struct sock sock;
    int error;
};

static void on_connected(struct sock *s)
{
    CONTAINER_OF(s, struct dial, sock)->wait.is_done = true;
}

static void on_connect_failed(struct sock *s, int error)
{
    struct dial *d = CONTAINER_OF(s, struct dial, sock);

    d->error = error;
    d->wait.is_done = true;
}

static void on_nothing(struct sock *s)
{
    (void)s;
}

static void on_greeting(struct sock *s, struct span data, struct stamp at)
{
    (void)s;
    (void)data;
    (void)at;
}

static void on_goodbye(struct sock *s, struct stamp at)
{
    (void)s;
    (void)at;
}

int doctor_net_connection(struct doctor_net *n, const struct addr *to, int64_t timeout_ns)
{
    static const struct sock_ops ops = {
        .on_connected = on_connected,
        .on_data = on_greeting,
        .on_eof = on_goodbye,
        .on_error = on_connect_failed,
        .on_drained = on_nothing,
    };
    struct dial d = {.error = 0};
    int r;

    wait_begin(&d.wait);
    sock_init(&d.sock, n->loop, &ops, QUEUE_BYTES);
    r = sock_connect(&d.sock, to);
    if (r < 0)
        return r;
    wait_for(n, &d.wait, timeout_ns);
    sock_close(&d.sock, false);
    return d.wait.is_late ? -ETIMEDOUT : d.error;
}

/* --- requests --- */

struct asking {
    struct wait wait;
    struct http_client *client; /* NULL: no longer ours */
    struct span head, body;
    struct doctor_answer *ret;
    struct arena *arena;
    struct buf bytes;
    struct doctor_read *reads;
    size_t cap;
    bool is_out_of_memory;
};

static void finish(struct asking *q, mono_t at)
{
    q->ret->t_end = at;
    q->client = NULL;
    q->wait.is_done = true;
}

static void on_ready(struct http_client *c)
{
    struct asking *q = c->user;
    struct http_framing framing = {q->body.n > 0 ? HTTP1_BODY_LENGTH : HTTP1_BODY_NONE, q->body.n};
    int r;

    q->ret->phase = HTTP_PHASE_EXCHANGE;
    (void)http_client_tls_validity(c, &q->ret->cert_from_s, &q->ret->cert_until_s);
    if (q->head.n == 0) {
        http_client_abort(c);
        finish(q, clock_mono());
        return;
    }
    r = http_client_send(c, q->head, framing, &q->body, q->body.n > 0 ? 1 : 0, true, false,
                         &q->ret->t_sent);
    if (r < 0) {
        q->ret->error = r;
        http_client_abort(c);
        finish(q, clock_mono());
    }
}

static void copy_fields(struct asking *q, const struct http1_head *head)
{
    struct http1_field *f = arena_array(q->arena, head->n_fields, sizeof(*f));

    for (size_t i = 0; f && i < head->n_fields; i++) {
        f[i].name = arena_dup(q->arena, head->fields[i].name);
        f[i].value = arena_dup(q->arena, head->fields[i].value);
        q->is_out_of_memory |= !f[i].name.p || !f[i].value.p;
    }
    q->is_out_of_memory |= !f;
    q->ret->fields = f;
    q->ret->n_fields = q->is_out_of_memory ? 0 : head->n_fields;
}

static void on_head(struct http_client *c, const struct http1_head *head, struct stamp at)
{
    struct asking *q = c->user;

    if (head->status < 200)
        return;
    q->ret->has_head = true;
    q->ret->t_head = at.at;
    q->ret->wall_us = clock_wall().us;
    q->ret->status = head->status;
    q->ret->is_chunked = head->framing == HTTP1_BODY_CHUNKED;
    q->ret->has_length = head->has_length;
    copy_fields(q, head);
}

static void on_body(struct http_client *c, struct span bytes, struct stamp at)
{
    struct asking *q = c->user;
    struct doctor_answer *a = q->ret;
    int r = buf_append(&q->bytes, bytes);

    a->is_cut |= r == -EMSGSIZE;
    q->is_out_of_memory |= r == -ENOMEM;
    if (r < 0)
        return;
    if (a->n_reads == 0 ||
        (q->reads[a->n_reads - 1].at.ns != at.at.ns && a->n_reads < ANSWER_READS_MAX)) {
        struct doctor_read *room =
            arena_grow(q->arena, q->reads, a->n_reads, 1, &q->cap, sizeof(*room));
        if (!room) {
            q->is_out_of_memory = true;
            return;
        }
        q->reads = room;
        q->reads[a->n_reads++].at = at.at;
    }
    q->reads[a->n_reads - 1].end = buf_len(&q->bytes);
}

static void on_end(struct http_client *c, struct stamp at)
{
    finish(c->user, at.at);
}

static void on_failed(struct http_client *c, enum http_phase phase, int error, bool had_bytes,
                      struct stamp at)
{
    struct asking *q = c->user;

    (void)had_bytes;
    q->ret->phase = phase;
    q->ret->error = error;
    q->ret->proxy_status = c->proxy_status;
    q->ret->why = phase == HTTP_PHASE_TLS ? http_client_tls_error(c)
                  : error == -EPROTO      ? http_client_error_text(c)
                                          : NULL;
    finish(q, at.at);
}

static const struct http_client_ops client_ops = {
    .on_ready = on_ready,
    .on_head = on_head,
    .on_body = on_body,
    .on_end = on_end,
    .on_failed = on_failed,
};

static int take_body(struct asking *q)
{
    q->ret->reads = q->reads;
    q->ret->body = arena_dup(q->arena, buf_span(&q->bytes));
    return q->is_out_of_memory || !q->ret->body.p ? -ENOMEM : 0;
}

int doctor_net_request(struct doctor_net *n, struct span head, struct span body, int64_t timeout_ns,
                       struct arena *a, struct doctor_answer *ret)
{
    struct asking q = {.head = head, .body = body, .ret = ret, .arena = a};
    int r;

    *ret = (struct doctor_answer){.phase = HTTP_PHASE_CONNECT};
    wait_begin(&q.wait);
    buf_init(&q.bytes, ANSWER_BYTES_MAX);
    r = http_pool_acquire(n->pool, &client_ops, &q, true, &q.client);
    if (r < 0)
        return r;
    wait_for(n, &q.wait, timeout_ns);
    if (q.client) { /* time is up */
        http_client_abort(q.client);
        ret->error = -ETIMEDOUT;
        ret->t_end = clock_mono();
    }
    r = take_body(&q);
    buf_done(&q.bytes);
    return r;
}

struct span doctor_answer_field(const struct doctor_answer *a, struct span name)
{
    for (size_t i = 0; i < a->n_fields; i++)
        if (span_eq_nocase(a->fields[i].name, name))
            return a->fields[i].value;
    return (struct span){"", 0};
}

struct span doctor_answer_type(const struct doctor_answer *a)
{
    struct span type = doctor_answer_field(a, SPAN("Content-Type"));

    return span_trim(span_split(&type, ';'));
}
