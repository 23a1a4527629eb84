/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rules_write, rules_write_alerts, rules_stats from other threads while groups are evaluated and
 * loaded (under ThreadSanitizer: ninja threads).
 */
#include "rig.h"

#include <pthread.h>
#include <stdatomic.h>

static const struct rules_config minutes = {.interval_ms = MINUTE};

struct watcher {
    struct rules *rules;
    atomic_bool is_over;
    atomic_int n_seen;
    pthread_t thread;
};

static void *watch(void *arg)
{
    struct watcher *w = arg;
    const struct rules_filter all = {.only_alerts = false};
    while (!atomic_load(&w->is_over)) {
        struct rules_stats stats;
        struct jsonw json;
        struct buf out;
        buf_init(&out, 1024 * 1024);
        jsonw_init(&json, &out);
        rules_write(w->rules, &all, &json);
        rules_write_alerts(w->rules, &json);
        rules_stats(w->rules, &stats);
        if (jsonw_error(&json) == 0 && stats.n_groups == 2)
            atomic_fetch_add(&w->n_seen, 1);
        buf_done(&out);
    }
    return NULL;
}

static void test_watching(void **state)
{
    static const char text[] = "groups:\n- name: g\n  rules:\n"
                               "  - {record: r, expr: 'a > 0'}\n"
                               "  - {alert: A, expr: 'r > 1', for: 2m, labels: {tier: P1}}\n"
                               "- name: h\n  rules: [{alert: B, expr: 'a * on () b'}]\n";
    struct watcher w = {.n_seen = 0};
    struct rig g;
    (void)state;
    rig_init(&g, &minutes);
    rig_load(&g, text, T0);
    w.rules = g.rules;
    assert_int_equal(pthread_create(&w.thread, NULL, watch, &w), 0);
    for (int i = 0; i < 300 || atomic_load(&w.n_seen) < 20; i++) {
        int64_t t = T0 + (int64_t)i * MINUTE;
        rig_put(&g, "a{i=\"1\"}", t, i % 7);
        rig_put(&g, "a{i=\"2\"}", t, i % 5);
        rig_put(&g, "b", t, 1);
        rules_evaluate(g.rules, t);
        if (i % 50 == 0)
            rig_load(&g, text, t);
    }
    atomic_store(&w.is_over, true);
    assert_int_equal(pthread_join(w.thread, NULL), 0);
    rig_done(&g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_watching)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
