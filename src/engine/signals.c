/* SPDX-License-Identifier: Apache-2.0 */
/*
 * engine/signals.c - all signals of a page, as values and as samples of series.
 */
#include "engine/signals.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/num.h"
#include "engine/engine_private.h"

/* --- values --- */

/* What one source of a page says: sorted by labels. */
struct run {
    const struct signal_found *from;
    size_t first, n;
};

static int labels_of_cmp(const void *pa, const void *pb)
{
    const struct signal_value *a = pa, *b = pb;

    return labels_cmp(a->labels, b->labels);
}

/* The first engine of a page that says something about labels is the one that counts. */
static bool is_said(const struct signal_value *all, const struct run *runs, size_t n,
                    const struct signal_value *v)
{
    for (size_t i = 0; i < n; i++)
        if (runs[i].from->signal == v->from->signal && runs[i].from->engine != v->from->engine &&
            runs[i].n > 0 && bsearch(v, all + runs[i].first, runs[i].n, sizeof *all, labels_of_cmp))
            return true;
    return false;
}

int engine_values(const struct families *f, const struct engine_page *page, struct arena *a,
                  struct signal_value **ret, size_t *ret_n)
{
    struct run *runs = arena_array(a, page->n_signals, sizeof *runs);
    struct signal_value *all = NULL;
    size_t n = 0, cap = 0;

    if (!runs)
        return -ENOMEM;
    for (size_t i = 0; i < page->n_signals; i++) {
        struct signal_value *at;
        size_t n_at;
        bool is_odd;
        int r = values_read(f, &page->signals[i], a, &at, &n_at, &is_odd);

        if (r < 0)
            return r;
        all = arena_grow(a, all, n, n_at + 1, &cap, sizeof *all);
        if (!all)
            return -ENOMEM;
        runs[i] = (struct run){&page->signals[i], n, 0};
        for (size_t k = 0; k < n_at; k++)
            if (!is_said(all, runs, i, &at[k]))
                all[n++] = at[k];
        runs[i].n = n - runs[i].first;
    }
    *ret = all;
    *ret_n = n;
    return 0;
}

/* --- samples --- */

static const char tail_bucket[] = "_bucket", tail_sum[] = "_sum", tail_count[] = "_count",
                  tail_mean[] = "_mean", tail_none[] = "";

static int visit_one(const char *tail, double le, double v, signal_visit visit, void *ctx)
{
    return isnan(v) ? 0 : visit(ctx, tail, le, v);
}

static int visit_sums(double sum, double count, signal_visit visit, void *ctx)
{
    int r = visit_one(tail_sum, 0, sum, visit, ctx);

    return r < 0 ? r : visit_one(tail_count, 0, count, visit, ctx);
}

static int visit_hist(const struct signal_value *v, signal_visit visit, void *ctx)
{
    double count = v->count;
    int r = 0;

    for (size_t i = 0; i < v->n_buckets && r == 0; i++)
        r = visit_one(tail_bucket, v->buckets[i].le, v->buckets[i].n, visit, ctx);
    if (isnan(count) && v->n_buckets > 0)
        count = v->buckets[v->n_buckets - 1].n;
    return r < 0 ? r : visit_sums(v->sum, count, visit, ctx);
}

int signal_value_each(const struct signal_value *v, signal_visit visit, void *ctx)
{
    switch (v->shape) {
    case SIGNAL_HISTOGRAM:
        return visit_hist(v, visit, ctx);
    case SIGNAL_SUMS:
        return visit_sums(v->sum, v->count, visit, ctx);
    case SIGNAL_MEAN:
        return visit_one(tail_mean, 0, v->v, visit, ctx);
    case SIGNAL_PLAIN:
        break;
    }
    return visit_one(tail_none, 0, v->v, visit, ctx);
}

int signal_sample_labels(const struct signal_value *v, const char *tail, double le, struct arena *a,
                         struct labels *ret)
{
    struct label *pairs = arena_array(a, v->labels.n + 2, sizeof *pairs);
    char text[ENGINE_NAME_MAX], bound[32] = "";
    size_t n = 0;

    if (!pairs)
        return -ENOMEM;
    (void)snprintf(text, sizeof text, "%s%s", signal_table[v->from->signal].series, tail);
    if (tail == tail_bucket)
        (void)num_format_double(le, bound);
    pairs[n++] = (struct label){SPAN(LABEL_NAME), arena_dup(a, span_cstr(text))};
    pairs[n++] = (struct label){SPAN(LABEL_LE), arena_dup(a, span_cstr(bound))};
    if (!pairs[0].value.p || !pairs[1].value.p)
        return -ENOMEM;
    for (size_t i = 0; i < v->labels.n; i++)
        pairs[n++] = v->labels.at[i];
    return labels_normalise(pairs, n, ret, NULL);
}

struct samples {
    struct signal_sample *at;
    size_t n, cap;
    struct arena *a;
    const struct signal_value *of;
};

static int add(void *ctx, const char *tail, double le, double v)
{
    struct samples *s = ctx;
    struct signal_sample *at = arena_grow(s->a, s->at, s->n, 1, &s->cap, sizeof *at);

    if (!at)
        return -ENOMEM;
    s->at = at;
    at[s->n] = (struct signal_sample){.v = v, .from = s->of->from};
    int r = signal_sample_labels(s->of, tail, le, s->a, &at[s->n].labels);
    s->n += r == 0;
    return r;
}

static int sample_cmp(const void *pa, const void *pb)
{
    const struct signal_sample *a = pa, *b = pb;

    if (a->from->signal != b->from->signal)
        return a->from->signal < b->from->signal ? -1 : 1;
    return labels_cmp(a->labels, b->labels);
}

int engine_signals(const struct families *f, const struct engine_page *page, struct arena *a,
                   struct signal_sample **ret, size_t *ret_n)
{
    struct samples s = {.a = a};
    struct signal_value *values = NULL;
    size_t n = 0;
    int r = engine_values(f, page, a, &values, &n);

    for (size_t i = 0; i < n && r == 0; i++) {
        s.of = &values[i];
        r = signal_value_each(s.of, add, &s);
    }
    if (r < 0)
        return r;
    if (s.n > 0)
        qsort(s.at, s.n, sizeof *s.at, sample_cmp);
    *ret = s.at;
    *ret_n = s.n;
    return 0;
}
