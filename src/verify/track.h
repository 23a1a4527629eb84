/* SPDX-License-Identifier: Apache-2.0 */
/*
 * verify/track.h - the life of alerts, seen from outside: what /api/v1/rules said when.
 *
 * Role:      answers of the gateway or of a Prometheus (the same format) in, for each alert of a
 *            plan the moments of its first pending, firing and its end out. Moments are those of
 *            the evaluations, not of the questions, as long as a question comes at least once per
 *            evaluation.
 * Alerts:    are found by file, group and position among the group's alerts; one is as far as the
 *            furthest of its label sets.
 * Times:     ms since the epoch; VERIFY_NEVER.
 * Threading: pure.
 */
#ifndef VERIFY_TRACK_H
#define VERIFY_TRACK_H

#include "verify/plan.h"

#define VERIFY_NEVER INT64_MIN

enum verify_state { VERIFY_UNSEEN, VERIFY_INACTIVE, VERIFY_PENDING, VERIFY_FIRING };

struct verify_track {
    enum verify_state state;
    int64_t seen_ms;               /* evaluation that state is from */
    int64_t active_ms;             /* what the alert itself says, until it fires */
    int64_t pending_ms, firing_ms; /* first evaluation since verify_track_reset that found it so */
    int64_t ended_ms;              /* first one that found it inactive, behind firing_ms */
    char error[256];               /* of its evaluation, the last one that was told */
};

void verify_track_init(struct verify_track *t);
/* What was before does not count; the state stays. */
void verify_track_reset(struct verify_track *t);

/*
 * One answer. files: the paths by which the program that answers knows the plan's files.
 * tracks: one for each alert of the plan. -EPROTO: this is no such answer.
 */
int verify_track_read(const struct verify_plan *p, const char *const *files, struct span json,
                      struct verify_track *tracks) WARN_UNUSED;

const char *verify_state_name(enum verify_state s);

#endif
