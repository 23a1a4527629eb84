/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rules: what groups record and tell: order, labels, stale markers, limits, errors, slots, clocks.
 */
#include "rig.h"

#include "memfail.h"
#include "rules/overlay.h"

static const struct rules_config none = {.interval_ms = MINUTE};

static struct rig g;

static int setup(void **state)
{
    (void)state;
    rig_init(&g, &none);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    rig_done(&g);
    return 0;
}

#define HEAD "groups:\n- name: g\n  rules:\n"

/* --- recording --- */

static void test_later_rules_see_earlier_ones(void **state)
{
    (void)state;
    rig_load(&g,
             HEAD "  - {record: 'a:sum', expr: 'sum by (i) (a)'}\n"
                  "  - {record: 'a:twice', expr: '2 * a:sum'}\n"
                  "  - {record: 'a:count', expr: 'count(a:twice)'}\n"
                  "  - {record: 'a:n', expr: 'sum(count_over_time(a:sum[5m]))'}\n",
             T0);
    rig_put(&g, "a{i=\"1\"}", T0, 1);
    rig_put(&g, "a{i=\"2\"}", T0, 2);
    g.is_late = true;
    rules_evaluate(g.rules, T0);
    rules_evaluate(g.rules, T0 + MINUTE); /* nothing is stored yet */
    rig_put(&g, "a{i=\"1\"}", T0 + 2 * MINUTE, 10);
    rig_store(&g); /* now it is, and the reader has both */
    rules_evaluate(g.rules, T0 + 2 * MINUTE);
    assert_query(&g, "a:twice", T0 + MINUTE, "a:twice{i=\"1\"} 2\na:twice{i=\"2\"} 4\n");
    assert_query(&g, "a:count", T0, "a:count 2\n");
    assert_query(&g, "a:n", T0, "a:n 2\n");
    assert_query(&g, "a:n", T0 + MINUTE, "a:n 4\n");
    assert_query(&g, "a:n", T0 + 2 * MINUTE, "a:n 6\n");
    assert_query(&g, "a:twice", T0 + 2 * MINUTE, "a:twice{i=\"1\"} 20\na:twice{i=\"2\"} 4\n");
}

static void test_vanished_series_are_marked(void **state)
{
    (void)state;
    rig_load(&g,
             HEAD "  - {record: r, expr: 'a > 0'}\n"
                  "  - {record: 'r:n', expr: 'count(r) or vector(0)'}\n",
             T0);
    rig_put(&g, "a{i=\"1\"}", T0, 1);
    rig_put(&g, "a{i=\"2\"}", T0, 1);
    g.is_late = true;
    rules_evaluate(g.rules, T0);
    rig_put(&g, "a{i=\"2\"}", T0 + MINUTE, 0);
    rules_evaluate(g.rules, T0 + MINUTE);
    assert_query(&g, "r", T0 + MINUTE, "r{i=\"1\"} 1\n");
    assert_query(&g, "r:n", T0 + MINUTE, "r:n 1\n"); /* the marker is seen at once */
    rig_put(&g, "a{i=\"2\"}", T0 + 2 * MINUTE, 5);
    rules_evaluate(g.rules, T0 + 2 * MINUTE); /* and is back */
    assert_query(&g, "r:n", T0 + 2 * MINUTE, "r:n 2\n");
}

static void test_labels_of_records(void **state)
{
    (void)state;
    rig_load(&g,
             "groups:\n- name: g\n  labels: {team: infra, tier: low, gone: x}\n  rules:\n"
             "  - record: r\n    expr: a\n    labels: {tier: high, i: '', j: '2', gone: ''}\n"
             "  - {record: s, expr: '42'}\n"
             "  - {record: t, expr: 'a', labels: {i: same}}\n",
             T0);
    rig_put(&g, "a{i=\"1\", j=\"1\", team=\"other\", gone=\"y\"}", T0, 1);
    rig_put(&g, "a{i=\"2\", j=\"3\", k=\"3\"}", T0, 2);
    rules_evaluate(g.rules, T0);
    assert_query(&g, "r", T0,
                 "r{j=\"2\", k=\"3\", team=\"infra\", tier=\"high\"} 2\n"
                 "r{j=\"2\", team=\"infra\", tier=\"high\"} 1\n");
    assert_query(&g, "s", T0, "s{gone=\"x\", team=\"infra\", tier=\"low\"} 42\n");
    assert_query(&g, "count(t)", T0, "{} 2\n");
    assert_error(&g, "r", "");
}

