/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Durations (series/duration.h) and what a query makes of them; the head of a series' line.
 */
#include "harness.h"

#include <errno.h>
#include <stdio.h>

#include "base/attr.h"
#include "memfail.h"
#include "promql/parse.h"
#include "series/duration.h"

static void test_read(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int r;
        int64_t ms;
    } rows[] = {
        {"0", 0, 0},          {"5m", 0, 300000},    {"1y2w3d4h5m6s7ms", 0, INT64_C(33019506007)},
        {"300", 0, 300000},   {"1.5", 0, 1500},     {"0.0004", 0, 0},
        {"-5", 0, -5000},     {"", -EINVAL, 0},     {"m", -EINVAL, 0},
        {"5", 0, 5000},       {"5x", -EINVAL, 0},   {"5m5m", -EINVAL, 0},
        {"1s1m", -EINVAL, 0}, {"300y", -ERANGE, 0}, {"1e30", -ERANGE, 0},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        int64_t ms = 0;
        assert_row(rows[i].text, promql_parse_duration(span_cstr(rows[i].text), &ms) == rows[i].r);
        if (ms != rows[i].ms)
            fail_msg("%s: %lld", rows[i].text, (long long)ms);
    }
}

static void test_write(void **state)
{
    (void)state;
    static const struct {
        int64_t ms;
        const char *want;
    } rows[] = {
        {0, "0s"},          {1, "1ms"},          {1500, "1s500ms"},
        {90000, "1m30s"},   {86400000, "1d"},    {INT64_C(7) * 86400000, "1w"},
        {777600000, "9d"},  {31536000000, "1y"}, {31536000001, "365d1ms"},
        {-90000, "-1m30s"}, {7200000, "2h"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct buf out;
        buf_init(&out, 100);
        assert_int_equal(duration_print(rows[i].ms, &out), 0);
        assert_span_equal(rows[i].want, buf_span(&out), span_cstr(rows[i].want));
        int64_t ms;
        if (rows[i].ms > 0) {
            assert_int_equal(promql_parse_duration(buf_span(&out), &ms), 0);
            assert_true(ms == rows[i].ms);
        }
        buf_done(&out);
    }
}

static void test_value(void **state)
{
    (void)state;
    static const struct {
        const char *text; /* a range, in a query of step 15 s and range 1 h */
        int r;
        int64_t ms;
        const char *error;
    } rows[] = {
        {"5m", 0, 300000, NULL},
        {"0.0015", 0, 1, NULL},
        {"1h / 2", 0, 1800000, NULL},
        {"step() * 4", 0, 60000, NULL},
        {"range() - 10m", 0, 3000000, NULL},
        {"min_of(step(), range())", 0, 15000, NULL},
        {"max_of(step(), 1m)", 0, 60000, NULL},
        {"2 ^ 3 % 5", 0, 3000, NULL},
        {"-(-7)", 0, 7000, NULL},
        {"1m - 1m", -EINVAL, 0, "duration must be greater than 0"},
        {"1 / (1m - 1m)", -EINVAL, 0, "division by zero"},
        {"1 % (1m - 1m)", -EINVAL, 0, "modulo by zero"},
        {"(-8) ^ 0.5", -EINVAL, 0, "duration is NaN or infinite"},
        {"10 ^ 400", -EINVAL, 0, "duration is NaN or infinite"},
        {"10 ^ 12", -EINVAL, 0, "duration is out of range"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        char query[80];
        (void)snprintf(query, sizeof(query), "m[%s]", rows[i].text);
        struct promql_expr *e = NULL;
        struct promql_error error = {0};
        if (promql_parse(span_cstr(query), &e, &error) < 0)
            fail_msg("%s: %s", query, error.text);
        int64_t ms = 0;
        const struct duration *d = promql_root(e)->selector.range;
        assert_row(query, promql_duration_ms(d, 15000, 3600000, false, &ms, &error) == rows[i].r);
        assert_row(query, ms == rows[i].ms);
        if (rows[i].error) {
            size_t n = span_find(span_cstr(error.text), span_cstr(rows[i].error));
            assert_row(query, n < sizeof(error.text) && error.text[n] != '\0');
            assert_row(query, promql_duration_ms(d, 15000, 3600000, true, &ms, NULL) == 0 ||
                                  i != 9); /* an offset may be 0 */
        }
        (void)promql_free_expr(e);
    }
}

static void test_series(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        const char *want; /* NULL: an error */
        const char *rest; /* what is left, or the error */
    } rows[] = {
        {"up 1 2", "up", " 1 2"},
        {"up{b=\"1\",a=\"2\"} 1", "up{a=\"2\", b=\"1\"}", " 1"},
        {"{}\t1x3", "{}", "\t1x3"},
        {"{__name__=\"m\", a='x'} _", "m{a=\"x\"}", " _"},
        {"{\"my.m\", \"a.b\"=\"c\"} 1", "{__name__=\"my.m\", \"a.b\"=\"c\"}", " 1"},
        {"sum{a=\"\"}", "sum", ""},
        {"up {a=\"b\"}", "up", " {a=\"b\"}"},
        {"up{a=\"b\"}{{schema:1}}", "up{a=\"b\"}", "{{schema:1}}"},
        {"1", NULL, "unexpected number \"1\" in series"},
        {"up{a}", NULL, "unexpected \"}\" in label set, expected \"=\""},
        {"up{a=~\"b\"}", NULL, "unexpected <op:=~> in label set, expected \"=\""},
        {"up{a=b}", NULL, "unexpected identifier \"b\" in label set, expected string"},
        {"up{a=\"b\" c=\"d\"}", NULL,
         "unexpected identifier \"c\" in label set, expected \",\" or \"}\""},
        {"up{,}", NULL, "unexpected \",\" in label set, expected identifier or \"}\""},
        {"up{a=\"1\",a=\"2\"}", NULL, "label \"a\" is given twice"},
        {"up{a=\"1\"", NULL, "unexpected end of input inside braces"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct arena a;
        arena_init(&a, NULL);
        struct span s = span_cstr(rows[i].text);
        struct labels l;
        struct promql_error error = {0};
        int r = promql_parse_series(&s, &a, &l, &error);
        assert_row(rows[i].text, (r == 0) == (rows[i].want != NULL));
        if (r == 0) {
            struct buf out;
            buf_init(&out, 1000);
            assert_int_equal(labels_print(l, &out), 0);
            assert_span_equal(rows[i].text, buf_span(&out), span_cstr(rows[i].want));
            assert_span_equal(rows[i].text, s, span_cstr(rows[i].rest));
            buf_done(&out);
        } else {
            assert_span_equal(rows[i].text, span_cstr(error.text), span_cstr(rows[i].rest));
            assert_span_equal("kept", s, span_cstr(rows[i].text));
        }
        arena_done(&a);
    }
}

static int attempt_series(void *ctx)
{
    struct span s = span_cstr(ctx), before = s;
    struct arena a;
    arena_init(&a, NULL);
    struct labels l;
    int r = promql_parse_series(&s, &a, &l, NULL);
    if (r < 0)
        assert_true(s.p == before.p);
    arena_done(&a);
    return r;
}

static void test_failing_allocations(void **state)
{
    (void)state;
    static char text[] = "up{a=\"b\\n\"} 1";
    assert_true(memfail_each(attempt_series, text) >= 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_read),
        cmocka_unit_test(test_write),
        cmocka_unit_test(test_value),
        cmocka_unit_test(test_series),
        cmocka_unit_test(test_failing_allocations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
