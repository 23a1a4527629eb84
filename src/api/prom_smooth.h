/* SPDX-License-Identifier: Apache-2.0 */
/*
 * api/prom_smooth.h - private to api/: range queries made smooth, where a client asks for it.
 *
 * Role:      smooth=sma:30m  each point is the mean of those in the 30 min up to it
 *            smooth=ema:5m   exponential: what is 5 min old has half of the weight
 *            Points that are not there stay so; the EMA begins anew behind a gap. Histograms are
 *            left as they are. As rules: docs/OPERATIONS.md "Alert rules".
 * Units:     ms.
 * Threading: pure.
 */
#ifndef API_PROM_SMOOTH_H
#define API_PROM_SMOOTH_H

#include "base/arena.h"
#include "promql/value.h"

enum smooth_kind { SMOOTH_NONE, SMOOTH_SMA, SMOOTH_EMA };
struct smooth {
    enum smooth_kind kind;
    int64_t window_ms; /* of the mean, or in which a weight halves */
};

/* -EINVAL: neither of both, or no duration over 0. Empty: none. */
int prom_smooth_parse(struct span text, struct smooth *ret) WARN_UNUSED;
/* All series of v, in place. -ENOMEM. is_over (may be NULL): asked before each series, nonzero (a
 * negative errno) ends it. */
int prom_smooth_value(const struct smooth *s, struct value *v, struct arena *a,
                      int (*is_over)(void *ctx), void *ctx) WARN_UNUSED;

#endif
