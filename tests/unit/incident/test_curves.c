/* SPDX-License-Identifier: Apache-2.0 */
/* Points that are folded, packed and ranked; curves of an incident taken part by part. */
#include "rig.h"

#include <float.h>
#include <math.h>

#include "base/clock.h"
#include "incident/curves.h"
#include "memfail.h"
#include "promql/query.h"

static struct rig rig;
static struct memory *memory;
static struct arena arena;

static int setup(void **state)
{
    (void)state;
    rig_start(&rig);
    arena_init(&arena, NULL);
    return memory_new(&memory);
}

static int teardown(void **state)
{
    (void)state;
    memory_free(memory);
    arena_done(&arena);
    rig_stop(&rig);
    return 0;
}

/* --- columns --- */

enum { STEP = CURVE_STEP_MS };

static int add(struct curve *c, const char *model, int64_t from_ms, const double *v, size_t n,
               bool is_mean)
{
    uint8_t has[1024];
    double copy[1024];
    struct label label = {SPAN("model"), span_cstr(model)};
    for (size_t i = 0; i < n; i++) {
        has[i] = (uint8_t)!isnan(v[i]);
        copy[i] = v[i];
    }
    struct column col = {.labels = {&label, 1}, .v = copy, .has = has};
    struct value value = {.type = PROMQL_VECTOR,
                          .n_steps = n,
                          .start_ms = from_ms,
                          .step_ms = STEP,
                          .columns = &col,
                          .n_columns = 1};
    curve_reach(c, from_ms + (int64_t)(n - 1) * STEP, is_mean);
    return curve_add(c, &value, is_mean);
}

static void points_are_put_together_when_there_are_too_many(void **state)
{
    (void)state;
    double v[4] = {1, 5, (double)NAN, 2};
    for (int is_mean = 0; is_mean < 2; is_mean++) {
        struct curve c;
        curve_init(&c, T0, &arena);
        assert_int_equal(add(&c, "a", T0, v, 4, is_mean), 0);
        assert_int_equal(c.n_points, 4);
        assert_true(c.series[0].at[1] == 5 && isnan(c.series[0].at[2]));
        double last = 9;
        assert_int_equal(add(&c, "a", T0 + INCIDENT_POINTS_MAX * STEP, &last, 1, is_mean), 0);
        assert_int_equal(c.step_ms, 2 * STEP);
        assert_int_equal(c.n_points, INCIDENT_POINTS_MAX / 2 + 1);
        assert_true(c.series[0].at[0] == (is_mean ? 3 : 5));
        assert_true(c.series[0].at[1] == 2 && isnan(c.series[0].at[2]));
        assert_true(c.series[0].at[INCIDENT_POINTS_MAX / 2] == 9 && c.series[0].max == 9);
    }
}

static void the_largest_series_stay(void **state)
{
    (void)state;
    struct curve c;
    char name[16];
    curve_init(&c, T0, &arena);
    for (int i = 0; i < 30; i++) {
        double v = (i * 7) % 30;
        snprintf(name, sizeof(name), "m%d", i);
        assert_int_equal(add(&c, name, T0, &v, 1, false), 0);
    }
    double none[] = {(double)INFINITY, (double)NAN, 1e300};
    assert_int_equal(add(&c, "infinite", T0, none, 3, false), 0);
    assert_int_equal(c.n_series, INCIDENT_SERIES_MAX);
    for (size_t i = 0; i < c.n_series; i++)
        assert_true(c.series[i].at[0] == (float)(29 - i));
}

static void packed_curves_are_the_same_again(void **state)
{
    (void)state;
    struct curve c, back;
    struct buf b;
    double v[3] = {0.25, (double)NAN, 1e-9};
    buf_init(&b, 1 << 20);
    curve_init(&c, T0, &arena);
    assert_int_equal(add(&c, "a", T0, v, 3, false), 0);
    assert_int_equal(add(&c, "b", T0, v, 2, false), 0);
    c.n_left_out = 7;
    assert_int_equal(curve_pack(&c, &b), 0);
    assert_int_equal(curve_unpack(buf_span(&b), &arena, &back), 0);
    assert_true(back.start_ms == T0 && back.step_ms == STEP && back.n_points == 3 &&
                back.n_series == 2 && back.n_left_out == 7);
    for (size_t i = 0; i < 2; i++) {
        assert_true(labels_eq(back.series[i].labels, c.series[i].labels));
        assert_memory_equal(back.series[i].at, c.series[i].at, 3 * sizeof(float));
        assert_true(back.series[i].max == c.series[i].max);
    }
    /* Any byte that changes, and any that are missing. */
    char copy[4096];
    size_t n = span_copy(buf_span(&b), copy, sizeof(copy));
    for (size_t i = 0; i < n; i++) {
        assert_int_equal(curve_unpack(span_of(copy, i), &arena, &back), -EBADMSG);
        copy[i] = (char)(copy[i] ^ 0x40);
        int r = curve_unpack(span_of(copy, n), &arena, &back);
        assert_true(r == -EBADMSG || (r == 0 && back.series[1].at[0] == 0.25F));
        copy[i] = (char)(copy[i] ^ 0x40);
    }
    buf_done(&b);
}

