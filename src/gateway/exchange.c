/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gateway/exchange.c - the way in: from a client's first byte to the upstream's answer head, with
 * the retries that may lie between, and every way in which an exchange can end early.
 *
 * One lazy timer per exchange: each phase stores its deadline, the timer looks when it fires.
 */
#include "gateway/exchange.h"

#include <errno.h>
#include <stdio.h>

#include "base/check.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/stat.h"

/* A connection that was closed while idle shows it at once; later it is the request that failed,
 * and it may have been acted on. */
#define STALE_MAX_NS NS_PER_S

static const struct http_client_ops upstream_ops;

static void exchange_connect(struct exchange *x, bool fresh);
static void exchange_on_timer(struct timer *t);

static const struct tap_ops *tap_of(const struct exchange *x)
{
    return x->g->d.tap_ops;
}

/* --- time --- */

/* delay_ns 0: this phase has no limit of its own. */
static void deadline_set(struct exchange *x, int64_t delay_ns)
{
    struct loop *l = x->g->d.loop;
    int64_t total_ns = x->config->total_timeout_ns;
    mono_t now = loop_now(l);

    x->deadline = delay_ns > 0 ? mono_add(now, delay_ns) : (mono_t){INT64_MAX};
    if (total_ns > 0 && mono_add(x->started, total_ns).ns < x->deadline.ns)
        x->deadline = mono_add(x->started, total_ns);
    if (x->deadline.ns != INT64_MAX && !timer_is_running(&x->timer))
        loop_timer_start(l, &x->timer, mono_diff(x->deadline, now));
}

/* A phase begins whose deadline may lie before the one the timer waits for. */
void exchange_deadline(struct exchange *x, int64_t delay_ns)
{
    loop_timer_stop(x->g->d.loop, &x->timer);
    deadline_set(x, delay_ns);
}

/* --- birth and death --- */

static void exchange_on_free(struct task *t)
{
    exchange_free(CONTAINER_OF(t, struct exchange, free_later));
}

static struct exchange *exchange_new(struct gateway *g, struct http_server_conn *c)
{
    struct exchange *x = mem_zalloc(1, sizeof(*x));

    if (!x)
        return NULL;
    x->g = g;
    x->config = gateway_config_ref(g->config);
    x->client = c;
    x->started = loop_now(g->d.loop);
    task_init(&x->free_later, exchange_on_free);
    timer_init(&x->timer, exchange_on_timer);
    buf_init(&x->window, x->config->request_window_bytes + LIMIT_READ_BYTES);
    rng_hex(&g->rng, x->id, EXCHANGE_ID_LEN);
    list_push_back(&g->exchanges, &x->link);
    g->n_exchanges++;
    stat_inc(STAT_EXCHANGES_OPEN);
    c->request = x;
    return x;
}

void exchange_free(struct exchange *x)
{
    task_cancel(&x->free_later);
    mem_free(x->head);
    buf_done(&x->window);
    gateway_config_unref(x->config);
    mem_free(x);
}

/* What only a repeat would need. */
static void exchange_forget_request(struct exchange *x)
{
    mem_free(x->head);
    x->head = NULL;
    buf_done(&x->window);
}

static struct admission_request admission_request_of(const struct exchange *x)
{
    return (struct admission_request){.priority = x->plan.admission_class,
                                      .estimated_tokens = x->plan.estimated_tokens};
}

void exchange_end(struct exchange *x, enum tap_end end, enum tap_reason reason)
{
    struct gateway *g = x->g;
    struct tap_finish f;

    if (x->is_ended)
        return;
    x->is_ended = true;
    answer_unblock(x);
    f = (struct tap_finish){
        .at = clock_mono(),
        .end = end,
        .reason = reason,
        .status = x->status,
        .n_attempts = x->n_attempts,
        .client_blocked_ns = x->blocked_ns,
        .request_bytes = x->request_bytes,
        .response_bytes = x->response_bytes,
    };
    loop_timer_stop(g->d.loop, &x->timer);
    if (x->upstream) {
        http_client_abort(x->upstream);
        x->upstream = NULL;
    }
    if (x->client) {
        x->client->request = NULL;
        http_server_end(x->client);
        x->client = NULL;
    }
    if (x->is_admitted) {
        struct admission_request r = admission_request_of(x);
        admission_leave(g->d.admission[x->plan.upstream], &r);
    }
    if (x->tap)
        tap_of(x)->end(x->tap, &f);
    x->tap = NULL;
    if (x->has_plan && x->plan.exchange)
        g->d.policy_ops->plan_done(g->d.policy, x->plan.exchange);
    x->plan.exchange = NULL;
    list_remove(&x->link);
    g->n_exchanges--;
    stat_add(STAT_EXCHANGES_OPEN, -1);
    loop_defer(g->d.loop, &x->free_later);
    if (g->is_draining && g->n_exchanges == 0 && g->on_drained) {
        void (*told)(void *) = g->on_drained;
        g->on_drained = NULL;
        told(g->drained_arg);
    }
}

