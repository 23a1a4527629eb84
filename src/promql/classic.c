/* SPDX-License-Identifier: Apache-2.0 */
/*
 * promql/classic.c - see classic.h.
 */
#include "promql/classic.h"

#include <float.h>
#include <math.h>

/* Differences of counts that are only what rounding left. */
static const double tolerance = 1e-12;

static bool is_almost(double a, double b)
{
    double sum = fabs(a) + fabs(b), diff = fabs(a - b);
    if (isnan(a) && isnan(b))
        return true;
    if (a == 0 || b == 0 || sum < DBL_MIN)
        return diff < tolerance * DBL_MIN;
    return diff / fmin(sum, DBL_MAX) < tolerance;
}

/* Adds buckets of the same bound up. */
static size_t coalesce(struct classic_bucket *b, size_t n)
{
    size_t k = 0;
    for (size_t i = 1; i < n; i++) {
        if (b[i].upper == b[k].upper)
            b[k].count += b[i].count;
        else
            b[++k] = b[i];
    }
    return k + 1;
}

static void make_ascending(struct classic_bucket *b, size_t n, struct classic_fix *fix)
{
    double highest = b[0].count;
    for (size_t i = 1; i < n; i++) {
        double count = b[i].count;
        if (count == highest)
            continue;
        bool is_noise = is_almost(count, highest);
        if (!is_noise && !(count < highest)) {
            highest = count;
            continue;
        }
        b[i].count = highest;
        if (is_noise)
            continue;
        bool is_first = fix->n_fixed++ == 0;
        fix->min_upper = is_first ? b[i].upper : fmin(fix->min_upper, b[i].upper);
        fix->max_upper = is_first ? b[i].upper : fmax(fix->max_upper, b[i].upper);
        fix->max_diff = fmax(fix->max_diff, highest - count);
    }
}

/* The first bucket but the last one that holds the rank; n - 1: none. */
static size_t find_rank(const struct classic_bucket *b, size_t n, double rank)
{
    size_t low = 0, high = n - 1;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (b[middle].count >= rank)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

double classic_quantile(struct classic_bucket *b, size_t n, double q, struct classic_fix *fix)
{
    if (isnan(q))
        return (double)NAN;
    if (q < 0 || q > 1)
        return q < 0 ? -(double)INFINITY : (double)INFINITY;
    if (n == 0 || b[n - 1].upper != (double)INFINITY)
        return (double)NAN;
    n = coalesce(b, n);
    make_ascending(b, n, fix);
    if (n < 2 || b[n - 1].count == 0)
        return (double)NAN;
    double rank = q * b[n - 1].count;
    size_t i = find_rank(b, n, rank);
    if (i == n - 1)
        return b[n - 2].upper;
    if (i == 0 && b[0].upper <= 0)
        return b[0].upper;
    double lower = i > 0 ? b[i - 1].upper : 0, below = i > 0 ? b[i - 1].count : 0;
    return lower + (b[i].upper - lower) * ((rank - below) / (b[i].count - below));
}

/* How many observations are below v, which is in bucket i. */
static double rank_inside(const struct classic_bucket *b, size_t i, double lower, double v)
{
    double below = i > 0 ? b[i - 1].count : 0;
    if (lower == -(double)INFINITY)
        return b[i].count;
    return below + (b[i].count - below) * (v - lower) / (b[i].upper - lower);
}

/* How many observations are below v; all: no bucket is that high. */
static double rank_of(const struct classic_bucket *b, size_t n, double v)
{
    double total = b[n - 1].count;
    for (size_t i = 0; i < n; i++) {
        double lower = i > 0 ? b[i - 1].upper : b[0].upper <= 0 ? -(double)INFINITY : 0;
        double rank;
        if (lower >= v)
            rank = i > 0 ? b[i - 1].count : 0;
        else if (b[i].upper > v)
            rank = rank_inside(b, i, lower, v);
        else
            continue;
        return rank > total ? total : rank;
    }
    return total;
}

double classic_fraction(struct classic_bucket *b, size_t n, double lower, double upper)
{
    if (n == 0 || b[n - 1].upper != (double)INFINITY)
        return (double)NAN;
    n = coalesce(b, n);
    double total = b[n - 1].count;
    if (total == 0 || isnan(lower) || isnan(upper))
        return (double)NAN;
    if (lower >= upper)
        return 0;
    return (rank_of(b, n, upper) - rank_of(b, n, lower)) / total;
}
