/* SPDX-License-Identifier: Apache-2.0 */
/*
 * promql/parse: what is wrong with a query, and where.
 */
#include "harness.h"

#include <errno.h>

#include "base/attr.h"
#include "promql/parse.h"

#define AT_LEAST_ONE "vector selector must contain at least one non-empty matcher"
#define OPERANDS     "binary expression must contain only scalar and instant vector types"
#define BEFORE_OFFSET                                                                              \
    "offset modifier must be preceded by an instant vector selector or range vector selector or "  \
    "a "                                                                                           \
    "subquery"

static const struct row {
    const char *text;
    size_t at, to;
    const char *error;
} rows[] = {
    /* Words. */
    {"", 0, 0, "no expression found in input"},
    {"# nothing\n", 0, 0, "no expression found in input"},
    {"a ? b", 2, 5, "unexpected character: '?'"},
    {"a =~ b", 2, 6, "unexpected character after '=': '~'"},
    {"a ! b", 2, 5, "unexpected character after '!': ' '"},
    {"\"a", 0, 2, "unterminated quoted string"},
    {"`a", 0, 2, "unterminated raw string"},
    {"'a\nb'", 0, 5, "unterminated quoted string"},
    {"\"\\c\"", 0, 4, "unknown escape sequence U+0063 'c'"},
    {"\"\\x1g\"", 0, 6, "illegal character U+0067 'g' in escape sequence"},
    {"\"\\ud800\"", 0, 8, "escape sequence is an invalid Unicode code point"},
    {"\"\xff\"", 0, 3, "invalid UTF-8 rune"},
    {"1..2", 0, 4, "bad number or duration syntax: \"1..\""},
    {"0x", 0, 2, "error parsing number: \"0x\" is not a number"},
    {"1__0", 0, 4, "bad number or duration syntax: \"1__\""},
    {"1ya", 0, 3, "bad number or duration syntax: \"1ya\""},
    {"a{b=\"c\"", 2 + 5, 7, "unexpected end of input inside braces"},
    {"a{b%c}", 3, 6, "unexpected character inside braces: '%'"},
    {"(1", 2, 2, "unclosed left parenthesis"},
    {"1)", 1, 2, "unexpected right parenthesis ')'"},
    {"a]", 1, 2, "unexpected right bracket ']'"},
    {"a[5m", 4, 4, "unclosed left bracket"},
    /* Places. */
    {"1 +", 3, 3, "unexpected end of input"},
    {"a b", 2, 3, "unexpected identifier \"b\""},
    {"a:b c:d", 4, 7, "unexpected metric identifier \"c:d\""},
    {"a \"a long string\"", 2, 17, "unexpected string \"\\\"a long st\"..."},
    {"a 5m", 2, 4, "unexpected duration \"5m\""},
    {"sum(a b)", 6, 7, "unexpected identifier \"b\" in aggregation"},
    {"sum(rate(a b))", 11, 12, "unexpected identifier \"b\" in aggregation"},
    {"rate(a b)", 7, 8, "unexpected identifier \"b\""},
    {"sum by a (b)", 7, 8, "unexpected identifier \"a\" in grouping opts, expected \"(\""},
    {"sum by (1) (b)", 8, 9, "unexpected number \"1\" in grouping opts, expected label"},
    {"sum by (a b) (c)", 10, 11,
     "unexpected identifier \"b\" in grouping opts, expected \",\" or \")\""},
    {"sum by (without) (a)", 8, 15, "unexpected <without> in grouping opts, expected label"},
    {"a{1}", 2, 4, "unexpected character inside braces: '1'"},
    {"a{=\"b\"}", 2, 3, "unexpected \"=\" in label matching, expected identifier or \"}\""},
    {"a{b}", 3, 4, "unexpected \"}\" in label matching, expected label matching operator"},
    {"a{b=c}", 4, 5, "unexpected identifier \"c\" in label matching, expected string"},
    {"a{b=\"c\" d=\"e\"}", 8, 9,
     "unexpected identifier \"d\" in label matching, expected \",\" or \"}\""},
    {"a[]", 2, 3,
     "unexpected \"]\" in subquery or range selector, expected number, duration, step(), or "
     "range()"},
    {"a[5m 6m]", 5, 7, "unexpected duration \"6m\" in subquery or range, expected \":\" or \"]\""},
    {"a[5m:6m 1]", 8, 9, "unexpected number \"1\" in subquery selector, expected \"]\""},
    {"a offset b", 9, 10,
     "unexpected identifier \"b\" in offset, expected number, duration, step(), or range()"},
    {"a @ b", 4, 5, "unexpected identifier \"b\" in @, expected timestamp"},
    {"a * group_left b", 4, 14, "unexpected <group_left>"},
    {"topk(3, a", 9, 9, "unclosed left parenthesis"},
    {"rate(a,)", 6, 7, "trailing commas not allowed in function call args"},
    {"a:b(c)", 3, 4, "unexpected \"(\""},
    /* Durations and moments. */
    {"a[0]", 2, 3, "duration must be greater than 0"},
    {"a[-5m]", 2, 5, "duration must be greater than 0"},
    {"a[5mm]", 2, 6, "bad number or duration syntax: \"5mm\""},
    {"a[5hs]", 2, 5, "unknown unit \"hs\" in duration \"5hs\""},
    {"a[1m2h]", 2, 6, "not a valid duration string: \"1m2h\""},
    {"a[1000y]", 2, 7, "duration out of range"},
    {"a[1h/0]", 4, 5, "division by zero"},
    {"a[1h%0]", 4, 5, "modulo by zero"},
    {"a @ Inf", 0, 1, "timestamp out of bounds for @ modifier: +Inf"},
    {"a @ 1 @ 2", 0, 5, "@ <timestamp> may not be set multiple times"},
    {"a offset 1m offset 2m", 0, 11, "offset may not be set multiple times"},
    {"(a) offset 1m", 0, 3, BEFORE_OFFSET},
    {"1 @ 2", 0, 1,
     "@ modifier must be preceded by an instant vector selector or range vector selector or a "
     "subquery"},
    {"a offset 1m [5m]", 12, 16, "no offset modifiers allowed before range"},
    {"a @ 1 [5m]", 6, 10, "no @ modifiers allowed before range"},
    {"(a)[5m]", 3, 7, "ranges only allowed for vector selectors"},
    {"a[5m][5m]", 5, 9, "ranges only allowed for vector selectors"},
    {"a anchored smoothed", 0, 10, "anchored and smoothed modifiers cannot be used together"},
    {"a[5m:] anchored", 0, 6, "anchored modifier is not supported for subqueries"},
    {"1 smoothed", 0, 1, "smoothed modifier not implemented"},
    /* Types and counts. */
    {"{}", 0, 2, AT_LEAST_ONE},
    {"{a=~\".*\"}", 0, 9, AT_LEAST_ONE},
    {"{a!=\"b\",c=\"\"}", 0, 13, AT_LEAST_ONE},
    {"a{__name__=\"b\"}", 0, 15, "metric name must not be set twice: \"a\" or \"b\""},
    {"-\"a\"", 0, 4,
     "unary expression only allowed on expressions of type scalar or instant vector, got "
     "\"string\""},
    {"+a[5m]", 0, 6,
     "unary expression only allowed on expressions of type scalar or instant vector, got \"range "
     "vector\""},
    {"1 == 2", 2, 4, "comparisons between scalars must use BOOL modifier"},
    {"a + bool b", 2, 8, "bool modifier can only be used on comparison operators"},
    {"1 and 2", 0, 7, "set operator \"and\" not allowed in binary scalar expression"},
    {"a + \"b\"", 4, 7, OPERANDS},
    {"a[5m] + 1", 0, 5, OPERANDS},
    {"a + on(b) 1", 0, 11, "vector matching only allowed between instant vectors"},
    {"a + fill(1) 1", 0, 13, "filling in missing series only allowed between instant vectors"},
    {"a or on(b) group_left c", 0, 23, "no grouping allowed for \"or\" operation"},
    {"a or fill(0) b", 0, 14, "filling in missing series not allowed for set operators"},
    {"a + on(b) group_left(b) c", 2, 23,
     "label \"b\" must not occur in ON and GROUP clause at once"},
    {"foo(a)", 0, 3, "unknown function with name \"foo\""},
    {"rate(a)", 5, 6,
     "expected type range vector in call to function \"rate\", got instant vector"},
    {"rate()", 0, 6, "expected 1 argument(s) in call to \"rate\", got 0"},
    {"round(a, 1, 2)", 0, 14, "expected at most 2 argument(s) in call to \"round\", got 3"},
    {"label_join(a, \"b\")", 0, 18,
     "expected at least 3 argument(s) in call to \"label_join\", got 2"},
    {"sum()", 0, 5, "no arguments for aggregate expression provided"},
    {"sum(a, b)", 0, 9,
     "wrong number of arguments for aggregate expression provided, expected 1, got 2"},
    {"topk(a)", 0, 7,
     "wrong number of arguments for aggregate expression provided, expected 2, got 1"},
    {"topk(\"x\", a)", 5, 8, "expected type scalar in aggregation parameter, got string"},
    {"sum(1)", 4, 5, "expected type instant vector in aggregation expression, got scalar"},
    {"1[5m:]", 0, 6, "subquery is only allowed on instant vector, got scalar instead"},
    {"a[5m][5m:]", 0, 10, "subquery is only allowed on instant vector, got matrix instead"},
    {"info(a, b)", 8, 9, "expected label selectors only, got vector selector instead"},
    {"info(a, sum(b))", 8, 14, "expected label selectors only"},
};

