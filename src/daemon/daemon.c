/* SPDX-License-Identifier: Apache-2.0 */
/*
 * daemon/daemon.c - wiring. Each part is opened by one function and closed in the reverse order by
 * daemon_stop, which copes with whatever was not opened yet.
 */
#include "daemon/daemon.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/resource.h>

#include "api/recent.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/stat.h"
#include "daemon/activation.h"
#include "daemon/admin.h"
#include "daemon/control.h"
#include "daemon/discovery.h"
#include "daemon/keywatch.h"
#include "daemon/listeners.h"
#include "daemon/overview.h"
#include "daemon/routing.h"
#include "daemon/succession.h"
#include "daemon/upstreams.h"
#include "daemon/watchdog.h"
#include "daemon/worker.h"
#include "export/jsonlog.h"

enum { RECENT_LINES = 1000, DESCRIPTORS_KEPT = 64 };

/* The next process is there already: idle connections have time for one more request each. */
#define SETTLE_HANDOVER_NS (2 * NS_PER_S)
/* A client that is connected has so long to send its request once a drain has begun. */
#define SETTLE_NS (200 * NS_PER_MS)

struct daemon {
    struct config *config;
    struct gateway_config *gateway_config;
    struct routes *routes;
    struct routing_listed listed[GATEWAY_UPSTREAMS_MAX];
    struct discovery *discovery; /* NULL: nobody is asked */
    struct keywatch keys;
    /* config, gateway_config, routes, listed, keys, and the order in which workers hear of them:
     * discovery's thread and the admin thread. */
    pthread_mutex_t lock;
    size_t n_upstreams;
    struct metrics *metrics;
    struct recent *recent;
    struct jsonlog *log;
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
    struct control control;
    struct overview overview;
    struct succession succession;
    atomic_size_t n_accepting; /* workers that still do */
    atomic_bool is_draining;
};

static int tls_open(struct daemon *d, struct err *reterr)
{
    struct tls_server_config c = {.cert_file = d->config->listen_cert,
                                  .key_file =
                                      d->config->listen_key[0] ? d->config->listen_key : NULL};

    return c.cert_file[0] == '\0' ? 0 : tls_server_new(&c, &d->tls, reterr);
}

/* --- shared parts --- */

static void on_log_line(void *arg, struct span line)
{
    recent_push(arg, line);
}

static int log_open(struct daemon *d, struct err *reterr)
{
    struct jsonlog_config config = {.path = d->config->log_file,
                                    .capacity = LIMIT_RECORD_QUEUE,
                                    .on_line = on_log_line,
                                    .on_line_arg = d->recent};

    return jsonlog_new(&config, &d->log, reterr);
}

static int metrics_open(struct daemon *d, struct err *reterr)
{
    const struct config *c = d->config;
    struct metrics_business business[CONFIG_LABELS_MAX];
    struct metrics_config config = {.models = (const char *const *)c->models.items,
                                    .n_models = c->models.n,
                                    .bounds = c->bounds.items,
                                    .n_bounds = c->bounds.n,
                                    .business = business,
                                    .n_business = c->labels.n,
                                    .max_label_values = (uint32_t)c->max_label_values,
                                    .max_series = (uint32_t)c->max_series};
    int r;

    for (size_t i = 0; i < c->labels.n; i++)
        business[i] = (struct metrics_business){c->labels.items[i].name,
                                                (uint32_t)c->labels.items[i].max_values};
    r = metrics_new(&config, &d->metrics);
    return r < 0 ? err_set(reterr, r, "could not set up the metrics: %s", err_str(r)) : 0;
}

/* Every client needs a second descriptor for its upstream: accepting more clients than that only
 * turns their requests into 502s. Workers do not get equal shares of the clients, so it is their
 * sum that counts. */
static void conns_limit(struct daemon *d)
{
    size_t n_workers = (size_t)d->config->workers;
    struct rlimit l;
    size_t limit;

    if (getrlimit(RLIMIT_NOFILE, &l) < 0 || l.rlim_cur == RLIM_INFINITY)
        return;
    limit = l.rlim_cur > DESCRIPTORS_KEPT ? (l.rlim_cur - DESCRIPTORS_KEPT) / 2 : 0;
    if (limit == 0)
        limit = 1;
    if (d->gateway_config->max_conns * n_workers <= limit)
        return;
    LOG_INFO("at most %zu client connections: the descriptor limit is %llu", limit,
             (unsigned long long)l.rlim_cur);
    d->gateway_config->max_conns_total = limit;
}