static void every_expression_parses(void **state)
{
    (void)state;
    for (size_t i = 0; i < curves_n; i++) {
        struct promql_expr *e = NULL;
        struct promql_error error;
        struct buf b;
        buf_init(&b, 65536);
        assert_int_equal(curves_expr(&curves_kinds[i], 150 * S, &b), 0);
        assert_row(curves_kinds[i].name, promql_parse(buf_span(&b), &e, &error) == 0);
        assert_row(curves_kinds[i].name, span_find(buf_span(&b), SPAN("$")) == buf_len(&b));
        (void)promql_free_expr(e);
        buf_done(&b);
    }
}

/* --- an incident's --- */

static void sample(const char *metric, const char *le, int64_t t_ms, double v)
{
    struct label at[] = {{SPAN("__name__"), span_cstr(metric)},
                         {SPAN("le"), span_cstr(le)},
                         {SPAN("model"), SPAN("llama")},
                         {SPAN("upstream"), SPAN("u1")}};
    struct labels l;
    assert_int_equal(labels_normalise(at, ARRAY_LEN(at), &l, NULL), 0);
    assert_int_equal(memory_append(memory, l, t_ms, v, NULL), 0);
}

/* Ten requests in flight, two in the worst minute; a request a second, of 0.1 s, or 2 s while it is
 * bad. */
static void traffic(int64_t from_ms, int64_t to_ms, int64_t bad_from_ms, int64_t bad_to_ms)
{
    static double n_fast, n_slow;
    for (int64_t t = from_ms; t <= to_ms; t += 10 * S) {
        bool is_bad = t > bad_from_ms && t <= bad_to_ms;
        *(is_bad ? &n_slow : &n_fast) += 10;
        sample("llm_inflight_requests", "", t, is_bad ? 40 : 10);
        sample("llm_ttft_seconds_bucket", "0.2", t, n_fast);
        sample("llm_ttft_seconds_bucket", "2", t, n_fast + n_slow);
        sample("llm_ttft_seconds_bucket", "+Inf", t, n_fast + n_slow);
    }
}

/* Values of the one series of a curve; how many. */
static size_t values(const char *one, const char *name, double *at, size_t cap, int *ret_step_s)
{
    char what[64];
    snprintf(what, sizeof(what), "\"name\":\"%s\"", name);
    const char *p = strstr(one, what);
    assert_non_null(p);
    assert_non_null(p = strstr(p, "\"step_seconds\":"));
    assert_int_equal(sscanf(p, "\"step_seconds\":%d", ret_step_s), 1);
    assert_non_null(p = strstr(p, "\"values\":["));
    p += strlen("\"values\":[");
    size_t n = 0;
    while (*p != ']' && n < cap) {
        int used = 0;
        at[n] = (double)NAN;
        if (strncmp(p, "null", 4) == 0)
            used = 4;
        else
            assert_int_equal(sscanf(p, "%lf%n", &at[n], &used), 1);
        n++;
        p += used + (p[used] == ',');
    }
    return n;
}

#define ID "20231114T2214-1"

