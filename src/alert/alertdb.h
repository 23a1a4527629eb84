/* SPDX-License-Identifier: Apache-2.0 */
/*
 * alert/alertdb.h - DIR/alerts.db: what has to be known after a restart.
 *
 * Role:      alerts as they were told last, with their evidence; what was told to whom; silences;
 *            deliveries that failed.
 * Form:      labels and matchers as JSON; fingerprints as 8 bytes each, as this machine has them.
 * Units:     ms since the epoch.
 * Errors:    negative errno as db/db.h has them. Rows that cannot be read are passed over and
 *            counted in *ret_n_bad.
 * Threading: one owner at a time.
 */
#ifndef ALERT_ALERTDB_H
#define ALERT_ALERTDB_H

#include "alert/delivery.h"
#include "db/db.h"

struct alertdb;
int alertdb_open(const char *dir, struct alertdb **ret, struct err *reterr) WARN_UNUSED;
/* One that is damaged: it is moved aside, and a fresh one opened. *d is NULL where that fails. */
int alertdb_replace(const char *dir, struct alertdb **d, struct err *reterr) WARN_UNUSED;
/* Whether the file is still where it was opened; what is written to one that is not goes nowhere.
 */
bool alertdb_is_in_place(const struct alertdb *d);
struct alertdb *alertdb_close(struct alertdb *d); /* NULL is allowed; returns NULL */

/* Several changes at once; without a begin each is one of its own. */
int alertdb_begin(struct alertdb *d) WARN_UNUSED;
int alertdb_commit(struct alertdb *d) WARN_UNUSED; /* rolled back where it fails */
void alertdb_rollback(struct alertdb *d);

/* What a notice said; the evidence of before stays. -EMSGSIZE: labels or annotations of more than
 * 4 MiB. */
int alertdb_put_alert(struct alertdb *d, uint64_t fingerprint,
                      const struct alert_notice *n) WARN_UNUSED;
int alertdb_put_evidence(struct alertdb *d, uint64_t fingerprint,
                         struct labels evidence) WARN_UNUSED;
/* Deletes those that keep says no to. */
int alertdb_clean_alerts(struct alertdb *d, bool (*keep)(void *ctx, uint64_t fingerprint),
                         void *ctx) WARN_UNUSED;

int alertdb_put_told(struct alertdb *d, const struct dispatch_log *l) WARN_UNUSED; /* -1: deleted */
int alertdb_put_silence(struct alertdb *d, const struct silence *s) WARN_UNUSED;
int alertdb_drop_silence(struct alertdb *d, const char *id) WARN_UNUSED;
int alertdb_drop_held(struct alertdb *d) WARN_UNUSED; /* all of them, before they are put anew */
int alertdb_put_held(struct alertdb *d, const struct delivery_held *h) WARN_UNUSED;

/* Everything, in this order; what a visitor is given is valid during the call. A visitor's error
 * ends it and is returned. */
struct alertdb_visitor {
    int (*silence)(void *ctx, const struct silence *s);
    int (*told)(void *ctx, const struct dispatch_log *l);
    int (*alert)(void *ctx, const struct alert_notice *n, struct labels evidence);
    int (*held)(void *ctx, const struct delivery_held *h);
    void *ctx;
};
int alertdb_read(struct alertdb *d, const struct alertdb_visitor *v, size_t *ret_n_bad) WARN_UNUSED;

#endif
