/* SPDX-License-Identifier: Apache-2.0 */
/*
 * review/review.c - makes a review: alerts, then objective by objective, then advice.
 *
 * The windows of an objective are held one objective at a time; what they say of each firing is
 * kept with the firing.
 */
#include "review/review.h"

#include <errno.h>
#include <string.h>

#include "base/mem.h"
#include "review/review_burn.h"

enum { HOUR_MS = 3600 * 1000, DAY_MS = 24 * HOUR_MS };

int review_is_over(const struct review *r)
{
    return r->q.is_over ? r->q.is_over(r->q.ctx) : 0;
}

int review_fail(const struct review *r, int error, struct err *reterr)
{
    if (error == -ENOMEM && r->budget.is_exceeded) {
        (void)err_set(reterr, -E2BIG, "the review takes more than %d MiB of memory",
                      REVIEW_BYTES_MAX / (1024 * 1024));
        err_hint(reterr, "a shorter period has fewer alerts and samples");
        return -E2BIG;
    }
    return err_set(reterr, error, "%s", err_str(error));
}

/* --- how finely it is known --- */

static int stretches_find(struct review *r)
{
    struct reader *reader = r->q.reader;
    size_t cap = 0;
    for (int64_t t = r->q.from_ms; t < r->q.to_ms; t += HOUR_MS) {
        int64_t resolution_ms = reader->ops->resolution(reader, t);
        struct review_stretch *last = r->n_stretches > 0 ? &r->stretches[r->n_stretches - 1] : NULL;
        int64_t to_ms = t + HOUR_MS < r->q.to_ms ? t + HOUR_MS : r->q.to_ms;
        if (last && last->resolution_ms == resolution_ms) {
            last->to_ms = to_ms;
            continue;
        }
        struct review_stretch *at =
            arena_grow(&r->arena, r->stretches, r->n_stretches, 1, &cap, sizeof(*at));
        if (!at)
            return -ENOMEM;
        r->stretches = at;
        at[r->n_stretches++] = (struct review_stretch){t, to_ms, resolution_ms};
    }
    return 0;
}

/* --- objectives --- */

/* The highest rate of any objective around a firing is what it is judged by. */
static void judge(struct review *r, const struct burn_windows *b, const struct review_budget *by)
{
    for (size_t i = 0; i < r->n_series; i++) {
        for (size_t k = 0; k < r->series[i].n; k++) {
            struct firing *f = &r->series[i].at[k];
            struct burn_part part =
                review_burn_between(b, f->from_ms - REVIEW_MARGIN_MS, f->to_ms + REVIEW_MARGIN_MS);
            double rate = review_burn_rate(part, b->target);
            f->has_requests = f->has_requests || part.total > 0;
            if (rate <= f->burn)
                continue;
            f->burn = rate;
            f->slo = by->slo;
            f->objective = by->objective;
        }
    }
}

static void budget_take(struct review *r, const struct burn_windows *b, struct review_budget *ret)
{
    struct burn_part all = review_burn_between(b, r->q.from_ms, r->q.to_ms);
    int64_t window_from_ms = r->q.to_ms - ret->slo->window_ms;
    if (window_from_ms < r->q.from_ms)
        window_from_ms = r->q.from_ms;
    if (b->first_ms <= b->last_ms && window_from_ms < b->first_ms)
        window_from_ms = b->first_ms;
    struct burn_part window = review_burn_between(b, window_from_ms, r->q.to_ms);
    ret->first_ms = b->first_ms;
    ret->last_ms = b->last_ms;
    ret->total = all.total;
    ret->bad = all.bad;
    ret->window_from_ms = window_from_ms;
    ret->window_total = window.total;
    ret->window_bad = window.bad;
}

static int objective_look(struct review *r, const struct time_ranges *waking,
                          struct review_budget *budget)
{
    struct burn_windows b;
    struct arena a;
    arena_init(&a, &r->budget);
    int error = review_burn_read(r, budget->slo, budget->objective, &a, &b);
    if (error == 0) {
        judge(r, &b, budget);
        budget_take(r, &b, budget);
        error = missed_find(r, &b, budget, waking);
    }
    arena_done(&a);
    return error;
}

static size_t n_objectives(const struct review *r)
{
    size_t n = 0;
    for (size_t i = 0; i < r->q.n_slos; i++)
        for (int o = 0; o < SLO_OBJECTIVE_COUNT_; o++)
            n += r->q.slos[i].targets[o].is_set;
    return n;
}

static int objectives_look(struct review *r, struct err *reterr)
{
    struct time_ranges waking;
    int error = missed_waking(r, &waking);
    r->budgets = arena_zalloc(&r->arena, n_objectives(r), sizeof(*r->budgets));
    if (!r->budgets)
        error = -ENOMEM;
    for (size_t i = 0; i < r->q.n_slos && error == 0; i++) {
        for (int o = 0; o < SLO_OBJECTIVE_COUNT_ && error == 0; o++) {
            if (!r->q.slos[i].targets[o].is_set)
                continue;
            struct review_budget *budget = &r->budgets[r->n_budgets++];
            *budget = (struct review_budget){.slo = &r->q.slos[i], .objective = o};
            error = objective_look(r, &waking, budget);
        }
    }
    missed_sort(r);
    return error < 0 ? review_fail(r, error, reterr) : 0;
}

/* --- all of it --- */

static int advise(struct review *r, struct err *reterr)
{
    int error = advise_for(r);
    if (error == 0)
        error = quantile_uses_find(r);
    if (error < 0)
        return review_fail(r, error, reterr);
    error = advise_threshold(r, reterr);
    return error == 0 ? advise_bounds(r, reterr) : error;
}

static int make(struct review *r, struct err *reterr)
{
    if (r->q.is_of_budgets)
        return objectives_look(r, reterr);
    int error = rule_rows_init(r);
    if (error == 0)
        error = stretches_find(r);
    if (error < 0)
        return review_fail(r, error, reterr);
    error = firings_read(r, reterr);
    if (error == 0)
        error = objectives_look(r, reterr);
    if (error == 0)
        error = marks_read(r, reterr);
    if (error < 0)
        return error;
    error = rule_rows_sum(r);
    return error < 0 ? review_fail(r, error, reterr) : advise(r, reterr);
}

int review_make(const struct review_question *q, struct review **ret, struct err *reterr)
{
    if (q->from_ms >= q->to_ms || q->to_ms - q->from_ms > (int64_t)REVIEW_DAYS_MAX * DAY_MS)
        return err_set(reterr, -EINVAL, "the period of a review is at most %d days and not empty",
                       REVIEW_DAYS_MAX);
    struct review *r = mem_zalloc(1, sizeof(*r));
    if (!r)
        return err_set(reterr, -ENOMEM, "%s", err_str(-ENOMEM));
    r->q = *q;
    r->budget.max_bytes = REVIEW_BYTES_MAX;
    arena_init(&r->arena, &r->budget);
    int error = make(r, reterr);
    if (error < 0) {
        (void)review_free(r);
        return error;
    }
    *ret = r;
    return 0;
}

struct review *review_free(struct review *r)
{
    if (!r)
        return NULL;
    arena_done(&r->arena);
    mem_free(r);
    return NULL;
}
