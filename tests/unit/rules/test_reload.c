/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rules_load: what groups and rules keep of what they were, and what becomes of those that go.
 */
#include "rig.h"

#include "memfail.h"
#include "rules/rules_private.h"

static const struct rules_config minutes = {.interval_ms = MINUTE};

static struct rig g;

static int setup(void **state)
{
    (void)state;
    rig_init(&g, &minutes);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    rig_done(&g);
    return 0;
}

#define HEAD "groups:\n- name: g\n  rules:\n"

static const char pending_alert[] = "ALERTS{alertname=\"A\", alertstate=\"pending\", i=\"1\"} 1\n";

/* `for` goes on through a reload, also where the expression is another one. */
static void test_alerts_go_on(void **state)
{
    (void)state;
    rig_put(&g, "a{i=\"1\"}", T0, 1);
    rig_load(&g, HEAD "  - {alert: A, expr: a, for: 2m}\n", T0);
    rules_evaluate(g.rules, T0);
    rig_load(&g, HEAD "  - {alert: A, expr: a > 0, for: 2m, annotations: {x: new}}\n", T0 + 1);
    rules_evaluate(g.rules, T0 + MINUTE);
    assert_query(&g, "ALERTS", T0 + MINUTE, pending_alert);
    rules_evaluate(g.rules, T0 + 2 * MINUTE);
    assert_told(&g, "{alertname=\"A\", i=\"1\"} firing value=1 starts=+120 ends=+360 x=\"new\"\n");
    rig_load(&g, HEAD "  - {alert: A, expr: a, for: 5m}\n", T0 + 2 * MINUTE);
    rules_evaluate(g.rules, T0 + 3 * MINUTE); /* its `for` is longer now */
    assert_query(&g, "ALERTS", T0 + 3 * MINUTE, pending_alert);
    assert_told(&g, "");
}

/* Other labels make another rule: what the old one recorded is marked. */
static void test_other_labels(void **state)
{
    (void)state;
    rig_put(&g, "a{i=\"1\"}", T0, 1);
    rig_load(&g, HEAD "  - {alert: A, expr: a, for: 2m}\n", T0);
    rules_evaluate(g.rules, T0);
    rig_load(&g, HEAD "  - {alert: A, expr: a, for: 2m, labels: {tier: P1}}\n", T0 + 1);
    rules_evaluate(g.rules, T0 + 2 * MINUTE);
    assert_query(&g, "ALERTS", T0 + 2 * MINUTE,
                 "ALERTS{alertname=\"A\", alertstate=\"pending\", i=\"1\", tier=\"P1\"} 1\n");
    assert_told(&g, "");
    /* Those of the group are a rule's own, too. */
    rig_load(&g,
             "groups:\n- name: g\n  labels: {tier: P1}\n"
             "  rules: [{alert: A, expr: a, for: 2m}]\n",
             T0 + 3 * MINUTE);
    rules_evaluate(g.rules, T0 + 4 * MINUTE);
    assert_told(&g, "{alertname=\"A\", i=\"1\", tier=\"P1\"} firing value=1 starts=+240 "
                    "ends=+480\n");
}

/* Rules of one name and labels: the first takes the first one's, the second the second's. */
static void test_same_rule_twice(void **state)
{
    (void)state;
    rig_put(&g, "a", T0, 1);
    rig_load(&g, HEAD "  - {alert: A, expr: a, for: 2m}\n  - {alert: A, expr: a == 2, for: 2m}\n",
             T0);
    rules_evaluate(g.rules, T0);
    rig_load(&g,
             HEAD "  - {record: r, expr: a}\n  - {alert: A, expr: a == 2, for: 2m}\n"
                  "  - {alert: A, expr: a, for: 2m}\n",
             T0 + 1);
    rules_evaluate(g.rules, T0 + 2 * MINUTE);
    /* The first had it pending, has nothing now, and marks what the second would record. */
    assert_told(&g, "");
    assert_query(&g, "ALERTS_FOR_STATE", T0 + 2 * MINUTE, "");
    rules_evaluate(g.rules, T0 + 3 * MINUTE);
    assert_query(&g, "ALERTS_FOR_STATE", T0 + 3 * MINUTE,
                 "ALERTS_FOR_STATE{alertname=\"A\"} 1700000160\n");
}

