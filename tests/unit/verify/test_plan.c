/* SPDX-License-Identifier: Apache-2.0 */
/* Which alerts latency drives, why others not, what their limits are, and how fast time goes. */
#include "verify/plan.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/attr.h"
#include "memfail.h"
#include "planned.h"

#define P99(metric) "histogram_quantile(0.99, sum by (le) (rate(" metric "_bucket[5m])))"

static const double none = (double)NAN;

static const struct {
    const char *name, *expr;
    enum verify_drive drive;
    const char *why; /* a part of it */
    double limit;
    bool is_ttft, is_e2e;
} cases[] = {
    {"plain", P99("llm_ttft_seconds") " > 2", VERIFY_DRIVEN, NULL, 2, true, false},
    {"turned", "2 < " P99("llm_ttft_seconds"), VERIFY_DRIVEN, NULL, 2, true, false},
    {"engine", P99("vllm:time_to_first_token_seconds") " > 2", VERIFY_DRIVEN, NULL, 2, true, false},
    {"canonical", P99("engine_ttft_seconds") " >= 2", VERIFY_DRIVEN, NULL, 2, true, false},
    {"e2e", P99("llm_e2e_seconds") " > 120", VERIFY_DRIVEN, NULL, 120, false, true},
    {"mean", "rate(llm_ttft_seconds_sum[5m]) / rate(llm_ttft_seconds_count[5m]) > 1", VERIFY_DRIVEN,
     NULL, 1, false, false},
    {"picked", "max(" P99("llm_ttft_seconds") ") > (1 + 1)", VERIFY_DRIVEN, NULL, 2, true, false},
    {"and", "(" P99("llm_ttft_seconds") " > 2) and on () llm_requests_total > 5", VERIFY_DRIVEN,
     NULL, 2, true, false},
    {"no limit", P99("llm_ttft_seconds"), VERIFY_DRIVEN, NULL, none, false, false},
    {"moving limit", P99("llm_ttft_seconds") " > on () llm_baseline", VERIFY_DRIVEN, NULL, none,
     false, false},
    {"counts only", "rate(llm_ttft_seconds_count[5m]) > 2", VERIFY_SKIPPED,
     "does not move what it reads: llm_ttft_seconds_count", 2, false, false},
    {"other", P99("llm_tpot_seconds") " > 2", VERIFY_SKIPPED, "llm_tpot_seconds_bucket", 2, false,
     false},
    {"somebody else's", "node_load1 > 2", VERIFY_SKIPPED, "node_load1", 2, false, false},
    {"much like ours", P99("my_ttft_seconds") " > 2", VERIFY_SKIPPED, "my_ttft_seconds_bucket", 2,
     false, false},
    {"our own health", "inferometer_drops_total > 2", VERIFY_SKIPPED, "inferometer_drops_total", 2,
     false, false},
    {"renamed", P99("llm_ttft_secs") " > 2", VERIFY_BROKEN,
     "\"llm_ttft_secs_bucket\", which nobody has; did you mean \"llm_ttft_seconds_bucket\"?", 2,
     false, false},
    {"renamed of an engine", P99("vllm:time_to_first_tokn_seconds") " > 2", VERIFY_BROKEN,
     "did you mean \"vllm:time_to_first_token_seconds", 2, false, false},
    {"ours, unlike any", "llm_zzzz_qqqq_wwww > 2", VERIFY_BROKEN, "which nobody has", 2, false,
     false},
    {"either will do", P99("llm_ttft_seconds") " > 2 or llm_zzzz_qqqq > 2", VERIFY_DRIVEN, NULL,
     none, false, false},
    {"unless", P99("llm_ttft_seconds") " > 2 unless llm_zzzz_qqqq > 2", VERIFY_DRIVEN, NULL, 2,
     true, false},
    {"absent", "absent(llm_zzzz_qqqq) and " P99("llm_ttft_seconds") " > 2", VERIFY_DRIVEN, NULL,
     none, false, false},
};

