/* SPDX-License-Identifier: Apache-2.0 */
/*
 * daemon/admissions.h - the upstreams' admission objects, which all workers share: their birth,
 * their limits from the configuration, their numbers to the metrics.
 *
 * Threading: admissions_limit: any; admissions_look belongs to one thread.
 */
#ifndef DAEMON_ADMISSIONS_H
#define DAEMON_ADMISSIONS_H

#include "gateway/gateway.h"
#include "metrics/metrics.h"

struct admissions {
    struct admission *of[GATEWAY_UPSTREAMS_MAX]; /* as gateway_deps takes them */
    size_t _n;
    struct metrics_shard *_shard;
    struct metrics_series_set *_sets[GATEWAY_UPSTREAMS_MAX];
};

/* One for each upstream of c, with its limits. metrics outlives it. -ENOMEM. */
int admissions_init(struct admissions *a, const struct gateway_config *c,
                    struct metrics *metrics) WARN_UNUSED;
/* No worker is left. Also of one that is all zeros. */
void admissions_done(struct admissions *a);

/* Reload: c has the same upstreams. */
void admissions_limit(struct admissions *a, const struct gateway_config *c);

/* Once a second: tells the metrics. */
void admissions_look(struct admissions *a);

#endif
