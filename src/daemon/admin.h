/* SPDX-License-Identifier: Apache-2.0 */
/*
 * daemon/admin.h - the admin thread: a loop with api/ on its own listener, and what has to be
 *            put together over all workers once a second.
 */
#ifndef DAEMON_ADMIN_H
#define DAEMON_ADMIN_H

#include "api/api.h"
#include "base/attr.h"

struct admin;

/* Listens on fd, which stays the caller's, and calls tick(sources->arg) once a second from
 * admin_start on. Negative errno. */
int admin_new(int fd, const struct api_sources *sources, void (*tick)(void *arg),
              struct admin **ret) WARN_UNUSED;
int admin_start(struct admin *a) WARN_UNUSED; /* starts the thread */
void admin_stop(struct admin *a);             /* joins it; NULL is allowed */
/* Stops and frees; what was posted last still runs. NULL is allowed; returns NULL. */
struct admin *admin_free(struct admin *a);
struct loop *admin_loop(struct admin *a);

/* On its thread: stops accepting, since another process does; looks for connections that only
 * another process was told of. */
void admin_hand_over(struct admin *a);
void admin_look(struct admin *a);

/* Answers those who asked for a reload up to that number; from any thread. -ENOMEM. */
int admin_post_reloaded(struct admin *a, const struct api_reloaded *r) WARN_UNUSED;

/* Whether its loop still turns: daemon/pulse.h. By one thread. */
bool admin_beats(struct admin *a);

#endif
