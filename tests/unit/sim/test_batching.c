/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/batching.h"

#include <errno.h>
#include <string.h>

#include "harness.h"
#include "memfail.h"

static const mono_t start = {NS_PER_S};

/* Times are small numbers without noise, so that sums can be written down. */
static struct batching_config exact(void)
{
    return (struct batching_config){
        .cost = {.prefill_base = 100,
                 .per_prefill_token = 1,
                 .decode_base = 50,
                 .per_seq = 3,
                 .per_kv_token = 2},
        .max_seqs = 4,
        .token_budget = 16,
        .block_tokens = 4,
        .n_blocks = 100,
        .speed = 1,
    };
}

static struct batching *engine(const struct batching_config *c)
{
    struct batching *b = NULL;
    assert_int_equal(batching_new(c, 1, &b), 0);
    return b;
}

static void assert_sound(const struct batching *b)
{
    const char *wrong = batching_check(b);
    assert_string_equal(wrong ? wrong : "", "");
}

static struct batching_request asks(int64_t n_prompt, int64_t n_output)
{
    return (struct batching_request){.n_prompt = n_prompt, .n_output = n_output};
}

static void come(struct batching *b, struct batching_request *r, int64_t after_ns)
{
    assert_int_equal(batching_arrive(b, r, mono_add(start, after_ns)), 0);
    assert_sound(b);
}

/* One iteration; returns how many got a token. */
static int step(struct batching *b)
{
    int n = 0;
    for (struct batching_request *r = batching_step(b); r; r = batching_told(b))
        n++;
    assert_sound(b);
    return n;
}

static int64_t next_ns(const struct batching *b)
{
    return mono_diff(batching_next(b), start);
}

static void run_dry(struct batching *b)
{
    for (int i = 0; mono_is_set(batching_next(b)); i++) {
        assert_true(i < 10000);
        step(b);
    }
}

static void test_one_request(void **state)
{
    struct batching_config c = exact();
    struct batching *b = engine(&c);
    struct batching_request r = asks(10, 3);
    (void)state;
    assert_false(mono_is_set(batching_next(b)));
    come(b, &r, 0);
    assert_int_equal(r.t_scheduled.ns, start.ns);
    assert_int_equal(next_ns(b), 100 + 10);
    assert_ptr_equal(batching_step(b), &r);
    assert_null(batching_told(b));
    assert_int_equal(r.n_new, 1);
    assert_int_equal(r.t_first.ns, start.ns + 110);
    assert_int_equal(next_ns(b), 110 + 50 + 3 + 2 * 11); /* the KV of 11 tokens is read */
    assert_int_equal(step(b), 1);
    assert_int_equal(next_ns(b), 185 + 50 + 3 + 2 * 12);
    assert_int_equal(batching_counts(b).n_blocks_free, 97);
    assert_int_equal(step(b), 1);
    assert_int_equal(r.state, BATCHING_FINISHED);
    assert_int_equal(r.t_last.ns, start.ns + 262);
    assert_int_equal(r.n_computed, 12);
    assert_false(mono_is_set(batching_next(b)));

    struct batching_counts n = batching_counts(b);
    assert_int_equal(n.n_finished, 1);
    assert_int_equal(n.n_prompt, 10);
    assert_int_equal(n.n_generated, 3);
    assert_int_equal(n.n_computed, 12);
    assert_int_equal(n.n_steps, 3);
    assert_int_equal(n.busy_ns, 262);
    assert_int_equal(n.last_step_ns, 77);
    assert_int_equal(n.n_blocks_free, 100);
    batching_free(b);
}

static void test_prompt_in_chunks(void **state)
{
    struct batching_config c = exact();
    struct batching *b = engine(&c);
    struct batching_request r = asks(40, 1);
    static const int64_t chunks[] = {16, 16, 8};
    (void)state;
    come(b, &r, 0);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(batching_counts(b).n_prompt, 0);
        assert_int_equal(step(b), i == 2);
        assert_int_equal(batching_counts(b).last_tokens, chunks[i]);
        assert_int_equal(batching_counts(b).last_step_ns, 100 + chunks[i]);
    }
    assert_int_equal(batching_counts(b).n_prompt, 40);
    batching_free(b);
}

