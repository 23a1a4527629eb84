/* SPDX-License-Identifier: Apache-2.0 */
/*
 * verify/told.h - JSON that the programs of a run answer with, taken apart.
 *
 * Errors:    -EPROTO: it is no such answer.
 * Threading: pure.
 */
#ifndef VERIFY_TOLD_H
#define VERIFY_TOLD_H

#include <stdbool.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/span.h"
#include "rules/file.h"

/* The report of `inferometer load --json`. */
struct verify_load {
    bool is_there;
    int64_t n_sent, n_ok, n_failed, n_ttft;
    double ttft_mean_s, ttft_p50_s, ttft_p99_s; /* NaN: no token came */
    char error[64];                             /* the first kind of failure; "" */
};
int verify_told_load(struct span json, struct verify_load *ret) WARN_UNUSED;

/* The strength of a fault in /sim/faults of a simulator; 0: it is off. */
int verify_told_fault(struct span json, struct span name, double *ret) WARN_UNUSED;

/* An instant query's first value. NaN: there is none. *ret_n: series. */
int verify_told_value(struct span json, double *ret, size_t *ret_n) WARN_UNUSED;

/*
 * Alertmanager's /api/v2/alerts: active alerts of that rule (several may have one name: its labels
 * have to be there, but for those that are templates) whose label `source` has that value (empty:
 * that have none).
 */
int verify_told_alerts(struct span json, const struct rule *rule, struct span source,
                       size_t *ret_n) WARN_UNUSED;

#endif
