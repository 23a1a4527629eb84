/* SPDX-License-Identifier: Apache-2.0 */
/* Unit tests of rules: what is accepted, and every kind of mistake with its place. */
#include <errno.h>

#include "guard.h"
#include "harness.h"
#include "memfail.h"
#include "rules/rule_test.h"

static struct err_list errs;

static int parse(const char *text, struct rule_test **ret)
{
    err_list_init(&errs);
    return rule_test_read(span_cstr(text), "t.yml", ret, &errs);
}

static const char whole[] = "rule_files: [a.yml, b/*.yml]\n"
                            "evaluation_interval: 1m\n"
                            "group_eval_order: [a, b]\n"
                            "fuzzy_compare: true\n"
                            "tests:\n"
                            "- name: one\n"
                            "  interval: 30s\n"
                            "  start_timestamp: 2026-11-30T08:00:00Z\n"
                            "  external_labels: {site: a}\n"
                            "  external_url: http://a\n"
                            "  input_series:\n"
                            "  - series: 'up{job=\"a\"}'\n"
                            "    values: '0+1x5 _ stale _x3 -1 1e3'\n"
                            "  - series: h\n"
                            "    values: '{{schema:1 sum:2 count:2 buckets:[1 1]}}x3'\n"
                            "  alert_rule_test:\n"
                            "  - eval_time: 5m\n"
                            "    alertname: A\n"
                            "    exp_alerts:\n"
                            "    - exp_labels: {a: b}\n"
                            "      exp_annotations: {c: d}\n"
                            "    -\n"
                            "  promql_expr_test:\n"
                            "  - expr: sum(up)\n"
                            "    eval_time: 5m\n"
                            "    exp_samples:\n"
                            "    - {labels: 'a{b=\"c\"}', value: 0x10}\n"
                            "    - labels: '{}'\n"
                            "      value: -1.5e3\n"
                            "    - labels:\n"
                            "      histogram: '{{schema:1 count:2}}'\n";

static void test_accepted(void **state)
{
    static const char *const rows[] = {
        whole,
        "",
        "{}\n",
        "tests:\n",
        "tests: [{}]\n",
        "tests: [{input_series: [{series: 'a', values: }]}]\n",
        "tests: [{promql_expr_test: [{expr: '1', exp_samples: [{value: .inf}, {value: "
        "-.INF}]}]}]\n",
        "tests: [{promql_expr_test: [{expr: '1', exp_samples: [{value: .NaN}, {value: +5.}]}]}]\n",
        "tests: [{start_timestamp: 1700000000.5}]\n",
        "tests: [&x {name: a}, {<<: *x, interval: 1m}]\n",
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct rule_test *t = NULL;
        int r = parse(rows[i], &t);

        if (r != 0)
            print_error("%s\n%d: %s\n", rows[i], errs.items[0].line, errs.items[0].err.text);
        assert_row(rows[i], r == 0 && t != NULL);
        rule_test_free(t);
    }
    assert_null(rule_test_free(NULL));
}

#define SERIES "tests:\n- input_series:\n  - series: "
#define ALERT  "tests:\n- alert_rule_test:\n  - "
#define EXPR   "tests:\n- promql_expr_test:\n  - "