/* Who decodes goes first; a prompt gets what is left of the budget, and pays by its tokens. */
static void test_mixed_iteration(void **state)
{
    struct batching_config c = exact();
    struct batching *b = engine(&c);
    struct batching_request a = asks(6, 5), p = asks(20, 2);
    (void)state;
    come(b, &a, 0);
    come(b, &p, 1); /* while the first iteration is under way */
    assert_int_equal(step(b), 1);
    assert_int_equal(next_ns(b), 106 + 50 + 15 + 3 + 2 * 7);
    assert_int_equal(step(b), 1);
    assert_int_equal(batching_counts(b).last_tokens, 16);
    assert_int_equal(batching_counts(b).last_step_ns, 50 + 15 + 3 + 2 * 7);
    assert_int_equal(step(b), 2); /* 5 tokens of the prompt were left */
    assert_int_equal(batching_counts(b).last_step_ns, 50 + 5 + 3 + 2 * 8);
    assert_int_equal(step(b), 2);
    assert_int_equal(batching_counts(b).last_step_ns, 50 + 2 * 3 + 2 * (9 + 21));
    assert_int_equal(p.state, BATCHING_FINISHED);
    batching_free(b);
}

static void test_first_come_first_served(void **state)
{
    enum { N = 9 };
    struct batching_config c = exact();
    struct batching_request r[N];
    c.max_seqs = 2;
    struct batching *b = engine(&c);
    (void)state;
    for (int i = 0; i < N; i++) {
        r[i] = asks(20 - i, 1 + i % 3);
        come(b, &r[i], i);
    }
    for (int i = 0; mono_is_set(batching_next(b)); i++) {
        struct batching_counts n = batching_counts(b);
        assert_true(n.n_running <= 2);
        step(b);
        /* The cap keeps them out, neither the budget nor the memory. */
        if (n.n_waiting > 0 && batching_counts(b).last_tokens < c.token_budget)
            assert_int_equal(n.n_running, 2);
    }
    for (int i = 1; i < N; i++) {
        assert_true(r[i].t_scheduled.ns >= r[i - 1].t_scheduled.ns);
        assert_true(r[i].t_first.ns >= r[i - 1].t_first.ns);
    }
    assert_int_equal(batching_counts(b).n_finished, N);
    batching_free(b);
}

static void test_last_is_preempted_and_comes_back_first(void **state)
{
    struct batching_config c = exact();
    struct batching_request a = asks(8, 9), z = asks(8, 9), later = asks(4, 1);
    c.n_blocks = 6;
    struct batching *b = engine(&c);
    int n_tokens = 0;
    (void)state;
    come(b, &a, 0);
    come(b, &z, 1);
    while (z.n_preempted == 0) {
        step(b);
        if (z.n_done == 3)
            come(b, &later, next_ns(b) - 1);
    }
    assert_int_equal(a.state, BATCHING_RUNNING);
    assert_int_equal(z.state, BATCHING_WAITING);
    assert_int_equal(a.n_preempted, 0);
    n_tokens = (int)z.n_done;
    assert_true(n_tokens > 3);
    assert_int_equal(z.n_recomputed, 8 + n_tokens - 1);
    /* Only when a has gone there is room; then it is z's turn, before the one that came later. */
    run_dry(b);
    assert_int_equal(z.state, BATCHING_FINISHED);
    assert_int_equal(z.n_done, 9);
    assert_int_equal(z.n_computed, 8 + 8 + z.n_recomputed);
    assert_true(later.t_scheduled.ns >= a.t_last.ns);
    assert_true(later.t_first.ns > a.t_last.ns);
    assert_int_equal(batching_counts(b).n_preemptions, z.n_preempted);
    assert_int_equal(batching_counts(b).n_blocks_free, 6);
    batching_free(b);
}

/* In the iteration that preempts somebody nobody is taken in, though the blocks would do for it. */
static void test_nobody_comes_in_while_one_is_preempted(void **state)
{
    struct batching_config c = exact();
    struct batching_request a = asks(8, 9), z = asks(8, 9);
    c.n_blocks = 6;
    c.token_budget = 4;
    struct batching *b = engine(&c);
    (void)state;
    come(b, &a, 0);
    come(b, &z, 1);
    while (z.n_preempted == 0)
        step(b);
    assert_true(batching_counts(b).n_blocks_free > 0);
    assert_int_equal(z.state, BATCHING_WAITING);
    step(b);
    assert_int_equal(z.state, BATCHING_RUNNING); /* a chunk of it fits */
    run_dry(b);
    assert_int_equal(z.n_done, 9);
    batching_free(b);
}

