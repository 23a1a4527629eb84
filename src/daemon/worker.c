/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/worker.h"

#include <errno.h>
#include <pthread.h>

#include "base/mem.h"
#include "base/process.h"
#include "daemon/pulse.h"
#include "daemon/sink.h"
#include "observe/observe.h"

struct worker {
    struct loop *loop;
    struct sink sink;
    struct observer *observer;
    struct policy *policy;
    struct gateway *gateway;
    struct timer look, settle;
    int64_t settle_ns; /* set before the drain is posted */
    void (*on_stopped)(void *arg);
    void *on_stopped_arg;
    int64_t cut_after_ns;
    bool cuts_runaways;
    pthread_t thread;
    bool is_running;
    atomic_bool is_drained;
    struct pulse pulse;
};

#define LOOK_EVERY_NS NS_PER_S

/* --- the look at what is silent --- */

static void on_found(void *ctx, struct exchange *x, enum look_finding what, int64_t silent_ns)
{
    const struct worker *w = ctx;

    if (what == LOOK_RUNAWAY && w->cuts_runaways)
        gateway_cut(x, TAP_REASON_RUNAWAY);
    else if (w->cut_after_ns > 0 && silent_ns >= w->cut_after_ns)
        gateway_cut(x, TAP_REASON_STALLED);
}

static void on_look(struct timer *t)
{
    struct worker *w = CONTAINER_OF(t, struct worker, look);

    look_around(w->observer, clock_mono(), on_found, w);
    loop_timer_start(w->loop, t, LOOK_EVERY_NS);
}

void worker_waiting(struct worker *w, struct observe_waiting *ret, size_t n)
{
    look_waiting(w->observer, ret, n);
}

/* --- drained --- */

static void on_drained(void *arg)
{
    struct worker *w = arg;

    atomic_store_explicit(&w->is_drained, true, memory_order_release);
}

static void on_settled(struct timer *t)
{
    struct worker *w = CONTAINER_OF(t, struct worker, settle);

    gateway_drain(w->gateway, on_drained, w);
}

/* --- life --- */

int worker_new(const struct worker_shared *shared, struct worker **ret)
{
    struct worker *w = mem_zalloc(1, sizeof(*w));
    struct policy_config policy = shared->settings.policy;
    struct rng rng;
    struct gateway_deps deps;
    int r;

    rng_seed_random(&rng);
    policy.seed = rng_u64(&rng);

    if (!w)
        return -ENOMEM;
    timer_init(&w->look, on_look);
    timer_init(&w->settle, on_settled);
    w->cut_after_ns = shared->settings.cut_after_ns;
    w->cuts_runaways = shared->settings.cuts_runaways;
    r = loop_new(&w->loop);
    if (r == 0)
        r = sink_init(&w->sink, shared->metrics, shared->log, shared->hops);
    if (r == 0)
        sink_judge_by(&w->sink, shared->settings.slos);
    if (r == 0)
        r = observer_new(&shared->settings.observer, &sink_to_metrics_and_log, &w->sink,
                         &w->observer);
    if (r == 0)
        r = policy_new(&policy, &w->policy);
    if (r < 0)
        goto fail;
    deps = (struct gateway_deps){.loop = w->loop,
                                 .resolver = shared->resolver,
                                 .policy_ops = &policy_ops,
                                 .policy = w->policy,
                                 .tap_ops = &observe_tap,
                                 .tap_watcher = w->observer,
                                 .admission = shared->admission,
                                 .breakers = shared->breakers};
    r = gateway_new(&deps, shared->gateway_config, &w->gateway);
    for (size_t i = 0; r == 0 && i < shared->n_listen_fds; i++)
        r = gateway_listen(w->gateway, shared->listen_fds[i], shared->listen_tls[i]);
    if (r < 0)
        goto fail;
    loop_timer_start(w->loop, &w->look, LOOK_EVERY_NS);
    pulse_init(&w->pulse, w->loop);
    w->on_stopped = shared->on_stopped;
    w->on_stopped_arg = shared->on_stopped_arg;
    *ret = w;
    return 0;
fail:
    worker_free(w);
    return r;
}

static void *worker_main(void *arg)
{
    struct worker *w = arg;

    process_name_thread("worker");
    loop_run(w->loop);
    return NULL;
}

int worker_start(struct worker *w)
{
    int r = -pthread_create(&w->thread, NULL, worker_main, w);

    w->is_running = r == 0;
    return r;
}

void worker_stop(struct worker *w)
{
    if (w->is_running) {
        loop_stop(w->loop);
        pthread_join(w->thread, NULL);
        w->is_running = false;
    }
    if (w->loop) {
        loop_timer_stop(w->loop, &w->look);
        if (w->gateway)
            loop_turn(w->loop, 0); /* what was posted last still runs; it may ask for names */
        loop_timer_stop(w->loop, &w->settle);
    }
    w->gateway = gateway_free(w->gateway);
}