static void test_same_labels_twice(void **state)
{
    (void)state;
    rig_load(&g,
             HEAD "  - {record: r, expr: 'a', labels: {i: ''}}\n"
                  "  - {alert: A, expr: 'a', labels: {i: x}}\n",
             T0);
    rig_put(&g, "a{i=\"1\"}", T0, 1);
    rules_evaluate(g.rules, T0);
    assert_query(&g, "r", T0, "r 1\n");
    assert_told(&g, "{alertname=\"A\", i=\"x\"} firing value=1 starts=+0 ends=+240\n");
    rig_put(&g, "a{i=\"2\"}", T0 + MINUTE, 1);
    rules_evaluate(g.rules, T0 + MINUTE);
    assert_error(&g, "r",
                 "vector contains metrics with the same labelset after applying rule labels");
    assert_error(&g, "A",
                 "vector contains metrics with the same labelset after applying alert labels");
    assert_query(&g, "r", T0 + MINUTE, "r 1\n"); /* no marker: as it was */
    assert_query(&g, "timestamp(r)", T0 + MINUTE, "{} 1700000040\n");
    assert_told(&g, "");
}

static void test_native_histograms(void **state)
{
    struct span text = SPAN("{{schema:0 sum:3 count:3 buckets:[1 2]}}");
    struct label pair = {SPAN(LABEL_NAME), SPAN("h")};
    struct fhist *h;
    struct arena a;
    (void)state;
    arena_init(&a, NULL);
    assert_int_equal(fhist_parse(&text, &a, &h, NULL), 0);
    assert_int_equal(memory_append(g.memory, (struct labels){&pair, 1}, T0, 0, h), 0);
    arena_done(&a);
    rig_load(&g,
             HEAD "  - {record: r, expr: '2 * h'}\n"
                  "  - {record: 'r:count', expr: 'histogram_count(r)'}\n"
                  "  - {alert: A, expr: 'r'}\n",
             T0);
    g.is_late = true;
    rules_evaluate(g.rules, T0);
    assert_query(&g, "r:count", T0, "r:count 6\n");
    assert_query(&g, "r", T0, "r {{schema:0 count:6 sum:6 buckets:[2 4]}}\n");
    assert_told(&g, "{alertname=\"A\"} firing value=0 starts=+0 ends=+240\n");
}

static void test_query_offset(void **state)
{
    (void)state;
    rig_load(&g,
             "groups:\n- name: g\n  query_offset: 2m\n  rules:\n"
             "  - {record: r, expr: 'a'}\n  - {alert: A, expr: 'a == 1', for: 1m}\n",
             T0);
    rig_put(&g, "a", T0 - 2 * MINUTE, 1);
    rig_put(&g, "a", T0 - MINUTE, 1);
    rig_put(&g, "a", T0, 2);
    rules_evaluate(g.rules, T0);
    rules_evaluate(g.rules, T0 + MINUTE);
    assert_query(&g, "timestamp(r)", T0 + MINUTE, "{} 1699999980\n");
    assert_query(&g, "r", T0 - 2 * MINUTE, "r 1\n");
    /* pending since the evaluation, not since the sample */
    assert_query(&g, "ALERTS_FOR_STATE", T0, "ALERTS_FOR_STATE{alertname=\"A\"} 1700000040\n");
    assert_told(&g, "{alertname=\"A\"} firing value=1 starts=+60 ends=+300\n");
    rules_evaluate(g.rules, T0 + 2 * MINUTE);
    assert_query(&g, "ALERTS", T0, "");
}