/* The last one needs a block, nobody after it has one: it gives way itself. */
static void test_preempts_itself(void **state)
{
    struct batching_config c = exact();
    struct batching_request a = asks(11, 5), z = asks(8, 4);
    c.n_blocks = 6;
    c.token_budget = 32;
    struct batching *b = engine(&c);
    (void)state;
    come(b, &a, 0);
    come(b, &z, 1);
    step(b); /* a's prompt: 3 blocks */
    assert_int_equal(z.n_preempted, 0);
    step(b); /* z's prompt: 2; a's fourth is the last one, and z would need a third */
    assert_int_equal(z.n_preempted, 1);
    assert_int_equal(z.n_done, 1);
    assert_int_equal(batching_counts(b).n_blocks_free, 2);
    assert_int_equal(a.state, BATCHING_RUNNING);
    run_dry(b);
    assert_int_equal(z.n_done, 4);
    batching_free(b);
}

static struct batching_request begins_with(uint64_t prefix, int64_t n_prefix, int64_t n_prompt)
{
    struct batching_request r = asks(n_prompt, 2);
    r.prefix = prefix;
    r.n_prefix = n_prefix;
    return r;
}

static void test_prefix_cache(void **state)
{
    static const struct {
        const char *name;
        bool has_cache;
        int64_t n_prefix, n_prompt, n_cached;
    } rows[] = {
        {"whole blocks only", true, 11, 14, 8},
        {"less of it", true, 6, 14, 4},
        {"the last token is computed in any case", true, 8, 8, 4},
        {"one token behind it", true, 8, 9, 8},
        {"less than a block", true, 3, 14, 0},
        {"prefix longer than the prompt", true, 99, 7, 4},
        {"no cache", false, 11, 14, 0},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct batching_config c = exact();
        struct batching_request first = begins_with(5, 12, 15), other = begins_with(6, 12, 12);
        struct batching_request r = begins_with(5, rows[i].n_prefix, rows[i].n_prompt);
        struct batching_counts before, n;
        c.has_prefix_cache = rows[i].has_cache;
        struct batching *b = engine(&c);
        come(b, &first, 0);
        run_dry(b);
        come(b, &other, NS_PER_S);
        run_dry(b);
        assert_row(rows[i].name, first.n_cached == 0 && other.n_cached == 0);
        before = batching_counts(b);
        come(b, &r, 2 * NS_PER_S);
        step(b);
        n = batching_counts(b);
        assert_row(rows[i].name, r.n_cached == rows[i].n_cached);
        assert_row(rows[i].name, n.last_tokens == rows[i].n_prompt - rows[i].n_cached);
        assert_row(rows[i].name, n.n_cached - before.n_cached == r.n_cached);
        assert_row(rows[i].name, n.n_cache_hits - before.n_cache_hits == r.n_cached);
        assert_row(rows[i].name, n.n_cache_queries - before.n_cache_queries ==
                                     (rows[i].has_cache ? rows[i].n_prompt : 0));
        batching_free(b);
    }
}

/* While it is being computed, a prefix is there for who comes in the same iteration. */
static void test_prefix_of_the_same_iteration(void **state)
{
    struct batching_config c = exact();
    struct batching_request first = asks(1, 1), a = begins_with(5, 8, 9), z = begins_with(5, 8, 9);
    c.has_prefix_cache = true;
    struct batching *b = engine(&c);
    (void)state;
    come(b, &first, 0);
    come(b, &a, 1);
    come(b, &z, 2);
    step(b);
    step(b);
    assert_int_equal(a.n_cached, 0);
    assert_int_equal(z.n_cached, 8);
    assert_int_equal(batching_counts(b).last_tokens, 9 + 1);
    run_dry(b);
    batching_free(b);
}

static void test_cache_is_lost(void **state)
{
    struct batching_config c = exact();
    struct batching_request a = begins_with(5, 8, 9), z = a, y = a, big = asks(396, 1), x = a;
    c.has_prefix_cache = true;
    struct batching *b = engine(&c);
    (void)state;
    come(b, &a, 0);
    run_dry(b);
    c.has_prefix_cache = false;
    batching_configure(b, &c);
    c.has_prefix_cache = true;
    batching_configure(b, &c);
    come(b, &z, 1000);
    run_dry(b);
    assert_int_equal(z.n_cached, 0);
    come(b, &y, 2000);
    run_dry(b);
    assert_int_equal(y.n_cached, 8);
    come(b, &big, 3000); /* takes nearly all blocks */
    run_dry(b);
    come(b, &x, NS_PER_S);
    run_dry(b);
    assert_int_equal(x.n_cached, 4); /* the beginning outlives the end by one block */
    batching_free(b);
}

