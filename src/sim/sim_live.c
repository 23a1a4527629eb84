/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sim/sim_live.c - requests into the batching model, and its tokens out of it.
 *
 * Answers are woken by a task, never called from here: a step tells of many requests, and one that
 * ends may free others.
 */
#include "sim/sim_live.h"

#include <errno.h>

#include "base/check.h"
#include "base/mem.h"
#include "sim/sim_live_inside.h"

enum { TIMES_BYTES_MAX = 64 * 1024 * 1024 };

/* --- tokens --- */

static void sequence_free(struct sim_live *l, struct sim_live_sequence *q)
{
    list_remove(&q->link);
    l->n_made_up--;
    mem_free(q);
}

static void request_lose(struct sim_live *l, struct sim_live_request *r)
{
    r->is_lost = true;
    loop_defer(l->loop, r->wake);
}

/* Tokens that all sequences have. */
static int64_t n_common(const struct sim_live_request *r)
{
    int64_t n = r->_sequences[0].b.n_done;

    for (int64_t i = 1; i < r->_n; i++)
        if (r->_sequences[i].b.n_done < n)
            n = r->_sequences[i].b.n_done;
    return n;
}

static void request_first(struct sim_live_request *r, mono_t now)
{
    r->t_first = now;
    r->t_scheduled = r->_sequences[0].b.t_scheduled;
    for (int64_t i = 0; i < r->_n; i++) {
        const struct batching_request *b = &r->_sequences[i].b;

        if (b->t_scheduled.ns < r->t_scheduled.ns)
            r->t_scheduled = b->t_scheduled;
        if (b->n_cached > r->n_cached)
            r->n_cached = b->n_cached;
    }
}

static void request_told(struct sim_live *l, struct sim_live_request *r, mono_t now)
{
    if (n_common(r) == r->n_ready)
        return; /* the others have yet to come so far */
    if (r->n_ready++ == 0)
        request_first(r, now);
    if (buf_append(&r->_times, span_of(&now, sizeof(now))) < 0)
        request_lose(l, r);
    else
        loop_defer(l->loop, r->wake);
}

static void sequence_told(struct sim_live *l, struct batching_request *b, mono_t now)
{
    struct sim_live_sequence *q = CONTAINER_OF(b, struct sim_live_sequence, b);

    sim_stats_token(&l->stats, b, q->reason);
    if (q->owner)
        request_told(l, q->owner, now);
    else if (b->state == BATCHING_FINISHED)
        sequence_free(l, q);
}

void sim_live_run(struct sim_live *l, mono_t now)
{
    for (;;) {
        mono_t next = batching_next(l->batching);
        struct batching_counts counts;

        if (!mono_is_set(next) || next.ns > now.ns)
            return;
        l->t_virtual = next;
        for (struct batching_request *b = batching_step(l->batching); b;
             b = batching_told(l->batching))
            sequence_told(l, b, next);
        counts = batching_counts(l->batching);
        sim_stats_step(&l->stats, &counts, next);
    }
}

void sim_live_rearm(struct sim_live *l)
{
    mono_t next = batching_next(l->batching);
    int64_t left;

    if (!mono_is_set(next)) {
        loop_timer_stop(l->loop, &l->step);
        return;
    }
    left = mono_diff(next, loop_now(l->loop));
    loop_timer_start(l->loop, &l->step, left > 0 ? left : 0);
}

static void on_step(struct timer *t)
{
    struct sim_live *l = CONTAINER_OF(t, struct sim_live, step);

    sim_live_run(l, loop_now(l->loop));
    sim_live_rearm(l);
}

/* --- coming --- */

/* It has been found to fit: the model's own condition. */
static void sequence_enter(struct sim_live *l, struct sim_live_sequence *q, mono_t t_arrived)
{
    (void)ALWAYS(batching_arrive(l->batching, &q->b, l->t_virtual) == 0);
    q->b.t_arrived = t_arrived;
}

