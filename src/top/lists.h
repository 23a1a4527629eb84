/* SPDX-License-Identifier: Apache-2.0 */
/*
 * top/lists.h - what a live table shows beside its figures: open requests, alerts, upstreams,
 * engines. Out of a gateway's JSON answers.
 *
 * Units:     as named; NaN: it was not told.
 * Ownership: texts are the arena's (top_lists._arena), until top_lists_reset or _done.
 * Errors:    -EPROTO: no such answer; -ENOMEM. That list is then empty.
 * Threading: pure.
 * Limits:    TOP_LIST_MAX items of a list; further ones are counted.
 */
#ifndef TOP_LISTS_H
#define TOP_LISTS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"

enum { TOP_LIST_MAX = 2000 };

struct top_flight {
    struct span id, model, upstream, endpoint;
    double age_ms, since_first_ms, since_last_ms, stalled_ms;
    double n_events; /* with output, so far */
};
struct top_alert {
    struct span name, summary;
    struct span tier; /* or severity, where its rule knows no tiers */
    struct span of;   /* the labels that say of what: "model=m upstream=u" */
    bool is_firing;   /* else it waits */
    int64_t since_ms;
};
struct top_upstream {
    struct span name, breaker; /* "closed": it works */
    double inflight, waiting;
};

struct top_lists {
    struct top_flight *flights; /* the oldest first */
    size_t n_flights, n_more_flights;
    struct top_alert *alerts; /* those that fire first, then by age */
    size_t n_alerts, n_more_alerts;
    struct top_upstream *upstreams;
    size_t n_upstreams;
    struct span version, state;
    double uptime_s;
    double running, waiting;             /* over all engines */
    double kv_ratio_max, gpu_ratio_mean; /* the fullest engine; all GPUs */
    struct arena _arena;
};

void top_lists_init(struct top_lists *l);
void top_lists_reset(struct top_lists *l); /* nothing is known; memory is kept */
void top_lists_done(struct top_lists *l);

/* Answers of /api/v1/status, inflight, alerts. */
int top_lists_status(struct top_lists *l, struct span json) WARN_UNUSED;
int top_lists_flights(struct top_lists *l, struct span json) WARN_UNUSED;
int top_lists_alerts(struct top_lists *l, struct span json) WARN_UNUSED;

/* What to ask /api/v1/query about engines and GPUs, and its answer. */
extern const char top_lists_question[];
int top_lists_engines(struct top_lists *l, struct span json) WARN_UNUSED;

#endif
