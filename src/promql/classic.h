/* SPDX-License-Identifier: Apache-2.0 */
/*
 * promql/classic.h - classic histograms: cumulative buckets that are series with a label le.
 *
 * Threading: pure.
 */
#ifndef PROMQL_CLASSIC_H
#define PROMQL_CLASSIC_H

#include <stdbool.h>
#include <stddef.h>

struct classic_bucket {
    double upper, count;
};

/* What had to be done to make counts ascend; n_fixed == 0: nothing. */
struct classic_fix {
    size_t n_fixed;
    double min_upper, max_upper, max_diff;
};

/* b: sorted by upper bound; changed. *fix is added to. */
double classic_quantile(struct classic_bucket *b, size_t n, double q, struct classic_fix *fix);
double classic_fraction(struct classic_bucket *b, size_t n, double lower, double upper);

#endif
