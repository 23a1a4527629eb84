/* SPDX-License-Identifier: Apache-2.0 */
/*
 * daemon/daemon.c - wiring. Each part is opened by one function and closed in the reverse order by
 * daemon_stop, which copes with whatever was not opened yet.
 */
#include "daemon/daemon_private.h"

#include <errno.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "daemon/activation.h"

/* The next process is there already: idle connections have time for one more request each. */
#define SETTLE_HANDOVER_NS (2 * NS_PER_S)
/* A client that is connected has so long to send its request once a drain has begun. */
#define SETTLE_NS (200 * NS_PER_MS)

static int tls_open(struct daemon *d, struct err *reterr)
{
    struct tls_server_config c = {.cert_file = d->config->listen_cert,
                                  .key_file =
                                      d->config->listen_key[0] ? d->config->listen_key : NULL};

    return c.cert_file[0] == '\0' ? 0 : tls_server_new(&c, &d->tls, reterr);
}

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

static int entrance_open(struct daemon *d, struct err *reterr)
{
    struct api_access access;
    int r = entrance_read(d->config, &access, reterr);

    if (r == 0)
        entrance_take(&d->entrance, &access);
    explicit_bzero(&access, sizeof(access));
    return r;
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
    entrance_init(&d->entrance);
    r = control_init(&d->control);
    if (r < 0)
        err_set(reterr, r, "could not start: %s", err_str(r));
    else
        r = tls_open(d, reterr);
    if (r == 0)
        r = entrance_open(d, reterr);
    if (r == 0)
        r = sockets_open(d, reterr);
    if (r == 0)
        r = daemon_shared_open(d, reterr);
    if (r == 0)
        r = daemon_workers_open(d, reterr);
    if (r == 0)
        r = daemon_probes_open(d, reterr);
    if (r == 0)
        r = daemon_discovery_open(d, reterr); /* from here on routes may change */
    if (r == 0)
        r = daemon_admin_open(d, reterr);
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
    probes_stop(d->probes);
    for (size_t i = 0; i < d->n_workers; i++)
        worker_stop(d->workers[i]);
    resolver_free(d->resolver);
    d->discovery = discovery_free(d->discovery);
    d->probes = probes_free(d->probes);
    for (size_t i = 0; i < d->n_workers; i++)
        worker_free(d->workers[i]);
    mem_free(d->workers);
    succession_done(&d->succession);
    admin_free(d->admin);
    entrance_done(&d->entrance);
    jsonlog_free(d->log);
    collecting_free(d->collecting);
    alarms_free(d->alarms);
    store_free(d->store);
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