static void test_errors(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const struct row *row = &rows[i];
        struct promql_expr *e = NULL;
        struct promql_error error;
        int r = promql_parse(span_cstr(row->text), &e, &error);
        assert_row(row->text, r == -EINVAL && !e);
        assert_span_equal(row->text, span_cstr(error.text), span_cstr(row->error));
        assert_row(row->text, error.at == row->at);
        assert_row(row->text, error.to == row->to);
    }
}

static void test_position(void **state)
{
    (void)state;
    struct promql_expr *e = NULL;
    struct promql_error error;
    assert_int_equal(promql_parse(SPAN("sum(\n  a b\n)"), &e, &error), -EINVAL);
    struct buf out;
    buf_init(&out, 1024);
    assert_int_equal(promql_error_print(&error, &out), 0);
    assert_span_equal("position", buf_span(&out),
                      SPAN("2:5: parse error: unexpected identifier \"b\" in aggregation"));
    buf_done(&out);
}

/* A bad pattern is told where it stands, with what the pattern's own reader says. */
static void test_pattern(void **state)
{
    (void)state;
    struct promql_expr *e = NULL;
    struct promql_error error;
    assert_int_equal(promql_parse(SPAN("a{b=~\"(\"}"), &e, &error), -EINVAL);
    assert_int_equal(error.at, 2);
    assert_int_equal(error.to, 8);
    assert_true(error.text[0]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_errors),
        cmocka_unit_test(test_position),
        cmocka_unit_test(test_pattern),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