/* --- timeouts --- */

/* NONE: it is the client that we wait for. */
static enum tap_reason timeout_reason(const struct exchange *x)
{
    int64_t total_ns = x->config->total_timeout_ns;

    if (total_ns > 0 && mono_diff(loop_now(x->g->d.loop), x->started) >= total_ns)
        return TAP_REASON_TIMEOUT_TOTAL;
    switch (x->state) {
    case EXCHANGE_CONNECT:
        return TAP_REASON_TIMEOUT_CONNECT;
    case EXCHANGE_SEND:
    case EXCHANGE_WAIT:
        return TAP_REASON_TIMEOUT_FIRST_BYTE;
    case EXCHANGE_STREAM:
        return mono_is_set(x->blocked_since) ? TAP_REASON_NONE : TAP_REASON_TIMEOUT_IDLE;
    default:
        return TAP_REASON_NONE;
    }
}

/* Bytes wait for the client, and it has taken some of them since the last look (or this is the
 * first one). */
static bool is_client_taking(struct exchange *x)
{
    size_t before = x->blocked_queued;

    x->blocked_queued = http_server_queued_bytes(x->client);
    return x->blocked_queued > 0 && (before == 0 || x->blocked_queued < before);
}

static void exchange_on_timer(struct timer *t)
{
    struct exchange *x = CONTAINER_OF(t, struct exchange, timer);
    enum tap_reason reason = timeout_reason(x);
    int64_t left = mono_diff(x->deadline, loop_now(x->g->d.loop));

    if (x->deadline.ns == INT64_MAX)
        return;
    if (left > 0) {
        loop_timer_start(x->g->d.loop, t, left);
        return;
    }
    if (reason == TAP_REASON_NONE && is_client_taking(x)) {
        deadline_set(x, x->config->client_write_timeout_ns);
        return;
    }
    if (x->status == 0)
        answer_refuse(x, reason, "the upstream did not answer in time");
    else if (reason == TAP_REASON_NONE)
        exchange_end(x, TAP_END_CLIENT_GONE, TAP_REASON_NONE); /* it stopped reading */
    else
        exchange_end(x, TAP_END_TIMEOUT, reason);
}

/* --- request to the upstream --- */

static const struct gateway_upstream *upstream_of(const struct exchange *x)
{
    return &x->config->upstreams[x->plan.upstream];
}

/* The held body with the plan's edits spliced in. Returns the parts; *ret_bytes: their sum. */
static int request_parts(const struct exchange *x, struct span *parts, uint64_t *ret_bytes)
{
    struct span rest = buf_span(&x->window);
    size_t done = 0;
    int n = 0;

    if (!x->is_plain) {
        for (size_t i = 0; i < x->plan.n_edits; i++) {
            const struct policy_edit *e = &x->plan.edits[i];
            parts[n++] = span_take(&rest, e->at - done);
            parts[n++] = e->insert;
            span_take(&rest, e->remove);
            done = e->at + e->remove;
        }
    }
    parts[n++] = rest;
    *ret_bytes = 0;
    for (int i = 0; i < n; i++)
        *ret_bytes += parts[i].n;
    return n;
}

/* A request without a body stays one; else the length is known (whole body held, or announced by
 * the client), or the body is chunked as the client's is. */
static struct http_framing request_framing(const struct exchange *x, uint64_t held_bytes)
{
    if (x->head->framing == HTTP1_BODY_NONE)
        return (struct http_framing){HTTP1_BODY_NONE, 0};
    if (!x->is_window_exceeded)
        return (struct http_framing){HTTP1_BODY_LENGTH, held_bytes};
    if (x->head->framing == HTTP1_BODY_LENGTH)
        return (struct http_framing){HTTP1_BODY_LENGTH, x->head->content_length};
    return (struct http_framing){HTTP1_BODY_CHUNKED, 0};
}

