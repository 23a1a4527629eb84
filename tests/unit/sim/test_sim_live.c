/* SPDX-License-Identifier: Apache-2.0 */
#include "live.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "memfail.h"
#include "sim/sim_live_inside.h"

static int64_t since_ms(mono_t t, int64_t begin_ns)
{
    return (t.ns - begin_ns) / NS_PER_MS;
}

static void test_one_request(void **state)
{
    struct sim_live_config config = live_config();
    struct sim_live *l = live_start(&config);
    int64_t begin_ns = live_now_ns;
    struct live_client c;
    (void)state;
    live_come(l, &c, 32, 3);
    assert_int_equal(sim_live_n_open(l), 1);
    live_pass(9);
    assert_int_equal(c.n_woken, 0);
    assert_false(mono_is_set(sim_live_time(&c.r, 1)));
    live_pass(2);
    assert_int_equal(c.n_woken, 1);
    assert_int_equal(since_ms(sim_live_time(&c.r, 1), begin_ns), 10); /* the engine's own time */
    assert_int_equal(since_ms(c.r.t_first, begin_ns), 10);
    assert_int_equal(since_ms(c.r.t_scheduled, begin_ns), 0);
    live_pass(40);
    assert_int_equal(c.r.n_ready, 3);
    assert_int_equal(since_ms(sim_live_time(&c.r, 3), begin_ns), 30);
    assert_false(mono_is_set(sim_live_time(&c.r, 4)));
    sim_live_take(&c.r, 2);
    assert_int_equal(since_ms(sim_live_time(&c.r, 1), begin_ns), 30);
    assert_int_equal(sim_live_counts(l).n_finished, 1);
    assert_int_equal(sim_live_counts(l).n_generated, 3);
    sim_live_leave(&c.r);
    assert_int_equal(sim_live_n_open(l), 0);
    live_stop(l);
}

/* Two answers to one request: a token is there when both have it. */
static void test_several_answers(void **state)
{
    struct sim_live_config config = live_config();
    struct sim_live *l;
    struct live_client c;
    int64_t begin_ns;
    (void)state;
    config.batching.max_seqs = 1;
    l = live_start(&config);
    begin_ns = live_now_ns;
    assert_int_equal(live_ask(l, &c, (struct sim_live_ask){.n_prompt = 32, .n_output = 2, .n = 2}),
                     0);
    live_pass(100);
    assert_int_equal(c.r.n_ready, 2);
    assert_int_equal(since_ms(sim_live_time(&c.r, 1), begin_ns), 30); /* after the first's two */
    assert_int_equal(since_ms(sim_live_time(&c.r, 2), begin_ns), 40);
    assert_int_equal(sim_live_counts(l).n_generated, 4);
    sim_live_leave(&c.r);
    live_stop(l);
}

static void test_leaving(void **state)
{
    struct sim_live_config config = live_config();
    struct sim_live *l = live_start(&config);
    struct live_client running, waiting, held;
    (void)state;
    live_set(l, SIM_FAULT_SEQS_CAP, 1);
    live_come(l, &running, 160, 100);
    live_come(l, &waiting, 160, 100);
    live_set(l, SIM_FAULT_ADDED_LATENCY, 1);
    live_come(l, &held, 160, 100);
    live_pass(15);
    assert_int_equal(sim_live_counts(l).n_running, 1);
    assert_int_equal(sim_live_counts(l).n_waiting, 1);
    assert_int_equal(sim_live_counts(l).n_blocks_free, 89);
    sim_live_leave(&running.r);
    sim_live_leave(&waiting.r);
    sim_live_leave(&held.r);
    assert_int_equal(sim_live_counts(l).n_blocks_free, 100);
    assert_int_equal(sim_live_counts(l).n_left, 2); /* the engine has not heard of the third */
    assert_int_equal(sim_live_stats(l)->n_ended[SIM_ABORT], 2);
    live_pass(1200);
    assert_int_equal(sim_live_counts(l).n_arrived, 2);
    live_stop(l);
}

static void test_too_long(void **state)
{
    struct sim_live_config config = live_config();
    struct sim_live *l = live_start(&config);
    struct sim_live_ask ask = {.n_prompt = 1600, .n_output = 2, .n = 1};
    struct live_client c;
    (void)state;
    assert_int_equal(live_ask(l, &c, ask), -E2BIG);
    assert_int_equal(sim_live_n_open(l), 0);
    ask.n_output = 1;
    assert_int_equal(live_ask(l, &c, ask), 0);
    sim_live_leave(&c.r);
    live_stop(l);
}