static void test_leave_in_every_state(void **state)
{
    struct batching_config c = exact();
    struct batching_request prefills = asks(40, 3), decodes = asks(8, 9), waits = asks(5, 2);
    c.n_blocks = 14;
    c.max_seqs = 2;
    struct batching *b = engine(&c);
    (void)state;
    come(b, &decodes, 0);
    come(b, &prefills, 1);
    come(b, &waits, 2);
    step(b);
    assert_int_equal(batching_counts(b).n_running, 2);

    batching_leave(b, &waits);
    assert_int_equal(waits.state, BATCHING_GONE);
    assert_sound(b);
    batching_leave(b, &waits); /* again: nothing */
    assert_int_equal(batching_counts(b).n_left, 1);

    batching_leave(b, &prefills); /* in the middle of its iteration */
    assert_sound(b);
    int64_t under_way_ns = next_ns(b);
    assert_int_equal(batching_counts(b).n_blocks_free, 14 - 3);
    step(b);
    assert_int_equal(batching_counts(b).last_tokens, 16); /* computed, for nobody */
    assert_true(next_ns(b) > under_way_ns);

    batching_leave(b, &decodes);
    assert_sound(b);
    assert_true(mono_is_set(batching_next(b)));
    assert_int_equal(step(b), 0);
    assert_false(mono_is_set(batching_next(b)));
    assert_int_equal(batching_counts(b).n_blocks_free, 14);
    assert_int_equal(batching_counts(b).n_left, 3);

    struct batching_request r = asks(3, 1);
    come(b, &r, NS_PER_S);
    step(b);
    assert_int_equal(r.state, BATCHING_FINISHED);
    batching_leave(b, &r);
    assert_int_equal(batching_counts(b).n_left, 3);
    assert_sound(b);
    batching_free(b);
}

/* Requests that are told are the caller's at once; those not asked for must not be told later. */
static void test_leave_while_told(void **state)
{
    struct batching_config c = exact();
    struct batching_request r[3] = {asks(4, 1), asks(4, 3), asks(4, 3)};
    struct batching *b = engine(&c);
    (void)state;
    for (int i = 0; i < 3; i++)
        come(b, &r[i], i);
    step(b);
    assert_int_equal(r[0].state, BATCHING_FINISHED);
    assert_ptr_equal(batching_step(b), &r[1]);
    memset(&r[0], 0xee, sizeof(r[0])); /* as if freed */
    batching_leave(b, &r[2]);
    memset(&r[2], 0xee, sizeof(r[2]));
    assert_null(batching_told(b));
    assert_sound(b);
    run_dry(b);
    batching_free(b);
}

static void test_preempted_one_leaves(void **state)
{
    struct batching_config c = exact();
    struct batching_request a = asks(8, 9), z = asks(8, 9);
    c.n_blocks = 6;
    struct batching *b = engine(&c);
    (void)state;
    come(b, &a, 0);
    come(b, &z, 1);
    while (z.n_preempted == 0)
        step(b);
    batching_leave(b, &z);
    assert_sound(b);
    run_dry(b);
    assert_int_equal(a.state, BATCHING_FINISHED);
    assert_int_equal(batching_counts(b).n_waiting, 0);
    assert_int_equal(batching_counts(b).n_blocks_free, 6);
    batching_free(b);
}

