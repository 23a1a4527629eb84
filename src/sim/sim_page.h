/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sim/sim_page.h - the /metrics of a simulated engine, as a chosen version of a real one would
 * write it.
 *
 * Role:      text of the Prometheus format 0.0.4 from the state of a batching engine.
 * Form:      labels in alphabetical order. vLLM: buckets, count, sum; counters and histograms of
 *            V1 have _created gauges; a family is declared even if it has no samples yet. SGLang,
 *            which runs several processes: sum, buckets, count; nothing of what has no samples.
 * Presence:  V1 creates its series at the start. Elsewhere a histogram or a counter of requests
 *            appears with the first request.
 * Errors:    -ENOMEM, -EMSGSIZE; what is in the buffer then is of no use.
 * Threading: pure.
 */
#ifndef SIM_SIM_PAGE_H
#define SIM_SIM_PAGE_H

#include "base/buf.h"
#include "sim/sim_stats.h"

struct sim_page {
    struct sim_version version;
    const char *model;
    int64_t max_model_len; /* tokens: bounds of histograms of tokens end there */
    int64_t block_tokens;
    bool has_prefix_cache;
    double started_at_s; /* Unix time */
    int64_t pid;
};

int sim_page_render(const struct sim_page *p, const struct batching_counts *counts,
                    const struct sim_stats *stats, struct buf *out) WARN_UNUSED;

#endif
