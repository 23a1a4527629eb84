/* SPDX-License-Identifier: Apache-2.0 */
/* daemon/config_slos.h - private to daemon/config*: the keys of an SLO, and what is made of them.
 */
#ifndef DAEMON_CONFIG_SLOS_H
#define DAEMON_CONFIG_SLOS_H

#include "daemon/config_items.h"

extern const struct config_item config_item_slo; /* of struct config_slo */

/* What holds: the preset's objectives, with what was told over them. */
void config_slo_targets(const struct config_slo *s, struct slo_target ret[SLO_OBJECTIVE_COUNT_]);

/* Lists what does not fit the rest of the configuration: labels in a match that nobody named,
 * thresholds that histograms have no room for. */
void config_slos_check(const struct config *c, const char *where, struct err_list *errs);

/* Makes c->slo_set and c->all_bounds of what was checked. -ENOMEM. */
int config_slos_build(struct config *c) WARN_UNUSED;

/* config_slo_bounds.c: the family whose samples the objective judges; METRIC_COUNT_: none. */
enum metric config_slo_family(enum slo_objective o);

/*
 * The bounds of the objective's family with all thresholds of slos in them, ascending. Returns how
 * many there are, perhaps more than HIST_BOUNDS_MAX, of which ret then has the first ones.
 */
size_t config_slo_bounds(const struct config *c, const struct slo *slos, size_t n,
                         enum slo_objective o, int64_t ret[HIST_BOUNDS_MAX]);

/* c->all_bounds. -ENOMEM. */
int config_slo_bounds_build(struct config *c, const struct slo *slos, size_t n) WARN_UNUSED;

#endif
