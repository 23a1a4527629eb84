/* SPDX-License-Identifier: Apache-2.0 */
/*
 * incident/incidents_private.h - of this module only: what the door holds.
 *
 * Locks:     `lock` for what lives and the connection that writes; `read_lock` for the one that
 *            reads. Who reads holds one at a time, so that a long list holds up nobody who has
 *            alerts to tell; only where both connections are closed `read_lock` is taken behind it.
 * Threading: what is said to be under a lock is; the curves of those that live are written on the
 *            evaluator's thread only, and read there without a lock.
 */
#ifndef INCIDENT_INCIDENTS_PRIVATE_H
#define INCIDENT_INCIDENTS_PRIVATE_H

#include <pthread.h>
#include <stdatomic.h>

#include "incident/incident_db.h"

enum {
    INCIDENTS_LIVE_MAX = 64,
    INCIDENTS_RESUME_MS = 15 * 60 * 1000, /* rules need up to 10 min to tell again what fired */
    INCIDENTS_STEP_MS = 2 * 60 * 1000,    /* no ordinary time between two calls */
    INCIDENTS_SAVE_AGAIN_MS = 5000,
};

struct incidents {
    char path[4096];
    int64_t keep_ms, range_ms;

    pthread_mutex_t lock;
    struct db *db;         /* NULL: could not be opened again */
    struct incident *live; /* those that are not done or not written, oldest first */
    struct incident *open; /* the one of them that is; NULL */
    int64_t last_row;
    int64_t last_ms;        /* of the last call; 0: there was none */
    int64_t quiet_until_ms; /* what is not told is not over yet */
    int64_t forget_at_ms, look_at_ms;
    int save_error;
    int64_t save_failed_ms;
    size_t n_lost;

    pthread_mutex_t read_lock;
    struct db *reader; /* NULL: not yet */
    atomic_bool is_damaged;
};

/* incidents_save.c; under the lock. 0: all that lives is on disk. */
int incidents_flush(struct incidents *i, int64_t now_ms) WARN_UNUSED;
/* Looks whether the file is still in its place, and whole. */
void incidents_look_after_file(struct incidents *i);
void incidents_close_reader(struct incidents *i); /* under read_lock */

/* incidents_curves.c: on the evaluator's thread, without the lock. */
int incidents_take_curve(struct incidents *i, struct reader *r, int64_t now_ms) WARN_UNUSED;
/* Under the lock: those whose curves are whole are done. */
void incidents_finish_curves(struct incidents *i, int64_t now_ms);

/* incidents_read.c: the reading connection, under read_lock. */
int incidents_reader(struct incidents *i, struct db **ret) WARN_UNUSED;
/* r, of whoever read or wrote: damage is seen to with the next tick. */
int incidents_seen(struct incidents *i, int r);
struct incident *incidents_find_live(const struct incidents *i, struct span id); /* under lock */

/* One incident with what people did, for those who show it. */
struct incident_view {
    const struct incident *incident;
    const struct incident_act *acts;
    size_t n_acts;
    int64_t now_ms;   /* of the last call */
    int64_t range_ms; /* of rates */
};
/* Whether an alert of that name is marked. */
bool incident_view_is_noise(const struct incident_view *v, struct span name);
const struct incident_act *incident_view_acknowledged(const struct incident_view *v); /* NULL */

/* incident_write.c, incident_markdown.c */
void incident_write_summary(const struct incident_summary *s, struct jsonw *w);
int incident_write_view(const struct incident_view *v, struct jsonw *w) WARN_UNUSED;
int incident_markdown_print(const struct incident_view *v, struct buf *out) WARN_UNUSED;

#endif