struct worker *worker_free(struct worker *w)
{
    if (!w)
        return NULL;
    worker_stop(w);
    if (w->loop)
        loop_turn(w->loop, 0); /* the resolver's last answers: nobody is left who asked */
    policy_free(w->policy);
    observer_free(w->observer);
    sink_done(&w->sink);
    loop_free(w->loop);
    mem_free(w);
    return NULL;
}

/* --- messages to the worker's thread --- */

struct config_message {
    struct worker *worker;
    struct gateway_config *config;
    struct worker_settings settings;
};

static void config_message_free(struct config_message *m)
{
    gateway_config_unref(m->config);
    routes_unref(m->settings.policy.routes);
    keyring_unref(m->settings.policy.keyring);
    business_unref(m->settings.policy.business);
    slo_set_unref(m->settings.slos);
    mem_free(m);
}

static void config_message_run(void *arg)
{
    struct config_message *m = arg;

    gateway_config_set(m->worker->gateway, m->config);
    policy_reload(m->worker->policy, &m->settings.policy);
    observer_reload(m->worker->observer, &m->settings.observer);
    m->worker->cut_after_ns = m->settings.cut_after_ns;
    m->worker->cuts_runaways = m->settings.cuts_runaways;
    sink_judge_by(&m->worker->sink, m->settings.slos);
    config_message_free(m);
}

int worker_post_config(struct worker *w, struct gateway_config *config,
                       const struct worker_settings *settings)
{
    struct config_message *m = mem_alloc(sizeof(*m));
    int r;

    if (!m)
        return -ENOMEM;
    *m = (struct config_message){
        .worker = w, .config = gateway_config_ref(config), .settings = *settings};
    routes_ref(m->settings.policy.routes);
    keyring_ref(m->settings.policy.keyring);
    business_ref(m->settings.policy.business);
    slo_set_ref(m->settings.slos);
    r = loop_post(w->loop, config_message_run, m);
    if (r < 0)
        config_message_free(m);
    return r;
}

struct keyring_message {
    struct worker *worker;
    struct keyring *ring;
};

static void keyring_message_run(void *arg)
{
    struct keyring_message *m = arg;

    policy_set_keyring(m->worker->policy, m->ring);
    keyring_unref(m->ring);
    mem_free(m);
}

int worker_post_keyring(struct worker *w, struct keyring *ring)
{
    struct keyring_message *m = mem_alloc(sizeof(*m));
    int r;

    if (!m)
        return -ENOMEM;
    *m = (struct keyring_message){.worker = w, .ring = keyring_ref(ring)};
    r = loop_post(w->loop, keyring_message_run, m);
    if (r < 0) {
        keyring_unref(m->ring);
        mem_free(m);
    }
    return r;
}

static void drain_run(void *arg)
{
    struct worker *w = arg;

    gateway_hand_over(w->gateway);
    w->on_stopped(w->on_stopped_arg);
    loop_timer_start(w->loop, &w->settle, w->settle_ns);
}

int worker_post_drain(struct worker *w, int64_t settle_ns)
{
    w->settle_ns = settle_ns;
    return loop_post(w->loop, drain_run, w);
}

static void look_run(void *arg)
{
    struct worker *w = arg;

    gateway_look(w->gateway);
}

int worker_post_look(struct worker *w)
{
    return loop_post(w->loop, look_run, w);
}

bool worker_is_drained(const struct worker *w)
{
    return atomic_load_explicit(&w->is_drained, memory_order_acquire);
}

bool worker_beats(struct worker *w)
{
    return pulse_beats(&w->pulse);
}

/* --- in flight --- */

static void duration_write(struct jsonw *j, const char *key, int64_t ns)
{
    jsonw_key(j, key);
    if (ns < 0)
        jsonw_null(j);
    else
        jsonw_double(j, (double)ns / (double)NS_PER_MS);
}

static void inflight_write_one(void *ctx, const struct observe_inflight *f)
{
    struct jsonw *j = ctx;
    mono_t now = clock_mono();

    jsonw_begin_object(j);
    jsonw_put_cstr(j, "request_id", f->request_id);
    jsonw_put_cstr(j, "endpoint", f->endpoint ? f->endpoint : "");
    jsonw_put_cstr(j, "model", f->model);
    jsonw_put_cstr(j, "upstream", f->upstream);
    jsonw_put_bool(j, "is_stream", f->is_stream);
    duration_write(j, "age_ms", mono_diff(now, f->t_accept));
    duration_write(j, "since_first_token_ms",
                   mono_is_set(f->t_first_token) ? mono_diff(now, f->t_first_token) : -1);
    duration_write(j, "since_last_token_ms",
                   mono_is_set(f->t_last_token) ? mono_diff(now, f->t_last_token) : -1);
    /* A stream that has gone on since the last look is not stalled any more. */
    bool is_stalled = mono_is_set(f->t_stalled) && f->t_stalled.ns >= f->t_last_token.ns;
    duration_write(j, "stalled_ms", is_stalled ? mono_diff(now, f->t_stalled) : -1);
    jsonw_put_u64(j, "n_output_events", f->n_output_events);
    jsonw_end_object(j);
}

void worker_inflight_write(struct worker *w, struct jsonw *j)
{
    observer_each_inflight(w->observer, inflight_write_one, j);
}