static void test_cases(void **state)
{
    char text[4096];

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct planned p;

        (void)snprintf(text, sizeof(text), PLANNED_ALERT("%s", ""), cases[i].expr);
        planned_open(&p, text, false);
        const struct verify_alert *a = &p.plan.alerts[0];
        assert_row(cases[i].name, p.plan.n == 1 && a->drive == cases[i].drive);
        assert_row(cases[i].name, p.plan.n_driven == (cases[i].drive == VERIFY_DRIVEN));
        assert_row(cases[i].name, !cases[i].why || strstr(a->why, cases[i].why));
        assert_row(cases[i].name,
                   isnan(cases[i].limit) ? isnan(a->limit) : a->limit == cases[i].limit);
        assert_row(cases[i].name, isnan(a->limit) == (a->measured == NULL));
        assert_row(cases[i].name, a->limit_is_ttft == cases[i].is_ttft);
        assert_row(cases[i].name, a->limit_is_e2e == cases[i].is_e2e);
        planned_close(&p);
    }
}

/* --- through what rules record --- */

static const char recorded[] =
    "groups:\n"
    "- name: g\n"
    "  interval: 30s\n"
    "  rules:\n"
    "  - {record: limit, labels: {of: ttft}, expr: 3}\n"
    "  - {record: limit, labels: {of: errors}, expr: 0.5}\n"
    "  - record: p95\n"
    "    expr: 'histogram_quantile(0.95, sum by (le) (rate(llm_ttft_seconds_bucket[10m])))'\n"
    "  - record: busy\n"
    "    expr: 'llm_inflight_requests'\n"
    "  - alert: Slow\n"
    "    expr: '(p95 > on () group_left () max(limit{of=\"ttft\"}))'\n"
    "    for: 5m\n"
    "    keep_firing_for: 10m\n"
    "  - alert: Busy\n"
    "    expr: 'busy > 5'\n";

static void test_recorded(void **state)
{
    struct planned p;

    (void)state;
    planned_open(&p, recorded, true);
    const struct verify_alert *slow = &p.plan.alerts[0], *busy = &p.plan.alerts[1];
    assert_int_equal(p.plan.n, 2);
    assert_true(p.plan.factor == 1);
    assert_int_equal(slow->drive, VERIFY_DRIVEN);
    assert_int_equal(slow->needs.n, 1); /* a constant needs nothing */
    assert_span_equal("needs", slow->needs.at[0], SPAN("llm_ttft_seconds_bucket"));
    assert_true(slow->limit == 3 && slow->limit_is_ttft);
    assert_string_equal(slow->measured, "p95");
    assert_int_equal(slow->window_ms, (10 * 60 + 30) * 1000); /* and the recording group's turn */
    assert_int_equal(slow->for_ms, 5 * 60 * 1000);
    assert_int_equal(slow->keep_ms, 10 * 60 * 1000);
    assert_int_equal(slow->i_rule, 0);
    assert_int_equal(busy->drive, VERIFY_SKIPPED);
    assert_int_equal(busy->i_rule, 1);
    assert_int_equal(p.plan.window_ms, slow->window_ms); /* of what is driven */
    planned_close(&p);
}

/* A rule that reads itself has an end all the same. */
static void test_loop(void **state)
{
    struct planned p;

    (void)state;
    planned_open(&p,
                 "groups:\n- name: g\n  rules:\n  - {record: a, expr: 'a + b'}\n"
                 "  - {record: b, expr: 'a or llm_ttft_seconds_sum'}\n"
                 "  - {alert: A, expr: 'a > 1'}\n",
                 false);
    assert_int_equal(p.plan.n, 1);
    planned_close(&p);
}

