/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sim/sim_live_faults.c - what faults do to a live engine, and when the script says so.
 *
 * Most of them change the model's configuration or what requests ask of it; metrics, GPUs and
 * answers then show what follows from that.
 */
#include <math.h>

#include "sim/sim_live_inside.h"

#define TICK_NS (100 * NS_PER_MS)

enum { TICKS_A_LOOK = 10, XID_BAD_MEMORY = 94 };

static double strength(const struct sim_live *l, enum sim_fault which, double off)
{
    return sim_faults_get(&l->faults, which, off);
}

static double seconds(mono_t end, mono_t begin)
{
    return (double)mono_diff(end, begin) / (double)NS_PER_S;
}

/* --- into the model --- */

static double clock_share(const struct sim_live *l)
{
    return 1 / strength(l, SIM_FAULT_SLOW_GPU, 1);
}

static int64_t blocks_left(const struct sim_live *l, mono_t now)
{
    double n = (double)l->config.batching.n_blocks;
    double left = n * (1 - strength(l, SIM_FAULT_KV_EXHAUSTION, 0));

    if (l->faults.is_on[SIM_FAULT_MEMORY_LEAK])
        left -= strength(l, SIM_FAULT_MEMORY_LEAK, 0) * seconds(now, l->t_leak);
    return left > 0 ? llround(left) : 0;
}

static void configure(struct sim_live *l, mono_t now)
{
    struct batching_config c = l->config.batching;
    int64_t cap = (int64_t)strength(l, SIM_FAULT_SEQS_CAP, (double)c.max_seqs);

    c.speed *= clock_share(l) / (1 + 5 * strength(l, SIM_FAULT_BAD_REPLICA, 0));
    c.host_ns += strength(l, SIM_FAULT_HOST_STALL, 0) * (double)NS_PER_MS;
    c.max_seqs = cap < c.max_seqs ? cap : c.max_seqs;
    c.n_blocks = blocks_left(l, now);
    batching_configure(l->batching, &c);
}

static void forget_prefixes(struct sim_live *l)
{
    struct batching_config c = l->config.batching;

    c.has_prefix_cache = false;
    batching_configure(l->batching, &c);
}

/* --- the surge --- */

static void arm_arrival(struct sim_live *l)
{
    int64_t left = mono_diff(l->t_arrival, loop_now(l->loop));

    loop_timer_start(l->loop, &l->arrival, left > 0 ? left : 0);
}

static void on_arrival(struct timer *t)
{
    struct sim_live *l = CONTAINER_OF(t, struct sim_live, arrival);
    mono_t now = loop_now(l->loop);

    while (l->t_arrival.ns <= now.ns) {
        sim_live_make_up(l, l->t_arrival);
        l->t_arrival = mono_add(l->t_arrival, workload_gap_ns(&l->load));
    }
    sim_live_rearm(l);
    arm_arrival(l);
}

static void surge(struct sim_live *l)
{
    l->load.config.rate = strength(l, SIM_FAULT_LOAD_SURGE, 0);
    loop_timer_stop(l->loop, &l->arrival);
    if (l->load.config.rate <= 0 || mono_is_set(l->t_loaded))
        return;
    l->t_arrival = mono_add(loop_now(l->loop), workload_gap_ns(&l->load));
    arm_arrival(l);
}

/* --- switching --- */

const struct sim_faults *sim_live_faults(const struct sim_live *l)
{
    return &l->faults;
}

static bool has_begun(const struct sim_faults *before, const struct sim_faults *now,
                      enum sim_fault which)
{
    return now->is_on[which] && !before->is_on[which];
}

