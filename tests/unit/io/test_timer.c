/* SPDX-License-Identifier: Apache-2.0 */
#include "io/timer.h"

#include "base/rng.h"
#include "harness.h"

enum { N_TIMERS = 200, N_STEPS = 20000 };

#define TICK_NS   NS_PER_MS
#define EPOCH     ((mono_t){777})
#define TICKS_MAX ((int64_t)(1 << 24) - 1)

/* A timer and what a list that is searched from end to end would know of it. */
struct probe {
    struct timer t;
    bool is_running;
    int64_t due_tick;
    int n_fired;
};

static struct timer_wheel wheel;
static struct probe probes[N_TIMERS];
static struct rng rng;
static mono_t now;          /* of the advance under way, or of the last one */
static int64_t advanced_to; /* ticks up to and including this one have fired */
static int64_t last_due;    /* of this advance: they fire in order */
static int n_total;

static int64_t floor_tick(mono_t t)
{
    return mono_diff(t, EPOCH) / TICK_NS;
}

static void probe_start(struct probe *p, int64_t delay_ns)
{
    int64_t delay = delay_ns < 0 ? 0 : delay_ns;
    int64_t tick = (mono_diff(now, EPOCH) + delay + TICK_NS - 1) / TICK_NS;

    timer_start(&wheel, &p->t, now, delay_ns);
    p->is_running = true;
    p->due_tick = tick <= advanced_to ? advanced_to + 1 : tick;
}

static void probe_stop(struct probe *p)
{
    timer_stop(&wheel, &p->t);
    p->is_running = false;
}

static int64_t random_delay_ns(void)
{
    static const int64_t ticks[] = {2, 64, 70, 4096, 5000, 262144, 300000, TICKS_MAX / 2};
    return (int64_t)rng_below(&rng, (uint64_t)(ticks[rng_below(&rng, ARRAY_LEN(ticks))] * TICK_NS));
}

static struct probe *random_probe(void)
{
    return &probes[rng_below(&rng, N_TIMERS)];
}

static void probe_on_fire(struct timer *t)
{
    struct probe *p = CONTAINER_OF(t, struct probe, t);

    assert_true(p->is_running);
    assert_false(timer_is_running(t));
    assert_true(p->due_tick <= floor_tick(now)); /* not early */
    assert_true(p->due_tick >= last_due);        /* in order */
    last_due = p->due_tick;
    advanced_to = p->due_tick;
    p->is_running = false;
    p->n_fired++;
    n_total++;
    /* What handlers do: start themselves again, start and stop others (also due ones). */
    if (rng_below(&rng, 4) == 0)
        probe_start(p, random_delay_ns());
    if (rng_below(&rng, 4) == 0)
        probe_start(random_probe(), random_delay_ns());
    if (rng_below(&rng, 4) == 0)
        probe_stop(random_probe());
}

static int64_t earliest_due(void)
{
    int64_t best = INT64_MAX;

    for (int i = 0; i < N_TIMERS; i++)
        if (probes[i].is_running && probes[i].due_tick < best)
            best = probes[i].due_tick;
    return best;
}

static void probes_init(void)
{
    timer_wheel_init(&wheel, EPOCH);
    rng_seed(&rng, 4711);
    now = EPOCH;
    advanced_to = -1;
    n_total = 0;
    for (int i = 0; i < N_TIMERS; i++) {
        probes[i] = (struct probe){.is_running = false};
        timer_init(&probes[i].t, probe_on_fire);
    }
}

static void advance(mono_t to)
{
    last_due = -1;
    now = to;
    timer_advance(&wheel, now);
    advanced_to = floor_tick(now);
    for (int i = 0; i < N_TIMERS; i++) {
        assert_int_equal(timer_is_running(&probes[i].t), probes[i].is_running);
        if (probes[i].is_running)
            assert_true(probes[i].due_tick > advanced_to); /* not late */
    }
}

/* The wheel may want to be looked at early, but never late. */
static void check_next(void)
{
    int64_t next_ns = timer_next_ns(&wheel, now);
    int64_t due = earliest_due();

    if (due == INT64_MAX) {
        assert_int_equal(next_ns, -1);
        return;
    }
    assert_true(next_ns >= 0);
    assert_true(mono_add(now, next_ns).ns <= EPOCH.ns + due * TICK_NS);
}

static void test_like_a_naive_list(void **state)
{
    (void)state;
    probes_init();
    for (int i = 0; i < N_STEPS; i++) {
        switch (rng_below(&rng, 8)) {
        case 0:
            probe_stop(random_probe());
            break;
        case 1:
            advance(mono_add(now, random_delay_ns() / (1 + (int64_t)rng_below(&rng, 50))));
            break;
        case 2: /* as the loop does: exactly as long as the wheel says */
            if (earliest_due() != INT64_MAX)
                advance(mono_add(now, timer_next_ns(&wheel, now)));
            break;
        case 3: /* loop time that stood still */
            advance(now);
            break;
        default:
            probe_start(random_probe(), random_delay_ns());
            break;
        }
        check_next();
    }
    assert_true(n_total > 1000);
}

/* However the wheel stands, waiting as it says must reach the timer in few steps. */
static void test_few_looks_until_due(void **state)
{
    static const int64_t delays[] = {1, 63, 64, 65, 4095, 4096, 4097, 262143, 262144, 1000000};
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(delays); i++) {
        int n_looks = 0;

        probes_init();
        advance(mono_add(EPOCH, 12345 * TICK_NS));
        rng_seed(&rng, 5); /* the handler below draws from it */
        probe_start(&probes[0], delays[i] * TICK_NS);
        while (probes[0].n_fired == 0) {
            assert_true(++n_looks < 10);
            advance(mono_add(now, timer_next_ns(&wheel, now)));
        }
    }
}

