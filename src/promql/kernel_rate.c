/* SPDX-License-Identifier: Apache-2.0 */
/*
 * promql/kernel_rate.c - rate, increase, delta: the difference over a window, extrapolated to its
 * ends.
 *
 * Extrapolation: as Prometheus does it. Where a sample would be due but for less than 1.1 of the
 * mean distance, the series is taken to go on to the end of the window; else for half a distance.
 * Where old samples are summaries, it is their distance that counts at the beginning.
 * A counter is not extrapolated to below zero.
 * Speed: the difference needs the first and the last sample and the resets between them only, which
 * are looked for once per series.
 */
#include <errno.h>

#include "promql/fp.h"
#include "promql/range.h"

enum mode { MODE_RATE, MODE_INCREASE, MODE_DELTA };

static double float_difference(struct range_call *c, const struct window *w, enum mode mode)
{
    const struct range_series *s = c->series;
    double d = w->fv[w->nf - 1] - w->fv[0];
    if (mode == MODE_DELTA)
        return d;
    while (c->next_reset > 0 && s->resets[c->next_reset - 1] > w->from)
        c->next_reset--;
    while (c->next_reset < s->n_resets && s->resets[c->next_reset] <= w->from)
        c->next_reset++;
    for (size_t i = c->next_reset; i < s->n_resets && s->resets[i] < w->from + w->nf; i++)
        d += s->fv[s->resets[i] - 1];
    return d;
}

/* What the difference is multiplied with. zero_s: how long before the first sample a counter was
 * zero; INFINITY: not known. */
static double factor(const struct window *w, const int64_t *t, size_t n, double zero_s,
                     enum mode mode)
{
    double to_start = (double)(t[0] - w->start_ms) / 1000;
    double to_end = (double)(w->end_ms - t[n - 1]) / 1000;
    double sampled = (double)(t[n - 1] - t[0]) / 1000;
    double apart = sampled / (double)(n - 1);
    double apart_at_start = fmax(apart, (double)w->apart_ms / 1000);
    double f = 1;
    if (to_start >= apart_at_start * 1.1)
        to_start = apart_at_start / 2;
    if (zero_s < to_start)
        to_start = zero_s;
    if (to_end >= apart * 1.1)
        to_end = apart / 2;
    if (sampled != 0)
        f = (sampled + to_start + to_end) / sampled;
    int64_t wide_ms = w->end_ms - w->start_ms;
    if (mode == MODE_RATE)
        return f / ((double)wide_ms / 1000);
    return wide_ms == w->asked_ms ? f : f * ((double)w->asked_ms / (double)wide_ms);
}

static double zero_point(const struct window *w, const int64_t *t, size_t n, double first,
                         double difference)
{
    (void)w;
    if (!(difference > 0) || !(first >= 0))
        return (double)INFINITY;
    return (double)(t[n - 1] - t[0]) / 1000 * (first / difference);
}

/* Tells what hints and layouts of the window say against the function; 0: it cannot be done. */
static int check_histograms(struct range_call *c, const struct window *w, enum mode mode)
{
    const struct fhist *first = w->hh[0], *last = w->hh[w->nh - 1];
    int r = 0;
    if (mode == MODE_DELTA)
        return first->hint != FHIST_GAUGE || last->hint != FHIST_GAUGE
                   ? range_say(c, RANGE_NOT_GAUGE)
                   : 0;
    for (size_t i = 0; i < w->nh && r == 0; i++)
        if (w->hh[i]->hint == FHIST_GAUGE)
            r = range_say(c, RANGE_NOT_COUNTER);
    return r;
}

static bool is_custom(const struct fhist *h)
{
    return h->schema == FHIST_CUSTOM;
}

/* Whether all that counts is of one kind. From which on: the first sample does not count when the
 * second one is a reset. */
static bool is_compatible(const struct window *w, size_t from, enum mode mode)
{
    bool custom = is_custom(w->hh[from]);
    if (is_custom(w->hh[w->nh - 1]) != custom)
        return false;
    for (size_t i = from; i < w->nh && mode != MODE_DELTA; i++)
        if (is_custom(w->hh[i]) != custom)
            return false;
    return true;
}

