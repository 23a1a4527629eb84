/* SPDX-License-Identifier: Apache-2.0 */
/*
 * review/firings: from samples of ALERTS to times, whatever tier they are from; which rule an alert
 * is of.
 */
#include "rig.h"

static const char rules[] = "groups:\n"
                            "  - name: g\n"
                            "    interval: 30s\n"
                            "    labels: {team: a}\n"
                            "    rules:\n"
                            "      - alert: Slow\n"
                            "        expr: up > 0\n"
                            "        for: 5m\n"
                            "        labels: {tier: P1}\n"
                            "      - alert: Page\n"
                            "        expr: up > 0\n"
                            "        labels: {slo: chat, tier: P0, note: '{{ $value }}'}\n"
                            "      - alert: Page\n"
                            "        expr: up > 0\n"
                            "        labels: {slo: batch, tier: P0}\n"
                            "      - record: x\n"
                            "        expr: up\n";

#define SLOW    "alertname=\"Slow\",team=\"a\",tier=\"P1\""
#define FIRING  "ALERTS{" SLOW ",alertstate=\"firing\"}"
#define PENDING "ALERTS{" SLOW ",alertstate=\"pending\"}"
#define AT(m)   (T0 + (m) * (int64_t)MINUTE)

/* Samples of a state: minutes, evaluations that each stands for, whether a marker ends them. */
struct part {
    bool is_firing;
    double from, to, step;
    double count;
    bool is_stale;
};
struct want {
    double from, fired, to, firing; /* minutes */
    bool is_cut;
};
static const struct {
    const char *name;
    struct part parts[6];
    struct want want[3];
    size_t n;
} cases[] = {
    {"one that waits and fires",
     {{false, 60, 65, 0.5, 1, true}, {true, 65, 75, 0.5, 1, true}},
     {{60, 65, 75, 10, false}},
     1},
    {"pending only", {{false, 60, 63, 0.5, 1, true}}, {{60, 0, 63, 0, false}}, 1},
    {"no marker: until the next evaluation after the last sample",
     {{true, 60, 75, 0.5, 1, false}},
     {{60, 60, 75, 15, false}},
     1},
    {"evaluations that were missed are bridged",
     {{true, 60, 65, 0.5, 1, false}, {true, 69, 75, 0.5, 1, true}},
     {{60, 60, 75, 15, false}},
     1},
    {"nothing for longer than queries look back",
     {{true, 60, 65, 0.5, 1, false}, {true, 80, 85, 0.5, 1, true}},
     {{60, 60, 65, 5, false}, {80, 80, 85, 5, false}},
     2},
    {"a marker ends it, however soon it waits and fires again",
     {{true, 60, 65, 0.5, 1, true}, {false, 66, 71, 0.5, 1, true}, {true, 71, 75, 0.5, 1, true}},
     {{60, 60, 65, 5, false}, {66, 71, 75, 4, false}},
     2},
    {"fires again without having waited: the evaluator was restarted",
     {{true, 60, 65, 0.5, 1, true}, {false, 68, 69, 0.5, 1, true}, {true, 69, 75, 0.5, 1, true}},
     {{60, 60, 75, 11, false}},
     1},
    {"the same an hour later is another one",
     {{true, 60, 65, 0.5, 1, true}, {true, 130, 135, 0.5, 1, true}},
     {{60, 60, 65, 5, false}, {130, 130, 135, 5, false}},
     2},
    {"began before the period, ended in it",
     {{true, -60, 20, 0.5, 1, true}},
     {{0, 0, 20, 20, true}},
     1},
    {"still fires", {{true, 1430, 1441, 0.5, 1, false}}, {{1430, 1430, 1440, 10, true}}, 1},
    {"summaries of 5 minutes: 20 evaluations, the last at 64.5, then a full one",
     {{true, 64.5, 65, 5, 10, false}, {true, 69.5, 70, 5, 10, false}, {true, 74, 75, 1, 9, true}},
     {{60, 60, 75, 15, false}},
     1},
    {"summaries: a short one in the middle of a window, its end by the marker",
     {{false, 61.5, 62, 5, 3, true}, {true, 62.5, 63, 5, 2, true}},
     {{60.5, 62, 63, 1, false}},
     1},
    {"counts that are none",
     {{true, 60, 60.5, 0.5, -7, false}, {true, 60.5, 61, 0.5, 1e300, true}},
     {{60, 60, 61, 1, false}},
     1},
};

