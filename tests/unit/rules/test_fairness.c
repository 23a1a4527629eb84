/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rules that take long: groups beside theirs come in between, and templates end with their rule.
 */
#include "rig.h"

#include <time.h>

#include "base/clock.h"
#include "rules/rules_private.h"

enum { SLOW = 6, PAUSE_MS = RULES_SLICE_MS / 2 };

/* A store that takes its time, but for the series "quick". */
static int slow_write(void *ctx, struct batch *b, uint64_t *ret)
{
    const struct timespec pause = {.tv_nsec = PAUSE_MS * NS_PER_MS};
    if (b->n > 0 && !span_eq(labels_name(b->at[0].labels), SPAN("quick")))
        (void)nanosleep(&pause, NULL);
    return rig_write(ctx, b, ret);
}

static void begin(struct rig *g, const char *text)
{
    const struct rules_config seconds = {.interval_ms = S};
    rig_init(g, &seconds);
    g->rules->ops.write = slow_write;
    rig_load(g, text, T0);
}

static const char groups[] = "groups:\n"
                             "- name: slow\n  interval: 1m\n  rules:\n"
                             "  - {record: s1, expr: 'vector(1)'}\n"
                             "  - {record: s2, expr: 's1'}\n"
                             "  - {record: s3, expr: 's2'}\n"
                             "  - {record: s4, expr: 's3'}\n"
                             "  - {record: s5, expr: 's4'}\n"
                             "  - {record: s6, expr: 's5'}\n"
                             "- name: quick\n  interval: 1s\n  rules:\n"
                             "  - {record: quick, expr: 'vector(time())'}\n";

static const struct group *group(const struct rig *g, const char *name)
{
    for (size_t i = 0; i < g->rules->n_groups; i++)
        if (span_eq(g->rules->groups[i]->def->name, span_cstr(name)))
            return g->rules->groups[i];
    fail_msg("no group %s", name);
    return NULL;
}

static void test_others_come_in_between(void **state)
{
    struct rig g;
    int n_ticks = 0;
    (void)state;
    begin(&g, groups);
    const struct group *slow = group(&g, "slow"), *quick = group(&g, "quick");
    int64_t now_ms = slow->next_ms;
    rules_tick(g.rules, now_ms, NULL, NULL);
    int64_t slot_ms = slow->last_ms;
    for (; slow->is_under_way; n_ticks++) {
        assert_true(n_ticks < SLOW);
        assert_true(rules_next_ms(g.rules) <= now_ms); /* there is something to do */
        now_ms += S;
        rules_tick(g.rules, now_ms, NULL, NULL);
        assert_true(now_ms - quick->last_ms < S);
    }
    assert_true(n_ticks >= 2);
    assert_int_equal(slow->last_ms, slot_ms);
    assert_true(slow->duration_ns >= SLOW * PAUSE_MS * NS_PER_MS);
    assert_true(rules_next_ms(g.rules) > now_ms);
    for (size_t i = 0; i < slow->n; i++)
        assert_int_equal(slow->rules[i].health, RULE_OK);
    assert_int_equal(slow->rules[SLOW - 1].recorded.n, 1); /* what came before was seen */
    rig_done(&g);
}

static void test_a_reload_in_between(void **state)
{
    struct rig g;
    (void)state;
    begin(&g, groups);
    rules_tick(g.rules, group(&g, "slow")->next_ms, NULL, NULL);
    assert_true(group(&g, "slow")->is_under_way);
    int64_t now_ms = group(&g, "slow")->last_ms;
    rig_load(&g, groups, now_ms + 1);
    assert_false(group(&g, "slow")->is_under_way);
    assert_true(group(&g, "slow")->next_ms > now_ms);
    rules_tick(g.rules, group(&g, "slow")->next_ms, NULL, NULL);
    assert_true(group(&g, "slow")->last_ms > now_ms);
    rig_done(&g);
}

/* Slow groups whose slots come first, and more of them than fit into a tick. */
static void test_some_go_ahead(void **state)
{
    static const char own[] = "groups:\n- name: quick\n  interval: 1s\n  rules:\n"
                              "  - {record: quick, expr: 'vector(1)'}\n";
    static const char others[] =
        "groups:\n"
        "- {name: a, interval: 1s, rules: [{record: a, expr: 'vector(1)'}]}\n"
        "- {name: b, interval: 1s, rules: [{record: b, expr: 'vector(1)'}]}\n"
        "- {name: c, interval: 1s, rules: [{record: c, expr: 'vector(1)'}]}\n"
        "- {name: d, interval: 1s, rules: [{record: d, expr: 'vector(1)'}]}\n";
    struct rule_file *files[] = {rig_file(own, "own.yml"), rig_file(others, "others.yml")};
    struct rig g;
    (void)state;
    begin(&g, "groups: []\n");
    assert_int_equal(rules_load(g.rules, files, 2, 1, T0), 0);
    for (int i = 0; i < 2; i++)
        (void)rule_file_unref(files[i]);
    struct group **all = g.rules->groups;
    for (size_t i = 1; i < g.rules->n_groups; i++)
        all[i]->next_ms = T0 + 1;
    all[0]->next_ms = T0 + 2;
    rules_tick(g.rules, T0 + 3, NULL, NULL);
    assert_int_equal(all[0]->rules[0].health, RULE_OK);
    assert_int_equal(all[4]->rules[0].health, RULE_UNKNOWN); /* the time was used up */
    rig_done(&g);
}

static void test_templates_end_with_their_rule(void **state)
{
    const struct rules_config hasty = {.interval_ms = MINUTE, .timeout_ms = 50};
    struct rig g;
    char name[32];
    (void)state;
    rig_init(&g, &hasty);
    for (int i = 0; i < 3000; i++) {
        (void)snprintf(name, sizeof(name), "a{i=\"%d\"}", i);
        rig_put(&g, name, T0, 1);
    }
    rig_load(&g,
             "groups:\n- name: g\n  rules:\n"
             "  - {alert: A, expr: a, annotations: {x: '{{ range query \"a\" }}x{{ end }}'}}\n",
             T0);
    mono_t start = clock_mono();
    rules_evaluate(g.rules, T0);
    assert_true(mono_diff(clock_mono(), start) < 5 * NS_PER_S); /* else it is some minutes */
    assert_non_null(strstr(group(&g, "g")->rules[0].error, "took longer"));
    rig_done(&g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_others_come_in_between),
        cmocka_unit_test(test_a_reload_in_between),
        cmocka_unit_test(test_some_go_ahead),
        cmocka_unit_test(test_templates_end_with_their_rule),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