static void test_removed_rule(void **state)
{
    (void)state;
    rig_put(&g, "a", T0, 1);
    rig_load(&g, HEAD "  - {record: r, expr: a}\n  - {record: s, expr: a}\n", T0);
    rules_evaluate(g.rules, T0);
    rig_load(&g, HEAD "  - {record: s, expr: a}\n", T0 + 1);
    rules_evaluate(g.rules, T0 + MINUTE);
    assert_query(&g, "r", T0 + MINUTE - 1, "r 1\n");
    assert_query(&g, "r", T0 + MINUTE, "");
    assert_query(&g, "s", T0 + MINUTE, "s 1\n");
}

/* A rule that goes and one that comes record the same series. */
static void test_renamed_rule(void **state)
{
    (void)state;
    rig_put(&g, "a", T0, 1);
    rig_load(&g, HEAD "  - {record: r, expr: a}\n", T0);
    rules_evaluate(g.rules, T0);
    rig_load(&g,
             HEAD "  - {record: r, expr: 'label_replace(a, \"x\", \"\", \"\", \"\")', "
                  "labels: {y: ''}}\n",
             T0 + 1);
    rules_evaluate(g.rules, T0 + MINUTE);
    assert_query(&g, "r", T0 + MINUTE, "r 1\n");
}

/* A group that goes is marked two intervals later, for the moment of the reload. */
static void test_removed_group(void **state)
{
    (void)state;
    rig_put(&g, "a", T0, 1);
    rig_load(&g, HEAD "  - {record: r, expr: a}\n", T0);
    rules_evaluate(g.rules, T0);
    rig_load(&g, "groups: []\n", T0 + 30 * S);
    assert_int_equal(rules_next_ms(g.rules), T0 + 30 * S + 2 * MINUTE);
    rules_tick(g.rules, T0 + MINUTE, NULL, NULL);
    assert_query(&g, "r", T0 + 2 * MINUTE, "r 1\n");
    rules_tick(g.rules, T0 + 30 * S + 2 * MINUTE, NULL, NULL);
    assert_query(&g, "r", T0 + 29 * S, "r 1\n");
    assert_query(&g, "r", T0 + 30 * S, "");
    assert_int_equal(rules_next_ms(g.rules), INT64_MAX);
}

static void test_renamed_group(void **state)
{
    (void)state;
    rig_put(&g, "a", T0, 1);
    rig_load(&g, HEAD "  - {record: r, expr: a}\n", T0);
    rules_evaluate(g.rules, T0);
    rig_load(&g, "groups:\n- name: other\n  rules: [{record: r, expr: a}]\n", T0 + 30 * S);
    for (int64_t t = T0 + 30 * S; t <= T0 + 4 * MINUTE; t += S)
        rules_tick(g.rules, t, NULL, NULL);
    assert_query(&g, "count_over_time(r[4m])", T0 + 4 * MINUTE - S, "{} 4\n");
    assert_query(&g, "r", T0 + 4 * MINUTE, "r 1\n");
}

/* A store that refuses gets the markers later. */
static void test_markers_are_not_lost(void **state)
{
    (void)state;
    rig_put(&g, "a", T0, 1);
    rig_load(&g, HEAD "  - {record: r, expr: a}\n", T0);
    rules_evaluate(g.rules, T0);
    rig_load(&g, "groups: []\n", T0 + 30 * S);
    g.write_error = -ENOSPC;
    rules_tick(g.rules, T0 + 3 * MINUTE, NULL, NULL);
    assert_true(rules_next_ms(g.rules) > T0 + 3 * MINUTE);
    g.write_error = 0;
    rules_tick(g.rules, rules_next_ms(g.rules), NULL, NULL);
    assert_query(&g, "r", T0 + 30 * S, "");
}

static void test_slots_stay(void **state)
{
    (void)state;
    rig_load(&g, HEAD "  - {record: r, expr: '1'}\n", T0);
    int64_t slot = rules_next_ms(g.rules);
    rig_load(&g, HEAD "  - {record: r, expr: '2'}\n", slot - 1);
    assert_int_equal(rules_next_ms(g.rules), slot);
    rules_tick(g.rules, slot, NULL, NULL);
    assert_query(&g, "r", slot, "r 2\n");
    rig_load(&g, "groups:\n- name: g\n  interval: 10s\n  rules: [{record: r, expr: '3'}]\n", slot);
    assert_in_range(rules_next_ms(g.rules), slot + 1, slot + 10 * S);
}

