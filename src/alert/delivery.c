/* SPDX-License-Identifier: Apache-2.0 */
#include "alert/delivery.h"

#include <errno.h>

#include "alert/delivery_private.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/stat.h"

/* --- waits --- */

static int64_t back_off(struct delivery *y, uint64_t n_attempts)
{
    int64_t wait = DELIVERY_LONGEST_WAIT_MS;
    if (n_attempts < 16 && (INT64_C(1) << (n_attempts - 1)) * DELIVERY_FIRST_WAIT_MS < wait)
        wait = (INT64_C(1) << (n_attempts - 1)) * DELIVERY_FIRST_WAIT_MS;
    return (int64_t)((double)wait * (0.8 + 0.4 * rng_unit(&y->rng)));
}

/* The whole integration waits, too, but never so long that one group could keep the others from
 * being tried. */
static void hold_integration(struct delivery *y, struct integration *to, enum verdict verdict,
                             int64_t asked_ms, int64_t now_ms)
{
    enum { OTHERS_WAIT_MAX_MS = 30 * 1000 };
    to->n_fails += to->n_fails < 100;
    int64_t wait = back_off(y, (uint64_t)to->n_fails);
    wait = wait > OTHERS_WAIT_MAX_MS ? OTHERS_WAIT_MAX_MS : wait;
    to->not_before_ms = now_ms + wait;
    if (verdict == VERDICT_LATER && asked_ms >= 0) {
        to->not_before_ms = now_ms + asked_ms;
        if (to->rate)
            to->rate->rate.not_before_ms = now_ms + asked_ms;
    }
}

static void log_failure(const struct integration *to, const struct held *h, enum verdict verdict)
{
    if (h->n_attempts > 1 && !(verdict == VERDICT_NEVER && !h->is_given_up))
        return; /* once, and when it is given up */
    LOG_WARN("could not deliver to receiver \"%.*s\" (%s %d): %s%s%s%s", SPAN_ARG(to->receiver),
             to->kind, to->index, h->why.text, h->why.hint[0] ? "; " : "", h->why.hint,
             verdict == VERDICT_NEVER ? "; trying again every 5 min" : "; trying again");
}

static void failed(struct delivery *y, struct integration *to, struct held *h, enum verdict verdict,
                   int64_t asked_ms, const struct err *why, struct moment now)
{
    h->n_attempts++;
    h->why = *why;
    h->last_ms = now.wall_ms;
    h->first_ms = h->n_attempts == 1 ? now.wall_ms : h->first_ms;
    if (asked_ms > DELIVERY_ASKED_WAIT_MAX_MS)
        asked_ms = DELIVERY_ASKED_WAIT_MAX_MS;
    int64_t wait = verdict == VERDICT_NEVER ? back_off(y, UINT64_MAX) : back_off(y, h->n_attempts);
    if (verdict == VERDICT_LATER && asked_ms >= 0)
        wait = asked_ms;
    log_failure(to, h, verdict);
    if (verdict == VERDICT_NEVER && !h->is_given_up) {
        h->is_given_up = true;
        y->n_given_up++;
        to->n_given_up++;
        stat_inc(STAT_ALERT_GIVEN_UP);
    }
    h->state = HELD_WAITING;
    h->ready_ms = now.mono_ms + wait;
    list_remove(&h->node); /* to the end of the line */
    list_push_back(&to->held, &h->node);
    hold_integration(y, to, verdict, asked_ms, now.mono_ms);
    to->n_failed++;
    to->last_failed_ms = now.wall_ms;
    to->last_why = *why;
    to->is_last_ok = false;
    y->n_failed++;
    y->is_changed = true;
    stat_inc(STAT_ALERT_FAILED);
}

static void delivered(struct delivery *y, struct integration *to, struct held *h,
                      const struct attempt *at, const struct err *why, struct moment now)
{
    if (h->n_attempts > 0)
        LOG_INFO("delivered to receiver \"%.*s\" (%s %d) after %llu failed attempts",
                 SPAN_ARG(to->receiver), to->kind, to->index, (unsigned long long)h->n_attempts);
    if (why->text[0])
        LOG_WARN("delivered to receiver \"%.*s\" (%s %d), but %s", SPAN_ARG(to->receiver), to->kind,
                 to->index, why->text);
    y->is_changed = y->is_changed || h->n_attempts > 0;
    to->n_fails = 0;
    to->not_before_ms = now.mono_ms;
    to->last_ok_ms = now.wall_ms;
    to->last_ok_took_ms = now.mono_ms - at->started.mono_ms;
    to->last_ok_alerts = at->n_alerts;
    to->last_why = *why;
    to->is_last_ok = true;
    to->n_delivered++;
    y->n_delivered++;
    stat_inc(STAT_ALERT_DELIVERED);
    delivery_held_free(to, h);
}

