/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/live_table.h - a small table of what passes through right now, read from the metrics.
 *
 * Window:    the last LIVE_TABLE_WINDOW_S seconds, over all models and upstreams; quantiles are
 *            those of the exponential histograms (off by at most 2.2 %). "-" means no sample, never
 *            0.
 * Threading: one owner; reads metrics while writers run.
 */
#ifndef CLI_LIVE_TABLE_H
#define CLI_LIVE_TABLE_H

#include <stdio.h>

#include "base/attr.h"
#include "metrics/metrics.h"

enum { LIVE_TABLE_WINDOW_S = 10 };

struct live_table;

int live_table_new(const struct metrics *m, struct live_table **ret) WARN_UNUSED; /* -ENOMEM */
struct live_table *live_table_free(struct live_table *t);

/* Takes a sample; call once a second. -ENOMEM. */
int live_table_sample(struct live_table *t) WARN_UNUSED;

/* Prints the window. Returns the number of lines, so that a terminal can go back up. */
int live_table_print(struct live_table *t, FILE *to);

#endif
