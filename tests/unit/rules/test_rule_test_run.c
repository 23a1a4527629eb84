/* SPDX-License-Identifier: Apache-2.0 */
/* Unit tests of rules, run: what passes, what does not and how that is told. */
#include <errno.h>
#include <stdio.h>

#include "base/buf.h"
#include "harness.h"
#include "memfail.h"
#include "rules/rule_test.h"
#include "tempdir.h"

static struct err_list errs;
static struct tempdir dir;

/* What was reported. */
static struct buf said;
static struct rule_test_report report;

static void on_failure(void *ctx, const struct rule_test_failure *f)
{
    (void)ctx;
    assert_int_equal(buf_printf(&said, "%d:%d %.*s|%.*s|%.*s|%.*s\n", f->line, f->column,
                                SPAN_ARG(f->name), SPAN_ARG(f->title), SPAN_ARG(f->wanted),
                                SPAN_ARG(f->got)),
                     0);
}

static void on_remark(void *ctx, int line, int column, struct span text)
{
    (void)ctx;
    assert_int_equal(buf_printf(&said, "%d:%d remark: %.*s\n", line, column, SPAN_ARG(text)), 0);
}

static void write_file(const char *name, const char *text)
{
    FILE *f = fopen(tempdir_file(&dir, name), "w");

    assert_non_null(f);
    assert_true(fputs(text, f) >= 0);
    assert_int_equal(fclose(f), 0);
}

static int run(const char *text)
{
    struct rule_test *t = NULL;
    int r;

    err_list_init(&errs);
    buf_clear(&said);
    report = (struct rule_test_report){.on_failure = on_failure, .on_remark = on_remark};
    r = rule_test_read(span_cstr(text), tempdir_file(&dir, "t.yml"), &t, &errs);
    if (r == 0)
        r = rule_test_run(t, &report, &errs);
    rule_test_free(t);
    return r;
}

static int set_up(void **state)
{
    (void)state;
    buf_init(&said, 1 << 16);
    tempdir_make(&dir);
    write_file("r.yml", "groups:\n"
                        "- name: first\n"
                        "  rules:\n"
                        "  - record: job:up:sum\n"
                        "    expr: sum by (job) (up)\n"
                        "- name: second\n"
                        "  interval: 1h\n" /* does not count here */
                        "  rules:\n"
                        "  - alert: Down\n"
                        "    expr: job:up:sum == 0\n"
                        "    for: 2m\n"
                        "    labels: {tier: P1}\n"
                        "    annotations: {summary: down}\n");
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    tempdir_remove(&dir);
    buf_done(&said);
    return 0;
}

#define HEAD                                                                                       \
    "rule_files: [r.yml]\ntests:\n- name: n\n  interval: 1m\n  input_series:\n"                    \
    "  - {series: 'up{job=\"a\"}', values: '1 1 0x20'}\n"                                          \
    "  - {series: 'up{job=\"b\"}', values: '1x20'}\n"