static void test_two_rules_of_one_series(void **state)
{
    (void)state;
    rig_load(&g,
             HEAD "  - {record: r, expr: 'a'}\n  - {record: r, expr: 'a + 0'}\n"
                  "  - {record: s, expr: 'a'}\n  - {record: s, expr: '2 * a'}\n",
             T0);
    rig_put(&g, "a", T0 - MINUTE, 1);
    rules_evaluate(g.rules, T0);
    assert_query(&g, "r", T0, "r 1\n");
    assert_query(&g, "s", T0, "s 1\n");
    assert_error(&g, "r", "");
    struct rules_stats stats;
    rules_stats(g.rules, &stats);
    assert_int_equal(stats.n_failures, 1); /* duplicate sample for timestamp */
    rules_evaluate(g.rules, T0 - MINUTE);
    assert_error(&g, "r", "out of order sample");
}

/* --- alerts --- */

static void test_alert_series(void **state)
{
    (void)state;
    rig_load(&g,
             HEAD "  - alert: A\n    expr: a > 1\n    for: 1m\n    labels: {tier: P1}\n"
                  "    annotations: {summary: hot, none: ''}\n",
             T0);
    rig_put(&g, "a{i=\"1\"}", T0, 2);
    rig_put(&g, "a{i=\"2\"}", T0, 0);
    rules_evaluate(g.rules, T0);
    assert_query(&g, "ALERTS", T0,
                 "ALERTS{alertname=\"A\", alertstate=\"pending\", i=\"1\", tier=\"P1\"} 1\n");
    assert_told(&g, "");
    rules_evaluate(g.rules, T0 + MINUTE);
    assert_query(&g, "ALERTS", T0 + MINUTE,
                 "ALERTS{alertname=\"A\", alertstate=\"firing\", i=\"1\", tier=\"P1\"} 1\n");
    assert_query(&g, "ALERTS_FOR_STATE", T0 + MINUTE,
                 "ALERTS_FOR_STATE{alertname=\"A\", i=\"1\", tier=\"P1\"} 1700000040\n");
    assert_told(&g, "{alertname=\"A\", i=\"1\", tier=\"P1\"} firing value=2 starts=+60 ends=+300 "
                    "none=\"\" summary=\"hot\"\n");
    rig_put(&g, "a{i=\"1\"}", T0 + 2 * MINUTE, 1);
    rules_evaluate(g.rules, T0 + 2 * MINUTE);
    assert_query(&g, "{__name__=~\"ALERTS.*\"}", T0 + 2 * MINUTE, "");
    assert_told(&g, "{alertname=\"A\", i=\"1\", tier=\"P1\"} resolved value=2 starts=+60 ends=+120 "
                    "none=\"\" summary=\"hot\"\n");
}

/* --- templates --- */

