/* SPDX-License-Identifier: Apache-2.0 */
/*
 * promql/call_histograms.c - functions of histograms, native and classic.
 *
 * Classic ones: series that differ in le only are put together and sorted by bound once; each step
 * then only gathers counts. Where a series has both kinds of histogram at a step, neither counts.
 */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <time.h>

#include "base/num.h"
#include "promql/call.h"
#include "promql/classic.h"
#include "promql/fp.h"
#include "series/number.h"

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

/* A bucket's series and the next one of its histogram, in the order they came, then by bound. */
struct bucket_series {
    double upper;
    const struct column *column;
};

struct histogram {
    struct labels labels; /* without le */
    struct bucket_series *buckets;
    size_t n, cap;
    const struct column *native; /* of the same labels; NULL: none */
    size_t result;               /* column of the result at the moment, if has_result */
    bool has_result;
    double result_q;
};

/* Trouble with counts that did not ascend, by metric. */
struct fixes {
    struct span name;
    struct classic_fix fix;
    uint64_t n_samples;
    int64_t first_ms, last_ms;
    struct fixes *next;
};

struct histograms {
    struct eval *e;
    const struct grid *grid;
    struct arena *out, *work;
    size_t at; /* of the argument, for notes */
    struct label_index index;
    struct histogram *all;
    size_t n, cap;
    size_t n_buckets_max;
    struct classic_bucket *room;
    struct columns results;
    struct label_index result_index;
    struct fixes *fixes;
    struct span label; /* of histogram_quantiles; .n == 0: none */
};

static int histogram_get(struct histograms *x, struct labels l, struct histogram **ret)
{
    size_t id;
    bool is_new;
    int r = label_index_get(&x->index, l, &id, &is_new);
    if (r < 0)
        return r;
    if (is_new && x->n == x->cap) {
        size_t cap = x->cap ? 2 * x->cap : 8;
        struct histogram *all = arena_array(x->work, cap, sizeof(*all));
        if (!all)
            return -ENOMEM;
        if (x->n > 0)
            memcpy(all, x->all, x->n * sizeof(*all));
        x->all = all;
        x->cap = cap;
    }
    if (is_new)
        x->all[x->n++] = (struct histogram){.labels = l};
    *ret = &x->all[id];
    return 0;
}

static int bucket_add(struct histograms *x, struct histogram *h, double upper,
                      const struct column *c)
{
    if (h->n == h->cap) {
        size_t cap = h->cap ? 2 * h->cap : 16;
        struct bucket_series *b = arena_array(x->work, cap, sizeof(*b));
        if (!b)
            return -ENOMEM;
        if (h->n > 0)
            memcpy(b, h->buckets, h->n * sizeof(*b));
        h->buckets = b;
        h->cap = cap;
    }
    h->buckets[h->n++] = (struct bucket_series){upper, c};
    if (h->n > x->n_buckets_max)
        x->n_buckets_max = h->n;
    return 0;
}

static int say_bad_bucket(struct histograms *x, const struct column *c, struct span le)
{
    char of[NOTES_NAME_MAX];
    return notes_warn(&x->e->notes, x->at,
                      "bucket label \"le\" is missing or has a malformed value of \"%.*s\"%s",
                      (int)(le.n < 100 ? le.n : 100), le.p ? le.p : "",
                      notes_for_name(labels_name(c->labels), of));
}

static int take_classic(struct histograms *x, const struct column *c)
{
    static const struct span le_name[] = {SPAN_INIT(LABEL_LE)};
    struct span le = labels_get(c->labels, le_name[0]);
    struct labels rest;
    struct histogram *h = NULL;
    double upper;
    if (number_parse(le, &upper) < 0)
        return say_bad_bucket(x, c, le);
    int r = labels_without(x->work, c->labels, le_name, 1, &rest);
    if (r == 0)
        r = histogram_get(x, rest, &h);
    return r == 0 ? bucket_add(x, h, upper, c) : r;
}

static bool has_float(const struct column *c, size_t n)
{
    for (size_t i = 0; c->h && i < n; i++)
        if (c->has[i] && !c->h[i])
            return true;
    return !c->h;
}

