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

#endif
