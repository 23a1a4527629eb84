/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gateway/exchange.c - the life of an exchange: what the client's connection tells, the plan, and
 * the one end of it all.
 */
#include "gateway/exchange.h"

#include <errno.h>

#include "base/limits.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/stat.h"

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
    x->upstream_path = (struct tap_path){-1, -1, 0};
    task_init(&x->free_later, exchange_on_free);
    deadline_init(x);
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

static struct tap_path told_path(bool is_told, const struct sock_path *p)
{
    return is_told ? (struct tap_path){p->rtt_ns, p->rtt_min_ns, p->n_resent}
                   : (struct tap_path){-1, -1, 0};
}

void exchange_look_at_upstream(struct exchange *x, struct http_client *c)
{
    struct sock_path p;
    bool is_told = x->tap && http_client_path(c, &p);

    x->upstream_path = told_path(is_told, &p);
}

static struct tap_path client_path(struct exchange *x)
{
    struct sock_path p;
    bool is_told = x->tap && x->client && http_server_path(x->client, &p);

    return told_path(is_told, &p);
}

void exchange_end(struct exchange *x, enum tap_end end, enum tap_reason reason)
{
    struct gateway *g = x->g;
    struct tap_finish f;
    mono_t at;

    if (x->is_ended)
        return;
    x->is_ended = true;
    answer_unblock(x);
    at = clock_mono();
    if (x->upstream)
        exchange_look_at_upstream(x, x->upstream);
    f = (struct tap_finish){
        .at = at,
        .end = end,
        .reason = reason,
        .status = x->status,
        .n_attempts = x->n_attempts,
        .client_blocked_ns = x->blocked_ns,
        .request_bytes = x->request_bytes,
        .response_bytes = x->response_bytes,
        .client = client_path(x),
        .upstream = x->upstream_path,
    };
    deadline_stop(x);
    choice_over(x, BREAKER_NO_VERDICT);
    if (x->upstream) {
        http_client_abort(x->upstream);
        x->upstream = NULL;
    }
    if (x->client) {
        x->client->request = NULL;
        http_server_end(x->client);
        x->client = NULL;
    }
    admission_cancel(&x->ticket, loop_now(g->d.loop));
    if (x->tap)
        g->d.tap_ops->end(x->tap, &f);
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

/* --- the request's events --- */

static void warn_once(struct gateway *g, const char *text)
{
    if (!g->is_warned)
        LOG_WARN("%s (said once)", text);
    g->is_warned = true;
}

static void exchange_plan(struct exchange *x, bool is_complete)
{
    struct gateway *g = x->g;
    struct policy_request req = {.head = x->head,
                                 .window = buf_span(&x->window),
                                 .is_complete = is_complete,
                                 .now = loop_now(g->d.loop),
                                 .now_s = clock_wall().us / US_PER_S,
                                 .clock = clock_mono};

    x->is_window_exceeded = !is_complete;
    g->d.policy_ops->plan(g->d.policy, &req, &x->plan);
    x->has_plan = true;
    if (x->plan.warning)
        warn_once(g, x->plan.warning);
    if (x->plan.n_candidates > 0)
        x->chosen = x->plan.candidates[0];
    x->plan.told.at = clock_mono();
    x->plan.told.upstream_index = x->chosen;
    x->plan.told.upstream = x->plan.n_candidates > 0 ? exchange_upstream(x)->name : "";
    x->plan.told.model_version =
        x->plan.n_candidates > 0 ? exchange_upstream(x)->model_version : "";
    x->plan.told.is_window_exceeded = x->is_window_exceeded;
    if (x->tap && (x->plan.identity.key_id || mono_is_set(x->plan.identity.at)))
        g->d.tap_ops->identified(x->tap, &x->plan.identity);
    if (x->plan.refusal != TAP_REASON_NONE) {
        answer_refuse(x, x->plan.refusal, x->plan.refusal_text);
        return;
    }
    if (x->tap)
        g->d.tap_ops->planned(x->tap, &x->plan.told);
    if (x->plan.is_answered)
        answer_local(x);
    else
        choice_first(x);
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
                              .exchange = x,
                              .t_accept = info->first,
                              .started_at = clock_wall(),
                              .is_pipelined = info->is_pipelined};

    if (!x) {
        stat_inc(STAT_CONNS_REFUSED_NO_MEMORY);
        http_server_end(c);
        return;
    }
    begin.request_id = x->id;
    x->tap = g->d.tap_ops->begin(g->d.tap_watcher, &begin);
    deadline_begin(x, 0);
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
        x->g->d.tap_ops->request_end(x->tap, at);
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
