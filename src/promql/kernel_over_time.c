/* SPDX-License-Identifier: Apache-2.0 */
/*
 * promql/kernel_over_time.c - kernels that aggregate the samples of a window.
 *
 * Floats and histograms do not mix: sums and means of a window with both are not defined (a
 * warning), functions of floats leave the histograms out (an information).
 */
#include <errno.h>

#include "promql/fp.h"
#include "promql/range.h"

int kernel_count(struct range_call *c, const struct window *w, struct cell *ret)
{
    if (!c->is_summed) {
        ret->v = (double)(w->nf + w->nh);
        return 1;
    }
    ret->v = (double)w->nh;
    for (size_t i = 0; i < w->nf; i++)
        ret->v += w->fv[i];
    return 1;
}

int kernel_present(struct range_call *c, const struct window *w, struct cell *ret)
{
    (void)c;
    (void)w;
    ret->v = 1;
    return 1;
}

/* The sum of the window's histograms divided by divisor. */
static int sum_histograms(struct range_call *c, const struct window *w, double divisor,
                          struct cell *ret)
{
    struct fhist_sum *s;
    struct fhist *h = NULL;
    unsigned hints = 0, flags = 0;
    int r = fhist_sum_new(&c->scratch, &s);
    for (size_t i = 0; i < w->nh && r == 0; i++) {
        hints |= 1U << w->hh[i]->hint;
        r = fhist_sum_add(s, w->hh[i], &flags);
    }
    if (r < 0)
        return r;
    if (flags & FHIST_INCOMPATIBLE) {
        r = range_say(c, RANGE_SCHEMAS);
        return r < 0 ? r : 0;
    }
    if (flags & FHIST_CUSTOM_RECONCILED)
        r = range_say(c, RANGE_RECONCILED_AGG);
    if (r == 0 && (hints & (1U << FHIST_RESET)) && (hints & (1U << FHIST_NOT_RESET)))
        r = range_say(c, RANGE_HINTS);
    if (r == 0)
        r = fhist_sum_get(s, divisor, c->out, &h);
    ret->h = h;
    return r < 0 ? r : 1;
}

int kernel_sum(struct range_call *c, const struct window *w, struct cell *ret)
{
    struct fp_sum s = {0, 0};
    if (w->nf > 0 && w->nh > 0)
        return range_say(c, RANGE_MIXED);
    if (w->nh > 0)
        return sum_histograms(c, w, 1, ret);
    for (size_t i = 0; i < w->nf; i++)
        fp_add(&s, w->fv[i]);
    ret->v = isinf(s.sum) ? s.sum : s.sum + s.c;
    return 1;
}

int kernel_avg(struct range_call *c, const struct window *w, struct cell *ret)
{
    struct fp_mean m = {.n = 0};
    if (w->nf > 0 && w->nh > 0)
        return range_say(c, RANGE_MIXED);
    if (w->nh > 0)
        return sum_histograms(c, w, (double)w->nh, ret);
    for (size_t i = 0; i < w->nf; i++)
        fp_mean_add(&m, w->fv[i]);
    ret->v = fp_mean_get(&m);
    return 1;
}

/* Functions of floats alone: 1 when there are some, and histograms beside them were told of. */
static int floats_only(struct range_call *c, const struct window *w)
{
    if (w->nf == 0)
        return 0;
    int r = w->nh > 0 ? range_say(c, RANGE_IGNORED) : 0;
    return r < 0 ? r : 1;
}

/* Index of the extreme value; NaN only where there is nothing else. An equal one that is later wins
 * when is_last. */
static size_t extreme(const struct window *w, bool is_max, bool is_last)
{
    size_t best = 0;
    for (size_t i = 0; i < w->nf; i++) {
        double v = w->fv[i], b = w->fv[best];
        if (isnan(b) || (is_max ? v > b : v < b) || (is_last && v == b))
            best = i;
    }
    return best;
}

int kernel_max(struct range_call *c, const struct window *w, struct cell *ret)
{
    int r = floats_only(c, w);
    if (r > 0)
        ret->v = w->fv[extreme(w, true, false)];
    return r;
}

int kernel_min(struct range_call *c, const struct window *w, struct cell *ret)
{
    int r = floats_only(c, w);
    if (r > 0)
        ret->v = w->fv[extreme(w, false, false)];
    return r;
}

