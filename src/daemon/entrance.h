/* SPDX-License-Identifier: Apache-2.0 */
/*
 * daemon/entrance.h - the tokens of the admin listener, as the configuration names them.
 *
 * Role:      read at the start and at a reload; the admin thread asks for what is in force.
 * Errors:    -EINVAL, -ENOENT and others with text and hint, which never show what is in the file.
 * Threading: entrance_take and entrance_access by any thread; the rest is the caller's.
 */
#ifndef DAEMON_ENTRANCE_H
#define DAEMON_ENTRANCE_H

#include <pthread.h>

#include "api/api.h"
#include "daemon/config.h"

struct entrance {
    pthread_mutex_t _lock;
    struct api_access _now;
};

void entrance_init(struct entrance *e); /* open to everybody */
void entrance_done(struct entrance *e); /* nothing of the tokens stays in memory */

/* Whether the configuration names any token. */
bool entrance_is_configured(const struct config *c);

int entrance_read(const struct config *c, struct api_access *ret, struct err *reterr) WARN_UNUSED;
void entrance_take(struct entrance *e, const struct api_access *a);
void entrance_access(struct entrance *e, struct api_access *ret);

#endif
