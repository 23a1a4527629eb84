/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Smoothed series against sums written out, with points that are missing and histograms between.
 */
#include "harness.h"

#include <errno.h>
#include <math.h>

#include "api/prom_smooth.h"
#include "base/mem.h"

enum { N = 6, STEP_MS = 60000 };

static void check(const char *how, const double in[N], const double out[N])
{
    double v[N];
    uint8_t has[N];
    struct column c = {.v = v, .has = has};
    struct value value = {
        .type = PROMQL_VECTOR, .n_steps = N, .step_ms = STEP_MS, .columns = &c, .n_columns = 1};
    struct smooth s;
    struct arena a;
    for (size_t i = 0; i < N; i++) {
        has[i] = (uint8_t)!isnan(in[i]);
        v[i] = has[i] ? in[i] : 0;
    }
    arena_init(&a, NULL);
    assert_int_equal(prom_smooth_parse(span_cstr(how), &s), 0);
    assert_int_equal(prom_smooth_value(&s, &value, &a, NULL, NULL), 0);
    for (size_t i = 0; i < N; i++) {
        assert_row(how, has[i] == !isnan(out[i]));
        assert_row(how, !has[i] || fabs(v[i] - out[i]) < 1e-12);
    }
    arena_done(&a);
}

static void test_means(void **state)
{
    const double gap = (double)NAN;
    (void)state;
    check("sma:3m", (double[N]){1, 2, 3, 4, 5, 6}, (double[N]){1, 1.5, 2, 3, 4, 5});
    check("sma:150s", (double[N]){1, 2, 3, 4, 5, 6}, (double[N]){1, 1.5, 2, 3, 4, 5});
    check("sma:1s", (double[N]){1, 2, 3, 4, 5, 6}, (double[N]){1, 2, 3, 4, 5, 6});
    check("sma:3m", (double[N]){gap, 2, gap, 4, 5, gap}, (double[N]){gap, 2, gap, 3, 4.5, gap});
    check("ema:1m", (double[N]){8, 0, 0, 0, 4, 4}, (double[N]){8, 4, 2, 1, 2.5, 3.25});
    check("ema:1m", (double[N]){8, 0, gap, 6, 2, 2}, (double[N]){8, 4, gap, 6, 4, 3});
    check("", (double[N]){1, 9, 1, 9, 1, 9}, (double[N]){1, 9, 1, 9, 1, 9});
}

static int over_at_the_second(void *ctx)
{
    return ++*(int *)ctx == 2 ? -ETIMEDOUT : 0;
}

/* A window as long as there is none longer, over two series; a client does not wait for both. */
static void test_ends_early(void **state)
{
    double v[2][N] = {{2, 4, 6, 8, 10, 12}};
    uint8_t has[N] = {1, 1, 1, 1, 1, 1};
    struct column c[] = {{.v = v[0], .has = has}, {.v = v[1], .has = has}};
    struct value value = {
        .type = PROMQL_VECTOR, .n_steps = N, .step_ms = STEP_MS, .columns = c, .n_columns = 2};
    const struct smooth s = {.kind = SMOOTH_SMA, .window_ms = INT64_MAX};
    struct arena a;
    int n = 0;
    (void)state;
    arena_init(&a, NULL);
    assert_int_equal(prom_smooth_value(&s, &value, &a, over_at_the_second, &n), -ETIMEDOUT);
    assert_int_equal(n, 2);
    assert_true(fabs(v[0][N - 1] - 7) < 1e-12);
    arena_done(&a);
}

static void test_mistakes(void **state)
{
    static const char *const rows[] = {"sma",     "sma:",    "ema:x", "ema:0",
                                       "ema:-5m", "mean:5m", ":5m"};
    struct smooth s;
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        assert_row(rows[i], prom_smooth_parse(span_cstr(rows[i]), &s) == -EINVAL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_means),
                                       cmocka_unit_test(test_ends_early),
                                       cmocka_unit_test(test_mistakes)};
    return cmocka_run_group_tests_name("api/prom_smooth", tests, NULL, NULL);
}
