/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rules: a restart in every state of an alert: what the next process makes of what this one left
 * behind in ALERTS_FOR_STATE.
 */
#include "rig.h"

static const struct rules_config minutes = {.interval_ms = MINUTE};

/* One evaluation, with the alert's condition true or false. Returns the slot. */
static int64_t tick(struct rig *g, bool is_true)
{
    int64_t slot = rules_next_ms(g->rules);
    rig_put(g, "a", slot - 1, is_true);
    rules_tick(g->rules, slot, NULL, NULL);
    return slot;
}

static void load(struct rig *g, int for_min, int keep_min, int64_t now_ms)
{
    char text[300];
    (void)snprintf(text, sizeof(text),
                   "groups:\n- name: g\n  rules:\n"
                   "  - alert: A\n    expr: a == 1\n    for: %dm\n    keep_firing_for: %dm\n"
                   "    labels: {tier: P1}\n",
                   for_min, keep_min);
    rig_load(g, text, now_ms);
}

struct seen {
    bool is_there, is_firing;
    int64_t active_ms;
};

static int look(void *ctx, const struct rules_alert *a)
{
    *(struct seen *)ctx = (struct seen){true, a->is_firing, a->active_ms};
    return 0;
}

static struct seen alert_of(struct rig *g)
{
    struct seen s = {.is_there = false};
    assert_int_equal(rules_each_alert(g->rules, look, &s), 0);
    return s;
}

/* Evaluations until it fires; -1: it does not. */
static int count_until_firing(struct rig *g, int n_max)
{
    for (int i = 0; i < n_max; i++) {
        tick(g, true);
        if (alert_of(g).is_firing)
            return i;
    }
    return -1;
}

/*
 * The condition is true for n_true evaluations, one a minute, then false for n_false; then nobody
 * evaluates for down_min. Moments are minutes behind the first evaluation.
 */
static const struct {
    const char *name;
    int for_min, keep_min, n_true, n_false, down_min;
    int n_until_firing; /* evaluations after the start, 0: the first one */
    int active_min;
} restarts[] = {
    {"never active", 30, 0, 0, 1, 15, 30, 15},
    {"it had fired: fires with the third evaluation", 30, 0, 35, 0, 15, 2, 0},
    {"fired just now", 30, 0, 31, 0, 15, 2, 0},
    {"long to go: the time in between does not count", 30, 0, 11, 0, 15, 21, 16},
    {"exactly the grace period to go", 30, 0, 21, 0, 15, 11, 16},
    {"less than that to go: waits the grace period", 30, 0, 26, 0, 15, 11, 21},
    {"resolved: begins anew", 30, 0, 35, 2, 15, 30, 51},
    {"pending and forgotten: begins anew", 30, 0, 20, 2, 15, 30, 36},
    {"kept firing", 30, 10, 35, 3, 15, 2, 0},
    {"kept firing and resolved then", 30, 3, 35, 5, 15, 30, 54},
    {"down for longer than the tolerance", 30, 0, 35, 0, 120, 30, 154},
    {"down for just the tolerance", 30, 0, 35, 0, 59, 2, 0},
    {"for is the grace period", 10, 0, 20, 0, 15, 2, 0},
    {"for is shorter: begins anew", 5, 0, 3, 0, 15, 5, 17},
    {"without for", 0, 0, 3, 0, 15, 0, 17},
    {"stopped after one evaluation", 30, 0, 1, 0, 15, 31, 16},
};

static void test_restarts(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(restarts); i++) {
        const char *name = restarts[i].name;
        struct rig g;
        rig_init(&g, &minutes);
        load(&g, restarts[i].for_min, restarts[i].keep_min, T0);
        int64_t first = rules_next_ms(g.rules), last = first;
        rules_evaluate(g.rules, first - MINUTE); /* restored: nothing was before */
        for (int n = 0; n < restarts[i].n_true; n++)
            last = tick(&g, true);
        for (int n = 0; n < restarts[i].n_false; n++)
            last = tick(&g, false);
        rig_stop(&g);

        rig_start(&g, &minutes);
        load(&g, restarts[i].for_min, restarts[i].keep_min,
             last + (restarts[i].down_min - 1) * MINUTE);
        assert_int_equal(rules_next_ms(g.rules), last + restarts[i].down_min * MINUTE);
        assert_row(name, count_until_firing(&g, 60) == restarts[i].n_until_firing);
        assert_row(name, (alert_of(&g).active_ms - first) / MINUTE == restarts[i].active_min);
        rig_done(&g);
    }
}

