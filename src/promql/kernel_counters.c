/* SPDX-License-Identifier: Apache-2.0 */
/*
 * promql/kernel_counters.c - kernels that compare neighbours: irate, idelta, resets, changes.
 */
#include "promql/fp.h"
#include "promql/range.h"

/* Floats and histograms of a window in the order of their times. */
struct merged {
    const struct window *w;
    size_t f, h;
};
struct sample {
    int64_t t;
    double v;
    const struct fhist *h;
};

static bool merged_next(struct merged *m, struct sample *ret)
{
    const struct window *w = m->w;
    if (m->f < w->nf && (m->h == w->nh || w->ft[m->f] < w->ht[m->h])) {
        *ret = (struct sample){w->ft[m->f], w->fv[m->f], NULL};
        m->f++;
        return true;
    }
    if (m->h == w->nh)
        return false;
    *ret = (struct sample){w->ht[m->h], 0, w->hh[m->h]};
    m->h++;
    return true;
}

/* The sample that is the last one before f floats and h histograms of the window. */
static bool merged_before(const struct window *w, size_t *f, size_t *h, struct sample *ret)
{
    if (*f > 0 && (*h == 0 || w->ft[*f - 1] > w->ht[*h - 1])) {
        --*f;
        *ret = (struct sample){w->ft[*f], w->fv[*f], NULL};
        return true;
    }
    if (*h == 0)
        return false;
    --*h;
    *ret = (struct sample){w->ht[*h], 0, w->hh[*h]};
    return true;
}

static int histogram_step(struct range_call *c, const struct sample *a, const struct sample *b,
                          bool is_rate, struct cell *ret)
{
    struct fhist *d;
    unsigned flags = 0;
    int r = 0;
    bool is_gauge = a->h->hint == FHIST_GAUGE && b->h->hint == FHIST_GAUGE;
    if (is_rate && (a->h->hint == FHIST_GAUGE || b->h->hint == FHIST_GAUGE))
        r = range_say(c, RANGE_NOT_COUNTER);
    else if (!is_rate && !is_gauge)
        r = range_say(c, RANGE_NOT_GAUGE);
    if (r < 0)
        return r;
    if (is_rate && fhist_is_reset(b->h, a->h))
        r = fhist_copy(&c->scratch, b->h, &d);
    else
        r = fhist_sub(&c->scratch, b->h, a->h, &d, &flags);
    if (r == 0 && (flags & FHIST_INCOMPATIBLE)) {
        r = range_say(c, RANGE_SCHEMAS);
        return r < 0 ? r : 0;
    }
    if (r == 0 && (flags & FHIST_CUSTOM_RECONCILED))
        r = range_say(c, RANGE_RECONCILED_SUB);
    if (r < 0)
        return r;
    struct fhist *out;
    r = is_rate ? fhist_divide(c->out, d, (double)(b->t - a->t) / 1000, &out)
                : fhist_copy(c->out, d, &out);
    if (r < 0)
        return r;
    fhist_compact(out);
    out->hint = FHIST_GAUGE;
    ret->h = out;
    return 1;
}

static int last_step(struct range_call *c, const struct window *w, bool is_rate, struct cell *ret)
{
    struct sample a, b;
    size_t f = w->nf, h = w->nh;
    if (!merged_before(w, &f, &h, &b) || !merged_before(w, &f, &h, &a) || a.t == b.t)
        return 0;
    if (!a.h != !b.h)
        return range_say(c, RANGE_MIXED);
    if (a.h && b.h)
        return histogram_step(c, &a, &b, is_rate, ret);
    ret->v = is_rate && b.v < a.v ? b.v : b.v - a.v;
    if (is_rate)
        ret->v /= (double)(b.t - a.t) / 1000;
    return 1;
}

int kernel_irate(struct range_call *c, const struct window *w, struct cell *ret)
{
    return last_step(c, w, true, ret);
}

int kernel_idelta(struct range_call *c, const struct window *w, struct cell *ret)
{
    return last_step(c, w, false, ret);
}

static bool is_reset(const struct sample *a, const struct sample *b)
{
    if (!a->h != !b->h)
        return true;
    return a->h ? fhist_is_reset(b->h, a->h) : b->v < a->v;
}

static bool is_change(const struct sample *a, const struct sample *b)
{
    if (!a->h != !b->h)
        return true;
    if (a->h)
        return !fhist_eq(a->h, b->h);
    return a->v != b->v && !(isnan(a->v) && isnan(b->v));
}

static int count_pairs(const struct window *w,
                       bool (*counts)(const struct sample *a, const struct sample *b),
                       struct cell *ret)
{
    struct merged m = {.w = w};
    struct sample a, b;
    bool has = merged_next(&m, &a);
    while (has && merged_next(&m, &b)) {
        ret->v += counts(&a, &b);
        a = b;
    }
    return 1;
}

int kernel_resets(struct range_call *c, const struct window *w, struct cell *ret)
{
    (void)c;
    return count_pairs(w, is_reset, ret);
}

int kernel_changes(struct range_call *c, const struct window *w, struct cell *ret)
{
    (void)c;
    return count_pairs(w, is_change, ret);
}
