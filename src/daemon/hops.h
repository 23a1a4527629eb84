/* SPDX-License-Identifier: Apache-2.0 */
/*
 * daemon/hops.h - tells the operator, now and then, of a hop that holds streams back.
 *
 * Role:      a stream that timing/burst.h found to be buffered costs one line in the operator's
 *            log: per upstream, over all workers, one in HOPS_EVERY_NS.
 * Threading: any.
 */
#ifndef DAEMON_HOPS_H
#define DAEMON_HOPS_H

#include <stdatomic.h>
#include <stdbool.h>

#include "gateway/gateway.h"

#define HOPS_EVERY_NS (600 * NS_PER_S)

struct hops {
    struct gateway_config *_config; /* for the names, which stay as they are over a reload */
    _Atomic int64_t _told_ns[GATEWAY_UPSTREAMS_MAX]; /* 0: never */
};

void hops_init(struct hops *h, struct gateway_config *config); /* takes a reference */
void hops_done(struct hops *h);

/* Whether a line about that upstream is due at now; if so, it counts as told. */
bool hops_is_due(struct hops *h, const char *upstream, mono_t now);

/* A stream of that upstream came through a buffer of so many bytes. */
void hops_tell(struct hops *h, const char *upstream, int buffer_bytes);

#endif
