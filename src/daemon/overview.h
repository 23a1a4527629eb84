/* SPDX-License-Identifier: Apache-2.0 */
/*
 * daemon/overview.h - what the status page shows of this process, beside what api/ knows itself.
 *
 * Role:      one table of parts for each upstream: who adds something to upstreams adds a row in
 *            overview.c, and it is on the page.
 * Threading: the admin thread, with what is borrowed locked by the caller; overview_set_reload by
 *            the main thread.
 */
#ifndef DAEMON_OVERVIEW_H
#define DAEMON_OVERVIEW_H

#include <pthread.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/jsonw.h"
#include "daemon/config.h"
#include "daemon/listeners.h"
#include "daemon/upstreams.h"

struct overview {
    wall_t started;
    mono_t t_started;
    pthread_mutex_t _lock;
    struct buf _reload; /* members of the last reload's object; empty: there was none */
};

/* What it looks at. */
struct overview_of {
    const struct config *config;
    const struct listeners *listeners;
    struct upstreams *upstreams;
    size_t n_workers;
    bool has_tls;
    bool is_draining;
};

void overview_init(struct overview *o);
void overview_done(struct overview *o);

/* The report of a reload that has just been tried, as JSON. */
void overview_set_reload(struct overview *o, wall_t at, struct span json);

/* Members of the object that is open in w. */
void overview_write(struct overview *o, const struct overview_of *of, struct jsonw *w);

/* One object per upstream into the array that is open in w. */
void overview_upstreams(const struct overview_of *of, struct jsonw *w);

#endif