static void curves_reach_from_before_to_after(void **state)
{
    (void)state;
    double v[512];
    int step_s;
    traffic(T0 - HOUR, T0 + HOUR, T0 - 2 * MINUTE, T0 + 4 * MINUTE);
    rig_fire(&rig, "Slow");
    rig_go(&rig, 2 * MINUTE, memory_reader(memory));
    /* While it goes on there is something to see already. */
    size_t n = values(rig_one(&rig, ID), "inflight", v, ARRAY_LEN(v), &step_s);
    assert_true(n >= 118 && n <= 130);
    assert_has(rig.text, "\"name\":\"inflight\",\"title\":\"Requests in flight\",\"unit\":\"\","
                         "\"expr\":\"sum by (model, upstream) (llm_inflight_requests)\","
                         "\"is_complete\":false,\"from\":\"2023-11-14T21:44:00.000Z\","
                         "\"step_seconds\":15");
    rig_go(&rig, 2 * MINUTE, memory_reader(memory));
    rig_resolve(&rig, "Slow", T0);
    rig_go(&rig, 15 * MINUTE, memory_reader(memory));
    n = values(rig_one(&rig, ID), "inflight", v, ARRAY_LEN(v), &step_s);
    assert_int_equal(step_s, 15);
    assert_int_equal(n, 44 * 4 + 1); /* 30 min before, 4 min, 10 min after */
    for (size_t i = 0; i < n; i++) {
        int64_t t = T0 - 30 * MINUTE + (int64_t)i * 15 * S;
        bool is_bad = t > T0 - 2 * MINUTE + 15 * S && t < T0 + 4 * MINUTE;
        if (is_bad || t < T0 - 2 * MINUTE || t > T0 + 4 * MINUTE + 15 * S)
            assert_true(v[i] == (is_bad ? 40 : 10));
    }
    n = values(rig.text, "ttft_p95", v, ARRAY_LEN(v), &step_s);
    assert_true(v[20] < 0.2 && v[30 * 4 + 8] > 1.8 && v[n - 1] < 0.2);
    assert_int_equal(rig_count(rig.text, "\"is_complete\":true"), (int)curves_n);
    const char *md = rig_markdown(&rig, ID);
    assert_has(md,
               "### Time to first token, p95 (s)\n\n2023-11-14 21:44:00 to 2023-11-14 "
               "22:28:15 UTC\n\n| series | curve | least | most | last |\n|---|---|---|---|---|\n"
               "| model=llama, upstream=u1 | ");
    assert_has(md, "█");
}

/* What a damaged disk says of how far a curve was taken. */
static void a_curve_taken_to_before_its_begin_is_begun_anew(void **state)
{
    (void)state;
    double v[512];
    int step_s;
    sqlite3 *db;
    traffic(T0 - HOUR, T0 + HOUR, 0, 0);
    rig_fire(&rig, "Slow");
    rig_go(&rig, 2 * MINUTE, memory_reader(memory));
    for (int i = 0; i < 2; i++) {
        rig.incidents = incidents_close(rig.incidents);
        assert_int_equal(sqlite3_open(tempdir_file(&rig.dir, "incidents.db"), &db), SQLITE_OK);
        assert_int_equal(sqlite3_exec(db,
                                      i == 0 ? "UPDATE incidents SET from_ms=from_ms-3600000;"
                                               "UPDATE curves SET covered_ms=covered_ms-3600000"
                                             : "UPDATE curves SET covered_ms=1",
                                      NULL, NULL, NULL),
                         SQLITE_OK);
        sqlite3_close(db);
        rig_open(&rig);
        rig_go(&rig, 2 * MINUTE, memory_reader(memory));
    }
    size_t n = values(rig_one(&rig, ID), "inflight", v, ARRAY_LEN(v), &step_s);
    assert_true(n > 118 && v[n - 1] == 10);
}

/* The samples go while the incident lasts: what was taken of them stays. */
static void a_long_incident_keeps_what_raw_samples_do_not(void **state)
{
    (void)state;
    double v[512];
    int step_s;
    enum { HOURS = 30 };
    rig_fire(&rig, "Slow");
    int64_t done_ms = T0 - HOUR;
    for (int h = 0; h < HOURS; h++) {
        memory_clear(memory);
        traffic(done_ms + 10 * S, rig.now_ms + HOUR, T0 + 5 * MINUTE, T0 + 9 * MINUTE);
        done_ms = rig.now_ms + HOUR - 10 * MINUTE; /* some of it is there still */
        for (int m = 0; m < 60; m++) {
            rig_fire_at(&rig, "Slow", T0);
            rig_go(&rig, MINUTE, memory_reader(memory));
        }
    }
    size_t n = values(rig_one(&rig, ID), "inflight", v, ARRAY_LEN(v), &step_s);
    assert_true(n > INCIDENT_POINTS_MAX / 2 && n <= INCIDENT_POINTS_MAX);
    assert_true((int64_t)n * step_s * S >= HOURS * HOUR);
    int n_worst = 0;
    for (size_t i = 0; i < n; i++) {
        assert_true(v[i] == 10 || v[i] == 40);
        n_worst += v[i] == 40;
    }
    assert_in_range(n_worst, 1, 2); /* the four minutes that were bad are not lost */
    rig_restart(&rig);
    assert_int_equal(values(rig_one(&rig, ID), "inflight", v, ARRAY_LEN(v), &step_s), n);
}

