/* SPDX-License-Identifier: Apache-2.0 */
/*
 * daemon/upstreams.h - what all workers share of each upstream: admission and breaker; their birth,
 * the limits from the configuration, their numbers to the metrics.
 *
 * Threading: upstreams_limit, upstreams_traffic: any; upstreams_look belongs to one thread.
 */
#ifndef DAEMON_UPSTREAMS_H
#define DAEMON_UPSTREAMS_H

#include "gateway/gateway.h"
#include "metrics/metrics.h"

struct upstreams {
    struct admission *admission[GATEWAY_UPSTREAMS_MAX]; /* as gateway_deps takes them */
    struct breaker breakers[GATEWAY_UPSTREAMS_MAX];     /* likewise */
    size_t _n;
    char _names[GATEWAY_UPSTREAMS_MAX][GATEWAY_NAME_MAX];
    bool _is_open[GATEWAY_UPSTREAMS_MAX]; /* the breaker, at the last look */
    struct metrics_shard *_shard;
    struct metrics_series_set *_sets[GATEWAY_UPSTREAMS_MAX];
};

/* One for each upstream of c, with its limits. metrics outlives it. -ENOMEM. */
int upstreams_init(struct upstreams *a, const struct gateway_config *c,
                   struct metrics *metrics) WARN_UNUSED;
/* No worker is left. Also of one that is all zeros. */
void upstreams_done(struct upstreams *a);

/* Reload: c has the same upstreams. */
void upstreams_limit(struct upstreams *a, const struct gateway_config *c);

/* What it has and ever had to do. Any thread. */
struct upstreams_traffic {
    uint64_t n_granted;  /* requests that went there, ever */
    uint32_t n_inflight; /* or wait for it */
};
struct upstreams_traffic upstreams_traffic(struct upstreams *a, size_t i);

/* Once a second: tells the metrics. */
void upstreams_look(struct upstreams *a);

#endif
