/* SPDX-License-Identifier: Apache-2.0 */
/*
 * review: requests of objectives over windows, what is real and what is noise, what no alert told
 * of, budgets.
 */
#include "review/review_burn.h"
#include "rig.h"

#define AT(m) (T0 + (m) * (int64_t)MINUTE)

static const char rules[] = "groups:\n"
                            "  - name: g\n"
                            "    rules:\n"
                            "      - {alert: Real, expr: up > 0, labels: {tier: P1}}\n"
                            "      - {alert: Noisy, expr: up > 0, labels: {tier: P2}}\n"
                            "      - {alert: Far, expr: up > 0, labels: {tier: P2}}\n";

/* --- windows --- */

struct at {
    double minute, v;
};
struct want {
    size_t window; /* of the day */
    double total;
};
static const struct {
    const char *name;
    struct at samples[6];
    struct want want[4];
    double all;
} growth[] = {
    {"to the window of the later one; windows hold their end",
     {{1, 0}, {4, 10}, {5, 13}, {5.5, 20}},
     {{0, 13}, {1, 7}},
     20},
    {"the first sample is no growth", {{1, 100}, {2, 101}}, {{0, 1}}, 1},
    {"from zero again", {{1, 100}, {2, 110}, {12, 4}, {13, 5}}, {{0, 10}, {2, 5}}, 15},
    {"behind a long gap evenly", {{0, 0}, {20, 8}}, {{0, 2}, {1, 2}, {2, 2}, {3, 2}}, 8},
    {"as samples of 5 minutes are", {{-1, 0}, {4.5, 3}, {9.5, 5}, {14.5, 5}}, {{0, 3}, {1, 2}}, 5},
    {"not what is no number",
     {{1, 0}, {2, -1}, {3, (double)NAN}, {4, (double)INFINITY}, {4.5, 6}},
     {{0, 6}},
     6},
};

static void test_windows(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(growth); i++) {
        struct burn_windows b;
        struct arena a;
        struct rig g;
        rig_start(&g, NULL);
        for (size_t k = 0; k < ARRAY_LEN(growth[i].samples); k++) {
            int64_t t = T0 + (int64_t)(growth[i].samples[k].minute * MINUTE);
            if (k == 0 || growth[i].samples[k].minute > 0)
                rig_run(&g, "llm_slo_total{" CHAT "}",
                        (struct run_of){t, t + 1, 2, growth[i].samples[k].v, 0, false});
        }
        const struct review *r = rig_make(&g);
        arena_init(&a, NULL);
        assert_int_equal(review_burn_read(g.review, g.slos, SLO_ERRORS, &a, &b), 0);
        assert_int_equal(b.from_ms, T0 - REVIEW_MARGIN_MS);
        for (size_t k = 0; k < ARRAY_LEN(growth[i].want) && growth[i].want[k].total > 0; k++)
            assert_row(growth[i].name, fabs(b.total[2 + growth[i].want[k].window] -
                                            growth[i].want[k].total) < 1e-9);
        assert_row(growth[i].name, fabs(b.total_sum[b.n] - growth[i].all) < 1e-9);
        assert_row(growth[i].name, fabs(b.bad_sum[b.n] - growth[i].all) < 1e-9);
        assert_row(growth[i].name, r->budgets[0].total <= growth[i].all + 1e-9);
        arena_done(&a);
        rig_stop(&g);
    }
}

static void test_rates(void **state)
{
    const struct {
        double total, bad, target, want;
    } rates[] = {{100, 1, 0.99, 1}, {100, 50, 0.99, 50}, {100, 0, 0.99, 0},
                 {0, 0, 0.99, 0},   {100, 10, 0.9, 1},   {100, 1, 1, 0}};
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rates); i++) {
        double got =
            review_burn_rate((struct burn_part){rates[i].total, rates[i].bad}, rates[i].target);
        assert_true(fabs(got - rates[i].want) < 1e-9);
    }
}

/* --- real and noise --- */

/* Bad from 02:00 to 02:20; no requests at all from 12:00 on. */
static void test_verdicts(void **state)
{
    static const struct bad bad[] = {{AT(120), AT(140), 30}};
    struct rig g;
    (void)state;
    rig_start(&g, rules);
    rig_traffic(&g, CHAT, AT(-20), AT(720), 60, bad, 1);
    rig_alert(&g, "alertname=\"Real\",tier=\"P1\"", AT(125), 0, 20 * MINUTE);
    /* One begins 8 min behind the trouble, one 20 min. */
    rig_alert(&g, "alertname=\"Noisy\",tier=\"P2\"", AT(148), 0, MINUTE);
    rig_alert(&g, "alertname=\"Noisy\",tier=\"P2\"", AT(160), 0, MINUTE);
    rig_alert(&g, "alertname=\"Noisy\",tier=\"P2\"", AT(180), 3 * MINUTE, 0);
    rig_alert(&g, "alertname=\"Far\",tier=\"P2\"", AT(780), 0, MINUTE);
    const struct review *r = rig_make(&g);
    const struct rule_row *real = rig_row(r, "Real"), *noisy = rig_row(r, "Noisy");
    const struct rule_row *far = rig_row(r, "Far");
    assert_int_equal(real->n_fired, 1);
    assert_int_equal(real->fired.n_real, 1);
    assert_true(real->worst && real->worst->burn > 10);
    assert_string_equal(real->worst->slo->name, "chat");
    assert_int_equal(noisy->n_fired, 2);
    assert_int_equal(noisy->fired.n_real, 1);
    assert_int_equal(noisy->fired.n_noise, 1);
    assert_int_equal(noisy->noise_ms, MINUTE);
    assert_int_equal(noisy->n_pending, 1);
    assert_int_equal(far->fired.n_unjudged, 1);
    assert_null(far->worst);
    assert_int_equal(r->n_misses, 0);
    assert_true(fabs(r->budgets[0].bad - 600) < 1e-6);
    assert_true(fabs(r->budgets[0].total - 720 * 60) < 1e-6);
    assert_ptr_equal(r->order[0], noisy);
    rig_stop(&g);
}

