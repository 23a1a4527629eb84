/* SPDX-License-Identifier: Apache-2.0 */
#include "load/trace.h"

#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "corpus.h"
#include "harness.h"

static const struct trace_options options = {.session_every_ns = 10 * NS_PER_S, .seed = 1};

static struct trace parsed(const char *text)
{
    struct trace t = {0};
    struct err e = {0};

    assert_int_equal(trace_parse("t.tsv", span_cstr(text), &options, &t, &e), 0);
    return t;
}

static void test_columns(void **state)
{
    struct trace t = parsed("x\toutput_tokens\tarrival_s\tinput_tokens\n"
                            "a\t7\t0\t3\n\n"
                            "b\t8\t1.5\t4\r\n"
                            "c\t9\t2\t5");
    (void)state;
    assert_int_equal(t.n, 3);
    assert_int_equal(t.rows[1].at_ns, 1500000000);
    assert_int_equal(t.rows[1].input_tokens, 4);
    assert_int_equal(t.rows[1].output_tokens, 8);
    assert_int_equal(t.rows[1].is_stream, -1);
    assert_int_equal(t.rows[2].output_tokens, 9);
    trace_done(&t);
    assert_int_equal(t.n, 0);
}

static void test_order_and_ms(void **state)
{
    struct trace t =
        parsed("arrival_ms\tinput_tokens\toutput_tokens\n30\t1\t1\n10\t2\t1\n20\t3\t1\n");
    (void)state;
    assert_int_equal(t.rows[0].input_tokens, 2);
    assert_int_equal(t.rows[0].at_ns, 10 * NS_PER_MS);
    assert_int_equal(t.rows[2].input_tokens, 1);
    trace_done(&t);
}

/* Rows that share a time lie within the time to the next one; single rows stay where they are. */
static void test_buckets_are_spread(void **state)
{
    struct trace t = parsed("arrival_ms\tinput_tokens\toutput_tokens\n"
                            "0\t1\t1\n0\t2\t1\n0\t3\t1\n3000\t4\t1\n6000\t5\t1\n6000\t6\t1\n");
    struct trace again = parsed("arrival_ms\tinput_tokens\toutput_tokens\n"
                                "0\t1\t1\n0\t2\t1\n0\t3\t1\n3000\t4\t1\n6000\t5\t1\n6000\t6\t1\n");
    int64_t last_ns = -1;
    (void)state;
    for (size_t i = 0; i < t.n; i++) {
        const struct trace_row *row = &t.rows[i];
        assert_true(row->at_ns >= last_ns);
        last_ns = row->at_ns;
        if (row->input_tokens <= 3)
            assert_true(row->at_ns < 3 * NS_PER_S);
        else if (row->input_tokens == 4)
            assert_int_equal(row->at_ns, 3 * NS_PER_S);
        else
            assert_true(row->at_ns >= 6 * NS_PER_S && row->at_ns < 9 * NS_PER_S);
        assert_int_equal(row->at_ns, again.rows[i].at_ns);
    }
    assert_true(t.rows[1].at_ns > t.rows[0].at_ns);
    trace_done(&t);
    trace_done(&again);
}

static void test_spread_is_limited(void **state)
{
    struct trace t =
        parsed("arrival_s\tinput_tokens\toutput_tokens\n0\t1\t1\n0\t2\t1\n500\t3\t1\n");
    (void)state;
    assert_true(t.rows[1].at_ns < 10 * NS_PER_S);
    trace_done(&t);
    t = parsed("arrival_s\tinput_tokens\toutput_tokens\n7\t1\t1\n7\t2\t1\n");
    assert_int_equal(t.rows[0].at_ns, 7 * NS_PER_S); /* no interval is known */
    assert_int_equal(t.rows[1].at_ns, 7 * NS_PER_S);
    trace_done(&t);
}

static void test_sessions(void **state)
{
    struct trace t = parsed("session\tarrival_s\ttype\tinput_tokens\toutput_tokens\n"
                            "a\t0\tn\t1\t1\na\t12\ts\t2\t1\nb\t0\ts\t3\t1\nb\t1\ts\t4\t1\n");
    (void)state;
    assert_int_equal(t.rows[0].input_tokens, 1);
    assert_int_equal(t.rows[0].is_stream, 0);
    assert_int_equal(t.rows[1].input_tokens, 3); /* session b starts at 10 s */
    assert_int_equal(t.rows[1].at_ns, 10 * NS_PER_S);
    assert_int_equal(t.rows[2].at_ns, 11 * NS_PER_S);
    assert_int_equal(t.rows[3].at_ns, 12 * NS_PER_S);
    assert_int_equal(t.rows[3].is_stream, 1);
    assert_int_equal(t.rows[3].session, 0);
    trace_done(&t);
}

