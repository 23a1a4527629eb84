/* SPDX-License-Identifier: Apache-2.0 */
/*
 * daemon/admin.h - the admin thread: a loop with api/ on its own listener, and what has to be
 *            put together over all workers once a second.
 */
#ifndef DAEMON_ADMIN_H
#define DAEMON_ADMIN_H

#include "api/api.h"
#include "base/attr.h"
#include "io/addr.h"

struct admin;

/* Listens and starts the thread, which calls tick(sources->arg) once a second. Negative errno. */
int admin_start(const struct addr *at, const struct api_sources *sources, void (*tick)(void *arg),
                struct admin **ret) WARN_UNUSED;
struct admin *admin_stop(struct admin *a); /* NULL is allowed; returns NULL */

/* Answers those who asked for a reload up to that number; from any thread. -ENOMEM. */
int admin_post_reloaded(struct admin *a, const struct api_reloaded *r) WARN_UNUSED;

/* Whether its loop still turns: daemon/pulse.h. By one thread. */
bool admin_beats(struct admin *a);

const char *admin_text(const struct admin *a); /* address as bound */

#endif
