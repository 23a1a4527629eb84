/* SPDX-License-Identifier: Apache-2.0 */
/*
 * daemon/probes.c - all upstreams' probes: their thread, their schedule, their configuration.
 */
#include "daemon/probes.h"

#include <errno.h>
#include <pthread.h>

#include "base/mem.h"
#include "base/process.h"
#include "daemon/probe.h"

struct probes {
    struct loop *loop;
    struct probes_deps deps;
    struct metrics_shard *shard;
    size_t n;
    struct slot {
        struct probes *all;
        struct probe probe;
        struct timer next;
        uint64_t n_granted; /* requests that it got, as of the last turn */
    } slots[GATEWAY_UPSTREAMS_MAX];
    pthread_t thread;
    bool is_running;
};

static size_t index_of(const struct slot *s)
{
    return (size_t)(s - s->all->slots);
}

/* No request is there, and none came since the last turn. */
static bool is_idle(struct slot *s)
{
    struct upstreams_traffic t = upstreams_traffic(s->all->deps.upstreams, index_of(s));
    bool is_same = t.n_granted == s->n_granted;

    s->n_granted = t.n_granted;
    return is_same && t.n_inflight == 0;
}

static void on_next(struct timer *t)
{
    struct slot *s = CONTAINER_OF(t, struct slot, next);

    loop_timer_start(s->all->loop, &s->next, s->all->deps.config->probe_interval_ns);
    probe_begin(&s->probe, is_idle(s));
}

/* --- configuration --- */

static bool is_probed(const struct probes *p, size_t i)
{
    const char *how = p->deps.config->upstreams.items[i].probe;

    if (p->deps.config->probe_interval_ns == 0 || strcmp(how, "never") == 0)
        return false;
    return strcmp(how, "always") == 0 || !p->deps.gateway->upstreams[i].is_tls;
}

/* The name that the first of its models has there; "" where none is told. */
static const char *model_of(const struct config_upstream *u)
{
    const char *model = u->models.n > 0 ? u->models.items[0] : "";
    const char *served = strchr(model, '=');

    return strchr(model, '*') ? "" : served ? served + 1 : model;
}

/* Each at its own moment of the interval, the first time within one. */
static void slot_configure(struct slot *s)
{
    struct probes *p = s->all;
    const struct probes_deps *d = &p->deps;
    size_t i = index_of(s);
    int64_t offset_ns = d->config->probe_interval_ns / (int64_t)(p->n + 1) * (int64_t)(i + 1);

    probe_stop(&s->probe);
    s->probe.upstream = &d->gateway->upstreams[i];
    s->probe.key = routes_credential(d->routes, i, NULL);
    s->probe.model = model_of(&d->config->upstreams.items[i]);
    if (s->probe.upstream->is_tls)
        http_pool_set_tls(s->probe.pool, s->probe.upstream->tls);
    probe_forget(&s->probe);
    loop_timer_stop(p->loop, &s->next);
    if (!is_probed(p, i))
        return;
    metrics_probe_started(s->probe.set);
    loop_timer_start(p->loop, &s->next, offset_ns);
}

static void deps_ref(struct probes_deps *d)
{
    config_ref(d->config);
    gateway_config_ref(d->gateway);
    routes_ref(d->routes);
}

static void deps_unref(struct probes_deps *d)
{
    config_unref(d->config);
    gateway_config_unref(d->gateway);
    routes_unref(d->routes);
}

/* What changes; the rest of the dependencies is constant. References. */
struct message {
    struct probes *p;
    struct config *config;
    struct gateway_config *gateway;
    struct routes *routes;
};

static void message_run(void *arg)
{
    struct message *m = arg;
    struct probes_deps *d = &m->p->deps;
    struct probes_deps old = *d;

    d->config = m->config;
    d->gateway = m->gateway;
    d->routes = m->routes;
    for (size_t i = 0; i < m->p->n; i++)
        slot_configure(&m->p->slots[i]);
    deps_unref(&old);
    mem_free(m);
}

int probes_post(struct probes *p, struct config *config, struct gateway_config *gateway,
                struct routes *routes)
{
    struct message *m = mem_alloc(sizeof(*m));
    int r;

    if (!m)
        return -ENOMEM;
    *m = (struct message){p, config_ref(config), gateway_config_ref(gateway), routes_ref(routes)};
    r = loop_post(p->loop, message_run, m);
    if (r < 0) {
        config_unref(m->config);
        gateway_config_unref(m->gateway);
        routes_unref(m->routes);
        mem_free(m);
    }
    return r;
}

/* --- life --- */

static int slots_open(struct probes *p)
{
    int r = metrics_shard_new(p->deps.metrics, &p->shard);

    for (size_t i = 0; r == 0 && i < p->deps.gateway->n_upstreams; i++) {
        struct slot *s = &p->slots[i];
        struct metrics_request labels = {.upstream = p->deps.gateway->upstreams[i].name};

        s->all = p;
        s->probe.loop = p->loop;
        timer_init(&s->next, on_next);
        probe_init(&s->probe);
        p->n = i + 1;
        s->probe.set = metrics_shard_resolve(p->shard, &labels); /* NULL: its samples are lost */
        r = gateway_upstream_pool(p->deps.gateway, i, p->loop, p->deps.resolver, &s->probe.pool);
        if (r == 0)
            http_pool_set_internal(s->probe.pool);
    }
    for (size_t i = 0; r == 0 && i < p->n; i++)
        slot_configure(&p->slots[i]);
    return r;
}

static void *probes_main(void *arg)
{
    struct probes *p = arg;

    process_name_thread("probes");
    loop_run(p->loop);
    return NULL;
}

int probes_start(const struct probes_deps *deps, struct probes **ret)
{
    struct probes *p = mem_zalloc(1, sizeof(*p));
    int r;

    if (!p)
        return -ENOMEM;
    p->deps = *deps;
    deps_ref(&p->deps);
    r = loop_new(&p->loop);
    if (r == 0)
        r = slots_open(p);
    if (r == 0)
        r = -pthread_create(&p->thread, NULL, probes_main, p);
    if (r < 0) {
        probes_stop(p);
        probes_free(p);
        return r;
    }
    p->is_running = true;
    *ret = p;
    return 0;
}

void probes_stop(struct probes *p)
{
    if (!p)
        return;
    if (p->is_running) {
        loop_stop(p->loop);
        pthread_join(p->thread, NULL);
    }
    p->is_running = false;
    if (p->loop) /* a configuration that came too late for the thread starts timers */
        loop_turn(p->loop, 0);
    for (size_t i = 0; i < p->n; i++) {
        probe_stop(&p->slots[i].probe);
        loop_timer_stop(p->loop, &p->slots[i].next);
    }
    if (p->loop) { /* lets what was deferred free itself */
        loop_turn(p->loop, 0);
        loop_turn(p->loop, 0);
    }
    for (size_t i = 0; i < p->n; i++) {
        p->slots[i].probe.pool = http_pool_free(p->slots[i].probe.pool);
        probe_done(&p->slots[i].probe);
    }
    p->shard = metrics_shard_release(p->shard);
    p->n = 0;
}

struct probes *probes_free(struct probes *p)
{
    if (!p)
        return NULL;
    if (p->loop)
        loop_turn(p->loop, 0); /* the resolver's last answers: nobody is left who asked */
    deps_unref(&p->deps);
    loop_free(p->loop);
    mem_free(p);
    return NULL;
}
