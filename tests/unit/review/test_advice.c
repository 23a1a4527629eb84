/* SPDX-License-Identifier: Apache-2.0 */
/*
 * review/advise_*: another `for`, other limits, more bounds, from histories in which the answer is
 * known.
 */
#include "rig.h"

#define AT(m) (T0 + (m) * (int64_t)MINUTE)

/* --- for --- */

static const char for_rules[] =
    "groups:\n"
    "  - name: g\n"
    "    rules:\n"
    "      - {alert: Slow, expr: up > 0, for: 1m, labels: {tier: P1}}\n";

/* An alert at that minute: pending for 1 min, then firing for as long. */
struct once {
    int at, firing;
};
static const struct {
    const char *name;
    struct once alerts[8]; /* requests are bad from 100 to 200, from 1000 on there are none */
    int for_min;           /* advised; 0: nothing is */
    struct verdict_count now, then;
} fors[] = {
    {"noise of 3 minutes, and something real of 20",
     {{120, 20}, {300, 3}, {400, 3}, {500, 3}},
     5,
     {1, 3, 0},
     {1, 0, 0}},
    {"the shortest that leaves the least noise",
     {{120, 90}, {300, 3}, {400, 8}, {500, 40}},
     10,
     {1, 3, 0},
     {1, 1, 0}},
    {"what is real would be lost", {{120, 2}, {300, 3}, {400, 3}}, 0, {0, 0, 0}, {0, 0, 0}},
    {"most of the noise lasts", {{300, 40}, {400, 70}, {600, 70}, {900, 3}}, 0, {0}, {0}},
    {"told before half of it is over",
     {{120, 7}, {140, 40}, {300, 2}, {400, 2}},
     3,
     {2, 2, 0},
     {2, 0, 0}},
    {"told when it is nearly over", {{120, 6}, {140, 40}, {300, 3}, {400, 3}}, 0, {0}, {0}},
    {"not judged ones are counted", {{300, 3}, {1100, 30}, {1200, 3}}, 5, {0, 1, 2}, {0, 0, 1}},
    {"nothing real, nothing left", {{300, 3}}, 5, {0, 1, 0}, {0, 0, 0}},
    {"no noise", {{120, 3}, {130, 20}}, 0, {0, 0, 0}, {0, 0, 0}},
    {"what the period cuts is left out", {{1420, 19}}, 0, {0, 0, 0}, {0, 0, 0}},
};

static bool is_same(struct verdict_count a, struct verdict_count b)
{
    return a.n_real == b.n_real && a.n_noise == b.n_noise && a.n_unjudged == b.n_unjudged;
}

static void test_for(void **state)
{
    static const struct bad bad[] = {{AT(100), AT(200), 30}};
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(fors); i++) {
        struct rig g;
        rig_start(&g, for_rules);
        rig_traffic(&g, CHAT, AT(-20), AT(1000), 60, bad, 1);
        for (size_t k = 0; k < ARRAY_LEN(fors[i].alerts) && fors[i].alerts[k].at > 0; k++)
            rig_alert(&g, "alertname=\"Slow\",tier=\"P1\"", AT(fors[i].alerts[k].at), MINUTE,
                      fors[i].alerts[k].firing * MINUTE);
        const struct review *r = rig_make(&g);
        bool is_advised = fors[i].now.n_noise > 0;
        assert_row(fors[i].name, r->n_fors == (is_advised ? 1 : 0));
        if (is_advised) {
            assert_row(fors[i].name, r->fors[0].for_ms == fors[i].for_min * MINUTE);
            assert_row(fors[i].name, is_same(r->fors[0].now, fors[i].now));
            assert_row(fors[i].name, is_same(r->fors[0].then, fors[i].then));
        }
        rig_stop(&g);
    }
}

/* --- histograms --- */

/* Requests of 1 to 2 s, 60 a minute, natively. */
static void fill_native(struct rig *g, const char *series)
{
    struct arena a;
    struct labels l;
    struct promql_error error;
    struct span s = span_cstr(series);
    arena_init(&a, NULL);
    assert_int_equal(promql_parse_series(&s, &a, &l, &error), 0);
    for (int i = -20; i <= 1440; i += 2) {
        char text[96];
        struct fhist *h;
        int n = 60 * (i + 20);
        (void)snprintf(text, sizeof(text), "{{schema:0 sum:%d count:%d offset:1 buckets:[%d]}}", n,
                       n, n);
        struct span literal = span_cstr(text);
        assert_int_equal(fhist_parse(&literal, &a, &h, NULL), 0);
        assert_int_equal(memory_append(g->m, l, AT(i), 0, h), 0);
    }
    arena_done(&a);
}

