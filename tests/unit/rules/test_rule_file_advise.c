/* SPDX-License-Identifier: Apache-2.0 */
/* Advice: what is allowed in a rule file and will surprise; and what must not be remarked. */
#include <errno.h>

#include "harness.h"
#include "memfail.h"
#include "rules/file.h"

enum { INTERVAL_MS = 30000 };

static struct err_list errs, advice;

static struct rule_file *read_rules(const char *rules)
{
    static char text[4000];
    struct rule_file *f = NULL;

    (void)snprintf(text, sizeof(text), "groups:\n- name: g\n  rules:\n%s", rules);
    err_list_init(&errs);
    err_list_init(&advice);
    if (rule_file_read(span_cstr(text), "r.yml", &f, &errs) != 0)
        print_error("%s: %s\n", text, errs.items[0].err.text);
    assert_non_null(f);
    return f;
}

/* The first remark, or none. */
static void test_remarks(void **state)
{
    static const struct {
        const char *rules;
        int line;
        const char *says;
    } rows[] = {
        {"  - {alert: A, expr: up == 0, for: 1m}\n", 0, ""},
        {"  - {record: a, expr: up}\n", 0, ""},
        /* names */
        {"  - {record: a.b, expr: up}\n", 4, "the name \"a.b\" is not of letters"},
        {"  - {record: a, expr: up, labels: {b.c: d}}\n", 4, "label \"b.c\" is not"},
        {"  - {alert: A, expr: up == 0, for: 1m, annotations: {b-c: d}}\n", 4,
         "annotation \"b-c\""},
        {"  - {record: a:b, expr: up}\n  labels: {x.y: z}\n", 2, "label \"x.y\" is not"},
        /* for */
        {"  - {alert: A, expr: up == 0}\n", 4, "alert \"A\" has no `for`"},
        {"  - {alert: A, expr: up == 0, for: 0s}\n", 0, ""},
        {"  - {alert: A, expr: up == 0, for: 10s}\n", 4, "shorter than the interval of 30 s"},
        {"  - {alert: A, expr: up == 0, for: 30s}\n", 0, ""},
        {"  - {alert: A, expr: up == 0, for: 30s}\n  interval: 1m\n", 4, "the interval of 60 s"},
        {"  - {alert: A, expr: up == 0, for: 10s}\n  interval: 10s\n", 0, ""},
        /* labels that change */
        {"  - {alert: A, expr: up == 0, for: 1m, labels: {v: '{{ $value }}'}}\n", 4,
         "label \"v\" has the value of the moment"},
        {"  - {alert: A, expr: up == 0, for: 1m, labels: {v: 'a {{ .Value }} b'}}\n", 4,
         "label \"v\""},
        {"  - {alert: A, expr: up == 0, for: 1m, labels: {v: 'pay in $value'}}\n", 0, ""},
        {"  - {alert: A, expr: up == 0, for: 1m, labels: {v: '{{ $labels.a }} $value'}}\n", 0, ""},
        {"  - {alert: A, expr: up == 0, for: 1m, annotations: {v: '{{ $value }}'}}\n", 0, ""},
        {"  - {alert: A, expr: up == 0, for: 1m, labels: {alertname: B}}\n", 4, "is replaced by"},
        /* comparisons */
        {"  - {alert: A, expr: up, for: 1m}\n", 4,
         "the expression of alert \"A\" has no comparison"},
        {"  - {alert: A, expr: 'sum(rate(x[5m])) / 2', for: 1m}\n", 4, "has no comparison"},
        {"  - {alert: A, expr: up == bool 0, for: 1m}\n", 4, "has no comparison"},
        {"  - {alert: A, expr: vector(1), for: 1m}\n", 0, ""},
        {"  - {alert: A, expr: absent(up), for: 1m}\n", 0, ""},
        {"  - {alert: A, expr: 'a unless b', for: 1m}\n", 0, ""},
        {"  - {alert: A, expr: 'count(up == 0)', for: 1m}\n", 0, ""},
        {"  - {alert: A, expr: '-(sum(rate(x[5m])) > 1)', for: 1m}\n", 0, ""},
        {"  - {alert: A, expr: 'max_over_time((x > 1)[5m:])', for: 1m}\n", 0, ""},
        {"  - {alert: A, expr: 'ALERTS{alertname=\"B\"}', for: 1m}\n", 0, ""},
        /* order */
        {"  - {record: a, expr: b}\n  - {record: b, expr: up}\n", 4,
         "reads \"b\", which the rule on line 5 records later"},
        {"  - {record: b, expr: up}\n  - {record: a, expr: b}\n", 0, ""},
        {"  - {record: b, expr: '1', labels: {i: x}}\n  - {record: a, expr: 'b{i=\"x\"}'}\n"
         "  - {record: b, expr: '2', labels: {i: y}}\n",
         0, ""},
        /* twice */
        {"  - {record: a, expr: up}\n  - {record: a, expr: down}\n", 5,
         "a second rule \"a\" with the"},
        {"  - {record: a, expr: up}\n  - {record: a, expr: up, labels: {b: ''}}\n", 5,
         "a second rule"},
        {"  - {record: a, expr: up}\n  - {record: a, expr: up, labels: {b: c}}\n", 0, ""},
        {"  - {record: a, expr: up, labels: {t: g}}\n  - {record: a, expr: x}\n  labels: {t: g}\n",
         5, "a second rule"},
        {"  - {record: a, expr: up, labels: {t: h}}\n  - {record: a, expr: x}\n  labels: {t: g}\n",
         0, ""},
        {"  - {record: a, expr: up}\n- name: h\n  rules:\n  - {record: a, expr: up}\n", 7,
         "a second rule"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct rule_file *f = read_rules(rows[i].rules);

        assert_int_equal(rule_file_advise(f, INTERVAL_MS, &advice), 0);
        if (advice.n != (rows[i].line > 0))
            print_error("%zu: %s\n", advice.n, advice.items[0].err.text);
        assert_row(rows[i].rules, advice.n == (rows[i].line > 0));
        if (advice.n > 0) {
            assert_row(rows[i].rules, strstr(advice.items[0].err.text, rows[i].says) != NULL);
            assert_int_equal(advice.items[0].line, rows[i].line);
            assert_row(rows[i].rules, advice.items[0].err.hint[0] != '\0');
            assert_string_equal(advice.items[0].where, "r.yml");
        }
        rule_file_unref(f);
    }
}

static int attempt(void *ctx)
{
    err_list_init(&advice);
    int r = rule_file_advise(ctx, INTERVAL_MS, &advice);
    assert_true(r < 0 || advice.n == 1);
    return r;
}

static void test_allocation_failures(void **state)
{
    struct rule_file *f = read_rules(
        "  - {record: a, expr: up, labels: {b: c}}\n  - {record: a, expr: x, labels: {b: c}}\n");

    (void)state;
    assert_true(memfail_each(attempt, f) > 0);
    rule_file_unref(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_remarks),
        cmocka_unit_test(test_allocation_failures),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