/* --- starting --- */

/* Sends what was rendered. */
static void send(struct delivery *y, struct dispatch *d, struct integration *to, struct held *h,
                 struct attempt *at, struct moment now)
{
    struct err why = {0};
    uint64_t token = h->token;
    int r = delivery_attempt_send(y, at, now, &why);
    if (r == 0 && to->rate)
        rate_sent(&to->rate->rate, now.mono_ms);
    if (r == 0 && at->request.kind != REQUEST_LOG) {
        h->state = HELD_SENDING;
        at->to = to;
        at->held = h;
        to->attempt = at;
        return;
    }
    if (r == 0) {
        delivered(y, to, h, at, &why, now);
        dispatch_told(d, token, now.wall_ms);
    } else {
        failed(y, to, h, VERDICT_LATER, -1, &why, now);
    }
    delivery_attempt_free(at);
}

static void start(struct delivery *y, struct dispatch *d, struct integration *to, struct held *h,
                  struct attempt *at, const struct alert_message *m, struct moment now)
{
    struct err why = {0};
    int r = delivery_attempt_render(at, m, now, &why);
    if (r < 0) {
        failed(y, to, h, VERDICT_LATER, -1, &why, now);
        delivery_attempt_free(at);
        return;
    }
    (void)span_copy(at->request.shown, h->shown, sizeof(h->shown));
    delivery_find_rate(y, to, at);
    if (delivery_free_ms(to) <= now.mono_ms)
        send(y, d, to, h, at, now);
    else
        delivery_attempt_free(at); /* others sent to that address: it waits for its turn */
}

/* What dispatch hands out: sent when its turn has come, else held. */
static int take(struct delivery *y, struct dispatch *d, struct dispatch_due *due, struct moment now)
{
    struct integration *to = delivery_get_integration(
        y, due->receiver->name, due->integration->index, due->integration->kind->name);
    struct held *h = to ? delivery_held_get(to, due->message.group_key) : NULL;
    if (!h)
        return -ENOMEM;
    bool is_turn = !to->reserved || to->reserved == h;
    if (to->reserved == h)
        to->reserved = NULL;
    if (h->state == HELD_RESTORED)
        h->ready_ms = now.mono_ms;
    h->token = due->token;
    h->state = HELD_WAITING;
    if (!is_turn || delivery_free_ms(to) > now.mono_ms || h->ready_ms > now.mono_ms)
        return 0;
    struct attempt *at = delivery_attempt_new(due->integration);
    if (at)
        start(y, d, to, h, at, &due->message, now);
    else
        h->ready_ms = now.mono_ms + DELIVERY_FIRST_WAIT_MS;
    return 0;
}

static int take_all(struct delivery *y, struct dispatch *d, const struct silences *s,
                    struct moment now)
{
    struct arena a;
    struct dispatch_due due;
    int r;
    arena_init(&a, NULL);
    while ((r = dispatch_next(d, s, now.wall_ms, &a, &due)) == 1) {
        r = take(y, d, &due, now);
        if (r < 0) {
            dispatch_failed(d, due.token, now.wall_ms + DELIVERY_FIRST_WAIT_MS);
            break;
        }
        arena_reset(&a);
    }
    arena_done(&a);
    return r;
}

/* --- what is held, back to dispatch --- */

static struct held *first_ready(const struct integration *to, int64_t now_ms)
{
    for (struct held *h = held_after(to, &to->held); h; h = held_after(to, &h->node))
        if (h->state == HELD_WAITING && h->ready_ms <= now_ms)
            return h;
    return NULL;
}

static void release(struct integration *to, struct dispatch *d, struct moment now)
{
    struct held *h = delivery_free_ms(to) <= now.mono_ms ? first_ready(to, now.mono_ms) : NULL;
    if (!h)
        return;
    h->state = HELD_RELEASED;
    to->reserved = h;
    dispatch_failed(d, h->token, now.wall_ms);
}

/* Whoever was not handed out again has nothing to say any more. */
static bool forget_quiet(struct delivery *y, struct integration *to, struct moment now)
{
    bool is_any = false;
    to->reserved = NULL;
    for (struct held *h = held_after(to, &to->held), *next; h; h = next) {
        next = held_after(to, &h->node);
        if (h->state != HELD_RELEASED && (h->state != HELD_RESTORED || h->ready_ms > now.mono_ms))
            continue;
        is_any = is_any || h->state == HELD_RELEASED;
        y->is_changed = y->is_changed || h->n_attempts > 0;
        delivery_held_free(to, h);
    }
    return is_any;
}

