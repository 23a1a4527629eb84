/* SPDX-License-Identifier: Apache-2.0 */
/*
 * series/fhist_sum.c - sums of many histograms, compensated.
 *
 * Each count has beside it what rounding lost so far (Neumaier's form of Kahan's sum). Histograms
 * of one layout, which is nearly always so, are added in place: the buckets are there after the
 * first few.
 *
 * A mean of values near the largest double exists where their sum does not. So from a large value
 * on everything is kept divided by a power of two, which loses nothing; only the sum itself is then
 * infinite.
 */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "series/fhist.h"
#include "series/fhist_layout.h"

/* Beyond LARGE values are kept divided by 2^SHIFT. */
#define LARGE 0x1p900
enum { SHIFT = 256 };

struct kahan {
    double v, lost;
};

struct sum_bucket {
    int32_t index;
    struct kahan count;
};

struct sum_side {
    struct sum_bucket *at, *spare; /* spare: the other half of a merge */
    size_t n, cap;
};

struct fhist_sum {
    struct arena *arena;
    bool has_any, is_shifted;
    bool has_reset, has_not_reset; /* hints seen */
    enum fhist_hint hint;
    struct fhist_layout layout;
    struct kahan zero, count, sum;
    struct sum_side positive, negative;
};

static void kahan_add(struct kahan *k, double v)
{
    double t = k->v + v;

    if (isinf(t))
        k->lost = 0;
    else if (fabs(k->v) >= fabs(v))
        k->lost += (k->v - t) + v;
    else
        k->lost += (v - t) + k->v;
    k->v = t;
}

static void kahan_join(struct kahan *k, const struct kahan *other)
{
    kahan_add(k, other->v);
    kahan_add(k, other->lost);
}

static void kahan_shift(struct kahan *k)
{
    k->v = ldexp(k->v, -SHIFT);
    k->lost = ldexp(k->lost, -SHIFT);
}

int fhist_sum_new(struct arena *m, struct fhist_sum **ret)
{
    struct fhist_sum *s = arena_zalloc(m, 1, sizeof(*s));

    if (!s)
        return -ENOMEM;
    s->arena = m;
    *ret = s;
    return 0;
}

void fhist_sum_clear(struct fhist_sum *s)
{
    struct sum_side positive = s->positive;
    struct sum_side negative = s->negative;

    positive.n = 0;
    negative.n = 0;
    *s = (struct fhist_sum){.arena = s->arena, .positive = positive, .negative = negative};
}

/* The accumulator as a histogram without what was lost: as far as layouts go. at: room. */
static void side_view(const struct sum_side *side, struct fhist_bucket *at, struct fhist_side *ret)
{
    for (size_t i = 0; i < side->n; i++)
        at[i] = (struct fhist_bucket){side->at[i].index, side->at[i].count.v};
    *ret = (struct fhist_side){at, side->n};
}

static int sum_view(const struct fhist_sum *s, struct fhist *ret)
{
    struct fhist_bucket *at = arena_array(s->arena, s->positive.n + s->negative.n, sizeof(*at));

    if (!at)
        return -ENOMEM;
    *ret = (struct fhist){.schema = s->layout.schema,
                          .zero_threshold = s->layout.zero_threshold,
                          .zero_count = s->zero.v,
                          .custom = s->layout.custom,
                          .n_custom = s->layout.n_custom};
    side_view(&s->positive, at, &ret->positive);
    side_view(&s->negative, at + s->positive.n, &ret->negative);
    return 0;
}

/* Moves the buckets of a side to where they fall in a coarser layout; what the zero bucket takes
 * goes there. view: the side before. */
static void side_relayout(struct fhist_sum *s, struct sum_side *side, const struct fhist *view,
                          const struct fhist_side *view_side, const struct fhist_layout *to)
{
    struct fhist_mapped m;
    size_t n = 0;
    size_t i;
    int32_t index;

    fhist_mapped_begin(&m, view, view_side, to);
    for (i = 0; i < m.at; i++)
        kahan_join(&s->zero, &side->at[i].count);
    while (fhist_mapped_peek(&m, &index)) {
        struct sum_bucket *b = &side->at[m.at];
        if (n > 0 && side->at[n - 1].index == index)
            kahan_join(&side->at[n - 1].count, &b->count);
        else
            side->at[n++] = (struct sum_bucket){index, b->count};
        m.at++;
    }
    side->n = n;
}