static void test_templates(void **state)
{
    static struct label external[] = {{SPAN_INIT("site"), SPAN_INIT("b1")}};
    const struct rules_config config = {.interval_ms = MINUTE,
                                        .external_labels = {external, 1},
                                        .external_url = SPAN_INIT("https://x.example")};
    (void)state;
    rig_stop(&g);
    rig_start(&g, &config);
    rig_load(
        &g,
        "groups:\n- name: g\n  labels: {site: '{{ $externalLabels.site }}'}\n  rules:\n"
        "  - alert: A\n    expr: a > 1\n"
        "    labels: {what: '{{ $labels.__name__ }}-{{ $labels.i }}', i: '{{ 1 | humanize }}'}\n"
        "    annotations:\n      value: '{{ $value }} of {{ query \"count(a)\" | first | value "
        "}}'\n"
        "      at: '{{ $externalURL }}'\n"
        "      none: '{{ query \"none\" | first | value }}'\n",
        T0);
    rig_put(&g, "a{i=\"7\"}", T0, 2.5);
    rig_put(&g, "a{i=\"8\"}", T0, 0);
    rules_evaluate(g.rules, T0);
    assert_told(
        &g,
        "{alertname=\"A\", i=\"1\", site=\"b1\", what=\"a-7\"} firing value=2.5 starts=+0 "
        "ends=+240 at=\"https://x.example\" none=\"<error expanding template: 1:19: error calling "
        "first: first() called on vector with no elements>\" value=\"2.5 of "
        "2\"\n");
    /* Annotations are made anew each time. */
    rig_put(&g, "a{i=\"9\"}", T0 + MINUTE, 0);
    rig_put(&g, "a{i=\"7\"}", T0 + MINUTE, 3);
    rig_put(&g, "none", T0 + MINUTE, 1);
    rules_evaluate(g.rules, T0 + MINUTE);
    rules_evaluate(g.rules, T0 + 2 * MINUTE);
    assert_told(&g,
                "{alertname=\"A\", i=\"1\", site=\"b1\", what=\"a-7\"} firing value=3 starts=+0 "
                "ends=+360 at=\"https://x.example\" none=\"1\" value=\"3 of 3\"\n");
}

/* A template that gives nothing: no label of the alert; ALERTS shows what is written. */
static void test_empty_label(void **state)
{
    (void)state;
    rig_load(&g, HEAD "  - {alert: A, expr: a, labels: {x: '{{ $labels.nothing }}'}}\n", T0);
    rig_put(&g, "a", T0, 1);
    rules_evaluate(g.rules, T0);
    assert_told(&g, "{alertname=\"A\"} firing value=1 starts=+0 ends=+240\n");
    assert_query(&g, "ALERTS_FOR_STATE", T0,
                 "ALERTS_FOR_STATE{alertname=\"A\", x=\"{{ $labels.nothing }}\"} 1700000040\n");
}

/* Each quote is six bytes of the link. */
static void test_a_long_expression(void **state)
{
    enum { QUOTES = 60 * 1024 };
    struct buf text;
    (void)state;
    buf_init(&text, 2 * QUOTES);
    assert_int_equal(buf_append(&text, SPAN(HEAD "  - {alert: A, expr: 'a{x!=`")), 0);
    for (int i = 0; i < QUOTES; i++)
        assert_int_equal(buf_append(&text, SPAN("\"")), 0);
    assert_int_equal(buf_append(&text, SPAN("`}'}\n\0")), 0);
    rig_load(&g, buf_span(&text).p, T0);
    buf_done(&text);
    rig_put(&g, "a", T0, 1);
    rules_evaluate(g.rules, T0);
    assert_told(&g, "{alertname=\"A\"} firing value=1 starts=+0 ends=+240\n");
}

/* That of a group is read when it is loaded. */
static void test_wrong_group_label(void **state)
{
    (void)state;
    rig_load(&g,
             "groups:\n- name: g\n  labels: {x: '{{ nonsense }}'}\n"
             "  rules: [{alert: A, expr: a}, {record: r, expr: a}]\n",
             T0);
    rig_put(&g, "a", T0, 1);
    rules_evaluate(g.rules, T0);
    assert_query(&g, "r", T0, "r{x=\"{{ nonsense }}\"} 1\n");
    assert_true(span_starts_with(buf_span(&g.told),
                                 SPAN("{alertname=\"A\", x=\"<error expanding template: ")));
    buf_clear(&g.told);
}

