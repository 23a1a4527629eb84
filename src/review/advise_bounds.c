/* SPDX-License-Identifier: Apache-2.0 */
/*
 * review/advise_bounds.c - classic histograms whose buckets are too wide where a rule looks.
 *
 * A quantile of a classic histogram is as exact as the bucket that it falls in is narrow; behind
 * the last bound it is not known at all. Buckets of the last day of the period are looked at,
 * summed over all labels but le.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "base/num.h"
#include "review/instant.h"

enum { DAY_MS = 24 * 3600 * 1000 };
#define WIDE 0.25 /* of the value */

struct bucket {
    double upper, count; /* count: up to upper */
};

static int compare_buckets(const void *a, const void *b)
{
    const struct bucket *x = a, *y = b;
    return (x->upper > y->upper) - (x->upper < y->upper);
}

static bool bound_parse(struct span le, double *ret)
{
    if (span_eq(le, SPAN("+Inf"))) {
        *ret = (double)INFINITY;
        return true;
    }
    return num_parse_double(le, ret) == 0;
}

static int buckets_of(const struct value *v, struct arena *a, struct bucket **ret, size_t *ret_n)
{
    struct bucket *at = arena_array(a, v->n_columns, sizeof(*at));
    size_t n = 0;
    if (!at)
        return -ENOMEM;
    for (size_t i = 0; i < v->n_columns; i++) {
        const struct column *c = &v->columns[i];
        if (c->has[0] && !(c->h && c->h[0]) &&
            bound_parse(labels_get(c->labels, SPAN(LABEL_LE)), &at[n].upper))
            at[n++].count = c->v[0];
    }
    if (n > 0)
        qsort(at, n, sizeof(*at), compare_buckets);
    for (size_t i = 1; i < n; i++) /* what is scraped apart may shrink a little */
        at[i].count = fmax(at[i].count, at[i - 1].count);
    *ret = at;
    *ret_n = n;
    return 0;
}

/* --- what is advised --- */

/* Two digits. */
static double rounded(double v)
{
    double unit = pow(10, floor(log10(v)) - 1);
    double whole = round(v / unit);
    return unit < 1 ? whole / round(1 / unit) : whole * unit;
}

static void bound_add(struct advice_bounds *b, double v)
{
    double last = b->n_bounds > 0 ? b->bounds[b->n_bounds - 1] : b->lower;
    if (v > last && v < b->upper)
        b->bounds[b->n_bounds++] = v;
}

/* Around the value, or further and further out where it lies behind all of them. */
static void bounds_choose(struct advice_bounds *b)
{
    static const double around[] = {0.9, 1, 1.1}, beyond[] = {1.5, 2, 4};
    for (size_t i = 0; i < ADVICE_BOUNDS_MAX; i++) {
        if (isfinite(b->upper))
            bound_add(b, rounded(b->value * around[i]));
        else if (b->lower > 0)
            bound_add(b, rounded(b->lower * beyond[i]));
    }
}

/* Whether the bucket of the quantile is too wide, as far as that can be told. */
static bool is_wide(const struct bucket *at, size_t n, struct advice_bounds *b)
{
    double total = n > 0 ? at[n - 1].count : 0, rank = b->use->q * total;
    size_t i = 0;
    if (!(total >= PROPOSE_REQUESTS_MIN) || !(b->use->q > 0) || !(b->use->q < 1))
        return false;
    while (i + 1 < n && at[i].count < rank)
        i++;
    double below = i > 0 ? at[i - 1].count : 0;
    b->total = total;
    b->lower = i > 0 ? at[i - 1].upper : 0;
    b->upper = at[i].upper;
    b->value = (double)NAN;
    if (!isfinite(b->upper))
        return true;
    double part = at[i].count > below ? (rank - below) / (at[i].count - below) : 1;
    b->value = b->lower + (b->upper - b->lower) * part;
    return b->value > 0 && b->upper - b->lower > WIDE * b->value;
}

/* --- which ones --- */

static int query_print(const struct quantile_use *u, struct span metric, struct buf *out)
{
    const struct node *s = u->selector;
    int r = buf_append(out, SPAN("sum by (le) (increase({__name__="));
    if (r == 0)
        r = labels_quote(metric, out);
    for (size_t i = 0; i < s->selector.n_matchers && r == 0; i++) {
        if (span_eq(s->selector.matchers[i].name, SPAN(LABEL_NAME)))
            continue;
        r = buf_append(out, SPAN(","));
        if (r == 0)
            r = matcher_print(&s->selector.matchers[i], out);
    }
    return r == 0 ? buf_append(out, SPAN("}[1d]))")) : r;
}

static int advice_add(struct review *r, struct advice_bounds b)
{
    struct advice_bounds *at =
        arena_grow(&r->arena, r->bounds, r->n_bounds, 1, &r->cap_bounds, sizeof(*at));
    if (!at)
        return -ENOMEM;
    r->bounds = at;
    bounds_choose(&b);
    at[r->n_bounds++] = b;
    return 0;
}

static int advise_one(struct review *r, struct advice_bounds b, struct span series,
                      struct err *reterr)
{
    const struct value *v = NULL;
    struct bucket *at = NULL;
    struct instant query;
    struct arena a;
    size_t n = 0;
    arena_init(&a, &r->budget);
    instant_init(&query);
    int error = query_print(b.use, series, &query.text);
    if (error < 0)
        (void)review_fail(r, error, reterr);
    else
        error = instant_run(&query, r, &v, reterr);
    if (error == 0 && v) {
        error = buckets_of(v, &a, &at, &n);
        if (error == 0 && is_wide(at, n, &b))
            error = advice_add(r, b);
        if (error < 0)
            error = review_fail(r, error, reterr);
    }
    instant_done(&query);
    arena_done(&a);
    return error;
}

static bool is_same(const struct quantile_use *a, const struct quantile_use *b)
{
    const struct node *x = a->selector, *y = b->selector;
    if (a->q < b->q || a->q > b->q || x->selector.n_matchers != y->selector.n_matchers)
        return false;
    for (size_t i = 0; i < x->selector.n_matchers; i++) {
        const struct matcher *m = &x->selector.matchers[i], *o = &y->selector.matchers[i];
        if (m->op != o->op || !span_eq(m->name, o->name) || !span_eq(m->value, o->value))
            return false;
    }
    return true;
}

/* How many uses are as this one; 0: it is not the first of them. */
static unsigned n_same(const struct review *r, size_t at)
{
    unsigned n = 0;
    for (size_t i = 0; i < r->n_uses; i++) {
        if (!is_same(&r->uses[i], &r->uses[at]))
            continue;
        if (i < at)
            return 0;
        n++;
    }
    return n;
}

int advise_bounds(struct review *r, struct err *reterr)
{
    int error = 0;
    r->bounds_from_ms = r->q.to_ms - DAY_MS;
    for (size_t i = 0; i < r->n_uses && error == 0; i++) {
        struct span series = quantile_use_metric(&r->uses[i]);
        struct advice_bounds b = {.use = &r->uses[i], .n_uses = n_same(r, i)};
        if (b.n_uses == 0 || !span_ends_with(series, SPAN("_bucket")))
            continue;
        b.metric = span_of(series.p, series.n - SPAN("_bucket").n);
        error = advise_one(r, b, series, reterr);
    }
    return error;
}
