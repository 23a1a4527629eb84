/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What must hold whatever the configuration and the load: tokens and blocks are conserved, nobody
 * overtakes, everybody ends. Random engines under random loads, with everything that may happen to
 * them in between; the accounts are kept here a second time, from what the engine tells.
 */
#include "sim/batching.h"

#include <errno.h>
#include <stdio.h>

#include "harness.h"

enum { N_WORLDS = 150, N_REQUESTS = 120, N_EVENTS = 1500 };

struct world {
    uint64_t seed;
    struct rng rng;
    struct batching_config config;
    struct batching *b;
    struct batching_request requests[N_REQUESTS];
    int64_t n_tokens[N_REQUESTS]; /* told */
    mono_t t_told[N_REQUESTS];
    size_t n_arrived;
    mono_t now;
    bool may_leave, may_configure;
};

static int64_t between(struct world *w, int64_t low, int64_t high)
{
    return low + (int64_t)rng_below(&w->rng, (uint64_t)(high - low + 1));
}

static void draw_config(struct world *w)
{
    struct batching_config *c = &w->config;

    batching_config_init(c);
    c->max_seqs = between(w, 1, 12);
    c->token_budget = between(w, 1, 96);
    c->block_tokens = between(w, 1, 16);
    c->n_blocks = 1 + (160 + c->block_tokens) / c->block_tokens + between(w, 0, 40);
    c->has_prefix_cache = between(w, 0, 2) > 0;
    c->cost.stall_rate = 0.01;
    c->host_ns = (double)between(w, 0, 5) * 1e6;
}

static void change_config(struct world *w)
{
    struct batching_config c = w->config;

    c.max_seqs = between(w, 1, 12);
    c.token_budget = between(w, 1, 96);
    c.has_prefix_cache = between(w, 0, 3) > 0;
    c.speed = (double)between(w, 5, 10) / 10;
    if (between(w, 0, 2) == 0)
        c.n_blocks = between(w, 1, c.n_blocks);
    batching_configure(w->b, &c);
}

static void stop(const struct world *w, const char *what)
{
    print_error("seed %llu: %s\n", (unsigned long long)w->seed, what);
    fail_msg("%s", what);
}

static void must(const struct world *w, bool ok, const char *what)
{
    if (!ok)
        stop(w, what);
}

static void check(const struct world *w)
{
    const char *wrong = batching_check(w->b);
    struct batching_counts n = batching_counts(w->b);

    must(w, !wrong, wrong ? wrong : "");
    must(w, n.n_blocks_free + n.n_blocks_lost <= n.n_blocks, "more blocks than there are");
    must(w, n.last_tokens <= 96, "an iteration over the budget");
}

static void come(struct world *w)
{
    struct batching_request *r = &w->requests[w->n_arrived];

    r->n_prompt = between(w, 1, 100);
    r->n_output = between(w, 1, 60);
    r->prefix = (uint64_t)between(w, 0, 3);
    r->n_prefix = between(w, 0, 120);
    if (batching_arrive(w->b, r, w->now) == 0)
        w->n_arrived++;
}

static void take(struct world *w, struct batching_request *r)
{
    size_t i = (size_t)(r - w->requests);

    w->n_tokens[i] += r->n_new;
    must(w, r->n_new == 1, "one token a step");
    must(w, w->n_tokens[i] == r->n_done, "tokens told and done");
    must(w, r->t_last.ns == w->now.ns && w->t_told[i].ns < w->now.ns, "time goes on");
    must(w, r->t_first.ns > r->t_scheduled.ns && r->t_scheduled.ns >= r->t_arrived.ns, "order");
    must(w, (r->state == BATCHING_FINISHED) == (r->n_done == r->n_output), "ends with its last");
    w->t_told[i] = w->now;
}

static void step(struct world *w)
{
    mono_t t = batching_next(w->b);

    must(w, t.ns > w->now.ns || w->n_arrived == 0, "an iteration takes time");
    w->now = t;
    for (struct batching_request *r = batching_step(w->b); r; r = batching_told(w->b))
        take(w, r);
}

static void event(struct world *w)
{
    int64_t what = between(w, 0, 99);
    mono_t next = batching_next(w->b);

    if (what < 15 && w->n_arrived < N_REQUESTS)
        come(w);
    else if (what < 17 && w->may_leave && w->n_arrived > 0)
        batching_leave(w->b, &w->requests[between(w, 0, (int64_t)w->n_arrived - 1)]);
    else if (what < 18 && w->may_configure)
        change_config(w);
    else if (mono_is_set(next))
        step(w);
    else
        w->now = mono_add(w->now, between(w, 1, NS_PER_MS));
    check(w);
}