static void test_an_error_changes_nothing(void **state)
{
    (void)state;
    rig_load(&g, HEAD "  - {alert: A, expr: 'a * on () b', for: 1m}\n", T0);
    rig_put(&g, "a{i=\"1\"}", T0, 1);
    rig_put(&g, "b", T0, 1);
    rules_evaluate(g.rules, T0);
    rig_put(&g, "a{i=\"2\"}", T0 + MINUTE, 1);
    rules_evaluate(g.rules, T0 + MINUTE);
    assert_error(&g, "A",
                 "multiple matches for labels: many-to-one matching must be explicit "
                 "(group_left/group_right)");
    assert_told(&g, "");
    assert_query(&g, "ALERTS", T0 + MINUTE,
                 "ALERTS{alertname=\"A\", alertstate=\"pending\"} 1\n"); /* by lookback */
    rig_put(&g, "a{i=\"2\"}", T0 + 2 * MINUTE, series_stale());
    rules_evaluate(g.rules, T0 + 2 * MINUTE); /* pending since T0 */
    assert_told(&g, "{alertname=\"A\"} firing value=1 starts=+120 ends=+360\n");
    assert_error(&g, "A", "");
}

static void test_limits(void **state)
{
    (void)state;
    rig_load(&g,
             "groups:\n- name: g\n  limit: 1\n  rules:\n"
             "  - {record: r, expr: 'a'}\n  - {alert: A, expr: 'a', for: 2m}\n",
             T0);
    rig_put(&g, "a{i=\"1\"}", T0, 1);
    rules_evaluate(g.rules, T0);
    rig_put(&g, "a{i=\"2\"}", T0 + MINUTE, 1);
    rules_evaluate(g.rules, T0 + MINUTE);
    assert_error(&g, "r", "exceeded limit of 1 with 2 series");
    assert_error(&g, "A", "exceeded limit of 1 with 2 alerts");
    assert_query(&g, "r", T0 + MINUTE, "r{i=\"1\"} 1\n"); /* what was recorded before */
    rig_put(&g, "a{i=\"2\"}", T0 + 2 * MINUTE, series_stale());
    rules_evaluate(g.rules, T0 + 2 * MINUTE); /* `for` begins anew */
    assert_query(&g, "ALERTS", T0 + 2 * MINUTE,
                 "ALERTS{alertname=\"A\", alertstate=\"pending\", i=\"1\"} 1\n");
    assert_query(&g, "ALERTS_FOR_STATE", T0 + 2 * MINUTE,
                 "ALERTS_FOR_STATE{alertname=\"A\", i=\"1\"} 1700000160\n");
    assert_told(&g, "");
}

static void test_many_alerts_are_refused(void **state)
{
    struct buf text;
    (void)state;
    buf_init(&text, 1024);
    assert_int_equal(buf_printf(&text, HEAD "  - {alert: A, expr: 'a'}\n"), 0);
    rig_load(&g, HEAD "  - {alert: A, expr: 'a'}\n", T0);
    for (int i = 0; i <= RULES_ALERTS_MAX; i++) {
        char name[32];
        (void)snprintf(name, sizeof(name), "a{i=\"%d\"}", i);
        rig_put(&g, name, T0, 1);
    }
    rules_evaluate(g.rules, T0);
    assert_error(&g, "A", "10001 alerts, 10000 is the most that one rule may have");
    assert_told(&g, "");
    buf_done(&text);
}

/* An evaluation that takes too long, or too many samples, ends with an error of its own. */
static void test_costly_expressions(void **state)
{
    const struct rules_config config = {
        .interval_ms = MINUTE, .timeout_ms = 1, .max_samples = 3000000};
    (void)state;
    rig_stop(&g);
    rig_start(&g, &config);
    rig_load(&g,
             HEAD "  - {record: slow, expr: 'sum(count_over_time(vector(1)[30d:1s]))'}\n"
                  "  - {record: big, expr: 'sum(count_over_time(vector(1)[90d:1s]))'}\n"
                  "  - {record: text, expr: 'a[5m]'}\n  - {record: fine, expr: 'a'}\n",
             T0);
    rig_put(&g, "a", T0, 1);
    rules_evaluate(g.rules, T0);
    assert_error(&g, "slow", "query timed out in expression evaluation");
    assert_error(&g, "big",
                 "query processing would load too many samples into memory in query execution "
                 "(more than 3000000)");
    assert_error(&g, "text", "rule result is not a vector or scalar");
    assert_query(&g, "fine", T0, "fine 1\n");
}

