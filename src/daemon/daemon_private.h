/* SPDX-License-Identifier: Apache-2.0 */
/*
 * daemon/daemon_private.h - private to daemon/daemon*: the object that everything is wired in.
 *
 * Threading: by member; what is written after the start is under lock, or atomic.
 */
#ifndef DAEMON_DAEMON_PRIVATE_H
#define DAEMON_DAEMON_PRIVATE_H

#include <pthread.h>
#include <stdatomic.h>

#include "api/recent.h"
#include "daemon/admin.h"
#include "daemon/alarms.h"
#include "daemon/collecting.h"
#include "daemon/control.h"
#include "daemon/daemon.h"
#include "daemon/discovery.h"
#include "daemon/entrance.h"
#include "daemon/history.h"
#include "daemon/keywatch.h"
#include "daemon/listeners.h"
#include "daemon/overview.h"
#include "daemon/probes.h"
#include "daemon/routing.h"
#include "daemon/succession.h"
#include "daemon/upstreams.h"
#include "daemon/watchdog.h"
#include "daemon/worker.h"
#include "export/jsonlog.h"

struct daemon {
    struct config *config;
    struct gateway_config *gateway_config;
    struct routes *routes;
    struct routing_listed listed[GATEWAY_UPSTREAMS_MAX];
    struct discovery *discovery; /* NULL: nobody is asked */
    struct probes *probes;
    struct keywatch keys;
    /* config, gateway_config, routes, listed, keys, and the order in which workers hear of them:
     * discovery's thread and the admin thread. */
    pthread_mutex_t lock;
    size_t n_upstreams;
    struct metrics *metrics;
    struct recent *recent;
    struct jsonlog *log;
    struct store *store;           /* NULL: nothing is kept */
    struct alarms *alarms;         /* NULL: likewise */
    struct collecting *collecting; /* NULL: likewise */
    struct label own_pairs[HISTORY_OWN_LABELS];
    struct labels own_labels; /* of our series in the store */
    struct hops hops;
    struct watchdog watchdog;
    struct resolver *resolver;
    struct upstreams upstreams;
    struct listeners listeners;
    struct tls_context *tls;                       /* of clients; NULL: plain HTTP */
    struct tls_context *listen_tls[LISTENERS_MAX]; /* the same, or NULL; borrowed */
    struct worker **workers;
    size_t n_workers;
    struct admin *admin;
    struct entrance entrance;
    struct control control;
    struct overview overview;
    struct succession succession;
    atomic_size_t n_accepting; /* workers that still do */
    atomic_bool is_draining;
};

/* daemon_parts.c: what workers and admin share, and the workers themselves, not started yet. */
int daemon_shared_open(struct daemon *d, struct err *reterr) WARN_UNUSED;
int daemon_workers_open(struct daemon *d, struct err *reterr) WARN_UNUSED;
int daemon_probes_open(struct daemon *d, struct err *reterr) WARN_UNUSED;

/* daemon_sources.c: the admin listener and what it asks, and what is looked at once a second. */
int daemon_admin_open(struct daemon *d, struct err *reterr) WARN_UNUSED;

/* daemon_reload.c: what workers go by; which models upstreams list. */
struct worker_settings daemon_settings(const struct daemon *d, const struct config *config,
                                       struct routes *routes, struct keyring *ring);
int daemon_discovery_open(struct daemon *d, struct err *reterr) WARN_UNUSED;

#endif