/* --- a reader that fails --- */

struct broken {
    struct reader reader;
    int error, n_calls;
};

static int broken_select(struct reader *r, const struct series_select *what, struct arena *a,
                         struct series_ref **ret, size_t *ret_n)
{
    struct broken *b = (struct broken *)(void *)r;
    (void)what;
    (void)a;
    (void)ret;
    (void)ret_n;
    b->n_calls++;
    return b->error;
}

static const struct reader_ops broken_ops = {.select = broken_select};

static void a_reader_that_fails_is_asked_again(void **state)
{
    (void)state;
    double v[512];
    int step_s;
    struct broken b = {{&broken_ops}, -EIO, 0};
    traffic(T0 - HOUR, T0 + HOUR, T0, T0);
    rig_fire(&rig, "Slow");
    for (int i = 0; i < 60; i++) {
        rig.now_ms += S;
        int r = incidents_tick(rig.incidents, &b.reader, rig.now_ms);
        assert_true(r == 0 || r == -EIO);
    }
    assert_true(b.n_calls > 20);
    rig_go(&rig, MINUTE, memory_reader(memory));
    assert_true(values(rig_one(&rig, ID), "inflight", v, ARRAY_LEN(v), &step_s) > 100);
    assert_true(v[0] == 10);
}

static void what_asks_for_too_much_becomes_a_gap(void **state)
{
    (void)state;
    struct broken b = {{&broken_ops}, -E2BIG, 0};
    struct incidents_stats stats;
    rig_fire(&rig, "Slow");
    rig_resolve(&rig, "Slow", T0);
    for (int i = 0; i < 1200; i++) {
        rig.now_ms += S;
        (void)!incidents_tick(rig.incidents, &b.reader, rig.now_ms);
    }
    incidents_stats(rig.incidents, &stats);
    assert_int_equal(stats.n_waiting, 0);
    assert_int_equal(rig_n_of(&rig, "closed"), 1);
}

static void nobody_is_waited_for_without_end(void **state)
{
    (void)state;
    struct incidents_stats stats;
    rig_fire(&rig, "Slow");
    rig_resolve(&rig, "Slow", T0);
    rig_go(&rig, 20 * MINUTE, NULL);
    assert_true(incidents_wants_reader(rig.incidents, rig.now_ms));
    for (int i = 0; i < 24 * 60; i++) {
        rig.now_ms += MINUTE;
        assert_int_equal(incidents_tick(rig.incidents, NULL, rig.now_ms), 0);
    }
    incidents_stats(rig.incidents, &stats);
    assert_int_equal(stats.n_waiting, 0);
    assert_false(incidents_wants_reader(rig.incidents, rig.now_ms));
}

static int take(void *ctx)
{
    struct curve c;
    struct arena a;
    struct buf b;
    (void)ctx;
    arena_init(&a, NULL);
    buf_init(&b, 1 << 20);
    curve_init(&c, T0 - 30 * MINUTE, &a);
    int r =
        curves_take(&c, &curves_kinds[0], 2 * MINUTE, memory_reader(memory), T0 - 30 * MINUTE, T0);
    if (r == 0)
        r = curve_pack(&c, &b);
    if (r == 0)
        r = curve_unpack(buf_span(&b), &a, &c);
    buf_done(&b);
    arena_done(&a);
    return r;
}

static void memory_may_end_at_any_allocation(void **state)
{
    (void)state;
    traffic(T0 - HOUR, T0, T0, T0);
    assert_true(memfail_each(take, NULL) > 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(points_are_put_together_when_there_are_too_many, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(the_largest_series_stay, setup, teardown),
        cmocka_unit_test_setup_teardown(packed_curves_are_the_same_again, setup, teardown),
        cmocka_unit_test_setup_teardown(every_expression_parses, setup, teardown),
        cmocka_unit_test_setup_teardown(curves_reach_from_before_to_after, setup, teardown),
        cmocka_unit_test_setup_teardown(a_curve_taken_to_before_its_begin_is_begun_anew, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(a_long_incident_keeps_what_raw_samples_do_not, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(a_reader_that_fails_is_asked_again, setup, teardown),
        cmocka_unit_test_setup_teardown(what_asks_for_too_much_becomes_a_gap, setup, teardown),
        cmocka_unit_test_setup_teardown(nobody_is_waited_for_without_end, setup, teardown),
        cmocka_unit_test_setup_teardown(memory_may_end_at_any_allocation, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
