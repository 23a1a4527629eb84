/* SPDX-License-Identifier: Apache-2.0 */
/*
 * baseline/propose.h - thresholds from what was recorded, with the evidence.
 *
 * Role:      for each stage (time to first token, per token, ...) and model: p95 of a stretch of
 *            time and half as much again, how many requests that is from, and how often an alert
 *            with that threshold would have fired in that time. No threshold is so low that nobody
 *            would feel it.
 * Fired:     as the shipped rules do it: the p95 of 10 minutes is over the threshold for the
 *            stage's `for`, with PROPOSE_WINDOW_REQUESTS_MIN requests in each of those windows;
 *            seen every 5 minutes.
 * Source:    native histograms of the gateway, asked for in PromQL a day at a time, through a
 *            callback: over a reader (propose_ask_reader) or over HTTP (cli).
 * Units:     seconds for durations and thresholds, ms since the epoch for moments.
 * Errors:    of the source, with a text; -ENOMEM.
 * Limits:    PROPOSE_MODELS_MAX models, PROPOSE_DAYS_MAX days.
 * Threading: pure.
 */
#ifndef BASELINE_PROPOSE_H
#define BASELINE_PROPOSE_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "series/reader.h"

enum {
    PROPOSE_STEP_MS = 5 * 60 * 1000,
    PROPOSE_WINDOW_MS = 2 * PROPOSE_STEP_MS,
    PROPOSE_WINDOW_REQUESTS_MIN = 50,
    PROPOSE_REQUESTS_MIN = 200, /* in all: with fewer there is no threshold */
    PROPOSE_MODELS_MAX = 1000,
    PROPOSE_DAYS_MAX = 90,
};

/* --- where figures come from --- */

struct propose_bucket {
    double lower, upper, count;
};
/* The requests of a window: buckets from the lowest to the highest. */
struct propose_window {
    int64_t end_ms;
    const struct propose_bucket *at;
    size_t n;
};
struct propose_series {
    struct span model;
    const struct propose_window *at; /* ascending; a window without a value is not there */
    size_t n;
};
struct propose_question {
    struct span query; /* a histogram for each label `model` */
    int64_t start_ms, end_ms, step_ms;
};
struct propose_source {
    /* Results live in a. */
    int (*ask)(void *ctx, const struct propose_question *q, struct arena *a,
               struct propose_series **ret, size_t *ret_n, struct err *reterr);
    void *ctx;
};

/* An `ask` over a reader: ctx is a struct propose_reader. */
struct propose_reader {
    struct reader *reader;
    int (*is_over)(void *ctx); /* may be NULL; nonzero (a negative errno) ends it */
    void *ctx;
};
int propose_ask_reader(void *ctx, const struct propose_question *q, struct arena *a,
                       struct propose_series **ret, size_t *ret_n, struct err *reterr);

/* --- what comes of them --- */

struct propose_stage {
    const char *name, *metric;
    const char *alert, *tier, *what; /* of the rule that is written */
    int64_t for_ms;
    double least_s; /* no threshold is below: nobody feels such a wait */
};

struct proposal {
    const struct propose_stage *stage;
    struct span model;
    double count, p50, p95, p99;
    double threshold; /* 0: too few requests */
    unsigned n_fired;
    int64_t fired_ms; /* together */
};

struct proposals {
    struct proposal *at; /* by stage, then by model */
    size_t n;
    int64_t from_ms, to_ms;
    double margin;
};

/* margin: 0.5 is half as much again. Whole days up to to_ms; everything in ret lives in a. */
struct propose_wish {
    int64_t to_ms;
    int days;
    double margin;
};
int propose_make(const struct propose_source *source, const struct propose_wish *wish,
                 struct arena *a, struct proposals *ret, struct err *reterr) WARN_UNUSED;

/* A table for people. */
int propose_print(const struct proposals *s, struct buf *out) WARN_UNUSED;
/* A rule file: thresholds by model with their evidence, and one alert per stage that uses them. */
int propose_print_rules(const struct proposals *s, struct buf *out) WARN_UNUSED;

#endif
