/* SPDX-License-Identifier: Apache-2.0 */
#include "scrape/text.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "guard.h"
#include "harness.h"
#include "memfail.h"

static const char *const kinds[] = {"sample", "type", "help", "unit", "mistake", "end"};

/* An item in a line of its own, for comparison. */
static int describe(const struct text_item *it, char *to, size_t cap)
{
    char time[32] = "", exemplar[4096] = "";
    if (it->has_time)
        (void)snprintf(time, sizeof(time), " @%lld", (long long)it->t_ms);
    if (it->exemplar.labels.n > 0) {
        int n =
            snprintf(exemplar, sizeof(exemplar), " # %.*s %g", (int)(it->exemplar.labels.n & 1023),
                     it->exemplar.labels.p, it->exemplar.v);
        if (it->exemplar.has_time)
            (void)snprintf(exemplar + n, sizeof(exemplar) - (size_t)n, " @%lld",
                           (long long)it->exemplar.t_ms);
    }
    switch (it->kind) {
    case TEXT_SAMPLE:
        return snprintf(to, cap, "%zu %.*s|%.*s|%.*s=%g%s%s\n", it->line, SPAN_ARG(it->name),
                        SPAN_ARG(it->series), SPAN_ARG(it->value), it->v, time, exemplar);
    case TEXT_MISTAKE:
        return snprintf(to, cap, "%zu:%d %s\n", it->line, it->column, it->mistake);
    case TEXT_TYPE:
        return snprintf(to, cap, "%zu %.*s is %s\n", it->line, SPAN_ARG(it->name),
                        metric_type_name(it->type));
    default:
        return snprintf(to, cap, "%zu %s %.*s|%.*s|\n", it->line, kinds[it->kind],
                        SPAN_ARG(it->name), SPAN_ARG(it->words));
    }
}

static size_t read_all(struct span body, enum text_format format, char *to, size_t cap)
{
    struct text t;
    struct text_item item;
    size_t n = 0;
    to[0] = '\0';
    text_init(&t, body, format);
    for (text_next(&t, &item); item.kind != TEXT_END; text_next(&t, &item)) {
        n += (size_t)describe(&item, to + n, cap - n);
        assert_true(n < cap);
    }
    text_next(&t, &item); /* the end stays the end */
    assert_int_equal(item.kind, TEXT_END);
    return n;
}

struct row {
    const char *page, *items;
};

static void check_rows(const struct row *rows, size_t n, enum text_format format)
{
    static char got[16384];
    struct guard g;
    guard_init(&g, 4096);
    for (size_t i = 0; i < n; i++) {
        size_t n_got = read_all(guard_copy(&g, span_cstr(rows[i].page)), format, got, sizeof(got));
        assert_span_equal(rows[i].page, span_of(got, n_got), span_cstr(rows[i].items));
    }
    guard_done(&g);
}

static void test_samples(void **state)
{
    static const struct row rows[] = {
        {"", ""},
        {"\n\n \t\n", ""},
        {"a 1\n", "1 a|a|1=1\n"},
        {"a 1", "1 a|a|1=1\n"},
        {"a 1\r\nb 2\r\n", "1 a|a|1=1\n2 b|b|2=2\n"},
        {"\n\na 1\n\nb 2", "3 a|a|1=1\n5 b|b|2=2\n"},
        {"  a \t 1 \n", "1 a|a|1=1\n"},
        {"a:b_c9 -1.5e3\n", "1 a:b_c9|a:b_c9|-1.5e3=-1500\n"},
        {"a{} 1\n", "1 a|a{}|1=1\n"},
        {"a { } 1\n", "1 a|a { }|1=1\n"},
        {"a{b=\"c\"} 1\n", "1 a|a{b=\"c\"}|1=1\n"},
        {"a{b=\"c\"}1\n", "1 a|a{b=\"c\"}|1=1\n"},
        {"a{b=\"c\",} 1\n", "1 a|a{b=\"c\",}|1=1\n"},
        {"a{ b = \"c\" , d=\"}\" } NaN\n", "1 a|a{ b = \"c\" , d=\"}\" }|NaN=nan\n"},
        {"a{b=\"\\\"}\\\\\",c=\"\\n# {\"} +Inf\n",
         "1 a|a{b=\"\\\"}\\\\\",c=\"\\n# {\"}|+Inf=inf\n"},
        {"a{b=\"\xc3\xbc 16 bytes and more \xe6\xbc\xa2\"} 1\n",
         "1 a|a{b=\"\xc3\xbc 16 bytes and more \xe6\xbc\xa2\"}|1=1\n"},
        {"a 1 1700000000000\n", "1 a|a|1=1 @1700000000000\n"},
        {"a 1  -5 \n", "1 a|a|1=1 @-5\n"},
        {"vllm:iteration_tokens_total_bucket{le=\"1.0\",m=\"x/y\"} 3\n",
         "1 vllm:iteration_tokens_total_bucket|vllm:iteration_tokens_total_bucket{le=\"1.0\",m=\"x/"
         "y\"}|3=3\n"},
    };
    (void)state;
    check_rows(rows, ARRAY_LEN(rows), TEXT_PROMETHEUS);
}

