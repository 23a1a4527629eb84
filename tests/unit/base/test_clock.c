/* SPDX-License-Identifier: Apache-2.0 */
#include "base/clock.h"

#include <time.h>

#include "fakeclock.h"
#include "harness.h"

static int64_t system_ns(clockid_t id)
{
    struct timespec ts;
    clock_gettime(id, &ts);
    return (int64_t)ts.tv_sec * NS_PER_S + ts.tv_nsec;
}

static void test_real_clocks(void **state)
{
    (void)state;
    int64_t before = system_ns(CLOCK_MONOTONIC);
    mono_t now = clock_mono();
    int64_t after = system_ns(CLOCK_MONOTONIC);
    assert_true(mono_is_set(now));
    assert_true(before <= now.ns && now.ns <= after);

    before = system_ns(CLOCK_REALTIME);
    int64_t real_ns = clock_real_ns();
    wall_t wall = clock_wall();
    after = system_ns(CLOCK_REALTIME);
    assert_true(before <= real_ns && real_ns <= after);
    assert_true(before / NS_PER_US <= wall.us && wall.us <= after / NS_PER_US);
}

static void test_monotonic(void **state)
{
    (void)state;
    mono_t last = clock_mono();
    for (int i = 0; i < 10000; i++) {
        mono_t now = clock_mono();
        assert_true(mono_diff(now, last) >= 0);
        last = now;
    }
}

static void test_arithmetic(void **state)
{
    mono_t a = {5 * NS_PER_S};
    mono_t b = mono_add(a, 250 * NS_PER_MS);
    (void)state;
    assert_int_equal(mono_diff(b, a), 250 * NS_PER_MS);
    assert_int_equal(mono_diff(a, b), -250 * NS_PER_MS);
    assert_int_equal(mono_max(a, b).ns, b.ns);
    assert_int_equal(mono_max(b, a).ns, b.ns);
    assert_false(mono_is_set(MONO_NONE));
}

static void test_fake_clock(void **state)
{
    (void)state;
    fakeclock_install(1000, 5000000);
    assert_int_equal(clock_mono().ns, 1000);
    assert_int_equal(clock_real_ns(), 5000000);
    assert_int_equal(clock_wall().us, 5000);
    fakeclock_advance(2000);
    assert_int_equal(clock_mono().ns, 3000);
    assert_int_equal(clock_real_ns(), 5002000);
    fakeclock_step_real(-NS_PER_MS);
    assert_int_equal(clock_mono().ns, 3000);
    assert_int_equal(clock_real_ns(), 4002000);
    fakeclock_remove();
    assert_true(clock_real_ns() > 1000000 * NS_PER_S);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_real_clocks),
        cmocka_unit_test(test_monotonic),
        cmocka_unit_test(test_arithmetic),
        cmocka_unit_test(test_fake_clock),
    };
    return cmocka_run_group_tests_name("base/clock", tests, NULL, NULL);
}
