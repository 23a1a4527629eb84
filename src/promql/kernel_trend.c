/* SPDX-License-Identifier: Apache-2.0 */
/*
 * promql/kernel_trend.c - kernels that follow a trend: deriv, predict_linear and
 * double_exponential_smoothing. Histograms are left out.
 */
#include <errno.h>

#include "promql/fp.h"
#include "promql/range.h"

struct line {
    double slope, intercept;
};

/* Least squares; the intercept is at at_ms. */
static struct line regression(const struct window *w, int64_t at_ms)
{
    struct fp_sum x = {0, 0}, y = {0, 0}, xy = {0, 0}, xx = {0, 0};
    bool is_constant = true;
    double n = (double)w->nf;
    for (size_t i = 0; i < w->nf; i++) {
        double dx = (double)(w->ft[i] - at_ms) / 1000;
        is_constant &= w->fv[i] == w->fv[0] || i == 0;
        fp_add(&x, dx);
        fp_add(&y, w->fv[i]);
        fp_add(&xy, dx * w->fv[i]);
        fp_add(&xx, dx * dx);
    }
    if (is_constant)
        return isinf(w->fv[0]) ? (struct line){(double)NAN, (double)NAN}
                               : (struct line){0, w->fv[0]};
    double sx = x.sum + x.c, sy = y.sum + y.c;
    double covariance = xy.sum + xy.c - sx * sy / n;
    double variance = xx.sum + xx.c - sx * sx / n;
    double slope = covariance / variance;
    return (struct line){slope, sy / n - slope * sx / n};
}

/* 1: two floats or more. */
static int has_trend(struct range_call *c, const struct window *w)
{
    int r = w->nf > 0 && w->nh > 0 ? range_say(c, RANGE_IGNORED) : 0;
    return r < 0 ? r : w->nf >= 2;
}

int kernel_deriv(struct range_call *c, const struct window *w, struct cell *ret)
{
    int r = has_trend(c, w);
    if (r > 0)
        ret->v = regression(w, w->ft[0]).slope;
    return r;
}

int kernel_predict_linear(struct range_call *c, const struct window *w, struct cell *ret)
{
    int r = has_trend(c, w);
    if (r <= 0)
        return r;
    struct line l = regression(w, w->at_ms);
    ret->v = l.slope * c->args[0][w->step] + l.intercept;
    return 1;
}

int kernel_smoothing(struct range_call *c, const struct window *w, struct cell *ret)
{
    double level_factor = c->args[0][w->step], trend_factor = c->args[1][w->step];
    if (level_factor <= 0 || level_factor >= 1)
        return eval_fail(c->e, -EINVAL, NULL,
                         "invalid smoothing factor. Expected: 0 < sf < 1, got: %f", level_factor);
    if (trend_factor <= 0 || trend_factor >= 1)
        return eval_fail(c->e, -EINVAL, NULL, "invalid trend factor. Expected: 0 < tf < 1, got: %f",
                         trend_factor);
    int r = has_trend(c, w);
    if (r <= 0)
        return r;
    double before = 0, level = w->fv[0], trend = w->fv[1] - w->fv[0];
    for (size_t i = 1; i < w->nf; i++) {
        if (i > 1)
            trend = trend_factor * (level - before) + (1 - trend_factor) * trend;
        before = level;
        level = level_factor * w->fv[i] + (1 - level_factor) * (level + trend);
    }
    ret->v = level;
    return 1;
}
