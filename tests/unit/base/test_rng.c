/* SPDX-License-Identifier: Apache-2.0 */
#include "base/rng.h"

#include <math.h>
#include <stdlib.h>

#include "harness.h"

enum { N_DRAWS = 100000 };

static void test_reference_sequence(void **state)
{
    /* xoshiro256** from the state {1, 2, 3, 4}, as published with the algorithm. */
    static const uint64_t expect[] = {UINT64_C(11520), UINT64_C(0), UINT64_C(1509978240),
                                      UINT64_C(1215971899390074240)};
    struct rng r = {{1, 2, 3, 4}};
    (void)state;
    for (size_t i = 0; i < sizeof(expect) / sizeof(expect[0]); i++)
        assert_int_equal(rng_u64(&r), expect[i]);
    /* splitmix64 from 0. */
    rng_seed(&r, 0);
    assert_int_equal(r._s[0], UINT64_C(0xe220a8397b1dcdaf));
    assert_int_equal(r._s[1], UINT64_C(0x6e789e6aa1b965f4));
}

static void test_seeds(void **state)
{
    struct rng a, b, c;
    (void)state;
    rng_seed(&a, 42);
    rng_seed(&b, 42);
    rng_seed(&c, 43);
    for (int i = 0; i < 100; i++) {
        uint64_t x = rng_u64(&a);
        assert_int_equal(x, rng_u64(&b));
        assert_int_not_equal(x, rng_u64(&c));
    }
    rng_seed_random(&a);
    rng_seed_random(&b);
    assert_int_not_equal(rng_u64(&a), rng_u64(&b));
}

static void test_unit_and_below(void **state)
{
    struct rng r;
    int n_of[6] = {0};
    double sum = 0;
    (void)state;
    rng_seed(&r, 1);
    for (int i = 0; i < N_DRAWS; i++) {
        double u = rng_unit(&r);
        assert_true(u >= 0 && u < 1);
        sum += u;
        uint64_t v = rng_below(&r, 6);
        assert_true(v < 6);
        n_of[v]++;
    }
    assert_true(fabs(sum / N_DRAWS - 0.5) < 0.005);
    for (int i = 0; i < 6; i++)
        assert_true(abs(n_of[i] - N_DRAWS / 6) < N_DRAWS / 6 / 20);
    assert_int_equal(rng_below(&r, 1), 0);
    assert_true(rng_below(&r, UINT64_MAX) < UINT64_MAX);
}

static void test_distributions(void **state)
{
    struct rng r;
    double sum_exponential = 0, sum_normal = 0, sum_squares = 0;
    int n_below_median = 0;
    (void)state;
    rng_seed(&r, 2);
    for (int i = 0; i < N_DRAWS; i++) {
        double e = rng_exponential(&r, 3);
        double n = rng_normal(&r);
        assert_true(e >= 0 && isfinite(e) && isfinite(n));
        sum_exponential += e;
        sum_normal += n;
        sum_squares += n * n;
        n_below_median += rng_lognormal(&r, 20, 0.5) < 20;
    }
    assert_true(fabs(sum_exponential / N_DRAWS - 3) < 0.05);
    assert_true(fabs(sum_normal / N_DRAWS) < 0.02);
    assert_true(fabs(sum_squares / N_DRAWS - 1) < 0.02);
    assert_true(abs(n_below_median - N_DRAWS / 2) < N_DRAWS / 100);
}

static void test_hex(void **state)
{
    struct rng r;
    char text[41] = {0};
    (void)state;
    rng_seed(&r, 3);
    rng_hex(&r, text, 39);
    assert_int_equal(strspn(text, "0123456789abcdef"), 39);
    assert_int_equal(text[39], 0);
    assert_memory_not_equal(text, text + 16, 16); /* fresh bits for each 16 digits */
    text[0] = 'q';
    rng_hex(&r, text, 0);
    assert_int_equal(text[0], 'q');
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reference_sequence),
        cmocka_unit_test(test_seeds),
        cmocka_unit_test(test_unit_and_below),
        cmocka_unit_test(test_distributions),
        cmocka_unit_test(test_hex),
    };
    return cmocka_run_group_tests_name("base/rng", tests, NULL, NULL);
}
