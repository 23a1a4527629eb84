/* SPDX-License-Identifier: Apache-2.0 */
/*
 * series/fhist_math.c - histograms added, subtracted, scaled; counter resets.
 */
#include <errno.h>

#include "base/check.h"
#include "series/fhist.h"
#include "series/fhist_layout.h"

/* a + sign * b, where both are mapped to one layout. */
static int side_combine(struct arena *m, struct fhist_mapped *a, struct fhist_mapped *b,
                        double sign, struct fhist_side *ret)
{
    struct fhist_side out = {.at = arena_array(m, a->side->n + b->side->n, sizeof(*out.at))};
    struct fhist_bucket left;
    struct fhist_bucket right;

    if (!out.at)
        return -ENOMEM;
    bool has_left = fhist_mapped_next(a, &left);
    bool has_right = fhist_mapped_next(b, &right);
    while (has_left || has_right) {
        bool takes_left = has_left && (!has_right || left.index <= right.index);
        bool takes_right = has_right && (!has_left || right.index <= left.index);
        struct fhist_bucket *to = &out.at[out.n++];
        *to = (struct fhist_bucket){takes_left ? left.index : right.index,
                                    (takes_left ? left.count : 0) +
                                        (takes_right ? sign * right.count : 0)};
        if (takes_left)
            has_left = fhist_mapped_next(a, &left);
        if (takes_right)
            has_right = fhist_mapped_next(b, &right);
    }
    *ret = out;
    return 0;
}

static int sides_combine(struct arena *m, const struct fhist *a, const struct fhist *b, double sign,
                         const struct fhist_layout *to, struct fhist *out)
{
    struct fhist_mapped left;
    struct fhist_mapped right;
    int r;

    fhist_mapped_begin(&left, a, &a->positive, to);
    fhist_mapped_begin(&right, b, &b->positive, to);
    r = side_combine(m, &left, &right, sign, &out->positive);
    if (r != 0 || fhist_is_custom(a))
        return r;
    fhist_mapped_begin(&left, a, &a->negative, to);
    fhist_mapped_begin(&right, b, &b->negative, to);
    return side_combine(m, &left, &right, sign, &out->negative);
}

static int combine(struct arena *m, const struct fhist *a, const struct fhist *b, double sign,
                   struct fhist **ret, unsigned *ret_flags)
{
    unsigned flags = 0;
    struct fhist_layout to;
    double zero_a;
    double zero_b;
    struct fhist *out;
    int r;

    if (fhist_is_custom(a) != fhist_is_custom(b)) {
        *ret = NULL;
        *ret_flags = FHIST_INCOMPATIBLE;
        return 0;
    }
    r = fhist_layout_join(m, a, b, &to, &zero_a, &zero_b);
    out = arena_alloc(m, sizeof(*out));
    if (r != 0 || !out || fhist_own_bounds(m, &to) != 0)
        return -ENOMEM;
    if (fhist_is_custom(a) && (to.n_custom != a->n_custom || to.n_custom != b->n_custom))
        flags |= FHIST_CUSTOM_RECONCILED;
    *out = (struct fhist){.schema = to.schema,
                          .hint = fhist_join_hints(a->hint, b->hint, &flags),
                          .zero_threshold = to.zero_threshold,
                          .zero_count = zero_a + sign * zero_b,
                          .count = a->count + sign * b->count,
                          .sum = a->sum + sign * b->sum,
                          .custom = to.custom,
                          .n_custom = to.n_custom};
    r = sides_combine(m, a, b, sign, &to, out);
    if (r != 0)
        return r;
    *ret = out;
    *ret_flags = flags;
    return 0;
}

int fhist_add(struct arena *m, const struct fhist *a, const struct fhist *b, struct fhist **ret,
              unsigned *ret_flags)
{
    return combine(m, a, b, 1, ret, ret_flags);
}

int fhist_sub(struct arena *m, const struct fhist *a, const struct fhist *b, struct fhist **ret,
              unsigned *ret_flags)
{
    int r = combine(m, a, b, -1, ret, ret_flags);
    if (r == 0 && *ret)
        (*ret)->hint = FHIST_GAUGE;
    return r;
}

/* A product and a quotient round differently: 1 / 3 is not 1 * (1 / 3). */
static double scaled(double v, double factor, bool is_quotient)
{
    return is_quotient ? v / factor : v * factor;
}

static void side_scale(struct fhist_side *side, double factor, bool is_quotient)
{
    for (size_t i = 0; i < side->n; i++)
        side->at[i].count = scaled(side->at[i].count, factor, is_quotient);
}

static int scale(struct arena *m, const struct fhist *h, double factor, bool is_quotient,
                 struct fhist **ret)
{
    struct fhist *out;
    int r = fhist_copy(m, h, &out);

    if (r != 0)
        return r;
    out->zero_count = scaled(h->zero_count, factor, is_quotient);
    out->count = scaled(h->count, factor, is_quotient);
    out->sum = scaled(h->sum, factor, is_quotient);
    if (is_quotient && factor == 0) {
        out->positive.n = 0;
        out->negative.n = 0;
    }
    side_scale(&out->positive, factor, is_quotient);
    side_scale(&out->negative, factor, is_quotient);
    if (factor < 0)
        out->hint = FHIST_GAUGE;
    *ret = out;
    return 0;
}

