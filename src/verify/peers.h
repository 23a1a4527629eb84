/* SPDX-License-Identifier: Apache-2.0 */
/*
 * verify/peers.h - the configuration files of the programs that a run starts.
 *
 * Format:    JSON, which all of them take as YAML.
 * Errors:    -ENOMEM, -EMSGSIZE.
 * Threading: pure.
 */
#ifndef VERIFY_PEERS_H
#define VERIFY_PEERS_H

#include "base/buf.h"

/* Says in Alertmanager who an alert came from: a Prometheus; the gateway's have no such label. */
#define VERIFY_SOURCE_LABEL "verify_source"
#define VERIFY_SOURCE_PROM  "prometheus"

struct verify_addresses {
    const char *engine, *metrics; /* URLs; metrics NULL: the engine's are not scraped */
    const char *admin;            /* URL of the gateway's admin listener */
    const char *alertmanager;     /* URL; NULL: none */
    const char *data_dir;
    const char *const *rules; /* paths */
    size_t n_rules;
};

int verify_peers_gateway(const struct verify_addresses *a, struct buf *out) WARN_UNUSED;
int verify_peers_prometheus(const struct verify_addresses *a, struct buf *out) WARN_UNUSED;
int verify_peers_alertmanager(struct buf *out) WARN_UNUSED;

#endif