/* --- faults --- */

/* From the arrival to the first token. */
static int64_t ttft_ms(struct sim_live *l)
{
    int64_t begin_ns = live_now_ns;
    struct live_client c;
    int64_t ms;

    live_come(l, &c, 32, 1);
    while (c.r.n_ready == 0)
        live_pass(1);
    ms = since_ms(c.r.t_first, begin_ns);
    sim_live_leave(&c.r);
    return ms;
}

static void test_slower(void **state)
{
    static const struct {
        enum sim_fault fault;
        double strength;
        int64_t ms;
    } rows[] = {
        {SIM_FAULT_SLOW_GPU, 3, 30},
        {SIM_FAULT_HOST_STALL, 25, 35},
        {SIM_FAULT_BAD_REPLICA, 0.2, 20},
        {SIM_FAULT_ADDED_LATENCY, 0.04, 50},
    };
    struct sim_live_config config = live_config();
    struct sim_live *l = live_start(&config);
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const char *name = sim_fault_row(rows[i].fault)->name;
        int64_t ms;

        live_set(l, rows[i].fault, rows[i].strength);
        ms = ttft_ms(l);
        assert_row(name, ms == rows[i].ms || ms == rows[i].ms + 1); /* held ones: ticks of 1 ms */
        live_clear(l, rows[i].fault);
        assert_row(name, ttft_ms(l) == 10);
    }
    live_stop(l);
}

/* What is added in front of the queue is in the TTFT and not in the time in the queue. */
static void test_added_latency_in_histograms(void **state)
{
    struct sim_live_config config = live_config();
    struct sim_live *l = live_start(&config);
    const struct sim_stats *s = sim_live_stats(l);
    (void)state;
    live_set(l, SIM_FAULT_ADDED_LATENCY, 0.5);
    (void)ttft_ms(l);
    assert_int_equal(s->hists[SIM_TTFT].n, 1);
    assert_true(s->hists[SIM_TTFT].sum > 0.5 && s->hists[SIM_TTFT].sum < 0.52);
    assert_true(s->hists[SIM_E2E].sum > 0.5);
    assert_true(s->hists[SIM_QUEUE].n == 1 && s->hists[SIM_QUEUE].sum < 0.01);
    live_stop(l);
}

static void test_gpu(void **state)
{
    struct sim_live_config config = live_config();
    struct sim_live *l = live_start(&config);
    struct live_client c;
    (void)state;
    live_come(l, &c, 32, 1000);
    live_pass(2500);
    assert_true(sim_live_gpu(l)->util > 0.95);
    assert_true(sim_live_gpu(l)->speed == 1);
    live_set(l, SIM_FAULT_SLOW_GPU, 2);
    live_pass(1100);
    assert_true(sim_live_gpu(l)->speed == 0.5);
    assert_true(sim_live_gpu(l)->util > 0.95);
    assert_int_equal(sim_live_gpu(l)->reasons, SIM_GPU_REASON_HW_THERMAL);
    live_clear(l, SIM_FAULT_SLOW_GPU);
    live_set(l, SIM_FAULT_HOST_STALL, 30);
    live_pass(2100);
    assert_true(sim_live_gpu(l)->speed == 1 && sim_live_gpu(l)->reasons == 0);
    assert_true(sim_live_gpu(l)->util > 0.2 && sim_live_gpu(l)->util < 0.3);
    assert_int_equal(sim_live_gpu(l)->xid, 0);
    live_set(l, SIM_FAULT_BAD_REPLICA, 0.1);
    live_pass(1100);
    assert_int_equal(sim_live_gpu(l)->xid, 94);
    sim_live_leave(&c.r);
    live_stop(l);
}

static void test_blocks(void **state)
{
    struct sim_live_config config = live_config();
    struct sim_live *l = live_start(&config);
    struct live_client c;
    (void)state;
    live_set(l, SIM_FAULT_KV_EXHAUSTION, 0.9);
    assert_int_equal(sim_live_counts(l).n_blocks_free, 10);
    live_come(l, &c, 320, 1); /* fits into the whole engine, not into what is left */
    live_pass(100);
    assert_int_equal(sim_live_counts(l).n_waiting, 1);
    live_clear(l, SIM_FAULT_KV_EXHAUSTION);
    live_pass(30);
    assert_int_equal(sim_live_counts(l).n_finished, 1);
    sim_live_leave(&c.r);
    live_set(l, SIM_FAULT_MEMORY_LEAK, 10);
    live_pass(2050);
    assert_in_range(sim_live_counts(l).n_blocks_lost, 19, 21);
    live_pass(10000);
    assert_int_equal(sim_live_counts(l).n_blocks_free, 0);
    live_clear(l, SIM_FAULT_MEMORY_LEAK);
    assert_int_equal(sim_live_counts(l).n_blocks_free, 100);
    live_stop(l);
}