/* Of 100 observations a minute so many are up to each bound. */
static void fill_classic(struct rig *g, const char *name, const char *const *bounds,
                         const int *upto, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        char series[128];
        (void)snprintf(series, sizeof(series), "%s_bucket{le=\"%s\",model=\"m\"}", name, bounds[i]);
        rig_run(g, series,
                (struct run_of){AT(-20), AT(1440) + 1, MINUTE, 0, (double)upto[i], false});
    }
}

/* --- thresholds --- */

static const char limit_rules[] =
    "groups:\n"
    "  - name: g\n"
    "    rules:\n"
    "      - alert: Number\n"
    "        expr: histogram_quantile(0.95, rate(llm_ttft_seconds_bucket[10m])) > 1\n"
    "      - alert: Near\n"
    "        expr: (histogram_quantile(0.95, sum by (model) (rate(llm_ttft_seconds[10m]))) >= 2.9)"
    " and up\n"
    "      - alert: Median\n"
    "        expr: histogram_quantile(0.5, rate(llm_ttft_seconds_bucket[10m])) > 1\n"
    "      - alert: Scaled\n"
    "        expr: histogram_quantile(0.95, rate(llm_ttft_seconds_bucket[10m])) * 1000 > 1\n"
    "      - alert: Below\n"
    "        expr: 1 < histogram_quantile(0.95, rate(llm_ttft_seconds_bucket[10m]))\n"
    "      - alert: Series\n"
    "        expr: histogram_quantile(0.95, rate(llm_ttft_seconds_bucket[10m])) > on ()"
    " group_left () max(limit)\n"
    "      - alert: ByModel\n"
    "        expr: histogram_quantile(0.95, rate(llm_ttft_seconds_bucket[10m])) > on (model)"
    " group_left () model_limit\n"
    "      - alert: Unknown\n"
    "        expr: histogram_quantile(0.95, rate({__name__=\"llm_ttft_seconds_bucket\"}[10m])) >"
    " nothing\n"
    "      - record: p95\n"
    "        expr: histogram_quantile(0.95, rate(llm_ttft_seconds_bucket[10m])) > 1\n";

static void test_thresholds(void **state)
{
    static const struct {
        const char *rule;
        double now;
    } want[] = {{"Number", 1}, {"Series", 7}, {"ByModel", 5}, {"Unknown", (double)NAN}};
    struct rig g;
    (void)state;
    rig_start(&g, limit_rules);
    fill_native(&g, "llm_ttft_seconds{model=\"m\"}");
    fill_native(&g, "llm_e2e_seconds{model=\"m\"}");
    rig_run(&g, "limit", (struct run_of){AT(1439), AT(1440), 2 * MINUTE, 7, 0, false});
    rig_run(&g, "model_limit{model=\"l\"}",
            (struct run_of){AT(1439), AT(1440), 2 * MINUTE, 6, 0, false});
    rig_run(&g, "model_limit{model=\"m\"}",
            (struct run_of){AT(1439), AT(1440), 2 * MINUTE, 5, 0, false});
    const struct review *r = rig_make(&g);
    assert_int_equal(r->n_thresholds, ARRAY_LEN(want) + 1);
    for (size_t i = 0; i < ARRAY_LEN(want); i++) {
        const struct advice_threshold *t = &r->thresholds[i];
        assert_span_equal("rule", t->use->rule->name, span_cstr(want[i].rule));
        assert_true(isnan(want[i].now) ? isnan(t->now) : fabs(t->now - want[i].now) < 1e-9);
        assert_true(fabs(t->proposal->threshold - 3) < 1e-9);
    }
    assert_null(r->thresholds[ARRAY_LEN(want)].use);
    assert_string_equal(r->thresholds[ARRAY_LEN(want)].proposal->stage->name, "e2e");
    rig_stop(&g);
}

/* --- bounds --- */

