/* SPDX-License-Identifier: Apache-2.0 */
/*
 * series/fhist.c - native histograms: copied, compared, walked along their buckets.
 */
#include "series/fhist.h"

#include <errno.h>
#include <float.h>
#include <math.h>
#include <string.h>

static int side_copy(struct arena *a, const struct fhist_side *from, struct fhist_side *ret)
{
    struct fhist_bucket *at = arena_array(a, from->n, sizeof(*at));

    if (!at)
        return -ENOMEM;
    if (from->n > 0)
        memcpy(at, from->at, from->n * sizeof(*at));
    *ret = (struct fhist_side){at, from->n};
    return 0;
}

int fhist_copy(struct arena *a, const struct fhist *h, struct fhist **ret)
{
    struct fhist *copy = arena_alloc(a, sizeof(*copy));
    double *custom = arena_array(a, h->n_custom, sizeof(*custom));

    if (!copy || !custom)
        return -ENOMEM;
    *copy = *h;
    if (side_copy(a, &h->positive, &copy->positive) != 0 ||
        side_copy(a, &h->negative, &copy->negative) != 0)
        return -ENOMEM;
    if (h->n_custom > 0)
        memcpy(custom, h->custom, h->n_custom * sizeof(*custom));
    copy->custom = h->n_custom > 0 ? custom : NULL;
    *ret = copy;
    return 0;
}

static void side_compact(struct fhist_side *side)
{
    size_t n = 0;
    for (size_t i = 0; i < side->n; i++)
        if (side->at[i].count != 0)
            side->at[n++] = side->at[i];
    side->n = n;
}

void fhist_compact(struct fhist *h)
{
    side_compact(&h->positive);
    side_compact(&h->negative);
}

/* Of values, not bits: any NaN equals any NaN. */
static bool count_eq(double a, double b)
{
    return a == b || (isnan(a) && isnan(b));
}

/* Index of the next bucket that is not empty, from i on. */
static size_t side_skip(const struct fhist_side *side, size_t i)
{
    while (i < side->n && side->at[i].count == 0)
        i++;
    return i;
}

static bool side_eq(const struct fhist_side *a, const struct fhist_side *b)
{
    size_t i = 0;
    size_t j = 0;

    for (;; i++, j++) {
        i = side_skip(a, i);
        j = side_skip(b, j);
        if (i == a->n || j == b->n)
            return i == a->n && j == b->n;
        if (a->at[i].index != b->at[j].index || !count_eq(a->at[i].count, b->at[j].count))
            return false;
    }
}

bool fhist_eq(const struct fhist *a, const struct fhist *b)
{
    if (a->schema != b->schema || a->n_custom != b->n_custom || !count_eq(a->count, b->count) ||
        !count_eq(a->sum, b->sum) || !count_eq(a->zero_count, b->zero_count) ||
        a->zero_threshold != b->zero_threshold)
        return false;
    for (size_t i = 0; i < a->n_custom; i++)
        if (a->custom[i] != b->custom[i])
            return false;
    return side_eq(&a->positive, &b->positive) && side_eq(&a->negative, &b->negative);
}

/*
 * b^index with b = 2^(2^-schema). Schemas above 0: the fraction's power and the exponent apart, so
 * that powers of two are exact. The bucket that holds the largest double ends there; the one behind
 * it at +Inf.
 */
static double exponential_bound(int32_t schema, int32_t index)
{
    int64_t exponent;
    double fraction = 1;

    if (schema <= 0) {
        exponent = (int64_t)index * ((int64_t)1 << -schema);
    } else {
        int32_t mask = (1 << schema) - 1;
        exponent = index >> schema; /* rounds down, for negative ones as well */
        if ((index & mask) != 0)
            fraction = exp2((double)(index & mask) / (double)(mask + 1));
    }
    if (exponent == DBL_MAX_EXP && fraction == 1)
        return DBL_MAX;
    if (exponent >= DBL_MAX_EXP)
        return HUGE_VAL;
    return exponent < -2000 ? 0 : ldexp(fraction, (int)exponent);
}