/* --- the store --- */

static void test_a_store_that_refuses(void **state)
{
    struct rules_stats stats;
    (void)state;
    rig_load(&g,
             HEAD "  - {record: r, expr: 'a'}\n  - {record: s, expr: 'r'}\n"
                  "  - {alert: A, expr: 'a'}\n",
             T0);
    rig_put(&g, "a", T0, 1);
    g.write_error = -ENOSPC;
    rules_evaluate(g.rules, T0);
    assert_error(&g, "r", "recording samples failed: no space left on device");
    assert_error(&g, "s", ""); /* what is not recorded is not seen */
    assert_told(&g, "{alertname=\"A\"} firing value=1 starts=+0 ends=+240\n");
    rules_stats(g.rules, &stats);
    assert_int_equal(stats.n_lost_batches, 2);
    assert_int_equal(stats.n_firing, 1);
    g.write_error = 0;
    rules_evaluate(g.rules, T0 + MINUTE);
    assert_query(&g, "s", T0 + MINUTE, "s 1\n");
    assert_error(&g, "r", "");
}

static void test_a_store_that_is_busy(void **state)
{
    struct rules_stats stats;
    (void)state;
    rig_load(&g, HEAD "  - {alert: A, expr: 'vector(1)'}\n", T0);
    g.open_error = -EBUSY;
    int64_t slot = rules_next_ms(g.rules);
    rules_tick(g.rules, slot, NULL, NULL);
    rules_stats(g.rules, &stats);
    assert_int_equal(stats.n_missed, 1);
    assert_int_equal(stats.n_evaluations, 0);
    assert_true(stats.is_blind);
    g.open_error = 0;
    assert_int_equal(rules_next_ms(g.rules), slot + MINUTE);
    rules_tick(g.rules, slot + MINUTE, NULL, NULL);
    assert_int_equal(g.n_told, 1);
    rules_stats(g.rules, &stats);
    assert_false(stats.is_blind);
}

static void test_the_end(void **state)
{
    (void)state;
    rig_load(&g, HEAD "  - {record: r, expr: 'a'}\n  - {alert: A, expr: 'a'}\n", T0);
    rig_put(&g, "a", T0, 1);
    rules_evaluate(g.rules, T0);
    rig_stop(&g);
    assert_query(&g, "r", T0, "r 1\n");
    assert_query(&g, "r", T0 + 1, "");
    assert_query(&g, "ALERTS", T0 + 1, "");
    assert_query(&g, "ALERTS_FOR_STATE", T0 + 1, "ALERTS_FOR_STATE{alertname=\"A\"} 1700000040\n");
    rig_start(&g, &none);
}

/* --- slots and clocks --- */

static void test_slots(void **state)
{
    struct rules_stats stats;
    (void)state;
    rig_load(&g,
             "groups:\n- name: g\n  rules: [{record: r, expr: 'vector(1)'}]\n"
             "- name: h\n  interval: 10s\n  rules: [{record: s, expr: 'vector(1)'}]\n",
             T0);
    int64_t first = rules_next_ms(g.rules);
    assert_in_range(first, T0 + 1, T0 + 10 * S);
    for (int64_t t = T0; t <= T0 + 10 * MINUTE; t += 100)
        rules_tick(g.rules, t, NULL, NULL);
    rules_stats(g.rules, &stats);
    assert_int_equal(stats.n_evaluations, 70);
    assert_int_equal(stats.n_missed, 0);
    assert_query(&g, "count_over_time(s[10m])", T0 + 10 * MINUTE, "{} 60\n");
    assert_int_equal(rules_next_ms(g.rules), first + 10 * MINUTE);

    /* Late by 35 s: of the slots in between only the last is evaluated, at its own moment. */
    int64_t next = rules_next_ms(g.rules);
    rules_tick(g.rules, next + 35 * S, NULL, NULL);
    rules_stats(g.rules, &stats);
    assert_int_equal(stats.n_missed, 3);
    assert_query(&g, "count_over_time(s[35s])", next + 35 * S, "{} 1\n");
    assert_query(&g, "count_over_time(s[1ms])", next + 30 * S, "{} 1\n");
}

