/* SPDX-License-Identifier: Apache-2.0 */
/*
 * series/fhist_quantile.c - quantiles, fractions and the variance of a histogram.
 *
 * Within an exponential bucket observations are taken to lie evenly on a logarithmic scale, within
 * custom buckets and the zero bucket evenly. Observations of NaN are in the count and in no bucket;
 * the sum is NaN then.
 */
#include <math.h>

#include "series/fhist.h"
#include "series/fhist_layout.h"

static bool side_is_empty(const struct fhist_side *side)
{
    for (size_t i = 0; i < side->n; i++)
        if (side->at[i].count != 0)
            return false;
    return true;
}

static bool has_zero(const struct fhist_range *b)
{
    return b->lower <= 0 && b->upper >= 0;
}

/* A bucket around zero ends there where the histogram has nothing on one side. */
static void clip_zero_bucket(const struct fhist *h, struct fhist_range *b)
{
    bool has_negative = !side_is_empty(&h->negative);
    bool has_positive = !side_is_empty(&h->positive);

    if (!has_zero(b))
        return;
    if (has_positive && !has_negative)
        b->lower = 0;
    else if (has_negative && !has_positive)
        b->upper = 0;
}

static double observed(const struct fhist *h)
{
    struct fhist_walk w;
    struct fhist_range b;
    double count = 0;

    fhist_walk_begin(&w, h);
    while (fhist_walk_next(&w, &b))
        count += b.count;
    return count;
}

double fhist_part_below(const struct fhist_range *b, double v, bool is_linear)
{
    if (is_linear)
        return (v - b->lower) / (b->upper - b->lower);
    double lower = log2(fabs(b->lower));
    double upper = log2(fabs(b->upper));
    double at = log2(fabs(v));
    return v > 0 ? (at - lower) / (upper - lower) : 1 - (at - upper) / (lower - upper);
}

/* The value a part (0 .. 1) of the way through a bucket. */
static double interpolate(const struct fhist_range *b, double part, bool is_linear)
{
    if (is_linear)
        return b->lower + (b->upper - b->lower) * part;
    double lower = log2(fabs(b->lower));
    double upper = log2(fabs(b->upper));
    if (b->lower > 0)
        return exp2(lower + (upper - lower) * part);
    return -exp2(upper + (lower - upper) * (1 - part));
}

/* Where the quantile falls: the bucket, and how many observations are up to its end, counted from
 * below. */
struct place {
    struct fhist_range bucket;
    double count;
};

static struct place find_from_below(const struct fhist *h, double rank)
{
    struct place p = {.count = 0};
    struct fhist_walk w;
    struct fhist_range b;

    fhist_walk_begin(&w, h);
    while (fhist_walk_next(&w, &b)) {
        p.bucket = b;
        p.count += b.count;
        if (b.count != 0 && p.count >= rank)
            break;
    }
    return p;
}

/* The same from the top, where fewer buckets have to be added up: rounding matters for p99.9. */
static struct place find_from_above(const struct fhist *h, double rank)
{
    struct place p = {.count = 0};
    struct fhist_walk w;
    struct fhist_range b;

    fhist_walk_end(&w, h);
    while (fhist_walk_prev(&w, &b)) {
        p.bucket = b;
        p.count += b.count;
        if (b.count != 0 && p.count >= rank)
            break;
    }
    return p;
}

/* The quantile in the place that was found. */
static double quantile_at(const struct fhist *h, struct place p, double rank, bool is_from_below,
                          bool *ret_is_nan_skewed)
{
    struct fhist_range *b = &p.bucket;
    double count = p.count > h->count ? h->count : p.count;
    double inside; /* observations of the bucket below the quantile */

    if (fhist_is_custom(h) && b->lower == -HUGE_VAL) {
        if (b->upper <= 0)
            return b->upper;
        b->lower = 0;
    } else if (fhist_is_custom(h) && b->upper == HUGE_VAL) {
        return b->lower;
    }
    *ret_is_nan_skewed = isnan(h->sum) && observed(h) < h->count;
    if (!fhist_is_custom(h))
        clip_zero_bucket(h, b);
    if (count < rank)
        return isnan(h->sum) ? (double)NAN : b->upper;
    inside = is_from_below ? rank - (count - b->count) : count - rank;
    return interpolate(b, inside / b->count, fhist_is_custom(h) || has_zero(b));
}

double fhist_quantile(const struct fhist *h, double q, bool *ret_is_nan_skewed)
{
    bool is_from_below = isnan(h->sum) || q < 0.5;
    double rank = (is_from_below ? q : 1 - q) * h->count;
    struct place p;
    bool ignored;

    if (!ret_is_nan_skewed)
        ret_is_nan_skewed = &ignored;
    *ret_is_nan_skewed = false;
    if (q < 0)
        return -HUGE_VAL;
    if (q > 1)
        return HUGE_VAL;
    if (h->count == 0 || isnan(q))
        return (double)NAN;
    p = is_from_below ? find_from_below(h, rank) : find_from_above(h, rank);
    return quantile_at(h, p, rank, is_from_below, ret_is_nan_skewed);
}

/* How many observations are below v; behind the last bucket: HUGE_VAL. */
static double rank_of(const struct fhist *h, double v)
{
    struct fhist_walk w;
    struct fhist_range b;
    double rank = 0;

    fhist_walk_begin(&w, h);
    while (fhist_walk_next(&w, &b)) {
        bool is_linear = fhist_is_custom(h) || has_zero(&b);
        clip_zero_bucket(h, &b);
        if (b.lower >= v)
            return rank;
        if (b.upper > v)
            return b.lower == -HUGE_VAL ? b.count
                                        : rank + b.count * fhist_part_below(&b, v, is_linear);
        rank += b.count;
    }
    return HUGE_VAL;
}

double fhist_fraction(const struct fhist *h, double lower, double upper, bool *ret_is_nan_skewed)
{
    double count = h->count;

    if (ret_is_nan_skewed)
        *ret_is_nan_skewed = false;
    if (h->count == 0 || isnan(lower) || isnan(upper))
        return (double)NAN;
    if (lower >= upper)
        return 0;
    if (isnan(h->sum)) {
        count = observed(h);
        if (ret_is_nan_skewed)
            *ret_is_nan_skewed = count < h->count;
    }
    return (fmin(rank_of(h, upper), count) - fmin(rank_of(h, lower), count)) / h->count;
}

/* What an observation of a bucket is taken to be. */
static double middle_of(const struct fhist_range *b, bool is_custom)
{
    if (is_custom)
        return (b->upper + b->lower) / 2;
    if (has_zero(b))
        return 0;
    return copysign(sqrt(b->upper * b->lower), b->upper);
}

double fhist_variance(const struct fhist *h)
{
    double mean = h->sum / h->count;
    struct fhist_walk w;
    struct fhist_range b;
    double sum = 0;

    fhist_walk_begin(&w, h);
    while (fhist_walk_next(&w, &b)) {
        double delta = middle_of(&b, fhist_is_custom(h)) - mean;
        if (b.count != 0)
            sum += b.count * delta * delta;
    }
    return sum / h->count;
}
