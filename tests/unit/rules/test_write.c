/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rules_write, rules_write_alerts: what Prometheus' API says, byte by byte; filters.
 */
#include "rig.h"

#include "fakeclock.h"

static const struct rules_config minutes = {.interval_ms = MINUTE,
                                            .external_url = SPAN_INIT("https://x.example")};

static struct rig g;

static int setup(void **state)
{
    (void)state;
    fakeclock_install(1, 1);
    rig_init(&g, &minutes);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    rig_done(&g);
    fakeclock_remove();
    return 0;
}

static void assert_json(const char *name, bool is_alerts, const struct rules_filter *f,
                        const char *want)
{
    struct buf out;
    struct jsonw w;
    buf_init(&out, 1024 * 1024);
    jsonw_init(&w, &out);
    if (is_alerts)
        rules_write_alerts(g.rules, &w);
    else
        rules_write(g.rules, f, &w);
    assert_int_equal(jsonw_error(&w), 0);
    assert_span_equal(name, buf_span(&out), span_cstr(want));
    buf_done(&out);
}

static const struct rules_filter all;

static void test_rules(void **state)
{
    (void)state;
    rig_load(&g,
             "groups:\n- name: g\n  limit: 9\n  interval: 1500ms\n  labels: {team: x}\n  rules:\n"
             "  - {record: r, expr: 'sum(a)  ', labels: {i: '1'}}\n"
             "  - alert: A\n    expr: 'a>0'\n    for: 90s\n    keep_firing_for: 5m\n"
             "    labels: {tier: P1}\n    annotations: {summary: \"hot \\\"x\\\"\"}\n"
             "  - {alert: B, expr: 'a * on () b'}\n",
             T0);
    assert_json(
        "never evaluated", false, &all,
        "{\"groups\":[{\"name\":\"g\",\"file\":\"a.yml\",\"rules\":["
        "{\"name\":\"r\",\"query\":\"sum(a)\",\"labels\":{\"i\":\"1\",\"team\":\"x\"},"
        "\"health\":\"unknown\",\"evaluationTime\":0,"
        "\"lastEvaluation\":\"0001-01-01T00:00:00Z\",\"type\":\"recording\"},"
        "{\"state\":\"unknown\",\"name\":\"A\",\"query\":\"a > 0\",\"duration\":90,"
        "\"keepFiringFor\":300,\"labels\":{\"team\":\"x\",\"tier\":\"P1\"},"
        "\"annotations\":{\"summary\":\"hot \\\"x\\\"\"},\"alerts\":[],\"health\":\"unknown\","
        "\"evaluationTime\":0,\"lastEvaluation\":\"0001-01-01T00:00:00Z\",\"type\":\"alerting\"},"
        "{\"state\":\"unknown\",\"name\":\"B\",\"query\":\"a * on () b\",\"duration\":0,"
        "\"keepFiringFor\":0,\"labels\":{\"team\":\"x\"},\"annotations\":{},\"alerts\":[],"
        "\"health\":\"unknown\",\"evaluationTime\":0,"
        "\"lastEvaluation\":\"0001-01-01T00:00:00Z\",\"type\":\"alerting\"}],"
        "\"interval\":1.5,\"limit\":9,\"evaluationTime\":0,"
        "\"lastEvaluation\":\"0001-01-01T00:00:00Z\"}]}");
    rig_put(&g, "a{j=\"1\"}", T0, 0.35);
    rig_put(&g, "a{j=\"2\"}", T0, 0);
    rig_put(&g, "b", T0, 1);
    rules_evaluate(g.rules, T0 + 120);
    static const struct rules_filter alerts = {.only_alerts = true};
    assert_json(
        "evaluated", false, &alerts,
        "{\"groups\":[{\"name\":\"g\",\"file\":\"a.yml\",\"rules\":["
        "{\"state\":\"pending\",\"name\":\"A\",\"query\":\"a > 0\",\"duration\":90,"
        "\"keepFiringFor\":300,\"labels\":{\"team\":\"x\",\"tier\":\"P1\"},"
        "\"annotations\":{\"summary\":\"hot \\\"x\\\"\"},\"alerts\":[{\"labels\":{"
        "\"alertname\":\"A\",\"j\":\"1\",\"team\":\"x\",\"tier\":\"P1\"},"
        "\"annotations\":{\"summary\":\"hot \\\"x\\\"\"},\"state\":\"pending\","
        "\"activeAt\":\"2023-11-14T22:14:00.12Z\",\"value\":\"3.5e-01\"}],\"health\":\"ok\","
        "\"evaluationTime\":0,\"lastEvaluation\":\"2023-11-14T22:14:00.12Z\","
        "\"type\":\"alerting\"},"
        "{\"state\":\"inactive\",\"name\":\"B\",\"query\":\"a * on () b\",\"duration\":0,"
        "\"keepFiringFor\":0,\"labels\":{\"team\":\"x\"},\"annotations\":{},\"alerts\":[],"
        "\"health\":\"err\",\"lastError\":\"multiple matches for labels: many-to-one matching "
        "must be explicit (group_left/group_right)\",\"evaluationTime\":0,"
        "\"lastEvaluation\":\"2023-11-14T22:14:00.12Z\",\"type\":\"alerting\"}],"
        "\"interval\":1.5,\"limit\":9,\"evaluationTime\":0,"
        "\"lastEvaluation\":\"2023-11-14T22:14:00.12Z\"}]}");
    assert_json("alerts", true, NULL,
                "{\"alerts\":[{\"labels\":{\"alertname\":\"A\",\"j\":\"1\",\"team\":\"x\","
                "\"tier\":\"P1\"},\"annotations\":{\"summary\":\"hot \\\"x\\\"\"},"
                "\"state\":\"pending\",\"activeAt\":\"2023-11-14T22:14:00.12Z\","
                "\"value\":\"3.5e-01\"}]}");
}