static void request_is_sent(struct exchange *x, mono_t at)
{
    if (x->is_sent_told)
        return;
    x->is_sent_told = true;
    if (x->tap)
        tap_of(x)->sent(x->tap, at);
    if (x->state == EXCHANGE_SEND) {
        x->state = EXCHANGE_WAIT;
        exchange_deadline(x, x->config->first_byte_timeout_ns);
    }
}

/* Failures of our own making; any other error of a send means a broken connection, which tells its
 * end itself, behind what it may still bring (a server that refuses an upload answers and closes).
 */
static bool is_own_failure(int error)
{
    return error == -ENOMEM || error == -EMSGSIZE || error == -EPROTO;
}

static void request_send(struct exchange *x)
{
    struct span parts[2 * POLICY_EDITS_MAX + 1];
    uint64_t bytes;
    int n = request_parts(x, parts, &bytes);
    struct http_framing framing = request_framing(x, bytes);
    bool is_last = x->is_request_done;
    mono_t before = MONO_NONE;
    int r = headers_to_upstream(x, upstream_of(x), framing, &x->g->request_head);

    if (r == 0) {
        x->state = EXCHANGE_SEND;
        exchange_deadline(x, x->config->first_byte_timeout_ns);
        r = http_client_send(x->upstream, buf_span(&x->g->request_head), framing, parts, n, is_last,
                             span_eq(x->head->method, SPAN("HEAD")), &before);
    }
    if (r < 0 && is_own_failure(r)) {
        answer_refuse(x, TAP_REASON_INTERNAL, "out of memory");
        return;
    }
    if (r < 0) {
        x->state = EXCHANGE_CONNECT; /* nothing is out: it may be repeated */
        return;
    }
    if (x->is_window_exceeded) {
        buf_done(&x->window);
        if (!http_client_is_full(x->upstream))
            http_server_resume(x->client);
    }
    if (is_last && http_client_queued_bytes(x->upstream) == 0)
        request_is_sent(x, before);
}

/* More of a body that is streamed through. */
static void request_body(struct exchange *x, struct span bytes, bool is_last)
{
    mono_t before = MONO_NONE;
    int r = http_client_body(x->upstream, &bytes, 1, is_last, &before);

    if (r < 0 && is_own_failure(r)) {
        answer_refuse(x, TAP_REASON_INTERNAL, "out of memory");
        return;
    }
    if (r < 0) {
        x->is_request_dropped = true;
        return;
    }
    if (x->state == EXCHANGE_SEND) /* the wait for the answer begins behind the last byte */
        deadline_set(x, x->config->first_byte_timeout_ns);
    if (http_client_is_full(x->upstream))
        http_server_pause(x->client);
    if (is_last && http_client_queued_bytes(x->upstream) == 0)
        request_is_sent(x, before);
}

static void upstream_on_ready(struct http_client *c)
{
    struct exchange *x = c->user;
    struct tap_connected told = {
        .at = c->t_ready, .is_reused = c->is_reused, .dns_ns = c->dns_ns, .tcp_ns = c->tcp_ns};

    if (x->tap)
        tap_of(x)->connected(x->tap, &told);
    request_send(x);
}

static void upstream_on_drained(struct http_client *c)
{
    struct exchange *x = c->user;

    if (x->is_request_done && http_client_queued_bytes(c) == 0 && !http_client_is_broken(c))
        request_is_sent(x, clock_mono());
    else if (x->client && !http_client_is_full(c))
        http_server_resume(x->client);
}

static void exchange_connect(struct exchange *x, bool fresh)
{
    struct tap_attempt told = {.at = clock_mono(),
                               .number = ++x->n_attempts,
                               .is_usage_injected = x->plan.told.is_usage_injected && !x->is_plain};

    x->state = EXCHANGE_CONNECT;
    x->is_sent_told = false;
    x->is_request_dropped = false;
    x->attempt_started = loop_now(x->g->d.loop);
    if (x->tap)
        tap_of(x)->attempt(x->tap, &told);
    exchange_deadline(x, x->config->connect_timeout_ns);
    /* A body that is not held cannot be sent twice: no risk with a connection that may be stale. */
    if (http_pool_acquire(x->g->pools[x->plan.upstream], &upstream_ops, x,
                          fresh || x->is_window_exceeded, &x->upstream) < 0)
        answer_refuse(x, TAP_REASON_INTERNAL, "out of memory");
}