static void test_preemption(void **state)
{
    struct sim_live_config config = live_config();
    struct sim_live *l = live_start(&config);
    struct live_client c[3];
    (void)state;
    for (int i = 0; i < 3; i++)
        live_come(l, &c[i], 480, 200);
    live_pass(6000);
    assert_true(sim_live_counts(l).n_preemptions > 0);
    assert_int_equal(sim_live_counts(l).n_generated, 600);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(c[i].r.n_ready, 200);
        sim_live_leave(&c[i].r);
    }
    live_stop(l);
}

static void test_prefixes(void **state)
{
    struct sim_live_config config = live_config();
    struct sim_live *l = live_start(&config);
    struct sim_live_ask ask = {
        .n_prompt = 320, .n_output = 1, .n = 1, .prefix = 5, .n_prefix = 320};
    struct live_client c;
    (void)state;
    for (int i = 0; i < 2; i++) {
        assert_int_equal(live_ask(l, &c, ask), 0);
        live_pass(30);
        assert_int_equal(c.r.n_cached, i == 0 ? 0 : 304); /* the last token is computed */
        sim_live_leave(&c.r);
    }
    assert_false(sim_live_loses_prefix(l));
    live_set(l, SIM_FAULT_PREFIX_CACHE_LOSS, 1);
    assert_true(sim_live_loses_prefix(l));
    assert_int_equal(live_ask(l, &c, ask), 0);
    live_pass(30);
    assert_int_equal(c.r.n_cached, 0); /* what was cached is gone, too */
    sim_live_leave(&c.r);
    live_stop(l);
}

static void test_surge(void **state)
{
    struct sim_live_config config = live_config();
    struct sim_live *l;
    struct batching_counts counts;
    (void)state;
    config.batching.n_blocks = 10000;
    l = live_start(&config);
    live_pass(1000);
    assert_int_equal(sim_live_counts(l).n_arrived, 0);
    live_set(l, SIM_FAULT_LOAD_SURGE, 50);
    live_pass(10000);
    counts = sim_live_counts(l);
    assert_in_range(counts.n_arrived, 400, 600);
    assert_int_equal(sim_live_n_open(l), 0);
    live_clear(l, SIM_FAULT_LOAD_SURGE);
    live_pass(20000);
    assert_int_equal(sim_live_counts(l).n_arrived, counts.n_arrived);
    assert_int_equal(sim_live_counts(l).n_finished, counts.n_arrived);
    live_stop(l);
}

static void test_lengths(void **state)
{
    struct sim_live_config config = live_config();
    struct sim_live *l = live_start(&config);
    bool is_limited = false;
    int64_t n = 10;
    (void)state;
    assert_int_equal(sim_live_prompt(l, 0), 1);
    assert_int_equal(sim_live_prompt(l, 100), 100);
    sim_live_output(l, 20, false, &n, &is_limited);
    assert_true(n == 10 && !is_limited);
    live_set(l, SIM_FAULT_LONG_PROMPTS, 4);
    assert_int_equal(sim_live_prompt(l, 100), 400);
    assert_int_equal(sim_live_prompt(l, 700), 800); /* half of the longest sequence */
    assert_int_equal(sim_live_prompt(l, 1000), 1000);
    live_set(l, SIM_FAULT_LONG_OUTPUTS, 4);
    sim_live_output(l, -1, false, &n, &is_limited);
    assert_true(n == 40 && !is_limited);
    sim_live_output(l, 100, false, &n, &is_limited);
    assert_true(n == 100 && is_limited);
    sim_live_output(l, -1, true, &n, &is_limited);
    assert_int_equal(n, 100);
    live_set(l, SIM_FAULT_RUNAWAY_OUTPUT, 500);
    sim_live_output(l, 20, true, &n, &is_limited);
    assert_true(n == 500 && is_limited);
    live_stop(l);
}

/* --- the door --- */

static int64_t count_door(struct sim_live *l, int n, int status)
{
    const char *message;
    int64_t retry, found = 0;

    for (int i = 0; i < n; i++)
        found += sim_live_door(l, (mono_t){live_now_ns}, &message, &retry) == status;
    return found;
}

