/* SPDX-License-Identifier: Apache-2.0 */
/*
 * daemon/daemon_sources.c - what the admin listener asks, and what its thread looks at once a
 * second.
 */
#include "daemon/daemon_private.h"

#include <errno.h>

#include "base/stat.h"
#include "daemon/prices.h"

/* --- what the admin listener asks (on the admin thread) --- */

static bool source_is_ready(void *arg, const char **ret_why)
{
    struct daemon *d = arg;

    *ret_why = "draining";
    return !atomic_load_explicit(&d->is_draining, memory_order_relaxed);
}

static void source_inflight(void *arg, struct jsonw *w)
{
    struct daemon *d = arg;

    for (size_t i = 0; i < d->n_workers; i++)
        worker_inflight_write(d->workers[i], w);
}

static void source_access(void *arg, struct api_access *ret)
{
    struct daemon *d = arg;

    entrance_access(&d->entrance, ret);
}

static void source_versions(void *arg, struct api_versions *ret)
{
    struct daemon *d = arg;

    ret->requests = recent_n_pushed(d->recent);
    alarms_versions(d->alarms, &ret->alerts, &ret->incidents);
    ret->targets = stat_sum(STAT_TARGET_CHANGES);
    ret->config = stat_sum(STAT_CONFIG_RELOADS) + stat_sum(STAT_CONFIG_RELOAD_FAILURES);
}

static struct overview_of overview_of(struct daemon *d)
{
    return (struct overview_of){.config = d->config,
                                .listeners = &d->listeners,
                                .upstreams = &d->upstreams,
                                .n_workers = d->n_workers,
                                .has_tls = d->tls != NULL,
                                .is_draining = atomic_load(&d->is_draining)};
}

static void source_status(void *arg, struct jsonw *w)
{
    struct daemon *d = arg;
    struct overview_of of;

    (void)pthread_mutex_lock(&d->lock);
    of = overview_of(d);
    overview_write(&d->overview, &of, w);
    struct config *c = config_ref(d->config);
    (void)pthread_mutex_unlock(&d->lock);
    history_write(d->store, c, w);
    config_unref(c);
    alarms_write(d->alarms, w);
}

static void source_upstreams(void *arg, struct jsonw *w)
{
    struct daemon *d = arg;
    struct overview_of of;

    (void)pthread_mutex_lock(&d->lock);
    of = overview_of(d);
    overview_upstreams(&of, w);
    (void)pthread_mutex_unlock(&d->lock);
}

static uint64_t source_reload(void *arg)
{
    struct daemon *d = arg;

    if (atomic_load_explicit(&d->is_draining, memory_order_relaxed))
        return 0;
    return control_ask_reload(&d->control);
}

/* --- what queries ask (on their threads) --- */

static int source_reader_open(void *arg, struct reader **ret)
{
    struct daemon *d = arg;

    return history_reader(d->store, ret);
}

static void source_reader_close(void *arg, struct reader *r)
{
    (void)arg;
    tsdb_reader_close(r);
}

/* The directory of the start: a reload does not change it. */
static int source_rows_open(void *arg, struct rows_reader **ret)
{
    struct daemon *d = arg;

    (void)pthread_mutex_lock(&d->lock);
    int r = d->store ? history_rows(d->config, ret) : -ENODEV;
    (void)pthread_mutex_unlock(&d->lock);
    return r;
}

static int source_rules_use(void *arg, void (*use)(void *ctx, struct rules *r), void *ctx)
{
    struct daemon *d = arg;

    return alarms_use_rules(d->alarms, use, ctx);
}

static int source_alerts_use(void *arg, void (*use)(void *ctx, struct alerts *a), void *ctx)
{
    struct daemon *d = arg;

    return alarms_use_alerts(d->alarms, use, ctx);
}

static int source_incidents_use(void *arg, void (*use)(void *ctx, struct incidents *i), void *ctx)
{
    struct daemon *d = arg;

    return alarms_use_incidents(d->alarms, use, ctx);
}

static int source_review_use(void *arg, void (*use)(void *ctx, const struct review_question *from),
                             void *ctx)
{
    struct daemon *d = arg;

    return alarms_use_review(d->alarms, use, ctx);
}