static int keys_open(struct daemon *d, struct err *reterr)
{
    struct keywatch_reading reading;
    int r = keywatch_init(&d->keys);

    if (r < 0)
        return err_set(reterr, r, "out of memory");
    r = keywatch_read(&d->keys, d->config->access_keys, &reading, reterr);
    if (r == 0)
        keywatch_take(&d->keys, &reading);
    return r;
}

static int shared_open(struct daemon *d, struct err *reterr)
{
    const char *names[GATEWAY_UPSTREAMS_MAX];
    int r = config_to_gateway(d->config, &d->gateway_config, reterr);

    if (r == 0)
        r = routing_build(d->config, d->listed, &d->routes, reterr);
    if (r == 0)
        r = keys_open(d, reterr);
    if (r == 0)
        r = metrics_open(d, reterr);
    if (r < 0)
        return r;
    conns_limit(d);
    hops_init(&d->hops, d->gateway_config);
    d->n_upstreams = d->gateway_config->n_upstreams;
    for (size_t i = 0; i < d->gateway_config->n_upstreams; i++)
        names[i] = d->gateway_config->upstreams[i].name;
    r = upstreams_init(&d->upstreams, d->gateway_config, d->metrics);
    if (r < 0)
        return err_set(reterr, r, "out of memory");
    r = watchdog_init(&d->watchdog, names, d->gateway_config->n_upstreams, d->config->hung_after_ns,
                      d->metrics);
    if (r == 0)
        r = recent_new(RECENT_LINES, &d->recent);
    if (r == 0)
        r = resolver_new(&d->resolver);
    if (r < 0)
        return err_set(reterr, r, "could not start: %s", err_str(r));
    return log_open(d, reterr);
}

static struct worker_settings settings_of(const struct daemon *d, const struct config *config,
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
                                    .cuts_runaways = config->runaway_cut};
}

/* The successor may look for what nobody has accepted; on the admin thread. */
static void handed_over(void *arg)
{
    struct daemon *d = arg;

    if (d->control.successor != 0)
        admin_hand_over(d->admin);
    succession_finish(&d->succession);
}

static void on_worker_stopped(void *arg)
{
    struct daemon *d = arg;

    if (atomic_fetch_sub(&d->n_accepting, 1) == 1 &&
        loop_post(admin_loop(d->admin), handed_over, d) < 0)
        LOG_WARN("the end of accepting could not be told: out of memory");
}

static int workers_open(struct daemon *d, struct err *reterr)
{
    struct worker_shared shared = {.gateway_config = d->gateway_config,
                                   .settings =
                                       settings_of(d, d->config, d->routes, d->keys.now.ring),
                                   .resolver = d->resolver,
                                   .admission = d->upstreams.admission,
                                   .breakers = d->upstreams.breakers,
                                   .metrics = d->metrics,
                                   .log = d->log,
                                   .hops = &d->hops,
                                   .listen_fds = d->listeners.fds,
                                   .listen_tls = d->listen_tls,
                                   .n_listen_fds = d->listeners.n,
                                   .on_stopped = on_worker_stopped,
                                   .on_stopped_arg = d};
    size_t n = (size_t)d->config->workers;
    int r = 0;

    d->workers = mem_zalloc(n, sizeof(struct worker *));
    if (!d->workers)
        return err_set(reterr, -ENOMEM, "out of memory");
    for (size_t i = 0; r == 0 && i < n; i++) {
        r = worker_new(&shared, &d->workers[i]);
        if (r == 0)
            d->n_workers++;
    }
    return r < 0 ? err_set(reterr, r, "could not set up the workers: %s", err_str(r)) : 0;
}

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
    (void)pthread_mutex_unlock(&d->lock);
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

static int admin_open(struct daemon *d, struct err *reterr)
{
    struct api_sources sources = {.metrics = d->metrics,
                                  .recent = d->recent,
                                  .is_ready = source_is_ready,
                                  .inflight = source_inflight,
                                  .reload = source_reload,
                                  .status = source_status,
                                  .upstreams = source_upstreams,
                                  .arg = d};
    int r = admin_new(d->listeners.fds[d->listeners.n], &sources, watch, &d->admin);

    return r < 0 ? err_set(reterr, r, "could not set up the admin listener: %s", err_str(r)) : 0;
}

/* --- models that upstreams list --- */

