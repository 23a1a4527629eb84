/* SPDX-License-Identifier: Apache-2.0 */
/*
 * baseline/propose.c - windows of 10 minutes, every 5 minutes, are added up to one distribution per
 * model, and their p95 is kept to see afterwards which threshold would have fired.
 */
#include "baseline/propose.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/attr.h"

#define MINUTE_MS (INT64_C(60) * 1000)

enum { DAY_MS = 24 * 60 * 60 * 1000, QUERY_MAX = 160 };

static const struct propose_stage stages[] = {
    {"ttft", "llm_ttft_seconds", "LLMTimeToFirstTokenSlow", "P1", "for its first token",
     5 * MINUTE_MS, 0.05},
    {"tpot", "llm_tpot_seconds", "LLMOutputSlow", "P1", "per output token", 5 * MINUTE_MS, 0.002},
    {"queue", "llm_queue_seconds", "LLMQueueSlow", "P1", "in the gateway's queue", 5 * MINUTE_MS,
     0.05},
    {"e2e", "llm_e2e_seconds", "LLMRequestsLong", "P2", "from end to end", 10 * MINUTE_MS, 0.1},
    {"jitter", "llm_jitter_seconds", "LLMStreamsUnsteady", "P2", "of jitter in its stream",
     10 * MINUTE_MS, 0.01},
};

/* --- distributions --- */

/* Buckets by their upper bounds; whatever is added has the same bounds, or bounds between. */
struct distribution {
    struct propose_bucket *at;
    size_t n, cap;
};

static double count_of(const struct propose_bucket *at, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += at[i].count;
    return sum;
}

/* Linear within a bucket; buckets of several widths do not reach below each other. n > 0, and
 * something is in them. */
static double quantile_of(const struct propose_bucket *at, size_t n, double q)
{
    double rank = q * count_of(at, n), below = 0;
    size_t i = 0;
    while (i + 1 < n && below + at[i].count < rank)
        below += at[i++].count;
    double lower = fmax(at[i].lower, i > 0 ? at[i - 1].upper : 0);
    if (!isfinite(at[i].upper))
        return lower;
    double part = at[i].count > 0 ? (rank - below) / at[i].count : 1;
    return lower + (at[i].upper - lower) * fmin(fmax(part, 0), 1);
}

static int distribution_add(struct distribution *d, struct arena *a, struct propose_bucket b)
{
    size_t low = 0, high = d->n;
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        if (d->at[mid].upper < b.upper)
            low = mid + 1;
        else
            high = mid;
    }
    if (low < d->n && d->at[low].upper == b.upper) {
        d->at[low].count += b.count;
        return 0;
    }
    struct propose_bucket *at = arena_grow(a, d->at, d->n, 1, &d->cap, sizeof(*at));
    if (!at)
        return -ENOMEM;
    d->at = at;
    memmove(at + low + 1, at + low, (d->n - low) * sizeof(*at));
    at[low] = b;
    d->n++;
    return 0;
}

/* --- one stage --- */

/* A window with enough requests. */
struct look {
    int64_t t_ms;
    double p95;
};
struct model {
    struct span name;
    struct distribution all;
    struct look *looks;
    size_t n_looks, cap_looks;
};
struct work {
    struct arena *a; /* of the result */
    int64_t to_ms;
    struct model *models;
    size_t n, cap;
};

static int model_get(struct work *w, struct span name, struct model **ret)
{
    for (size_t i = 0; i < w->n; i++) {
        if (span_eq(w->models[i].name, name)) {
            *ret = &w->models[i];
            return 0;
        }
    }
    if (w->n == PROPOSE_MODELS_MAX)
        return -E2BIG;
    struct model *at = arena_grow(w->a, w->models, w->n, 1, &w->cap, sizeof(*at));
    struct model m = {.name = arena_dup(w->a, name)};
    if (!at || !m.name.p)
        return -ENOMEM;
    w->models = at;
    at[w->n] = m;
    *ret = &at[w->n++];
    return 0;
}

/* Every second window counts for the whole, so that each request is counted once. */
static int window_count(struct work *w, struct model *m, const struct propose_window *window)
{
    int r = 0;
    if ((w->to_ms - window->end_ms) % PROPOSE_WINDOW_MS != 0)
        return 0;
    for (size_t i = 0; r == 0 && i < window->n; i++)
        if (window->at[i].count > 0)
            r = distribution_add(&m->all, w->a, window->at[i]);
    return r;
}

static int window_add(struct work *w, struct model *m, const struct propose_window *window)
{
    int r = window_count(w, m, window);
    if (r < 0 || !(count_of(window->at, window->n) >= PROPOSE_WINDOW_REQUESTS_MIN))
        return r;
    struct look *at = arena_grow(w->a, m->looks, m->n_looks, 1, &m->cap_looks, sizeof(*at));
    if (!at)
        return -ENOMEM;
    m->looks = at;
    at[m->n_looks++] = (struct look){window->end_ms, quantile_of(window->at, window->n, 0.95)};
    return 0;
}

