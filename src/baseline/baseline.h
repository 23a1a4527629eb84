/* SPDX-License-Identifier: Apache-2.0 */
/*
 * baseline/baseline.h - what is usual at this time of day: the same local time of the last 7 days.
 *
 * Role:      for every model and upstream, how long requests took around this quarter of an hour on
 *            each of the last days, as samples llm_baseline{metric,stat,model,upstream}. Rules
 *            compare what is now with them (deploy/rules/baseline.yml).
 * Slots:     15 minutes of local time. A day's figures are those of the slot and of the one before
 *            it, since whoever compares looks back 15 minutes.
 * Days:      the local clock counts, not 24 hours: on days of 23 or 25 hours the slot is where that
 *            day's clock shows it. A time that the clock left out gives no figures for that day; of
 *            one that it showed twice the first counts.
 * Stats:     median  of the days' p50
 *            mad     their spread: 1.4826 times the median distance from the median, at least 5 %
 *                    of the median and at least a floor of the metric, so that a steady series has
 *                    no spread of 0
 *            p95     the median of the days' p95: one bad day of seven does not move it
 *            count   requests of those days together
 * Gates:     a day with fewer than BASELINE_DAY_REQUESTS_MIN is left out; with fewer than
 *            BASELINE_DAYS_MIN days there is no sample. Effect size and counts of now are the
 *            rule's.
 * Zones:     base/zone.h. setenv("TZ") and tzset would change the zone of every thread while others
 *            read it, and there is one for the whole process.
 * Units:     ms since the epoch; the metric's own (seconds).
 * Errors:    of the query: -E2BIG, -ETIMEDOUT, -ECANCELED, others of the reader; -ENOMEM.
 * Threading: pure; the reader is used by the caller's thread.
 */
#ifndef BASELINE_BASELINE_H
#define BASELINE_BASELINE_H

#include "base/err.h"
#include "base/zone.h"
#include "series/batch.h"
#include "series/reader.h"

enum {
    BASELINE_SLOT_MS = 15 * 60 * 1000,
    BASELINE_DAYS = 7,
    BASELINE_DAYS_MIN = 3,
    BASELINE_DAY_REQUESTS_MIN = 20,
};

/* What has a baseline: histograms of the gateway, read in their native form. */
struct baseline_metric {
    const char *name;
    double floor; /* of the spread */
};
extern const struct baseline_metric baseline_metrics[];
extern const size_t n_baseline_metrics;

/* The beginning of the slot that a moment is in. zone NULL: UTC. */
int64_t baseline_slot_ms(const struct zone *zone, int64_t t_ms);

/* The same local time some days before; false: the clock did not show it on that day. */
bool baseline_days_before(const struct zone *zone, int64_t t_ms, int days, int64_t *ret_ms);

/*
 * Adds to out the samples of one metric for the slot of now_ms, with the time now_ms. To be called
 * once per slot and metric, in whatever pieces suit the caller; a sample holds for the whole slot
 * (rules read it with last_over_time(...[20m])).
 * is_over (may be NULL): asked now and then, nonzero (a negative errno) ends it.
 */
struct baseline_ask {
    const struct zone *zone; /* NULL: UTC */
    struct reader *reader;
    int64_t now_ms;
    int (*is_over)(void *ctx);
    void *ctx;
};
int baseline_collect(const struct baseline_metric *m, const struct baseline_ask *ask,
                     struct batch *out, struct err *reterr) WARN_UNUSED;

/* One day of one series. */
struct baseline_day {
    double p50, p95, count;
};
struct baseline_stats {
    double median, mad, p95, count;
};
/* n: 1 to BASELINE_DAYS. */
struct baseline_stats baseline_of(const struct baseline_day *days, size_t n, double floor);

#endif
