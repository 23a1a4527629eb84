/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sim/sim_stats.h - what an engine keeps about its requests for its /metrics.
 *
 * Role:      counts what a batching engine tells; sim_page.h shows it under the names of any
 *            version. Histograms have the bounds of all versions, so that one state can be shown
 *            under several.
 * Meaning:   as vLLM V1 has it: TTFT from the arrival; queue from there (or where it came
 *            later, from the engine's own) until first scheduled; prefill from
 *            there to the first token, decode from there to the last (time preempted included),
 *            inference = both; TPOT = decode / (tokens - 1), 0 for a single token; tokens of an
 *            iteration = those it put out and the prompts it ended.
 * Memory:    about 20 KiB, no allocation.
 * Threading: one owner; pure.
 */
#ifndef SIM_SIM_STATS_H
#define SIM_SIM_STATS_H

#include "sim/batching.h"
#include "sim/sim_names.h"

enum { SIM_BOUNDS_MAX = 80 };

struct sim_hist {
    size_t n_bounds;
    double bounds[SIM_BOUNDS_MAX];
    uint64_t counts[SIM_BOUNDS_MAX + 1]; /* not cumulative; the last: above all bounds */
    uint64_t n;
    double sum;
};

enum sim_reason { SIM_STOP, SIM_LENGTH, SIM_ABORT, SIM_REASON_COUNT_ };

struct sim_stats {
    struct sim_hist hists[SIM_SIGNAL_COUNT_];
    int64_t n_ended[SIM_REASON_COUNT_];
    int64_t n_prompt, n_output, n_cached;  /* tokens of requests that have finished */
    double prompt_rate, output_rate;       /* tokens/s, of the last window */
    int64_t n_preemptions;                 /* of the last window */
    struct batching_counts _last, _window; /* after the last step; when the window began */
    mono_t _t_window;
};

void sim_stats_init(struct sim_stats *s);

/* A request that batching_step has told. reason: how it ends, if this was its last token. */
void sim_stats_token(struct sim_stats *s, const struct batching_request *r, enum sim_reason reason);
/* A request is given up. */
void sim_stats_left(struct sim_stats *s);
/* After each step, when its requests have been told. */
void sim_stats_step(struct sim_stats *s, const struct batching_counts *counts, mono_t now);

/* Samples <= bound, which is one that some version has. */
uint64_t sim_hist_below(const struct sim_hist *h, double bound);

#endif
