/* SPDX-License-Identifier: Apache-2.0 */
/*
 * daemon/discovery.h - asks upstreams now and then which models they serve (GET /v1/models).
 *
 * Role:      for upstreams without "models" in the configuration, where there are several: two
 *            addresses are then enough to route by name.
 * Failing:   an upstream that does not answer with a list keeps the list it had; said once.
 * Limits:    DISCOVERY_BODY_MAX of an answer, DISCOVERY_NAMES_MAX names of an upstream, each below
 *            DIALECT_MODEL_MAX; what is beyond is left out.
 * Threading: a thread of its own; on_listed is called there. The rest: one thread.
 */
#ifndef DAEMON_DISCOVERY_H
#define DAEMON_DISCOVERY_H

#include "base/attr.h"
#include "gateway/gateway.h"
#include "policy/routes.h"

enum { DISCOVERY_NAMES_MAX = 2000, DISCOVERY_BODY_MAX = 1024 * 1024 };

struct discovery;

struct discovery_deps {
    struct gateway_config *config;
    struct routes *routes; /* their keys and names */
    struct resolver *resolver;
    int64_t every_ns;
    bool is_asked[GATEWAY_UPSTREAMS_MAX]; /* which upstreams */
    /* The list has changed. names are valid during the call. */
    void (*on_listed)(void *arg, size_t upstream, const char *const *names, size_t n);
    void *arg;
};

/* The first round begins at once. -ENOMEM, -errno. */
int discovery_start(const struct discovery_deps *deps, struct discovery **ret) WARN_UNUSED;

/* Keys from now on. -ENOMEM. */
int discovery_post_routes(struct discovery *d, struct routes *routes) WARN_UNUSED;

/* Before the resolver is gone; frees but for the loop, on which the resolver's last answers come.
 */
void discovery_stop(struct discovery *d);
/* After the resolver is gone. NULL is allowed; returns NULL. */
struct discovery *discovery_free(struct discovery *d);

#endif
