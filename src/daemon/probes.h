/* SPDX-License-Identifier: Apache-2.0 */
/*
 * daemon/probes.h - asks upstreams by itself what traffic does not tell.
 *
 * Role:      every probe.interval, for each upstream on its own schedule: how long a new connection
 *            takes (name, TCP, TLS) while it is idle; and how long its tokenizer takes for a fixed
 *            text, where it has one (dialect/tokenizer.h), also under load. Connections are made
 *            as those of requests: same addresses, proxy, certificates.
 * Traffic:   probes are none: they are in no count of requests, connections or bytes. Of keys only
 *            the upstream's own goes, to that upstream.
 * Asking:    one thing at a time per upstream, answers within 10 s, of at most 64 KiB. Which form
 *            a tokenizer understands is found out once. One that is not there is not asked again
 *            before the upstream was away or the configuration changed; one that has only
 *            failed so far, less and less often, down to once in 64 times.
 * Which:     "probe" of an upstream; "auto": those without TLS, since the others are often
 *            services that are paid by the request.
 * Threading: a thread of its own. The functions below: one thread.
 */
#ifndef DAEMON_PROBES_H
#define DAEMON_PROBES_H

#include "daemon/config.h"
#include "daemon/upstreams.h"
#include "policy/routes.h"

struct probes;

struct probes_deps {
    struct config *config;
    struct gateway_config *gateway;
    struct routes *routes; /* for the upstreams' keys */
    struct upstreams *upstreams;
    struct metrics *metrics;
    struct resolver *resolver;
};

/* What is pointed to outlives it, or is referenced. -ENOMEM, -errno. */
int probes_start(const struct probes_deps *deps, struct probes **ret) WARN_UNUSED;

/* By these from now on; the upstreams are the same. -ENOMEM. */
int probes_post(struct probes *p, struct config *config, struct gateway_config *gateway,
                struct routes *routes) WARN_UNUSED;

/* As discovery_stop and discovery_free: before and after the resolver's end. */
void probes_stop(struct probes *p);
struct probes *probes_free(struct probes *p);

#endif
