/* SPDX-License-Identifier: Apache-2.0 */
/*
 * series/fhist.h - a native histogram as a value: counts are floating-point numbers.
 *
 * Role:      what a histogram sample is in the store and in queries: arithmetic, rate, quantiles.
 * Layout:    Prometheus' native histograms. Exponential schemas -4 .. 8: bucket i of the positive
 *            side holds (b^(i-1), b^i] with b = 2^(2^-schema), the negative side is its mirror, the
 *            zero bucket holds [-zero_threshold, zero_threshold]. Schema FHIST_CUSTOM: bucket i
 *            holds (custom[i-1], custom[i]], the last one is up to +Inf, no zero bucket, no
 *            negative side.
 * Shape:     buckets are sparse: sorted by index, indexes unique; a bucket that is not there is 0.
 *            Empty buckets may be there and mean nothing.
 * Ownership: a value in an arena; immutable once others see it, so that pieces may be shared. What
 *            a function makes is in its arena m with all of its pieces.
 * Errors:    -ENOMEM; arithmetic tells in flags what a user should know.
 * Threading: pure.
 * Source:    Prometheus' specification of native histograms; docs/DEFINITIONS.md for our own.
 */
#ifndef SERIES_FHIST_H
#define SERIES_FHIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"

enum { FHIST_SCHEMA_MIN = -4, FHIST_SCHEMA_MAX = 8, FHIST_CUSTOM = -53 };

/* Counter reset between the sample before and this one, as far as whoever made it told. */
enum fhist_hint { FHIST_UNKNOWN, FHIST_RESET, FHIST_NOT_RESET, FHIST_GAUGE };

struct fhist_bucket {
    int32_t index;
    double count;
};

struct fhist_side {
    struct fhist_bucket *at;
    size_t n;
};

struct fhist {
    int32_t schema;
    enum fhist_hint hint;
    double zero_threshold, zero_count;
    double count, sum;
    struct fhist_side positive, negative;
    const double *custom; /* upper bounds, ascending, finite; FHIST_CUSTOM only */
    size_t n_custom;
};

/* What an operation met, as bits; queries turn them into annotations. */
enum fhist_flag {
    FHIST_HINTS_COLLIDE = 1,     /* one told of a reset, the other of none */
    FHIST_CUSTOM_RECONCILED = 2, /* custom bounds differed: only the common ones are left */
    FHIST_INCOMPATIBLE = 4,      /* exponential and custom: not done, the result is NULL */
};

/*
 * Whether what was read from outside can be a histogram, its buckets being in order: a schema that
 * there is, a zero bucket with a width, bounds and indexes as the schema wants them. Counts and the
 * sum may be any numbers. All other functions rely on it.
 */
bool fhist_is_valid(const struct fhist *h);

int fhist_copy(struct arena *a, const struct fhist *h, struct fhist **ret) WARN_UNUSED;

/*
 * a + b, a - b: at the lower schema and the wider zero bucket of both, custom bounds reconciled.
 * The sums are plain. *ret_flags: enum fhist_flag. Subtraction may leave negative counts; its hint
 * is FHIST_GAUGE.
 */
int fhist_add(struct arena *m, const struct fhist *a, const struct fhist *b, struct fhist **ret,
              unsigned *ret_flags) WARN_UNUSED;
int fhist_sub(struct arena *m, const struct fhist *a, const struct fhist *b, struct fhist **ret,
              unsigned *ret_flags) WARN_UNUSED;
/* All counts and the sum times factor; a negative factor makes a gauge. */
int fhist_scale(struct arena *m, const struct fhist *h, double factor,
                struct fhist **ret) WARN_UNUSED;
/* Divided; by 0 leaves no buckets and counts as IEEE 754 says. */
int fhist_divide(struct arena *m, const struct fhist *h, double by, struct fhist **ret) WARN_UNUSED;

