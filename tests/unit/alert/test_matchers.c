/* SPDX-License-Identifier: Apache-2.0 */
#include "harness.h"

#include <errno.h>

#include "alert/matchers.h"
#include "memfail.h"

struct row {
    const char *text;
    const char *want; /* printed; NULL: refused */
};

static const struct row rows[] = {
    {"a=b", "{a=\"b\"}"},
    {"  a = b  ", "{a=\"b\"}"},
    {"a=\"b\"", "{a=\"b\"}"},
    {"{a=\"b\",}", "{a=\"b\"}"},
    {"{}", "{}"},
    {"", "{}"},
    {"a=", "{a=\"\"}"},
    {"a=\"\"", "{a=\"\"}"},
    {"severity=\"P0\", team=~\"a|b\"", "{severity=\"P0\",team=~\"a|b\"}"},
    {"a!=b,c!~d,e=~f", "{a!=\"b\",c!~\"d\",e=~\"f\"}"},
    {"a=\"x,y\",b=z", "{a=\"x,y\",b=\"z\"}"},
    {"a=~fo.+|bar{2}", "{a=~\"fo.+|bar{2\"}"}, /* the last brace belongs to the list */
    {"a=~bar{2}, b=c", "{a=~\"bar{2}\",b=\"c\"}"},
    {"a=b c", "{a=\"b c\"}"},
    {"a=~\"\\d+\"", "{a=~\"\\\\d+\"}"},   /* no escape: stands for itself */
    {"a=~\"\\\\d+\"", "{a=~\"\\\\d+\"}"}, /* an escape */
    {"a=\"\\t\"", "{a=\"\\\\t\"}"},       /* classic before quoted */
    {"a=\"x\\\"y\\n\"", "{a=\"x\\\"y\\n\"}"},
    {"a:b=c", "{a:b=\"c\"}"},
    {"a==b", "{a=\"=b\"}"},
    {"foo.bar=1", "{foo.bar=\"1\"}"},
    {"\"foo bar\"=\"1\"", "{\"foo bar\"=\"1\"}"},
    {"\"a\"=\"\\t\"", "{a=\"\t\"}"},
    {"\"a\\u00e9\"=\"\\x41\\101\\U0001f600\"", "{a\xc3\xa9=\"AA\xf0\x9f\x98\x80\"}"},
    {"\xe6\xbc\xa2=x, b=y", "{\xe6\xbc\xa2=\"x\",b=\"y\"}"},
    {"{ \"k\" != v , x = y }", "{k!=\"v\",x=\"y\"}"},
    {"{a=b", "{a=\"b\"}"}, /* classic: a brace may be missing */
    {"a", NULL},
    {"=b", NULL},
    {"a~b", NULL},
    {"a=b,,c=d", NULL},
    {",", NULL},
    {"a=\"b", NULL},
    {"a=b\"c", NULL},
    {"a=\"b\"c\"", NULL},
    {"\"\"=x", NULL},
    {"\"a b\"", NULL},
    {"\"a b\"=", NULL},
    {"\"a b\"=x y", NULL},
    {"\"a b\"=x}", NULL},
    {"{\"a b\"=x", NULL},
    {"{\"a b\"=x}z", NULL},
    {"\"a\\q\"=x", NULL},
    {"\"a\\x4\"=x", NULL},
    {"\"a\\ud800\"=x", NULL},
    {"\"\\xff\"=x", NULL},
    {"a=\xff", NULL},
    {"a=~\"(\"", NULL},
    {"a=~[", NULL},
};

static void test_both_grammars(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct alert_matchers m = {NULL, 0, 0};
        struct err err = {.text = ""};
        struct arena a;
        struct buf b;
        arena_init(&a, NULL);
        buf_init(&b, 1000);
        int r = alert_matchers_parse(&a, span_cstr(rows[i].text), &m, &err);
        assert_row(rows[i].text, r == (rows[i].want ? 0 : -EINVAL));
        if (rows[i].want) {
            assert_int_equal(alert_matchers_print(m.at, m.n, &b), 0);
            assert_span_equal(rows[i].text, buf_span(&b), span_cstr(rows[i].want));
        } else {
            assert_row(rows[i].text, err.text[0] != '\0');
            assert_row(rows[i].text, m.n == 0);
        }
        alert_matchers_done(&m);
        buf_done(&b);
        arena_done(&a);
    }
}

static void test_where(void **state)
{
    struct alert_matchers m = {NULL, 0, 0};
    struct err err = {.text = ""};
    struct arena a;
    (void)state;
    arena_init(&a, NULL);
    assert_int_equal(alert_matchers_parse(&a, SPAN("\"a\"=b, \"c\" d"), &m, &err), -EINVAL);
    assert_string_equal(err.text, "matcher: expected =, !=, =~ or !~ at byte 12");
    assert_true(err.hint[0] != '\0');
    arena_done(&a);
}

static void test_order(void **state)
{
    struct alert_matchers m = {NULL, 0, 0};
    struct arena a;
    struct buf b;
    (void)state;
    arena_init(&a, NULL);
    buf_init(&b, 1000);
    assert_int_equal(alert_matchers_parse(&a, SPAN("b=1,a!~x,a=~x,a!=x,a=x,a=w,ab=1"), &m, NULL),
                     0);
    alert_matchers_sort(&m);
    assert_int_equal(alert_matchers_print(m.at, m.n, &b), 0);
    assert_span_equal("order", buf_span(&b),
                      SPAN("{a=\"w\",a=\"x\",a!=\"x\",a=~\"x\",a!~\"x\",ab=\"1\",b=\"1\"}"));
    alert_matchers_done(&m);
    buf_done(&b);
    arena_done(&a);
}

static void test_one(void **state)
{
    struct matcher m;
    struct arena a;
    (void)state;
    arena_init(&a, NULL);
    assert_int_equal(alert_matcher_parse(SPAN("a=~\"x.*\""), &a, &m, NULL), 0);
    assert_true(matcher_matches(&m, SPAN("xy")));
    matcher_done(&m);
    assert_int_equal(alert_matcher_parse(SPAN("a=1,b=2"), &a, &m, NULL), -EINVAL);
    assert_int_equal(alert_matcher_parse(SPAN(""), &a, &m, NULL), -EINVAL);
    assert_int_equal(alert_matcher_parse(SPAN("a"), &a, &m, NULL), -EINVAL);
    arena_done(&a);
}

static int attempt(void *ctx)
{
    struct alert_matchers m = {NULL, 0, 0};
    struct arena a;
    arena_init(&a, NULL);
    int r = alert_matchers_parse(&a, span_cstr(ctx), &m, NULL);
    assert_true(r == 0 || m.n == 0);
    alert_matchers_done(&m);
    arena_done(&a);
    return r;
}

static void test_without_memory(void **state)
{
    char classic[] = "a=1,b=~\"x.*y\",c!~\"z.+\"", quoted[] = "\"a b\"=\"1\",\"c d\"=~\"x.*y\"";
    (void)state;
    assert_true(memfail_each(attempt, classic) >= 2);
    assert_true(memfail_each(attempt, quoted) >= 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_both_grammars),  cmocka_unit_test(test_where),
        cmocka_unit_test(test_order),          cmocka_unit_test(test_one),
        cmocka_unit_test(test_without_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