static void test_mistakes(void **state)
{
    static const struct {
        const char *text;
        int line, column;
        const char *says, *hint;
    } rows[] = {
        {"rules_files: []\n", 1, 1, "a file of rule tests has no key \"rules_files\"",
         "did you mean \"rule_files\"?"},
        {"rule_files: a\n", 1, 13, "\"rule_files\" has to be a list, not a text", ""},
        {"rule_files: [[a]]\n", 1, 14, "\"rule_files\" has to be a text, not a list", ""},
        {"evaluation_interval: 1\n", 1, 22, "no duration: \"1\"", "a unit is missing"},
        {"group_eval_order: [a, b, a]\n", 1, 26, "group \"a\" stands twice", "on line 1"},
        {"fuzzy_compare: yes\n", 1, 16, "neither true nor false: \"yes\"", ""},
        {"tests: {}\n", 1, 8, "\"tests\" has to be a list, not a mapping", ""},
        {"tests:\n- alert_rule_tests: []\n", 2, 3, "a test has no key \"alert_rule_tests\"",
         "did you mean \"alert_rule_test\"?"},
        {"tests:\n- start_timestamp: soon\n", 2, 20, "no point in time: \"soon\"", "2026"},
        {"tests:\n- external_labels: a\n", 2, 20, "\"external_labels\" has to be a mapping", ""},
        {SERIES "'a{'\n    values: '1'\n", 3, 13, "\"series\": unexpected", "metric{label"},
        {SERIES "a\n    values: '1 x'\n", 4, 13, "\"values\": cannot read the values from \"x\"",
         "_ stale 0+10x5"},
        {SERIES "a\n    values: '1x99999999'\n", 4, 13, "more than 1000000 values", ""},
        {"tests:\n- input_series:\n  - values: '1'\n", 3, 5, "an input series without \"series\"",
         ""},
        {SERIES "a\n    valeus: '1'\n", 4, 5, "an input series has no key \"valeus\"",
         "did you mean \"values\"?"},
        {ALERT "eval_time: 5m\n", 3, 5, "an alert_rule_test without \"alertname\"", "NAME"},
        {ALERT "alertname: A\n    eval_time: 5\n", 4, 16, "\"eval_time\" is no duration", ""},
        {ALERT "alertname: A\n    exp_alerts: {}\n", 4, 17, "\"exp_alerts\" has to be a list", ""},
        {ALERT "alertname: A\n    exp_alerts: [{labels: {}}]\n", 4, 19,
         "an expected alert has no key \"labels\"", "exp_labels, exp_annotations"},
        {ALERT "alertname: A\n    exp_alerts: [{exp_labels: [a]}]\n", 4, 31,
         "\"exp_labels\" has to be a mapping", ""},
        {ALERT "alertname: A\n    eval_time: 3y\n", 2, 3, "a test of more than 1000000 evaluations",
         "evaluation_interval"},
        {EXPR "eval_time: 5m\n", 3, 5, "a promql_expr_test without \"expr\"", ""},
        {EXPR "expr: sum(\n", 3, 15, "expr: ", ""},
        {EXPR "expr: |\n      sum by (a)\n       (up x)\n", 5, 12, "expr: unexpected", ""},
        {EXPR "expr: up[5m]\n", 3, 11, "neither an instant vector nor a scalar", "rate"},
        {EXPR "expr: '\"a\"'\n", 3, 11, "neither an instant vector nor a scalar", ""},
        {EXPR "expr: up\n    exp_samples: [{labels: 'a{'}]\n", 4, 28, "\"labels\": unexpected",
         "as a series"},
        {EXPR "expr: up\n    exp_samples: [{labels: 'a b'}]\n", 4, 28, "more text behind", ""},
        {EXPR "expr: up\n    exp_samples: [{value: x}]\n", 4, 27, "\"value\" is no number: \"x\"",
         "without quotes"},
        {EXPR "expr: up\n    exp_samples: [{value: '1'}]\n", 4, 27, "no number: \"1\"", ""},
        {EXPR "expr: up\n    exp_samples: [{value: NaN}]\n", 4, 27, "no number: \"NaN\"", ".nan"},
        {EXPR "expr: up\n    exp_samples: [{histogram: '{{schema:'}]\n", 4, 31, "no histogram",
         "{{"},
        {EXPR "expr: up\n    exp_samples: [{histogram: '{{}} 1'}]\n", 4, 31, "no histogram", ""},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct rule_test *t = NULL;
        int r = parse(rows[i].text, &t);
        const struct err_item *e = &errs.items[0];

        if (r != -EINVAL || errs.n != 1 || e->line != rows[i].line || e->column != rows[i].column ||
            !strstr(e->err.text, rows[i].says) || !strstr(e->err.hint, rows[i].hint))
            print_error("%s\n%d: %d:%d %s (%s)\n", rows[i].text, r, e->line, e->column, e->err.text,
                        e->err.hint);
        assert_row(rows[i].text, r == -EINVAL && errs.n == 1 && !t);
        assert_row(rows[i].text, e->line == rows[i].line && e->column == rows[i].column);
        assert_row(rows[i].text, strstr(e->err.text, rows[i].says) != NULL);
        assert_row(rows[i].text, strstr(e->err.hint, rows[i].hint) != NULL);
    }
}

static void test_every_prefix(void **state)
{
    struct guard g;

    (void)state;
    guard_init(&g, sizeof(whole));
    for (size_t n = 0; n < sizeof(whole); n++) {
        struct span text = guard_copy(&g, span_of(whole, n));
        struct rule_test *t = NULL;
        int r;

        err_list_init(&errs);
        r = rule_test_read(text, "t.yml", &t, &errs);
        assert_true((r == 0 && t && errs.n == 0) || (r == -EINVAL && !t && errs.n > 0));
        rule_test_free(t);
    }
    guard_done(&g);
}

static int attempt(void *ctx)
{
    struct rule_test *t = NULL;
    int r = parse(whole, &t);

    (void)ctx;
    assert_true((r == 0) == (t != NULL));
    rule_test_free(t);
    return r;
}

static void test_allocation_failures(void **state)
{
    (void)state;
    assert_true(memfail_each(attempt, NULL) > 40);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_accepted),
        cmocka_unit_test(test_mistakes),
        cmocka_unit_test(test_every_prefix),
        cmocka_unit_test(test_allocation_failures),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
