/* SPDX-License-Identifier: Apache-2.0 */
/*
 * promql/script.h - Prometheus' language of PromQL test scripts: load, clear, eval, expect.
 *
 * Role:      `inferometer promql test`, and acceptance against Prometheus' own scripts.
 * Checks:    each instant evaluation also as the middle of a range, and both once more with every
 *            selector pinned by @ and asked at other times, as Prometheus' own runner does.
 * Limits:    start times (lines of name@st) are read over: samples have none here.
 * Errors:    -EINVAL (the script itself is wrong, reterr is "LINE: reason"), -ENOMEM, -E2BIG (too
 *            many values). An evaluation that does not come out as told is no error: it is reported
 *            and counted, one that does not parse as well.
 * Threading: one per script.
 */
#ifndef PROMQL_SCRIPT_H
#define PROMQL_SCRIPT_H

#include <stdint.h>

#include "base/err.h"
#include "base/span.h"
#include "series/memory.h"

struct script_failure {
    int line;                /* of the eval */
    struct span query;       /* what was evaluated, with its times ("instant at 5m: ...") */
    struct span wanted, got; /* cut where they are very long */
};

struct script_report {
    uint64_t n_passed, n_failed;
    /* Called for each evaluation that failed, in order; may be NULL. */
    void (*on_failure)(void *ctx, const struct script_failure *f);
    void *ctx;
};

int script_run(struct span text, struct script_report *report, struct err *reterr) WARN_UNUSED;

/*
 * The series of a `load` alone, for tests that move time on their own: values are step_ms apart
 * from start_ms on, and go into memory when their time has come.
 */
struct script_feed;
int script_feed_new(int64_t start_ms, int64_t step_ms, struct script_feed **ret) WARN_UNUSED;
struct script_feed *script_feed_free(struct script_feed *f); /* NULL is allowed; returns NULL */
/* metric{a="b"} and 0+1x5 _ stale: one told again is told anew. -EINVAL, -E2BIG, -ENOMEM. */
int script_feed_add(struct script_feed *f, struct span series, struct span values,
                    struct err *reterr) WARN_UNUSED;
/* What is not later than until_ms and was not given yet. -EINVAL: `to` has later samples of it. */
int script_feed_until(struct script_feed *f, int64_t until_ms, struct memory *to,
                      struct err *reterr) WARN_UNUSED;

#endif
