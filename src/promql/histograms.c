/* SPDX-License-Identifier: Apache-2.0 */
/*
 * promql/histograms.c - see histograms.h.
 *
 * Classic ones: series that differ in le only are put together and sorted by bound once; each step
 * then only gathers counts. Where a series has both kinds of histogram at a step, neither counts.
 */
#include "promql/histograms.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "base/num.h"
#include "series/number.h"

static int histogram_get(struct histograms *x, struct labels l, struct histogram **ret)
{
    size_t id;
    bool is_new;
    int r = label_index_get(&x->index, l, &id, &is_new);
    if (r < 0)
        return r;
    if (is_new) {
        struct histogram *all = arena_grow(x->work, x->all, x->n, 1, &x->cap, sizeof(*all));
        if (!all)
            return -ENOMEM;
        x->all = all;
        x->all[x->n++] = (struct histogram){.labels = l};
    }
    *ret = &x->all[id];
    return 0;
}

static int bucket_add(struct histograms *x, struct histogram *h, double upper,
                      const struct column *c)
{
    struct bucket_series *b = arena_grow(x->work, h->buckets, h->n, 1, &h->cap, sizeof(*b));
    if (!b)
        return -ENOMEM;
    h->buckets = b;
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

int histograms_init(struct histograms *x, struct eval *e, const struct node *arg,
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

int histograms_look(struct histograms *x, struct histogram *h, size_t i,
                    struct histogram_moment *ret)
{
    char of[NOTES_NAME_MAX];
    *ret = (struct histogram_moment){.native = h->native ? column_h(h->native, i) : NULL};
    for (size_t k = 0; k < h->n; k++) {
        const struct column *c = h->buckets[k].column;
        if (c->has[i] && !column_h(c, i))
            x->room[ret->n_buckets++] = (struct classic_bucket){h->buckets[k].upper, c->v[i]};
    }
    if (!ret->native || ret->n_buckets == 0)
        return 0;
    *ret = (struct histogram_moment){.native = NULL};
    if (!notes_first(&h->said, 1))
        return 0;
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
        dst[n++] = '.';
        dst[n++] = '0';
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

int histograms_set(struct histograms *x, struct histogram *h, double q, size_t i, double v)
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