static void test_verdicts(void **state)
{
    static const struct {
        const char *text;
        uint64_t n_passed, n_failed;
        const char *said;
    } rows[] = {
        /* Zero since 2m, so pending then and firing at 4m. */
        {HEAD
         "  alert_rule_test:\n"
         "  - {eval_time: 3m, alertname: Down}\n"
         "  - eval_time: 4m\n"
         "    alertname: Down\n"
         "    exp_alerts: [{exp_labels: {job: a, tier: P1}, exp_annotations: {summary: down}}]\n",
         2, 0, ""},
        /* Between two evaluations the first one counts. */
        {HEAD "  alert_rule_test: [{eval_time: 3m59s, alertname: Down}]\n", 1, 0, ""},
        {HEAD "  alert_rule_test: [{eval_time: 4m, alertname: Down}]\n", 0, 1,
         "8:21 n|alert \"Down\" at 4m|[]|[\n  0:\n    Labels:{alertname=\"Down\", job=\"a\", "
         "tier=\"P1\"}\n    Annotations:{summary=\"down\"}\n]\n"},
        {HEAD "  alert_rule_test:\n"
              "  - {eval_time: 3m, alertname: Down, exp_alerts: [{exp_labels: {job: a}}, ]}\n",
         0, 1,
         "9:5 n|alert \"Down\" at 3m|[\n  0:\n    Labels:{alertname=\"Down\", job=\"a\"}\n"
         "    Annotations:{}\n]|[]\n"},
        {HEAD "  alert_rule_test: [{eval_time: 4m, alertname: Dwon}]\n", 1, 0,
         "8:21 remark: no rule has the alert \"Dwon\"; did you mean \"Down\"?\n"},
        /* Expressions. */
        {HEAD
         "  promql_expr_test:\n"
         "  - {expr: 'job:up:sum', eval_time: 5m, exp_samples: [\n"
         "     {labels: 'job:up:sum{job=\"b\"}', value: 1},\n"
         "     {labels: 'job:up:sum{job=\"a\"}', value: 0}]}\n"
         "  - {expr: '1 + 1', exp_samples: [{labels: '', value: 2}]}\n"
         "  - {expr: 'none', exp_samples: []}\n"
         "  - {expr: 'ALERTS{alertstate=\"firing\"}', eval_time: 4m, exp_samples: [{labels: "
         "'ALERTS{alertname=\"Down\",alertstate=\"firing\",job=\"a\",tier=\"P1\"}', value: 1}]}\n",
         4, 0, ""},
        {HEAD "  promql_expr_test: [{expr: sum(up), eval_time: 1m, exp_samples: [{value: 3}]}]\n",
         0, 1, "8:22 n|expr \"sum(up)\" at 1m|{} 3|{} 2\n"},
        {HEAD "  promql_expr_test: [{expr: sum(up), eval_time: 1m}]\n", 0, 1,
         "8:22 n|expr \"sum(up)\" at 1m|nil|{} 2\n"},
        {HEAD "  promql_expr_test: [{expr: up * on () up, exp_samples: [{value: 3}]}]\n", 0, 1,
         "8:22 n|expr \"up * on () up\" at 0s|{} 3|error: found duplicate series"},
        /* What is later than the last evaluation was not put in. */
        {HEAD
         "  promql_expr_test: [{expr: 'count_over_time(up{job=\"b\"}[1h] offset -1h)', eval_time: "
         "1m, exp_samples: []}]\n",
         1, 0, ""},
        /* NaN equals nothing. */
        {"tests:\n- promql_expr_test: [{expr: '0/0', exp_samples: [{value: .nan}]}]\n", 0, 1,
         "2:22 |expr \"0/0\" at 0s|{} NaN|{} NaN\n"},
        {"tests:\n- promql_expr_test: [{expr: '0.1+0.2', exp_samples: [{value: 0.3}]}]\n", 0, 1,
         "2:22 |expr \"0.1+0.2\" at 0s|{} 0.3|{} 0.30000000000000004\n"},
        {"fuzzy_compare: true\n"
         "tests:\n- promql_expr_test: [{expr: '0.1+0.2', exp_samples: [{value: 0.3}]}]\n",
         1, 0, ""},
        /* Histograms. */
        {"tests:\n- input_series: [{series: h, values: '{{schema:1 sum:2 count:2 buckets:[1 "
         "1]}}'}]\n"
         "  promql_expr_test: [{expr: h + h, exp_samples: [{histogram: '{{schema:1 sum:4 count:4 "
         "buckets:[2 2]}}'}]}, {expr: h, exp_samples: [{labels: h, histogram: '{{schema:2}}'}]}]\n",
         1, 1, "3:109 |expr \"h\" at 0s|h {{schema:2 count:0 sum:0}}|"},
        /* A start of its own: time() tells. */
        {"tests:\n- start_timestamp: 1700000000\n"
         "  promql_expr_test: [{expr: time(), eval_time: 1m, exp_samples: [{value: "
         "1700000060}]}]\n",
         1, 0, ""},
        /* The step of a subquery is the evaluation interval. */
        {"evaluation_interval: 15s\ntests:\n- promql_expr_test: [{expr: "
         "'count_over_time(vector(1)[1m:])', eval_time: 1m, exp_samples: [{value: 4}]}]\n",
         1, 0, ""},
        {"rule_files: [no*.yml]\ntests: []\n", 0, 0, "1:14 remark: no file matches \"no*.yml\"\n"},
        {"rule_files: [r.yml, ./r.yml, '*.yml']\ntests: []\n", 0, 0, ""},
        /* Input and rule make the same sample. */
        {"rule_files: [r.yml]\ntests:\n- input_series: [{series: 'up{job=\"a\"}', values: 1}, "
         "{series: "
         "'job:up:sum{job=\"a\"}', values: 5}]\n"
         "  promql_expr_test: [{expr: up}]\n",
         0, 1,
         "3:3 |recording at 0s||job:up:sum{job=\"a\"} at 0 ms: the input has a sample there "
         "already\n"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        int r = run(rows[i].text);
        struct span start = buf_span(&said);

        if (r < 0)
            print_error("%s\n%d: %s\n", rows[i].text, errs.items[0].line, errs.items[0].err.text);
        assert_row(rows[i].text, r == 0);
        start.n =
            start.n > strlen(rows[i].said) && rows[i].said[0] ? strlen(rows[i].said) : start.n;
        assert_span_equal(rows[i].text, start, span_cstr(rows[i].said));
        assert_row(rows[i].text, report.n_passed == rows[i].n_passed);
        assert_row(rows[i].text, report.n_failed == rows[i].n_failed);
    }
}

/* b reads what a records: with b in front it sees what was there before. */
static void test_the_order_of_groups(void **state)
{
    static const char test[] =
        "tests:\n- input_series: [{series: x, values: '1 2 3'}]\n"
        "  promql_expr_test: [{expr: b, eval_time: 1m, exp_samples: [{labels: b, value: %d}]}]\n";
    char text[400];

    (void)state;
    write_file("order.yml", "groups:\n- {name: a, rules: [{record: a, expr: x}]}\n"
                            "- {name: b, rules: [{record: b, expr: a}]}\n");
    for (int i = 0; i < 2; i++) {
        int n = snprintf(text, sizeof(text), "rule_files: [order.yml]\ngroup_eval_order: [%s]\n",
                         i == 0 ? "a, b" : "b, a");
        (void)snprintf(text + n, sizeof(text) - (size_t)n, test, i == 0 ? 2 : 1);
        assert_int_equal(run(text), 0);
        assert_row(text, report.n_passed == 1 && report.n_failed == 0);
    }
}

static void test_rules_that_fail(void **state)
{
    (void)state;
    write_file("fails.yml",
               "groups:\n- name: g\n  rules:\n  - {record: a, expr: 'up * on () up'}\n");
    assert_int_equal(run("rule_files: [fails.yml]\ntests:\n- input_series:\n"
                         "  - {series: 'up{a=\"1\"}', values: '1'}\n"
                         "  - {series: 'up{a=\"2\"}', values: '1'}\n"
                         "  promql_expr_test: [{expr: none, eval_time: 5m}]\n"),
                     0);
    assert_int_equal(report.n_failed, 1);
    assert_int_equal(report.n_passed, 0); /* the test ends there */
    assert_non_null(strstr(buf_span(&said).p, "fails.yml:4: rule \"a\": found duplicate series"));
}

static void test_mistakes_in_rule_files(void **state)
{
    (void)state;
    write_file("bad1.yml", "groups:\n- nme: g\n");
    write_file("bad2.yml", "groups:\n- name: g\n  rules: [{record: a}]\n");
    assert_int_equal(run("rule_files: ['bad?.yml']\ntests: []\n"), -EINVAL);
    assert_int_equal(errs.n, 3); /* of both files */
    assert_non_null(strstr(errs.items[0].err.text, "\"nme\""));
    assert_int_equal(errs.items[2].line, 3);
    assert_int_equal(run("rule_files:\n- .\ntests: []\n"), -EINVAL);
    assert_non_null(strstr(errs.items[0].err.text, "is a directory"));
    assert_int_equal(errs.items[0].line, 2);
}

static int attempt(void *ctx)
{
    int r = run(HEAD "  alert_rule_test: [{eval_time: 5m, alertname: Down}]\n"
                     "  promql_expr_test: [{expr: sum(up), eval_time: 1m}]\n");

    (void)ctx;
    assert_true(r < 0 || report.n_failed == 2);
    return r;
}

static void test_allocation_failures(void **state)
{
    (void)state;
    assert_true(memfail_each(attempt, NULL) > 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_verdicts),
        cmocka_unit_test(test_the_order_of_groups),
        cmocka_unit_test(test_rules_that_fail),
        cmocka_unit_test(test_mistakes_in_rule_files),
        cmocka_unit_test(test_allocation_failures),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