static void test_door(void **state)
{
    struct sim_live_config config = live_config();
    struct sim_live *l = live_start(&config);
    const char *message = NULL;
    int64_t retry = 0;
    (void)state;
    assert_int_equal(count_door(l, 100, 0), 100);
    live_set(l, SIM_FAULT_ERRORS, 0.25);
    assert_in_range(count_door(l, 1000, 500), 200, 300);
    live_clear(l, SIM_FAULT_ERRORS);
    live_set(l, SIM_FAULT_BAD_REPLICA, 0.25);
    assert_in_range(count_door(l, 1000, 500), 200, 300);
    live_clear(l, SIM_FAULT_BAD_REPLICA);
    live_set(l, SIM_FAULT_RATE_LIMIT, 2);
    assert_int_equal(count_door(l, 10, 0), 2);
    assert_int_equal(sim_live_door(l, (mono_t){live_now_ns}, &message, &retry), 429);
    assert_int_equal(retry, 1);
    live_pass(1500);
    assert_int_equal(count_door(l, 10, 0), 2);
    live_set(l, SIM_FAULT_RATE_LIMIT, 0.1);
    assert_int_equal(sim_live_door(l, (mono_t){live_now_ns}, &message, &retry), 429);
    assert_in_range(retry, 9, 10);
    live_clear(l, SIM_FAULT_RATE_LIMIT);
    assert_int_equal(count_door(l, 100, 0), 100);
    live_stop(l);
}

static void test_cold_start(void **state)
{
    struct sim_live_config config = live_config();
    struct sim_live *l = live_start(&config);
    const char *message = NULL;
    double started_at_s = sim_live_started_at_s(l);
    struct live_client c;
    int64_t retry = 0;
    (void)state;
    live_come(l, &c, 320, 100);
    live_pass(50);
    live_set(l, SIM_FAULT_LOAD_SURGE, 100);
    live_pass(200);
    live_set(l, SIM_FAULT_COLD_START, 2);
    live_pass(1);
    assert_true(c.r.is_lost);
    sim_live_leave(&c.r);
    assert_int_equal(sim_live_counts(l).n_generated, 0);
    assert_int_equal(sim_live_counts(l).n_running, 0);
    assert_int_equal(sim_live_counts(l).n_blocks_free, 100);
    assert_int_equal(sim_live_stats(l)->hists[SIM_TTFT].n, 0);
    assert_true(sim_live_started_at_s(l) > started_at_s);
    assert_int_equal(sim_live_door(l, (mono_t){live_now_ns}, &message, &retry), 503);
    assert_int_equal(retry, 2);
    live_pass(1000);
    assert_int_equal(sim_live_counts(l).n_arrived, 0); /* the surge waits, too */
    live_pass(1200);
    assert_false(sim_live_faults(l)->is_on[SIM_FAULT_COLD_START]); /* ends by itself */
    assert_int_equal(sim_live_loading_s(l, (mono_t){live_now_ns}), 0);
    live_pass(500);
    assert_true(sim_live_counts(l).n_arrived > 0);
    live_set(l, SIM_FAULT_COLD_START, 100);
    live_clear(l, SIM_FAULT_COLD_START);
    assert_int_equal(sim_live_door(l, (mono_t){live_now_ns}, &message, &retry), 0);
    live_stop(l);
}

static void test_script(void **state)
{
    struct sim_live_config config = live_config();
    struct sim_script *script = NULL;
    struct sim_live *l;
    (void)state;
    assert_int_equal(sim_script_parse(SPAN("at 0s for 1s errors\n"
                                           "at 500ms for 1s seqs_cap 2\n"
                                           "at 1s for 1s errors 0.5\n"),
                                      &script, NULL),
                     0);
    config.script = script;
    l = live_start(&config);
    live_pass(100);
    assert_true(sim_faults_get(sim_live_faults(l), SIM_FAULT_ERRORS, 0) == 0.1);
    assert_false(sim_live_faults(l)->is_on[SIM_FAULT_SEQS_CAP]);
    live_pass(500);
    assert_true(sim_faults_get(sim_live_faults(l), SIM_FAULT_SEQS_CAP, 0) == 2);
    live_pass(500);
    assert_true(sim_faults_get(sim_live_faults(l), SIM_FAULT_ERRORS, 0) == 0.5);
    live_pass(1000);
    assert_memory_equal(sim_live_faults(l), &(struct sim_faults){0}, sizeof(struct sim_faults));
    live_stop(l);
    script = sim_script_free(script);
}

