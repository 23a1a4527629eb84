/* SPDX-License-Identifier: Apache-2.0 */
/*
 * load/readings.h - every sample of one figure of a load run, for exact quantiles.
 *
 * Memory:    8 bytes a sample; a run has one per request. A sample for which there is no memory is
 *            counted in n_lost.
 * Threading: one owner.
 */
#ifndef LOAD_READINGS_H
#define LOAD_READINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct readings {
    int64_t *_v;
    size_t _n, _cap;
    bool _is_sorted;
    uint64_t n_lost;
};

void readings_init(struct readings *s);
void readings_done(struct readings *s);
void readings_add(struct readings *s, int64_t v);
size_t readings_count(const struct readings *s);
void readings_clear(struct readings *s); /* memory is kept */

/*
 * The smallest sample that at least the share q (0..1) of all samples does not exceed (nearest
 * rank, no interpolation). -1: no samples. Sorts when needed.
 */
int64_t readings_quantile(struct readings *s, double q);
double readings_mean(const struct readings *s); /* 0 without samples */

#endif
