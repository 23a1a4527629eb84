/* SPDX-License-Identifier: Apache-2.0 */
/*
 * daemon/evidence.h - the requests behind an alert, and the numbers beside it.
 *
 * Role:      when an alert begins to fire: up to EVIDENCE_IDS ids of requests that show what it
 *            speaks of (the slowest by the stage that its expression names, or the failed ones),
 *            and count, failures and quantiles of that stage, exact, of the requests around its
 *            beginning that have its labels (model, upstream, endpoint, tenant, business labels).
 * Result:    annotations "exemplar_requests" ("id, id, ...") and "evidence"; what the rule's own
 *            annotations have wins. Nothing where no request is kept of that time.
 * Limits:    EVIDENCE_ROWS requests are looked at for the numbers, the newest ones.
 * Threading: any; reads the files of the data directory.
 */
#ifndef DAEMON_EVIDENCE_H
#define DAEMON_EVIDENCE_H

#include "rules/notice.h"

enum { EVIDENCE_IDS = 5, EVIDENCE_ROWS = 2000 };

/* ctx: const char *, the data directory. *ret lives in a. */
int evidence_find(void *ctx, const struct alert_notice *n, struct arena *a, struct labels *ret);

#endif