static void fill(struct rig *g, const struct part *p)
{
    rig_run(g, p->is_firing ? FIRING : PENDING,
            (struct run_of){AT(0) + (int64_t)(p->from * MINUTE), AT(0) + (int64_t)(p->to * MINUTE),
                            (int64_t)(p->step * MINUTE), p->count, 0, p->is_stale});
}

static void compare(const char *name, const struct firing *f, const struct want *w)
{
    assert_row(name, f->from_ms == AT(0) + (int64_t)(w->from * MINUTE));
    assert_row(name, f->to_ms == AT(0) + (int64_t)(w->to * MINUTE));
    assert_row(name, f->firing_ms == (int64_t)(w->firing * MINUTE));
    assert_row(name, w->firing == 0 || f->fired_ms == AT(0) + (int64_t)(w->fired * MINUTE));
    assert_row(name, f->is_cut == w->is_cut);
}

static void test_cases(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct rig g;
        rig_start(&g, rules);
        for (size_t k = 0; k < ARRAY_LEN(cases[i].parts) && cases[i].parts[k].to != 0; k++)
            fill(&g, &cases[i].parts[k]);
        const struct review *r = rig_make(&g);
        assert_row(cases[i].name, r->n_series == 1);
        assert_row(cases[i].name, r->series[0].n == cases[i].n);
        for (size_t k = 0; k < cases[i].n; k++)
            compare(cases[i].name, &r->series[0].at[k], &cases[i].want[k]);
        rig_stop(&g);
    }
}

/* Rules that share a name are told apart by their labels; what no rule says has a row of its own,
 * by name and tier. */
static void test_rules_of_alerts(void **state)
{
    static const struct {
        const char *labels;
        size_t row;
    } alerts[] = {
        {"alertname=\"Page\",model=\"x\",slo=\"batch\",team=\"a\",tier=\"P0\"", 2},
        {"alertname=\"Page\",note=\"7\",slo=\"chat\",team=\"a\",tier=\"P0\"", 1},
        {"alertname=\"Page\",slo=\"batch\",team=\"a\",tier=\"P0\"", 2},
        {"alertname=\"Page\",slo=\"none\",team=\"a\",tier=\"P0\"", 3},
        {"alertname=\"Page\",slo=\"other\",team=\"a\",tier=\"P0\"", 3},
        {"alertname=\"Page\",slo=\"zz\",team=\"a\",tier=\"P2\"", 4},
        {"alertname=\"Slow\",team=\"b\",tier=\"P1\"", 5},
        {"alertname=\"Slow\",zone=\"1\"", 6},
    };
    struct rig g;
    (void)state;
    rig_start(&g, rules);
    for (size_t i = 0; i < ARRAY_LEN(alerts); i++)
        rig_alert(&g, alerts[i].labels, AT(60), 0, 5 * MINUTE);
    const struct review *r = rig_make(&g);
    assert_int_equal(r->n_series, ARRAY_LEN(alerts));
    for (size_t i = 0; i < r->n_series; i++)
        assert_int_equal(r->series[i].row, alerts[i].row);
    assert_int_equal(r->n_rows, 7);
    assert_int_equal(r->rows[2].n_fired, 2);
    assert_int_equal(r->rows[2].n_series, 2);
    assert_null(r->rows[4].rule);
    assert_span_equal("tier", r->rows[4].tier, SPAN("P2"));
    assert_int_equal(r->rows[0].n_fired, 0);
    rig_stop(&g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cases),
        cmocka_unit_test(test_rules_of_alerts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
