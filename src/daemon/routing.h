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

/* What upstreams listed, by their index. */
struct routing_listed {
    char **names;
    size_t n;
};

/* Copies names in place of those that were there. -ENOMEM: as before. */
int routing_listed_set(struct routing_listed *l, const char *const *names, size_t n) WARN_UNUSED;
void routing_listed_done(struct routing_listed *l);

/* One reference in *ret; listed: one per upstream. -ENOMEM, -EINVAL, or why a file could not be
 * read. */
int routing_build(const struct config *c, const struct routing_listed *listed, struct routes **ret,
                  struct err *reterr) WARN_UNUSED;

#endif