static double custom_bound(const struct fhist *h, int32_t index)
{
    if (index < 0)
        return -HUGE_VAL;
    return (size_t)index < h->n_custom ? h->custom[index] : HUGE_VAL;
}

double fhist_upper(const struct fhist *h, int32_t index)
{
    return h->schema == FHIST_CUSTOM ? custom_bound(h, index) : exponential_bound(h->schema, index);
}

static double lower_of(const struct fhist *h, int32_t index)
{
    return index == INT32_MIN ? 0 : fhist_upper(h, index - 1);
}

enum walk_phase { WALK_NEGATIVE, WALK_ZERO, WALK_POSITIVE };

void fhist_walk_begin(struct fhist_walk *w, const struct fhist *h)
{
    *w = (struct fhist_walk){.h = h, ._at = h->negative.n, ._phase = WALK_NEGATIVE};
    if (h->schema == FHIST_CUSTOM)
        *w = (struct fhist_walk){.h = h, ._phase = WALK_POSITIVE};
}

/* A bucket that reaches into the zero bucket begins where that one ends. */
static double clear_of_zero(const struct fhist *h, double bound)
{
    return bound > 0 && bound < h->zero_threshold ? h->zero_threshold : bound;
}

static struct fhist_range negative_range(const struct fhist *h, const struct fhist_bucket *b)
{
    return (struct fhist_range){.lower = -fhist_upper(h, b->index),
                                .upper = -clear_of_zero(h, lower_of(h, b->index)),
                                .count = b->count,
                                .is_lower_inclusive = true};
}

static struct fhist_range positive_range(const struct fhist *h, const struct fhist_bucket *b)
{
    double lower = lower_of(h, b->index);
    return (struct fhist_range){.lower = clear_of_zero(h, lower),
                                .upper = fhist_upper(h, b->index),
                                .count = b->count,
                                .is_lower_inclusive = isinf(lower),
                                .is_upper_inclusive = true};
}

static struct fhist_range zero_range(const struct fhist *h)
{
    return (struct fhist_range){-h->zero_threshold, h->zero_threshold, h->zero_count, true, true};
}

bool fhist_walk_next(struct fhist_walk *w, struct fhist_range *ret)
{
    const struct fhist *h = w->h;

    if (w->_phase == WALK_NEGATIVE) {
        if (w->_at > 0) {
            *ret = negative_range(h, &h->negative.at[--w->_at]);
            return true;
        }
        w->_phase = WALK_ZERO;
    }
    if (w->_phase == WALK_ZERO) {
        w->_phase = WALK_POSITIVE;
        if (h->zero_count > 0) {
            *ret = zero_range(h);
            return true;
        }
    }
    if (w->_at == h->positive.n)
        return false;
    *ret = positive_range(h, &h->positive.at[w->_at++]);
    return true;
}

void fhist_walk_end(struct fhist_walk *w, const struct fhist *h)
{
    *w = (struct fhist_walk){.h = h, ._at = h->positive.n, ._phase = WALK_POSITIVE};
}

bool fhist_walk_prev(struct fhist_walk *w, struct fhist_range *ret)
{
    const struct fhist *h = w->h;

    if (w->_phase == WALK_POSITIVE) {
        if (w->_at > 0) {
            *ret = positive_range(h, &h->positive.at[--w->_at]);
            return true;
        }
        w->_phase = h->schema == FHIST_CUSTOM ? WALK_NEGATIVE : WALK_ZERO;
    }
    if (w->_phase == WALK_ZERO) {
        w->_phase = WALK_NEGATIVE;
        if (h->zero_count > 0) {
            *ret = zero_range(h);
            return true;
        }
    }
    if (w->_at == h->negative.n)
        return false;
    *ret = negative_range(h, &h->negative.at[w->_at++]);
    return true;
}