static bool can_fit(const struct sim_live *l, int64_t n_prompt, int64_t n_output)
{
    const struct batching_config *c = &l->config.batching;

    return n_prompt + n_output - 1 <= c->n_blocks * c->block_tokens;
}

static void request_enter(struct sim_live *l, struct sim_live_request *r, mono_t now)
{
    sim_live_run(l, now);
    l->t_virtual = mono_max(l->t_virtual, now);
    r->_is_in = true;
    for (int64_t i = 0; i < r->_n; i++)
        sequence_enter(l, &r->_sequences[i], r->t_arrived);
    sim_live_rearm(l);
}

static void on_held(struct timer *t)
{
    struct sim_live_request *r = CONTAINER_OF(t, struct sim_live_request, _held);

    request_enter(r->_live, r, loop_now(r->_live->loop));
}

int sim_live_arrive(struct sim_live *l, struct sim_live_request *r, const struct sim_live_ask *ask,
                    mono_t now)
{
    double held_s = sim_faults_get(&l->faults, SIM_FAULT_ADDED_LATENCY, 0);
    struct task *wake = r->wake;

    if (!can_fit(l, ask->n_prompt, ask->n_output))
        return -E2BIG;
    *r = (struct sim_live_request){.wake = wake, .t_arrived = now, ._live = l, ._n = ask->n};
    r->_sequences = mem_zalloc((size_t)ask->n, sizeof(*r->_sequences));
    if (!r->_sequences)
        return -ENOMEM;
    for (int64_t i = 0; i < ask->n; i++)
        r->_sequences[i] = (struct sim_live_sequence){
            .b = {.n_prompt = ask->n_prompt,
                  .n_output = ask->n_output,
                  .prefix = ask->prefix,
                  .n_prefix = ask->n_prefix},
            .owner = r,
            .reason = ask->is_limited ? SIM_LENGTH : SIM_STOP,
        };
    buf_init(&r->_times, TIMES_BYTES_MAX);
    timer_init(&r->_held, on_held);
    list_push_back(&l->requests, &r->_link);
    l->n_open++;
    if (held_s > 0)
        loop_timer_start(l->loop, &r->_held, (int64_t)(held_s * (double)NS_PER_S));
    else
        request_enter(l, r, now);
    return 0;
}

void sim_live_make_up(struct sim_live *l, mono_t now)
{
    struct sim_live_sequence *q =
        l->n_made_up < SIM_LIVE_MADE_UP ? mem_zalloc(1, sizeof(*q)) : NULL;
    int64_t longest = l->config.max_model_len;

    if (!q)
        return; /* there are more than enough */
    q->reason = SIM_STOP;
    workload_ask(&l->load, &q->b);
    q->b.n_prompt = sim_live_prompt(l, q->b.n_prompt);
    sim_live_output(l, -1, false, &q->b.n_output, &(bool){false});
    if (q->b.n_prompt > longest - 1)
        q->b.n_prompt = longest - 1;
    if (q->b.n_output > longest - q->b.n_prompt)
        q->b.n_output = longest - q->b.n_prompt;
    if (!can_fit(l, q->b.n_prompt, q->b.n_output)) {
        mem_free(q);
        return;
    }
    list_push_back(&l->made_up, &q->link);
    l->n_made_up++;
    sim_live_run(l, now);
    l->t_virtual = mono_max(l->t_virtual, now);
    sequence_enter(l, q, l->t_virtual);
}

/* --- going --- */

static void sequence_leave(struct sim_live *l, struct sim_live_sequence *q)
{
    if (q->b.state == BATCHING_WAITING || q->b.state == BATCHING_RUNNING)
        sim_stats_left(&l->stats);
    batching_leave(l->batching, &q->b);
}

static void request_out(struct sim_live *l, struct sim_live_request *r)
{
    loop_timer_stop(l->loop, &r->_held);
    for (int64_t i = 0; r->_is_in && i < r->_n; i++)
        sequence_leave(l, &r->_sequences[i]);
    r->_is_in = false;
}