static int series_add(struct work *w, const struct propose_series *s)
{
    struct model *m;
    int r = model_get(w, s->model, &m);
    for (size_t i = 0; r == 0 && i < s->n; i++)
        r = window_add(w, m, &s->at[i]);
    return r;
}

/* The windows that end in a day. */
static int day_add(struct work *w, const struct propose_source *source, struct span query,
                   int64_t from_ms, struct err *reterr)
{
    struct propose_question q = {query, from_ms + PROPOSE_STEP_MS, from_ms + DAY_MS,
                                 PROPOSE_STEP_MS};
    struct propose_series *series = NULL;
    struct arena a;
    size_t n = 0;
    arena_init(&a, NULL);
    int r = source->ask(source->ctx, &q, &a, &series, &n, reterr);
    for (size_t i = 0; r == 0 && i < n; i++) {
        r = series_add(w, &series[i]);
        if (r < 0)
            (void)err_set(reterr, r, "%s", r == -E2BIG ? "more than 1000 models" : err_str(r));
    }
    arena_done(&a);
    return r;
}

/* --- thresholds --- */

/* Two digits, rounded up. */
static double round_up(double v)
{
    if (!(v > 0))
        return 0;
    double unit = pow(10, floor(log10(v)) - 1);
    return ceil(v / unit - 1e-9) * unit;
}

/* Looks follow each other every 5 minutes; a gap ends what fires. */
static void fire(const struct model *m, struct proposal *s)
{
    int64_t began_ms = 0, last_ms = INT64_MIN;
    bool is_over = false, has_fired = false;
    for (size_t i = 0; i < m->n_looks; i++) {
        const struct look *l = &m->looks[i];
        if (!is_over || l->t_ms - last_ms > PROPOSE_STEP_MS) {
            began_ms = l->t_ms;
            has_fired = false;
        }
        is_over = l->p95 > s->threshold;
        last_ms = l->t_ms;
        if (!is_over || l->t_ms - began_ms < s->stage->for_ms)
            continue;
        s->n_fired += !has_fired;
        s->fired_ms += PROPOSE_STEP_MS;
        has_fired = true;
    }
}

static struct proposal proposal_of(const struct propose_stage *stage, const struct model *m,
                                   double margin)
{
    struct proposal s = {.stage = stage, .model = m->name};
    s.count = round(count_of(m->all.at, m->all.n));
    if (m->all.n == 0)
        return s;
    s.p50 = quantile_of(m->all.at, m->all.n, 0.5);
    s.p95 = quantile_of(m->all.at, m->all.n, 0.95);
    s.p99 = quantile_of(m->all.at, m->all.n, 0.99);
    if (s.count < PROPOSE_REQUESTS_MIN)
        return s;
    s.threshold = fmax(round_up(s.p95 * (1 + margin)), s.p95 > 0 ? stage->least_s : 0);
    fire(m, &s);
    return s;
}

static int compare_models(const void *a, const void *b)
{
    return span_cmp(((const struct model *)a)->name, ((const struct model *)b)->name);
}

static int stage_add(const struct propose_stage *stage, const struct propose_source *source,
                     struct proposals *s, size_t *cap, struct arena *a, struct err *reterr)
{
    struct work w = {.a = a, .to_ms = s->to_ms};
    char query[QUERY_MAX];
    int r = 0;
    (void)snprintf(query, sizeof(query), "sum by (model) (increase(%s[%dms]))", stage->metric,
                   PROPOSE_WINDOW_MS);
    for (int64_t t = s->from_ms; r == 0 && t < s->to_ms; t += DAY_MS)
        r = day_add(&w, source, span_cstr(query), t, reterr);
    if (r < 0 || w.n == 0)
        return r;
    struct proposal *at = arena_grow(a, s->at, s->n, w.n, cap, sizeof(*at));
    if (!at)
        return err_set(reterr, -ENOMEM, "%s", err_str(-ENOMEM));
    qsort(w.models, w.n, sizeof(*w.models), compare_models);
    s->at = at;
    for (size_t i = 0; i < w.n; i++)
        at[s->n++] = proposal_of(stage, &w.models[i], s->margin);
    return 0;
}

int propose_make(const struct propose_source *source, const struct propose_wish *wish,
                 struct arena *a, struct proposals *ret, struct err *reterr)
{
    struct proposals s = {.from_ms = wish->to_ms - (int64_t)wish->days * DAY_MS,
                          .to_ms = wish->to_ms,
                          .margin = wish->margin};
    size_t cap = 0;
    int r = 0;
    for (size_t i = 0; r == 0 && i < ARRAY_LEN(stages); i++)
        r = stage_add(&stages[i], source, &s, &cap, a, reterr);
    if (r == 0)
        *ret = s;
    return r;
}
