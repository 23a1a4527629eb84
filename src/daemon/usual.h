/* SPDX-License-Identifier: Apache-2.0 */
/*
 * daemon/usual.h - baselines recorded once a quarter of an hour (baseline/baseline.h).
 *
 * Role:      the evaluator's thread asks with every turn; at the first one in a slot the baselines
 *            of all metrics go to the store. One that fails is logged and left out.
 * Threading: one owner.
 */
#ifndef DAEMON_USUAL_H
#define DAEMON_USUAL_H

#include "base/zone.h"
#include "store/store.h"

struct usual {
    struct arena arena;
    const struct zone *zone;
    int64_t slot_ms; /* that was recorded; INT64_MIN: none */
};

/* zone: an IANA name, or Local. -ENOENT and others with a text. */
int usual_init(struct usual *u, const char *zone, struct err *reterr) WARN_UNUSED;
void usual_done(struct usual *u);

/* is_over: ends it early, with a negative errno. */
void usual_tick(struct usual *u, struct store *s, int64_t now_ms, int (*is_over)(void *ctx),
                void *ctx);

#endif
