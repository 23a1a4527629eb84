/* SPDX-License-Identifier: Apache-2.0 */
/*
 * daemon/daemon_reload.c - a new configuration or new routes while it runs: checked whole, then
 * told to every worker.
 */
#include "daemon/daemon_private.h"

#include <errno.h>
#include <string.h>

#include "base/limits.h"
#include "base/log.h"
#include "daemon/objectives.h"

struct worker_settings daemon_settings(const struct daemon *d, const struct config *config,
                                       struct routes *routes, struct keyring *ring)
{
    return (struct worker_settings){.policy = {.routes = routes,
                                               .keyring = ring,
                                               .key_use = d->keys.use,
                                               .business = config->business,
                                               .inject_usage = config->usage_inject},
                                    .observer = {.timeline_every = (uint32_t)config->timeline_every,
                                                 .runaway_tokens = (int64_t)config->runaway_tokens,
                                                 .runaway_ns = config->runaway_ns},
                                    .cut_after_ns = config->cut_after_ns,
                                    .cuts_runaways = config->runaway_cut,
                                    .slos = config->slo_set};
}

/* --- models that upstreams list --- */

static int workers_tell(struct daemon *d, const struct config *config,
                        struct gateway_config *gateway, struct routes *routes, struct keyring *ring,
                        struct err *reterr)
{
    struct worker_settings settings = daemon_settings(d, config, routes, ring);
    int r = 0;

    for (size_t i = 0; r == 0 && i < d->n_workers; i++) {
        r = worker_post_config(d->workers[i], gateway, &settings);
        if (r < 0)
            err_set(reterr, r, "could not tell worker %zu: %s", i, err_str(r));
    }
    return r;
}

static int routes_relist(struct daemon *d, size_t upstream, const char *const *names, size_t n,
                         struct err *reterr)
{
    struct routes *routes = NULL;
    int r = routing_listed_set(&d->listed[upstream], names, n);

    if (r < 0)
        return err_set(reterr, r, "out of memory");
    r = routing_build(d->config, d->listed, &routes, reterr);
    if (r == 0)
        r = workers_tell(d, d->config, d->gateway_config, routes, d->keys.now.ring, reterr);
    if (r == 0) {
        routes_unref(d->routes);
        d->routes = routes_ref(routes);
    }
    routes_unref(routes);
    return r;
}

static void on_listed(void *arg, size_t upstream, const char *const *names, size_t n)
{
    struct daemon *d = arg;
    struct err e = {0};

    (void)pthread_mutex_lock(&d->lock);
    if (routes_relist(d, upstream, names, n, &e) < 0)
        LOG_ERROR("the models that an upstream lists are not routed: %s", e.text);
    (void)pthread_mutex_unlock(&d->lock);
}

/* One upstream gets everything anyway. */
int daemon_discovery_open(struct daemon *d, struct err *reterr)
{
    const struct config *c = d->config;
    struct discovery_deps deps = {.config = d->gateway_config,
                                  .routes = d->routes,
                                  .resolver = d->resolver,
                                  .every_ns = c->models_refresh_ns,
                                  .on_listed = on_listed,
                                  .arg = d};
    bool is_any = false;
    int r;

    for (size_t i = 0; i < c->upstreams.n; i++) {
        deps.is_asked[i] = c->upstreams.n > 1 && c->upstreams.items[i].models.n == 0;
        is_any = is_any || deps.is_asked[i];
    }
    if (!is_any || c->models_refresh_ns == 0)
        return 0;
    r = discovery_start(&deps, &d->discovery);
    return r < 0 ? err_set(reterr, r, "could not ask upstreams for models: %s", err_str(r)) : 0;
}

/* --- a new configuration --- */

/* A reload is all or nothing: one key that needs a restart refuses it, and all of those are named.
 */
