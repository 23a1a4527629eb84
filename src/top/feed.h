/* SPDX-License-Identifier: Apache-2.0 */
/*
 * top/feed.h - the series that a live table is made of, at the moments at which they were read.
 *
 * Role:      answers of a gateway (its /metrics page, and what its history has of the minutes
 *            before) in; values of series at moments out, which table.h makes figures of.
 * Moments:   TOP_MOMENTS_MAX at most; then every second one of the older half goes, so that the
 *            last minute stays dense and the minutes before it do not get lost.
 * Values:    as they were read: cumulative ones stay so. A series that was not there, or had NaN or
 *            an infinity, counts as 0.
 * Limits:    TOP_SERIES_MAX series; more are counted (top_feed.n_left_out) and left out.
 * Errors:    -ENOMEM; -EPROTO: no such answer. What was there stays.
 * Threading: one owner. Pure.
 */
#ifndef TOP_FEED_H
#define TOP_FEED_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"

enum {
    TOP_DIMS_MAX = 4, /* labels that rows may stand for */
    TOP_MOMENTS_MAX = 64,
    TOP_SERIES_MAX = 100000,
    TOP_BOUNDS_MAX = 64, /* of a histogram; more are left out */
};

/* Stages first: those are histograms, in seconds. */
enum top_family {
    TOP_QUEUE,
    TOP_TTFT,
    TOP_TPOT,
    TOP_E2E,
    TOP_STAGES,
    TOP_OK = TOP_STAGES, /* requests that went well, or are no fault of ours (top_feed_is_error) */
    TOP_ERRORS,
    TOP_PROMPT_TOKENS,
    TOP_COMPLETION_TOKENS,
    TOP_INFLIGHT,
    TOP_FAMILIES
};

struct top_series {
    enum top_family family;
    uint32_t bound;              /* of a stage: which of bounds[family] */
    uint32_t dims[TOP_DIMS_MAX]; /* numbers of texts; 0 is "" */
};
/* A hash table: number of an item and 1. */
struct top_index {
    uint32_t *slots;
    size_t cap;
};
struct top_moment {
    int64_t t_ms;
    double *v; /* by series; those from n on were not there */
    size_t n;
};
struct top_feed {
    struct span dims[TOP_DIMS_MAX]; /* names of labels */
    size_t n_dims;
    struct top_series *series;
    size_t n_series, n_left_out;
    double bounds[TOP_STAGES][TOP_BOUNDS_MAX]; /* as they came; +Inf among them */
    size_t n_bounds[TOP_STAGES];
    struct top_moment moments[TOP_MOMENTS_MAX]; /* by time */
    size_t n_moments;
    size_t _series_cap, _texts_cap;
    struct top_index _series_index, _texts_index;
    struct span *_texts;
    size_t n_texts;
    struct arena _arena; /* texts */
};

/* names: of labels, static; at most TOP_DIMS_MAX. */
void top_feed_init(struct top_feed *f, const struct span *names, size_t n);
void top_feed_done(struct top_feed *f);

/* A page of /metrics that was read at t_ms. Moments that are not before it are of another clock, or
 * of one that was set back: they go. */
int top_feed_page(struct top_feed *f, struct span page, int64_t t_ms) WARN_UNUSED;

/* What to ask /api/v1/query for the minutes before, and its answer; nothing where moments are
 * there already. */
extern const char top_feed_question[];
int top_feed_history(struct top_feed *f, struct span json) WARN_UNUSED;

struct span top_feed_text(const struct top_feed *f, uint32_t number);
/* The value of a series at a moment. */
double top_feed_value(const struct top_moment *m, size_t series);
/* The last moment that is not later; the first one where all are. NULL: there is none. */
const struct top_moment *top_feed_at(const struct top_feed *f, int64_t t_ms);

/* Whether requests with that outcome count as errors: neither ok, nor the client's doing. */
bool top_feed_is_error(struct span outcome);

#endif