/* Nobody was scheduled before somebody who had come earlier. */
static void check_order(const struct world *w)
{
    mono_t last = MONO_NONE;

    for (size_t i = 0; i < w->n_arrived; i++) {
        mono_t t = w->requests[i].t_scheduled;

        if (!mono_is_set(t))
            continue;
        must(w, t.ns >= last.ns, "first come, first served");
        last = t;
    }
}

static void check_end(const struct world *w)
{
    struct batching_counts n = batching_counts(w->b);
    int64_t n_prompt = 0, n_cached = 0, n_output = 0, n_computed = 0, n_recomputed = 0;
    int64_t n_preempted = 0, n_finished = 0;

    for (size_t i = 0; i < w->n_arrived; i++) {
        const struct batching_request *r = &w->requests[i];

        n_computed += r->n_computed;
        n_preempted += r->n_preempted;
        if (r->n_done < r->n_output)
            continue;
        n_finished++;
        n_prompt += r->n_prompt;
        n_cached += r->n_cached;
        n_output += r->n_output;
        n_recomputed += r->n_recomputed;
        must(w, r->n_computed == r->n_prompt - r->n_cached + r->n_recomputed + r->n_output - 1,
             "tokens of a request");
        must(w, r->n_preempted > 0 || r->n_recomputed == 0, "recomputed without a preemption");
        must(w, r->n_cached % w->config.block_tokens == 0, "whole blocks");
    }
    must(w, n.n_running == 0 && n.n_waiting == 0, "somebody is left");
    must(w, n.n_blocks_free + n.n_blocks_lost == n.n_blocks, "blocks were lost");
    must(w, n.n_preemptions == n_preempted, "preemptions");
    must(w, n.n_finished == n_finished, "finished");
    if (w->may_leave)
        return;
    must(w, n.n_finished == (int64_t)w->n_arrived, "not all finished");
    must(w, n.n_computed == n_computed, "tokens of all requests");
    must(w, n.n_computed == n_prompt - n_cached + n_recomputed + n_output - n_finished,
         "tokens of all iterations");
    must(w,
         n.n_prompt == n_prompt && n.n_cached == n_cached && n.n_generated == n_output &&
             n.n_recomputed == n_recomputed,
         "counters");
}

static void drain(struct world *w)
{
    batching_configure(w->b, &w->config); /* what leaked is back */
    for (int i = 0; mono_is_set(batching_next(w->b)); i++) {
        must(w, i < 100000, "it never ends");
        step(w);
        check(w);
    }
}

struct seen {
    int64_t n_preemptions, n_cached, n_recomputed, n_left, n_finished, n_lost;
};

static void run_world(uint64_t seed, struct seen *seen)
{
    static struct world w;

    w = (struct world){.seed = seed, .now = {NS_PER_S}};
    rng_seed(&w.rng, seed);
    draw_config(&w);
    w.may_leave = seed % 3 == 1;
    w.may_configure = seed % 3 != 0;
    assert_int_equal(batching_new(&w.config, seed, &w.b), 0);
    for (int i = 0; i < N_EVENTS; i++)
        event(&w);
    seen->n_lost += batching_counts(w.b).n_blocks_lost;
    drain(&w);
    check_order(&w);
    check_end(&w);

    struct batching_counts n = batching_counts(w.b);
    seen->n_preemptions += n.n_preemptions;
    seen->n_cached += n.n_cached;
    seen->n_recomputed += n.n_recomputed;
    seen->n_left += n.n_left;
    seen->n_finished += n.n_finished;
    batching_free(w.b);
}

static void test_laws(void **state)
{
    struct seen seen = {0};
    (void)state;
    for (uint64_t seed = 0; seed < N_WORLDS; seed++)
        run_world(seed, &seen);
    /* Otherwise nothing was shown. */
    assert_true(seen.n_preemptions > 1000);
    assert_true(seen.n_recomputed > 10000);
    assert_true(seen.n_cached > 10000);
    assert_true(seen.n_left > 300);
    assert_true(seen.n_finished > 5000);
    assert_true(seen.n_lost > 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_laws),
    };
    return cmocka_run_group_tests_name("sim/batching laws", tests, NULL, NULL);
}
