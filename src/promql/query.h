/* SPDX-License-Identifier: Apache-2.0 */
/*
 * promql/query.h - runs a parsed expression against a reader.
 *
 * Semantics: Prometheus 3.x: ranges are left-open, lookback 5 min (left-open, too), stale markers
 *            end a series, samples of an instant selector keep the evaluation's time. With
 *            is_range_closed the ranges of Prometheus 2.x.
 * Units:     ms.
 * Limits:    bytes in use at a time, samples read, steps, a deadline told by a callback; each with
 *            an error that says which limit, and of how much.
 * Errors:    -EINVAL (the query cannot be evaluated: text says why, worded as Prometheus does),
 *            -E2BIG (a limit), -ETIMEDOUT, -ECANCELED, -ENOMEM, others from the reader.
 * Threading: one thread per query; the reader is used by that thread only.
 */
#ifndef PROMQL_QUERY_H
#define PROMQL_QUERY_H

#include "promql/parse.h"
#include "promql/value.h"

struct promql_options {
    int64_t start_ms, end_ms, step_ms; /* an instant query: start == end, step 0 */
    int64_t lookback_ms;               /* 0: 5 min */
    int64_t default_step_ms;           /* of subqueries without one; 0: 1 min */
    bool is_range_closed;
    size_t max_bytes;     /* 0: 1 GiB */
    uint64_t max_samples; /* read, and per value in cells; 0: 50 million */
    /* Asked now and then; nonzero (a negative errno) ends the query. May be NULL. */
    int (*is_over)(void *ctx);
    void *ctx;
};

enum { PROMQL_STEPS_MAX = 11000 };

/* What a user should know of a result. "PromQL info: ..." or "PromQL warning: ...". */
struct promql_note {
    bool is_warning;
    struct span text; /* with the position in parentheses, as Prometheus has it */
};

struct promql_result {
    struct value value;
    const struct promql_note *notes;
    size_t n_notes;
    uint64_t n_samples; /* read */
    int64_t widened_ms; /* ranges were widened up to this, because old samples are sparse; 0 */
    struct arena_budget _budget;
    struct arena _arena;
};

/* ret is valid until promql_result_done, also after an error (then empty). */
int promql_query(const struct promql_expr *e, struct reader *r, const struct promql_options *o,
                 struct promql_result *ret, struct promql_error *reterr) WARN_UNUSED;
void promql_result_done(struct promql_result *r);

#endif