static int compare_buckets(const void *a, const void *b)
{
    const struct bucket_series *x = a, *y = b;
    return (x->upper > y->upper) - (x->upper < y->upper);
}

static int take_columns(struct histograms *x, const struct value *in)
{
    int r = 0;
    for (size_t k = 0; k < in->n_columns && r == 0; k++) {
        const struct column *c = &in->columns[k];
        struct histogram *h;
        if (column_is_empty(c, in->n_steps))
            continue;
        if (has_float(c, in->n_steps))
            r = take_classic(x, c);
        if (r < 0 || !c->h)
            continue;
        r = histogram_get(x, c->labels, &h);
        if (r == 0)
            h->native = c;
    }
    for (size_t k = 0; k < x->n && r == 0; k++)
        if (x->all[k].n > 1)
            qsort(x->all[k].buckets, x->all[k].n, sizeof(struct bucket_series), compare_buckets);
    x->room = arena_array(x->work, x->n_buckets_max, sizeof(*x->room));
    return r == 0 && !x->room ? -ENOMEM : r;
}

static int histograms_init(struct histograms *x, struct eval *e, const struct node *arg,
                           const struct grid *g, struct arena *out, struct arena *work)
{
    struct value in;
    *x = (struct histograms){.e = e,
                             .grid = g,
                             .out = out,
                             .work = work,
                             .at = arg->from,
                             .results = columns_of(e, out, g->n)};
    label_index_init(&x->index, work, LABELS_ALL, NULL, 0);
    label_index_init(&x->result_index, work, LABELS_ALL, NULL, 0);
    e->n_looking++;
    int r = eval_node(e, arg, g, work, &in);
    e->n_looking--;
    return r == 0 ? take_columns(x, &in) : r;
}

/* What a histogram is at a step: buckets in x->room, a native one, or nothing. */
struct moment_of {
    const struct fhist *native;
    size_t n_buckets;
};

static int look(struct histograms *x, const struct histogram *h, size_t i, struct moment_of *ret)
{
    char of[NOTES_NAME_MAX];
    *ret = (struct moment_of){.native = h->native ? column_h(h->native, i) : NULL};
    for (size_t k = 0; k < h->n; k++) {
        const struct column *c = h->buckets[k].column;
        if (c->has[i] && !column_h(c, i))
            x->room[ret->n_buckets++] = (struct classic_bucket){h->buckets[k].upper, c->v[i]};
    }
    if (!ret->native || ret->n_buckets == 0)
        return 0;
    *ret = (struct moment_of){.native = NULL};
    return notes_warn(&x->e->notes, x->at,
                      "vector contains a mix of classic and native histograms%s",
                      notes_for_name(labels_name(h->labels), of));
}

/* 0.5, 1.0, +Inf, NaN */
static size_t format_q(double q, char *dst)
{
    size_t n = num_format_double(q, dst);
    struct span s = span_of(dst, n);
    if (isfinite(q) && span_find_char(s, '.') == n && span_find_char(s, 'e') == n) {
        memcpy(dst + n, ".0", 2);
        n += 2;
    }
    return n;
}

/* Finds the result's column for h, with a label for the quantile q where there is to be one. */
static int find_result(struct histograms *x, struct histogram *h, double q)
{
    struct labels labels = h->labels, copy;
    bool is_new = false;
    struct column *c = NULL;
    char text[40];
    int r = 0;
    if (x->label.n > 0) {
        struct span value = arena_dup(x->work, span_of(text, format_q(q, text)));
        r = value.p ? labels_with(x->work, labels, x->label, value, &labels) : -ENOMEM;
    }
    if (r == 0)
        r = label_index_get(&x->result_index, labels, &h->result, &is_new);
    if (r < 0 || !is_new)
        return r;
    r = labels_copy(x->out, labels, &copy);
    if (r == 0)
        r = columns_add(&x->results, copy, &c);
    if (r == 0)
        c->drops_name = true;
    return r;
}

