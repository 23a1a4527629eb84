/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rules/rules_tick.c - groups whose slots have come, one after the other, over one reader.
 */
#include <errno.h>

#include "base/clock.h"
#include "rules/rules_private.h"

int64_t rules_next_ms(const struct rules *r)
{
    int64_t next = INT64_MAX;
    for (size_t i = 0; i < r->n_groups; i++) {
        const struct group *g = r->groups[i];
        int64_t at_ms = g->is_under_way ? r->last_ms : g->next_ms;
        next = at_ms < next ? at_ms : next;
    }
    for (const struct gone *g = r->gone; g; g = g->next)
        if (g->due_ms < next)
            next = g->due_ms;
    return next;
}

static int open_store(struct tick *t)
{
    struct rules *r = t->r;
    if (t->store)
        return 0;
    uint64_t written = r->ops.written(r->ops.ctx); /* first, so that no batch is in neither */
    int x = r->ops.reader_open(r->ops.ctx, &t->store);
    r->stats.is_blind = x < 0;
    if (x < 0) {
        t->store = NULL;
        return x;
    }
    overlay_open(&r->overlay, t->store, written);
    return 0;
}

/* Markers for series that nobody records any more. Those are kept where that does not work. */
static int send_stale(struct rules *r, struct recorded_list *series, int64_t t_ms)
{
    struct harvest h;
    if (series->n == 0)
        return 0;
    int x = harvest_init(&h, &r->overlay, 0, t_ms);
    if (x < 0)
        return x;
    x = harvest_end(&h, series);
    if (x < 0)
        harvest_cancel(&h);
    else
        x = harvest_send(&h, &r->ops);
    if (x == 0)
        recorded_list_done(series, &r->overlay.table);
    return x;
}

/* A clock that was stepped back: as if one interval had gone by. */
static void follow_clock(struct rules *r, struct group *g, int64_t ts_ms)
{
    if (g->last_ms == ALERT_NEVER || ts_ms > g->last_ms)
        return;
    pthread_mutex_lock(&r->lock);
    for (size_t i = 0; i < g->n; i++)
        alert_states_shift(&g->rules[i].alerts, ts_ms - g->last_ms - g->interval_ms);
    pthread_mutex_unlock(&r->lock);
}

static bool is_spent(const struct tick *t)
{
    return !t->is_whole && mono_diff(clock_mono(), t->start) >= RULES_SLICE_MS * NS_PER_MS;
}

static void interrupt(struct rules *r, struct group *g, mono_t since)
{
    g->turn = ++r->n_turns;
    g->spent_ns += mono_diff(clock_mono(), since);
}

static void end_group(struct tick *t, struct group *g, mono_t since)
{
    struct rules *r = t->r;
    g->is_under_way = false;
    if (send_stale(r, &g->stale, g->last_ms - g->query_offset_ms) < 0)
        r->stats.n_lost_batches++;
    pthread_mutex_lock(&r->lock);
    g->evaluated_ms = t->now_ms;
    g->duration_ns = g->spent_ns + mono_diff(clock_mono(), since);
    pthread_mutex_unlock(&r->lock);
    if (g->is_restoring && ++g->n_evaluated == 2)
        restore_group(t, g);
}

/* One rule at least. */
static void go_on(struct tick *t, struct group *g)
{
    mono_t since = clock_mono();
    for (bool is_first = true; g->at < g->n; is_first = false) {
        if (t->must_stop && t->must_stop(t->ctx))
            t->is_stopped = true;
        if (t->is_stopped)
            return;
        if (!is_first && is_spent(t)) {
            interrupt(t->r, g, since);
            return;
        }
        evaluate_rule(t, g, &g->rules[g->at++], g->last_ms);
    }
    if (!t->is_stopped)
        end_group(t, g, since);
}

static void evaluate_group(struct tick *t, struct group *g, int64_t ts_ms)
{
    follow_clock(t->r, g, ts_ms);
    g->last_ms = ts_ms;
    g->is_under_way = true;
    g->at = 0;
    g->spent_ns = 0;
    go_on(t, g);
}

