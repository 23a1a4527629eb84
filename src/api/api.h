/* SPDX-License-Identifier: Apache-2.0 */
/*
 * api/api.h - the admin listener: metrics, health, what is in flight, what was finished last.
 *
 * Role:      HTTP in front of what other threads know. Owns no state of its own; everything comes
 *            through struct api_sources. Answers that another thread has to make come later, and
 *            nothing waits for them but those who asked.
 * Threading: one loop, the admin thread's. Sources are called on it but where it says otherwise:
 *            queries run on two threads of their own (api/queries.h), which the first one starts.
 * Access:    struct api_access: without tokens whoever can reach the listener.
 */
#ifndef API_API_H
#define API_API_H

#include <stdbool.h>
#include <stdint.h>

#include "alert/alerts.h"
#include "api/recent.h"
#include "base/attr.h"
#include "base/jsonw.h"
#include "incident/incidents.h"
#include "io/loop.h"
#include "metrics/metrics.h"
#include "review/review.h"
#include "rules/rules.h"
#include "series/reader.h"
#include "store/rows.h"

/* What one query may take; 0: as promql has it, of time two minutes. */
struct api_query_limits {
    int64_t timeout_ns;
    uint64_t max_samples;
    size_t max_bytes;
};

/* Who may look, and who may change something. Texts end in NUL. */
enum { API_TOKEN_MIN = 16, API_TOKEN_MAX = 256, API_ORIGIN_MAX = 256 };
struct api_access {
    char read_token[API_TOKEN_MAX + 1], write_token[API_TOKEN_MAX + 1]; /* "": there is none */
    bool open_metrics, open_health; /* /metrics; /healthz and /readyz: without a token */
    int64_t session_ns;             /* how long a browser's login holds */
    uint64_t number;                /* another one when the tokens are */
    char origin[API_ORIGIN_MAX]; /* where people reach us beside Host: "https://a.example"; or "" */
};

/* Each is another number when there is something new. */
struct api_versions {
    uint64_t requests; /* finished */
    uint64_t alerts;   /* states of alerts, silences */
    uint64_t incidents;
    uint64_t targets; /* up or down */
    uint64_t config;  /* reloads, taken or not */
};

struct api_sources {
    /* NULL: nothing ever is. */
    void (*versions)(void *arg, struct api_versions *ret);
    /* What is in force now. NULL: everybody may everything. */
    void (*access)(void *arg, struct api_access *ret);
    const struct metrics *metrics;
    struct recent *recent;
    /* Whether traffic may be sent here; *ret_why: static text when not. */
    bool (*is_ready)(void *arg, const char **ret_why);
    /* Writes one JSON object per open exchange into the array that is open in w. */
    void (*inflight)(void *arg, struct jsonw *w);
    /* Members of the process' state into the object that is open in w: values, arrays and objects
     * of values. NULL: none. */
    void (*status)(void *arg, struct jsonw *w);
    /* One JSON object of values per upstream into the array that is open in w. NULL: none. */
    void (*upstreams)(void *arg, struct jsonw *w);
    /* Asks for a reload: its number, from 1, which api_reloaded tells later; 0: not any more. NULL:
     * there is nothing to reload. */
    uint64_t (*reload)(void *arg);
    /* A reader for one query, and its end: on threads of the queries, several at once. Negative
     * errno. NULL: there is no store. */
    int (*reader_open)(void *arg, struct reader **ret);
    void (*reader_close)(void *arg, struct reader *r);
    /* A reader of request rows, likewise; the callee closes it. -ENODEV: none are kept. NULL: the
     * same. */
    int (*rows_open)(void *arg, struct rows_reader **ret);
    /* What a query that comes now may take. NULL: nothing is limited beyond what is said there. */
    void (*query_limits)(void *arg, struct api_query_limits *ret);
    /* Labels that the store gives our own series beside their own (job, instance). */
    struct labels own_labels;
    /* Rules and alerts: use is called with them while nobody takes them away, on the listener's
     * thread; alerts_use on those of queries, too. -ENODEV: none are evaluated; -EBUSY: not yet.
     * NULL: none. */
    int (*rules_use)(void *arg, void (*use)(void *ctx, struct rules *r), void *ctx);
    int (*alerts_use)(void *arg, void (*use)(void *ctx, struct alerts *a), void *ctx);
    /* Likewise the record of incidents, on threads of queries. */
    int (*incidents_use)(void *arg, void (*use)(void *ctx, struct incidents *i), void *ctx);
    /* What an SLO review judges by: SLOs, rule files, incidents where there are any, the interval
     * of rules; held until use returns, which may take long. On threads of queries. -ENODEV, -EBUSY
     * as above. */
    int (*review_use)(void *arg, void (*use)(void *ctx, const struct review_question *from),
                      void *ctx);
    /* One JSON object per scraped target, as Prometheus has them, and per one that relabelling
     * dropped, into the array that is open in w; how many those are of each job, into the object.
     * NULL: none. On threads of queries, as collected. */
    void (*targets)(void *arg, struct jsonw *w);
    void (*dropped_targets)(void *arg, struct jsonw *w);
    void (*dropped_counts)(void *arg, struct jsonw *w);
    /* Members into the object that is open in w: what is scraped and measured beside the traffic
     * (collect/collector.h). NULL: nothing is. */
    void (*collected)(void *arg, struct jsonw *w);
    /* Members into the object that is open in w: what tokens cost (daemon/prices.h). NULL: nobody
     * knows. */
    void (*prices)(void *arg, struct jsonw *w);
    void *arg;
};

struct api;

int api_new(struct loop *l, const struct api_sources *sources, struct api **ret) WARN_UNUSED;
struct api *api_free(struct api *a);
int api_listen(struct api *a, int fd) WARN_UNUSED; /* fd stays the caller's */

/* Another process accepts from now on; connections that wait unseen: http/server.h. */
void api_hand_over(struct api *a);
void api_look(struct api *a);

/* What came of a reload, for all who asked for one with a number up to upto. On the loop's thread.
 */
struct api_reloaded {
    uint64_t upto;
    int status;
    struct span json, text; /* the same for programs and for people (Accept: text/plain) */
};
void api_reloaded(struct api *a, const struct api_reloaded *r);

#endif