static void test_configure_under_load(void **state)
{
    struct batching_config c = exact();
    struct batching_request r[4];
    struct batching *b = engine(&c);
    (void)state;
    for (int i = 0; i < 4; i++) {
        r[i] = asks(1, 100);
        come(b, &r[i], i);
    }
    step(b);
    step(b); /* all four decode from here on: KV of 3, 2, 2, 2 tokens */
    c.speed = 0.5;
    c.host_ns = 1000;
    batching_configure(b, &c);
    step(b);
    assert_int_equal(batching_counts(b).last_step_ns, 50 + 4 * 3 + 2 * (3 + 2 + 2 + 2));
    step(b); /* the first that was planned since */
    assert_int_equal(batching_counts(b).last_step_ns,
                     2 * (50 + 4 * 3 + 2 * (4 + 3 + 3 + 3)) + 1000);
    assert_int_equal(batching_counts(b).busy_ns, 101 + 60 + 80 + 176); /* the host is not the GPU */

    c.max_seqs = 1; /* who runs goes on running */
    batching_configure(b, &c);
    assert_int_equal(step(b), 4);
    struct batching_request more = asks(1, 1);
    come(b, &more, next_ns(b) - 1);
    for (int i = 0; i < 3; i++) {
        batching_leave(b, &r[i]);
        step(b);
        assert_int_equal(more.state, BATCHING_WAITING);
    }
    batching_leave(b, &r[3]);
    step(b);
    step(b);
    assert_int_equal(more.state, BATCHING_FINISHED);

    struct batching_request refused = asks(400, 2);
    assert_int_equal(batching_arrive(b, &refused, mono_add(start, NS_PER_S)), -E2BIG);
    refused = asks(400, 1);
    come(b, &refused, NS_PER_S);
    batching_leave(b, &refused);
    batching_free(b);
}

/* Blocks that leak away go as they are freed, and come back when the leak is mended. */
static void test_leak(void **state)
{
    struct batching_config c = exact();
    struct batching_request a = asks(16, 20), z = asks(16, 4);
    struct batching_counts n;
    c.n_blocks = 20;
    struct batching *b = engine(&c);
    (void)state;
    come(b, &a, 0);
    come(b, &z, 1);
    step(b);
    step(b);
    step(b); /* nine blocks are held, and the tenth is planned */
    c.n_blocks = 9;
    batching_configure(b, &c);
    assert_sound(b);
    n = batching_counts(b);
    assert_int_equal(n.n_blocks, 20);
    assert_int_equal(n.n_blocks_lost, 10);
    assert_int_equal(n.n_blocks_free, 0);
    while (a.state != BATCHING_FINISHED || z.state != BATCHING_FINISHED)
        step(b);
    n = batching_counts(b);
    assert_int_equal(n.n_blocks_lost, 11);
    assert_int_equal(n.n_blocks_free, 9);
    c.n_blocks = 20;
    batching_configure(b, &c);
    assert_int_equal(batching_counts(b).n_blocks_free, 20);
    assert_sound(b);
    batching_free(b);
}

static void test_stuck_engine_looks_again(void **state)
{
    struct batching_config c = exact();
    struct batching_request r = asks(16, 2);
    c.n_blocks = 8;
    struct batching *b = engine(&c);
    (void)state;
    come(b, &r, 0);
    step(b);
    c.n_blocks = 2; /* it has 4 already, and needs a fifth */
    batching_configure(b, &c);
    assert_int_equal(step(b), 1); /* planned before */
    assert_int_equal(r.state, BATCHING_FINISHED);

    c.n_blocks = 8;
    batching_configure(b, &c);
    r = asks(16, 2);
    come(b, &r, NS_PER_S);
    c.n_blocks = 2;
    batching_configure(b, &c);
    assert_int_equal(step(b), 1);
    assert_int_equal(r.state, BATCHING_WAITING);
    assert_int_equal(r.n_preempted, 1);
    int64_t n_steps = batching_counts(b).n_steps, at_ns = next_ns(b);
    for (int i = 0; i < 5; i++)
        assert_int_equal(step(b), 0);
    assert_int_equal(next_ns(b), at_ns + 5 * 10 * NS_PER_MS);
    assert_int_equal(batching_counts(b).n_steps, n_steps); /* looking is not an iteration */
    assert_int_equal(batching_counts(b).n_blocks_lost, 6);
    c.n_blocks = 99; /* more than at the start: as many as then */
    batching_configure(b, &c);
    run_dry(b);
    assert_int_equal(r.state, BATCHING_FINISHED);
    assert_int_equal(batching_counts(b).n_blocks_free, 8);
    batching_free(b);
}

