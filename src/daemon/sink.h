/* SPDX-License-Identifier: Apache-2.0 */
/*
 * daemon/sink.h - hands what observe/ measures to metrics and to the JSON log, and
 *            tells the operator of buffers before the gateway.
 *
 * Threading: one per worker; its calls come on the worker's thread.
 */
#ifndef DAEMON_SINK_H
#define DAEMON_SINK_H

#include "daemon/hops.h"
#include "export/jsonlog.h"
#include "metrics/live.h"
#include "observe/sink.h"
#include "slo/slo_set.h"

struct sink {
    struct metrics_shard *_shard;
    struct live_pool *_live;
    struct jsonlog *_log;
    struct hops *_hops;
    struct metrics *_metrics;
    struct slo_set *_slos;      /* NULL: none */
    uint32_t _slo_ids[SLO_MAX]; /* label values of their names */
    unsigned _judged[SLO_MAX];  /* their objectives */
};

/* metrics, log and hops outlive the sink. -ENOMEM. */
int sink_init(struct sink *s, struct metrics *metrics, struct jsonlog *log,
              struct hops *hops) WARN_UNUSED;
/* Requests that finish from now on are judged by these; NULL: by none. Takes a reference. */
void sink_judge_by(struct sink *s, struct slo_set *slos);
void sink_done(struct sink *s); /* after the last exchange */

/* To be used with a struct sink. */
extern const struct sink_ops sink_to_metrics_and_log;

#endif
