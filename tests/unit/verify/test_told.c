/* SPDX-License-Identifier: Apache-2.0 */
/* What the programs of a run answer with. */
#include "verify/told.h"

#include <errno.h>
#include <math.h>

#include "base/attr.h"
#include "harness.h"

static const char report[] =
    "{\"url\":\"http://"
    "x\",\"sent\":60,\"ok\":58,\"failed\":2,\"errors\":{\"http_502\":1,\"timeout\":1},"
    "\"ttft_ns\":{\"count\":58,\"mean\":52000000,\"min\":1,\"p50\":50000000,\"p99\":68000000},"
    "\"e2e_ns\":{\"count\":58,\"p99\":1}}\n";

static void test_load(void **state)
{
    struct verify_load l;

    (void)state;
    assert_int_equal(verify_told_load(span_cstr(report), &l), 0);
    assert_true(l.is_there && l.n_sent == 60 && l.n_ok == 58 && l.n_failed == 2 && l.n_ttft == 58);
    assert_true(fabs(l.ttft_mean_s - 0.052) < 1e-9 && fabs(l.ttft_p50_s - 0.05) < 1e-9);
    assert_true(fabs(l.ttft_p99_s - 0.068) < 1e-9);
    assert_string_equal(l.error, "http_502");
    assert_int_equal(
        verify_told_load(SPAN("{\"sent\":1,\"ttft_ns\":{\"count\":0,\"mean\":null,\"p99\":null}}"),
                         &l),
        0);
    assert_true(l.n_ttft == 0 && isnan(l.ttft_p99_s) && isnan(l.ttft_mean_s));
    assert_string_equal(l.error, "");
    assert_int_equal(verify_told_load(SPAN("[]"), &l), -EPROTO);
}

static void test_value(void **state)
{
    static const struct {
        const char *json;
        double v; /* NaN: none */
        size_t n;
        int r;
    } rows[] = {
        {"{\"status\":\"success\",\"data\":{\"resultType\":\"vector\",\"result\":["
         "{\"metric\":{\"a\":\"b\"},\"value\":[1,\"3.5\"]},{\"metric\":{},\"value\":[1,\"9\"]}]}}",
         3.5, 2, 0},
        {"{\"data\":{\"result\":[]}}", (double)NAN, 0, 0},
        {"{\"data\":{\"result\":[{\"value\":[1,\"+Inf\"]}]}}", (double)INFINITY, 1, 0},
        {"{\"data\":{\"result\":[{\"value\":[1,\"NaN\"]}]}}", (double)NAN, 1, 0},
        {"{\"status\":\"error\",\"error\":\"no\"}", (double)NAN, 0, -EPROTO},
        {"", (double)NAN, 0, -EPROTO},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        double v = 7;
        size_t n = 7;
        assert_row(rows[i].json, verify_told_value(span_cstr(rows[i].json), &v, &n) == rows[i].r);
        assert_row(rows[i].json, isnan(rows[i].v) ? isnan(v) : v == rows[i].v);
        assert_row(rows[i].json, n == rows[i].n);
    }
}

static const char alerts[] =
    "[{\"annotations\":{\"alertname\":\"B\"},\"labels\":{\"alertname\":\"A\",\"tier\":\"P1\"}},"
    "{\"labels\":{\"verify_source\":\"prometheus\",\"alertname\":\"A\"}},"
    "{\"labels\":{\"alertname\":\"A\",\"model\":\"m\"}},"
    "{\"labels\":{\"alertname\":\"B\"}}]";

static const struct rule_text tier_p1[] = {
    {.name = SPAN_INIT("model"), .value = SPAN_INIT("{{ $labels.m }}")},
    {.name = SPAN_INIT("tier"), .value = SPAN_INIT("P1")},
};
static const struct rule rule_a = {.name = SPAN_INIT("A")}, rule_b = {.name = SPAN_INIT("B")};
static const struct rule rule_p1 = {.name = SPAN_INIT("A"), .labels = tier_p1, .n_labels = 2};

static void test_alerts(void **state)
{
    static const struct {
        const struct rule *rule;
        const char *source;
        size_t n;
    } rows[] = {
        {&rule_a, "", 2},  {&rule_a, "prometheus", 1},  {&rule_b, "prometheus", 0},
        {&rule_p1, "", 1}, {&rule_p1, "prometheus", 0},
    };
    size_t n;

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        assert_int_equal(
            verify_told_alerts(span_cstr(alerts), rows[i].rule, span_cstr(rows[i].source), &n), 0);
        assert_int_equal(n, rows[i].n);
    }
    assert_int_equal(verify_told_alerts(SPAN("[]"), &rule_a, SPAN(""), &n), 0);
    assert_int_equal(verify_told_alerts(SPAN("{}"), &rule_a, SPAN(""), &n), -EPROTO);
}

static const char faults[] = "{\"active\":{\"slow_gpu\":1.5,\"added_latency\":0.25},"
                             "\"faults\":[{\"name\":\"added_latency\",\"usual\":0.5}]}";

static void test_fault(void **state)
{
    double v = 7;

    (void)state;
    assert_int_equal(verify_told_fault(span_cstr(faults), SPAN("added_latency"), &v), 0);
    assert_true(v == 0.25);
    assert_int_equal(verify_told_fault(span_cstr(faults), SPAN("errors"), &v), 0);
    assert_true(v == 0);
    assert_int_equal(verify_told_fault(SPAN("{\"faults\":[]}"), SPAN("errors"), &v), -EPROTO);
    assert_int_equal(verify_told_fault(SPAN("[]"), SPAN("errors"), &v), -EPROTO);
}

static void test_prefixes(void **state)
{
    struct verify_load l;
    double v;
    size_t n;

    (void)state;
    for (size_t i = 0; i < sizeof(report) - 2; i++)
        assert_int_equal(verify_told_load(span_of(report, i), &l), -EPROTO);
    for (size_t i = 0; i < sizeof(faults) - 1; i++)
        assert_int_equal(verify_told_fault(span_of(faults, i), SPAN("errors"), &v), -EPROTO);
    for (size_t i = 0; i < sizeof(alerts) - 1; i++)
        assert_int_equal(verify_told_alerts(span_of(alerts, i), &rule_a, SPAN(""), &n), -EPROTO);
    assert_int_equal(verify_told_value(SPAN("{\"data\":{\"result\":[{\"value\":[1"), &v, &n),
                     -EPROTO);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_load),     cmocka_unit_test(test_value),
        cmocka_unit_test(test_alerts),   cmocka_unit_test(test_fault),
        cmocka_unit_test(test_prefixes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