/* The same file gives the same slots, others other ones. */
static void test_slots_are_spread(void **state)
{
    int64_t first[2];
    (void)state;
    for (int i = 0; i < 2; i++) {
        rig_load(&g, HEAD "  - {record: r, expr: 'vector(1)'}\n", T0 + i);
        first[i] = rules_next_ms(g.rules);
    }
    assert_int_equal(first[0], first[1]);
    rig_load(&g, "groups:\n- name: other\n  rules: [{record: r, expr: 'vector(1)'}]\n", T0);
    assert_int_not_equal(first[0], rules_next_ms(g.rules));
}

static uint64_t n_evaluations(void)
{
    struct rules_stats stats;
    rules_stats(g.rules, &stats);
    return stats.n_evaluations;
}

static void test_clock_steps(void **state)
{
    (void)state;
    rig_load(&g, HEAD "  - {alert: A, expr: 'vector(1)', for: 5m}\n", T0);
    int64_t now = rules_next_ms(g.rules);
    for (int i = 0; i < 3; i++)
        rules_tick(g.rules, now + i * MINUTE, NULL, NULL);
    assert_int_equal(n_evaluations(), 3);

    now -= 5 * HOUR; /* back: no waiting for five hours, and `for` goes on */
    rules_tick(g.rules, now + 2 * MINUTE, NULL, NULL);
    for (int i = 1; i <= 3; i++)
        rules_tick(g.rules, now + 2 * MINUTE + i * MINUTE, NULL, NULL);
    assert_int_equal(n_evaluations(), 6);
    assert_int_equal(g.n_told, 1);
    rules_tick(g.rules, now + 7 * MINUTE, NULL, NULL); /* told again in time, too */
    assert_int_equal(g.n_told, 2);

    now += 30 * HOUR; /* forth: one evaluation, the others are missed */
    rules_tick(g.rules, now, NULL, NULL);
    assert_int_equal(n_evaluations(), 8);
    rules_tick(g.rules, now + MINUTE, NULL, NULL);
    assert_int_equal(n_evaluations(), 9);

    /* A little back: no slot twice, none left out. */
    rules_tick(g.rules, now + MINUTE - 50, NULL, NULL);
    assert_int_equal(n_evaluations(), 9);
    rules_tick(g.rules, now + 2 * MINUTE, NULL, NULL);
    assert_int_equal(n_evaluations(), 10);
}

static bool stop(void *ctx)
{
    return (*(int *)ctx)-- <= 0;
}

static void test_stopping(void **state)
{
    int n = 1;
    (void)state;
    rig_load(&g,
             HEAD "  - {record: r, expr: 'vector(1)'}\n  - {record: s, expr: 'vector(1)'}\n"
                  "  - {record: t, expr: 'vector(1)'}\n",
             T0);
    rules_tick(g.rules, rules_next_ms(g.rules), stop, &n);
    assert_in_range(n_evaluations(), 0, 2);
    rules_tick(g.rules, rules_next_ms(g.rules), NULL, NULL);
    assert_in_range(n_evaluations(), 3, 5);
}

/* --- memory --- */

static const char everything[] =
    HEAD "  - {record: r, expr: 'a > 0'}\n"
         "  - {record: s, expr: 'sum(r) + histogram_count(h)', labels: {x: y}}\n"
         "  - {alert: A, expr: 'r > 0', for: 1m, annotations: {summary: hot}}\n";

