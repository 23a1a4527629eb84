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

static void test_alerts(void **state)
{
    size_t n;

    (void)state;
    assert_int_equal(verify_told_alerts(span_cstr(alerts), SPAN("A"), SPAN(""), &n), 0);
    assert_int_equal(n, 2);
    assert_int_equal(verify_told_alerts(span_cstr(alerts), SPAN("A"), SPAN("prometheus"), &n), 0);
    assert_int_equal(n, 1);
    assert_int_equal(verify_told_alerts(span_cstr(alerts), SPAN("B"), SPAN("prometheus"), &n), 0);
    assert_int_equal(n, 0);
    assert_int_equal(verify_told_alerts(SPAN("[]"), SPAN("A"), SPAN(""), &n), 0);
    assert_int_equal(verify_told_alerts(SPAN("{}"), SPAN("A"), SPAN(""), &n), -EPROTO);
}

static void test_prefixes(void **state)
{
    struct verify_load l;
    double v;
    size_t n;

    (void)state;
    for (size_t i = 0; i < sizeof(report) - 2; i++)
        assert_int_equal(verify_told_load(span_of(report, i), &l), -EPROTO);
    for (size_t i = 0; i < sizeof(alerts) - 1; i++)
        assert_int_equal(verify_told_alerts(span_of(alerts, i), SPAN("A"), SPAN(""), &n), -EPROTO);
    assert_int_equal(verify_told_value(SPAN("{\"data\":{\"result\":[{\"value\":[1"), &v, &n),
                     -EPROTO);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_load),
        cmocka_unit_test(test_value),
        cmocka_unit_test(test_alerts),
        cmocka_unit_test(test_prefixes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
