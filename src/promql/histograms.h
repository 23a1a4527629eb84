/* SPDX-License-Identifier: Apache-2.0 */
/*
 * promql/histograms.h - the histograms of a vector, native and classic, for functions that want
 * their buckets.
 *
 * Memory:    in work; results in out.
 * Errors:    of the evaluation (eval.h).
 * Threading: one thread per query.
 */
#ifndef PROMQL_HISTOGRAMS_H
#define PROMQL_HISTOGRAMS_H

#include "promql/classic.h"
#include "promql/column.h"

/* A bucket's series and the next one of its histogram, in the order they came, then by bound. */
struct bucket_series {
    double upper;
    const struct column *column;
};

struct histogram {
    struct labels labels; /* without le */
    struct bucket_series *buckets;
    size_t n, cap;
    const struct column *native; /* of the same labels; NULL: none */
    size_t result;               /* column of the result at the moment, if has_result */
    bool has_result;
    double result_q;
    unsigned said; /* notes: 1 of both kinds, others are those of functions */
};

struct histograms {
    struct eval *e;
    const struct grid *grid;
    struct arena *out, *work;
    size_t at; /* of the argument, for notes */
    struct label_index index;
    struct histogram *all;
    size_t n, cap;
    size_t n_buckets_max;
    struct classic_bucket *room;
    struct columns results;
    struct label_index result_index;
    struct histogram_fixes *fixes; /* of histogram_quantile */
    struct span label;             /* of histogram_quantiles; .n == 0: none */
};

/* Evaluates arg, in work, and sorts its series. */
int histograms_init(struct histograms *x, struct eval *e, const struct node *arg,
                    const struct grid *g, struct arena *out, struct arena *work) WARN_UNUSED;

/* What a histogram is at a step: buckets in x->room, a native one, or nothing. */
struct histogram_moment {
    const struct fhist *native;
    size_t n_buckets;
};
int histograms_look(struct histograms *x, struct histogram *h, size_t i,
                    struct histogram_moment *ret) WARN_UNUSED;

/* Sets the result for h at step i; q is its label's value, where x->label asks for one. */
int histograms_set(struct histograms *x, struct histogram *h, double q, size_t i,
                   double v) WARN_UNUSED;

#endif
