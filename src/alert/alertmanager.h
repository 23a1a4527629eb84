/* SPDX-License-Identifier: Apache-2.0 */
/*
 * alert/alertmanager.h - every notice to every Alertmanager (POST /api/v2/alerts), as Prometheus
 * does it: Alertmanager then groups, silences and tells by itself.
 *
 * Order:     each Alertmanager has a line of its own with the latest notice of each alert, and one
 *            request under way; none knows of another.
 * Failures:  what did not go through is sent again with back-off; a request that is refused (4xx)
 *            is dropped, which is counted, since rules tell all that still fires again in a minute.
 * Limits:    ALERTMANAGER_BATCH alerts a request, ALERTMANAGER_WAITING_MAX in a line, then the
 *            oldest goes and is counted; so does an alert of more than 1 MiB.
 * Threading: one owner.
 */
#ifndef ALERT_ALERTMANAGER_H
#define ALERT_ALERTMANAGER_H

#include "alert/delivery.h"

enum { ALERTMANAGER_BATCH = 256, ALERTMANAGER_WAITING_MAX = 10000, ALERTMANAGERS_MAX = 16 };

struct alertmanagers;
/* done: what hands the end of a request on to alertmanagers_ended. The transport goes first. */
int alertmanagers_new(struct transport *t, transport_done done, void *ctx, uint64_t seed,
                      struct alertmanagers **ret) WARN_UNUSED;
struct alertmanagers *alertmanagers_free(struct alertmanagers *m);

/* Base URLs, and labels that an alert gets where it has none of that name. Those that were there
 * before go on. -EINVAL: a URL that is none, or too many; nothing has changed. */
int alertmanagers_configure(struct alertmanagers *m, const struct span *urls, size_t n,
                            struct labels external) WARN_UNUSED;

/* annotations: all that the alert has by now. -ENOMEM: not for all of them. */
int alertmanagers_put(struct alertmanagers *m, const struct alert_notice *n,
                      struct labels annotations) WARN_UNUSED;

void alertmanagers_run(struct alertmanagers *m, struct moment now);
void alertmanagers_ended(struct alertmanagers *m, void *tag, const struct receiver_reply *reply,
                         struct moment now);
int64_t alertmanagers_next_ms(const struct alertmanagers *m); /* clock of waits */

/* Into an object that is open: "alertmanagers". */
void alertmanagers_write(const struct alertmanagers *m, struct jsonw *w);

#endif
