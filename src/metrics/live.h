/* SPDX-License-Identifier: Apache-2.0 */
/*
 * metrics/live.h - what one exchange remembers between its measurements: its series, and in which
 * one it is in flight.
 *
 * Role:      the calls of observe/sink.h, one to one; `struct live` goes into sink_labels.slot.
 * Labels:    resolved when first needed, and for good once a 2xx is known: from then on the model
 *            is a label value of its own and the upstream does not change any more.
 * Memory:    one struct live per exchange, from the shard's pool. NULL (no memory) is taken by
 *            every function; its samples are lost and counted.
 * Threading: the shard's thread.
 */
#ifndef METRICS_LIVE_H
#define METRICS_LIVE_H

#include "metrics/metrics.h"

struct live;
struct live_pool;

/* What is known of the exchange at this call. */
struct live_labels {
    const char *model;
    const char *endpoint;
    const char *upstream;
    const char *version;         /* of what the upstream serves; may be NULL */
    const char *const *business; /* as in struct metrics_request */
    const char *request_id;
    int upstream_status; /* 0: not known yet */
    bool is_stream;
    bool is_generating;
};

int live_pool_new(struct metrics_shard *shard, struct live_pool **ret) WARN_UNUSED;
struct live_pool *live_pool_free(struct live_pool *pool); /* after the last exchange */

/* Planned: in flight from now on. NULL without memory. */
struct live *live_started(struct live_pool *pool, const struct live_labels *l);

void live_admitted(struct live *live, const struct live_labels *l, int64_t queue_ns);
/* The attempt that was under way is over and another one began: in flight there from now on. */
void live_retried(struct live *live, const struct live_labels *l);
void live_runaway(struct live *live, const struct live_labels *l);
void live_first_token(struct live *live, const struct live_labels *l, int64_t ttft_ns);
void live_first_answer(struct live *live, const struct live_labels *l, int64_t ttfa_ns);
void live_gap(struct live *live, const struct live_labels *l, int64_t icl_ns);
void live_itl(struct live *live, const struct live_labels *l, int64_t itl_ns, uint64_t n_tokens);

/* The end; live (NULL: was never started) goes back to the pool. Returns its series, for what else
 * is to be counted of it. */
struct metrics_series_set *live_finished(struct live_pool *pool, struct live *live,
                                         const struct live_labels *l, const struct record *r);

#endif
