/* SPDX-License-Identifier: Apache-2.0 */
/*
 * series/fhist_layout.c - layouts joined, and what falls where.
 *
 * Buckets are mapped one by one while they are read, so that nothing is copied for it. Those that
 * the wider zero bucket takes are left out at the finer schema: at the coarser one a bucket may
 * reach out of it, and would be counted twice.
 */
#include "series/fhist_layout.h"

#include <errno.h>
#include <math.h>
#include <string.h>

bool fhist_is_custom(const struct fhist *h)
{
    return h->schema == FHIST_CUSTOM;
}

static bool is_ascending(const double *bounds, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!isfinite(bounds[i]) || (i > 0 && bounds[i] <= bounds[i - 1]))
            return false;
    return true;
}

bool fhist_is_valid(const struct fhist *h)
{
    const struct fhist_side *side = &h->positive;

    if (!fhist_is_custom(h)) /* a width of NaN would never be met by another one */
        return h->schema >= FHIST_SCHEMA_MIN && h->schema <= FHIST_SCHEMA_MAX && h->n_custom == 0 &&
               h->zero_threshold >= 0;
    return is_ascending(h->custom, h->n_custom) && h->zero_threshold == 0 && h->zero_count == 0 &&
           h->negative.n == 0 &&
           (side->n == 0 ||
            (side->at[0].index >= 0 && (size_t)side->at[side->n - 1].index <= h->n_custom));
}

struct fhist_layout fhist_layout_of(const struct fhist *h)
{
    return (struct fhist_layout){h->schema, h->zero_threshold, h->custom, h->n_custom};
}

static bool bounds_eq(const double *a, size_t n_a, const double *b, size_t n_b)
{
    if (n_a != n_b)
        return false;
    for (size_t i = 0; i < n_a; i++)
        if (a[i] != b[i])
            return false;
    return true;
}

bool fhist_layout_eq(const struct fhist_layout *a, const struct fhist_layout *b)
{
    return a->schema == b->schema && a->zero_threshold == b->zero_threshold &&
           bounds_eq(a->custom, a->n_custom, b->custom, b->n_custom);
}

/* Adds what one side has within the threshold. True: it cut a populated bucket and was raised. */
static bool widen_over(const struct fhist *h, const struct fhist_side *side, double *threshold,
                       double *count)
{
    for (size_t i = 0; i < side->n; i++) {
        const struct fhist_bucket *b = &side->at[i];
        double upper = fhist_upper(h, b->index);
        if (fhist_upper(h, b->index - 1) >= *threshold)
            break;
        if (b->count == 0)
            continue;
        *count += b->count;
        if (upper > *threshold) {
            *threshold = upper;
            return true;
        }
    }
    return false;
}

double fhist_widen_zero(const struct fhist *h, double *threshold)
{
    double count;

    if (*threshold == h->zero_threshold)
        return h->zero_count;
    do { /* again when the negative side raised it: then the positive one may have more in it */
        count = h->zero_count;
        (void)widen_over(h, &h->positive, threshold, &count);
    } while (widen_over(h, &h->negative, threshold, &count));
    return count;
}

int fhist_own_bounds(struct arena *m, struct fhist_layout *l)
{
    double *copy = l->n_custom > 0 ? arena_array(m, l->n_custom, sizeof(*copy)) : NULL;

    if (l->n_custom == 0)
        return 0;
    if (!copy)
        return -ENOMEM;
    memcpy(copy, l->custom, l->n_custom * sizeof(*copy));
    l->custom = copy;
    return 0;
}

/* Bounds that both have. */
static int join_bounds(struct arena *m, const struct fhist *a, const struct fhist *b,
                       struct fhist_layout *ret)
{
    size_t n_max = a->n_custom < b->n_custom ? a->n_custom : b->n_custom;
    double *bounds = arena_array(m, n_max, sizeof(*bounds));
    size_t n = 0;

