/* SPDX-License-Identifier: Apache-2.0 */
/*
 * incident/incident.h - of this module only: one incident, and what alerts and time make of it.
 *
 * Shape:     an episode is one time that an alert fired. An alert that begins again gets another
 *            one; only the last of those with the same labels can fire. Without room for another
 *            the last one goes on.
 * States:    open (fires, or may come back), closed (waits for the rest of its curves), done.
 * Memory:    an arena of its own for labels and texts.
 * Errors:    -ENOMEM: nothing has changed.
 * Threading: pure.
 */
#ifndef INCIDENT_INCIDENT_H
#define INCIDENT_INCIDENT_H

#include "base/buf.h"
#include "incident/curves.h"
#include "incident/incidents.h"

enum { INCIDENT_PACKED_MAX = 1024 * 1024 }; /* bytes of one curve */

enum incident_state { INCIDENT_OPEN, INCIDENT_CLOSED, INCIDENT_DONE };

struct incident_episode {
    struct labels labels, annotations;
    struct labels evidence; /* what delivery found out */
    uint64_t hash;          /* of the labels */
    struct span expr, url;
    int64_t from_ms, to_ms;   /* to_ms 0: it fires */
    int64_t told_until_ms;    /* while it fires: untold, it ends then */
    int64_t saved_until_ms;   /* what of that is on disk */
    double value, last_value; /* when it began, and last */
    unsigned n_evidence;      /* how often that was replaced */
    bool is_dirty;
};

struct incident_curve {
    struct buf packed;  /* empty: nothing was taken yet */
    int64_t covered_ms; /* up to here, not included; 0: nothing */
    int64_t retry_ms;
    unsigned n_failures;
    bool is_dirty, is_complete;
};

struct incident {
    int64_t row; /* in the database, given by us */
    char id[INCIDENT_ID_BYTES];
    enum incident_state state;
    int64_t from_ms, to_ms; /* to_ms 0: something fires */
    int64_t over_ms;        /* by the caller's clock: when nothing fired any more; 0 */
    struct incident_episode *episodes;
    size_t n_episodes, _cap;
    size_t n_firing;
    bool is_cut; /* alerts that began found no room */
    bool is_dirty;
    struct incident_curve curves[CURVES_MAX];
    struct arena arena;
    struct incident *next; /* of whoever holds it */
};

int incident_new(int64_t from_ms, struct incident **ret) WARN_UNUSED;
struct incident *incident_free(struct incident *c); /* NULL is allowed; returns NULL */

/* Whether an alert is for incidents at all, and which of two tiers is the graver. */
bool incident_is_grave(struct labels alert);
struct span incident_tier(const struct incident *c);

/* What a rule told. A firing alert opens it again while it is not closed. */
int incident_fire(struct incident *c, const struct alert_notice *n) WARN_UNUSED;
void incident_resolve(struct incident *c, const struct alert_notice *n, int64_t now_ms);
/* Alerts that were told last so long ago that they do not hold any more. */
void incident_expire(struct incident *c, int64_t now_ms);
/* false: there is no such alert. */
int incident_add_evidence(struct incident *c, struct labels alert, struct labels evidence,
                          bool *ret_is_there) WARN_UNUSED;
/* The last of these labels; NULL. */
struct incident_episode *incident_find(const struct incident *c, struct labels alert);

/* Adds an episode as it is (texts in the arena), as read from a file. */
int incident_add_episode(struct incident *c, const struct incident_episode *e) WARN_UNUSED;
/* The end of the last curves. */
int64_t incident_curves_end(const struct incident *c);
bool incident_is_unsaved(const struct incident *c);

#endif
