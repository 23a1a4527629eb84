/* SPDX-License-Identifier: Apache-2.0 */
/*
 * promql/fp.h - arithmetic that many functions share: compensated sums, means, quantiles, and
 * minima that know NaN and signed zeros.
 *
 * Threading: pure.
 */
#ifndef PROMQL_FP_H
#define PROMQL_FP_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>

/* Neumaier's sum: the result is sum + c; once sum is infinite, c is 0. */
struct fp_sum {
    double sum, c;
};

static inline void fp_add(struct fp_sum *s, double v)
{
    double t = s->sum + v;
    double lost = fabs(s->sum) >= fabs(v) ? (s->sum - t) + v : (v - t) + s->sum;
    s->c = isinf(t) ? 0 : s->c + lost;
    s->sum = t;
}

/*
 * A mean: the sum by the count, and from where the sum would overflow an incremental mean.
 * Zeroed before the first value.
 */
struct fp_mean {
    struct fp_sum s; /* of values, or the mean itself */
    double n;
    bool is_incremental;
};
void fp_mean_add(struct fp_mean *m, double v);
double fp_mean_get(const struct fp_mean *m);

/* Sorts ascending, NaN first. */
void fp_sort(double *v, size_t n);
/* The q-quantile; sorts v. n == 0 or q NaN: NaN; q < 0: -Inf; q > 1: +Inf. */
double fp_quantile(double *v, size_t n, double q);

/* NaN if either is; +0 is greater than -0. */
static inline double fp_max(double a, double b)
{
    if (isnan(a) || isnan(b))
        return isinf(a) && a > 0 ? a : isinf(b) && b > 0 ? b : (double)NAN;
    if (a == b)
        return signbit(a) ? b : a;
    return a > b ? a : b;
}
static inline double fp_min(double a, double b)
{
    if (isnan(a) || isnan(b))
        return isinf(a) && a < 0 ? a : isinf(b) && b < 0 ? b : (double)NAN;
    if (a == b)
        return signbit(a) ? a : b;
    return a < b ? a : b;
}

#endif
