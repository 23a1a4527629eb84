/* SPDX-License-Identifier: Apache-2.0 */
/*
 * verify/report.h - a run and its verdicts, for people and as JSON.
 *
 * Errors:    -ENOMEM, -EMSGSIZE.
 * Threading: pure.
 */
#ifndef VERIFY_REPORT_H
#define VERIFY_REPORT_H

#include "verify/judge.h"
#include "verify/verify.h"

/* A line or two for each verdict, then what it comes to. */
int verify_report_text(const struct verify_findings *f, struct buf *out) WARN_UNUSED;

/*
 * One object: passed, factor, rate_per_s, engine, phases (latency_s, begin, end, client, engine,
 * history), alerts (as they ran, and what gateway and Prometheus saw), verdicts. Times in seconds,
 * moments since the epoch.
 */
int verify_report_json(const struct verify_config *c, const struct verify_result *r,
                       const struct verify_findings *f, struct buf *out) WARN_UNUSED;

#endif
