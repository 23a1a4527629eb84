/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gateway/attempt.c - one try at the upstream: a connection, what it tells, how it can fail, and
 * when the request is sent once more.
 */
#include <errno.h>
#include <stdio.h>

#include "base/log.h"
#include "base/stat.h"
#include "gateway/exchange.h"

/* A connection that was closed while idle shows it at once; later it is the request that failed,
 * and it may have been acted on. */
#define STALE_MAX_NS NS_PER_S

static const struct http_client_ops upstream_ops;

static int attempt_aim(struct exchange *x)
{
    struct policy_aim_request req = {.head = x->head,
                                     .window = buf_span(&x->window),
                                     .is_complete = !x->is_window_exceeded,
                                     .upstream = x->chosen,
                                     .is_plain = x->is_plain};

    return x->g->d.policy_ops->aim(x->g->d.policy, x->plan.exchange, &req, &x->aim);
}

void attempt_begin(struct exchange *x, bool fresh)
{
    struct tap_attempt told = {.at = clock_mono(),
                               .number = ++x->n_attempts,
                               .upstream = exchange_upstream(x)->name,
                               .upstream_index = x->chosen,
                               .model_version = exchange_upstream(x)->model_version};

    x->state = EXCHANGE_CONNECT;
    x->is_sent_told = false;
    x->is_request_dropped = false;
    x->upstream_path = (struct tap_path){-1, -1, 0};
    x->attempt_started = loop_now(x->g->d.loop);
    if (attempt_aim(x) < 0) {
        x->n_attempts--;
        answer_refuse(x, TAP_REASON_INTERNAL, "out of memory");
        return;
    }
    told.is_usage_injected = x->aim.is_usage_injected;
    told.model = x->aim.model;
    if (x->tap)
        x->g->d.tap_ops->attempt(x->tap, &told);
    deadline_begin(x, x->config->connect_timeout_ns);
    /* A body that is not held cannot be sent twice: no risk with a connection that may be stale. */
    if (http_pool_acquire(x->g->pools[x->chosen], &upstream_ops, x, fresh || x->is_window_exceeded,
                          &x->upstream) < 0)
        answer_refuse(x, TAP_REASON_INTERNAL, "out of memory");
}

static void upstream_on_ready(struct http_client *c)
{
    struct exchange *x = c->user;
    struct tap_connected told = {.at = c->t_ready,
                                 .is_reused = c->is_reused,
                                 .dns_ns = c->dns_ns,
                                 .tcp_ns = c->tcp_ns,
                                 .tls_ns = c->tls_ns};

    if (x->tap)
        x->g->d.tap_ops->connected(x->tap, &told);
    request_send(x);
}

static void upstream_on_drained(struct http_client *c)
{
    request_drained(c->user);
}

/* --- the answer comes --- */

static void upstream_on_head(struct http_client *c, const struct http1_head *head, struct stamp at)
{
    struct exchange *x = c->user;
    struct gateway *g = x->g;

    if (head->status < 200)
        return; /* interim: 100 was ours to send, others have no meaning here */
    if (x->tap)
        g->d.tap_ops->response_head(x->tap, head, at);
    /* Asked about the repeat, too: its success is what makes the upstream remembered. */
    if (x->plan.exchange && !x->is_window_exceeded &&
        g->d.policy_ops->answer_head(g->d.policy, x->plan.exchange, head) == POLICY_REPEAT_PLAIN &&
        !x->is_plain) {
        http_client_abort(c);
        x->upstream = NULL;
        x->is_plain = true;
        attempt_begin(x, false);
        return;
    }
    if (choice_again(x, CHOICE_STATUS, head))
        return;
    if (x->is_request_done)
        request_forget(x);
    else if (!http_client_is_full(c)) /* held back for an upstream that broke meanwhile */
        http_server_resume(x->client);
    x->state = EXCHANGE_STREAM;
    deadline_begin(x, x->config->idle_timeout_ns);
    answer_head(x, head, at);
}

