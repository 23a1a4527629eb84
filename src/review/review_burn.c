/* SPDX-License-Identifier: Apache-2.0 */
#include "review/review_burn.h"

#include <errno.h>
#include <math.h>

static int64_t floor_window(int64_t t_ms)
{
    int64_t rest = t_ms % REVIEW_WINDOW_MS;
    return t_ms - (rest < 0 ? rest + REVIEW_WINDOW_MS : rest);
}

/* --- increases to windows --- */

/* The window that ends behind or at t; windows do not hold the moment they begin with. */
static size_t window_of(const struct burn_windows *b, int64_t t_ms)
{
    int64_t i = t_ms <= b->from_ms ? 0 : (t_ms - b->from_ms - 1) / REVIEW_WINDOW_MS;
    return i < (int64_t)b->n ? (size_t)i : b->n - 1;
}

static void spread(const struct burn_windows *b, double *at, int64_t from_ms, int64_t to_ms,
                   double v)
{
    if (to_ms - from_ms <= 2 * (int64_t)REVIEW_WINDOW_MS) {
        at[window_of(b, to_ms)] += v;
        return;
    }
    for (size_t i = window_of(b, from_ms + 1); i <= window_of(b, to_ms); i++) {
        int64_t lower = b->from_ms + (int64_t)i * REVIEW_WINDOW_MS;
        int64_t upper = lower + REVIEW_WINDOW_MS;
        lower = lower > from_ms ? lower : from_ms;
        upper = upper < to_ms ? upper : to_ms;
        if (upper > lower)
            at[i] += v * (double)(upper - lower) / (double)(to_ms - from_ms);
    }
}

static void add_samples(struct burn_windows *b, double *at, const struct samples *s)
{
    size_t before = SIZE_MAX;
    for (size_t i = 0; i < s->n; i++) {
        if (!isfinite(s->v[i]) || s->v[i] < 0) /* stale markers, too */
            continue;
        if (s->t[i] < b->first_ms)
            b->first_ms = s->t[i];
        if (s->t[i] > b->last_ms)
            b->last_ms = s->t[i];
        if (before != SIZE_MAX) {
            double v = s->v[i] - s->v[before];
            bool is_reset = v < 0;
            if (v != 0)
                spread(b, at, is_reset ? s->t[i] : s->t[before], s->t[i], is_reset ? s->v[i] : v);
        }
        before = i;
    }
}

/* --- series --- */

struct counter {
    struct review *r;
    const char *name;
    const struct slo *slo;
    enum slo_objective objective;
};

static int add_series(const struct counter *c, const struct series_ref *refs, size_t n,
                      struct burn_windows *b, double *at)
{
    struct review *r = c->r;
    struct samples s;
    int error = 0;
    samples_init(&s, &r->budget);
    for (size_t i = 0; i < n && error == 0; i++) {
        samples_clear(&s);
        error = review_is_over(r);
        if (error == 0)
            error = r->q.reader->ops->samples(r->q.reader, refs[i].id, b->from_ms, r->q.to_ms,
                                              SERIES_LAST, &s);
        if (error == 0)
            add_samples(b, at, &s);
    }
    samples_done(&s);
    return error;
}

static int add_counter(const struct counter *c, struct arena *a, struct burn_windows *b, double *at)
{
    const struct span wanted[][2] = {
        {SPAN(LABEL_NAME), span_cstr(c->name)},
        {SPAN("slo"), span_cstr(c->slo->name)},
        {SPAN("objective"), span_cstr(slo_objective_name(c->objective))},
    };
    struct matcher m[ARRAY_LEN(wanted)];
    struct series_ref *refs = NULL;
    size_t n = 0, n_m = 0;
    int error = 0;
    while (n_m < ARRAY_LEN(wanted) && error == 0) {
        error = matcher_init(a, MATCH_EQ, wanted[n_m][0], wanted[n_m][1], &m[n_m], NULL);
        n_m += error == 0;
    }
    const struct series_select what = {m, n_m, b->from_ms, c->r->q.to_ms};
    if (error == 0)
        error = c->r->q.reader->ops->select(c->r->q.reader, &what, a, &refs, &n);
    if (error == 0)
        error = add_series(c, refs, n, b, at);
    while (n_m > 0)
        matcher_done(&m[--n_m]);
    return error;
}

static void sum_up(struct burn_windows *b, const double *good)
{
    for (size_t i = 0; i < b->n; i++) {
        b->bad[i] = fmax(b->total[i] - good[i], 0);
        b->total_sum[i + 1] = b->total_sum[i] + b->total[i];
        b->bad_sum[i + 1] = b->bad_sum[i] + b->bad[i];
    }
}

int review_burn_read(struct review *r, const struct slo *slo, enum slo_objective o, struct arena *a,
                     struct burn_windows *ret)
{
    struct burn_windows b = {.from_ms = floor_window(r->q.from_ms - REVIEW_MARGIN_MS),
                             .first_ms = INT64_MAX,
                             .last_ms = INT64_MIN,
                             .target = slo->targets[o].target};
    b.n = (size_t)((r->q.to_ms - b.from_ms - 1) / REVIEW_WINDOW_MS + 1);
    b.total = arena_zalloc(a, b.n, sizeof(double));
    b.bad = arena_zalloc(a, b.n, sizeof(double));
    b.total_sum = arena_zalloc(a, b.n + 1, sizeof(double));
    b.bad_sum = arena_zalloc(a, b.n + 1, sizeof(double));
    double *good = arena_zalloc(a, b.n, sizeof(double));
    if (!b.total || !b.bad || !b.total_sum || !b.bad_sum || !good)
        return -ENOMEM;
    int error = add_counter(&(struct counter){r, "llm_slo_good_total", slo, o}, a, &b, good);
    b.first_ms = INT64_MAX; /* what is covered is what has a total */
    b.last_ms = INT64_MIN;
    if (error == 0)
        error = add_counter(&(struct counter){r, "llm_slo_total", slo, o}, a, &b, b.total);
    if (error < 0)
        return error;
    sum_up(&b, good);
    *ret = b;
    return 0;
}

/* --- sums --- */

struct burn_part review_burn_between(const struct burn_windows *b, int64_t from_ms, int64_t to_ms)
{
    size_t from = window_of(b, from_ms + 1), to = window_of(b, to_ms) + 1;
    if (to <= from)
        return (struct burn_part){0, 0};
    return (struct burn_part){b->total_sum[to] - b->total_sum[from],
                              b->bad_sum[to] - b->bad_sum[from]};
}

double review_burn_rate(struct burn_part p, double target)
{
    if (!(p.total > 0) || !(p.bad > 0) || !(target < 1))
        return 0;
    return p.bad / p.total / (1 - target);
}
