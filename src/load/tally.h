/* SPDX-License-Identifier: Apache-2.0 */
/*
 * load/tally.h - the figures of a load run, added up request by request.
 *
 * Exactness: TTFT, TPOT, E2E and lag keep every sample: exact quantiles. ICL and ITL have a sample
 *            per event or token and go into exponential histograms: quantiles off by at most 2.2 %,
 *            count, mean and maximum exact.
 * Threading: one owner.
 */
#ifndef LOAD_TALLY_H
#define LOAD_TALLY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/attr.h"
#include "load/load_result.h"
#include "load/readings.h"
#include "metrics/hist.h"

/* Limits of the goodput; -1: none. */
struct tally_slo {
    int64_t ttft_ns, tpot_ns, e2e_ns;
};

/* One limit: how many requests it applied to, and how many kept it. */
struct tally_objective {
    uint64_t n_eligible, n_good;
};

/* A figure with a sample per event. */
struct tally_spread {
    struct hist hist;
    uint64_t n;
    int64_t max_ns;
    double sum_ns;
};

enum { TALLY_STATUSES = 600 };

struct tally {
    struct tally_slo slo;
    uint64_t n_outcomes[OUTCOME_COUNT_];
    uint64_t n_by_status[TALLY_STATUSES]; /* of OUTCOME_HTTP_ERROR */
    uint64_t n_done;
    uint64_t n_retried;
    uint64_t n_with_usage;
    uint64_t n_good; /* every applicable limit kept */
    struct tally_objective ttft_good, tpot_good, e2e_good;
    int64_t prompt_tokens, completion_tokens; /* of requests that ended well */
    struct readings ttft, tpot, e2e, lag;
    struct tally_spread icl, itl;
    mono_t t_last_end;
    struct hist_bounds *_bounds;
    hist_source _source;
};

int tally_init(struct tally *t, const struct tally_slo *slo) WARN_UNUSED; /* -ENOMEM */
void tally_done(struct tally *t);

void tally_gap(struct tally *t, int64_t gap_ns); /* one ICL sample */
void tally_add(struct tally *t, const struct load_result *r);

uint64_t tally_n_failed(const struct tally *t);

/* Quantile of a spread in ns, never above its maximum; -1: no samples or no memory. */
int64_t tally_spread_quantile(const struct tally *t, const struct tally_spread *s, double q);

#endif
