/* SPDX-License-Identifier: Apache-2.0 */
/*
 * promql/call_histograms.c - functions of histograms, native and classic.
 */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <time.h>

#include "base/num.h"
#include "promql/call.h"
#include "promql/histograms.h"

static double number_of(const struct fhist *h, const char *name)
{
    if (strcmp(name, "histogram_count") == 0)
        return h->count;
    if (strcmp(name, "histogram_sum") == 0)
        return h->sum;
    if (strcmp(name, "histogram_avg") == 0)
        return h->sum / h->count;
    double variance = fhist_variance(h);
    return strcmp(name, "histogram_stddev") == 0 ? sqrt(variance) : variance;
}

int call_histogram_number(struct eval *e, const struct node *n, const struct grid *g,
                          struct arena *a, struct value *ret)
{
    const char *name = n->call.function->name;
    bool is_counting = strncmp(name, "histogram_std", strlen("histogram_std")) != 0;
    e->n_counting += is_counting;
    int r = eval_node(e, call_arg(n, 0), g, a, ret);
    e->n_counting -= is_counting;
    for (size_t k = 0; r == 0 && k < ret->n_columns; k++) {
        struct column *c = &ret->columns[k];
        for (size_t i = 0; i < g->n; i++) {
            if (column_h(c, i))
                c->v[i] = number_of(c->h[i], name);
            else
                c->has[i] = 0;
        }
        c->h = NULL;
        c->drops_name = true;
        r = eval_work(e, g->n);
    }
    return r;
}

/* Trouble with counts that did not ascend, by metric. */
struct histogram_fixes {
    struct span name;
    struct classic_fix fix;
    uint64_t n_samples;
    int64_t first_ms, last_ms;
    struct histogram_fixes *next;
};

static int remember_fix(struct histograms *x, const struct histogram *h, size_t i,
                        const struct classic_fix *fix)
{
    struct span name = labels_name(h->labels);
    int64_t at = grid_at(x->grid, i);
    struct histogram_fixes *f = x->fixes;
    while (f && !span_eq(f->name, name))
        f = f->next;
    if (!f) {
        f = arena_alloc(x->work, sizeof(*f));
        if (!f)
            return -ENOMEM;
        *f = (struct histogram_fixes){
            .name = name, .fix = *fix, .first_ms = at, .last_ms = at, .next = x->fixes};
        x->fixes = f;
    }
    f->n_samples++;
    f->fix.min_upper = fmin(f->fix.min_upper, fix->min_upper);
    f->fix.max_upper = fmax(f->fix.max_upper, fix->max_upper);
    f->fix.max_diff = fmax(f->fix.max_diff, fix->max_diff);
    f->first_ms = at < f->first_ms ? at : f->first_ms;
    f->last_ms = at > f->last_ms ? at : f->last_ms;
    return 0;
}

static const char *format_time(int64_t ms, char *dst, size_t cap)
{
    time_t s = (time_t)(ms / 1000);
    struct tm tm;
    if (!gmtime_r(&s, &tm) || strftime(dst, cap, "%Y-%m-%dT%H:%M:%SZ", &tm) == 0)
        dst[0] = '\0';
    return dst;
}

static int say_fixes(struct histograms *x)
{
    for (const struct histogram_fixes *f = x->fixes; f; f = f->next) {
        char of[NOTES_NAME_MAX], from[40], to[40], low[32], high[32];
        int r = notes_info(
            &x->e->notes, x->at,
            "input to histogram_quantile needed to be fixed for monotonicity (see "
            "https://prometheus.io/docs/prometheus/latest/querying/functions/"
            "#histogram_quantile)%s, from buckets %.*s to %.*s, with a max diff of %.2g, over "
            "%" PRIu64 " samples from %s to %s",
            notes_for_name(f->name, of), (int)num_format_double(f->fix.min_upper, low), low,
            (int)num_format_double(f->fix.max_upper, high), high, f->fix.max_diff, f->n_samples,
            format_time(f->first_ms, from, sizeof(from)), format_time(f->last_ms, to, sizeof(to)));
        if (r < 0)
            return r;
    }
    return 0;
}

static int say_nan(struct histograms *x, struct histogram *h, double v)
{
    char of[NOTES_NAME_MAX];
    if (!notes_first(&h->said, isnan(v) ? 2 : 4))
        return 0;
    return notes_info(
        &x->e->notes, x->at, "input to histogram_quantile has NaN observations, result is %s%s",
        isnan(v) ? "NaN" : "skewed higher", notes_for_name(labels_name(h->labels), of));
}