static void test_comments(void **state)
{
    static const struct row rows[] = {
        {"# HELP a some  text\\n \n", "1 help a|some  text\\n |\n"},
        {"# HELP a\n# HELP a   \n#  HELP\ta \t b", "1 help a||\n2 help a||\n3 help a|\t b|\n"},
        {"# TYPE a counter\n#\tTYPE  b  gauge \r\n# TYPE c untyped\n",
         "1 a is counter\n2 b is gauge\n3 c is unknown\n"},
        {"# TYPE a histogram\n# TYPE a summary\n", "1 a is histogram\n2 a is summary\n"},
        {"#\n# \n# some words\n#HELP a b\n# HELPER a\n# HELP\n# TYPE\n# EOF\n# UNIT a-b s\n", ""},
        {"# HELP \n", "1:8 a metric's name is expected\n"},
        {"# HELP 1a b\n", "1:8 a metric's name is expected\n"},
        {"# HELP a-b c\n", "1:9 a metric's name is expected\n"},
        {"# TYPE a\n", "1:9 the type is none that this format has\n"},
        {"# TYPE a info\n", "1:10 the type is none that this format has\n"},
        {"# TYPE a Counter\n", "1:10 the type is none that this format has\n"},
        {"# TYPE a counter x\na 1\n", "1:10 the type is none that this format has\n2 a|a|1=1\n"},
        {"# HELP a \xff\n", "1:10 the help text is not UTF-8\n"},
    };
    (void)state;
    check_rows(rows, ARRAY_LEN(rows), TEXT_PROMETHEUS);
}

#define NAME_WANTED "a metric's name is expected\n"

static void test_mistakes(void **state)
{
    static const struct row rows[] = {
        {"a 1\n1a 2\nb 3\n", "1 a|a|1=1\n2:1 " NAME_WANTED "3 b|b|3=3\n"},
        {"{a=\"b\"} 1\n", "1:1 " NAME_WANTED},
        {"<html>\n", "1:1 " NAME_WANTED},
        {"a\n", "1:2 a value is expected\n"},
        {"a{b=\"c\"}\n", "1:9 a value is expected\n"},
        {"a x\n", "1:3 the value is not a number\n"},
        {"a 0x10\n", "1:3 the value is not a number\n"},
        {"a 1_0\n", "1:3 the value is not a number\n"},
        {"a 1e999\n", "1:3 the value is not a number\n"},
        {"a 1 x\n", "1:5 the time is not a number of milliseconds\n"},
        {"a 1 1.5\n", "1:5 the time is not a number of milliseconds\n"},
        {"a 1 99999999999999999999\n", "1:5 the time is not a number of milliseconds\n"},
        {"a 1 2 3\n", "1:7 the line goes on behind the sample\n"},
        {"a 1 # {} 1\n", "1:5 the line goes on behind the sample\n"},
        {"a{ 1\n", "1:4 a label's name or a closing brace is expected\n"},
        {"a{,} 1\n", "1:3 a label's name or a closing brace is expected\n"},
        {"a{b=\"c\",,} 1\n", "1:9 a label's name or a closing brace is expected\n"},
        {"a{b:c=\"d\"} 1\n", "1:4 '=' is expected behind a label's name\n"},
        {"a{b} 1\n", "1:4 '=' is expected behind a label's name\n"},
        {"a{b=c} 1\n", "1:5 a label's value in double quotes is expected\n"},
        {"a{b=\"c\" d=\"e\"} 1\n", "1:9 a comma or a closing brace is expected behind a label\n"},
        {"a{b=\"c\n\"} 1\n",
         "1:5 the label's value has no closing quote in this line\n2:1 " NAME_WANTED},
        {"a{b=\"c\\\"} 1\n", "1:5 the label's value has no closing quote in this line\n"},
        {"a{b=\"c\\", "1:5 the label's value has no closing quote in this line\n"},
        {"a{b=\"c", "1:5 the label's value has no closing quote in this line\n"},
        {"a{b=\"c\xe2\x82\"} 1\n", "1:7 the label's value is not UTF-8\n"},
        {"a{b=\"c\\\xff\"} 1\n", "1:8 the label's value is not UTF-8\n"},
    };
    (void)state;
    check_rows(rows, ARRAY_LEN(rows), TEXT_PROMETHEUS);
}

