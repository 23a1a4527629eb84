/* SPDX-License-Identifier: Apache-2.0 */
/*
 * promql/script.h - Prometheus' language of PromQL test scripts: load, clear, eval, expect.
 *
 * Role:      `inferometer promql test`, and acceptance against Prometheus' own scripts.
 * Errors:    -EINVAL (the script itself is wrong: line and reason), -ENOMEM. An evaluation that
 *            does not come out as told is no error: it is reported and counted.
 * Threading: one per script.
 */
#ifndef PROMQL_SCRIPT_H
#define PROMQL_SCRIPT_H

#include <stdint.h>

#include "base/err.h"
#include "base/span.h"

struct script_failure {
    int line;          /* of the eval */
    struct span query; /* what was evaluated, with its times ("instant at 5m: ...") */
    struct span wanted, got;
};

struct script_report {
    uint64_t n_passed, n_failed;
    /* Called for each evaluation that failed, in order; may be NULL. */
    void (*on_failure)(void *ctx, const struct script_failure *f);
    void *ctx;
};

int script_run(struct span text, struct script_report *report, struct err *reterr) WARN_UNUSED;

#endif