/* Resolved alerts are not listed; those that are kept firing say since when. */
static void test_states(void **state)
{
    (void)state;
    rig_load(&g,
             "groups:\n- name: g\n  rules:\n"
             "  - {alert: A, expr: a, keep_firing_for: 5m}\n  - {alert: B, expr: a}\n",
             T0);
    rig_put(&g, "a", T0, 1e21);
    rules_evaluate(g.rules, T0);
    rig_put(&g, "a", T0 + MINUTE, series_stale());
    rules_evaluate(g.rules, T0 + MINUTE);
    assert_json("alerts", true, NULL,
                "{\"alerts\":[{\"labels\":{\"alertname\":\"A\"},\"annotations\":{},"
                "\"state\":\"firing\",\"activeAt\":\"2023-11-14T22:14:00Z\","
                "\"keepFiringSince\":\"2023-11-14T22:15:00Z\",\"value\":\"1e+21\"}]}");
}

static void test_values(void **state)
{
    static const struct {
        double v;
        const char *text;
    } rows[] = {{0, "0e+00"},
                {1, "1e+00"},
                {-12.5, "-1.25e+01"},
                {0.1, "1e-01"},
                {1.0 / 3, "3.333333333333333e-01"},
                {1e300, "1e+300"},
                {5e-324, "5e-324"},
                {123456789, "1.23456789e+08"},
                {1.0 / 0.0, "+Inf"},
                {-1.0 / 0.0, "-Inf"},
                {0.0 / 0.0, "NaN"}};
    char want[300];
    (void)state;
    rig_load(&g, "groups:\n- name: g\n  rules: [{alert: A, expr: a}]\n", T0);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        rig_put(&g, "a", T0 + (int64_t)i, rows[i].v);
        rules_evaluate(g.rules, T0 + (int64_t)i);
        (void)snprintf(want, sizeof(want),
                       "{\"alerts\":[{\"labels\":{\"alertname\":\"A\"},\"annotations\":{},"
                       "\"state\":\"firing\",\"activeAt\":\"2023-11-14T22:14:00Z\","
                       "\"value\":\"%s\"}]}",
                       rows[i].text);
        assert_json(rows[i].text, true, NULL, want);
    }
}

