/* SPDX-License-Identifier: Apache-2.0 */
/*
 * daemon/routing.h - from configuration to the table of routes; reads the upstreams' API keys.
 *
 * Errors:    a key that cannot be read names the upstream and the file or variable, never the key.
 * Threading: the main thread.
 */
#ifndef DAEMON_ROUTING_H
#define DAEMON_ROUTING_H

#include "base/attr.h"
#include "base/err.h"
#include "daemon/config.h"
#include "policy/routes.h"

/* One reference in *ret. -ENOMEM, -EINVAL, or why a file could not be read. */
int routing_build(const struct config *c, struct routes **ret, struct err *reterr) WARN_UNUSED;

#endif