static void test_openmetrics(void **state)
{
    static const struct row rows[] = {
        {"# EOF\n", ""},
        {"# EOF", ""},
        {"", "1:1 the page does not end with \"# EOF\"\n"},
        {"a 1\n", "1 a|a|1=1\n2:1 the page does not end with \"# EOF\"\n"},
        {"a 1\n# EOF\n\n", "1 a|a|1=1\n"},
        {"# EOF\n\nb 1\nc 2\n", "3:1 the page goes on behind \"# EOF\"\n"},
        {"# EOF x\n# EOF\n", ""},
        {"# HELP a\n# HELP b   \n# EOF\n", "1 help a||\n2 help b|  |\n"},
        {"# TYPE a info\n# TYPE b stateset\n# TYPE c gaugehistogram\n# TYPE d unknown\n"
         "# UNIT a seconds\n# UNIT b\n# EOF\n",
         "1 a is info\n2 b is stateset\n3 c is gaugehistogram\n4 d is unknown\n"
         "5 unit a|seconds|\n6 unit b||\n"},
        {"# TYPE a untyped\n# EOF", "1:10 the type is none that this format has\n"},
        {"a_total 1 1.5\n# EOF", "1 a_total|a_total|1=1 @1500\n"},
        {"a 1 1726000000.123\n# EOF", "1 a|a|1=1 @1726000000123\n"},
        {"a 1 -1e3\n# EOF", "1 a|a|1=1 @-1000000\n"},
        {"a 1 NaN\n# EOF", "1:5 the time is not a number of seconds\n"},
        {"a 1 1e300\n# EOF", "1:5 the time is not a number of seconds\n"},
        {"a_bucket{le=\"1\"} 4 # {trace_id=\"ab}\",x=\"y\"} 0.5 1.25\n# EOF",
         "1 a_bucket|a_bucket{le=\"1\"}|4=4 # {trace_id=\"ab}\",x=\"y\"} 0.5 @1250\n"},
        {"a_bucket 4 7 # {} 0.5\n# EOF", "1 a_bucket|a_bucket|4=4 @7000 # {} 0.5\n"},
        {"a 4 #\n# EOF", "1:6 labels of an exemplar are expected\n"},
        {"a 4 # {}\n# EOF", "1:9 a value is expected\n"},
        {"a 4 # {} 1 2 3\n# EOF", "1:14 the line goes on behind the sample\n"},
        {"a 4 # {b} 1\n# EOF", "1:9 '=' is expected behind a label's name\n"},
    };
    (void)state;
    check_rows(rows, ARRAY_LEN(rows), TEXT_OPENMETRICS);
}

static void test_format_of(void **state)
{
    (void)state;
    assert_int_equal(text_format_of(SPAN("application/openmetrics-text; version=1.0.0")),
                     TEXT_OPENMETRICS);
    assert_int_equal(text_format_of(SPAN("Application/OpenMetrics-Text")), TEXT_OPENMETRICS);
    assert_int_equal(text_format_of(SPAN("text/plain; version=0.0.4")), TEXT_PROMETHEUS);
    assert_int_equal(text_format_of(SPAN("")), TEXT_PROMETHEUS);
}

static void test_limits(void **state)
{
    static char page[TEXT_LINE_MAX + 100];
    struct text t;
    struct text_item item;
    (void)state;
    for (size_t n = TEXT_LINE_MAX; n <= TEXT_LINE_MAX + 1; n++) {
        memset(page, 'a', n);
        memcpy(page + n - 2, " 1\nb 2\n", 8);
        text_init(&t, span_of(page, n + 5), TEXT_PROMETHEUS);
        text_next(&t, &item);
        assert_int_equal(item.kind, n <= TEXT_LINE_MAX ? TEXT_SAMPLE : TEXT_MISTAKE);
        text_next(&t, &item);
        assert_true(item.kind == TEXT_SAMPLE && item.line == 2 && item.v == 2);
    }
    for (int n_labels = TEXT_LABELS_MAX; n_labels <= TEXT_LABELS_MAX + 1; n_labels++) {
        struct arena a;
        struct labels l;
        const char *mistake = NULL;
        int n = snprintf(page, sizeof(page), "m{");
        for (int i = 0; i < n_labels; i++)
            n += snprintf(page + n, sizeof(page) - (size_t)n, "l%d=\"v\",", i);
        n += snprintf(page + n, sizeof(page) - (size_t)n, "} 1\n");
        text_init(&t, span_of(page, (size_t)n), TEXT_PROMETHEUS);
        text_next(&t, &item);
        assert_int_equal(item.kind, n_labels <= TEXT_LABELS_MAX ? TEXT_SAMPLE : TEXT_MISTAKE);
        arena_init(&a, NULL);
        int r = text_labels(span_of(page, (size_t)n - 3), &a, &l, &mistake);
        assert_int_equal(r, n_labels <= TEXT_LABELS_MAX ? 0 : -EINVAL);
        assert_true(r < 0 ? mistake != NULL : l.n == TEXT_LABELS_MAX + 1);
        arena_done(&a);
    }
}

