/* SPDX-License-Identifier: Apache-2.0 */
/*
 * promql/parse, print: what a query means, shown by the canonical text of its tree; what the tree
 * holds; limits; allocations that fail.
 */
#include "harness.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/attr.h"
#include "base/mem.h"
#include "memfail.h"
#include "promql/parse.h"

static struct promql_expr *parse(const char *text)
{
    struct promql_expr *e = NULL;
    struct promql_error error;
    if (promql_parse(span_cstr(text), &e, &error) < 0)
        fail_msg("%s: %s", text, error.text);
    return e;
}

static void check_text(const char *text, const char *want)
{
    struct promql_expr *e = parse(text);
    struct buf out;
    buf_init(&out, 1 << 20);
    assert_int_equal(promql_print(promql_root(e), &out), 0);
    assert_span_equal(text, buf_span(&out), span_cstr(want));
    buf_done(&out);
    (void)promql_free_expr(e);
}

static void test_canonical_text(void **state)
{
    (void)state;
    static const struct {
        const char *text, *want; /* NULL: the same */
    } rows[] = {
        /* Numbers. */
        {"1", NULL},
        {".5", "0.5"},
        {"5.", "5"},
        {"1e3", "1000"},
        {"1e-7", "0.0000001"},
        {"1.25e21", "1250000000000000000000"},
        {"-123456789.5e-3", "-123456.7895"},
        {"0x1F", "31"},
        {"0755", "493"},
        {"089", "89"},
        {"1_000.2_5", "1000.25"},
        {"inf", "+Inf"},
        {"-Inf", "-Inf"},
        {"NaN", "NaN"},
        {"9223372036854775807", "9223372036854776000"},
        {"5m", NULL},
        {"-1h30m", "-1h30m"},
        {"100ms", NULL},
        {"+3", "3"},
        {"--3", "3"},
        /* Strings. */
        {"'it\\'s \"so\"'", "\"it's \\\"so\\\"\""},
        {"`a\\n\nb`", "\"a\\\\n\\nb\""},
        {"\"\\x41\\101\\u00e9\\U0001F600\"", "\"AA\xc3\xa9\xf0\x9f\x98\x80\""},
        {"\"\\a\\b\\f\\v\\x00\"", "\"\\a\\b\\f\\v\\x00\""},
        /* Precedence and association. */
        {"1+2*3^4", "1 + 2 * 3 ^ 4"},
        {"(1)", NULL},
        {"-a^2", "-a ^ 2"},
        {"2^-a", "2 ^ -a"},
        {"a or b and c unless d", "a or b and c unless d"},
        {"a</1 >/ b", "a </ 1 >/ b"},
        {"a atan2 b", NULL},
        {"+a", "a"},
        {"1 # one\n + # and\n 2", "1 + 2"},
        /* Selectors. */
        {"up", NULL},
        {"a:b:c", NULL},
        {"{__name__=\"a\"}", NULL},
        {"a{}", "a"},
        {"a{ b = 'c' , d != \"e\", f =~ `g.*`, h !~ \"i\" , }",
         "a{b=\"c\",d!=\"e\",f=~\"g.*\",h!~\"i\"}"},
        {"{\"my.metric\", \"a.b\"=\"c\"}", "{__name__=\"my.metric\",\"a.b\"=\"c\"}"},
        {"a{by=\"1\",sum=\"2\",offset=\"3\"}", NULL},
        /* Words of the language as names. */
        {"sum", NULL},
        {"offset offset 5m", NULL},
        {"and and or", "and and or"},
        {"start + end + step + range", NULL},
        {"fill + fill_left", NULL},
        {"without{on=\"x\"}", NULL},
        {"min_of / max_of", NULL},
        /* Ranges, offsets, moments. */
        {"a[5m]", NULL},
        {"a[300]", "a[5m]"},
        {"a[ 90s ] OFFSET 3w", "a[1m30s] offset 3w"},
        {"a offset -5", "a offset -5s"},
        {"a offset 0", "a"},
        {"a @ 1603774568", "a @ 1603774568.000"},
        {"a @ -1.5", "a @ -1.500"},
        {"a offset 1h @ start()", "a @ start() offset 1h"},
        {"a[5m] @ end()", NULL},
        {"a offset 1m + b", NULL},
        {"a offset -2^2", "a offset -2s ^ 2"},
        {"a[0.0005]", "a[0.0005]"},
        {"rate(a[5m:])", NULL},
        {"max_over_time(rate(a[5m])[1h:30s] offset 1d)", NULL},
        {"rate((a)[5m:1m])", NULL},
        {"a[5m] anchored", NULL},
        {"a smoothed offset 1m", NULL},
        /* Durations that are calculated. */
        {"a[1h/2]", "a[1h / 2]"},
        {"a[step()+1]", "a[step() + 1]"},
        {"a[5m:max_of(step(),10s)]", "a[5m:max_of(step(), 10s)]"},
        {"a offset -step()", NULL},
        {"a offset (5m*2)", "a offset (5m * 2)"},
        {"a offset -(1m)", "a offset -(1m)"},
        {"a offset step() @ 5", "a @ 5.000 offset step()"},
        {"a offset -(5m*2) anchored @ 5", "a anchored @ 5.000 offset -(5m * 2)"},
        {"a offset (1m) @ 5 + b", "a offset (1m) @ 5.000 + b"},
        {"a offset (5m*2) smoothed + b", "a offset (5m * 2) smoothed + b"},
        {"a[2^3^1 - -1m % 7]", "a[2 ^ 3 ^ 1 - -1m % 7]"},
        {"a[range()]", NULL},
        /* Aggregations. */
        {"sum(a)", NULL},
        {"sum by () (a)", "sum(a)"},
        {"sum(a) by (x, \"y.z\",)", "sum by (x, \"y.z\") (a)"},
        {"avg without (b,a,b) (x)", "avg without (a, b) (x)"},
        {"SUM BY (sum, by, group_left) (a)", "sum by (by, group_left, sum) (a)"},
        {"topk(3, a)", NULL},
        {"count_values without () ('v', a)", "count_values without () (\"v\", a)"},
        {"limit_ratio(-0.5, a)", NULL},
        /* Vector matching. */
        {"a == bool 1", NULL},
        {"a / on(b) c", "a / on (b) c"},
        {"a / on() c", "a / on () c"},
        {"a / ignoring() c", "a / c"},
        {"a * on(b, a) group_left c", "a * on (a, b) group_left () c"},
        {"a * ignoring(b) group_right(d) c", "a * ignoring (b) group_right (d) c"},
        {"a + fill(0) b", "a + fill (0) b"},
        {"a + on(c) fill_right(-1) fill_left(2) b", "a + on (c) fill_left (2) fill_right (-1) b"},
        {"1 + on() a", "1 + a"},
        /* Calls. */
        {"time()", NULL},
        {"round(a)", NULL},
        {"label_join(a, \"b\", \",\")", NULL},
        {"histogram_quantiles(a, \"q\", 0.5, 0.9)", NULL},
        {"end() - start()", NULL},
        {"info(a, {b=~\".*\"})", NULL},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const char *want = rows[i].want ? rows[i].want : rows[i].text;
        check_text(rows[i].text, want);
        check_text(want, want);
    }
}