int fhist_scale(struct arena *m, const struct fhist *h, double factor, struct fhist **ret)
{
    return scale(m, h, factor, false, ret);
}

int fhist_divide(struct arena *m, const struct fhist *h, double by, struct fhist **ret)
{
    return scale(m, h, by, true, ret);
}

static int side_map(struct arena *m, const struct fhist *h, const struct fhist_side *side,
                    const struct fhist_layout *to, struct fhist_side *ret)
{
    struct fhist_side out = {.at = arena_array(m, side->n, sizeof(*out.at))};
    struct fhist_mapped mapped;

    if (!out.at)
        return -ENOMEM;
    fhist_mapped_begin(&mapped, h, side, to);
    while (fhist_mapped_next(&mapped, &out.at[out.n]))
        out.n++;
    *ret = out;
    return 0;
}

int fhist_reduce(struct arena *m, const struct fhist *h, int32_t schema, struct fhist **ret)
{
    struct fhist_layout to = fhist_layout_of(h);
    struct fhist *out;

    if (NEVER(fhist_is_custom(h) || schema > h->schema || schema < FHIST_SCHEMA_MIN))
        return -EINVAL;
    to.schema = schema;
    out = arena_alloc(m, sizeof(*out));
    if (!out)
        return -ENOMEM;
    *out = *h;
    out->schema = schema;
    if (side_map(m, h, &h->positive, &to, &out->positive) != 0 ||
        side_map(m, h, &h->negative, &to, &out->negative) != 0)
        return -ENOMEM;
    *ret = out;
    return 0;
}

/* Whether a bucket that had something has less now. */
static bool side_has_shrunk(struct fhist_mapped *now, struct fhist_mapped *before)
{
    struct fhist_bucket b;
    struct fhist_bucket a = {0, 0};
    bool has_now = fhist_mapped_next(now, &a);

    while (fhist_mapped_next(before, &b)) {
        while (has_now && a.index < b.index)
            has_now = fhist_mapped_next(now, &a);
        if (has_now && a.index == b.index ? a.count < b.count : b.count != 0)
            return true;
    }
    return false;
}

/* The same where both have one layout, as nearly always: nothing has to be mapped. */
static bool plain_side_has_shrunk(const struct fhist_side *now, const struct fhist_side *before)
{
    size_t k = 0;
    for (size_t i = 0; i < before->n; i++) {
        const struct fhist_bucket *b = &before->at[i];
        while (k < now->n && now->at[k].index < b->index)
            k++;
        bool is_there = k < now->n && now->at[k].index == b->index;
        if (is_there ? now->at[k].count < b->count : b->count != 0)
            return true;
    }
    return false;
}

/* The count up to a bound, from *at on. */
static double count_up_to(const struct fhist *h, size_t *at, double bound)
{
    double count = 0;
    while (*at < h->positive.n && fhist_upper(h, h->positive.at[*at].index) <= bound)
        count += h->positive.at[(*at)++].count;
    return count;
}

/* Custom bounds that differ: compared between those bounds that both have, and +Inf. */
static bool custom_has_shrunk(const struct fhist *h, const struct fhist *before)
{
    size_t i = 0;
    size_t j = 0;
    size_t at = 0;
    size_t at_before = 0;

    while (i <= h->n_custom && j <= before->n_custom) {
        double bound = fhist_upper(h, (int32_t)i);
        double bound_before = fhist_upper(before, (int32_t)j);
        if (bound == bound_before &&
            count_up_to(h, &at, bound) < count_up_to(before, &at_before, bound))
            return true;
        i += bound <= bound_before ? 1 : 0;
        j += bound >= bound_before ? 1 : 0;
    }
    return false;
}

static bool is_same_layout(const struct fhist *a, const struct fhist *b)
{
    struct fhist_layout x = fhist_layout_of(a);
    struct fhist_layout y = fhist_layout_of(b);
    return fhist_layout_eq(&x, &y);
}

bool fhist_is_reset(const struct fhist *h, const struct fhist *before)
{
    struct fhist_layout to = fhist_layout_of(h);
    struct fhist_mapped now;
    struct fhist_mapped then;
    double threshold = h->zero_threshold;

    if (h->hint == FHIST_RESET || h->hint == FHIST_NOT_RESET)
        return h->hint == FHIST_RESET;
    if (h->count < before->count || fhist_is_custom(h) != fhist_is_custom(before))
        return true;
    if (fhist_is_custom(h) && !is_same_layout(h, before))
        return custom_has_shrunk(h, before);
    if (h->schema > before->schema || h->zero_threshold < before->zero_threshold)
        return true;
    if (h->zero_count < fhist_widen_zero(before, &threshold) || threshold != h->zero_threshold)
        return true;
    if (is_same_layout(h, before))
        return plain_side_has_shrunk(&h->positive, &before->positive) ||
               plain_side_has_shrunk(&h->negative, &before->negative);
    fhist_mapped_begin(&now, h, &h->positive, &to);
    fhist_mapped_begin(&then, before, &before->positive, &to);
    if (side_has_shrunk(&now, &then))
        return true;
    fhist_mapped_begin(&now, h, &h->negative, &to);
    fhist_mapped_begin(&then, before, &before->negative, &to);
    return side_has_shrunk(&now, &then);
}
