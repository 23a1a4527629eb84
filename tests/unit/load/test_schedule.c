/* SPDX-License-Identifier: Apache-2.0 */
#include "load/schedule.h"

#include <math.h>

#include "base/clock.h"
#include "harness.h"

enum { N = 50000 };

static struct schedule_config config(enum schedule_kind kind, double rate)
{
    return (struct schedule_config){.kind = kind,
                                    .rate_per_s = rate,
                                    .speed = 1,
                                    .prompt_tokens = 7,
                                    .max_tokens = 9,
                                    .seed = 3};
}

static void test_poisson(void **state)
{
    struct schedule_config c = config(SCHEDULE_POISSON, 200);
    struct schedule s, again;
    int64_t before_ns = 0;
    double sum = 0, squares = 0;
    (void)state;
    schedule_init(&s, &c);
    schedule_init(&again, &c);
    for (int i = 0; i < N; i++) {
        struct schedule_item item, same;
        double gap;
        assert_true(schedule_next(&s, &item));
        assert_true(schedule_next(&again, &same));
        assert_int_equal(item.at_ns, same.at_ns);
        assert_true(item.at_ns >= before_ns);
        assert_int_equal(item.prompt_tokens, 7);
        assert_int_equal(item.max_tokens, 9);
        assert_int_equal(item.is_stream, -1);
        gap = (double)(item.at_ns - before_ns) / 1e9;
        before_ns = item.at_ns;
        sum += gap;
        squares += gap * gap;
    }
    /* Exponential gaps: mean 1/rate, variance 1/rate^2. */
    double mean = sum / N, variance = squares / N - mean * mean;
    assert_true(fabs(mean * 200 - 1) < 0.02);
    assert_true(fabs(variance * 200 * 200 - 1) < 0.05);
}

/* Arrivals in a second of a Poisson process: mean and variance are both the rate. */
static void test_poisson_counts(void **state)
{
    enum { SECONDS = 2000, RATE = 20 };
    struct schedule_config c = config(SCHEDULE_POISSON, RATE);
    struct schedule s;
    struct schedule_item item;
    static int n_in[SECONDS];
    double squares = 0, sum = 0;
    (void)state;
    schedule_init(&s, &c);
    while (schedule_next(&s, &item) && item.at_ns < SECONDS * NS_PER_S)
        n_in[item.at_ns / NS_PER_S]++;
    for (int i = 0; i < SECONDS; i++) {
        sum += n_in[i];
        squares += (double)n_in[i] * n_in[i];
    }
    double mean = sum / SECONDS, variance = squares / SECONDS - mean * mean;
    assert_true(fabs(mean - RATE) < 0.5);
    assert_true(fabs(variance - RATE) < 2);
}

static void test_constant(void **state)
{
    struct schedule_config c = config(SCHEDULE_CONSTANT, 3);
    struct schedule s;
    struct schedule_item item;
    (void)state;
    schedule_init(&s, &c);
    for (int64_t i = 0; i < 3001; i++) {
        assert_true(schedule_next(&s, &item));
        assert_int_equal(item.at_ns, llround((double)i * 1e9 / 3));
    }
    assert_int_equal(item.at_ns, 1000 * NS_PER_S); /* no error added up */
}

static void test_trace(void **state)
{
    struct trace_row rows[] = {
        {.at_ns = 0, .input_tokens = 5, .output_tokens = 6, .is_stream = -1},
        {.at_ns = 1000, .input_tokens = 8, .output_tokens = 9, .is_stream = 1}};
    struct trace t = {rows, 2};
    struct schedule_config c = config(SCHEDULE_TRACE, 0);
    struct schedule s;
    struct schedule_item item;
    (void)state;
    c.trace = &t;
    c.speed = 4;
    schedule_init(&s, &c);
    assert_true(schedule_next(&s, &item));
    assert_int_equal(item.at_ns, 0);
    assert_int_equal(item.prompt_tokens, 5);
    assert_int_equal(item.is_stream, -1);
    assert_true(schedule_next(&s, &item));
    assert_int_equal(item.at_ns, 250);
    assert_int_equal(item.max_tokens, 9);
    assert_int_equal(item.is_stream, 1);
    assert_false(schedule_next(&s, &item));
    assert_false(schedule_next(&s, &item));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_poisson),
        cmocka_unit_test(test_poisson_counts),
        cmocka_unit_test(test_constant),
        cmocka_unit_test(test_trace),
    };
    return cmocka_run_group_tests_name("load/schedule", tests, NULL, NULL);
}