/* --- anything, in any order --- */

enum { CLIENTS = 12, ROUNDS = 3000 };

static void random_fault(struct sim_live *l, struct rng *rng)
{
    enum sim_fault which = (enum sim_fault)rng_below(rng, SIM_FAULT_COUNT_);
    const struct sim_fault_row *row = sim_fault_row(which);
    double most = fmin(row->max, 3 * row->strength);

    if (sim_live_faults(l)->is_on[which])
        live_clear(l, which);
    else
        live_set(l, which, row->min + (most - row->min) * rng_unit(rng));
}

static void random_client(struct sim_live *l, struct live_client *c, bool *is_here, struct rng *rng)
{
    struct sim_live_ask ask = {.n_prompt = 1 + (int64_t)rng_below(rng, 700),
                               .n_output = 1 + (int64_t)rng_below(rng, 40),
                               .n = 1 + (int64_t)rng_below(rng, 3),
                               .prefix = rng_below(rng, 3),
                               .n_prefix = (int64_t)rng_below(rng, 300)};

    if (*is_here) {
        assert_true(c->r.n_ready >= 0 && c->r.n_ready <= 40);
        sim_live_leave(&c->r);
        *is_here = false;
        return;
    }
    *is_here = live_ask(l, c, ask) == 0;
    assert_true(*is_here);
}

static void test_anything(void **state)
{
    struct sim_live_config config = live_config();
    struct live_client clients[CLIENTS];
    bool is_here[CLIENTS] = {false};
    struct sim_live *l = live_start(&config);
    struct rng rng;
    (void)state;
    rng_seed(&rng, 11);
    for (int i = 0; i < ROUNDS; i++) {
        size_t at = rng_below(&rng, CLIENTS);
        int64_t n_here = 0;

        if (rng_below(&rng, 8) == 0)
            random_fault(l, &rng);
        else
            random_client(l, &clients[at], &is_here[at], &rng);
        live_pass((int64_t)rng_below(&rng, 30));
        for (size_t k = 0; k < CLIENTS; k++)
            n_here += is_here[k];
        assert_int_equal(sim_live_n_open(l), n_here);
        assert_row(batching_check(l->batching), !batching_check(l->batching));
    }
    for (size_t k = 0; k < CLIENTS; k++)
        if (is_here[k])
            sim_live_leave(&clients[k].r);
    sim_live_set_faults(l, &(struct sim_faults){0});
    for (int i = 0; i < 1000 && l->n_made_up > 0; i++)
        live_pass(100);
    assert_int_equal(l->n_made_up, 0);
    assert_int_equal(sim_live_counts(l).n_blocks_free, 100);
    assert_int_equal(sim_live_counts(l).n_running + sim_live_counts(l).n_waiting, 0);
    live_stop(l);
}

static int attempt(void *ctx)
{
    struct sim_live_config config = live_config();
    struct sim_live *l = NULL;
    struct live_client c;
    int r = sim_live_new(live_loop, &config, &l);
    (void)ctx;
    if (r < 0)
        return r;
    r = live_ask(l, &c, (struct sim_live_ask){.n_prompt = 16, .n_output = 1, .n = 1});
    if (r == 0) {
        live_pass(20);
        r = c.r.is_lost ? -ENOMEM : 0; /* no room for the token's time */
        sim_live_leave(&c.r);
    }
    l = sim_live_free(l);
    return r;
}

static void test_no_memory(void **state)
{
    (void)state;
    clock_fake(live_clock, live_clock);
    assert_int_equal(loop_new(&live_loop), 0);
    assert_int_equal(memfail_each(attempt, NULL), 6);
    live_loop = loop_free(live_loop);
    clock_fake(NULL, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_request), cmocka_unit_test(test_several_answers),
        cmocka_unit_test(test_leaving),     cmocka_unit_test(test_too_long),
        cmocka_unit_test(test_slower),      cmocka_unit_test(test_added_latency_in_histograms),
        cmocka_unit_test(test_gpu),         cmocka_unit_test(test_blocks),
        cmocka_unit_test(test_preemption),  cmocka_unit_test(test_prefixes),
        cmocka_unit_test(test_surge),       cmocka_unit_test(test_lengths),
        cmocka_unit_test(test_door),        cmocka_unit_test(test_cold_start),
        cmocka_unit_test(test_script),      cmocka_unit_test(test_anything),
        cmocka_unit_test(test_no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
