/* SPDX-License-Identifier: Apache-2.0 */
/*
 * api/alerting.h - private to api/: rules and alerts, to be asked and changed.
 *
 * Role:      a resource is called with the rules or the alerts while nobody takes them away; where
 *            there are none, the answer says why.
 * Threading: a call belongs to one thread.
 * Source:    Prometheus' HTTP API (v1), Alertmanager's (v2).
 */
#ifndef API_ALERTING_H
#define API_ALERTING_H

#include "api/prom.h"

/* Why there are no rules or alerts to ask. */
const char *alerting_why_not(int error);

/* Of Alertmanager's API: the whole answer is a JSON value, a refusal a text. */
void alerting_refuse(struct prom_call *c, int status, const char *fmt, ...) PRINTF_LIKE(3, 4);
void alerting_finish(struct prom_call *c);

/* Values of all parameters of that name, in the arena; false: refused. */
bool alerting_values(struct prom_call *c, const char *name, const struct span **ret, size_t *ret_n);

#endif