/* --- failures of an attempt --- */

static enum tap_reason connect_reason(enum http_phase phase, int error)
{
    if (phase == HTTP_PHASE_DNS)
        return TAP_REASON_CONNECT_DNS;
    return error == -ECONNREFUSED ? TAP_REASON_CONNECT_REFUSED : TAP_REASON_CONNECT_OTHER;
}

static void connect_failed(struct exchange *x, enum http_phase phase, int error)
{
    const struct gateway_upstream *u = upstream_of(x);
    char text[192];
    const char *what = phase == HTTP_PHASE_DNS ? "resolve the name of" : "connect to";
    const char *why =
        phase == HTTP_PHASE_DNS && error == -ENOENT ? "there is no such host" : err_str(error);

    LOG_WARN("could not %s upstream \"%s\" (%s): %s", what, u->name, u->authority, why);
    snprintf(text, sizeof(text), "could not %s upstream \"%s\": %s", what, u->name, why);
    answer_refuse(x, connect_reason(phase, error), text);
}

/* The server closed an idle connection just as we used it: nothing of the request was acted on. A
 * body that is streamed can be repeated only while none of it is out. */
static bool is_stale(const struct exchange *x, const struct http_client *c, int error,
                     bool had_bytes)
{
    int64_t since_ns = mono_diff(loop_now(x->g->d.loop), x->attempt_started);

    return c->is_reused && !had_bytes && !is_own_failure(error) && !x->was_stale_retried &&
           x->head != NULL && since_ns <= STALE_MAX_NS &&
           (!x->is_window_exceeded || x->state == EXCHANGE_CONNECT);
}

static enum tap_reason failure_reason(int error)
{
    if (error == -EPROTO)
        return TAP_REASON_BAD_RESPONSE;
    return error == -ENOMEM ? TAP_REASON_INTERNAL : TAP_REASON_UPSTREAM_CUT;
}

/* The upstream failed behind its answer's head, or before it. */
static void exchange_failed(struct exchange *x, int error)
{
    enum tap_reason reason = failure_reason(error);
    enum tap_end end = reason == TAP_REASON_BAD_RESPONSE ? TAP_END_BAD_RESPONSE
                       : reason == TAP_REASON_INTERNAL   ? TAP_END_INTERNAL
                                                         : TAP_END_UPSTREAM_CUT;

    if (x->status != 0)
        exchange_end(x, end, reason);
    else if (reason == TAP_REASON_BAD_RESPONSE)
        answer_refuse(x, reason, "the upstream's answer is not valid HTTP");
    else if (reason == TAP_REASON_INTERNAL)
        answer_refuse(x, reason, "out of memory");
    else
        answer_refuse(x, reason, "the upstream closed without an answer");
}

static void upstream_on_failed(struct http_client *c, enum http_phase phase, int error,
                               bool had_bytes, struct stamp at)
{
    struct exchange *x = c->user;

    (void)at;
    x->upstream = NULL;
    if (phase != HTTP_PHASE_EXCHANGE) {
        connect_failed(x, phase, error);
        return;
    }
    if (is_stale(x, c, error, had_bytes)) {
        x->was_stale_retried = true;
        stat_inc(STAT_STALE_RETRIES);
        exchange_connect(x, true);
        return;
    }
    answer_flush(x, ANSWER_IS_CUT); /* what this read brought before the fault is passed on */
    if (!x->is_ended)
        exchange_failed(x, error);
}

/* --- the answer's events --- */

