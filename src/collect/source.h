/* SPDX-License-Identifier: Apache-2.0 */
/*
 * collect/source.h - what is measured here and not scraped: GPUs, the host, its clock, Kafka.
 *
 * Role:      a row of a table per kind: how it begins, what it tells each time, how it ends. The
 *            collector asks on a thread of the source's own (source_thread), since drivers and
 *            brokers hang: one that does not come back is told as such and not asked again until it
 *            does.
 * Samples:   under the common names of docs/METRICS.md, with labels of the source; the collector
 *            adds instance. What cannot be measured is missing, never 0.
 * States:    working; absent (there is no such thing here: fine); broken (why, for people), with
 *            what it can tell all the same: a GPU that is lost, a cluster that does not answer.
 * Threading: each function on the source's thread; state is copied out under its lock.
 */
#ifndef COLLECT_SOURCE_H
#define COLLECT_SOURCE_H

#include "base/err.h"
#include "series/batch.h"

enum source_state { SOURCE_WORKING, SOURCE_ABSENT, SOURCE_BROKEN };

struct source_kind {
    const char *name; /* "gpu", "host", "clock", "kafka" */
    /* config: of the kind. *ret is the kind's own. */
    int (*begin)(const void *config, void **ret, struct err *reterr);
    /* Adds what there is at t_ms. reterr: why it is absent or broken. */
    enum source_state (*read)(void *s, int64_t t_ms, struct batch *out, struct err *reterr);
    void (*end)(void *s);
};
extern const struct source_kind source_gpu, source_host, source_clock, source_kafka;

#endif
