/* SPDX-License-Identifier: Apache-2.0 */
/*
 * load/samples.h - every sample of one figure of a load run, for exact quantiles.
 *
 * Memory:    8 bytes a sample; a run has one per request. A sample for which there is no memory is
 *            counted in n_lost.
 * Threading: one owner.
 */
#ifndef LOAD_SAMPLES_H
#define LOAD_SAMPLES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct samples {
    int64_t *_v;
    size_t _n, _cap;
    bool _is_sorted;
    uint64_t n_lost;
};

void samples_init(struct samples *s);
void samples_done(struct samples *s);
void samples_add(struct samples *s, int64_t v);
size_t samples_count(const struct samples *s);
void samples_clear(struct samples *s); /* memory is kept */

/*
 * The smallest sample that at least the share q (0..1) of all samples does not exceed (nearest
 * rank, no interpolation). -1: no samples. Sorts when needed.
 */
int64_t samples_quantile(struct samples *s, double q);
double samples_mean(const struct samples *s); /* 0 without samples */

#endif
