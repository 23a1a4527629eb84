/* SPDX-License-Identifier: Apache-2.0 */
/*
 * store/leftovers.h - series of a run of the program that did not come to its end.
 *
 * Role:      a program that is killed marks none of its series as ended, so that queries would go
 *            on showing them for 5 minutes, beside those of the next run.
 * Errors:    negative errno; then some are not marked.
 * Threading: the thread that owns the tsdb.
 */
#ifndef STORE_LEFTOVERS_H
#define STORE_LEFTOVERS_H

#include "tsdb/tsdb.h"

/* A stale marker at t_ms, behind all samples, for each series of that job that has none. */
int leftovers_end(struct tsdb *t, struct span job, int64_t t_ms) WARN_UNUSED;

#endif
