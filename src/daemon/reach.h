/* SPDX-License-Identifier: Apache-2.0 */
/*
 * daemon/reach.h - how an upstream is reached: its TLS context and its forward proxy.
 *
 * Role:      configuration and environment in, members of struct gateway_upstream out.
 * Errors:    -EINVAL, -ENOENT and other errno with text; -ENOMEM.
 */
#ifndef DAEMON_REACH_H
#define DAEMON_REACH_H

#include "daemon/config.h"

/* shared: the context of upstreams without settings of their own, NULL at first; a reference of the
 * caller's. to was parsed from u's URL. */
int reach_fill(const struct config_upstream *u, struct tls_context **shared,
               struct gateway_upstream *to, struct err *reterr) WARN_UNUSED;

#endif
