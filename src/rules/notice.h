/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rules/notice.h - what a rule has to say to those who deliver: one alert, now.
 *
 * Role:      seam between evaluation (rules) and delivery (alert). An alert that fires is told
 *            again every resend delay, one that is resolved at once and then for 15 min at the same
 *            pace: whoever delivers holds the latest and forgets what was not told again in time.
 * Units:     ms since the epoch.
 * Ownership: borrowed during the call.
 */
#ifndef RULES_NOTICE_H
#define RULES_NOTICE_H

#include "series/labels.h"

struct alert_notice {
    struct labels labels;      /* with alertname; what makes it the same alert */
    struct labels annotations; /* names and texts */
    int64_t starts_ms;         /* when it began to fire */
    int64_t ends_ms;           /* resolved: when; firing: until when it holds untold again */
    bool is_resolved;
    double value; /* of the expression, at the last evaluation that had one */
    struct span expr;
    struct span generator_url; /* where to look at it */
};

#endif
