/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/query_data, query_show, plot: answers taken apart and shown, whatever is in them.
 */
#include "cli/query_data.h"

#include <errno.h>
#include <math.h>

#include "base/buf.h"
#include "base/limits.h"
#include "cli/plot.h"
#include "cli/query_show.h"
#include "harness.h"
#include "memfail.h"

#define OK(type, result)                                                                           \
    "{\"status\":\"success\",\"data\":{\"resultType\":\"" type "\",\"result\":" result "}}"

static const char matrix[] =
    OK("matrix", "[{\"metric\":{\"__name__\":\"up\",\"a\":\"x,\\\"y\\\"\"},\"values\":[[0,\"1\"],"
                 "[1.5,\"NaN\"],[3,\"+Inf\"]]},{\"metric\":{},\"values\":[[1435781451.781,\"2\"]],"
                 "\"histograms\":[[4,{\"count\":\"3\",\"sum\":\"1\"}]]}]");

static void check_show(const char *json, const char *table, const char *csv)
{
    struct arena a;
    struct query_data d;
    struct buf out;
    arena_init(&a, NULL);
    buf_init(&out, MIB);
    assert_int_equal(query_data_read(span_cstr(json), &a, &d), 0);
    assert_int_equal(query_show_table(&d, &out), 0);
    assert_span_equal(json, buf_span(&out), span_cstr(table));
    buf_clear(&out);
    assert_int_equal(query_show_csv(&d, &out), 0);
    assert_span_equal(json, buf_span(&out), span_cstr(csv));
    buf_done(&out);
    arena_done(&a);
}

static void test_shown(void **state)
{
    (void)state;
    check_show(OK("scalar", "[12.5,\"2\"]"), "2\n",
               "metric,time,value\n,1970-01-01T00:00:12.500Z,2\n");
    check_show(OK("string", "[0,\"a\\nb\"]"), "a\nb\n",
               "metric,time,value\n,1970-01-01T00:00:00Z,\"a\nb\"\n");
    check_show(OK("vector", "[]"), "no data\n", "metric,time,value\n");
    check_show(
        OK("vector", "[{\"metric\":{\"__name__\":\"u\"},\"value\":[0,\"1\"]},"
                     "{\"metric\":{\"b\":\"c\"},\"value\":[0,\"-Inf\"]}]"),
        "u        1\n{b=\"c\"}  -Inf\n",
        "metric,time,value\nu,1970-01-01T00:00:00Z,1\n\"{b=\"\"c\"\"}\",1970-01-01T00:00:00Z,"
        "-Inf\n");
    check_show(matrix,
               "up{a=\"x,\\\"y\\\"\"}\n  1970-01-01T00:00:00Z  1\n  1970-01-01T00:00:01.500Z  NaN\n"
               "  1970-01-01T00:00:03Z  +Inf\n\n{}\n  2015-07-01T20:10:51.781Z  2\n"
               "  1970-01-01T00:00:04Z  {\"count\":\"3\",\"sum\":\"1\"}\n",
               "metric,time,value\n"
               "\"up{a=\"\"x,\\\"\"y\\\"\"\"\"}\",1970-01-01T00:00:00Z,1\n"
               "\"up{a=\"\"x,\\\"\"y\\\"\"\"\"}\",1970-01-01T00:00:01.500Z,NaN\n"
               "\"up{a=\"\"x,\\\"\"y\\\"\"\"\"}\",1970-01-01T00:00:03Z,+Inf\n"
               "{},2015-07-01T20:10:51.781Z,2\n"
               "{},1970-01-01T00:00:04Z,\"{\"\"count\"\":\"\"3\"\",\"\"sum\"\":\"\"1\"\"}\"\n");
}

static void test_errors_and_notes(void **state)
{
    (void)state;
    struct arena a;
    struct query_data d;
    arena_init(&a, NULL);
    assert_int_equal(query_data_read(SPAN("{\"status\":\"error\",\"errorType\":\"bad_data\","
                                          "\"error\":\"it \\\"is\\\"\"}"),
                                     &a, &d),
                     0);
    assert_span_equal("error", d.error, SPAN("it \"is\""));
    assert_span_equal("type", d.error_type, SPAN("bad_data"));
    assert_int_equal(query_data_read(SPAN("{\"data\":{\"resultType\":\"vector\",\"result\":[],"
                                          "\"stats\":{\"a\":[1]}},\"warnings\":[\"w\"],\"infos\":"
                                          "[\"i\",\"j\"]}"),
                                     &a, &d),
                     0);
    assert_int_equal(d.n_notes, 3);
    assert_span_equal("info", d.notes[2], SPAN("j"));
    arena_done(&a);
}

static void test_not_an_answer(void **state)
{
    (void)state;
    static const char *const rows[] = {
        "",
        "null",
        "[]",
        "{}",
        "<html>",
        "{\"error\":1}",
        "{\"data\":[]}",
        OK("scalar", "[1]"),
        OK("scalar", "[\"1\",\"2\"]"),
        OK("scalar", "[1,\"2\",3]"),
        OK("vector", "[{\"metric\":[],\"value\":[0,\"1\"]}]"),
        OK("vector", "[{\"metric\":{\"a\":\"1\",\"a\":\"2\"},\"value\":[0,\"1\"]}]"),
        OK("vector", "[{\"metric\":{},\"value\":[0,1]}]"),
        OK("matrix", "[{\"metric\":{},\"values\":[[0,\"1\"]}]"),
        "{\"data\":{\"resultType\":\"vector\",\"result\":[]",
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct arena a;
        struct query_data d;
        arena_init(&a, NULL);
        assert_row(rows[i], query_data_read(span_cstr(rows[i]), &a, &d) == -EPROTO);
        arena_done(&a);
    }
}