static const char quantile_rules[] =
    "groups:\n"
    "  - name: g\n"
    "    rules:\n"
    "      - alert: Wide\n"
    "        expr: histogram_quantile(0.95, sum by (le) (rate(a_seconds_bucket[10m]))) > 1\n"
    "      - alert: WideToo\n"
    "        expr: histogram_quantile(0.95, sum(rate(a_seconds_bucket[5m]))) > 2\n"
    "      - alert: Narrow\n"
    "        expr: histogram_quantile(0.5, rate(a_seconds_bucket[10m])) > 2\n"
    "      - alert: Beyond\n"
    "        expr: histogram_quantile(0.999, rate({__name__=\"a_seconds_bucket\",model=~\"m|n\"}"
    "[10m])) > 2\n"
    "      - alert: Other\n"
    "        expr: histogram_quantile(0.95, rate(a_seconds_bucket{model=\"n\"}[10m])) > 2\n"
    "      - alert: Native\n"
    "        expr: histogram_quantile(0.95, rate(a_seconds[10m])) > 2\n"
    "      - alert: Odd\n"
    "        expr: histogram_quantile(scalar(up), rate(a_seconds_bucket[10m])) > 2\n"
    "      - alert: All\n"
    "        expr: histogram_quantile(1, rate(a_seconds_bucket[10m])) > 2\n"
    "      - alert: Reads\n"
    "        expr: read_by_an_alert > 2 or read_too > 1\n"
    "      - record: read_by_an_alert\n"
    "        expr: histogram_quantile(0.95, rate(a_seconds_bucket[10m]))\n"
    "      - record: read_too\n"
    "        expr: histogram_quantile(0.9, rate(few_seconds_bucket[10m]))\n"
    "      - record: for_a_page\n"
    "        expr: histogram_quantile(0.9, rate(a_seconds_bucket[10m]))\n";

static void test_bounds(void **state)
{
    static const char *const bounds[] = {"0.9", "1.0", "4", "+Inf"};
    static const int upto[] = {45, 55, 99, 100};
    struct rig g;
    (void)state;
    rig_start(&g, quantile_rules);
    fill_classic(&g, "a_seconds", bounds, upto, ARRAY_LEN(bounds));
    rig_run(&g, "few_seconds_bucket{le=\"4\"}",
            (struct run_of){AT(-20), AT(1440) + 1, 10 * MINUTE, 0, 1, false});
    rig_run(&g, "few_seconds_bucket{le=\"+Inf\"}",
            (struct run_of){AT(-20), AT(1440) + 1, 10 * MINUTE, 0, 1, false});
    const struct review *r = rig_make(&g);
    assert_int_equal(r->n_uses, 8 - 1 + 2);
    assert_int_equal(r->n_bounds, 2);
    const struct advice_bounds *wide = &r->bounds[0], *beyond = &r->bounds[1];
    assert_span_equal("rule", wide->use->rule->name, SPAN("Wide"));
    assert_span_equal("metric", wide->metric, SPAN("a_seconds"));
    assert_int_equal(wide->n_uses, 3);
    assert_true(fabs(wide->lower - 1) < 1e-9 && fabs(wide->upper - 4) < 1e-9);
    assert_true(fabs(wide->value - (1 + 3 * 40.0 / 44)) < 1e-3); /* 3.727 */
    assert_true(fabs(wide->total - 144000) < 200);
    assert_int_equal(wide->n_bounds, 2); /* a tenth more is the upper bound already */
    assert_true(fabs(wide->bounds[0] - 3.4) < 1e-9 && fabs(wide->bounds[1] - 3.7) < 1e-9);
    assert_span_equal("rule", beyond->use->rule->name, SPAN("Beyond"));
    assert_true(isnan(beyond->value) && isinf(beyond->upper));
    assert_int_equal(beyond->n_bounds, 3);
    assert_true(fabs(beyond->bounds[0] - 6) < 1e-9 && fabs(beyond->bounds[2] - 16) < 1e-9);
    rig_print(&g, false);
    rig_has(&g, "- a\\_seconds: the 0.95-quantile, which Wide and 2 more ask for, lies at about "
                "3.727, in the bucket from 1 to 4 (144000 observations). Bounds to add: 3.4, "
                "3.7.\n");
    rig_has(&g, "which Beyond asks for, lies behind the last bound, 4, so it is not known "
                "(144000 observations). Bounds to add: 6, 8, 16.\n");
    rig_stop(&g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_for),
        cmocka_unit_test(test_thresholds),
        cmocka_unit_test(test_bounds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