static bool is_before(const struct group *a, const struct group *b)
{
    return a->is_ahead != b->is_ahead ? a->is_ahead : a->next_ms < b->next_ms;
}

/* Of those that are due: who goes ahead, then whose slot comes first. */
static struct group *next_due(struct rules *r, int64_t now_ms)
{
    struct group *first = NULL;
    for (size_t i = 0; i < r->n_groups; i++) {
        struct group *g = r->groups[i];
        if (!g->is_under_way && g->next_ms <= now_ms && (!first || is_before(g, first)))
            first = g;
    }
    return first;
}

/* Of those that were interrupted before this tick the one that waits longest. */
static struct group *next_interrupted(struct rules *r, uint64_t n_turns)
{
    struct group *first = NULL;
    for (size_t i = 0; i < r->n_groups; i++) {
        struct group *g = r->groups[i];
        if (g->is_under_way && g->turn <= n_turns && (!first || g->turn < first->turn))
            first = g;
    }
    return first;
}

static void go_on_with_one(struct tick *t, uint64_t n_turns)
{
    struct group *g = next_interrupted(t->r, n_turns);
    if (!g)
        return;
    if (open_store(t) < 0) {
        g->is_under_way = false;
        t->r->stats.n_missed++;
    } else {
        go_on(t, g);
    }
}

static void bury_gone(struct rules *r, int64_t now_ms)
{
    for (struct gone **at = &r->gone; *at;) {
        struct gone *g = *at;
        if (g->due_ms > now_ms) {
            at = &g->next;
        } else if (send_stale(r, &g->series, g->t_ms) < 0) {
            r->stats.n_lost_batches++;
            g->due_ms = now_ms + g->wait_ms;
            at = &g->next;
        } else {
            *at = g->next;
            g->next = NULL;
            rules_gone_free(g, &r->overlay.table);
        }
    }
}

static void end_tick(struct tick *t)
{
    struct rules_stats *s = &t->r->stats;
    if (t->store) {
        t->r->ops.reader_close(t->r->ops.ctx, t->store);
        s->last_tick_ns = mono_diff(clock_mono(), t->start);
    }
    rules_show_stats(t->r);
}

void rules_tick(struct rules *r, int64_t now_ms, bool (*must_stop)(void *ctx), void *ctx)
{
    struct tick t = {
        .r = r, .now_ms = now_ms, .must_stop = must_stop, .ctx = ctx, .start = clock_mono()};
    uint64_t n_turns = r->n_turns;
    struct group *g;
    r->last_ms = now_ms;
    for (size_t i = 0; i < r->n_groups; i++)
        group_follow_clock(r->groups[i], now_ms);
    while (!t.is_stopped && !is_spent(&t) && (g = next_due(r, now_ms))) {
        int64_t ts_ms = group_take_slot(g, now_ms, &r->stats.n_missed);
        if (open_store(&t) < 0)
            r->stats.n_missed++;
        else
            evaluate_group(&t, g, ts_ms);
    }
    if (!t.is_stopped)
        go_on_with_one(&t, n_turns);
    bury_gone(r, now_ms);
    end_tick(&t);
}

void rules_evaluate_in(struct rules *r, const size_t *order, int64_t ts_ms)
{
    struct tick t = {.r = r, .now_ms = ts_ms, .start = clock_mono(), .is_whole = true};
    r->last_ms = ts_ms;
    for (size_t i = 0; i < r->n_groups; i++) {
        struct group *g = r->groups[order ? order[i] : i];
        g->is_restoring = false;
        for (size_t j = 0; j < g->n; j++)
            g->rules[j].is_restored = true;
        if (open_store(&t) < 0)
            r->stats.n_missed++;
        else
            evaluate_group(&t, g, ts_ms);
    }
    bury_gone(r, ts_ms);
    end_tick(&t);
}

void rules_evaluate(struct rules *r, int64_t ts_ms)
{
    rules_evaluate_in(r, NULL, ts_ms);
}
