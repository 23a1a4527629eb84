/* SPDX-License-Identifier: Apache-2.0 */
/*
 * promql/aggregate_kernels.c - what the streaming aggregations do with a series.
 *
 * Sums of floats start at -0, which is neutral: -0 + x is x for each x, zeros of both signs too. So
 * missing cells can be added like others, and the loop has no conditions.
 */
#include <errno.h>

#include "promql/aggregate.h"
#include "promql/fp.h"

enum aggregate_note { SAID_IGNORED = 1, SAID_MIXED = 2, SAID_COLLIDE = 4, SAID_RECONCILED = 8 };

static int say_ignored(struct aggregation *x)
{
    if (!notes_first(&x->said, SAID_IGNORED))
        return 0;
    return notes_ignored_in_aggregation(&x->e->notes, x->at,
                                        aggregate_ops[x->node->aggregate.op].text);
}

static int add_histogram(struct aggregation *x, struct aggregate_group *g, const struct column *c,
                         size_t i)
{
    unsigned flags = 0;
    int r = 0;
    g->kinds[i] |= AGGREGATE_HISTOGRAM;
    if (c->h[i]->hint == FHIST_RESET)
        g->kinds[i] |= AGGREGATE_RESET;
    if (c->h[i]->hint == FHIST_NOT_RESET)
        g->kinds[i] |= AGGREGATE_NOT_RESET;
    if (!g->h)
        g->h = arena_zalloc(x->work, x->n_steps, sizeof(struct fhist *));
    if (!g->h)
        return -ENOMEM;
    if (!g->h[i])
        r = fhist_sum_new(x->work, &g->h[i]);
    if (r == 0)
        r = fhist_sum_add(g->h[i], c->h[i], &flags);
    if (r == 0 && (flags & FHIST_INCOMPATIBLE)) {
        g->kinds[i] |= AGGREGATE_INCOMPATIBLE;
        if (x->said_schemas != c->labels.at)
            r = notes_mixed_schemas(&x->e->notes, x->at, labels_name(c->labels));
        x->said_schemas = c->labels.at;
    }
    if (r == 0 && (flags & FHIST_CUSTOM_RECONCILED) && notes_first(&x->said, SAID_RECONCILED))
        r = notes_reconciled(&x->e->notes, x->at, "aggregation");
    return r;
}

/* The histogram of a step: *ret, or NULL where there is none. is_void: nor is there a float. */
static int get_histogram(struct aggregation *x, const struct aggregate_group *g, size_t i,
                         double divisor, struct fhist **ret, bool *is_void)
{
    const int both_kinds = AGGREGATE_FLOAT | AGGREGATE_HISTOGRAM;
    const int both_hints = AGGREGATE_RESET | AGGREGATE_NOT_RESET;
    int kinds = g->kinds[i], r = 0;
    *ret = NULL;
    *is_void = (kinds & both_kinds) == 0;
    if ((kinds & both_kinds) == both_kinds) {
        *is_void = true;
        if (!notes_first(&x->said, SAID_MIXED))
            return 0;
        return notes_warn(&x->e->notes, x->at,
                          "encountered a mix of histograms and floats for aggregation");
    }
    if (!(kinds & AGGREGATE_HISTOGRAM))
        return 0;
    *is_void = (kinds & AGGREGATE_INCOMPATIBLE) != 0;
    if (*is_void)
        return 0;
    if ((kinds & both_hints) == both_hints && notes_first(&x->said, SAID_COLLIDE))
        r = notes_hints_collide(&x->e->notes, x->at, "aggregation");
    if (r == 0)
        r = fhist_sum_get(g->h[i], divisor, x->out, ret);
    if (r == 0 && *ret)
        fhist_compact(*ret);
    return r;
}

static void sum_floats(struct aggregate_group *g, const struct column *c, size_t n)
{
    double *restrict sum = g->v, *restrict lost = g->c;
    const double *restrict v = c->v;
    const uint8_t *restrict has = c->has;
    for (size_t i = 0; i < n; i++) {
        double x = has[i] ? v[i] : -0.0, s = sum[i], t = s + x;
        double big = fabs(s) >= fabs(x) ? s : x, small = fabs(s) >= fabs(x) ? x : s;
        double l = lost[i] + ((big - t) + small);
        lost[i] = fabs(t) > 1.7976931348623157e308 ? 0 : l;
        sum[i] = t;
    }
    for (size_t i = 0; i < n; i++)
        g->kinds[i] |= has[i];
}

static int sum_add(struct aggregation *x, struct aggregate_group *g, const struct column *c)
{
    if (!c->h) {
        sum_floats(g, c, x->n_steps);
        return 0;
    }
    for (size_t i = 0; i < x->n_steps; i++) {
        int r = 0;
        if (!c->has[i] || (g->kinds[i] & AGGREGATE_INCOMPATIBLE))
            continue;
        if (c->h[i]) {
            r = add_histogram(x, g, c, i);
        } else {
            struct fp_sum s = {g->v[i], g->c[i]};
            fp_add(&s, c->v[i]);
            g->v[i] = s.sum;
            g->c[i] = s.c;
            g->kinds[i] |= AGGREGATE_FLOAT;
        }
        if (r < 0)
            return r;
    }
    return 0;
}

