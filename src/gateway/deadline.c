/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gateway/deadline.c - how long an exchange may take in its phase, and what becomes of it then.
 *
 * One lazy timer per exchange: each phase stores its deadline, the timer looks when it fires.
 */
#include "gateway/exchange.h"

/* The loop's clock stands still while it turns, which is some ms when much came at once. A wait
 * that others are promised (a place in the queue, a Retry-After) is not shorter for that. */
static mono_t phase_began(const struct exchange *x)
{
    bool is_promised = x->state == EXCHANGE_ADMIT || x->state == EXCHANGE_BACKOFF;

    return is_promised ? clock_mono() : loop_now(x->g->d.loop);
}

void deadline_extend(struct exchange *x, int64_t delay_ns)
{
    struct loop *l = x->g->d.loop;
    int64_t total_ns = x->config->total_timeout_ns;
    mono_t now = phase_began(x);

    x->deadline = delay_ns > 0 ? mono_add(now, delay_ns) : (mono_t){INT64_MAX};
    if (total_ns > 0 && mono_add(x->started, total_ns).ns < x->deadline.ns)
        x->deadline = mono_add(x->started, total_ns);
    if (x->deadline.ns != INT64_MAX && !timer_is_running(&x->timer))
        loop_timer_start(l, &x->timer, mono_diff(x->deadline, loop_now(l)));
}

void deadline_begin(struct exchange *x, int64_t delay_ns)
{
    loop_timer_stop(x->g->d.loop, &x->timer);
    deadline_extend(x, delay_ns);
}

void deadline_stop(struct exchange *x)
{
    loop_timer_stop(x->g->d.loop, &x->timer);
}

/* NONE: it is the client that we wait for. */
static enum tap_reason timeout_reason(const struct exchange *x)
{
    int64_t total_ns = x->config->total_timeout_ns;

    if (total_ns > 0 && mono_diff(loop_now(x->g->d.loop), x->started) >= total_ns)
        return TAP_REASON_TIMEOUT_TOTAL;
    switch (x->state) {
    case EXCHANGE_ADMIT:
        return TAP_REASON_REJECTED_TIMEOUT;
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

/* It has waited for its turn for too long, unless that has come meanwhile. */
static void queue_is_over(struct exchange *x, enum tap_reason reason)
{
    if (reason == TAP_REASON_REJECTED_TIMEOUT &&
        !admission_expire(&x->ticket, loop_now(x->g->d.loop)))
        return;
    answer_refuse(x, reason, NULL);
}

static void client_stopped_reading(struct exchange *x)
{
    if (x->client) /* what waits for it is not waited for any longer */
        http_server_abandon(x->client);
    exchange_end(x, TAP_END_CLIENT_GONE, TAP_REASON_NONE);
}

static void deadline_on_timer(struct timer *t)
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
    if (reason == TAP_REASON_NONE && x->state == EXCHANGE_BACKOFF) {
        choice_resume(x);
        return;
    }
    if (reason == TAP_REASON_TIMEOUT_FIRST_BYTE)
        choice_over(x, BREAKER_FAILURE);
    if (reason == TAP_REASON_TIMEOUT_CONNECT && choice_again(x, CHOICE_CONNECT_FAILED, NULL))
        return;
    if (reason == TAP_REASON_NONE && is_client_taking(x)) {
        deadline_extend(x, x->config->client_write_timeout_ns);
        return;
    }
    if (x->state == EXCHANGE_ADMIT)
        queue_is_over(x, reason);
    else if (x->status == 0)
        answer_refuse(x, reason, "the upstream did not answer in time");
    else if (reason == TAP_REASON_NONE)
        client_stopped_reading(x);
    else
        exchange_end(x, TAP_END_TIMEOUT, reason);
}

void deadline_init(struct exchange *x)
{
    timer_init(&x->timer, deadline_on_timer);
}