static int quantile_cell(struct histograms *x, struct histogram *h, double q, size_t i)
{
    struct classic_fix fix = {.n_fixed = 0};
    struct histogram_moment m;
    bool is_skewed = false;
    double v;
    int r = histograms_look(x, h, i, &m);
    if (r < 0 || (!m.native && m.n_buckets == 0))
        return r;
    v = m.native ? fhist_quantile(m.native, q, &is_skewed)
                 : classic_quantile(x->room, m.n_buckets, q, &fix);
    if (is_skewed)
        r = say_nan(x, h, v);
    if (r == 0 && fix.n_fixed > 0)
        r = remember_fix(x, h, i, &fix);
    return r == 0 ? histograms_set(x, h, q, i, v) : r;
}

static int quantile_all(struct histograms *x, const double *q)
{
    int r = 0;
    for (size_t k = 0; k < x->n && r == 0; k++) {
        x->all[k].has_result = false;
        for (size_t i = 0; i < x->grid->n && r == 0; i++)
            r = quantile_cell(x, &x->all[k], q[i], i);
        if (r == 0)
            r = eval_work(x->e, x->grid->n);
    }
    return r;
}

static int quantile_arg(struct eval *e, const struct node *n, size_t k, const struct grid *g,
                        struct arena *work, double **ret)
{
    int r = call_scalar_arg(e, n, k, g, work, ret);
    for (size_t i = 0; i < g->n && r == 0; i++)
        r = notes_quantile(&e->notes, call_arg(n, k)->from, (*ret)[i]);
    return r;
}

/* Which of a call's arguments say what. */
struct quantile_args {
    size_t of;         /* the vector */
    size_t from, n;    /* quantiles */
    struct span label; /* of the results; NULL: none */
};

static int quantiles(struct eval *e, const struct node *n, const struct quantile_args *args,
                     const struct grid *g, struct arena *a, struct value *ret)
{
    struct arena work;
    struct histograms x;
    arena_init(&work, e->budget);
    int r = histograms_init(&x, e, call_arg(n, args->of), g, a, &work);
    x.label = args->label;
    for (size_t k = 0; r == 0 && k < args->n; k++) {
        double *q;
        r = quantile_arg(e, n, args->from + k, g, &work, &q);
        if (r == 0)
            r = quantile_all(&x, q);
    }
    if (r == 0)
        r = say_fixes(&x);
    if (r == 0)
        columns_give(&x.results, g, ret);
    arena_done(&work);
    return r;
}

int call_histogram_quantile(struct eval *e, const struct node *n, const struct grid *g,
                            struct arena *a, struct value *ret)
{
    const struct quantile_args args = {.of = 1, .from = 0, .n = 1};
    return quantiles(e, n, &args, g, a, ret);
}

int call_histogram_quantiles(struct eval *e, const struct node *n, const struct grid *g,
                             struct arena *a, struct value *ret)
{
    const struct quantile_args args = {
        .of = 0, .from = 2, .n = n->call.n_args - 2, .label = call_arg(n, 1)->string};
    return quantiles(e, n, &args, g, a, ret);
}

static int fraction_cell(struct histograms *x, struct histogram *h, double lower, double upper,
                         size_t i)
{
    char of[NOTES_NAME_MAX];
    struct histogram_moment m;
    bool is_skewed = false;
    int r = histograms_look(x, h, i, &m);
    if (r < 0 || (!m.native && m.n_buckets == 0))
        return r;
    double v = m.native ? fhist_fraction(m.native, lower, upper, &is_skewed)
                        : classic_fraction(x->room, m.n_buckets, lower, upper);
    if (is_skewed && notes_first(&h->said, 2))
        r = notes_info(&x->e->notes, x->at,
                       "input to histogram_fraction has NaN observations, which are excluded from "
                       "all fractions%s",
                       notes_for_name(labels_name(h->labels), of));
    return r == 0 ? histograms_set(x, h, 0, i, v) : r;
}

int call_histogram_fraction(struct eval *e, const struct node *n, const struct grid *g,
                            struct arena *a, struct value *ret)
{
    struct arena work;
    struct histograms x;
    double *lower = NULL, *upper = NULL;
    arena_init(&work, e->budget);
    int r = call_scalar_arg(e, n, 0, g, &work, &lower);
    if (r == 0)
        r = call_scalar_arg(e, n, 1, g, &work, &upper);
    if (r == 0)
        r = histograms_init(&x, e, call_arg(n, 2), g, a, &work);
    for (size_t k = 0; r == 0 && k < x.n; k++)
        for (size_t i = 0; i < g->n && r == 0; i++)
            r = fraction_cell(&x, &x.all[k], lower[i], upper[i], i);
    if (r == 0)
        columns_give(&x.results, g, ret);
    arena_done(&work);
    return r;
}
