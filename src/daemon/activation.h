/* SPDX-License-Identifier: Apache-2.0 */
/*
 * daemon/activation.h - listening sockets from a service manager (sd_listen_fds(3)'s protocol).
 *
 * Role:      LISTEN_PID, LISTEN_FDS, LISTEN_FDNAMES. A socket named "admin", or bound to
 *            admin.listen, is for the admin listener; the others are for clients: each by its
 *            address, or all in the order of `listen` where there are as many.
 * Threading: before there are threads, since it changes the environment.
 */
#ifndef DAEMON_ACTIVATION_H
#define DAEMON_ACTIVATION_H

#include "base/attr.h"
#include "base/err.h"
#include "daemon/config.h"
#include "daemon/inherited.h"

/*
 * Adds the sockets; their addresses become those of the configuration that they are for, so that
 * inherited_find finds them. Without any: 0. -EINVAL: what is wrong with them, and what to do.
 */
int activation_take(const struct config *c, struct inherited *in, struct err *reterr) WARN_UNUSED;

#endif