static void forget_gone(struct delivery *y)
{
    for (struct integration *to = integration_after(y, &y->integrations), *next; to; to = next) {
        next = integration_after(y, &to->node);
        if (to->is_gone && !to->attempt && list_is_empty(&to->held))
            delivery_integration_free(to);
    }
}

int delivery_run(struct delivery *y, struct dispatch *d, const struct silences *s,
                 struct moment now)
{
    bool is_again;
    do {
        for (struct integration *to = integration_after(y, &y->integrations); to;
             to = integration_after(y, &to->node))
            release(to, d, now);
        int r = take_all(y, d, s, now);
        if (r < 0)
            return r; /* what is released stays so */
        is_again = false;
        for (struct integration *to = integration_after(y, &y->integrations); to;
             to = integration_after(y, &to->node))
            is_again = forget_quiet(y, to, now) || is_again;
    } while (is_again);
    forget_gone(y);
    return 0;
}

void delivery_ended(struct delivery *y, struct dispatch *d, void *tag,
                    const struct receiver_reply *reply, struct moment now)
{
    struct attempt *at = tag;
    struct err why;
    int64_t wait_ms;
    enum verdict verdict = delivery_attempt_judge(at, reply, &wait_ms, &why);
    if (at->test) {
        delivery_test_ended(at, verdict, reply, &why, now);
    } else {
        struct integration *to = at->to;
        uint64_t token = at->held->token;
        to->attempt = NULL;
        if (verdict == VERDICT_DELIVERED) {
            delivered(y, to, at->held, at, &why, now);
            dispatch_told(d, token, now.wall_ms);
        } else {
            failed(y, to, at->held, verdict, wait_ms, &why, now);
        }
    }
    delivery_attempt_free(at);
}

int64_t delivery_next_ms(const struct delivery *y)
{
    int64_t next = INT64_MAX;
    for (struct integration *to = integration_after(y, &y->integrations); to;
         to = integration_after(y, &to->node)) {
        int64_t free_ms = delivery_free_ms(to);
        for (struct held *h = held_after(to, &to->held); h; h = held_after(to, &h->node)) {
            int64_t at = h->ready_ms > free_ms ? h->ready_ms : free_ms;
            if (h->state != HELD_SENDING && at < next)
                next = at;
        }
    }
    return next;
}

/* --- life --- */

int delivery_new(struct transport *t, transport_done done, void *ctx, uint64_t seed,
                 struct delivery **ret)
{
    struct delivery *y = mem_zalloc(1, sizeof(*y));
    if (!y)
        return -ENOMEM;
    y->transport = t;
    y->done = done;
    y->ctx = ctx;
    rng_seed(&y->rng, seed);
    list_init(&y->integrations);
    list_init(&y->rates);
    list_init(&y->attempts);
    *ret = y;
    return 0;
}

struct delivery *delivery_free(struct delivery *y)
{
    if (!y)
        return NULL;
    while (!list_is_empty(&y->attempts))
        delivery_attempt_free(CONTAINER_OF(y->attempts.next, struct attempt, node));
    while (!list_is_empty(&y->integrations))
        delivery_integration_free(CONTAINER_OF(y->integrations.next, struct integration, node));
    delivery_free_rates(y);
    mem_free(y);
    return NULL;
}

static bool is_in(const struct alert_file *file, const struct integration *to)
{
    const struct alert_receiver *r = alert_file_receiver(file, to->receiver);
    for (size_t i = 0; r && i < r->n; i++)
        if (r->integrations[i].index == to->index &&
            strcmp(r->integrations[i].kind->name, to->kind) == 0)
            return true;
    return false;
}

void delivery_configure(struct delivery *y, const struct alert_file *file)
{
    for (struct integration *to = integration_after(y, &y->integrations); to;
         to = integration_after(y, &to->node)) {
        to->not_before_ms = INT64_MIN;
        to->n_fails = 0;
        to->is_gone = !is_in(file, to);
        for (struct held *h = held_after(to, &to->held); h; h = held_after(to, &h->node))
            if (h->state == HELD_WAITING)
                h->ready_ms = INT64_MIN;
    }
    forget_gone(y);
    delivery_free_rates(y);
    y->is_changed = true;
}

bool delivery_take_changed(struct delivery *y)
{
    bool is_changed = y->is_changed;
    y->is_changed = false;
    return is_changed;
}

void delivery_stats(const struct delivery *y, struct delivery_stats *ret)
{
    *ret = (struct delivery_stats){.n_delivered = y->n_delivered,
                                   .n_failed_attempts = y->n_failed,
                                   .n_given_up = y->n_given_up};
    for (struct integration *to = integration_after(y, &y->integrations); to;
         to = integration_after(y, &to->node))
        for (struct held *h = held_after(to, &to->held); h; h = held_after(to, &h->node))
            ret->n_waiting += h->state != HELD_SENDING;
}