static void test_labels(void **state)
{
    static const struct {
        const char *series, *printed;
    } rows[] = {
        {"a", "a"},
        {"a{}", "a"},
        {"a{z=\"1\",b=\"2\",Z=\"3\"}", "a{Z=\"3\", b=\"2\", z=\"1\"}"},
        {"a { b = \"\" , c=\"x\", }", "a{c=\"x\"}"},
        {"a{b=\"q\\\"s\\\\n\\nx\\d\\\\\"}", "a{b=\"q\\\"s\\\\n\\nx\\\\d\\\\\"}"},
        {"{trace=\"1\"}", "{trace=\"1\"}"},
        {"{}", "{}"},
    };
    struct arena a;
    struct buf b;
    (void)state;
    arena_init(&a, NULL);
    buf_init(&b, 4096);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct labels l;
        const char *mistake;
        assert_row(rows[i].series, text_labels(span_cstr(rows[i].series), &a, &l, &mistake) == 0);
        buf_clear(&b);
        assert_int_equal(labels_print(l, &b), 0);
        assert_span_equal(rows[i].series, buf_span(&b), span_cstr(rows[i].printed));
    }
    buf_done(&b);
    arena_done(&a);
}

static void test_labels_refused(void **state)
{
    static const char *const rows[] = {
        "a{b=\"1\",b=\"2\"}",
        "a{b=\"\",b=\"2\"}",
        "a{__name__=\"b\"}",
        "a{b=\"1\"",
        "a{b=\"1\"}x",
        "a{b=\"1\"c=\"2\"}",
        "a b",
        "a{b=\"\\",
        "a{b",
        "1a",
    };
    struct arena a;
    (void)state;
    arena_init(&a, NULL);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct labels l = {NULL, 7};
        const char *mistake = NULL;
        assert_row(rows[i], text_labels(span_cstr(rows[i]), &a, &l, &mistake) == -EINVAL);
        assert_row(rows[i], mistake && l.n == 7);
    }
    arena_done(&a);
}

static void test_unescape(void **state)
{
    struct arena a;
    struct span s;
    (void)state;
    arena_init(&a, NULL);
    assert_int_equal(text_unescape(SPAN("a\\\\n\\nb\\\"c\\d\\"), TEXT_PROMETHEUS, &a, &s), 0);
    assert_span_equal("plain", s, SPAN("a\\n\nb\\\"c\\d\\"));
    assert_int_equal(text_unescape(SPAN("b\\\"c"), TEXT_OPENMETRICS, &a, &s), 0);
    assert_span_equal("openmetrics", s, SPAN("b\"c"));
    assert_int_equal(text_unescape(SPAN("x"), TEXT_OPENMETRICS, &a, &s), 0);
    assert_span_equal("nothing", s, SPAN("x"));
    arena_done(&a);
}

static int attempt(void *ctx)
{
    struct arena a;
    struct labels l = {NULL, 7};
    const char *mistake = NULL;
    (void)ctx;
    arena_init(&a, NULL);
    int r = text_labels(SPAN("a{b=\"\\n\"}"), &a, &l, &mistake);
    assert_true(r == 0 ? l.n == 2 : l.n == 7 && !mistake);
    arena_done(&a);
    return r;
}

static void test_no_memory(void **state)
{
    (void)state;
    assert_true(memfail_each(attempt, NULL) > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_samples),   cmocka_unit_test(test_comments),
        cmocka_unit_test(test_mistakes),  cmocka_unit_test(test_openmetrics),
        cmocka_unit_test(test_format_of), cmocka_unit_test(test_limits),
        cmocka_unit_test(test_labels),    cmocka_unit_test(test_labels_refused),
        cmocka_unit_test(test_unescape),  cmocka_unit_test(test_no_memory),
    };
    return cmocka_run_group_tests_name("scrape/text", tests, NULL, NULL);
}