/* --- what no alert told of --- */

static const struct {
    const char *name;
    int from, to, per_minute; /* bad, minutes */
    const char *tier;         /* of an alert */
    int fires_from, fires_to;
    int64_t want_from, want_to; /* minutes; 0, 0: nothing was missed */
} outages[] = {
    {"nobody was told", 600, 615, 30, NULL, 0, 0, 600, 615},
    {"a P2 wakes nobody", 600, 615, 30, "P2", 601, 620, 600, 615},
    {"told meanwhile", 600, 615, 30, "P1", 605, 615, 0, 0},
    {"told before it began", 600, 615, 30, "P0", 500, 601, 0, 0},
    {"told, but it was over by then", 600, 615, 30, "P0", 500, 600, 600, 615},
    {"told 9 min behind it", 600, 615, 30, "P0", 624, 630, 0, 0},
    {"told too late", 600, 615, 30, "P0", 626, 630, 600, 615},
    {"too few to matter: 5 of 300", 600, 605, 1, NULL, 0, 0, 0, 0},
    {"few, for longer: 10 of 600", 600, 610, 1, NULL, 0, 0, 600, 610},
    {"at the end of the period", 1430, 1440, 30, NULL, 0, 0, 1430, 1440},
    {"at its begin", -5, 10, 30, NULL, 0, 0, -5, 10},
};

static void test_missed(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(outages); i++) {
        const struct bad bad = {AT(outages[i].from), AT(outages[i].to), outages[i].per_minute};
        char labels[64];
        struct rig g;
        rig_start(&g, rules);
        rig_traffic(&g, CHAT, AT(-20), AT(1440), 60, &bad, 1);
        (void)snprintf(labels, sizeof(labels), "alertname=\"X\",tier=\"%s\"",
                       outages[i].tier ? outages[i].tier : "");
        if (outages[i].tier)
            rig_alert(&g, labels, AT(outages[i].fires_from), 0,
                      AT(outages[i].fires_to) - AT(outages[i].fires_from));
        const struct review *r = rig_make(&g);
        bool is_missed = outages[i].want_to != 0;
        assert_row(outages[i].name, r->n_misses == (is_missed ? 1 : 0));
        if (is_missed) {
            assert_row(outages[i].name, r->misses[0].from_ms == AT(outages[i].want_from));
            assert_row(outages[i].name, r->misses[0].to_ms == AT(outages[i].want_to));
            assert_row(outages[i].name, r->misses[0].objective == SLO_ERRORS);
        }
        rig_stop(&g);
    }
}

/* Exactly the target is no miss; a window without requests within a stretch does not end it; the
 * most expensive comes first. */
static void test_stretches(void **state)
{
    const struct bad bad[] = {{AT(100), AT(105), 6}, {AT(300), AT(305), 2}, {AT(310), AT(315), 4}};
    struct rig g;
    (void)state;
    rig_start(&g, NULL);
    g.slos[0].targets[SLO_ERRORS].target = 0.9;
    rig_traffic(&g, CHAT, AT(-20), AT(240), 60, bad, 1);
    rig_traffic(&g, "model=\"n\",objective=\"errors\",slo=\"chat\",upstream=\"u\"", AT(299),
                AT(305), 10, bad + 1, 1);
    rig_traffic(&g, "model=\"o\",objective=\"errors\",slo=\"chat\",upstream=\"u\"", AT(310),
                AT(330), 10, bad + 2, 1);
    const struct review *r = rig_make(&g);
    assert_int_equal(r->n_misses, 1);
    assert_int_equal(r->misses[0].from_ms, AT(300));
    assert_int_equal(r->misses[0].to_ms, AT(315));
    assert_true(fabs(r->misses[0].bad - 30) < 1e-9);
    rig_stop(&g);
}

/* --- budgets --- */

static void test_budgets(void **state)
{
    static const struct bad bad[] = {{AT(60), AT(70), 30}, {AT(1320), AT(1330), 6}};
    struct rig g;
    (void)state;
    rig_start(&g, NULL);
    g.slos[0].window_ms = 6 * HOUR;
    g.slos[1].targets[SLO_TTFT] = (struct slo_target){.is_set = true, .target = 0.95};
    g.q.n_slos = 2;
    rig_traffic(&g, CHAT, AT(-20), AT(1440), 60, bad, 2);
    const struct review *r = rig_make(&g);
    assert_int_equal(r->n_budgets, 2);
    assert_true(fabs(r->budgets[0].bad - 360) < 1e-6);
    assert_int_equal(r->budgets[0].window_from_ms, AT(1080));
    assert_true(fabs(r->budgets[0].window_total - 360 * 60) < 1e-6);
    assert_true(fabs(r->budgets[0].window_bad - 60) < 1e-6);
    assert_true(r->budgets[1].first_ms > r->budgets[1].last_ms);
    rig_print(&g, true);
    rig_has(&g, "\"spent_ratio\":0.2777777777777");
    rig_has(&g, "\"spent_ratio\":null,\"left_ratio\":null");
    rig_stop(&g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_windows),   cmocka_unit_test(test_rates),
        cmocka_unit_test(test_verdicts),  cmocka_unit_test(test_missed),
        cmocka_unit_test(test_stretches), cmocka_unit_test(test_budgets),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