/* Nor does the number of ways through such rules count. */
static void test_many_ways(void **state)
{
    static const char *const files[] = {
        "groups:\n- name: g\n  rules:\n"
        "  - {record: a, expr: 'a + a + a + a + a + a or llm_ttft_seconds_sum'}\n"
        "  - {alert: A, expr: 'a > 1'}\n",
        "groups:\n- name: g\n  rules:\n"
        "  - {record: a, expr: '1'}\n  - {record: b, expr: 'a + a + a + a + a + a'}\n"
        "  - {record: c, expr: 'b + b + b + b + b + b'}\n"
        "  - {record: d, expr: 'c + c + c + c + c + c'}\n"
        "  - {record: e, expr: 'd + d + d + d + d + d'}\n"
        "  - {record: f, expr: 'e + e + e + e + e + e'}\n"
        "  - {record: g, expr: 'f + f + f + f + f + f'}\n"
        "  - {record: h, expr: 'g + g + g + g + g + g'}\n"
        "  - {record: i, expr: 'h + h + h + h + h + h'}\n"
        "  - {record: j, expr: 'i + i + i + i + i + i'}\n"
        "  - {alert: A, expr: 'llm_ttft_seconds_sum > j'}\n",
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(files); i++) {
        struct planned p;

        planned_open(&p, files[i], false);
        assert_int_equal(p.plan.alerts[0].drive, VERIFY_DRIVEN);
        planned_close(&p);
    }
}

/* --- how fast --- */

static int64_t stretch_of(const struct verify_plan *p)
{
    return 3 * p->window_ms + p->for_ms + p->keep_ms + 6 * p->interval_ms;
}

static void test_factor(void **state)
{
    static const struct {
        const char *range, *rest;
        bool is_one;
    } rows[] = {
        {"5s", "    for: 3s\n", true},
        {"5m", "    for: 2m\n", false},
        {"1h", "    for: 15m\n    keep_firing_for: 1h\n", false},
        {"3d", "    for: 1h\n", false},
        {"5m", "    for: 30d\n", false},
    };
    char text[1024];

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct planned p;

        (void)snprintf(text, sizeof(text),
                       PLANNED_ALERT("sum(rate(llm_ttft_seconds_sum[%s])) > 2", "%s"),
                       rows[i].range, rows[i].rest);
        planned_open(&p, text, false);
        assert_row(rows[i].range, (p.plan.factor == 1) == rows[i].is_one);
        assert_row(rows[i].range, stretch_of(&p.plan) <= VERIFY_STRETCH_MS);
        assert_row(rows[i].range, p.plan.window_ms >= VERIFY_RANGE_MIN_MS);
        planned_close(&p);
    }
}

static void test_minima(void **state)
{
    (void)state;
    assert_int_equal(verify_plan_range(60, 300 * 1000), 5000);
    assert_int_equal(verify_plan_range(60, 600 * 1000), 10000);
    assert_int_equal(verify_plan_range(600, 600 * 1000), VERIFY_RANGE_MIN_MS);
    assert_int_equal(verify_plan_range(600, 2000), 2000); /* was shorter before */
    assert_int_equal(verify_plan_range(1, 1), 1);
    assert_int_equal(verify_plan_step(600, 30 * 1000), VERIFY_STEP_MIN_MS);
    assert_int_equal(verify_plan_span(600, 300), 1); /* what is not 0 stays so */
    assert_int_equal(verify_plan_span(600, 0), 0);
    assert_int_equal(verify_plan_span(10, -6000), -600);
}

/* --- memory --- */

static int make(void *ctx)
{
    struct planned *p = ctx;
    struct verify_plan plan;
    int r = verify_plan_make(p->files, 1, false, &plan);

    if (r == 0)
        verify_plan_done(&plan);
    return r;
}

static void test_without_memory(void **state)
{
    struct planned p;

    (void)state;
    planned_open(&p, recorded, false);
    assert_true(memfail_each(make, &p) > 0);
    planned_close(&p);
    planned_open(&p, PLANNED_ALERT("llm_ttft_secs_bucket > 2", ""), false);
    assert_true(memfail_each(make, &p) > 0);
    planned_close(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cases),          cmocka_unit_test(test_recorded),
        cmocka_unit_test(test_loop),           cmocka_unit_test(test_many_ways),
        cmocka_unit_test(test_factor),         cmocka_unit_test(test_minima),
        cmocka_unit_test(test_without_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
