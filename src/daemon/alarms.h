/* SPDX-License-Identifier: Apache-2.0 */
/*
 * daemon/alarms.h - rules evaluated and alerts delivered, as the configuration says.
 *
 * Role:      reads rule files and routes; the evaluator's thread, which waits for slots, evaluates,
 *            and puts what comes of it into the store and to delivery.
 * Order:     nothing is evaluated or delivered while another process has the data directory; what
 *            was told to whom is found in it once it is ours.
 * Files:     read as a whole before any of them counts (alarms_read), so that a mistake changes
 *            nothing: at the start it ends the program, on a reload the old ones stay.
 * Threading: alarms_use_* and alarms_write on any thread, the others on the main one.
 */
#ifndef DAEMON_ALARMS_H
#define DAEMON_ALARMS_H

#include "alert/alerts.h"
#include "daemon/config.h"
#include "daemon/named_files.h"
#include "incident/incidents.h"
#include "review/review.h"
#include "rules/rules.h"
#include "store/store.h"

/* What was read. */
struct alarms_files {
    struct rule_file **rules;
    size_t n_rules, n_ours;    /* ours stand first: those of the program, and of its SLOs */
    struct alert_file *routes; /* NULL: the built-in ones */
};
/* Failing: *reterr says why, with the first of the mistakes; there are none of a file that cannot
 * be read. */
int alarms_read(const struct config *c, struct alarms_files *ret, struct file_mistakes *reterrs,
                struct err *reterr) WARN_UNUSED;
void alarms_files_done(struct alarms_files *f);
/* More references to the same files. -ENOMEM. */
int alarms_files_copy(const struct alarms_files *from, struct alarms_files *ret) WARN_UNUSED;

struct alarms;
/* Starts the thread. c and f are referenced; store outlives it, and has the data directory. admin:
 * address of the admin listener as bound, copied. */
int alarms_new(struct config *c, const struct alarms_files *f, struct store *store,
               const char *admin, struct alarms **ret, struct err *reterr) WARN_UNUSED;
/* Before the store is closed. */
struct alarms *alarms_free(struct alarms *a);
/* Reload: -ENOMEM changes nothing. */
int alarms_configure(struct alarms *a, struct config *c, const struct alarms_files *f) WARN_UNUSED;

/* -ENODEV: a is NULL; -EBUSY: not open yet. */
int alarms_use_rules(struct alarms *a, void (*use)(void *ctx, struct rules *r), void *ctx);
int alarms_use_alerts(struct alarms *a, void (*use)(void *ctx, struct alerts *al), void *ctx);
int alarms_use_incidents(struct alarms *a, void (*use)(void *ctx, struct incidents *i), void *ctx);
/* What reviews judge by, as it is in force now; held until use returns. -ENOMEM, too. */
int alarms_use_review(struct alarms *a, void (*use)(void *ctx, const struct review_question *from),
                      void *ctx);

/* Numbers that are others when something is new: states of alerts and silences; incidents. NULL is
 * allowed. */
void alarms_versions(struct alarms *a, uint64_t *ret_alerts, uint64_t *ret_incidents);

/* "rules": {...}, "alerts": {...} into the object that is open in w. */
void alarms_write(struct alarms *a, struct jsonw *w);

#endif
