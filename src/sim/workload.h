/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sim/workload.h - requests that come by themselves, and a batching engine run under them, without
 * a server, in virtual time.
 *
 * Role:      for benches, tests and diagnosis: what happens to latencies when load, lengths or the
 *            engine change. The same seeds and calls give the same answer.
 * Requests:  come as a Poisson process; prompt and output lengths are lognormal and cut at both
 *            ends (a longer one counts as the longest). A share of the prompts begins with one of
 *            n_prefixes common beginnings (system prompts) of prefix_tokens tokens.
 * Measured:  of requests that finished: TTFT and E2E from the arrival, TPOT = (last - first token)
 *            / (tokens - 1) per request with two tokens or more, queue = until first scheduled; ITL
 *            = every gap between two tokens of a request.
 * Memory:    a request costs about 300 bytes while it is in the engine.
 * Errors:    -ENOMEM.
 * Threading: one owner; pure.
 * Source:    reference "slo-alert-diagnosis facts" 5.7.
 */
#ifndef SIM_WORKLOAD_H
#define SIM_WORKLOAD_H

#include "sim/batching.h"

struct workload_length {
    double median, sigma; /* of the logarithm; 0: constant */
    int64_t min, max;
};

struct workload_config {
    double rate; /* requests/s; 0: none come */
    struct workload_length prompt, output;
    double prefix_share; /* of the requests, 0..1 */
    int64_t n_prefixes, prefix_tokens;
};
/* "azure-conv", "azure-code": lengths of public traces, 1 request/s, nothing shared; false: no
 * such. */
bool workload_config_of(const char *name, struct workload_config *ret);

struct workload {
    struct workload_config config; /* may be changed at any time */
    struct rng rng;
};
void workload_init(struct workload *w, const struct workload_config *c, uint64_t seed);
int64_t workload_gap_ns(struct workload *w); /* until the next request; INT64_MAX: none comes */
/* What the next request asks: fields "asked" of r. */
void workload_ask(struct workload *w, struct batching_request *r);

/* A distribution of durations: quantiles within 0.4 % (half a step), mean exact. About 48 KiB. */
enum { WORKLOAD_DIST_STEPS = 128 }; /* of an octave */
struct workload_dist {
    int64_t n;
    double sum_ns;
    int64_t max_ns;
    uint32_t _counts[48 * WORKLOAD_DIST_STEPS];
};
void workload_dist_add(struct workload_dist *d, int64_t ns);
double workload_dist_quantile_ns(const struct workload_dist *d, double q); /* NaN: no data */
double workload_dist_mean_ns(const struct workload_dist *d);               /* NaN: no data */

struct workload_stats {
    struct workload_dist ttft, tpot, itl, e2e, queue;
    int64_t n_arrived, n_refused, n_finished;
    int64_t n_attained; /* finished within both limits */
};

/* Called for each request that got a token, before it is freed. */
typedef void workload_observer(void *ctx, const struct batching_request *r, mono_t now);

struct workload_run {
    struct workload workload;
    struct batching *batching;
    mono_t now;
    struct workload_stats *stats; /* since the start or workload_run_forget */
    int64_t ttft_limit_ns, tpot_limit_ns;
    workload_observer *observe; /* NULL: nobody */
    void *ctx;
    mono_t _t_arrival;
    struct list _idle, _slabs;
};
/* Limits are those of MLPerf's Llama-2-70B server (2 s, 200 ms). Virtual time begins at 1 s. */
int workload_run_init(struct workload_run *w, const struct batching_config *engine,
                      const struct workload_config *load, uint64_t seed) WARN_UNUSED;
void workload_run_done(struct workload_run *w);

/* Changes the load; what comes next comes at the new rate. */
void workload_run_configure(struct workload_run *w, const struct workload_config *load);
/* Until that time (INT64_MAX: as long as somebody is here or comes), or until so many more requests
 * have finished, whatever is first. */
int workload_run(struct workload_run *w, mono_t until, int64_t n_finished) WARN_UNUSED;
void workload_run_forget(struct workload_run *w); /* statistics begin anew */

#endif