/* At a lower exponential schema. */
int fhist_reduce(struct arena *m, const struct fhist *h, int32_t schema,
                 struct fhist **ret) WARN_UNUSED;
/* Without empty buckets. In place. */
void fhist_compact(struct fhist *h);

/* Whether a counter was reset between before and h: hints, then any count, bucket or layout that
 * can only have shrunk. */
bool fhist_is_reset(const struct fhist *h, const struct fhist *before);

/* Equal in every bucket, NaN equal to NaN; hints are not compared. */
bool fhist_eq(const struct fhist *a, const struct fhist *b);

/*
 * Sums of many: one accumulator per output, so that adding k histograms costs one pass each and
 * no allocation once it is wide enough; sum and counts are compensated (Kahan-Neumaier).
 */
struct fhist_sum;
/* m is where it lives and grows. */
int fhist_sum_new(struct arena *m, struct fhist_sum **ret) WARN_UNUSED;
void fhist_sum_clear(struct fhist_sum *s);
/* *flags: enum fhist_flag, added to. FHIST_INCOMPATIBLE: the sum is as before. */
int fhist_sum_add(struct fhist_sum *s, const struct fhist *h, unsigned *flags) WARN_UNUSED;
/* The sum, or with divisor != 1 the mean; NULL in *ret when nothing was added. */
int fhist_sum_get(const struct fhist_sum *s, double divisor, struct arena *m,
                  struct fhist **ret) WARN_UNUSED;

/* A bucket with its boundaries, for walking from the lowest to the highest. Zero bucket: when it is
 * not empty; buckets that reach into it begin where it ends. */
struct fhist_range {
    double lower, upper, count;
    bool is_lower_inclusive, is_upper_inclusive;
};
struct fhist_walk {
    const struct fhist *h;
    size_t _at;
    int _phase;
};
void fhist_walk_begin(struct fhist_walk *w, const struct fhist *h);
bool fhist_walk_next(struct fhist_walk *w, struct fhist_range *ret);
/* The same from the highest to the lowest. */
void fhist_walk_end(struct fhist_walk *w, const struct fhist *h);
bool fhist_walk_prev(struct fhist_walk *w, struct fhist_range *ret);
/* Upper boundary of bucket index of the positive side. */
double fhist_upper(const struct fhist *h, int32_t index);

/*
 * The q-quantile as histogram_quantile has it: exponential interpolation in exponential buckets,
 * linear in custom ones and the zero bucket; q < 0: -Inf, q > 1: +Inf, no observations or q NaN:
 * NaN. *ret_is_nan_skewed (may be NULL): observations of NaN moved the result; with a result of
 * NaN: it is among them.
 */
double fhist_quantile(const struct fhist *h, double q, bool *ret_is_nan_skewed);
/* The fraction of observations between lower and upper, as histogram_fraction has it. */
double fhist_fraction(const struct fhist *h, double lower, double upper, bool *ret_is_nan_skewed);
/* Population variance by the buckets' middles, as histogram_stdvar has it. */
double fhist_variance(const struct fhist *h);
/* Observations above / up to a bound, as the operators </ and >/ trim a histogram. */
int fhist_trim(struct arena *m, const struct fhist *h, double bound, bool is_upper,
               struct fhist **ret) WARN_UNUSED;

/*
 * The literal of test scripts, {{schema:1 sum:3 count:4 buckets:[1 2] offset:-1 ...}}: s begins at
 * "{{". Consumes it from *s. -EINVAL: *ret_at (may be NULL) is the offset of what is wrong.
 */
int fhist_parse(struct span *s, struct arena *m, struct fhist **ret, size_t *ret_at) WARN_UNUSED;
/* The same literal. */
int fhist_print(const struct fhist *h, struct buf *out) WARN_UNUSED;
/* For people: {count:3, sum:4, [-0.1,0.1]:1, (1,2]:2} */
int fhist_describe(const struct fhist *h, struct buf *out) WARN_UNUSED;

#endif