void sim_live_leave(struct sim_live_request *r)
{
    struct sim_live *l = r->_live;

    request_out(l, r);
    list_remove(&r->_link);
    l->n_open--;
    buf_done(&r->_times);
    mem_free(r->_sequences);
    r->_sequences = NULL;
}

static void forget_made_up(struct sim_live *l)
{
    while (!list_is_empty(&l->made_up)) {
        struct sim_live_sequence *q = CONTAINER_OF(l->made_up.next, struct sim_live_sequence, link);

        batching_leave(l->batching, &q->b);
        sequence_free(l, q);
    }
}

void sim_live_restart(struct sim_live *l)
{
    for (struct list *at = l->requests.next; at != &l->requests; at = at->next) {
        struct sim_live_request *r = CONTAINER_OF(at, struct sim_live_request, _link);

        request_out(l, r);
        request_lose(l, r);
    }
    forget_made_up(l);
    batching_restart(l->batching);
    sim_stats_init(&l->stats);
    l->gpu._busy_ns = 0; /* its counters are not the process's */
    l->started_at_s = (double)clock_wall().us / (double)US_PER_S;
    sim_live_rearm(l);
}

/* --- what has come --- */

mono_t sim_live_time(const struct sim_live_request *r, int64_t n)
{
    struct span times = buf_span(&r->_times);
    size_t end = (size_t)n * sizeof(mono_t);
    mono_t t;

    if (n < 1 || end > times.n)
        return MONO_NONE;
    memcpy(&t, times.p + end - sizeof(t), sizeof(t));
    return t;
}

void sim_live_take(struct sim_live_request *r, int64_t n)
{
    buf_consume(&r->_times, (size_t)n * sizeof(mono_t));
}

/* --- life --- */

void sim_live_config_init(struct sim_live_config *c)
{
    *c = (struct sim_live_config){
        .model = "simulated",
        .max_model_len = 16384,
        .tokenize_ns = 2 * NS_PER_MS,
        .seed = 1,
    };
    (void)ALWAYS(sim_version_of("vllm-0.13", &c->version));
    (void)ALWAYS(workload_config_of("azure-conv", &c->load));
    batching_config_init(&c->batching);
    sim_gpu_config_init(&c->gpu);
}

int sim_live_new(struct loop *loop, const struct sim_live_config *c, struct sim_live **ret)
{
    struct sim_live *l = mem_zalloc(1, sizeof(*l));

    if (!l)
        return -ENOMEM;
    if (batching_new(&c->batching, c->seed, &l->batching) < 0) {
        mem_free(l);
        return -ENOMEM;
    }
    l->config = *c;
    l->loop = loop;
    rng_seed(&l->rng, c->seed + 1);
    sim_stats_init(&l->stats);
    list_init(&l->requests);
    list_init(&l->made_up);
    timer_init(&l->step, on_step);
    l->started_at_s = (double)clock_wall().us / (double)US_PER_S;
    l->t_started = clock_mono();
    sim_live_start_faults(l);
    *ret = l;
    return 0;
}

struct sim_live *sim_live_free(struct sim_live *l)
{
    if (!l)
        return NULL;
    ASSERT(list_is_empty(&l->requests));
    sim_live_stop_faults(l);
    forget_made_up(l);
    loop_timer_stop(l->loop, &l->step);
    l->batching = batching_free(l->batching);
    mem_free(l);
    return NULL;
}

const struct sim_live_config *sim_live_config_get(const struct sim_live *l)
{
    return &l->config;
}

struct batching_counts sim_live_counts(struct sim_live *l)
{
    sim_live_run(l, clock_mono());
    sim_live_rearm(l);
    return batching_counts(l->batching);
}

const struct sim_stats *sim_live_stats(const struct sim_live *l)
{
    return &l->stats;
}

const struct sim_gpu *sim_live_gpu(const struct sim_live *l)
{
    return &l->gpu;
}

double sim_live_started_at_s(const struct sim_live *l)
{
    return l->started_at_s;
}

int64_t sim_live_n_open(const struct sim_live *l)
{
    return l->n_open;
}
