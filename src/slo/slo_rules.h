/* SPDX-License-Identifier: Apache-2.0 */
/*
 * slo/slo_rules.h - objectives as a plain Prometheus rule file (grammar of 2.42).
 *
 * Records:   slo:total:increase5m, slo:bad:increase5m (30m, 1h, 2h, 6h, 1d, 3d) and
 *            slo:total:increase_window, slo:bad:increase_window over the budget's window, each with
 *            the labels slo and objective; slo:target:ratio; slo:budget_remaining:ratio. Counts,
 *            never ratios of ratios, and no sample where nothing was counted.
 * Alerts:    SLOBurnPage (P0), SLOBurnTicket (P1), SLOBudgetSpent (P2), SLOLowTraffic (P2),
 *            SLONeverPopulated (P2), SLONoData (P1), and SLOEngineQueueSlow (P1) where engines do
 *            not tell each request's queue.
 * Threading: pure.
 */
#ifndef SLO_SLO_RULES_H
#define SLO_SLO_RULES_H

#include "base/attr.h"
#include "base/buf.h"
#include "slo/slo.h"

/* Bytes that the file of SLO_MAX objectives stays within. */
enum { SLO_RULES_BYTES_MAX = 2 * 1024 * 1024 };

/* Names have only letters, digits, _ . and -. Appends the whole file; 0 or -errno of buf, which is
 * then as before. */
int slo_rules_write(const struct slo *slos, size_t n, struct buf *out) WARN_UNUSED;

/* "1.5s", "50ms", "30d": exact. dst: at least 32 bytes; returns it. */
const char *slo_duration_text(int64_t ns, char *dst);

#endif
