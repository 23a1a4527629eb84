/* SPDX-License-Identifier: Apache-2.0 */
/*
 * alert/route.h - which routes an alert takes.
 *
 * Shape:     depth first, in the order of the file. A route takes what its matchers and those
 *            above it match and no route below it takes; the search ends at the first one of a
 *            level that takes it, but for `continue`. The first route takes everything.
 * Threading: as the file's matchers.
 */
#ifndef ALERT_ROUTE_H
#define ALERT_ROUTE_H

#include "alert/file.h"

/* Each route that takes it, at least one. Ends at the first value that is not 0 and returns it. */
int alert_route_each(const struct alert_file *f, struct labels labels,
                     int (*visit)(void *ctx, const struct alert_route *r), void *ctx);

/* The labels by which a route groups, of these; in the arena. */
int alert_route_group(const struct alert_route *r, struct labels labels, struct arena *a,
                      struct labels *ret) WARN_UNUSED;

/* The name of the times that keep it quiet at this moment, or an empty text. */
struct span alert_route_muted_by(const struct alert_file *f, const struct alert_route *r,
                                 int64_t now_ms);

#endif