static int n_plain;
static mono_t fired_at;

static void plain_on_fire(struct timer *t)
{
    (void)t;
    n_plain++;
    fired_at = now;
}

/* Wheel position x delay around every level's edges: fires at its tick, not one before. */
static void test_cascade_boundaries(void **state)
{
    static const int64_t ticks[] = {0,    1,      2,      62,     63,     64,     65,    127,  128,
                                    4032, 4094,   4095,   4096,   4097,   4159,   4160,  8191, 8192,
                                    8193, 262142, 262143, 262144, 262145, 266240, 524288};
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(ticks); i++) {
        for (size_t k = 0; k < ARRAY_LEN(ticks); k++) {
            struct timer t;
            int64_t due = ticks[i] + ticks[k];

            timer_wheel_init(&wheel, EPOCH);
            timer_init(&t, plain_on_fire);
            n_plain = 0;
            now = mono_add(EPOCH, ticks[i] * TICK_NS);
            if (ticks[i] > 0)
                timer_advance(&wheel, mono_add(now, -TICK_NS));
            timer_start(&wheel, &t, now, ticks[k] * TICK_NS);
            if (due > 0)
                timer_advance(&wheel, mono_add(EPOCH, due * TICK_NS - 1));
            assert_int_equal(n_plain, 0);
            assert_int_equal(timer_next_ns(&wheel, mono_add(EPOCH, due * TICK_NS)), 0);
            timer_advance(&wheel, mono_add(EPOCH, due * TICK_NS));
            assert_int_equal(n_plain, 1);
        }
    }
}

static void test_clamps(void **state)
{
    static const struct {
        const char *name;
        int64_t delay_ns;
        int64_t due_tick;
    } table[] = {
        {"negative", -5, 0},
        {"least", INT64_MIN, 0},
        {"zero", 0, 0},
        {"one ns is one tick", 1, 1},
        {"longest", TICKS_MAX * TICK_NS, TICKS_MAX},
        {"longer", (TICKS_MAX + 1) * TICK_NS, TICKS_MAX},
        {"no end", INT64_MAX, TICKS_MAX},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(table); i++) {
        struct timer t;
        int64_t due_ns = table[i].due_tick * TICK_NS;

        timer_wheel_init(&wheel, EPOCH);
        timer_init(&t, plain_on_fire);
        n_plain = 0;
        timer_start(&wheel, &t, EPOCH, table[i].delay_ns);
        assert_row(table[i].name, timer_is_running(&t));
        if (due_ns > 0)
            timer_advance(&wheel, mono_add(EPOCH, due_ns - 1));
        assert_row(table[i].name, n_plain == 0);
        timer_advance(&wheel, mono_add(EPOCH, due_ns));
        assert_row(table[i].name, n_plain == 1);
        assert_row(table[i].name, timer_next_ns(&wheel, mono_add(EPOCH, due_ns)) == -1);
    }
}

static void test_stop_and_move(void **state)
{
    struct timer t;
    (void)state;
    timer_wheel_init(&wheel, EPOCH);
    timer_init(&t, plain_on_fire);
    n_plain = 0;
    timer_stop(&wheel, &t); /* never started */
    assert_int_equal(timer_next_ns(&wheel, EPOCH), -1);
    timer_start(&wheel, &t, EPOCH, 5 * TICK_NS);
    timer_start(&wheel, &t, EPOCH, 500 * TICK_NS); /* moves, is not doubled */
    timer_advance(&wheel, mono_add(EPOCH, 499 * TICK_NS));
    assert_int_equal(n_plain, 0);
    timer_start(&wheel, &t, mono_add(EPOCH, 499 * TICK_NS), 2 * TICK_NS);
    now = mono_add(EPOCH, 501 * TICK_NS);
    timer_advance(&wheel, now);
    assert_int_equal(n_plain, 1);
    assert_int_equal(fired_at.ns, now.ns);
    timer_start(&wheel, &t, now, TICK_NS);
    timer_stop(&wheel, &t);
    timer_stop(&wheel, &t);
    assert_int_equal(timer_next_ns(&wheel, now), -1);
    timer_advance(&wheel, mono_add(now, 100 * TICK_NS));
    assert_int_equal(n_plain, 1);
}

/* A loop that slept for ages with nothing to do: catching up costs no walk over the time. */
static void test_long_sleep(void **state)
{
    struct timer t;
    (void)state;
    timer_wheel_init(&wheel, EPOCH);
    timer_init(&t, plain_on_fire);
    n_plain = 0;
    now = mono_add(EPOCH, INT64_C(100000) * 24 * 3600 * NS_PER_S);
    timer_advance(&wheel, now);
    timer_start(&wheel, &t, now, 70 * TICK_NS);
    timer_advance(&wheel, mono_add(now, 69 * TICK_NS));
    assert_int_equal(n_plain, 0);
    timer_advance(&wheel, mono_add(now, 71 * TICK_NS));
    assert_int_equal(n_plain, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_like_a_naive_list),  cmocka_unit_test(test_few_looks_until_due),
        cmocka_unit_test(test_cascade_boundaries), cmocka_unit_test(test_clamps),
        cmocka_unit_test(test_stop_and_move),      cmocka_unit_test(test_long_sleep),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