static void test_tree(void **state)
{
    (void)state;
    struct promql_expr *e = parse("sum by (b, a) (rate(m{x=\"1\"}[5m] offset 1h @ 2)) > bool 3");
    const struct node *n = promql_root(e);
    assert_int_equal(n->kind, NODE_BINARY);
    assert_int_equal(n->type, PROMQL_VECTOR);
    assert_int_equal(n->binary.op, OP_GT);
    assert_true(n->binary.is_bool);
    assert_null(n->binary.matching);
    const struct node *sum = n->binary.left;
    assert_int_equal(sum->aggregate.op, AGG_SUM);
    assert_int_equal(sum->aggregate.n_names, 2);
    assert_span_equal("name", sum->aggregate.names[0], SPAN("a"));
    const struct node *rate = sum->aggregate.inner;
    assert_string_equal(rate->call.function->name, "rate");
    const struct node *m = rate->call.args[0];
    assert_int_equal(m->type, PROMQL_MATRIX);
    assert_span_equal("metric", m->selector.name, SPAN("m"));
    assert_int_equal(m->selector.n_matchers, 2);
    assert_true(m->selector.range->seconds == 300);
    assert_int_equal(m->selector.when.at, AT_TIME);
    assert_int_equal(m->selector.when.at_ms, 2000);
    assert_true(m->selector.when.offset->seconds == 3600);
    assert_int_equal(m->from, 20);
    assert_int_equal(m->to, 46);
    assert_span_equal("text", span_of(promql_text(e).p + m->from, m->to - m->from),
                      SPAN("m{x=\"1\"}[5m] offset 1h @ 2"));
    (void)promql_free_expr(e);
}

static void test_matching(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        enum match_card card;
    } rows[] = {
        {"a + b", MATCH_ONE_TO_ONE},
        {"a and b", MATCH_MANY_TO_MANY},
        {"a or on(x) b", MATCH_MANY_TO_MANY},
        {"a * on(x) group_left b", MATCH_MANY_TO_ONE},
        {"a * on(x) group_right b", MATCH_ONE_TO_MANY},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct promql_expr *e = parse(rows[i].text);
        assert_row(rows[i].text, promql_root(e)->binary.matching->card == rows[i].card);
        (void)promql_free_expr(e);
    }
}

static void test_functions_are_found(void **state)
{
    (void)state;
    for (size_t i = 0; i < n_function_infos; i++) {
        const struct function_info *f = &function_infos[i];
        assert_ptr_equal(function_find(span_cstr(f->name)), f);
        assert_row(f->name, f->n_min <= f->n_max && f->n_max <= PROMQL_ARGS_MAX);
        assert_row(f->name, f->n_args <= ARRAY_LEN(f->args));
        assert_row(f->name, i == 0 || strcmp(function_infos[i - 1].name, f->name) < 0);
    }
    assert_null(function_find(SPAN("rat")));
    assert_null(function_find(SPAN("rated")));
    assert_null(function_find(SPAN("")));
}

