/* SPDX-License-Identifier: Apache-2.0 */
/*
 * alert/alerts.h - delivery of alerts: from a notice of a rule to a message at a person's door.
 *
 * Role:      the one door to this module. Takes notices (rules/notice.h), holds the alerts that are
 *            active, groups and routes them, leaves out what is silenced or inhibited, delivers to
 *            receivers and, beside it, to Alertmanagers; keeps silences, what was told to whom, and
 *            what could not be delivered in DIR/alerts.db over restarts.
 * Promise:   no notice is lost once alerts_put returned: a delivery that fails is tried again with
 *            back-off until it goes through or the group has nothing to say any more, is counted,
 *            and is shown (alerts_write_deliveries). A receiver that hangs, redirects or answers
 *            garbage delays no other.
 * Threading: one of its own for timers and transfers (libcurl multi); everything here may be called
 *            from any thread and does not wait for the network, but for alerts_test.
 * Errors:    negative errno. What cannot be delivered is no error of a call.
 * Shape:     dispatch (pure: alerts, groups, timers), silences, inhibition, receivers (pure: group
 *            to message, answer to verdict), delivery (attempts, rate, back-off), transport (curl).
 */
#ifndef ALERT_ALERTS_H
#define ALERT_ALERTS_H

#include "alert/file.h"
#include "base/jsonw.h"
#include "rules/notice.h"

/* Proxies: as libcurl finds them in the environment. Alertmanagers' certificates: of the system's
 * issuers. */
struct alerts_config {
    const char *dir;         /* of alerts.db; NULL: nothing is kept over restarts */
    struct alert_file *file; /* routes and receivers, referenced; NULL: the built-in ones */
    struct span external_url;
    const struct span *alertmanagers; /* base URLs */
    size_t n_alertmanagers;
    struct labels external_labels; /* added to what Alertmanagers get */
    /* Request ids behind an alert that begins to fire, and other numbers, as annotations; may be
     * NULL. Called on the thread of delivery, for a part of its time: where too many alerts begin
     * at once, the others are asked about with a later notice. *ret lives in a. */
    int (*evidence)(void *ctx, const struct alert_notice *n, struct arena *a, struct labels *ret);
    void *ctx;
};

struct alerts;
int alerts_new(const struct alerts_config *config, struct alerts **ret,
               struct err *reterr) WARN_UNUSED;
/* Lets transfers under way end (2 s), keeps the rest for the next start. */
struct alerts *alerts_free(struct alerts *a);
/* Reload: file, URLs; groups and what was told stay. */
int alerts_configure(struct alerts *a, const struct alerts_config *config) WARN_UNUSED;

/* -ENOMEM: not taken; tell again. */
int alerts_put(struct alerts *a, const struct alert_notice *notices, size_t n) WARN_UNUSED;

/* How long somebody waits: timeout_ms, and until is_over (NULL: never) returns something else than
 * 0, which is looked at some times a second. */
struct alerts_patience {
    int64_t timeout_ms;
    int (*is_over)(void *ctx);
    void *ctx;
};
/* Sends one test alert to a receiver and waits for what comes of it. The text says what was sent
 * where (no secrets) and what came back. -ENOENT: no such receiver; -EREMOTEIO: it was not taken,
 * and text says why; -ETIMEDOUT. */
int alerts_test(struct alerts *a, struct span receiver, const struct alerts_patience *patience,
                struct buf *text, struct err *reterr) WARN_UNUSED;

/* Alertmanager's API v2 shapes: GET alerts (filter=, active=, silenced=, inhibited=, receiver=),
 * alerts/groups (muted= besides), silences, silence/ID. */
struct alerts_filter {
    const struct matcher *matchers;
    size_t n_matchers;
    bool no_active, no_silenced, no_inhibited;
    bool no_muted;                  /* groups that their times keep quiet */
    const struct matcher *receiver; /* of its name; NULL: any */
};
void alerts_write(struct alerts *a, const struct alerts_filter *f, struct jsonw *w);
void alerts_write_groups(struct alerts *a, const struct alerts_filter *f, struct jsonw *w);
void alerts_write_silences(struct alerts *a, const struct alerts_filter *f, struct jsonw *w);
/* One silence; -ENOENT. Names of receivers; version, start, configuration (secrets hidden) and
 * whatever else clients of Alertmanager's status want. */
int alerts_write_silence(struct alerts *a, struct span id, struct jsonw *w) WARN_UNUSED;
void alerts_write_receivers(struct alerts *a, struct jsonw *w);
void alerts_write_status(struct alerts *a, struct jsonw *w);
/* Receivers, in order, of an alert with these labels: an array of names. */
int alerts_write_route(struct alerts *a, struct labels labels, struct jsonw *w) WARN_UNUSED;
/* Deliveries that failed and wait, and the last ones of each receiver. */
void alerts_write_deliveries(struct alerts *a, struct jsonw *w);

/* JSON of a silence as Alertmanager's POST silences; *ret_id: 36 bytes and NUL. With "id" it is
 * changed. -EINVAL, -ENOENT with a text. */
enum { SILENCE_ID_BYTES = 37 };
int alerts_silence(struct alerts *a, struct span json, char ret_id[SILENCE_ID_BYTES],
                   struct err *reterr) WARN_UNUSED;
int alerts_expire_silence(struct alerts *a, struct span id) WARN_UNUSED; /* -ENOENT */

struct alerts_stats {
    size_t n_active, n_groups, n_silences, n_waiting; /* waiting: deliveries */
    uint64_t n_delivered, n_failed_attempts, n_given_up;
};
void alerts_stats(struct alerts *a, struct alerts_stats *ret);

#endif
