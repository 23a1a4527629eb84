/* SPDX-License-Identifier: Apache-2.0 */
/*
 * promql/script_nhcb.c - load_with_nhcb: classic histograms also as histograms with custom buckets.
 *
 * Series of one name and labels (but le) belong together. At each moment that one of them has a
 * sample their values there make a histogram: bounds from le, counts from the differences.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "promql/script_private.h"
#include "series/number.h"

enum part_kind { PART_BUCKET, PART_COUNT, PART_SUM };

/* One classic series. */
struct part {
    enum part_kind kind;
    double le;
    struct labels base; /* without le, with the name of the histogram */
    const struct script_series *series;
};

static bool take_kind(struct span *name, enum part_kind *ret)
{
    static const struct {
        struct span suffix;
        enum part_kind kind;
    } kinds[] = {{SPAN_INIT("_bucket"), PART_BUCKET},
                 {SPAN_INIT("_count"), PART_COUNT},
                 {SPAN_INIT("_sum"), PART_SUM}};

    for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
        if (span_ends_with(*name, kinds[i].suffix)) {
            name->n -= kinds[i].suffix.n;
            *ret = kinds[i].kind;
            return true;
        }
    return false;
}

/* 1: it is a part of a histogram; 0: it is none. */
static int part_init(struct arena *a, const struct script_series *series, struct part *ret)
{
    struct part p = {.series = series};
    struct span name = labels_name(series->labels);
    int r;

    if (!take_kind(&name, &p.kind))
        return 0;
    if (p.kind == PART_BUCKET &&
        (number_parse(labels_get(series->labels, SPAN(LABEL_LE)), &p.le) != 0 || isnan(p.le)))
        return 0;
    r = labels_with(a, series->labels, SPAN(LABEL_LE), SPAN(""), &p.base);
    if (r == 0)
        r = labels_with(a, p.base, SPAN(LABEL_NAME), name, &p.base);
    if (r != 0)
        return r;
    *ret = p;
    return 1;
}

static int part_cmp(const void *a, const void *b)
{
    const struct part *x = a;
    const struct part *y = b;
    int c = labels_cmp(x->base, y->base);
    if (c == 0)
        c = (int)x->kind - (int)y->kind;
    return c != 0 ? c : (x->le > y->le) - (x->le < y->le);
}

/* A histogram while it is put together. */
struct gathered {
    struct fhist h;
    double below; /* cumulative count of the last bucket */
    bool has_any, has_count;
};

static bool part_has(const struct part *p, size_t i, double *ret)
{
    if (i >= p->series->n || p->series->values[i].is_omitted || p->series->values[i].h)
        return false;
    *ret = p->series->values[i].v;
    return true;
}

/* Parts come buckets first, in the order of le. */
static void gather_part(struct gathered *g, const struct part *p, double v, double *bounds)
{
    if (p->kind == PART_SUM)
        g->h.sum = v;
    if (p->kind == PART_COUNT) {
        g->h.count = v;
        g->has_count = true;
    }
    if (p->kind == PART_BUCKET) {
        g->h.positive.at[g->h.positive.n] =
            (struct fhist_bucket){(int32_t)g->h.positive.n, v - g->below};
        g->h.positive.n++;
        if (p->le != HUGE_VAL)
            bounds[g->h.n_custom++] = p->le;
        g->below = v;
    }
    g->has_any = true;
}

/* The histogram at the i-th moment; *ret_has false: no part has a sample there. */
static int gather(struct script *s, const struct part *parts, size_t n, size_t i, struct fhist *ret,
                  bool *ret_has)
{
    struct gathered g = {.h = {.schema = FHIST_CUSTOM}};
    double *bounds = arena_array(&s->arena, n, sizeof(*bounds));
    double v;

    g.h.positive.at = arena_array(&s->arena, n + 1, sizeof(*g.h.positive.at));
    if (!bounds || !g.h.positive.at)
        return -ENOMEM;
    for (size_t k = 0; k < n; k++)
        if (part_has(&parts[k], i, &v))
            gather_part(&g, &parts[k], v, bounds);
    if (!g.has_count)
        g.h.count = g.below;
    if (g.h.positive.n == g.h.n_custom) /* no bucket up to +Inf: it has the rest */
        g.h.positive.at[g.h.positive.n++] =
            (struct fhist_bucket){(int32_t)g.h.n_custom, g.h.count - g.below};
    for (size_t k = 0; k < g.h.positive.n; k++)
        if (g.h.positive.at[k].count < 0)
            return script_wrong(s, "counts of a classic histogram decrease with le");
    g.h.custom = bounds;
    *ret = g.h;
    *ret_has = g.has_any;
    return 0;
}

static int load_group(struct script *s, const struct part *parts, size_t n, int64_t step_ms)
{
    const struct fhist *last = NULL;
    size_t n_moments = 0;
    int r = 0;

    for (size_t k = 0; k < n; k++)
        n_moments = parts[k].series->n > n_moments ? parts[k].series->n : n_moments;
    for (size_t i = 0; i < n_moments && r == 0; i++) {
        struct fhist *h = arena_alloc(&s->arena, sizeof(*h));
        bool has = false;
        r = h ? gather(s, parts, n, i, h, &has) : -ENOMEM;
        if (r == 0 && has)
            r = script_append(s, parts[0].base, (int64_t)i * step_ms, 0, h, &last);
    }
    return r;
}

int script_load_nhcb(struct script *s, const struct script_series *series, int64_t step_ms)
{
    struct part *parts;
    size_t n = 0;
    int r = 0;

    for (const struct script_series *i = series; i; i = i->next)
        n++;
    parts = arena_array(&s->arena, n, sizeof(*parts));
    if (!parts)
        return -ENOMEM;
    n = 0;
    for (const struct script_series *i = series; i && r >= 0; i = i->next) {
        r = part_init(&s->arena, i, &parts[n]);
        n += r == 1 ? 1 : 0;
    }
    if (r < 0)
        return r;
    if (n > 0)
        qsort(parts, n, sizeof(*parts), part_cmp);
    r = 0;
    for (size_t from = 0, to; from < n && r == 0; from = to) {
        for (to = from + 1; to < n && labels_eq(parts[from].base, parts[to].base);)
            to++;
        r = load_group(s, &parts[from], to - from, step_ms);
    }
    return r;
}