void sim_live_set_faults(struct sim_live *l, const struct sim_faults *f)
{
    struct sim_faults before = l->faults;
    mono_t now = clock_mono();

    sim_live_run(l, now);
    l->faults = *f;
    if (has_begun(&before, f, SIM_FAULT_MEMORY_LEAK))
        l->t_leak = now;
    if (has_begun(&before, f, SIM_FAULT_PREFIX_CACHE_LOSS))
        forget_prefixes(l);
    if (has_begun(&before, f, SIM_FAULT_RATE_LIMIT))
        l->t_bucket = MONO_NONE;
    if (has_begun(&before, f, SIM_FAULT_COLD_START)) {
        sim_live_restart(l);
        l->t_loaded = mono_add(now, llround(f->strength[SIM_FAULT_COLD_START] * (double)NS_PER_S));
    } else if (!f->is_on[SIM_FAULT_COLD_START]) {
        l->t_loaded = MONO_NONE;
    }
    configure(l, now);
    surge(l);
    sim_live_rearm(l);
}

/* --- the door --- */

int64_t sim_live_loading_s(const struct sim_live *l, mono_t now)
{
    if (!mono_is_set(l->t_loaded) || now.ns >= l->t_loaded.ns)
        return 0;
    return mono_diff(l->t_loaded, now) / NS_PER_S + 1;
}

/* The bucket holds what comes in a second, at least one. */
static bool passes_rate(struct sim_live *l, mono_t now)
{
    double rate = strength(l, SIM_FAULT_RATE_LIMIT, 0);
    double most = fmax(rate, 1);

    if (rate <= 0)
        return true;
    if (!mono_is_set(l->t_bucket))
        l->bucket = most;
    else if (now.ns > l->t_bucket.ns)
        l->bucket = fmin(most, l->bucket + rate * seconds(now, l->t_bucket));
    l->t_bucket = mono_max(l->t_bucket, now);
    if (l->bucket < 1)
        return false;
    l->bucket -= 1;
    return true;
}

static bool fails(struct sim_live *l, enum sim_fault which)
{
    double share = strength(l, which, 0);

    return share > 0 && rng_unit(&l->rng) < share;
}

int sim_live_door(struct sim_live *l, mono_t now, const char **ret_message,
                  int64_t *ret_retry_after_s)
{
    int64_t loading_s = sim_live_loading_s(l, now);

    *ret_retry_after_s = -1;
    if (loading_s > 0) {
        *ret_message = "the model is being loaded";
        *ret_retry_after_s = loading_s;
        return 503;
    }
    if (!passes_rate(l, now)) {
        *ret_message = "rate limit exceeded";
        *ret_retry_after_s = (int64_t)ceil((1 - l->bucket) / strength(l, SIM_FAULT_RATE_LIMIT, 1));
        return 429;
    }
    if (fails(l, SIM_FAULT_ERRORS) || fails(l, SIM_FAULT_BAD_REPLICA)) {
        *ret_message = "simulated engine failure";
        return 500;
    }
    return 0;
}

/* --- requests --- */

/* A longer one than half of what the engine takes is not made, so that there is an output. */
int64_t sim_live_prompt(const struct sim_live *l, int64_t n_prompt)
{
    int64_t half = l->config.max_model_len / 2;
    double n = (double)n_prompt * strength(l, SIM_FAULT_LONG_PROMPTS, 1);

    if (n_prompt < 1)
        n_prompt = 1;
    if (n_prompt >= half)
        return n_prompt;
    return n < (double)half ? (n > 1 ? (int64_t)n : 1) : half;
}

void sim_live_output(struct sim_live *l, int64_t max_tokens, bool is_exact, int64_t *n_output,
                     bool *is_limited)
{
    double runaway = strength(l, SIM_FAULT_RUNAWAY_OUTPUT, 0);

    if (!is_exact)
        *n_output = (int64_t)fmin((double)*n_output * strength(l, SIM_FAULT_LONG_OUTPUTS, 1), 1e9);
    if (!is_exact && max_tokens >= 0 && *n_output >= max_tokens) {
        *n_output = max_tokens;
        *is_limited = true;
    }
    if (runaway > 0) {
        *n_output = (int64_t)runaway;
        *is_limited = true;
    }
    if (*n_output < 1)
        *n_output = 1;
}