/* *sum becomes *sum + h, or - h. */
static int combine(struct range_call *c, struct fhist **sum, const struct fhist *h, bool is_sub)
{
    struct fhist *next = NULL;
    unsigned flags = 0;
    int r = (is_sub ? fhist_sub : fhist_add)(&c->scratch, *sum, h, &next, &flags);
    if (r < 0)
        return r;
    if (flags & FHIST_INCOMPATIBLE) {
        r = range_say(c, RANGE_SCHEMAS);
        return r < 0 ? r : 0;
    }
    *sum = next;
    if (flags & FHIST_CUSTOM_RECONCILED)
        r = range_say(c, is_sub ? RANGE_RECONCILED_SUB : RANGE_RECONCILED_ADD);
    return r < 0 ? r : 1;
}

static int32_t lowest_schema(const struct window *w, size_t from, enum mode mode)
{
    int32_t lowest = w->hh[w->nh - 1]->schema;
    if (w->hh[from]->schema < lowest)
        lowest = w->hh[from]->schema;
    for (size_t i = from + 1; i < w->nh && mode != MODE_DELTA; i++)
        if (w->hh[i]->schema < lowest)
            lowest = w->hh[i]->schema;
    return lowest;
}

/* The difference with resets made good; 1, or 0 when there is none. */
static int histogram_difference(struct range_call *c, const struct window *w, enum mode mode,
                                struct fhist **ret)
{
    bool is_first_void = mode != MODE_DELTA && c->series->h_resets[w->h_from + 1];
    size_t from = is_first_void ? 1 : 0;
    int r = check_histograms(c, w, mode);
    if (r < 0)
        return r;
    if (!is_compatible(w, from, mode)) {
        r = range_say(c, RANGE_SCHEMAS);
        return r < 0 ? r : 0;
    }
    if (is_custom(w->hh[from]))
        r = fhist_copy(&c->scratch, w->hh[w->nh - 1], ret);
    else
        r = fhist_reduce(&c->scratch, w->hh[w->nh - 1], lowest_schema(w, from, mode), ret);
    if (r < 0)
        return r;
    r = 1;
    if (!is_first_void)
        r = combine(c, ret, w->hh[0], true);
    for (size_t i = from + 1; i < w->nh && mode != MODE_DELTA && r > 0; i++)
        if (c->series->h_resets[w->h_from + i])
            r = combine(c, ret, w->hh[i - 1], false);
    return r;
}

static int histograms(struct range_call *c, const struct window *w, enum mode mode,
                      struct cell *ret)
{
    struct fhist *d = NULL, *out;
    double zero_s = (double)INFINITY;
    if (w->nh < 2)
        return 0;
    int r = histogram_difference(c, w, mode, &d);
    if (r <= 0)
        return r;
    if (mode != MODE_DELTA)
        zero_s = zero_point(w, w->ht, w->nh, w->hh[0]->count, d->count);
    r = fhist_scale(c->out, d, factor(w, w->ht, w->nh, zero_s, mode), &out);
    if (r < 0)
        return r;
    fhist_compact(out);
    out->hint = FHIST_GAUGE;
    ret->h = out;
    return 1;
}

static int extrapolate(struct range_call *c, const struct window *w, enum mode mode,
                       struct cell *ret)
{
    double zero_s = (double)INFINITY;
    if (w->nh > 0)
        return w->nf > 0 ? range_say(c, RANGE_MIXED) : histograms(c, w, mode, ret);
    if (w->nf < 2)
        return 0;
    double d = float_difference(c, w, mode);
    if (mode != MODE_DELTA)
        zero_s = zero_point(w, w->ft, w->nf, w->fv[0], d);
    ret->v = d * factor(w, w->ft, w->nf, zero_s, mode);
    return 1;
}

int kernel_rate(struct range_call *c, const struct window *w, struct cell *ret)
{
    return extrapolate(c, w, MODE_RATE, ret);
}

int kernel_increase(struct range_call *c, const struct window *w, struct cell *ret)
{
    return extrapolate(c, w, MODE_INCREASE, ret);
}

int kernel_delta(struct range_call *c, const struct window *w, struct cell *ret)
{
    return extrapolate(c, w, MODE_DELTA, ret);
}
