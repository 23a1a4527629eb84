/* SPDX-License-Identifier: Apache-2.0 */
/*
 * series/fhist_trim.c - the operators </ and >/: what a histogram has up to a bound, or above it.
 *
 * A bucket that the bound cuts keeps its part, by the interpolation that quantiles use. Count and
 * sum are estimated anew from the buckets that are left, unless nothing was taken.
 */
#include <errno.h>
#include <math.h>

#include "series/fhist.h"
#include "series/fhist_layout.h"

struct trim {
    double bound;
    bool is_upper, is_custom; /* is_upper: what is below the bound stays */
    bool has_changed;
    double count, sum; /* of what stays */
};

/* What a part of a bucket stays, and where its middle is. */
struct part {
    double count, middle;
};

static double finite_or_0(double v)
{
    return isinf(v) ? 0 : v;
}

static double middle_between(double lower, double upper, bool is_linear, bool is_negative)
{
    if (isinf(lower))
        return isinf(upper) ? 0 : upper > 0 ? upper / 2 : upper;
    if (isinf(upper))
        return lower;
    if (is_linear)
        return (lower + upper) / 2;
    double middle = sqrt(fabs(lower * upper));
    return is_negative ? -middle : middle;
}

/* A custom bucket from -Inf, with the bound inside: taken to begin at 0 when it ends above. */
static struct part cut_from_minus_inf(const struct trim *t, const struct fhist_range *b)
{
    double upper = b->upper;
    bool is_interpolated = upper > 0 && !isinf(upper);

    if (t->is_upper) {
        if (is_interpolated && t->bound > 0)
            return (struct part){b->count * t->bound / upper, t->bound / 2};
        if (upper <= 0)
            return (struct part){b->count, t->bound};
        return (struct part){0, finite_or_0(upper)};
    }
    if (is_interpolated && t->bound >= 0)
        return (struct part){b->count * (1 - t->bound / upper), (t->bound + upper) / 2};
    return (struct part){0, finite_or_0(upper)};
}

/* What stays of a bucket that has the bound inside. */
static struct part cut(const struct trim *t, const struct fhist_range *b, bool is_negative)
{
    if (b->lower == -HUGE_VAL)
        return cut_from_minus_inf(t, b);
    if (b->upper == HUGE_VAL) /* how far up its observations are is not known */
        return t->is_upper ? (struct part){0, finite_or_0(b->lower)}
                           : (struct part){b->count, t->bound};
    double below = b->count * fhist_part_below(b, t->bound, t->is_custom);
    if (t->is_upper)
        return (struct part){below, middle_between(b->lower, t->bound, t->is_custom, is_negative)};
    return (struct part){b->count - below,
                         middle_between(t->bound, b->upper, t->is_custom, is_negative)};
}

static struct part trim_bucket(const struct trim *t, const struct fhist_range *b, bool is_negative)
{
    bool is_whole = t->is_upper ? b->upper <= t->bound : b->lower >= t->bound;
    bool is_gone = t->is_upper ? b->lower >= t->bound : b->upper <= t->bound;

    if (is_whole)
        return (struct part){b->count,
                             middle_between(b->lower, b->upper, t->is_custom, is_negative)};
    return is_gone || isnan(t->bound) ? (struct part){0, 0} : cut(t, b, is_negative);
}

static void keep(struct trim *t, double *count, struct part part)
{
    t->has_changed |= part.count != *count;
    *count = part.count;
    t->count += part.count;
    t->sum += part.middle * part.count;
}

/* True: the side had something. */
static bool trim_side(struct trim *t, const struct fhist *h, struct fhist_side *side,
                      bool is_negative)
{
    bool has_any = false;

    for (size_t i = 0; i < side->n; i++) {
        struct fhist_bucket *b = &side->at[i];
        double outer = fhist_upper(h, b->index);
        double inner = fhist_upper(h, b->index - 1);
        struct fhist_range range = {.lower = is_negative ? -outer : inner,
                                    .upper = is_negative ? -inner : outer,
                                    .count = b->count};
        if (b->count == 0)
            continue;
        has_any = true;
        keep(t, &b->count, trim_bucket(t, &range, is_negative));
    }
    return has_any;
}

static struct part trim_zero(const struct trim *t, double count, double lower, double upper)
{
    bool is_whole = t->is_upper ? t->bound >= upper : t->bound <= lower;
    bool is_gone = t->is_upper ? t->bound <= lower : t->bound >= upper;
    double from = t->is_upper ? lower : t->bound;
    double to = t->is_upper ? t->bound : upper;

    /* In this order: of an empty one with the bound at it, </ keeps nothing and >/ all. */
    if (is_gone && (t->is_upper || !is_whole))
        return (struct part){0, 0};
    if (is_whole)
        return (struct part){count, (lower + upper) / 2};
    return (struct part){count * ((to - from) / (upper - lower)), (from + to) / 2};
}

int fhist_trim(struct arena *m, const struct fhist *h, double bound, bool is_upper,
               struct fhist **ret)
{
    struct trim t = {.bound = bound, .is_upper = is_upper, .is_custom = fhist_is_custom(h)};
    struct fhist *out;
    int r = fhist_copy(m, h, &out);

    if (r != 0)
        return r;
    bool has_positive = trim_side(&t, h, &out->positive, false);
    bool has_negative = trim_side(&t, h, &out->negative, true);
    if (h->zero_count > 0) {
        double lower = has_positive && !has_negative ? 0 : -h->zero_threshold;
        double upper = has_negative && !has_positive ? 0 : h->zero_threshold;
        keep(&t, &out->zero_count, trim_zero(&t, h->zero_count, lower, upper));
    }
    if (t.has_changed) {
        out->count = t.count;
        out->sum = t.sum;
        fhist_compact(out);
    }
    *ret = out;
    return 0;
}