static void upstream_on_head(struct http_client *c, const struct http1_head *head, struct stamp at)
{
    struct exchange *x = c->user;
    struct gateway *g = x->g;

    if (head->status < 200)
        return; /* interim: 100 was ours to send, others have no meaning here */
    if (x->tap)
        tap_of(x)->response_head(x->tap, head, at);
    /* Asked about the repeat, too: its success is what makes the upstream remembered. */
    if (x->plan.exchange && !x->is_window_exceeded &&
        g->d.policy_ops->answer_head(g->d.policy, x->plan.exchange, head) == POLICY_REPEAT_PLAIN &&
        !x->is_plain) {
        http_client_abort(c);
        x->upstream = NULL;
        x->is_plain = true;
        exchange_connect(x, false);
        return;
    }
    if (x->is_request_done)
        exchange_forget_request(x);
    else if (!http_client_is_full(c)) /* held back for an upstream that broke meanwhile */
        http_server_resume(x->client);
    x->state = EXCHANGE_STREAM;
    exchange_deadline(x, x->config->idle_timeout_ns);
    answer_head(x, head, at);
}

static void upstream_on_body(struct http_client *c, struct span bytes, struct stamp at)
{
    struct exchange *x = c->user;

    if (!mono_is_set(x->blocked_since)) /* else the client's time runs */
        deadline_set(x, x->config->idle_timeout_ns);
    answer_part(x, bytes, at);
}

static void upstream_on_read_done(struct http_client *c)
{
    answer_flush(c->user, ANSWER_GOES_ON);
}

static void upstream_on_end(struct http_client *c, struct stamp at)
{
    struct exchange *x = c->user;

    answer_flush(x, ANSWER_IS_WHOLE);
    if (x->is_ended)
        return;
    x->upstream = NULL; /* goes back to its pool */
    if (x->tap)
        tap_of(x)->response_end(x->tap, at);
    x->state = EXCHANGE_TAIL;
    exchange_deadline(x, x->config->client_write_timeout_ns);
    if (!x->is_request_done) /* an early answer: what still comes of the body is thrown away */
        http_server_resume(x->client);
    if (http_server_queued_bytes(x->client) == 0)
        exchange_end(x, TAP_END_COMPLETE, TAP_REASON_NONE);
}

static const struct http_client_ops upstream_ops = {
    .on_ready = upstream_on_ready,
    .on_head = upstream_on_head,
    .on_body = upstream_on_body,
    .on_read_done = upstream_on_read_done,
    .on_end = upstream_on_end,
    .on_failed = upstream_on_failed,
    .on_drained = upstream_on_drained,
};

/* --- the request's events --- */

static void exchange_plan(struct exchange *x, bool is_complete)
{
    struct gateway *g = x->g;
    struct policy_request req = {
        .head = x->head, .window = buf_span(&x->window), .is_complete = is_complete};
    struct admission_request admit;

    x->is_window_exceeded = !is_complete;
    g->d.policy_ops->plan(g->d.policy, &req, &x->plan);
    x->has_plan = true;
    x->plan.told.at = clock_mono();
    x->plan.told.is_window_exceeded = x->is_window_exceeded;
    if (x->plan.refusal != TAP_REASON_NONE) {
        answer_refuse(x, x->plan.refusal, x->plan.refusal_text);
        return;
    }
    if (x->tap)
        tap_of(x)->planned(x->tap, &x->plan.told);
    admit = admission_request_of(x);
    if (admission_enter(g->d.admission[x->plan.upstream], &admit) != ADMISSION_GRANTED)
        return; /* no limit is set yet */
    x->is_admitted = true;
    if (x->tap)
        tap_of(x)->admitted(x->tap, x->plan.told.at);
    if (x->is_window_exceeded)
        http_server_pause(x->client);
    exchange_connect(x, false);
}

/* A path, "*", or an http URL with nothing but a path behind its host; CONNECT's is refused by
 * name. */
static bool is_target_ok(struct span target)
{
    struct span rest;
    size_t slash;

    if (target.n > 0 && target.p[0] == '/')
        return true;
    if (target.n < 8 || !span_eq_nocase(span_of(target.p, 7), SPAN("http://")))
        return span_eq(target, SPAN("*"));
    rest = span_from(target, 7);
    slash = span_find_char(rest, '/');
    return span_find_char(rest, '?') >= slash;
}

