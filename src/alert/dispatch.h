/* SPDX-License-Identifier: Apache-2.0 */
/*
 * alert/dispatch.h - which receiver is told what, and when. Pure: time comes from outside.
 *
 * Role:      alerts in, due messages out. As Alertmanager: routes, groups (group_wait,
 *            group_interval, repeat_interval), dedupe by what was told last, resolved ones,
 *            silences, inhibition, time intervals. An alert that was not told again until its
 *            ends_ms counts as resolved then.
 * Lost not:  a message counts as told only when dispatch_told says so; until then its group stays
 *            due, and the next message holds all that is new meanwhile.
 * Units:     ms since the epoch. A clock that steps back delays nothing: timers step with it. One
 *            that steps forward (or a machine that slept) resolves no alert that was told in
 *            time: that is what it is taken for when nothing was asked for DISPATCH_TURN_MAX_MS.
 * Differs:   from Alertmanager 0.34 in this: a delivery that failed is tried again with what its
 *            group holds then; an alert that ended while it was silenced, inhibited or outside of
 *            its times is new when it fires again; a resolution that comes a second time is
 *            known.
 * Threading: one owner.
 */
#ifndef ALERT_DISPATCH_H
#define ALERT_DISPATCH_H

#include "alert/receiver.h"
#include "alert/silence.h"
#include "rules/notice.h"

enum { DISPATCH_TURN_MAX_MS = 30 * 1000 }; /* dispatch_next is called more often */

struct dispatch;
int dispatch_new(struct alert_file *file, struct span external_url,
                 struct dispatch **ret) WARN_UNUSED;
struct dispatch *dispatch_free(struct dispatch *d);
/* Groups of routes that are the same (by key) go on. */
int dispatch_configure(struct dispatch *d, struct alert_file *file) WARN_UNUSED;
int dispatch_set_url(struct dispatch *d, struct span external_url) WARN_UNUSED;

/* The latest of an alert. -ENOMEM: nothing has changed. */
int dispatch_put(struct dispatch *d, const struct alert_notice *n, int64_t now_ms) WARN_UNUSED;

/* When something becomes due; INT64_MAX: nothing. */
int64_t dispatch_next_ms(const struct dispatch *d);

/*
 * A message that is due. The token tells group and integration apart, is the same each time while
 * the group lives, and never another's. The file that receiver and integration belong to stays
 * until dispatch_told or dispatch_failed, whatever is configured.
 */
struct dispatch_due {
    uint64_t token;
    const struct alert_receiver *receiver;
    const struct alert_integration *integration;
    struct alert_message message; /* in the arena */
};
/*
 * The next one, 1; 0: none is due now; -ENOMEM: it is still due. Until dispatch_told or
 * dispatch_failed the same group and integration is not handed out again.
 */
int dispatch_next(struct dispatch *d, const struct silences *s, int64_t now_ms, struct arena *a,
                  struct dispatch_due *ret) WARN_UNUSED;
/* Of a group that is gone: counts in the log. */
void dispatch_told(struct dispatch *d, uint64_t token, int64_t now_ms);
/* retry_ms: when it may be handed out again, then with what is new. */
void dispatch_failed(struct dispatch *d, uint64_t token, int64_t retry_ms);

/* What was told to whom, for the next start: one row per group and integration. */
struct dispatch_log {
    struct span group_key, receiver;
    int integration;                   /* its log_number */
    int64_t told_ms;                   /* -1: forgotten; the row may go */
    const uint64_t *firing, *resolved; /* fingerprints */
    size_t n_firing, n_resolved;
};
int dispatch_each_log(const struct dispatch *d,
                      int (*visit)(void *ctx, const struct dispatch_log *l), void *ctx) WARN_UNUSED;
/* Those that changed since they were last visited here; one that visit fails for stays changed. */
int dispatch_each_changed_log(struct dispatch *d,
                              int (*visit)(void *ctx, const struct dispatch_log *l),
                              void *ctx) WARN_UNUSED;
/* What was told since is newer, and stays. */
int dispatch_restore(struct dispatch *d, const struct dispatch_log *l) WARN_UNUSED;

/* --- to look at: what is active, who keeps it quiet, who is told --- */

/* An alert as it stands now. */
struct dispatch_seen {
    const struct alert_view *alert; /* ends_ms: until when it holds untold again */
    int64_t updated_ms;             /* when it was put last */
    const char *silenced_by;        /* id of a silence, or NULL */
    const uint64_t *inhibited_by;   /* fingerprints: one, or none */
    size_t n_inhibited_by;
    const struct span *receivers; /* names, each once */
    size_t n_receivers;
};
/*
 * Those that fire, in the order of fingerprints. Everything is borrowed until visit returns; a
 * value that is not 0 ends it, and is returned.
 */
int dispatch_each_alert(const struct dispatch *d, const struct silences *s, int64_t now_ms,
                        int (*visit)(void *ctx, const struct dispatch_seen *one),
                        void *ctx) WARN_UNUSED;

struct dispatch_group {
    struct span receiver;
    struct labels labels;
    struct span muted_by; /* times that keep its route quiet now, or "" */
};
/*
 * Groups by labels, then by receiver: group (1: passes its alerts over), then alert for each that
 * fires, by labels, with this receiver only, then end. Groups without such are left out. A negative
 * value of any ends it, and is returned.
 */
struct dispatch_group_visitor {
    int (*group)(void *ctx, const struct dispatch_group *g);
    int (*alert)(void *ctx, const struct dispatch_seen *one);
    int (*end)(void *ctx);
    void *ctx;
};
int dispatch_each_group(const struct dispatch *d, const struct silences *s, int64_t now_ms,
                        const struct dispatch_group_visitor *v) WARN_UNUSED;

/* Alerts that fire or whose end is not told everywhere, and groups. */
void dispatch_counts(const struct dispatch *d, size_t *ret_alerts, size_t *ret_groups);

/* Whether an alert is one of those that are counted. */
bool dispatch_has(const struct dispatch *d, uint64_t fingerprint);

/* The number by which Alertmanager knows an alert. */
uint64_t dispatch_fingerprint(struct labels l);

#endif
