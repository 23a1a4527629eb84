/* SPDX-License-Identifier: Apache-2.0 */
/*
 * daemon/daemon_parts.c - makes what the workers share, and the workers.
 */
#include "daemon/daemon_private.h"

#include <errno.h>
#include <sys/resource.h>

#include "base/limits.h"
#include "base/log.h"
#include "base/mem.h"
#include "daemon/objectives.h"

enum { RECENT_LINES = 1000, DESCRIPTORS_KEPT = 64 };

static void on_log_line(void *arg, struct span line)
{
    recent_push(arg, line);
}

/* On the log's thread, which ends before the store does. */
static void on_record(void *arg, const struct record *r)
{
    store_push(arg, r);
}

static int log_open(struct daemon *d, struct err *reterr)
{
    struct jsonlog_config config = {.path = d->config->log_file,
                                    .capacity = LIMIT_RECORD_QUEUE,
                                    .on_line = on_log_line,
                                    .on_line_arg = d->recent,
                                    .on_record = d->store ? on_record : NULL,
                                    .on_record_arg = d->store};

    return jsonlog_new(&config, &d->log, reterr);
}

static int metrics_open(struct daemon *d, struct err *reterr)
{
    const struct config *c = d->config;
    struct metrics_business business[CONFIG_LABELS_MAX];
    struct metrics_config config = {.models = (const char *const *)c->models.items,
                                    .n_models = c->models.n,
                                    .bounds = c->all_bounds.items,
                                    .n_bounds = c->all_bounds.n,
                                    .business = business,
                                    .n_business = c->labels.n,
                                    .max_label_values = (uint32_t)c->max_label_values,
                                    .max_series = (uint32_t)c->max_series};
    int r;

    for (size_t i = 0; i < c->labels.n; i++)
        business[i] = (struct metrics_business){c->labels.items[i].name,
                                                (uint32_t)c->labels.items[i].max_values};
    r = metrics_new(&config, &d->metrics);
    if (r < 0)
        return err_set(reterr, r, "could not set up the metrics: %s", err_str(r));
    objectives_announce(d->metrics, c);
    return 0;
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

static int alarms_open(struct daemon *d, struct err *reterr)
{
    struct file_mistakes errs;
    struct alarms_files files;
    int r;

    if (!d->store) {
        if (d->config->rule_files.n > 0 || d->config->alerting_file[0] ||
            d->config->alertmanagers.n > 0)
            LOG_WARN("no rule is evaluated and nobody is told of alerts without a data directory; "
                     "name one with data_dir or --data");
        return 0;
    }
    r = alarms_read(d->config, &files, &errs, reterr);
    if (r < 0) {
        err_list_print(&errs.list, stderr);
        return r;
    }
    r = alarms_new(d->config, &files, d->store, daemon_admin_text(d), &d->alarms, reterr);
    alarms_files_done(&files);
    return r;
}

static int collecting_open(struct daemon *d, struct err *reterr)
{
    struct file_mistakes errs;
    struct collecting_files files;
    int r;

    if (!d->store) {
        if (d->config->scrape_files.n > 0 || d->config->scrape_targets.n > 0 ||
            d->config->kafkas.n > 0)
            LOG_WARN("nothing is scraped without a data directory; name one with data_dir or "
                     "--data");
        return 0;
    }
    r = collecting_read(d->config, &files, &errs, reterr);
    if (r < 0) {
        err_list_print(&errs.list, stderr);
        return r;
    }
    r = collecting_new(d->config, &files, d->store, &d->collecting, reterr);
    collecting_files_done(&files);
    return r;
}

int daemon_shared_open(struct daemon *d, struct err *reterr)
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
    d->own_labels = history_own_labels(d->listeners.texts[d->listeners.n], d->own_pairs);
    r = history_open(d->config, d->metrics, d->own_labels, &d->store, reterr);
    if (r == 0)
        r = alarms_open(d, reterr);
    if (r == 0)
        r = collecting_open(d, reterr);
    return r < 0 ? r : log_open(d, reterr);
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

int daemon_workers_open(struct daemon *d, struct err *reterr)
{
    struct worker_shared shared = {.gateway_config = d->gateway_config,
                                   .settings =
                                       daemon_settings(d, d->config, d->routes, d->keys.now.ring),
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

int daemon_probes_open(struct daemon *d, struct err *reterr)
{
    struct probes_deps deps = {.config = d->config,
                               .gateway = d->gateway_config,
                               .routes = d->routes,
                               .upstreams = &d->upstreams,
                               .metrics = d->metrics,
                               .resolver = d->resolver};
    int r = probes_start(&deps, &d->probes);

    return r < 0 ? err_set(reterr, r, "could not set up the probes: %s", err_str(r)) : 0;
}