/* ALERTS is written from the third evaluation on; alerts are told from the first one on. */
static void test_samples_wait(void **state)
{
    struct rig g;
    (void)state;
    rig_init(&g, &minutes);
    load(&g, 0, 0, T0);
    tick(&g, true);
    assert_int_equal(g.n_samples, 0);
    assert_int_equal(g.n_told, 1);
    tick(&g, true);
    assert_int_equal(g.n_samples, 0);
    int64_t slot = tick(&g, true);
    assert_int_equal(g.n_samples, 2);
    assert_query(&g, "ALERTS", slot,
                 "ALERTS{alertname=\"A\", alertstate=\"firing\", tier=\"P1\"} 1\n");
    rig_done(&g);
}

/* What comes back only after the second evaluation is a new alert. */
static void test_back_too_late(void **state)
{
    struct rig g;
    (void)state;
    rig_init(&g, &minutes);
    load(&g, 30, 0, T0);
    rules_evaluate(g.rules, T0);
    for (int i = 0; i < 35; i++)
        tick(&g, true);
    rig_stop(&g);
    rig_start(&g, &minutes);
    load(&g, 30, 0, T0 + 45 * MINUTE);
    tick(&g, false);
    tick(&g, false);
    assert_int_equal(count_until_firing(&g, 60), 30);
    rig_done(&g);
}

/* Only the series of this rule and this alert are meant. */
static void test_other_series(void **state)
{
    struct rig g;
    (void)state;
    rig_init(&g, &minutes);
    load(&g, 30, 0, T0);
    int64_t slot = rules_next_ms(g.rules);
    rig_put(&g, "ALERTS_FOR_STATE{alertname=\"A\", tier=\"P2\"}", slot - MINUTE, 1);
    rig_put(&g, "ALERTS_FOR_STATE{alertname=\"B\", tier=\"P1\"}", slot - MINUTE, 1);
    rig_put(&g, "ALERTS_FOR_STATE{alertname=\"A\", tier=\"P1\", i=\"1\"}", slot - MINUTE, 1);
    assert_int_equal(count_until_firing(&g, 60), 30);
    rig_done(&g);
}

/* Values that no process of ours has written. */
static void test_strange_values(void **state)
{
    static const double values[] = {1e300, -1e300, 0.0 / 0.0, 1.0 / 0.0};
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(values); i++) {
        struct rig g;
        rig_init(&g, &minutes);
        load(&g, 30, 0, T0);
        int64_t slot = rules_next_ms(g.rules);
        rig_put(&g, "ALERTS_FOR_STATE{alertname=\"A\", tier=\"P1\"}", slot - MINUTE, values[i]);
        assert_int_equal(count_until_firing(&g, 60), 30);
        rig_done(&g);
    }
}

/* A configuration of one's own. */
static void test_configured(void **state)
{
    const struct rules_config config = {
        .interval_ms = MINUTE, .grace_ms = 2 * MINUTE, .outage_tolerance_ms = 10 * MINUTE};
    struct rig g;
    (void)state;
    rig_init(&g, &config);
    load(&g, 5, 0, T0);
    rules_evaluate(g.rules, T0);
    for (int i = 0; i < 5; i++)
        tick(&g, true); /* one to go */
    rig_stop(&g);
    rig_start(&g, &config);
    load(&g, 5, 0, T0 + 8 * MINUTE);
    assert_int_equal(count_until_firing(&g, 60), 1 + 2);
    rig_stop(&g);
    rig_start(&g, &config);
    load(&g, 5, 0, T0 + 30 * MINUTE); /* 17 min are too long */
    assert_int_equal(count_until_firing(&g, 60), 5);
    rig_done(&g);
}

/* A reload between the first and the second evaluation changes nothing. */
static void test_reload_before(void **state)
{
    struct rig g;
    (void)state;
    rig_init(&g, &minutes);
    load(&g, 30, 0, T0);
    rules_evaluate(g.rules, T0);
    for (int i = 0; i < 35; i++)
        tick(&g, true);
    rig_stop(&g);
    rig_start(&g, &minutes);
    load(&g, 30, 0, T0 + 45 * MINUTE);
    int64_t slot = tick(&g, true);
    load(&g, 30, 0, slot);
    assert_int_equal(count_until_firing(&g, 60), 1);
    rig_done(&g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_restarts),       cmocka_unit_test(test_samples_wait),
        cmocka_unit_test(test_back_too_late),  cmocka_unit_test(test_other_series),
        cmocka_unit_test(test_strange_values), cmocka_unit_test(test_configured),
        cmocka_unit_test(test_reload_before),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