/* Two files with groups of one name; the order of files is the order of evaluation. */
static void test_files(void **state)
{
    struct rule_file *files[] = {rig_file(HEAD "  - {record: r, expr: '1'}\n", "b.yml"),
                                 rig_file(HEAD "  - {record: s, expr: 'r'}\n", "a.yml")};
    (void)state;
    assert_int_equal(rules_load(g.rules, files, 2, 0, T0), 0);
    for (int i = 0; i < 2; i++)
        (void)rule_file_unref(files[i]);
    rules_evaluate(g.rules, T0);
    assert_query(&g, "s", T0, "s 1\n");
}

static void test_another_url(void **state)
{
    static const char text[] =
        HEAD "  - {alert: A, expr: a, annotations: {u: '{{ externalURL }}'}}\n";
    (void)state;
    rig_put(&g, "a", T0, 1);
    rig_load(&g, text, T0);
    assert_span_equal("none", g.rules->groups[0]->rules[0].generator_url,
                      SPAN("/graph?g0.expr=a&g0.tab=1"));
    assert_int_equal(rules_set_url(g.rules, SPAN("https://x.example/y")), 0);
    rig_load(&g, text, T0);
    assert_span_equal("new", g.rules->groups[0]->rules[0].generator_url,
                      SPAN("https://x.example/y/graph?g0.expr=a&g0.tab=1"));
    rules_evaluate(g.rules, T0);
    assert_told(&g,
                "{alertname=\"A\"} firing value=1 starts=+0 ends=+240 u=\"https://x.example/y\"\n");
}

static int attempt(void *ctx)
{
    struct rule_file *f = ctx;
    int64_t next = rules_next_ms(g.rules);
    int r = rules_load(g.rules, &f, 1, 0, T0 + 30 * S);
    if (r < 0)
        assert_int_equal(rules_next_ms(g.rules), next);
    return r;
}

/* All or nothing. */
static void test_memory(void **state)
{
    struct rule_file *f =
        rig_file("groups:\n- name: g\n  rules: [{alert: A, expr: a, for: 2m}]\n"
                 "- {name: new, rules: [{record: t, expr: '1', labels: {x: y}}]}\n",
                 "a.yml");
    (void)state;
    rig_put(&g, "a{i=\"1\"}", T0, 1);
    rig_load(&g,
             HEAD "  - {alert: A, expr: a, for: 2m}\n  - {record: r, expr: a}\n"
                  "- {name: h, rules: [{record: s, expr: a}]}\n",
             T0);
    rules_evaluate(g.rules, T0);
    for (uint64_t n = 1;; n++) {
        mem_fail_from(n);
        int r = attempt(f);
        mem_fail_off();
        if (r == 0)
            break;
        assert_int_equal(r, -ENOMEM);
        assert_true(n < 10000);
    }
    (void)rule_file_unref(f);
    rules_evaluate(g.rules, T0 + 2 * MINUTE);
    assert_query(&g, "t", T0 + 2 * MINUTE, "t{x=\"y\"} 1\n");
    assert_query(&g, "r", T0 + 2 * MINUTE, "");
    assert_told(&g, "{alertname=\"A\", i=\"1\"} firing value=1 starts=+120 ends=+360\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_alerts_go_on, setup, teardown),
        cmocka_unit_test_setup_teardown(test_other_labels, setup, teardown),
        cmocka_unit_test_setup_teardown(test_same_rule_twice, setup, teardown),
        cmocka_unit_test_setup_teardown(test_removed_rule, setup, teardown),
        cmocka_unit_test_setup_teardown(test_renamed_rule, setup, teardown),
        cmocka_unit_test_setup_teardown(test_removed_group, setup, teardown),
        cmocka_unit_test_setup_teardown(test_renamed_group, setup, teardown),
        cmocka_unit_test_setup_teardown(test_markers_are_not_lost, setup, teardown),
        cmocka_unit_test_setup_teardown(test_slots_stay, setup, teardown),
        cmocka_unit_test_setup_teardown(test_files, setup, teardown),
        cmocka_unit_test_setup_teardown(test_another_url, setup, teardown),
        cmocka_unit_test_setup_teardown(test_memory, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
