/* SPDX-License-Identifier: Apache-2.0 */
/*
 * store/gather.h - the program's own metrics become samples of time series.
 *
 * Role:      what /metrics shows at one moment goes into the store under the same names and labels:
 *            counters and gauges as they are, histograms twice: classic (_bucket with le, _sum,
 *            _count) and native (the family's own name). le is written as OpenMetrics does ("1.0").
 * Begins:    a counter or histogram that is new, or counts anew, and is not 0 any more, gets a
 *            sample of 0 at the time when it came into being, so that increase() misses nothing.
 * Ends:      a series that is not there any more gets a stale marker, once; those of a run that was
 *            killed get it right behind the last sample, when the next run begins.
 * Memory:    about 100 bytes a series, 20 more a bucket; the ids of series are kept, so that a tick
 *            makes no labels.
 * Errors:    -ENOMEM: the tick is not whole. Samples that the store does not take are counted.
 * Threading: the thread that owns the tsdb.
 */
#ifndef STORE_GATHER_H
#define STORE_GATHER_H

#include "metrics/metrics.h"
#include "series/labels.h"
#include "tsdb/tsdb.h"

struct gather;

/*
 * extra: labels that every series gets (job, instance); copied. A series' own label wins.
 * started_ms: when series came into being that do not tell it themselves.
 */
int gather_new(const struct metrics *m, struct tsdb *t, struct labels extra, int64_t started_ms,
               struct gather **ret) WARN_UNUSED;
struct gather *gather_free(struct gather *g);

/* Appends a sample of everything. */
int gather_tick(struct gather *g, int64_t t_ms) WARN_UNUSED;
/* The program ends: every series does. */
void gather_end(struct gather *g, int64_t t_ms);

struct gather_stats {
    uint64_t n_samples, n_lost; /* since gather_new */
    size_t n_series;
};
void gather_stats(const struct gather *g, struct gather_stats *ret);

#endif
