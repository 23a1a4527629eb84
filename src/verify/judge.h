/* SPDX-License-Identifier: Apache-2.0 */
/*
 * verify/judge.h - verdicts on what everybody saw.
 *
 * Verdicts:  client: p99 of clients' TTFT grew by what was injected and passed the threshold;
 *            engine: its own histogram rose with it, by mean (sums are exact) and by the bucket of
 *            its p99, and the gateway's history has the same; one for each alert and evaluator:
 *            inactive, pending, firing within `for` and an interval, inactive again; and one for
 *            each alert and Alertmanager.
 * Figures:   are in the texts.
 * Errors:    -ENOMEM.
 * Threading: pure.
 */
#ifndef VERIFY_JUDGE_H
#define VERIFY_JUDGE_H

#include "verify/result.h"

enum verify_verdict { VERIFY_OK, VERIFY_FAIL, VERIFY_SKIP };
const char *verify_judge_name(enum verify_verdict v); /* "OK", ... */

struct verify_finding {
    enum verify_verdict verdict;
    const char *about; /* "client", "engine", "alert", "alertmanager", "prometheus" */
    struct span alert; /* empty: not of one */
    const char *where; /* who evaluates it; NULL: not of one */
    char text[480];    /* what was seen */
    char hint[240];    /* what to do about it, or "" */
};

struct verify_findings {
    struct verify_finding *at;
    size_t n;
};

/* In a; in the order of the verdicts above. */
int verify_judge(const struct verify_plan *p, const struct verify_result *result, struct arena *a,
                 struct verify_findings *ret) WARN_UNUSED;
/* All OK, but for what is skipped, and at least one alert is OK. */
bool verify_judge_is_passed(const struct verify_findings *f);

#endif
