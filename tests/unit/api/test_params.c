/* SPDX-License-Identifier: Apache-2.0 */
/*
 * api/params: query strings and forms, times, durations, escaped names.
 */
#include "api/params.h"

#include <errno.h>

#include "harness.h"
#include "memfail.h"

static void test_order_and_repetition(void **state)
{
    (void)state;
    struct arena a;
    struct params p;
    arena_init(&a, NULL);
    assert_int_equal(params_parse(&a, SPAN("q=1&m%5B%5D=x&&e&m[]=y=z"), SPAN("q=2+3&b=%26"), &p),
                     0);
    assert_int_equal(p.n, 6);
    assert_span_equal("form first", params_get(&p, SPAN("q")), SPAN("2 3"));
    assert_span_equal("escaped", params_get(&p, SPAN("b")), SPAN("&"));
    assert_span_equal("first", params_get(&p, SPAN("m[]")), SPAN("x"));
    assert_span_equal("last", p.at[5].value, SPAN("y=z"));
    assert_non_null(params_get(&p, SPAN("e")).p);
    assert_null(params_get(&p, SPAN("n")).p);
    arena_done(&a);
}

static void test_bad(void **state)
{
    (void)state;
    static const char *const rows[] = {"a=%", "a=%4", "a=%4g", "%=1", "a=b%zz"};
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct arena a;
        struct params p;
        arena_init(&a, NULL);
        assert_row(rows[i], params_parse(&a, span_cstr(rows[i]), SPAN(""), &p) == -EINVAL);
        assert_row(rows[i], params_parse(&a, SPAN(""), span_cstr(rows[i]), &p) == -EINVAL);
        arena_done(&a);
    }
}

static void test_too_many(void **state)
{
    (void)state;
    char text[2 * PARAMS_MAX + 2];
    struct arena a;
    struct params p;
    memset(text, '&', sizeof(text));
    arena_init(&a, NULL);
    assert_int_equal(params_parse(&a, span_of(text, PARAMS_MAX - 1), SPAN(""), &p), 0);
    assert_int_equal(p.n, 0);
    assert_int_equal(params_parse(&a, span_of(text, PARAMS_MAX), SPAN(""), &p), -E2BIG);
    arena_done(&a);
}

static void test_times(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int r;
        int64_t ms;
    } rows[] = {
        {"0", 0, 0},
        {"1435781451.781", 0, 1435781451781},
        {"-1.5", 0, -1500},
        {"1e3", 0, 1000000},
        {"2015-07-01T20:10:51.781Z", 0, 1435781451781},
        {"2015-07-01T22:10:51+02:00", 0, 1435781451000},
        {"-292273086-05-16T16:47:06Z", 0, PARAMS_TIME_MIN},
        {"292277025-08-18T07:12:54.999999999Z", 0, PARAMS_TIME_MAX},
        {"-9223372036854775.808", 0, PARAMS_TIME_MIN},
        {"1e300", 0, PARAMS_TIME_MAX},
        {"", -EINVAL, 0},
        {"now", -EINVAL, 0},
        {"2015-07-01", -EINVAL, 0},
        {"NaN", -EINVAL, 0},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        int64_t ms = 0;
        assert_row(rows[i].text, params_time(span_cstr(rows[i].text), &ms) == rows[i].r);
        if (ms != rows[i].ms)
            fail_msg("%s: %lld", rows[i].text, (long long)ms);
    }
}

static void test_names(void **state)
{
    (void)state;
    static const struct {
        const char *text, *want;
    } rows[] = {
        {"job", "job"},
        {"U__a_2e_b", "a.b"},
        {"U__a__b", "a_b"},
        {"U___1f600_", "\xf0\x9f\x98\x80"},
        {"U__", ""},
        {"U__a_2e", "U__a_2e"},
        {"U__a_zz_", "U__a_zz_"},
        {"U__a_ffffffff_", "U__a_ffffffff_"},
        {"U_a_2e_b", "U_a_2e_b"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct arena a;
        struct span name;
        arena_init(&a, NULL);
        assert_int_equal(params_unescape_name(&a, span_cstr(rows[i].text), &name), 0);
        assert_span_equal(rows[i].text, name, span_cstr(rows[i].want));
        arena_done(&a);
    }
}

static int attempt(void *ctx)
{
    struct arena a;
    struct params p;
    struct span name;
    (void)ctx;
    arena_init(&a, NULL);
    int r = params_parse(&a, SPAN("a=b"), SPAN("c=d"), &p);
    if (r == 0)
        r = params_unescape_name(&a, SPAN("U__a"), &name);
    arena_done(&a);
    return r;
}

static void test_failing_allocations(void **state)
{
    (void)state;
    assert_true(memfail_each(attempt, NULL) >= 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_order_and_repetition),
        cmocka_unit_test(test_bad),
        cmocka_unit_test(test_too_many),
        cmocka_unit_test(test_times),
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_failing_allocations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