bool sim_live_loses_prefix(struct sim_live *l)
{
    return fails(l, SIM_FAULT_PREFIX_CACHE_LOSS);
}

int64_t sim_live_lag_ns(const struct sim_live *l)
{
    return llround(strength(l, SIM_FAULT_NETWORK_DELAY, 0) * (double)NS_PER_MS);
}

size_t sim_live_held_bytes(const struct sim_live *l)
{
    return (size_t)strength(l, SIM_FAULT_PROXY_BUFFERING, 0);
}

/* The server's process shares the host with the engine's. */
int64_t sim_live_tokenize_ns(const struct sim_live *l)
{
    return l->config.tokenize_ns +
           llround(strength(l, SIM_FAULT_HOST_STALL, 0) * (double)NS_PER_MS);
}

/* --- time --- */

static void look_at_gpu(struct sim_live *l, mono_t now)
{
    struct batching_counts counts = batching_counts(l->batching);

    sim_gpu_look(&l->gpu, &l->config.gpu, &counts, clock_share(l), SIM_GPU_REASON_HW_THERMAL, now);
    l->gpu.xid = l->faults.is_on[SIM_FAULT_BAD_REPLICA] ? XID_BAD_MEMORY : 0;
}

static void end_cold_start(struct sim_live *l)
{
    struct sim_faults f = l->faults;

    sim_faults_clear(&f, SIM_FAULT_COLD_START);
    sim_live_set_faults(l, &f);
}

static void on_tick(struct timer *t)
{
    struct sim_live *l = CONTAINER_OF(t, struct sim_live, tick);
    mono_t now = loop_now(l->loop);
    struct batching_counts counts;

    sim_live_run(l, now);
    if (mono_is_set(l->t_loaded) && now.ns >= l->t_loaded.ns)
        end_cold_start(l);
    if (l->faults.is_on[SIM_FAULT_MEMORY_LEAK])
        configure(l, now);
    counts = batching_counts(l->batching);
    sim_stats_step(&l->stats, &counts, now); /* rates of an idle engine fall to nothing */
    if (l->n_ticks++ % TICKS_A_LOOK == 0)
        look_at_gpu(l, now);
    sim_live_rearm(l);
    loop_timer_start(l->loop, &l->tick, TICK_NS);
}

static void arm_turn(struct sim_live *l)
{
    const struct sim_script *s = l->config.script;
    int64_t left;

    if (!s || l->i_turn == s->n)
        return;
    left = mono_diff(mono_add(l->t_started, s->steps[l->i_turn].at_ns), loop_now(l->loop));
    loop_timer_start(l->loop, &l->turn, left > 0 ? left : 0);
}

static void on_turn(struct timer *t)
{
    struct sim_live *l = CONTAINER_OF(t, struct sim_live, turn);
    const struct sim_script *s = l->config.script;
    int64_t at_ns = mono_diff(loop_now(l->loop), l->t_started);

    for (; l->i_turn < s->n && s->steps[l->i_turn].at_ns <= at_ns; l->i_turn++) {
        const struct sim_script_step *step = &s->steps[l->i_turn];
        struct sim_faults f = l->faults;

        if (step->is_on)
            sim_faults_set(&f, step->fault, step->strength);
        else
            sim_faults_clear(&f, step->fault);
        sim_live_set_faults(l, &f);
    }
    arm_turn(l);
}

void sim_live_start_faults(struct sim_live *l)
{
    workload_init(&l->load, &l->config.load, l->config.seed + 2);
    timer_init(&l->arrival, on_arrival);
    timer_init(&l->tick, on_tick);
    timer_init(&l->turn, on_turn);
    loop_timer_start(l->loop, &l->tick, 0);
    arm_turn(l);
}

void sim_live_stop_faults(struct sim_live *l)
{
    loop_timer_stop(l->loop, &l->arrival);
    loop_timer_stop(l->loop, &l->tick);
    loop_timer_stop(l->loop, &l->turn);
}
