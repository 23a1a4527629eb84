/* SPDX-License-Identifier: Apache-2.0 */
/* Expressions in another time: which durations are stretched, and what stays. */
#include "promql/parse.h"

#include <errno.h>

#include "base/attr.h"
#include "harness.h"
#include "memfail.h"

/* Ranges to a tenth, steps to a fifth, offsets to half. */
static int64_t shrink(void *ctx, enum promql_span what, int64_t ms)
{
    int64_t divisor = what == PROMQL_SPAN_RANGE ? 10 : what == PROMQL_SPAN_STEP ? 5 : 2;

    ++*(int *)ctx;
    return ms / divisor;
}

static const struct {
    const char *text, *want; /* NULL: -EINVAL */
    int n;
} cases[] = {
    {"up", "up", 0},
    {"rate(x[5m])", "rate(x[30s])", 1},
    {"rate(x[5m] offset 1h)", "rate(x[30s] offset 30m)", 2},
    {"rate(x[5m] offset -1h)", "rate(x[30s] offset -30m)", 2},
    {"x @ 1609746000 offset (2h/2)", "x @ 1609746000.000 offset 30m", 1},
    {"x offset (1m+1m) @ start()", "x @ start() offset 1m", 1},
    {"rate(x[300])", "rate(x[30s])", 1},
    {"rate(x[5m+(5m)])", "rate(x[1m])", 1},
    {"max_over_time(rate(x[5m])[1h:])", "max_over_time(rate(x[30s])[6m:])", 2},
    {"max_over_time(x[1h:1m] offset 10m)", "max_over_time(x[6m:12s] offset 5m)", 3},
    {"a > 300 and b < 5m", "a > 300 and b < 5m", 0}, /* numbers are no durations */
    {"rate(x[step()+1m])", "rate(x[6s])", 1},        /* without a query it is 0 */
    {"rate(x[step()])", NULL, 0},
    {"rate(x[range()])", NULL, 0},
};

static void test_stretched(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct promql_expr *e = NULL, *again = NULL;
        struct promql_error why;
        struct buf out;
        int n = 0;

        buf_init(&out, 4096);
        assert_int_equal(promql_parse(span_cstr(cases[i].text), &e, &why), 0);
        int r = promql_print_stretched(promql_root(e), shrink, &n, &out);
        assert_row(cases[i].text, r == (cases[i].want ? 0 : -EINVAL));
        assert_span_equal(cases[i].text, buf_span(&out),
                          span_cstr(cases[i].want ? cases[i].want : ""));
        assert_row(cases[i].text, !cases[i].want || n == cases[i].n);
        if (cases[i].want) {
            assert_int_equal(promql_parse(buf_span(&out), &again, &why), 0);
            promql_free_expr(again);
        }
        promql_free_expr(e);
        buf_done(&out);
    }
}

static int print_once(void *ctx)
{
    struct buf out;
    int n = 0, r;

    buf_init(&out, 4096);
    r = promql_print_stretched(promql_root(ctx), shrink, &n, &out);
    assert_true(r == 0 || buf_len(&out) == 0);
    buf_done(&out);
    return r;
}

static void test_without_memory(void **state)
{
    struct promql_expr *e = NULL;
    struct promql_error why;

    (void)state;
    assert_int_equal(promql_parse(SPAN("rate(x[5m] offset 1h) > 2"), &e, &why), 0);
    assert_true(memfail_each(print_once, e) > 0);
    promql_free_expr(e);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_stretched),
        cmocka_unit_test(test_without_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