static int set_result(struct histograms *x, struct histogram *h, double q, size_t i, double v)
{
    bool is_same = h->result_q == q || (isnan(h->result_q) && isnan(q));
    if (!h->has_result || (x->label.n > 0 && !is_same)) {
        int r = find_result(x, h, q);
        if (r < 0)
            return r;
        h->has_result = true;
        h->result_q = q;
    }
    struct column *c = &x->results.at[h->result];
    if (c->has[i])
        return eval_fail_same_labels(x->e);
    c->v[i] = v;
    c->has[i] = 1;
    return 0;
}

static int remember_fix(struct histograms *x, const struct histogram *h, size_t i,
                        const struct classic_fix *fix)
{
    struct span name = labels_name(h->labels);
    int64_t at = grid_at(x->grid, i);
    struct fixes *f = x->fixes;
    while (f && !span_eq(f->name, name))
        f = f->next;
    if (!f) {
        f = arena_alloc(x->work, sizeof(*f));
        if (!f)
            return -ENOMEM;
        *f = (struct fixes){
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
    for (const struct fixes *f = x->fixes; f; f = f->next) {
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

static int say_nan(struct histograms *x, const struct histogram *h, double v)
{
    char of[NOTES_NAME_MAX];
    return notes_info(
        &x->e->notes, x->at, "input to histogram_quantile has NaN observations, result is %s%s",
        isnan(v) ? "NaN" : "skewed higher", notes_for_name(labels_name(h->labels), of));
}

static int quantile_cell(struct histograms *x, struct histogram *h, double q, size_t i)
{
    struct classic_fix fix = {.n_fixed = 0};
    struct moment_of m;
    bool is_skewed = false;
    double v;
    int r = look(x, h, i, &m);
    if (r < 0 || (!m.native && m.n_buckets == 0))
        return r;
    v = m.native ? fhist_quantile(m.native, q, &is_skewed)
                 : classic_quantile(x->room, m.n_buckets, q, &fix);
    if (is_skewed)
        r = say_nan(x, h, v);
    if (r == 0 && fix.n_fixed > 0)
        r = remember_fix(x, h, i, &fix);
    return r == 0 ? set_result(x, h, q, i, v) : r;
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

int call_histogram_quantile(struct eval *e, const struct node *n, const struct grid *g,
                            struct arena *a, struct value *ret)
{
    struct arena work;
    struct histograms x;
    double *q;
    arena_init(&work, e->budget);
    int r = quantile_arg(e, n, 0, g, &work, &q);
    if (r == 0)
        r = histograms_init(&x, e, call_arg(n, 1), g, a, &work);
    if (r == 0)
        r = quantile_all(&x, q);
    if (r == 0)
        r = say_fixes(&x);
    if (r == 0)
        columns_give(&x.results, g, ret);
    arena_done(&work);
    return r;
}

int call_histogram_quantiles(struct eval *e, const struct node *n, const struct grid *g,
                             struct arena *a, struct value *ret)
{
    struct arena work;
    struct histograms x;
    arena_init(&work, e->budget);
    int r = histograms_init(&x, e, call_arg(n, 0), g, a, &work);
    if (r == 0)
        x.label = call_arg(n, 1)->string;
    for (size_t k = 2; r == 0 && k < n->call.n_args; k++) {
        double *q;
        r = quantile_arg(e, n, k, g, &work, &q);
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

static int fraction_cell(struct histograms *x, struct histogram *h, double lower, double upper,
                         size_t i)
{
    char of[NOTES_NAME_MAX];
    struct moment_of m;
    bool is_skewed = false;
    int r = look(x, h, i, &m);
    if (r < 0 || (!m.native && m.n_buckets == 0))
        return r;
    double v = m.native ? fhist_fraction(m.native, lower, upper, &is_skewed)
                        : classic_fraction(x->room, m.n_buckets, lower, upper);
    if (is_skewed)
        r = notes_info(&x->e->notes, x->at,
                       "input to histogram_fraction has NaN observations, which are excluded from "
                       "all fractions%s",
                       notes_for_name(labels_name(h->labels), of));
    return r == 0 ? set_result(x, h, 0, i, v) : r;
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
