/* SPDX-License-Identifier: Apache-2.0 */
#include "io/stamp.h"

#include "base/attr.h"
#include "base/stat.h"
#include "fakeclock.h"
#include "harness.h"

#define MONO_START (1000 * NS_PER_S)
#define REAL_START (INT64_C(1700000000) * NS_PER_S)

static struct stamp_mapper mapper;

static int setup(void **state)
{
    (void)state;
    fakeclock_install(MONO_START, REAL_START);
    mapper = (struct stamp_mapper){0};
    (void)stamp_sync(&mapper);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    fakeclock_remove();
    return 0;
}

/* Bytes that came age_ns ago, read now. */
static struct stamp read_aged(int64_t age_ns, mono_t floor)
{
    return stamp_map(&mapper, clock_real_ns() - age_ns, floor, clock_mono());
}

static void test_bounds(void **state)
{
    static const struct {
        const char *name;
        int64_t age_ns;
        int64_t floor_age_ns; /* -1: none */
        bool is_kernel;
    } table[] = {
        {"just now", 0, -1, true},
        {"a while ago", 50 * NS_PER_MS, -1, true},
        {"behind the floor", 10, 11, true},
        {"the segment of the read before", 10, 10, true},
        {"before the floor", 10, 9, false},
        {"from the future", -1, -1, false},
        {"from the far future", -NS_PER_S, -1, false},
    };
    (void)state;
    fakeclock_advance(NS_PER_S);
    (void)stamp_sync(&mapper);
    for (size_t i = 0; i < ARRAY_LEN(table); i++) {
        mono_t now = clock_mono();
        mono_t floor =
            table[i].floor_age_ns < 0 ? MONO_NONE : mono_add(now, -table[i].floor_age_ns);
        int64_t n_fallbacks = stat_sum(STAT_STAMP_FALLBACKS);
        struct stamp s = read_aged(table[i].age_ns, floor);

        assert_row(table[i].name, s.is_kernel == table[i].is_kernel);
        assert_row(table[i].name, s.at.ns == now.ns - (s.is_kernel ? table[i].age_ns : 0));
        assert_row(table[i].name, !s.is_clock_stepped);
        assert_row(table[i].name,
                   stat_sum(STAT_STAMP_FALLBACKS) - n_fallbacks == (s.is_kernel ? 0 : 1));
    }
}

static void test_no_stamp_no_sync(void **state)
{
    struct stamp_mapper fresh = {0};
    mono_t now = clock_mono();
    struct stamp s = stamp_map(&mapper, 0, MONO_NONE, now);
    (void)state;
    assert_false(s.is_kernel);
    assert_int_equal(s.at.ns, now.ns);
    s = stamp_map(&fresh, clock_real_ns(), MONO_NONE, now);
    assert_false(s.is_kernel);
    assert_int_equal(s.at.ns, now.ns);
}

/* The clock is set; kernel stamps of that turn are not trusted, those of the next one are. */
static void test_steps(void **state)
{
    static const int64_t steps[] = {NS_PER_S,   -NS_PER_S,       NS_PER_MS,
                                    -NS_PER_MS, 3600 * NS_PER_S, -3600 * NS_PER_S};
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(steps); i++) {
        int64_t n_steps = stat_sum(STAT_CLOCK_STEPS);
        struct stamp s;

        fakeclock_advance(10 * NS_PER_MS);
        fakeclock_step_real(steps[i]);
        (void)stamp_sync(&mapper);
        s = read_aged(100, MONO_NONE);
        assert_false(s.is_kernel);
        assert_true(s.is_clock_stepped);
        assert_int_equal(s.at.ns, clock_mono().ns);
        assert_int_equal(stat_sum(STAT_CLOCK_STEPS), n_steps + 1);

        fakeclock_advance(NS_PER_MS);
        (void)stamp_sync(&mapper);
        if (steps[i] >
            0) { /* bytes that lay there through the step: their stamp is of the old time */
            s = read_aged(steps[i] + 2 * NS_PER_MS, MONO_NONE);
            assert_false(s.is_kernel);
            assert_true(s.is_clock_stepped);
            assert_int_equal(s.at.ns, clock_mono().ns);
        }
        s = read_aged(100, MONO_NONE);
        assert_true(s.is_kernel);
        assert_false(s.is_clock_stepped);
        assert_int_equal(s.at.ns, clock_mono().ns - 100);
    }
}

/* 500 ppm either way, looked at often or rarely: never a step, and the mapping follows. */
static void test_slew(void **state)
{
    static const int64_t turns_ns[] = {NS_PER_MS, 50 * NS_PER_MS, NS_PER_S, 60 * NS_PER_S};
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(turns_ns); i++) {
        for (int k = 0; k < 200; k++) {
            int64_t slew = turns_ns[i] / 2000;
            struct stamp s;

            fakeclock_advance(turns_ns[i]);
            fakeclock_step_real(k < 100 ? slew : -slew);
            (void)stamp_sync(&mapper);
            s = read_aged(1000, MONO_NONE);
            assert_true(s.is_kernel);
            assert_int_equal(s.at.ns, clock_mono().ns - 1000);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_bounds, setup, teardown),
        cmocka_unit_test_setup_teardown(test_no_stamp_no_sync, setup, teardown),
        cmocka_unit_test_setup_teardown(test_steps, setup, teardown),
        cmocka_unit_test_setup_teardown(test_slew, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