static void source_query_limits(void *arg, struct api_query_limits *ret)
{
    struct daemon *d = arg;

    (void)pthread_mutex_lock(&d->lock);
    *ret = (struct api_query_limits){.timeout_ns = d->config->query_timeout_ns,
                                     .max_samples = d->config->query_max_samples,
                                     .max_bytes = (size_t)d->config->query_max_bytes};
    (void)pthread_mutex_unlock(&d->lock);
}

static void source_targets(void *arg, struct jsonw *w)
{
    struct daemon *d = arg;

    (void)pthread_mutex_lock(&d->lock);
    if (d->store)
        history_target_write(d->config, d->listeners.texts[d->listeners.n], w);
    (void)pthread_mutex_unlock(&d->lock);
    if (d->collecting)
        collector_write_active(collecting_collector(d->collecting), w);
}

static void source_dropped_targets(void *arg, struct jsonw *w)
{
    struct daemon *d = arg;

    if (d->collecting)
        collector_write_dropped(collecting_collector(d->collecting), w);
}

static void source_dropped_counts(void *arg, struct jsonw *w)
{
    struct daemon *d = arg;

    if (d->collecting)
        collector_write_dropped_counts(collecting_collector(d->collecting), w);
}

static void source_collected(void *arg, struct jsonw *w)
{
    struct daemon *d = arg;

    if (d->collecting)
        collector_write_state(collecting_collector(d->collecting), w);
}

static void source_prices(void *arg, struct jsonw *w)
{
    struct daemon *d = arg;

    (void)pthread_mutex_lock(&d->lock);
    prices_write(d->config, w);
    (void)pthread_mutex_unlock(&d->lock);
}

/* --- what the admin thread does once a second --- */

static void watch_upstreams(void *arg)
{
    struct daemon *d = arg;
    struct observe_waiting sums[GATEWAY_UPSTREAMS_MAX] = {0};
    struct observe_waiting one[GATEWAY_UPSTREAMS_MAX];

    for (size_t i = 0; i < d->n_workers; i++) {
        worker_waiting(d->workers[i], one, d->n_upstreams);
        for (size_t k = 0; k < d->n_upstreams; k++)
            watchdog_add(&sums[k], &one[k]);
    }
    watchdog_look(&d->watchdog, sums, clock_mono());
    upstreams_look(&d->upstreams);
}

/* Workers that could not be told are told with the next look. */
static void watch_keys(struct daemon *d)
{
    int r = 0;

    (void)pthread_mutex_lock(&d->lock);
    if (keywatch_look(&d->keys)) {
        for (size_t i = 0; i < d->n_workers && r == 0; i++)
            r = worker_post_keyring(d->workers[i], d->keys.now.ring);
        if (r < 0)
            keywatch_again(&d->keys);
    }
    (void)pthread_mutex_unlock(&d->lock);
}

static void watch(void *arg)
{
    watch_upstreams(arg);
    watch_keys(arg);
}

int daemon_admin_open(struct daemon *d, struct err *reterr)
{
    struct api_sources sources = {.versions = source_versions,
                                  .access = source_access,
                                  .metrics = d->metrics,
                                  .recent = d->recent,
                                  .is_ready = source_is_ready,
                                  .inflight = source_inflight,
                                  .reload = source_reload,
                                  .status = source_status,
                                  .upstreams = source_upstreams,
                                  .reader_open = source_reader_open,
                                  .reader_close = source_reader_close,
                                  .rows_open = source_rows_open,
                                  .query_limits = source_query_limits,
                                  .rules_use = source_rules_use,
                                  .alerts_use = source_alerts_use,
                                  .incidents_use = source_incidents_use,
                                  .review_use = source_review_use,
                                  .targets = source_targets,
                                  .dropped_targets = source_dropped_targets,
                                  .dropped_counts = source_dropped_counts,
                                  .collected = source_collected,
                                  .prices = source_prices,
                                  .own_labels = d->own_labels,
                                  .arg = d};
    int r = admin_new(d->listeners.fds[d->listeners.n], &sources, watch, &d->admin);

    return r < 0 ? err_set(reterr, r, "could not set up the admin listener: %s", err_str(r)) : 0;
}