static void on_request(struct http_server_conn *c, const struct http_request_info *info)
{
    struct gateway *g = http_server_owner(c->server);
    struct exchange *x = exchange_new(g, c);
    struct tap_begin begin = {.head = info->head,
                              .t_accept = info->first,
                              .started_at = clock_wall(),
                              .is_pipelined = info->is_pipelined};

    if (!x) {
        http_server_end(c);
        return;
    }
    begin.request_id = x->id;
    x->tap = g->d.tap_ops->begin(g->d.tap_watcher, &begin);
    deadline_set(x, 0);
    x->head = headers_copy(info->head);
    if (!x->head) {
        answer_refuse(x, TAP_REASON_INTERNAL, "out of memory");
        return;
    }
    if (info->head->framing == HTTP1_BODY_LENGTH &&
        info->head->content_length > x->config->max_body_bytes) {
        answer_refuse(x, TAP_REASON_BODY_TOO_LARGE, "the request body is over the limit");
        return;
    }
    if (span_eq(info->head->method, SPAN("CONNECT"))) {
        answer_refuse(x, TAP_REASON_BAD_REQUEST, "CONNECT is not supported");
        return;
    }
    if (!is_target_ok(info->head->target)) {
        answer_refuse(x, TAP_REASON_BAD_REQUEST, "the request target is not a path");
        return;
    }
    if (http_server_continue(c) < 0)
        exchange_end(x, TAP_END_CLIENT_GONE, TAP_REASON_NONE);
}

/* The upstream has answered, or broken, before it had the whole body. */
static bool request_is_unwanted(const struct exchange *x)
{
    return x->is_request_dropped || (x->state >= EXCHANGE_SEND && !x->upstream);
}

static void on_body(struct http_server_conn *c, struct span bytes, struct stamp at)
{
    struct exchange *x = c->request;

    (void)at;
    if (!x)
        return; /* already answered; the rest of the body is thrown away */
    x->request_bytes += bytes.n;
    if (request_is_unwanted(x))
        return;
    if (x->request_bytes > x->config->max_body_bytes) {
        if (x->status == 0)
            answer_refuse(x, TAP_REASON_BODY_TOO_LARGE, "the request body is over the limit");
        else
            exchange_end(x, TAP_END_REFUSED, TAP_REASON_BODY_TOO_LARGE);
        return;
    }
    if (x->state >= EXCHANGE_SEND) {
        request_body(x, bytes, false);
        return;
    }
    if (buf_append(&x->window, bytes) < 0) {
        answer_refuse(x, TAP_REASON_INTERNAL, "out of memory");
        return;
    }
    if (!x->has_plan && buf_len(&x->window) > x->config->request_window_bytes)
        exchange_plan(x, false);
}

static void on_end(struct http_server_conn *c, struct stamp at)
{
    struct exchange *x = c->request;

    if (!x)
        return;
    x->is_request_done = true;
    if (x->tap)
        tap_of(x)->request_end(x->tap, at);
    if (!x->has_plan)
        exchange_plan(x, true);
    else if (x->state >= EXCHANGE_SEND && !request_is_unwanted(x))
        request_body(x, (struct span){0}, true);
}

static void on_gone(struct http_server_conn *c, int error, struct stamp at)
{
    struct exchange *x = c->request;

    (void)at;
    if (!x)
        return;
    c->request = NULL;
    x->client = NULL;
    if (x->status == 0) /* what the server answers to these itself */
        x->status = error == -ETIMEDOUT ? 408 : error == -EPROTO ? 400 : 0;
    if (error == -ETIMEDOUT)
        exchange_end(x, TAP_END_REFUSED, TAP_REASON_TIMEOUT_REQUEST);
    else if (error == -EPROTO)
        exchange_end(x, TAP_END_REFUSED, TAP_REASON_BAD_REQUEST);
    else if (error == -ENOMEM)
        exchange_end(x, TAP_END_INTERNAL, TAP_REASON_INTERNAL);
    else if (error == -ECANCELED)
        exchange_end(x, TAP_END_DRAIN, TAP_REASON_DRAIN);
    else
        exchange_end(x, TAP_END_CLIENT_GONE, TAP_REASON_NONE);
}

static void on_client_drained(struct http_server_conn *c)
{
    struct exchange *x = c->request;

    if (!x)
        return;
    if (x->state == EXCHANGE_TAIL && http_server_queued_bytes(c) == 0)
        exchange_end(x, TAP_END_COMPLETE, TAP_REASON_NONE);
    else if (!http_server_is_full(c))
        answer_unblock(x);
}

const struct http_server_ops exchange_server_ops = {
    .on_request = on_request,
    .on_body = on_body,
    .on_end = on_end,
    .on_gone = on_gone,
    .on_drained = on_client_drained,
};