    if (!bounds)
        return -ENOMEM;
    for (size_t i = 0, j = 0; i < a->n_custom && j < b->n_custom;) {
        if (a->custom[i] == b->custom[j]) {
            bounds[n++] = a->custom[i++];
            j++;
        } else if (a->custom[i] < b->custom[j]) {
            i++;
        } else {
            j++;
        }
    }
    ret->custom = n > 0 ? bounds : NULL;
    ret->n_custom = n;
    return 0;
}

int fhist_layout_join(struct arena *m, const struct fhist *a, const struct fhist *b,
                      struct fhist_layout *ret, double *ret_zero_a, double *ret_zero_b)
{
    struct fhist_layout to = fhist_layout_of(a);
    double threshold_a = a->zero_threshold;
    double threshold_b = b->zero_threshold;

    *ret_zero_a = a->zero_count;
    *ret_zero_b = b->zero_count;
    if (fhist_is_custom(a)) {
        int r = bounds_eq(a->custom, a->n_custom, b->custom, b->n_custom)
                    ? 0
                    : join_bounds(m, a, b, &to);
        if (r == 0)
            *ret = to;
        return r;
    }
    while (threshold_a != threshold_b) {
        if (threshold_a > threshold_b) {
            threshold_b = threshold_a;
            *ret_zero_b = fhist_widen_zero(b, &threshold_b);
        }
        if (threshold_b > threshold_a) {
            threshold_a = threshold_b;
            *ret_zero_a = fhist_widen_zero(a, &threshold_a);
        }
    }
    to.zero_threshold = threshold_a;
    to.schema = a->schema < b->schema ? a->schema : b->schema;
    *ret = to;
    return 0;
}

void fhist_mapped_begin(struct fhist_mapped *m, const struct fhist *h,
                        const struct fhist_side *side, const struct fhist_layout *to)
{
    *m = (struct fhist_mapped){.h = h, .side = side, .to = to};
    m->is_same = fhist_is_custom(h) ? bounds_eq(h->custom, h->n_custom, to->custom, to->n_custom)
                                    : h->schema == to->schema;
    if (fhist_is_custom(h) || h->zero_threshold == to->zero_threshold)
        return;
    while (m->at < side->n && fhist_upper(h, side->at[m->at].index) <= to->zero_threshold)
        m->at++;
}

/* Into the first of the bounds that holds all of the bucket; behind the last one: up to +Inf. */
static int32_t map_custom(struct fhist_mapped *m, int32_t index)
{
    double upper = fhist_upper(m->h, index);

    while (m->bound_at < m->to->n_custom && m->to->custom[m->bound_at] < upper)
        m->bound_at++;
    return (int32_t)m->bound_at;
}

static int32_t map_index(struct fhist_mapped *m, int32_t index)
{
    if (m->is_same)
        return index;
    if (fhist_is_custom(m->h))
        return map_custom(m, index);
    return (int32_t)((((int64_t)index - 1) >> (m->h->schema - m->to->schema)) + 1);
}

bool fhist_mapped_peek(struct fhist_mapped *m, int32_t *ret_index)
{
    if (m->at == m->side->n)
        return false;
    *ret_index = map_index(m, m->side->at[m->at].index);
    return true;
}

bool fhist_mapped_next(struct fhist_mapped *m, struct fhist_bucket *ret)
{
    int32_t index;
    struct fhist_bucket b = {0, 0};

    if (!fhist_mapped_peek(m, &b.index))
        return false;
    do {
        b.count += m->side->at[m->at++].count;
    } while (fhist_mapped_peek(m, &index) && index == b.index);
    *ret = b;
    return true;
}

enum fhist_hint fhist_join_hints(enum fhist_hint a, enum fhist_hint b, unsigned *flags)
{
    if (a == b)
        return a;
    if (a == FHIST_GAUGE || b == FHIST_GAUGE)
        return FHIST_GAUGE;
    if (a != FHIST_UNKNOWN && b != FHIST_UNKNOWN)
        *flags |= FHIST_HINTS_COLLIDE;
    return FHIST_UNKNOWN;
}