int kernel_ts_max(struct range_call *c, const struct window *w, struct cell *ret)
{
    int r = floats_only(c, w);
    if (r > 0)
        ret->v = (double)w->ft[extreme(w, true, true)] / 1000;
    return r;
}

int kernel_ts_min(struct range_call *c, const struct window *w, struct cell *ret)
{
    int r = floats_only(c, w);
    if (r > 0)
        ret->v = (double)w->ft[extreme(w, false, true)] / 1000;
    return r;
}

static int give_histogram(struct range_call *c, const struct fhist *h, struct cell *ret)
{
    struct fhist *copy;
    int r = fhist_copy(c->out, h, &copy);
    if (r < 0)
        return r;
    ret->h = copy;
    return 1;
}

int kernel_first(struct range_call *c, const struct window *w, struct cell *ret)
{
    if (w->nh > 0 && (w->nf == 0 || w->ht[0] <= w->ft[0]))
        return give_histogram(c, w->hh[0], ret);
    ret->v = w->fv[0];
    return 1;
}

int kernel_last(struct range_call *c, const struct window *w, struct cell *ret)
{
    if (w->nh > 0 && (w->nf == 0 || w->ht[w->nh - 1] >= w->ft[w->nf - 1]))
        return give_histogram(c, w->hh[w->nh - 1], ret);
    ret->v = w->fv[w->nf - 1];
    return 1;
}

int kernel_ts_first(struct range_call *c, const struct window *w, struct cell *ret)
{
    int64_t t = w->nf > 0 ? w->ft[0] : w->ht[0];
    (void)c;
    if (w->nh > 0 && w->ht[0] < t)
        t = w->ht[0];
    ret->v = (double)t / 1000;
    return 1;
}

int kernel_ts_last(struct range_call *c, const struct window *w, struct cell *ret)
{
    int64_t t = w->nf > 0 ? w->ft[w->nf - 1] : w->ht[w->nh - 1];
    (void)c;
    if (w->nh > 0 && w->ht[w->nh - 1] > t)
        t = w->ht[w->nh - 1];
    ret->v = (double)t / 1000;
    return 1;
}

/* Welford's method with compensated sums. */
static double variance(const struct window *w)
{
    struct fp_sum mean = {0, 0}, squares = {0, 0};
    double n = 0;
    for (size_t i = 0; i < w->nf; i++) {
        n++;
        double delta = w->fv[i] - (mean.sum + mean.c);
        fp_add(&mean, delta / n);
        fp_add(&squares, delta * (w->fv[i] - (mean.sum + mean.c)));
    }
    return (squares.sum + squares.c) / n;
}

int kernel_stdvar(struct range_call *c, const struct window *w, struct cell *ret)
{
    int r = floats_only(c, w);
    if (r > 0)
        ret->v = variance(w);
    return r;
}

int kernel_stddev(struct range_call *c, const struct window *w, struct cell *ret)
{
    int r = floats_only(c, w);
    if (r > 0)
        ret->v = sqrt(variance(w));
    return r;
}

int kernel_quantile(struct range_call *c, const struct window *w, struct cell *ret)
{
    double q = c->args[0][w->step];
    int r = floats_only(c, w);
    if (r <= 0)
        return r;
    if (!(c->said & RANGE_QUANTILE) && !(q >= 0 && q <= 1)) {
        c->said |= RANGE_QUANTILE;
        r = notes_quantile(&c->e->notes, c->at, q);
    }
    double *room = range_room(c, w->nf);
    if (!room || r < 0)
        return r < 0 ? r : -ENOMEM;
    memcpy(room, w->fv, w->nf * sizeof(*room));
    ret->v = fp_quantile(room, w->nf, q);
    return 1;
}

/* The median of the distances from the median. */
int kernel_mad(struct range_call *c, const struct window *w, struct cell *ret)
{
    int r = floats_only(c, w);
    if (r <= 0)
        return r;
    double *room = range_room(c, w->nf);
    if (!room)
        return -ENOMEM;
    for (size_t i = 0; i < w->nf; i++) {
        room[i] = w->fv[i];
        if (isnan(room[i])) {
            ret->v = (double)NAN;
            return 1;
        }
    }
    double median = fp_quantile(room, w->nf, 0.5);
    for (size_t i = 0; i < w->nf; i++)
        room[i] = fabs(room[i] - median);
    ret->v = fp_quantile(room, w->nf, 0.5);
    return 1;
}