/* The tick in which the n-th allocation fails leaves everything as it was, and says so. */
static int attempt(void *ctx)
{
    struct rules_stats stats;
    struct rig *rig = ctx;
    uint64_t n_failures;
    rules_stats(rig->rules, &stats);
    n_failures = stats.n_failures + stats.n_missed + stats.n_lost_batches;
    rules_evaluate(rig->rules, T0 + MINUTE);
    rules_stats(rig->rules, &stats);
    return stats.n_failures + stats.n_missed + stats.n_lost_batches > n_failures ? -ENOMEM : 0;
}

static void test_memory(void **state)
{
    bool failed = true;
    (void)state;
    for (uint64_t n = 1; failed; n++) {
        struct rig own;
        mem_fail_off();
        rig_init(&own, &none);
        own.is_late = own.is_silent = true; /* the rig itself allocates nothing */
        rig_put(&own, "a{i=\"1\"}", T0, 1);
        rig_put(&own, "a{i=\"2\"}", T0, 1);
        rig_load(&own, everything, T0);
        rules_evaluate(own.rules, T0);
        rig_put(&own, "a{i=\"2\"}", T0 + MINUTE, 0);
        rig_put(&own, "a{i=\"3\"}", T0 + MINUTE, 1);
        mem_fail_from(n);
        failed = attempt(&own) < 0;
        mem_fail_off();
        if (failed) {
            bool is_told = own.n_told > 0;
            rules_evaluate(own.rules, T0 + 2 * MINUTE);
            /* As if the one that failed had not been: no state is lost. */
            assert_error(&own, "A", "");
            assert_query(&own, "count(r)", T0 + 2 * MINUTE, "{} 2\n");
            assert_query(&own, "ALERTS{i=\"1\"}", T0 + 2 * MINUTE,
                         "ALERTS{alertname=\"A\", alertstate=\"firing\", i=\"1\"} 1\n");
            assert_true(own.n_told >= 1 || is_told);
        } else {
            assert_true(n > 20);
        }
        int64_t n_live = mem_live_blocks();
        rig_done(&own);
        assert_true(mem_live_blocks() < n_live);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_later_rules_see_earlier_ones, setup, teardown),
        cmocka_unit_test_setup_teardown(test_vanished_series_are_marked, setup, teardown),
        cmocka_unit_test_setup_teardown(test_labels_of_records, setup, teardown),
        cmocka_unit_test_setup_teardown(test_same_labels_twice, setup, teardown),
        cmocka_unit_test_setup_teardown(test_native_histograms, setup, teardown),
        cmocka_unit_test_setup_teardown(test_query_offset, setup, teardown),
        cmocka_unit_test_setup_teardown(test_two_rules_of_one_series, setup, teardown),
        cmocka_unit_test_setup_teardown(test_alert_series, setup, teardown),
        cmocka_unit_test_setup_teardown(test_templates, setup, teardown),
        cmocka_unit_test_setup_teardown(test_empty_label, setup, teardown),
        cmocka_unit_test_setup_teardown(test_a_long_expression, setup, teardown),
        cmocka_unit_test_setup_teardown(test_wrong_group_label, setup, teardown),
        cmocka_unit_test_setup_teardown(test_an_error_changes_nothing, setup, teardown),
        cmocka_unit_test_setup_teardown(test_limits, setup, teardown),
        cmocka_unit_test_setup_teardown(test_many_alerts_are_refused, setup, teardown),
        cmocka_unit_test_setup_teardown(test_costly_expressions, setup, teardown),
        cmocka_unit_test_setup_teardown(test_a_store_that_refuses, setup, teardown),
        cmocka_unit_test_setup_teardown(test_a_store_that_is_busy, setup, teardown),
        cmocka_unit_test_setup_teardown(test_the_end, setup, teardown),
        cmocka_unit_test_setup_teardown(test_slots, setup, teardown),
        cmocka_unit_test_setup_teardown(test_slots_are_spread, setup, teardown),
        cmocka_unit_test_setup_teardown(test_clock_steps, setup, teardown),
        cmocka_unit_test_setup_teardown(test_stopping, setup, teardown),
        cmocka_unit_test(test_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