static int attempt(void *ctx)
{
    struct arena a;
    struct query_data d;
    struct buf out;
    arena_init(&a, NULL);
    buf_init(&out, MIB);
    int r = query_data_read(span_cstr(ctx), &a, &d);
    if (r == 0)
        r = query_show_table(&d, &out);
    buf_done(&out);
    arena_done(&a);
    return r;
}

static void test_failing_allocations(void **state)
{
    (void)state;
    char text[sizeof(matrix)];
    memcpy(text, matrix, sizeof(matrix));
    assert_true(memfail_each(attempt, text) > 2);
}

static void test_place(void **state)
{
    (void)state;
    static const struct {
        const char *query, *want;
    } rows[] = {
        {"sum(a b)", "  sum(a b)\n        ^\n"},
        {"1 + foobar(2)", "  1 + foobar(2)\n      ^~~~~~\n"},
        {"a +\n\tb c +\n d", "  \tb c +\n  \t  ^\n"},
        {"\"\xc3\xa9\" + on(x) 1", "  \"\xc3\xa9\" + on(x) 1\n  ^~~\n"},
        {"1 +", "  1 +\n     ^\n"},
        {"", "  \n  ^\n"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct promql_expr *e = NULL;
        struct promql_error error;
        struct buf out;
        struct span query = span_cstr(rows[i].query);
        buf_init(&out, MIB);
        assert_true(promql_parse(query, &e, &error) < 0);
        assert_int_equal(query_show_place(query, &error, &out), 0);
        assert_span_equal(rows[i].query, buf_span(&out), span_cstr(rows[i].want));
        buf_done(&out);
    }
}

static void test_plot(void **state)
{
    (void)state;
    struct query_point rising[] = {{.t = 0, .v = 0},
                                   {.t = 10, .v = 50},
                                   {.t = 20, .v = 100},
                                   {.t = 30, .v = (double)NAN},
                                   {.t = 60, .v = 200}};
    struct query_point flat[] = {{.t = 0, .v = 100}, {.t = 60, .v = 100}};
    const struct query_series series[] = {{SPAN_INIT("up"), rising, ARRAY_LEN(rising)},
                                          {SPAN_INIT("{a=\"b\"}"), flat, ARRAY_LEN(flat)}};
    const struct plot_options o = {.width = 42, .height = 5, .start = 0, .end = 60, .step = 10};
    struct buf out;
    buf_init(&out, MIB);
    assert_int_equal(plot_print(series, 2, &o, &out), 0);
    assert_span_equal("plot", buf_span(&out),
                      SPAN("     200 |                              *\n"
                           "     150 |                               \n"
                           "     100 |+       ***                   +\n"
                           "      50 |   *****                       \n"
                           "       0 |***                            \n"
                           "         +-------------------------------\n"
                           "     UTC  00:00:00   00:00:30    00:01:00\n"
                           "  * up  last 200\n"
                           "  + {a=\"b\"}  last 100\n"));
    buf_clear(&out);
    assert_int_equal(plot_print(series, 0, &o, &out), 0);
    assert_span_equal("empty", buf_span(&out), SPAN("no data\n"));
    buf_done(&out);
}

/* Every scale ends, and has labels that a column has room for. */
static void test_plot_of_odd_values(void **state)
{
    (void)state;
    static const double rows[][2] = {{0, 0},         {-1, -1},       {1e300, -1e300},
                                     {5e-324, 0},    {1e15, 1e15},   {1e308, 1.7e308},
                                     {0.1, 0.10001}, {-3e-9, 2.5e9}, {1e-300, 2e-300}};
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct query_point points[] = {{.t = 5, .v = rows[i][0]}, {.t = 5, .v = rows[i][1]}};
        const struct query_series s = {SPAN_INIT("x"), points, 2};
        const struct plot_options o = {.width = 60, .height = 9, .has_utf8 = true};
        struct buf out;
        buf_init(&out, MIB);
        assert_int_equal(plot_print(&s, 1, &o, &out), 0);
        assert_true(span_find(buf_span(&out), SPAN("nan")) == buf_len(&out));
        buf_done(&out);
    }
}

static void test_numbers(void **state)
{
    (void)state;
    static const struct {
        double v;
        const char *want;
    } rows[] = {{0, "0"},        {1, "1"},        {-1.5, "-1.5"},
                {999, "999"},    {1000, "1k"},    {1234567, "1.235M"},
                {0.25, "250m"},  {2e-7, "200n"},  {1e13, "10T"},
                {1e20, "1e+20"}, {1e-12, "1e-12"}};
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        char text[32];
        plot_number(rows[i].v, text);
        assert_span_equal(rows[i].want, span_cstr(text), span_cstr(rows[i].want));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_shown),
        cmocka_unit_test(test_errors_and_notes),
        cmocka_unit_test(test_not_an_answer),
        cmocka_unit_test(test_failing_allocations),
        cmocka_unit_test(test_place),
        cmocka_unit_test(test_plot),
        cmocka_unit_test(test_plot_of_odd_values),
        cmocka_unit_test(test_numbers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