static void test_refused(void **state)
{
    static const struct {
        const char *text, *error;
    } rows[] = {
        {"", "t.tsv: no requests in it"},
        {"arrival_s\tinput_tokens\toutput_tokens\n", "t.tsv: no requests in it"},
        {"a\tb\n", "t.tsv:1:1: there is no column arrival_s or arrival_ms"},
        {"arrival_s\tb\n", "t.tsv:1:1: there is no column input_tokens"},
        {"arrival_s\tinput_tokens\n", "t.tsv:1:1: there is no column output_tokens"},
        {"arrival_s\tinput_tokens\toutput_tokens\n1\t2\t3\nx\t2\t3\n",
         "t.tsv:3:1: an arrival time is a number, 0 or more, not \"x\""},
        {"arrival_s\tinput_tokens\toutput_tokens\n-1\t2\t3\n", "t.tsv:2:1: an arrival time"},
        {"arrival_s\tinput_tokens\toutput_tokens\n1e300\t2\t3\n", "t.tsv:2:1: an arrival time"},
        {"arrival_s\tinput_tokens\toutput_tokens\n1\t2.5\t3\n",
         "t.tsv:2:3: a token count is a whole number, 0 or more, not \"2.5\""},
        {"arrival_s\tinput_tokens\toutput_tokens\n1\t2\t-3\n", "t.tsv:2:5: a token count"},
        {"arrival_s\tinput_tokens\toutput_tokens\n1\t2\t\n", "t.tsv:2:5: a token count"},
        {"arrival_s\tinput_tokens\toutput_tokens\n1\t2\n",
         "t.tsv:2:4: the row ends before column output_tokens"},
        {"arrival_s\tinput_tokens\toutput_tokens\ttype\n1\t2\t3\tq\n",
         "t.tsv:2:7: a type is n (no stream) or s (stream), not \"q\""},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct trace t = {.n = 77};
        struct err e = {0};
        assert_int_equal(trace_parse("t.tsv", span_cstr(rows[i].text), &options, &t, &e), -EINVAL);
        assert_row(e.text, strncmp(e.text, rows[i].error, strlen(rows[i].error)) == 0);
        assert_int_equal(t.n, 77);
    }
}

static void test_short_rows(void **state)
{
    struct trace t = parsed("arrival_s\tinput_tokens\toutput_tokens\tstop\n0\t1\t2\n");
    (void)state;
    assert_int_equal(t.n, 1);
    assert_int_equal(t.rows[0].output_tokens, 2);
    trace_done(&t);
}

static void test_many_columns(void **state)
{
    char text[400] = "";
    struct trace t;
    struct err e = {0};
    (void)state;
    memset(text, '\t', 200);
    assert_int_equal(trace_parse("t.tsv", span_cstr(text), &options, &t, &e), -EINVAL);
    assert_non_null(strstr(e.text, "more than 64 columns"));
}

static void test_missing_file(void **state)
{
    struct trace t;
    struct err e = {0};
    (void)state;
    assert_int_equal(trace_read("/nonexistent/t.tsv", &options, &t, &e), -ENOENT);
    assert_non_null(strstr(e.text, "/nonexistent/t.tsv"));
}

static void visit(void *ctx, const char *path, struct span content)
{
    size_t *n_rows = ctx;
    struct trace t = {0};
    struct err e = {0};

    (void)content;
    assert_int_equal(trace_read(path, &options, &t, &e), 0);
    assert_true(t.n > 1000);
    *n_rows += t.n;
    for (size_t i = 1; i < t.n; i++)
        assert_true(t.rows[i].at_ns >= t.rows[i - 1].at_ns);
    trace_done(&t);
}

static void test_public_traces(void **state)
{
    size_t n_rows = 0;
    int n = corpus_each("traces", ".tsv", visit, &n_rows);
    (void)state;
    if (n == 0)
        skip();
    assert_true(n_rows > 20000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_columns),
        cmocka_unit_test(test_order_and_ms),
        cmocka_unit_test(test_buckets_are_spread),
        cmocka_unit_test(test_spread_is_limited),
        cmocka_unit_test(test_sessions),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_short_rows),
        cmocka_unit_test(test_many_columns),
        cmocka_unit_test(test_missing_file),
        cmocka_unit_test(test_public_traces),
    };
    return cmocka_run_group_tests_name("load/trace", tests, NULL, NULL);
}