/* A text of n pieces, to be freed. */
static char *repeat(const char *head, const char *piece, size_t n, const char *tail)
{
    size_t len = strlen(piece), at = strlen(head);
    char *text = malloc(at + n * len + strlen(tail) * n + 1);
    assert_non_null(text);
    memcpy(text, head, at);
    for (size_t i = 0; i < n; i++, at += len)
        memcpy(text + at, piece, len);
    for (size_t i = 0; i < n; i++, at += strlen(tail))
        memcpy(text + at, tail, strlen(tail));
    text[at] = '\0';
    return text;
}

static int parse_repeated(const char *head, const char *piece, size_t n, const char *tail)
{
    char *text = repeat(head, piece, n, tail);
    struct promql_expr *e = NULL;
    struct promql_error error = {0};
    int r = promql_parse(span_cstr(text), &e, &error);
    assert_true(r == 0 || error.text[0]);
    free(text);
    (void)promql_free_expr(e);
    return r;
}

static void test_limits(void **state)
{
    (void)state;
    assert_int_equal(parse_repeated("1", "", PROMQL_DEPTH_MAX, ""), 0);
    assert_int_equal(parse_repeated("", "(1", 1, ")"), 0);
    char inner[] = "1";
    char *deep = repeat("", "(", PROMQL_DEPTH_MAX - 1, "");
    assert_int_equal(parse_repeated(deep, inner, 1, ""), -EINVAL); /* not closed */
    free(deep);
    assert_int_equal(parse_repeated("", "-(", PROMQL_DEPTH_MAX, ""), -E2BIG);
    assert_int_equal(parse_repeated("a[", "(", PROMQL_DEPTH_MAX, ""), -E2BIG);
    assert_int_equal(parse_repeated("1", "+1", PROMQL_HEIGHT_MAX - 1, ""), 0);
    assert_int_equal(parse_repeated("1", "+1", PROMQL_HEIGHT_MAX, ""), -E2BIG);
    assert_int_equal(parse_repeated("a[1", "+1", PROMQL_HEIGHT_MAX + 1, ""), -EINVAL);
    assert_int_equal(parse_repeated("1", " ", PROMQL_QUERY_MAX - 1, ""), 0);
    assert_int_equal(parse_repeated("1", " ", PROMQL_QUERY_MAX, ""), -E2BIG);
    assert_int_equal(parse_repeated("", "a or ", 900, ""), -EINVAL);
}

static int attempt(void *ctx)
{
    const char *text = ctx;
    struct promql_expr *e = NULL;
    struct promql_error error;
    struct buf out;
    buf_init(&out, 4096);
    int r = promql_parse(span_cstr(text), &e, &error);
    if (r < 0) {
        assert_null(e);
        assert_int_equal(error.line, 0);
        return r;
    }
    r = promql_print(promql_root(e), &out);
    buf_done(&out);
    (void)promql_free_expr(e);
    return r;
}

static void test_failing_allocations(void **state)
{
    (void)state;
    static char text[] = "sum by (a) (rate(m{x=~\"a.+|b\",y='\\n'}[5m:step()] offset 1m)) + "
                         "on(a) group_left(b) n{z!~\"c.*d\"}";
    assert_true(memfail_each(attempt, text) > 3);
}

static void test_selector_alone(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int r;
        const char *error;
    } rows[] = {
        {"up", 0, NULL},
        {" up{a=\"b\"} ", 0, NULL},
        {"{a=\"b\"}", 0, NULL},
        {"sum", 0, NULL},
        {"", -EINVAL, "1:1: parse error: unexpected end of input"},
        {"up + 1", -EINVAL, "1:4: parse error: unexpected <op:+>"},
        {"{}", -EINVAL, "match[] must contain at least one non-empty matcher"},
        {"{a=~\".*\"}", -EINVAL, "match[] must contain at least one non-empty matcher"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct promql_expr *e = NULL;
        struct promql_error error;
        int r = promql_parse_selector(span_cstr(rows[i].text), &e, &error);
        assert_row(rows[i].text, r == rows[i].r);
        if (r < 0) {
            struct buf out;
            buf_init(&out, 1024);
            assert_int_equal(promql_error_print(&error, &out), 0);
            assert_span_equal(rows[i].text, buf_span(&out), span_cstr(rows[i].error));
            buf_done(&out);
        } else {
            assert_int_equal(promql_root(e)->kind, NODE_SELECTOR);
        }
        (void)promql_free_expr(e);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_canonical_text), cmocka_unit_test(test_tree),
        cmocka_unit_test(test_matching),       cmocka_unit_test(test_functions_are_found),
        cmocka_unit_test(test_limits),         cmocka_unit_test(test_failing_allocations),
        cmocka_unit_test(test_selector_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
