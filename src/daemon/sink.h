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

struct sink {
    struct metrics_shard *_shard;
    struct live_pool *_live;
    struct jsonlog *_log;
    struct hops *_hops;
};

/* metrics, log and hops outlive the sink. -ENOMEM. */
int sink_init(struct sink *s, struct metrics *metrics, struct jsonlog *log,
              struct hops *hops) WARN_UNUSED;
void sink_done(struct sink *s); /* after the last exchange */

/* To be used with a struct sink. */
extern const struct sink_ops sink_to_metrics_and_log;

#endif
