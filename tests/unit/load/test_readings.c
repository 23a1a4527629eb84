/* SPDX-License-Identifier: Apache-2.0 */
#include "load/readings.h"

#include <math.h>

#include "base/mem.h"
#include "base/rng.h"
#include "harness.h"

static void test_none(void **state)
{
    struct readings s;
    (void)state;
    readings_init(&s);
    assert_int_equal(readings_count(&s), 0);
    assert_int_equal(readings_quantile(&s, 0.5), -1);
    assert_true(fabs(readings_mean(&s)) <= 0);
    readings_done(&s);
}

static void test_nearest_rank(void **state)
{
    static const struct {
        size_t n; /* samples 1..n */
        double q;
        int64_t expect;
    } rows[] = {
        {1, 0, 1},      {1, 0.5, 1},       {1, 1, 1},       {2, 0.5, 1},       {2, 0.51, 2},
        {20, 0.95, 19}, {20, 0.951, 20},   {100, 0.99, 99}, {100, 0.999, 100}, {100, 0.5, 50},
        {100, 0, 1},    {1000, 0.99, 990}, {7, 0.3, 3},     {10, 0.7, 7},      {3, 1, 3},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct readings s;
        readings_init(&s);
        for (size_t k = rows[i].n; k > 0; k--)
            readings_add(&s, (int64_t)k);
        assert_int_equal(readings_quantile(&s, rows[i].q), rows[i].expect);
        assert_true(fabs(readings_mean(&s) - (double)(rows[i].n + 1) / 2) < 1e-9);
        readings_done(&s);
    }
}

static void test_adding_after_reading(void **state)
{
    struct readings s;
    struct rng r;
    (void)state;
    readings_init(&s);
    rng_seed(&r, 1);
    for (int64_t i = 0; i < 5000; i++) {
        readings_add(&s, (int64_t)rng_below(&r, 1000) + 10);
        if (i % 500 == 0)
            (void)readings_quantile(&s, 0.5);
    }
    readings_add(&s, 1);
    assert_int_equal(readings_quantile(&s, 0), 1);
    readings_add(&s, 99999);
    assert_int_equal(readings_quantile(&s, 1), 99999);
    assert_int_equal(readings_count(&s), 5002);
    readings_clear(&s);
    assert_int_equal(readings_quantile(&s, 1), -1);
    readings_add(&s, 5);
    assert_int_equal(readings_quantile(&s, 0.5), 5);
    readings_done(&s);
}

static void test_no_memory(void **state)
{
    struct readings s;
    (void)state;
    readings_init(&s);
    mem_fail_from(1);
    readings_add(&s, 1);
    mem_fail_off();
    assert_int_equal(s.n_lost, 1);
    readings_add(&s, 2);
    assert_int_equal(readings_quantile(&s, 0.5), 2);
    readings_done(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_none),
        cmocka_unit_test(test_nearest_rank),
        cmocka_unit_test(test_adding_after_reading),
        cmocka_unit_test(test_no_memory),
    };
    return cmocka_run_group_tests_name("load/readings", tests, NULL, NULL);
}
