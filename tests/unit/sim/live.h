/* SPDX-License-Identifier: Apache-2.0 */
/*
 * live.h - a live engine with a clock that the test moves, for its tests.
 */
#ifndef TESTS_UNIT_SIM_LIVE_H
#define TESTS_UNIT_SIM_LIVE_H

#include "base/limits.h"
#include "harness.h"
#include "sim/sim_live.h"

static int64_t live_now_ns = NS_PER_S;
static struct loop *live_loop;

static inline int64_t live_clock(void)
{
    return live_now_ns;
}

/* Iterations of 10 ms, whatever is in them. */
static inline struct sim_live_config live_config(void)
{
    struct sim_live_config c;

    sim_live_config_init(&c);
    c.batching.cost = (struct batching_cost){.prefill_base = 10e6, .decode_base = 10e6};
    c.batching.n_blocks = 100;
    c.max_model_len = 1600;
    return c;
}

static inline struct sim_live *live_start(const struct sim_live_config *c)
{
    struct sim_live *l = NULL;

    clock_fake(live_clock, live_clock);
    assert_int_equal(loop_new(&live_loop), 0);
    assert_int_equal(sim_live_new(live_loop, c, &l), 0);
    return l;
}

static inline void live_stop(struct sim_live *l)
{
    l = sim_live_free(l);
    live_loop = loop_free(live_loop);
    clock_fake(NULL, NULL);
}

static inline void live_pass(int64_t ms)
{
    for (int64_t i = 0; i < ms; i++) {
        live_now_ns += NS_PER_MS;
        loop_turn(live_loop, 0);
    }
}

static inline void live_set(struct sim_live *l, enum sim_fault which, double strength)
{
    struct sim_faults f = *sim_live_faults(l);

    sim_faults_set(&f, which, strength);
    sim_live_set_faults(l, &f);
}

static inline void live_clear(struct sim_live *l, enum sim_fault which)
{
    struct sim_faults f = *sim_live_faults(l);

    sim_faults_clear(&f, which);
    sim_live_set_faults(l, &f);
}

/* A request of a test, with how often it was woken. */
struct live_client {
    struct sim_live_request r;
    struct task wake;
    int n_woken;
};

static inline void live_woken(struct task *t)
{
    CONTAINER_OF(t, struct live_client, wake)->n_woken++;
}

static inline int live_ask(struct sim_live *l, struct live_client *c, struct sim_live_ask ask)
{
    *c = (struct live_client){.r = {.wake = &c->wake}};
    task_init(&c->wake, live_woken);
    return sim_live_arrive(l, &c->r, &ask, (mono_t){live_now_ns});
}

static inline void live_come(struct sim_live *l, struct live_client *c, int64_t n_prompt,
                             int64_t n_output)
{
    struct sim_live_ask ask = {.n_prompt = n_prompt, .n_output = n_output, .n = 1};

    assert_int_equal(live_ask(l, c, ask), 0);
}

#endif
