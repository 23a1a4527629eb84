/* SPDX-License-Identifier: Apache-2.0 */
/*
 * review/missed.c - when an objective was under its target and nobody was woken.
 *
 * Windows under the target that follow each other are one stretch; a window without requests within
 * it does not end it. An alert that begins within REVIEW_MARGIN_MS behind it still told of it.
 */
#include <errno.h>
#include <stdlib.h>

#include "review/review_burn.h"

/* --- who was woken --- */

static int compare_ranges(const void *a, const void *b)
{
    const struct time_range *x = a, *y = b;
    return (x->from_ms > y->from_ms) - (x->from_ms < y->from_ms);
}

/* Overlapping ones become one, so that their ends are in order, too. */
static void join(struct time_ranges *ranges)
{
    size_t n = 0;
    if (ranges->n > 0)
        qsort(ranges->at, ranges->n, sizeof(*ranges->at), compare_ranges);
    for (size_t i = 0; i < ranges->n; i++) {
        struct time_range *last = n > 0 ? &ranges->at[n - 1] : NULL;
        if (!last || ranges->at[i].from_ms > last->to_ms)
            ranges->at[n++] = ranges->at[i];
        else if (ranges->at[i].to_ms > last->to_ms)
            last->to_ms = ranges->at[i].to_ms;
    }
    ranges->n = n;
}

static bool is_told(const struct review *r, const struct alert_series *s)
{
    struct span tier = labels_get(s->labels, SPAN("tier"));
    return review_is_waking(tier.n > 0 ? tier : r->rows[s->row].tier);
}

int missed_waking(struct review *r, struct time_ranges *ret)
{
    struct time_ranges ranges = {NULL, 0};
    size_t cap = 0;
    for (size_t i = 0; i < r->n_series; i++) {
        const struct alert_series *s = &r->series[i];
        for (size_t k = 0; k < s->n && is_told(r, s); k++) {
            if (s->at[k].firing_ms == 0)
                continue;
            ranges.at = arena_grow(&r->arena, ranges.at, ranges.n, 1, &cap, sizeof(*ranges.at));
            if (!ranges.at)
                return -ENOMEM;
            ranges.at[ranges.n++] = (struct time_range){s->at[k].fired_ms, s->at[k].to_ms};
        }
    }
    join(&ranges);
    *ret = ranges;
    return 0;
}

static bool has_any(const struct time_ranges *ranges, int64_t from_ms, int64_t to_ms)
{
    size_t low = 0, high = ranges->n; /* the first one that ends behind from */
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        if (ranges->at[mid].to_ms <= from_ms)
            low = mid + 1;
        else
            high = mid;
    }
    return low < ranges->n && ranges->at[low].from_ms < to_ms;
}

/* --- stretches --- */

static bool is_under(const struct burn_windows *b, size_t i)
{
    return b->bad[i] > 0 && b->bad[i] > b->total[i] * (1 - b->target) * (1 + 1e-9);
}

static int miss_add(struct review *r, struct review_miss m)
{
    struct review_miss *at =
        arena_grow(&r->arena, r->misses, r->n_misses, 1, &r->cap_misses, sizeof(*at));
    if (!at)
        return -ENOMEM;
    r->misses = at;
    at[r->n_misses++] = m;
    return 0;
}

/* Windows [i, end). */
static int look_at(struct review *r, const struct burn_windows *b,
                   const struct review_budget *budget, const struct time_ranges *waking, size_t i,
                   size_t end)
{
    struct review_miss m = {.slo = budget->slo, .objective = budget->objective};
    m.from_ms = b->from_ms + (int64_t)i * REVIEW_WINDOW_MS;
    m.to_ms = b->from_ms + (int64_t)end * REVIEW_WINDOW_MS;
    m.total = b->total_sum[end] - b->total_sum[i];
    m.bad = b->bad_sum[end] - b->bad_sum[i];
    m.burn = review_burn_rate((struct burn_part){m.total, m.bad}, b->target);
    if (m.bad + 1e-6 < budget->slo->min_bad || m.to_ms <= r->q.from_ms ||
        has_any(waking, m.from_ms, m.to_ms + REVIEW_MARGIN_MS))
        return 0;
    if (m.to_ms > r->q.to_ms)
        m.to_ms = r->q.to_ms;
    m.budget_ratio = m.bad / (budget->total * (1 - b->target));
    return miss_add(r, m);
}

int missed_find(struct review *r, const struct burn_windows *b, const struct review_budget *budget,
                const struct time_ranges *waking)
{
    int error = 0;
    for (size_t i = 0, next; i < b->n && error == 0; i = next) {
        size_t end = i;
        for (next = i; next < b->n && (is_under(b, next) || (next > i && b->total[next] == 0));
             next++)
            if (is_under(b, next))
                end = next + 1;
        if (end > i)
            error = look_at(r, b, budget, waking, i, end);
        if (next == i)
            next++;
    }
    return error;
}

static int compare_misses(const void *a, const void *b)
{
    const struct review_miss *x = a, *y = b;
    if (x->budget_ratio != y->budget_ratio)
        return x->budget_ratio > y->budget_ratio ? -1 : 1;
    if (x->from_ms != y->from_ms)
        return x->from_ms < y->from_ms ? -1 : 1;
    return (int)x->objective - (int)y->objective;
}

void missed_sort(struct review *r)
{
    if (r->n_misses > 0)
        qsort(r->misses, r->n_misses, sizeof(*r->misses), compare_misses);
}