/* Who is preempted for want of blocks and alone begins again at once, in the same planning. */
static void test_alone_and_preempted(void **state)
{
    struct batching_config c = exact();
    struct batching_request r = asks(16, 2);
    c.token_budget = 8;
    c.n_blocks = 8;
    struct batching *b = engine(&c);
    (void)state;
    come(b, &r, 0);
    c.n_blocks = 3;
    batching_configure(b, &c);
    step(b);
    assert_int_equal(r.n_preempted, 1); /* the second chunk does not fit */
    assert_int_equal(r.state, BATCHING_RUNNING);
    assert_int_equal(next_ns(b), 108 + 108); /* the first is computed again */
    c.n_blocks = 8;
    batching_configure(b, &c);
    run_dry(b);
    assert_int_equal(r.n_recomputed, 8);
    assert_int_equal(r.n_done, 2);
    batching_free(b);
}

static void test_noise_and_stalls(void **state)
{
    enum { N = 20000 };
    struct batching_config c = exact();
    struct batching_request r = asks(1, N + 1);
    double sum = 0;
    int n_stalls = 0;
    (void)state;
    c.cost = (struct batching_cost){
        .prefill_base = 1e6, .decode_base = 1e6, .sigma = 0.05, .stall_rate = 0.01, .stall = 1e9};
    c.n_blocks = N;
    struct batching *b = engine(&c);
    come(b, &r, 0);
    for (int i = 0; i < N; i++) {
        (void)batching_step(b);
        double ns = (double)batching_counts(b).last_step_ns;
        n_stalls += ns > 5e8;
        sum += ns > 5e8 ? ns - 1e9 : ns;
    }
    assert_true(n_stalls > 150 && n_stalls < 250);
    assert_true(sum / N > 0.995e6 && sum / N < 1.01e6);
    batching_free(b);
}

static void test_seed_repeats(void **state)
{
    struct batching_config c;
    struct batching *b[3];
    struct batching_request r[3];
    (void)state;
    batching_config_init(&c);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(batching_new(&c, i == 2 ? 8 : 7, &b[i]), 0);
        r[i] = asks(3000, 200);
        come(b[i], &r[i], 0);
        while (mono_is_set(batching_next(b[i])))
            (void)batching_step(b[i]);
    }
    assert_int_equal(r[0].t_last.ns, r[1].t_last.ns);
    assert_true(r[0].t_last.ns != r[2].t_last.ns);
    for (int i = 0; i < 3; i++)
        batching_free(b[i]);
}

static void test_costs_by_name(void **state)
{
    struct batching_cost c;
    size_t n = 0;
    (void)state;
    for (const char *name; (name = batching_cost_name(n)); n++)
        assert_true(batching_cost_of(name, &c) && c.decode_base > 0);
    assert_int_equal(n, 5);
    assert_false(batching_cost_of("abacus", &c));
    assert_true(batching_cost_of("llama2-70b-a100-tp4", &c));
    assert_true(c.prefill_base == 0 && c.per_prefill_token > 0.2537e6 &&
                c.per_prefill_token < 0.2539e6);
}

static int attempt(void *ctx)
{
    struct batching_config c = exact();
    struct batching *b = ctx;
    int r = batching_new(&c, 1, &b);
    if (r < 0)
        assert_ptr_equal(b, ctx);
    else
        batching_free(b);
    return r;
}

static void test_no_memory(void **state)
{
    (void)state;
    assert_int_equal(memfail_each(attempt, NULL), 3);
    assert_null(batching_free(NULL));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_request),
        cmocka_unit_test(test_prompt_in_chunks),
        cmocka_unit_test(test_mixed_iteration),
        cmocka_unit_test(test_first_come_first_served),
        cmocka_unit_test(test_last_is_preempted_and_comes_back_first),
        cmocka_unit_test(test_nobody_comes_in_while_one_is_preempted),
        cmocka_unit_test(test_preempts_itself),
        cmocka_unit_test(test_prefix_cache),
        cmocka_unit_test(test_prefix_of_the_same_iteration),
        cmocka_unit_test(test_cache_is_lost),
        cmocka_unit_test(test_leave_in_every_state),
        cmocka_unit_test(test_leave_while_told),
        cmocka_unit_test(test_preempted_one_leaves),
        cmocka_unit_test(test_configure_under_load),
        cmocka_unit_test(test_leak),
        cmocka_unit_test(test_stuck_engine_looks_again),
        cmocka_unit_test(test_alone_and_preempted),
        cmocka_unit_test(test_noise_and_stalls),
        cmocka_unit_test(test_seed_repeats),
        cmocka_unit_test(test_costs_by_name),
        cmocka_unit_test(test_no_memory),
    };
    return cmocka_run_group_tests_name("sim/batching", tests, NULL, NULL);
}
