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
 * Units:     ms since the epoch. A clock that steps back delays nothing by more than the step.
 * Threading: one owner.
 */
#ifndef ALERT_DISPATCH_H
#define ALERT_DISPATCH_H

#include "alert/receiver.h"
#include "alert/silence.h"
#include "rules/notice.h"

struct dispatch;
int dispatch_new(struct alert_file *file, struct span external_url,
                 struct dispatch **ret) WARN_UNUSED;
struct dispatch *dispatch_free(struct dispatch *d);
/* Groups of routes that are the same (by key) go on. */
int dispatch_configure(struct dispatch *d, struct alert_file *file) WARN_UNUSED;

int dispatch_put(struct dispatch *d, const struct alert_notice *n, int64_t now_ms) WARN_UNUSED;

/* When something becomes due; INT64_MAX: nothing. */
int64_t dispatch_next_ms(const struct dispatch *d);

/* A message that is due: group and integration are told apart by token. */
struct dispatch_due {
    uint64_t token;
    const struct alert_receiver *receiver;
    const struct alert_integration *integration;
    struct alert_message message; /* in the arena */
};
/* The next one, 1; 0: none is due now. Until dispatch_told or dispatch_failed the same group and
 * integration is not handed out again. */
int dispatch_next(struct dispatch *d, const struct silences *s, int64_t now_ms, struct arena *a,
                  struct dispatch_due *ret) WARN_UNUSED;
void dispatch_told(struct dispatch *d, uint64_t token, int64_t now_ms);
/* retry_ms: when it may be handed out again, then with what is new. */
void dispatch_failed(struct dispatch *d, uint64_t token, int64_t retry_ms);

/* What was told to whom, for the next start: one row per group and integration. */
struct dispatch_log {
    struct span group_key, receiver;
    int integration;
    int64_t told_ms;
    const uint64_t *firing, *resolved; /* fingerprints */
    size_t n_firing, n_resolved;
};
int dispatch_each_log(const struct dispatch *d,
                      int (*visit)(void *ctx, const struct dispatch_log *l), void *ctx) WARN_UNUSED;
int dispatch_restore(struct dispatch *d, const struct dispatch_log *l) WARN_UNUSED;

#endif
