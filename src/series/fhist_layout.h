/* SPDX-License-Identifier: Apache-2.0 */
/*
 * series/fhist_layout.h - how two histograms come to share one layout. Of this module only.
 *
 * Layout:    schema, zero threshold and custom bounds. Where two differ, both are brought to the
 *            coarser schema, to a zero bucket that holds both and cuts no populated bucket, to the
 *            custom bounds that both have.
 */
#ifndef SERIES_FHIST_LAYOUT_H
#define SERIES_FHIST_LAYOUT_H

#include "series/fhist.h"

struct fhist_layout {
    int32_t schema;
    double zero_threshold;
    const double *custom;
    size_t n_custom;
};

bool fhist_is_custom(const struct fhist *h);
struct fhist_layout fhist_layout_of(const struct fhist *h);
bool fhist_layout_eq(const struct fhist_layout *a, const struct fhist_layout *b);

/*
 * What the zero bucket holds when it is widened to at least *threshold, which is not less than
 * h's; *threshold is raised to the end of a populated bucket that it would cut.
 */
double fhist_widen_zero(const struct fhist *h, double *threshold);

/* A layout for both (of the same kind: exponential or custom). *ret_zero_a, _b: their zero buckets
 * there. m: memory for custom bounds. */
int fhist_layout_join(struct arena *m, const struct fhist *a, const struct fhist *b,
                      struct fhist_layout *ret, double *ret_zero_a, double *ret_zero_b) WARN_UNUSED;

/* Replaces custom bounds by a copy in m, so that a result depends on nothing but m. */
int fhist_own_bounds(struct arena *m, struct fhist_layout *l) WARN_UNUSED;

/* The buckets of one side where they fall in another layout, those that fall together summed, those
 * within its zero bucket left out. */
struct fhist_mapped {
    const struct fhist *h;
    const struct fhist_side *side;
    const struct fhist_layout *to;
    size_t at, bound_at;
    bool is_same; /* indexes stay as they are */
};
void fhist_mapped_begin(struct fhist_mapped *m, const struct fhist *h,
                        const struct fhist_side *side, const struct fhist_layout *to);
bool fhist_mapped_next(struct fhist_mapped *m, struct fhist_bucket *ret);
/* Where the next one falls, without taking it. */
bool fhist_mapped_peek(struct fhist_mapped *m, int32_t *ret_index);

/* The part of a bucket that is below v, which is inside it. */
double fhist_part_below(const struct fhist_range *b, double v, bool is_linear);

/* The hint of a sum or difference; *flags gets FHIST_HINTS_COLLIDE. */
enum fhist_hint fhist_join_hints(enum fhist_hint a, enum fhist_hint b, unsigned *flags);

#endif