/* Brings the accumulator to a layout that h can be brought to as well. */
static int sum_relayout(struct fhist_sum *s, const struct fhist *h, double *ret_zero,
                        unsigned *flags)
{
    struct fhist view;
    struct fhist_layout to = {0};
    double zero;
    int r = sum_view(s, &view);

    if (r == 0)
        r = fhist_layout_join(s->arena, &view, h, &to, &zero, ret_zero);
    if (r != 0)
        return r;
    if (fhist_is_custom(h) && (to.n_custom != h->n_custom || to.n_custom != view.n_custom))
        *flags |= FHIST_CUSTOM_RECONCILED;
    side_relayout(s, &s->positive, &view, &view.positive, &to);
    side_relayout(s, &s->negative, &view, &view.negative, &to);
    s->layout = to;
    return 0;
}

static int side_reserve(struct fhist_sum *s, struct sum_side *side, size_t n)
{
    size_t cap = side->cap > 0 ? side->cap : 16;
    struct sum_bucket *at;
    struct sum_bucket *spare;

    if (n <= side->cap)
        return 0;
    while (cap < n)
        cap *= 2;
    at = arena_array(s->arena, cap, sizeof(*at));
    spare = arena_array(s->arena, cap, sizeof(*spare));
    if (!at || !spare)
        return -ENOMEM;
    if (side->n > 0)
        memcpy(at, side->at, side->n * sizeof(*at));
    side->at = at;
    side->spare = spare;
    side->cap = cap;
    return 0;
}

/* Adds what has its bucket already; returns how many have not. */
static size_t side_add_known(struct sum_side *side, struct fhist_mapped from, double factor)
{
    struct fhist_bucket b;
    size_t n_new = 0;
    size_t i = 0;

    while (fhist_mapped_next(&from, &b)) {
        while (i < side->n && side->at[i].index < b.index)
            i++;
        if (i < side->n && side->at[i].index == b.index)
            kahan_add(&side->at[i].count, factor * b.count);
        else
            n_new++;
    }
    return n_new;
}

/* Puts those in that were not there. */
static void side_insert_new(struct sum_side *side, struct fhist_mapped from, double factor)
{
    struct fhist_bucket b;
    struct sum_bucket *old = side->at;
    struct sum_bucket *out = side->spare;
    size_t n = 0;
    size_t i = 0;

    while (fhist_mapped_next(&from, &b)) {
        while (i < side->n && old[i].index < b.index)
            out[n++] = old[i++];
        if (i == side->n || old[i].index != b.index)
            out[n++] = (struct sum_bucket){b.index, {factor * b.count, 0}};
    }
    while (i < side->n)
        out[n++] = old[i++];
    side->at = out;
    side->spare = old;
    side->n = n;
}

static int side_add(struct fhist_sum *s, struct sum_side *side, const struct fhist *h,
                    const struct fhist_side *from, double factor)
{
    struct fhist_mapped m;
    int r;

    fhist_mapped_begin(&m, h, from, &s->layout);
    r = side_reserve(s, side, side->n + from->n);
    if (r == 0 && side_add_known(side, m, factor) > 0)
        side_insert_new(side, m, factor);
    return r;
}

static void side_shift(struct sum_side *side)
{
    for (size_t i = 0; i < side->n; i++)
        kahan_shift(&side->at[i].count);
}

/* Buckets are not looked at: no count is larger than the count of all. */
static double factor_for(struct fhist_sum *s, const struct fhist *h)
{
    if (!s->is_shifted && (fabs(h->count) > LARGE || fabs(h->sum) > LARGE ||
                           fabs(s->count.v) > LARGE || fabs(s->sum.v) > LARGE)) {
        s->is_shifted = true;
        kahan_shift(&s->zero);
        kahan_shift(&s->count);
        kahan_shift(&s->sum);
        side_shift(&s->positive);
        side_shift(&s->negative);
    }
    return s->is_shifted ? ldexp(1, -SHIFT) : 1;
}