static void upstream_on_body(struct http_client *c, struct span bytes, struct stamp at)
{
    struct exchange *x = c->user;

    if (!mono_is_set(x->blocked_since)) /* else the client's time runs */
        deadline_extend(x, x->config->idle_timeout_ns);
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
    exchange_look_at_upstream(x, c);
    x->upstream = NULL; /* goes back to its pool */
    if (x->tap)
        x->g->d.tap_ops->response_end(x->tap, at);
    x->state = EXCHANGE_TAIL;
    deadline_begin(x, x->config->client_write_timeout_ns);
    if (!x->is_request_done) /* an early answer: what still comes of the body is thrown away */
        http_server_resume(x->client);
    if (http_server_queued_bytes(x->client) == 0)
        exchange_end(x, TAP_END_COMPLETE, TAP_REASON_NONE);
}

/* --- it failed --- */

static enum tap_reason connect_reason(enum http_phase phase, int error)
{
    if (phase == HTTP_PHASE_DNS)
        return TAP_REASON_CONNECT_DNS;
    if (phase == HTTP_PHASE_PROXY)
        return TAP_REASON_CONNECT_PROXY;
    if (phase == HTTP_PHASE_TLS)
        return TAP_REASON_CONNECT_TLS;
    return error == -ECONNREFUSED ? TAP_REASON_CONNECT_REFUSED : TAP_REASON_CONNECT_OTHER;
}

/* The reason of a failed step, in dst where it has to be written first. */
static const char *connect_why(const struct http_client *c, enum http_phase phase, int error,
                               char *dst, size_t cap)
{
    if (phase == HTTP_PHASE_TLS && http_client_tls_error(c))
        return http_client_tls_error(c);
    if (phase == HTTP_PHASE_DNS && error == -ENOENT)
        return "there is no such host";
    if (phase != HTTP_PHASE_PROXY || c->proxy_status == 0)
        return err_str(error);
    snprintf(dst, cap, "it answered %d%s", c->proxy_status,
             c->proxy_status == 407 ? ", so it wants other credentials" : "");
    return dst;
}

/* What is missing is ours: it says nothing about the upstream. */
static bool is_own_lack(int error)
{
    return error == -EMFILE || error == -ENFILE || error == -ENOBUFS || error == -ENOMEM ||
           error == -EADDRNOTAVAIL;
}

static void connect_failed(struct exchange *x, const struct http_client *c, enum http_phase phase,
                           int error)
{
    static const char *const steps[] = {
        [HTTP_PHASE_DNS] = "resolve the name of",
        [HTTP_PHASE_CONNECT] = "connect to",
        [HTTP_PHASE_PROXY] = "get a tunnel from",
        [HTTP_PHASE_TLS] = "speak TLS with",
    };
    const struct gateway_upstream *u = exchange_upstream(x);
    bool is_at_proxy = u->proxy.host[0] != '\0' && phase != HTTP_PHASE_TLS;
    const char *whom = is_at_proxy ? "the proxy of " : "";
    char text[256], note[64];
    const char *why = connect_why(c, phase, error, note, sizeof(note));

    LOG_WARN("could not %s %supstream \"%s\" (%s): %s", steps[phase], whom, u->name, u->authority,
             why);
    if (is_own_lack(error))
        choice_over(x, BREAKER_NO_VERDICT);
    if (choice_again(x, CHOICE_CONNECT_FAILED, NULL))
        return;
    snprintf(text, sizeof(text), "could not %s %supstream \"%s\": %s", steps[phase], whom, u->name,
             why);
    answer_refuse(x, connect_reason(phase, error), text);
}

/* The server closed an idle connection just as we used it: nothing of the request was acted on. A
 * body that is streamed can be repeated only while none of it is out. */
static bool is_stale(const struct exchange *x, const struct http_client *c, int error,
                     bool had_bytes)
{
    int64_t since_ns = mono_diff(loop_now(x->g->d.loop), x->attempt_started);

    return c->is_reused && !had_bytes && !request_is_own_failure(error) && !x->was_stale_retried &&
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
static void attempt_failed(struct exchange *x, int error)
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
        connect_failed(x, c, phase, error);
        return;
    }
    if (is_stale(x, c, error, had_bytes)) {
        x->was_stale_retried = true;
        stat_inc(STAT_STALE_RETRIES);
        attempt_begin(x, true);
        return;
    }
    if (error != -ENOMEM && choice_again(x, CHOICE_CUT, NULL))
        return;
    answer_flush(x, ANSWER_IS_CUT); /* what this read brought before the fault is passed on */
    if (!x->is_ended)
        attempt_failed(x, error);
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