/* Which rules are listed, as names. */
static void names(const struct rules_filter *f, char *ret, size_t cap)
{
    struct buf out;
    struct jsonw w;
    buf_init(&out, 1024 * 1024);
    jsonw_init(&w, &out);
    rules_write(g.rules, f, &w);
    struct span rest = buf_span(&out);
    static const struct span key = SPAN_INIT("\"name\":\"");
    size_t n = 0;
    for (size_t at; (at = span_find(rest, key)) < rest.n;) {
        rest = span_from(rest, at + key.n);
        struct span name = rest;
        name = span_split(&name, '"');
        n += (size_t)snprintf(ret + n, cap - n, "%.*s ", SPAN_ARG(name));
    }
    ret[n] = '\0';
    buf_done(&out);
}

static void test_filters(void **state)
{
    static const struct span a = SPAN_INIT("A"), group_h = SPAN_INIT("h"),
                             file_b = SPAN_INIT("b.yml"), two[] = {SPAN_INIT("A"), SPAN_INIT("r")};
    static const struct {
        struct rules_filter f;
        const char *names;
    } rows[] = {
        {{.only_alerts = false}, "g A r h A i s "}, /* groups by file and name */
        {{.only_alerts = true}, "g A h A "},
        {{.only_records = true}, "g r i s "},
        {{.names = &a, .n_names = 1}, "g A h A "},
        {{.names = two, .n_names = 2}, "g A r h A "},
        {{.groups = &group_h, .n_groups = 1}, "h A "},
        {{.files = &file_b, .n_files = 1}, "i s "},
        {{.files = &file_b, .n_files = 1, .only_alerts = true}, ""},
    };
    struct rule_file *files[] = {
        rig_file("groups:\n- name: i\n  rules: [{record: s, expr: a}]\n", "b.yml"),
        rig_file("groups:\n- name: h\n  rules: [{alert: A, expr: a}]\n"
                 "- name: g\n  rules: [{alert: A, expr: a}, {record: r, expr: a}]\n",
                 "a.yml")};
    char got[200];
    (void)state;
    assert_int_equal(rules_load(g.rules, files, 2, 0, T0), 0);
    for (int i = 0; i < 2; i++)
        (void)rule_file_unref(files[i]);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        names(&rows[i].f, got, sizeof(got));
        assert_span_equal("names", span_cstr(got), span_cstr(rows[i].names));
    }
    rules_evaluate(g.rules, T0);
    assert_json("without alerts", false,
                &(struct rules_filter){.groups = &group_h, .n_groups = 1, .without_alerts = true},
                "{\"groups\":[{\"name\":\"h\",\"file\":\"a.yml\",\"rules\":["
                "{\"state\":\"inactive\",\"name\":\"A\",\"query\":\"a\",\"duration\":0,"
                "\"keepFiringFor\":0,\"labels\":{},\"annotations\":{},\"alerts\":null,"
                "\"health\":\"ok\",\"evaluationTime\":0,"
                "\"lastEvaluation\":\"2023-11-14T22:14:00Z\",\"type\":\"alerting\"}],"
                "\"interval\":60,\"limit\":0,\"evaluationTime\":0,"
                "\"lastEvaluation\":\"2023-11-14T22:14:00Z\"}]}");
}

static struct span url;

static void keep_url(void *ctx, const struct alert_notice *n, size_t n_notices)
{
    static char text[200];
    (void)ctx;
    (void)n_notices;
    url = span_of(text, span_copy(n->generator_url, text, sizeof(text)));
}

static void test_link(void **state)
{
    (void)state;
    struct rules_ops ops = rig_ops(&g);
    ops.notify = keep_url;
    (void)rules_free(g.rules);
    assert_int_equal(rules_new(&minutes, &ops, &g.rules), 0);
    rig_load(&g, "groups:\n- name: g\n  rules: [{alert: A, expr: 'vector(1) > 0.5'}]\n", T0);
    rules_evaluate(g.rules, T0);
    assert_span_equal("link", url,
                      SPAN("https://x.example/graph?g0.expr=vector%281%29+%3E+0.5&g0.tab=1"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_rules, setup, teardown),
        cmocka_unit_test_setup_teardown(test_states, setup, teardown),
        cmocka_unit_test_setup_teardown(test_values, setup, teardown),
        cmocka_unit_test_setup_teardown(test_filters, setup, teardown),
        cmocka_unit_test_setup_teardown(test_link, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