static int reload_check(const struct config *from, const struct config *to, struct err *reterr)
{
    const char *paths[CONFIG_KEYS_MAX];
    size_t n = config_diff(from, to, CONFIG_RESTART, paths);
    struct buf names;
    int r = 0;

    if (n == 0)
        return 0;
    buf_init(&names, 4 * KIB);
    for (size_t i = 0; r == 0 && i < n; i++)
        r = buf_printf(&names, "%s%s", i > 0 ? ", " : "", paths[i]);
    err_set(reterr, -EBUSY, "changes only with a restart: %.*s", SPAN_ARG(buf_span(&names)));
    err_hint(reterr, "undo it in the file, or restart the program");
    buf_done(&names);
    return -EBUSY;
}

static int reload(struct daemon *d, struct config *config, struct file_mistakes *reterrs,
                  struct err *reterr)
{
    struct gateway_config *gateway = NULL;
    struct routes *routes = NULL;
    struct keywatch_reading keys = {0};
    struct alarms_files files = {0};
    struct collecting_files pages = {0};
    struct api_access access = {.open_health = false};
    int r = reload_check(d->config, config, reterr);

    if (r == 0)
        r = config_to_gateway(config, &gateway, reterr);
    if (r == 0)
        r = routing_build(config, d->listed, &routes, reterr);
    if (r == 0)
        r = listeners_check(&d->listeners, config, reterr);
    if (r == 0)
        r = entrance_read(config, &access, reterr);
    if (r == 0)
        r = keywatch_read(&d->keys, config->access_keys, &keys, reterr);
    if (r == 0 && d->alarms)
        r = alarms_read(config, &files, reterrs, reterr);
    if (r == 0 && d->collecting)
        r = collecting_read(config, &pages, reterrs, reterr);
    if (r == 0 && d->tls)
        r = tls_context_reload(d->tls, reterr);
    if (r == 0) {
        r = metrics_set_bounds(d->metrics, config->all_bounds.items, config->all_bounds.n);
        if (r < 0)
            err_set(reterr, r, "could not change the histogram bounds: %s", err_str(r));
    }
    if (r == 0)
        r = workers_tell(d, config, gateway, routes, keys.ring, reterr);
    if (r == 0 && d->alarms) {
        r = alarms_configure(d->alarms, config, &files);
        if (r < 0)
            err_set(reterr, r, "could not take the rules: %s", err_str(r));
    }
    if (r == 0 && d->collecting) {
        r = collecting_configure(d->collecting, &pages);
        if (r < 0)
            err_set(reterr, r, "could not take the targets: %s", err_str(r));
    }
    if (r == 0) {
        r = d->discovery ? discovery_post_routes(d->discovery, routes) : 0;
        if (r == 0)
            r = probes_post(d->probes, config, gateway, routes);
        if (r < 0)
            err_set(reterr, r, "could not tell those who ask upstreams: %s", err_str(r));
    }
    if (r == 0) {
        upstreams_limit(&d->upstreams, gateway);
        log_level_set(config->log_level);
        atomic_store_explicit(&d->watchdog.hung_after_ns, config->hung_after_ns,
                              memory_order_relaxed);
        history_configure(d->store, config);
        metrics_allow_models(d->metrics, (const char *const *)config->models.items,
                             config->models.n);
        objectives_announce(d->metrics, config);
        gateway_config_unref(d->gateway_config);
        d->gateway_config = gateway_config_ref(gateway);
        config_unref(d->config);
        d->config = config_ref(config);
        routes_unref(d->routes);
        d->routes = routes_ref(routes);
        keywatch_take(&d->keys, &keys);
        entrance_take(&d->entrance, &access);
    }
    explicit_bzero(&access, sizeof(access));
    if (r < 0)
        keywatch_again(&d->keys); /* some workers may have been told already */
    keywatch_drop(&keys);
    alarms_files_done(&files);
    collecting_files_done(&pages);
    routes_unref(routes);
    gateway_config_unref(gateway);
    return r;
}

int daemon_reload(struct daemon *d, struct config *config, struct file_mistakes *reterrs,
                  struct err *reterr)
{
    named_files_init(reterrs);
    (void)pthread_mutex_lock(&d->lock);
    int r = reload(d, config, reterrs, reterr);
    (void)pthread_mutex_unlock(&d->lock);
    return r;
}
