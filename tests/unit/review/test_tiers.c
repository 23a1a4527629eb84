/* SPDX-License-Identifier: Apache-2.0 */
/*
 * review over a real store, most of it in the tier of 5 minutes: what comes of it is what comes of
 * the samples as they were written. test-links: tsdb
 */
#include "rig.h"

#include "tempdir.h"
#include "tsdb/tsdb.h"

enum { DAYS = 16 };

static const char rules[] = "groups:\n"
                            "  - name: g\n"
                            "    rules:\n"
                            "      - {alert: Slow, expr: up > 0, for: 2m, labels: {tier: P2}}\n";

static const char *const texts[] = {
    "ALERTS{alertname=\"Slow\",alertstate=\"pending\",tier=\"P2\"}",
    "ALERTS{alertname=\"Slow\",alertstate=\"firing\",tier=\"P2\"}",
    "llm_slo_total{" CHAT "}",
    "llm_slo_good_total{" CHAT "}",
};
enum { PENDING, FIRING, TOTAL, GOOD, SERIES };

struct both {
    struct rig g; /* in memory */
    struct tsdb *t;
    struct labels labels[SERIES];
    struct arena a;
    bool is_on[SERIES];
    double total, good;
};

static void put(struct both *b, int series, int64_t t_ms, double v)
{
    uint32_t id;
    enum tsdb_kind kind = series < TOTAL ? TSDB_UNKNOWN : TSDB_COUNTER;
    assert_int_equal(memory_append(b->g.m, b->labels[series], t_ms, v, NULL), 0);
    assert_int_equal(tsdb_series(b->t, b->labels[series], kind, &id), 0);
    assert_int_equal(tsdb_append(b->t, id, t_ms, v), 0);
}

static void put_state(struct both *b, int series, int64_t t_ms, bool is_on)
{
    if (is_on || b->is_on[series])
        put(b, series, t_ms, is_on ? 1 : series_stale());
    b->is_on[series] = is_on;
}

/* Every 5 h an alert of 2 min and a bit, once a day one of 40 min while requests are bad, of which
 * the pending part begins in the middle of a window. */
static void step(struct both *b, int64_t t_ms)
{
    int64_t in_day = (t_ms - T0) % DAY, in_5h = (t_ms - T0) % (5 * HOUR);
    int64_t since = in_day >= 3 * HOUR && in_day < 4 * HOUR ? in_day - 3 * HOUR - 7 * STEP : -1;
    int64_t length = 40 * MINUTE;
    bool is_bad = since >= 0 && since < length;
    if (since < 0) {
        since = in_5h - 77 * MINUTE;
        length = 4 * MINUTE + STEP;
    }
    put_state(b, PENDING, t_ms, since >= 0 && since < 2 * MINUTE);
    put_state(b, FIRING, t_ms, since >= 2 * MINUTE && since < length);
    put(b, TOTAL, t_ms, b->total);
    put(b, GOOD, t_ms, b->good);
    b->total += 20;
    b->good += is_bad ? 10 : 20;
    if ((t_ms - T0) % (7 * DAY) == 5 * DAY) /* the gateway was started anew */
        b->total = b->good = 0;
}

static void upkeep(struct both *b, int64_t now_ms)
{
    int r;
    assert_int_equal(tsdb_commit(b->t), 0);
    while ((r = tsdb_maintain(b->t, now_ms)) == 1)
        ;
    assert_int_equal(r, 0);
}

static void fill(struct both *b)
{
    arena_init(&b->a, NULL);
    for (int i = 0; i < SERIES; i++) {
        struct span s = span_cstr(texts[i]);
        struct promql_error error;
        assert_int_equal(promql_parse_series(&s, &b->a, &b->labels[i], &error), 0);
    }
    for (int64_t t = T0; t <= T0 + DAYS * DAY; t += STEP) {
        step(b, t);
        if (t % HOUR == 0)
            upkeep(b, t);
    }
}

static void test_tiers(void **state)
{
    static struct both b;
    struct tempdir dir;
    struct reader *reader;
    struct rig other; /* the same question to the store */
    struct tsdb_config config = {0};
    struct err err = {0};
    (void)state;
    tempdir_make(&dir);
    rig_start(&b.g, rules);
    assert_int_equal(tsdb_open(tempdir_file(&dir, "series.db"), &config, &b.t, NULL, &err), 0);
    fill(&b);
    assert_int_equal(tsdb_reader_open(b.t, &reader), 0);
    b.g.q.to_ms = T0 + DAYS * DAY;
    other = b.g;
    other.q.reader = reader;
    other.review = NULL;
    buf_init(&other.text, 1U << 20);
    const struct review *raw = rig_make(&b.g), *coarse = rig_make(&other);
    assert_int_equal(raw->n_stretches, 1);
    assert_int_equal(coarse->n_stretches, 2);
    assert_int_equal(coarse->stretches[0].resolution_ms, 5 * MINUTE);

    assert_true(raw->series[0].n > 4 * DAYS);
    assert_int_equal(coarse->series[0].n, raw->series[0].n);
    for (size_t i = 0; i < raw->series[0].n; i++) {
        const struct firing *x = &raw->series[0].at[i], *y = &coarse->series[0].at[i];
        assert_int_equal(y->from_ms, x->from_ms);
        assert_int_equal(y->to_ms, x->to_ms);
        assert_int_equal(y->firing_ms, x->firing_ms);
        assert_int_equal(y->fired_ms, x->fired_ms);
        assert_int_equal(judgement_of(y), judgement_of(x));
    }
    assert_true(coarse->rows[0].fired.n_real == DAYS && coarse->rows[0].fired.n_noise > 2 * DAYS);
    assert_true(fabs(coarse->budgets[0].bad - raw->budgets[0].bad) < 1e-6);
    assert_true(fabs(coarse->budgets[0].total - raw->budgets[0].total) < 1e-6);
    assert_int_equal(coarse->n_misses, raw->n_misses);
    assert_int_equal(coarse->n_misses, DAYS);
    rig_print(&other, false);
    rig_has(&other, "- Samples: as they were written since 2024-10-1");
    rig_has(&other, "; before that one in 5m since 2024-10-04 00:00:00.\n");

    other.review = review_free(other.review);
    buf_done(&other.text);
    reader = tsdb_reader_close(reader);
    b.t = tsdb_close(b.t);
    rig_stop(&b.g);
    arena_done(&b.a);
    tempdir_remove(&dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_tiers)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
