/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Time goes with the wall clock, but leaps forward are believed only after a day.
 */
#include "harness.h"

#include "base/attr.h"
#include "base/limits.h"
#include "store/age_clock.h"

#define HOUR_US (INT64_C(3600) * US_PER_S)
#define YEAR_US (365 * 24 * HOUR_US)

static const int64_t start_us = INT64_C(1796000000) * US_PER_S;

static mono_t mono_of(int64_t us)
{
    return (mono_t){1 + us * NS_PER_US};
}

static void the_wall_clock_is_followed(void **state)
{
    (void)state;
    static const int64_t steps_us[] = {0, 1000000, -5 * HOUR_US, 59 * HOUR_US / 60, -YEAR_US};
    struct age_clock t = {0};
    int64_t leap_us = 0, off_us = 0;
    for (size_t i = 0; i < ARRAY_LEN(steps_us); i++) {
        off_us += steps_us[i];
        wall_t wall = {start_us + off_us + (int64_t)i * 10 * US_PER_S};
        wall_t now = age_clock_go(&t, wall, mono_of((int64_t)i * 10 * US_PER_S), &leap_us);
        assert_int_equal(now.us, wall.us);
        assert_int_equal(leap_us, 0);
    }
}

static void a_leap_is_believed_after_a_day(void **state)
{
    (void)state;
    struct age_clock t = {0};
    int64_t leap_us = 0;
    int n_leaps = 0;
    (void)age_clock_go(&t, (wall_t){start_us}, mono_of(0), &leap_us);
    for (int64_t h = 1; h < 30; h++) {
        wall_t wall = {start_us + h * HOUR_US + YEAR_US};
        wall_t now = age_clock_go(&t, wall, mono_of(h * HOUR_US), &leap_us);
        n_leaps += leap_us != 0;
        if (h == 1)
            assert_int_equal(leap_us, YEAR_US);
        assert_int_equal(now.us, h < 25 ? start_us + h * HOUR_US : wall.us);
    }
    assert_int_equal(n_leaps, 1);
}

/* Right again within the day: as if nothing had been. */
static void a_leap_that_is_undone_is_no_matter(void **state)
{
    (void)state;
    struct age_clock t;
    int64_t leap_us = 0;
    age_clock_begin(&t, (wall_t){start_us}, mono_of(0)); /* started with a clock that is wrong */
    wall_t now = age_clock_go(&t, (wall_t){start_us + YEAR_US}, mono_of(1000), &leap_us);
    assert_int_equal(now.us, start_us + 1000);
    assert_int_equal(leap_us, YEAR_US - 1000);
    now = age_clock_go(&t, (wall_t){start_us + 9000}, mono_of(2000), &leap_us);
    assert_int_equal(now.us, start_us + 9000);
    assert_int_equal(leap_us, 0);
    (void)age_clock_go(&t, (wall_t){start_us + YEAR_US}, mono_of(3000), &leap_us);
    assert_true(leap_us > 0); /* and another is one again */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_wall_clock_is_followed),
        cmocka_unit_test(a_leap_is_believed_after_a_day),
        cmocka_unit_test(a_leap_that_is_undone_is_no_matter),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
