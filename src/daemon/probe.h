/* SPDX-License-Identifier: Apache-2.0 */
/*
 * daemon/probe.h - private to daemon/probe*: the probe of one upstream.
 */
#ifndef DAEMON_PROBE_H
#define DAEMON_PROBE_H

#include "dialect/tokenizer.h"
#include "gateway/gateway.h"
#include "http/client.h"
#include "metrics/metrics.h"
#include "policy/routes.h"

enum probe_tokenizer { PROBE_UNKNOWN, PROBE_PRESENT, PROBE_ABSENT };

struct probe {
    /* set by probes.c, some of it anew with a new configuration */
    struct loop *loop;
    const struct gateway_upstream *upstream;
    struct routes_credential key; /* the upstream's own */
    const char *model;            /* "" not known */
    struct http_pool *pool;
    struct metrics_series_set *set;

    struct timer late;
    struct http_client *client; /* under way, or NULL */
    struct buf head, request, answer;
    mono_t t_sent;
    int status;
    enum probe_tokenizer tokenizer;
    enum tokenizer_form form;
    uint32_t n_left_out, n_failed; /* times that it was not asked since; in a row */
    bool is_asking;                /* the one under way, for tokens */
    bool is_told;                  /* to the operator */
};

void probe_init(struct probe *p);
void probe_done(struct probe *p);

/* Once an interval. is_idle: there is no traffic that would tell. */
void probe_begin(struct probe *p, bool is_idle);
/* Breaks off what is under way. */
void probe_stop(struct probe *p);
/* What was found out about it holds no longer. */
void probe_forget(struct probe *p);

#endif
