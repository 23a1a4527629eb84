/* SPDX-License-Identifier: Apache-2.0 */
/*
 * daemon/objectives.h - the series of objectives that are there before the first request.
 *
 * Threading: one thread at a time.
 */
#ifndef DAEMON_OBJECTIVES_H
#define DAEMON_OBJECTIVES_H

#include "daemon/config.h"

/*
 * Makes the counts of each SLO at 0: for the models and upstreams that its match names, and once
 * for none at all, so that a missing series always means that nobody counts. Without memory they
 * come with the first request.
 */
void objectives_announce(struct metrics *m, const struct config *c);

#endif