static void join_hints(struct fhist_sum *s, const struct fhist *h, unsigned *flags)
{
    unsigned ignored = 0;

    s->has_reset |= h->hint == FHIST_RESET;
    s->has_not_reset |= h->hint == FHIST_NOT_RESET;
    if (s->has_reset && s->has_not_reset)
        *flags |= FHIST_HINTS_COLLIDE;
    s->hint = s->has_any ? fhist_join_hints(s->hint, h->hint, &ignored) : h->hint;
}

/* The first one's layout, with bounds of our own. */
static int take_layout(struct fhist_sum *s, const struct fhist_layout *from)
{
    s->layout = *from;
    return fhist_own_bounds(s->arena, &s->layout);
}

int fhist_sum_add(struct fhist_sum *s, const struct fhist *h, unsigned *flags)
{
    struct fhist_layout of_h = fhist_layout_of(h);
    double zero = h->zero_count;
    double factor;
    int r = 0;

    if (s->has_any && (s->layout.schema == FHIST_CUSTOM) != fhist_is_custom(h)) {
        *flags |= FHIST_INCOMPATIBLE;
        return 0;
    }
    if (!s->has_any)
        r = take_layout(s, &of_h);
    else if (!fhist_layout_eq(&s->layout, &of_h))
        r = sum_relayout(s, h, &zero, flags);
    if (r != 0)
        return r;
    factor = factor_for(s, h);
    r = side_add(s, &s->positive, h, &h->positive, factor);
    if (r == 0)
        r = side_add(s, &s->negative, h, &h->negative, factor);
    if (r != 0)
        return r;
    kahan_add(&s->zero, factor * zero);
    kahan_add(&s->count, factor * h->count);
    kahan_add(&s->sum, factor * h->sum);
    join_hints(s, h, flags);
    s->has_any = true;
    return 0;
}

/* The value, or its part of divisor. Divided before it is shifted back: a mean may fit where a sum
 * does not. */
static double kahan_get(const struct fhist_sum *s, const struct kahan *k, double divisor)
{
    double v = divisor == 1 ? k->v + k->lost : k->v / divisor + k->lost / divisor;
    return s->is_shifted ? ldexp(v, SHIFT) : v;
}

static int side_get(const struct fhist_sum *s, const struct sum_side *side, double divisor,
                    struct arena *m, struct fhist_side *ret)
{
    struct fhist_bucket *at = arena_array(m, side->n, sizeof(*at));

    if (!at)
        return -ENOMEM;
    for (size_t i = 0; i < side->n; i++)
        at[i] = (struct fhist_bucket){side->at[i].index, kahan_get(s, &side->at[i].count, divisor)};
    *ret = (struct fhist_side){at, side->n};
    return 0;
}

int fhist_sum_get(const struct fhist_sum *s, double divisor, struct arena *m, struct fhist **ret)
{
    struct fhist_layout layout = s->layout;
    struct fhist *out;

    if (!s->has_any) {
        *ret = NULL;
        return 0;
    }
    out = arena_alloc(m, sizeof(*out));
    if (!out || fhist_own_bounds(m, &layout) != 0)
        return -ENOMEM;
    *out = (struct fhist){.schema = layout.schema,
                          .hint = s->hint,
                          .zero_threshold = layout.zero_threshold,
                          .zero_count = kahan_get(s, &s->zero, divisor),
                          .count = kahan_get(s, &s->count, divisor),
                          .sum = kahan_get(s, &s->sum, divisor),
                          .custom = layout.custom,
                          .n_custom = layout.n_custom};
    if (side_get(s, &s->positive, divisor, m, &out->positive) != 0 ||
        side_get(s, &s->negative, divisor, m, &out->negative) != 0)
        return -ENOMEM;
    *ret = out;
    return 0;
}
