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

struct samples {
    struct signal_sample *at;
    size_t n, cap;
    struct arena *a;
};

static int add(struct samples *s, const struct signal_value *v, const char *tail, const char *le,
               double value)
{
    char text[ENGINE_NAME_MAX];
    struct label *pairs;
    struct signal_sample *at;
    size_t n = 0;

    if (isnan(value))
        return 0;
    pairs = arena_array(s->a, v->labels.n + 2, sizeof *pairs);
    at = arena_grow(s->a, s->at, s->n, 1, &s->cap, sizeof *at);
    if (!pairs || !at)
        return -ENOMEM;
    s->at = at;
    (void)snprintf(text, sizeof text, "%s%s", signal_table[v->from->signal].series, tail);
    pairs[n++] = (struct label){SPAN(LABEL_NAME), arena_dup(s->a, span_cstr(text))};
    pairs[n++] = (struct label){SPAN(LABEL_LE), arena_dup(s->a, span_cstr(le))};
    if (!pairs[0].value.p || !pairs[1].value.p)
        return -ENOMEM;
    for (size_t i = 0; i < v->labels.n; i++)
        pairs[n++] = v->labels.at[i];
    at[s->n] = (struct signal_sample){.v = value, .from = v->from};
    int r = labels_normalise(pairs, n, &at[s->n].labels, NULL);
    s->n += r == 0;
    return r;
}

static int add_sums(struct samples *s, const struct signal_value *v)
{
    int r = add(s, v, "_sum", "", v->sum);

    return r < 0 ? r : add(s, v, "_count", "", v->count);
}

static int add_hist(struct samples *s, const struct signal_value *v)
{
    struct signal_value whole = *v;
    int r = 0;

    for (size_t i = 0; i < v->n_buckets && r == 0; i++) {
        char le[32];

        (void)num_format_double(v->buckets[i].le, le);
        r = add(s, v, "_bucket", le, v->buckets[i].n);
    }
    if (isnan(v->count) && v->n_buckets > 0)
        whole.count = v->buckets[v->n_buckets - 1].n;
    return r < 0 ? r : add_sums(s, &whole);
}

static int add_value(struct samples *s, const struct signal_value *v)
{
    switch (v->shape) {
    case SIGNAL_HISTOGRAM:
        return add_hist(s, v);
    case SIGNAL_SUMS:
        return add_sums(s, v);
    case SIGNAL_MEAN:
        return add(s, v, "_mean", "", v->v);
    case SIGNAL_PLAIN:
        break;
    }
    return add(s, v, "", "", v->v);
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

    for (size_t i = 0; i < n && r == 0; i++)
        r = add_value(&s, &values[i]);
    if (r < 0)
        return r;
    if (s.n > 0)
        qsort(s.at, s.n, sizeof *s.at, sample_cmp);
    *ret = s.at;
    *ret_n = s.n;
    return 0;
}