static int sum_get(struct aggregation *x, struct aggregate_group *g, struct column *ret)
{
    for (size_t i = 0; i < x->n_steps; i++) {
        struct fhist *h;
        bool is_void;
        int r = get_histogram(x, g, i, 1, &h, &is_void);
        if (r == 0 && !is_void)
            r = column_set(x->out, x->n_steps, ret, i, g->v[i] + g->c[i], h);
        if (r < 0)
            return r;
    }
    return 0;
}

static int avg_add(struct aggregation *x, struct aggregate_group *g, const struct column *c)
{
    for (size_t i = 0; i < x->n_steps; i++) {
        if (!c->has[i] || (g->kinds[i] & AGGREGATE_INCOMPATIBLE))
            continue;
        if (column_h(c, i)) {
            int r = add_histogram(x, g, c, i);
            if (r < 0)
                return r;
            g->n[i]++;
            continue;
        }
        struct fp_mean m = {.s = {g->v[i], g->c[i]},
                            .n = g->n[i],
                            .is_incremental = g->kinds[i] & AGGREGATE_INCREMENTAL};
        fp_mean_add(&m, c->v[i]);
        g->v[i] = m.s.sum;
        g->c[i] = m.s.c;
        g->n[i] = m.n;
        g->kinds[i] |= AGGREGATE_FLOAT | (m.is_incremental ? AGGREGATE_INCREMENTAL : 0);
    }
    return 0;
}

static int avg_get(struct aggregation *x, struct aggregate_group *g, struct column *ret)
{
    for (size_t i = 0; i < x->n_steps; i++) {
        struct fhist *h;
        bool is_void;
        int r = get_histogram(x, g, i, g->n[i], &h, &is_void);
        struct fp_mean m = {.s = {g->v[i], g->c[i]},
                            .n = g->n[i],
                            .is_incremental = g->kinds[i] & AGGREGATE_INCREMENTAL};
        if (r == 0 && !is_void)
            r = column_set(x->out, x->n_steps, ret, i, h ? 0 : fp_mean_get(&m), h);
        if (r < 0)
            return r;
    }
    return 0;
}

static int count_add(struct aggregation *x, struct aggregate_group *g, const struct column *c)
{
    for (size_t i = 0; i < x->n_steps; i++) {
        g->v[i] += c->has[i];
        g->kinds[i] |= c->has[i];
    }
    return 0;
}

static int group_add(struct aggregation *x, struct aggregate_group *g, const struct column *c)
{
    for (size_t i = 0; i < x->n_steps; i++) {
        g->v[i] = 1;
        g->kinds[i] |= c->has[i];
    }
    return 0;
}

static int extreme_add(struct aggregation *x, struct aggregate_group *g, const struct column *c)
{
    bool is_max = x->node->aggregate.op == AGG_MAX;
    int r = 0;
    for (size_t i = 0; i < x->n_steps && r == 0; i++) {
        if (!c->has[i])
            continue;
        if (column_h(c, i)) {
            r = say_ignored(x);
            continue;
        }
        bool is_better = is_max ? g->v[i] < c->v[i] : g->v[i] > c->v[i];
        if (!g->kinds[i] || is_better || isnan(g->v[i]))
            g->v[i] = c->v[i];
        g->kinds[i] = AGGREGATE_FLOAT;
    }
    return r;
}

static int variance_add(struct aggregation *x, struct aggregate_group *g, const struct column *c)
{
    int r = 0;
    for (size_t i = 0; i < x->n_steps && r == 0; i++) {
        if (!c->has[i])
            continue;
        if (column_h(c, i)) {
            r = say_ignored(x);
            continue;
        }
        double delta = c->v[i] - g->v[i];
        g->n[i]++;
        g->v[i] = g->n[i] > 1 ? g->v[i] + delta / g->n[i] : c->v[i];
        g->c[i] += delta * (c->v[i] - g->v[i]);
        g->kinds[i] = AGGREGATE_FLOAT;
    }
    return r;
}

static int plain_get(struct aggregation *x, struct aggregate_group *g, struct column *ret)
{
    for (size_t i = 0; i < x->n_steps; i++)
        ret->has[i] = g->kinds[i] != 0;
    return 0;
}

static int variance_get(struct aggregation *x, struct aggregate_group *g, struct column *ret)
{
    bool is_root = x->node->aggregate.op == AGG_STDDEV;
    for (size_t i = 0; i < x->n_steps; i++) {
        double v = g->c[i] / g->n[i];
        ret->has[i] = g->kinds[i] != 0;
        ret->v[i] = is_root ? sqrt(v) : v;
    }
    return 0;
}

const struct aggregate_kernel aggregate_kernels[AGG_COUNT_] = {
    [AGG_SUM] = {.add = sum_add, .get = sum_get, .needs_c = true, .start = -0.0},
    [AGG_AVG] = {.add = avg_add, .get = avg_get, .needs_c = true, .needs_n = true},
    [AGG_COUNT] = {.add = count_add, .get = plain_get},
    [AGG_GROUP] = {.add = group_add, .get = plain_get},
    [AGG_MIN] = {.add = extreme_add, .get = plain_get},
    [AGG_MAX] = {.add = extreme_add, .get = plain_get},
    [AGG_STDDEV] = {.add = variance_add, .get = variance_get, .needs_c = true, .needs_n = true},
    [AGG_STDVAR] = {.add = variance_add, .get = variance_get, .needs_c = true, .needs_n = true},
};
