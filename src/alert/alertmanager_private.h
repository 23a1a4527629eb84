/* SPDX-License-Identifier: Apache-2.0 */
/*
 * alert/alertmanager_private.h - between what is configured (alertmanagers.c) and what is
 * sent (alertmanager.c).
 */
#ifndef ALERT_ALERTMANAGER_PRIVATE_H
#define ALERT_ALERTMANAGER_PRIVATE_H

#include "alert/alertmanager.h"
#include "alert/map.h"
#include "base/list.h"
#include "base/rng.h"

struct waiting {
    struct list node;
    struct alert_map_node by_alert;
    bool is_sent; /* in the request that is under way */
    char *json;
    size_t n;
};

struct alertmanager {
    char *url; /* with the path */
    char *shown;
    struct list line;
    struct alert_map by_alert;
    struct receiver_request request;
    struct arena arena;       /* of the request */
    bool is_sending, is_gone; /* gone: from the configuration, while sending */
    int n_fails;
    int64_t not_before_ms;
    uint64_t n_taken, n_failed, n_dropped;
    int64_t last_ok_ms, last_failed_ms;
    struct err why;
};

struct alertmanagers {
    struct transport *transport;
    transport_done done;
    void *ctx;
    struct rng rng;
    struct alertmanager *at[ALERTMANAGERS_MAX];
    size_t n;
    struct alertmanager *gone[ALERTMANAGERS_MAX]; /* with a request under way */
    size_t n_gone;
    struct labels external;
    struct arena arena; /* of external */
};

void alertmanagers_forget(struct alertmanager *a, struct waiting *w);
struct alertmanager *alertmanagers_free_one(struct alertmanager *a); /* returns NULL */

#endif
