/* SPDX-License-Identifier: Apache-2.0 */
/*
 * promql/select.c - see select.h.
 *
 * A series is read once, for all steps, and only one at a time is in memory. Series are sorted by
 * their labels, so that results (sums of floats, the first k) do not depend on how a store lists
 * them.
 */
#include "promql/select.h"

#include <errno.h>
#include <stdlib.h>

#include "promql/column.h"

static int compare_series(const void *a, const void *b)
{
    return labels_cmp(((const struct series_ref *)a)->labels,
                      ((const struct series_ref *)b)->labels);
}

static int find_series(struct selection *s, struct arena *a)
{
    const struct grid *g = s->grid;
    struct series_select what = {.matchers = s->node->selector.matchers,
                                 .n_matchers = s->node->selector.n_matchers};
    int64_t first = moment_at(&s->moment, g, 0), last = moment_at(&s->moment, g, g->n - 1);
    s->from_ms = first - s->reach.widest_ms + (s->reach.is_closed ? 0 : 1);
    s->to_ms = last;
    what.from_ms = s->from_ms;
    what.to_ms = s->to_ms;
    int r = s->e->reader->ops->select(s->e->reader, &what, a, &s->series, &s->n);
    if (r < 0 || s->n < 2)
        return r;
    qsort(s->series, s->n, sizeof(*s->series), compare_series);
    return eval_work(s->e, s->n);
}

int selection_init(struct selection *s, struct eval *e, const struct node *n, const struct grid *g,
                   enum series_aspect aspect, struct arena *a)
{
    int64_t back_ms = e->options->lookback_ms;
    *s = (struct selection){.e = e, .node = n, .grid = g};
    samples_init(&s->samples, e->budget);
    if (n->selector.is_anchored || n->selector.is_smoothed)
        return eval_fail(e, -EINVAL, n, "%s selectors are not supported",
                         n->selector.is_anchored ? "anchored" : "smoothed");
    int r = moment_init(e, &n->selector.when, &s->moment);
    if (r == 0 && n->selector.range) {
        r = time_duration_ms(e, n->selector.range, false, &s->range_ms);
        back_ms = s->range_ms;
    }
    if (r == 0)
        r = reach_init(e, n, g, &s->moment, back_ms, a, &s->reach);
    if (r == 0 && s->reach.is_sparse)
        s->aspect = aspect;
    if (r == 0 && g->n > 0)
        r = find_series(s, a);
    return r;
}

/* Tells of resets where nobody told; pieces are shared with the histogram without a hint. */
static int add_hints(struct samples *x)
{
    for (size_t i = x->n; i-- > 1;) {
        const struct fhist *h = x->h[i], *before = x->h[i - 1];
        struct fhist *copy;
        if (!h || !before || h->hint != FHIST_UNKNOWN)
            continue;
        copy = arena_alloc(&x->arena, sizeof(*copy));
        if (!copy)
            return -ENOMEM;
        *copy = *h;
        copy->hint = fhist_is_reset(h, before) ? FHIST_RESET : FHIST_NOT_RESET;
        x->h[i] = copy;
    }
    return 0;
}

int selection_read(struct selection *s, size_t i)
{
    struct reader *reader = s->e->reader;
    samples_clear(&s->samples);
    int r =
        reader->ops->samples(reader, s->series[i].id, s->from_ms, s->to_ms, s->aspect, &s->samples);
    if (r == 0 && s->samples.h && s->e->n_counting > 0 && s->e->n_looking == 0)
        r = add_hints(&s->samples);
    return r < 0 ? r : eval_count_samples(s->e, s->samples.n);
}

void selection_done(struct selection *s)
{
    samples_done(&s->samples);
}

/* Copies of the samples' histograms, which are void when the next series is read. */
struct kept {
    struct arena *a;
    size_t i;
    struct fhist *h;
};

static int keep(struct kept *k, const struct samples *s, size_t i, const struct fhist **ret)
{
    *ret = NULL;
    if (!s->h || !s->h[i])
        return 0;
    if (!k->h || k->i != i) {
        int r = fhist_copy(k->a, s->h[i], &k->h);
        if (r < 0)
            return r;
        k->i = i;
    }
    *ret = k->h;
    return 0;
}

static int fill(const struct selection *s, struct arena *a, bool wants_time, struct column *c)
{
    const struct samples *x = &s->samples;
    struct kept kept = {.a = a};
    size_t n = 0; /* samples up to the moment */
    for (size_t i = 0; i < s->grid->n; i++) {
        int64_t at = moment_at(&s->moment, s->grid, i);
        const struct fhist *h = NULL;
        int r = 0;
        while (n < x->n && x->t[n] <= at)
            n++;
        int64_t oldest = at - reach_back(&s->reach, i) + (s->reach.is_closed ? 0 : 1);
        if (n == 0 || x->t[n - 1] < oldest || series_is_stale(x->v[n - 1]))
            continue;
        double v = wants_time ? (double)x->t[n - 1] / 1000 : x->v[n - 1];
        if (!wants_time)
            r = keep(&kept, x, n - 1, &h);
        if (r == 0)
            r = column_set(a, s->grid->n, c, i, v, h);
        if (r < 0)
            return r;
    }
    return 0;
}

int select_each(struct eval *e, const struct node *n, const struct grid *g, const struct sink *to)
{
    struct selection s;
    struct arena labels, cells;
    arena_init(&labels, e->budget);
    arena_init(&cells, e->budget);
    int r = selection_init(&s, e, n, g, SERIES_LAST, &labels);
    for (size_t i = 0; i < s.n && r == 0; i++) {
        struct column c;
        arena_reset(&cells);
        r = selection_read(&s, i);
        if (r == 0)
            r = column_new(&cells, g->n, &c);
        if (r != 0)
            break;
        c.labels = s.series[i].labels;
        r = fill(&s, &cells, false, &c);
        if (r == 0 && !column_is_empty(&c, g->n))
            r = to->put(to->ctx, &c);
    }
    selection_done(&s);
    arena_done(&cells);
    arena_done(&labels);
    return r;
}

static int select_all(struct eval *e, const struct node *n, const struct grid *g, bool wants_time,
                      struct arena *a, struct value *ret)
{
    struct columns list = columns_of(e, a, g->n);
    struct selection s;
    struct column c = {.v = NULL};
    int r = selection_init(&s, e, n, g, SERIES_LAST, a);
    for (size_t i = 0; i < s.n && r == 0; i++) {
        r = selection_read(&s, i);
        if (r == 0 && !c.v)
            r = column_new(a, g->n, &c);
        if (r != 0)
            break;
        c.labels = s.series[i].labels;
        c.drops_name = wants_time;
        r = fill(&s, a, wants_time, &c);
        if (r < 0 || column_is_empty(&c, g->n))
            continue; /* and the next one takes its room */
        r = columns_push(&list, &c);
        c = (struct column){.v = NULL};
    }
    selection_done(&s);
    columns_give(&list, g, ret);
    return r;
}

int select_instant(struct eval *e, const struct node *n, const struct grid *g, struct arena *a,
                   struct value *ret)
{
    return select_all(e, n, g, false, a, ret);
}

int select_timestamps(struct eval *e, const struct node *n, const struct grid *g, struct arena *a,
                      struct value *ret)
{
    return select_all(e, n, g, true, a, ret);
}