static int workers_tell(struct daemon *d, const struct config *config,
                        struct gateway_config *gateway, struct routes *routes, struct keyring *ring,
                        struct err *reterr)
{
    struct worker_settings settings = settings_of(d, config, routes, ring);
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
static int discovery_open(struct daemon *d, struct err *reterr)
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

/* --- the whole --- */

static int sockets_open(struct daemon *d, struct err *reterr)
{
    struct inherited in = {0};
    int r = activation_take(d->config, &in, reterr);

    if (r == 0) {
        succession_ask(&d->succession, d->config->handover, &in);
        r = listeners_open(&d->listeners, d->config, &in, reterr);
        succession_note(&d->succession, &in);
    }
    inherited_done(&in);
    for (size_t i = 0; i < d->listeners.n; i++)
        if (!span_starts_with(span_cstr(d->listeners.texts[i]), SPAN("unix:")))
            d->listen_tls[i] = d->tls;
    return r;
}

/* The former process accepts no more, so all that waits is for us; on the admin thread. */
static void on_former_over(void *arg)
{
    struct daemon *d = arg;

    for (size_t i = 0; i < d->n_workers; i++)
        if (worker_post_look(d->workers[i]) < 0)
            LOG_WARN("worker %zu could not be told to look for connections", i);
    admin_look(d->admin);
}

/* From here on connections are accepted: what could fail has been done before. */
static int threads_start(struct daemon *d, struct err *reterr)
{
    int r = admin_start(d->admin);

    for (size_t i = 0; r == 0 && i < d->n_workers; i++)
        r = worker_start(d->workers[i]);
    return r < 0 ? err_set(reterr, r, "could not start the threads: %s", err_str(r)) : 0;
}

int daemon_start(struct config *config, struct daemon **ret, struct err *reterr)
{
    struct daemon *d = mem_zalloc(1, sizeof(*d));
    int r;

    if (!d)
        return err_set(reterr, -ENOMEM, "out of memory");
    (void)pthread_mutex_init(&d->lock, NULL);
    d->config = config_ref(config);
    succession_init(&d->succession, &d->listeners, &d->control);
    overview_init(&d->overview);
    r = control_init(&d->control);
    if (r < 0)
        err_set(reterr, r, "could not start: %s", err_str(r));
    else
        r = tls_open(d, reterr);
    if (r == 0)
        r = sockets_open(d, reterr);
    if (r == 0)
        r = shared_open(d, reterr);
    if (r == 0)
        r = workers_open(d, reterr);
    if (r == 0)
        r = discovery_open(d, reterr);
    if (r == 0)
        r = admin_open(d, reterr);
    if (r == 0)
        r = succession_open(&d->succession, admin_loop(d->admin), d->config->handover, reterr);
    if (r == 0)
        r = threads_start(d, reterr);
    if (r < 0) {
        daemon_stop(d);
        return r;
    }
    succession_serve(&d->succession, on_former_over, d);
    *ret = d;
    return 0;
}

struct daemon *daemon_stop(struct daemon *d)
{
    if (!d)
        return NULL;
    admin_stop(d->admin);
    discovery_stop(d->discovery);
    for (size_t i = 0; i < d->n_workers; i++)
        worker_stop(d->workers[i]);
    resolver_free(d->resolver);
    d->discovery = discovery_free(d->discovery);
    for (size_t i = 0; i < d->n_workers; i++)
        worker_free(d->workers[i]);
    mem_free(d->workers);
    succession_done(&d->succession);
    admin_free(d->admin);
    jsonlog_free(d->log);
    recent_free(d->recent);
    upstreams_done(&d->upstreams);
    watchdog_done(&d->watchdog);
    metrics_free(d->metrics);
    hops_done(&d->hops);
    gateway_config_unref(d->gateway_config);
    routes_unref(d->routes);
    keywatch_done(&d->keys);
    listeners_close(&d->listeners);
    tls_context_unref(d->tls);
    control_done(&d->control);
    overview_done(&d->overview);
    config_unref(d->config);
    for (size_t i = 0; i < GATEWAY_UPSTREAMS_MAX; i++)
        routing_listed_done(&d->listed[i]);
    (void)pthread_mutex_destroy(&d->lock);
    mem_free(d);
    return NULL;
}

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

static int reload(struct daemon *d, struct config *config, struct err *reterr)
{
    struct gateway_config *gateway = NULL;
    struct routes *routes = NULL;
    struct keywatch_reading keys = {0};
    int r = reload_check(d->config, config, reterr);

    if (r == 0)
        r = config_to_gateway(config, &gateway, reterr);
    if (r == 0)
        r = routing_build(config, d->listed, &routes, reterr);
    if (r == 0)
        r = listeners_check(&d->listeners, config, reterr);
    if (r == 0)
        r = keywatch_read(&d->keys, config->access_keys, &keys, reterr);
    if (r == 0 && d->tls)
        r = tls_context_reload(d->tls, reterr);
    if (r == 0) {
        r = metrics_set_bounds(d->metrics, config->bounds.items, config->bounds.n);
        if (r < 0)
            err_set(reterr, r, "could not change the histogram bounds: %s", err_str(r));
    }
    if (r == 0)
        r = workers_tell(d, config, gateway, routes, keys.ring, reterr);
    if (r == 0 && d->discovery)
        r = discovery_post_routes(d->discovery, routes);
    if (r == 0) {
        upstreams_limit(&d->upstreams, gateway);
        log_level_set(config->log_level);
        atomic_store_explicit(&d->watchdog.hung_after_ns, config->hung_after_ns,
                              memory_order_relaxed);
        metrics_allow_models(d->metrics, (const char *const *)config->models.items,
                             config->models.n);
        gateway_config_unref(d->gateway_config);
        d->gateway_config = gateway_config_ref(gateway);
        config_unref(d->config);
        d->config = config_ref(config);
        routes_unref(d->routes);
        d->routes = routes_ref(routes);
        keywatch_take(&d->keys, &keys);
    }
    if (r < 0)
        keywatch_again(&d->keys); /* some workers may have been told already */
    keywatch_drop(&keys);
    routes_unref(routes);
    gateway_config_unref(gateway);
    return r;
}

int daemon_reload(struct daemon *d, struct config *config, struct err *reterr)
{
    (void)pthread_mutex_lock(&d->lock);
    int r = reload(d, config, reterr);
    (void)pthread_mutex_unlock(&d->lock);
    return r;
}

int daemon_wake_fd(const struct daemon *d)
{
    return d->control.fd;
}

bool daemon_take_reload(struct daemon *d, uint64_t *ret_upto)
{
    return control_take_reload(&d->control, ret_upto);
}

void daemon_answer_reload(struct daemon *d, const struct api_reloaded *answer)
{
    if (admin_post_reloaded(d->admin, answer) < 0)
        LOG_WARN("a reload could not be answered: out of memory");
}

void daemon_tell_reload(struct daemon *d, wall_t at, struct span json)
{
    overview_set_reload(&d->overview, at, json);
}

void daemon_reopen_log(struct daemon *d)
{
    if (d->log)
        jsonlog_reopen(d->log);
}

bool daemon_beats(struct daemon *d)
{
    bool is_alive = admin_beats(d->admin);

    if (!is_alive)
        LOG_ERROR("the admin thread does not turn");
    for (size_t i = 0; i < d->n_workers; i++) {
        if (worker_beats(d->workers[i]))
            continue;
        LOG_ERROR("worker %zu does not turn", i);
        is_alive = false;
    }
    return is_alive;
}

pid_t daemon_successor(const struct daemon *d)
{
    return d->control.successor;
}

void daemon_leave(struct daemon *d)
{
    atomic_store_explicit(&d->is_draining, true, memory_order_relaxed);
}

void daemon_drain(struct daemon *d)
{
    int64_t settle_ns = d->control.successor != 0 ? SETTLE_HANDOVER_NS : SETTLE_NS;

    daemon_leave(d);
    d->n_accepting = d->n_workers;
    /* Refuses what comes from now on. Closing would free the number while workers still hold it. */
    listeners_refuse(&d->listeners);
    for (size_t i = 0; i < d->n_workers; i++)
        if (worker_post_drain(d->workers[i], settle_ns) < 0)
            LOG_WARN("worker %zu could not be told to drain, its requests will be cut", i);
}

bool daemon_is_drained(const struct daemon *d)
{
    for (size_t i = 0; i < d->n_workers; i++)
        if (!worker_is_drained(d->workers[i]))
            return false;
    return true;
}

const struct metrics *daemon_metrics(const struct daemon *d)
{
    return d->metrics;
}

const struct config *daemon_config(const struct daemon *d)
{
    return d->config;
}

const char *daemon_listen_text(const struct daemon *d, size_t i)
{
    return i < d->listeners.n ? d->listeners.texts[i] : NULL;
}

const char *daemon_admin_text(const struct daemon *d)
{
    return d->listeners.texts[d->listeners.n];
}
