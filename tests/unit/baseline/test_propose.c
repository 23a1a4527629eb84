/* SPDX-License-Identifier: Apache-2.0 */
/*
 * baseline/propose: thresholds, evidence and firing from windows that the test hands out, the same
 * from a store in memory, and what is printed.
 */
#include "harness.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>

#include "base/attr.h"
#include "base/mem.h"
#include "baseline/propose.h"
#include "memfail.h"
#include "promql/parse.h"
#include "series/memory.h"

enum { MINUTE_MS = 60 * 1000, DAY_MS = 24 * 60 * MINUTE_MS };

/* --- windows that the test hands out --- */

/* A stretch of windows: all requests between lower and upper seconds. */
struct stretch {
    int from, to; /* windows of the day, from 0; to is not in it */
    double lower, upper, count;
};
struct plan {
    const char *model;
    struct stretch stretches[6];
    size_t n;
};
struct script {
    const char *metric; /* what is not asked for this has nothing */
    const struct plan *plans;
    size_t n_plans;
    int n_asked, fails_at; /* the n-th question fails */
    int64_t last_end_ms;
};

static int plan_write(const struct plan *p, int64_t start_ms, struct arena *a,
                      struct propose_series *ret)
{
    struct propose_window *at = arena_zalloc(a, 300, sizeof(*at));
    struct propose_bucket *buckets = arena_zalloc(a, 300, sizeof(*buckets));
    *ret = (struct propose_series){.model = span_cstr(p->model), .at = at};
    if (!at || !buckets)
        return -ENOMEM;
    for (size_t i = 0; i < p->n; i++) {
        const struct stretch *s = &p->stretches[i];
        for (int w = s->from; w < s->to; w++) {
            struct propose_bucket *b = &buckets[ret->n];
            *b = (struct propose_bucket){s->lower, s->upper, s->count};
            at[ret->n++] = (struct propose_window){start_ms + w * (int64_t)PROPOSE_STEP_MS, b, 1};
        }
    }
    return 0;
}

static int ask_script(void *ctx, const struct propose_question *q, struct arena *a,
                      struct propose_series **ret, size_t *ret_n, struct err *reterr)
{
    struct script *s = ctx;
    char wanted[128];
    if (++s->n_asked == s->fails_at)
        return err_set(reterr, -ETIMEDOUT, "too slow");
    assert_int_equal(q->step_ms, PROPOSE_STEP_MS);
    assert_int_equal(q->end_ms - q->start_ms, DAY_MS - PROPOSE_STEP_MS);
    s->last_end_ms = q->end_ms;
    (void)snprintf(wanted, sizeof(wanted), "sum by (model) (increase(%s[600000ms]))", s->metric);
    if (!span_eq(q->query, span_cstr(wanted)))
        return 0;
    struct propose_series *at = arena_zalloc(a, s->n_plans, sizeof(*at));
    int r = at ? 0 : -ENOMEM;
    for (size_t i = 0; r == 0 && i < s->n_plans; i++)
        r = plan_write(&s->plans[i], q->start_ms, a, &at[i]);
    *ret = at;
    *ret_n = s->n_plans;
    return r < 0 ? err_set(reterr, r, "%s", err_str(r)) : 0;
}

static int make(struct script *s, struct arena *a, struct proposals *ret, struct err *err)
{
    const struct propose_source source = {ask_script, s};
    const struct propose_wish wish = {.to_ms = 20000 * (int64_t)DAY_MS, .days = 2, .margin = 0.5};
    return propose_make(&source, &wish, a, ret, err);
}

/*
 * Usual: 1 to 2 s, 100 requests in 10 minutes. p95 over everything stays at about 1.95 s, so the
 * threshold is 3 s; what takes 3 to 4 s has a p95 over it.
 */
#define USUAL(from, to)                                                                            \
    {                                                                                              \
        from, to, 1, 2, 100                                                                        \
    }
#define SLOW(from, to)                                                                             \
    {                                                                                              \
        from, to, 3, 4, 100                                                                        \
    }

static const struct {
    const char *name;
    struct plan plan;
    double count; /* of two days */
    double p50, threshold;
    unsigned n_fired;
    int fired_min;
} cases[] = {
    {"nothing happened", {"m", {USUAL(0, 288)}, 1}, 28800, 1.5, 3, 0, 0},
    {"one window is not enough",
     {"m", {USUAL(0, 100), SLOW(100, 101), USUAL(101, 288)}, 3},
     28800,
     1.5,
     3,
     0,
     0},
    {"two in a row fire, until it is over",
     {"m", {USUAL(0, 100), SLOW(100, 104), USUAL(104, 288)}, 3},
     28800,
     1.5,
     3,
     2,
     30},
    {"twice a day",
     {"m", {USUAL(0, 100), SLOW(100, 102), USUAL(102, 200), SLOW(200, 202), USUAL(202, 288)}, 5},
     28800,
     1.5,
     3,
     4,
     20},
    {"a gap begins anew",
     {"m", {USUAL(0, 100), SLOW(100, 101), SLOW(102, 103), USUAL(103, 288)}, 4},
     28600,
     1.5,
     3,
     0,
     0},
    {"too few requests in a window to fire",
     {"m", {USUAL(0, 100), {100, 110, 3, 4, 49}, USUAL(110, 288)}, 3},
     28290,
     1.5,
     3,
     0,
     0},
    {"too few requests in all", {"m", {{0, 100, 1, 2, 1.98}}, 1}, 198, 1.5, 0, 0, 0},
    {"nobody would feel it", {"m", {{0, 288, 0.001, 0.002, 100}}, 1}, 28800, 0.0015, 0.05, 0, 0},
    {"all of them at once", {"m", {{0, 288, 0, 0, 100}}, 1}, 28800, 0, 0, 0, 0},
};

static void test_cases(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct script s = {.metric = "llm_ttft_seconds", .plans = &cases[i].plan, .n_plans = 1};
        struct proposals got;
        struct arena a;
        struct err err;
        arena_init(&a, NULL);
        assert_row(cases[i].name, make(&s, &a, &got, &err) == 0);
        assert_row(cases[i].name, got.n == 1);
        assert_int_equal(s.last_end_ms, got.to_ms);
        assert_row(cases[i].name, fabs(got.at[0].count - cases[i].count) < 1);
        assert_row(cases[i].name, fabs(got.at[0].p50 - cases[i].p50) < 0.02);
        assert_row(cases[i].name, fabs(got.at[0].threshold - cases[i].threshold) < 1e-9);
        assert_row(cases[i].name, got.at[0].n_fired == cases[i].n_fired);
        assert_row(cases[i].name, got.at[0].fired_ms == cases[i].fired_min * (int64_t)MINUTE_MS);
        arena_done(&a);
    }
}

/* Stages that wait for 10 minutes fire later; models are in the order of their names. */
static void test_stages_and_models(void **state)
{
    static const struct plan plans[] = {
        {"zeta", {USUAL(0, 288)}, 1},
        {"alpha", {USUAL(0, 100), SLOW(100, 103), USUAL(103, 288)}, 3},
        {"alph", {USUAL(0, 100), SLOW(100, 102), USUAL(102, 288)}, 3},
    };
    struct script s = {.metric = "llm_e2e_seconds", .plans = plans, .n_plans = ARRAY_LEN(plans)};
    struct proposals got;
    struct arena a;
    struct err err;
    (void)state;
    arena_init(&a, NULL);
    assert_int_equal(make(&s, &a, &got, &err), 0);
    assert_int_equal(got.n, 3);
    assert_span_equal("1st", got.at[0].model, SPAN("alph"));
    assert_span_equal("2nd", got.at[1].model, SPAN("alpha"));
    assert_span_equal("3rd", got.at[2].model, SPAN("zeta"));
    assert_string_equal(got.at[0].stage->name, "e2e");
    assert_int_equal(got.at[0].n_fired, 0);
    assert_int_equal(got.at[1].n_fired, 2);
    assert_int_equal(got.at[1].fired_ms, 2 * 5 * MINUTE_MS);
    arena_done(&a);
}

static void test_a_source_that_fails(void **state)
{
    (void)state;
    for (int n = 1; n <= 3; n++) {
        struct script s = {
            .metric = "llm_ttft_seconds", .plans = &cases[0].plan, .n_plans = 1, .fails_at = n};
        struct proposals got;
        struct arena a;
        struct err err;
        arena_init(&a, NULL);
        assert_int_equal(make(&s, &a, &got, &err), -ETIMEDOUT);
        assert_string_equal(err.text, "too slow");
        arena_done(&a);
    }
}

/* --- from a reader --- */

static void fill(struct memory *m, const char *series, int n_minutes)
{
    struct arena a;
    struct labels l;
    struct promql_error error;
    struct span s = span_cstr(series);
    arena_init(&a, NULL);
    assert_int_equal(promql_parse_series(&s, &a, &l, &error), 0);
    for (int i = 0; i <= n_minutes; i++) {
        char text[96];
        struct fhist *h;
        (void)snprintf(text, sizeof(text), "{{schema:0 sum:%d count:%d offset:1 buckets:[%d]}}", i,
                       6 * i, 6 * i);
        struct span literal = span_cstr(text);
        assert_int_equal(fhist_parse(&literal, &a, &h, NULL), 0);
        assert_int_equal(memory_append(m, l, DAY_MS + i * (int64_t)MINUTE_MS, 0, h), 0);
    }
    arena_done(&a);
}

static int from_reader(struct memory *m, struct arena *a, struct proposals *ret, struct err *err)
{
    struct propose_reader reader = {.reader = memory_reader(m)};
    const struct propose_source source = {propose_ask_reader, &reader};
    const struct propose_wish wish = {.to_ms = 2 * (int64_t)DAY_MS, .days = 1, .margin = 0.5};
    return propose_make(&source, &wish, a, ret, err);
}

static void test_from_a_reader(void **state)
{
    struct memory *m;
    struct proposals got;
    struct arena a;
    struct err err;
    (void)state;
    assert_int_equal(memory_new(&m), 0);
    fill(m, "llm_tpot_seconds{model=\"m\",upstream=\"a\"}", 600);
    fill(m, "llm_tpot_seconds{model=\"m\",upstream=\"b\"}", 600);
    arena_init(&a, NULL);
    assert_int_equal(from_reader(m, &a, &got, &err), 0);
    assert_int_equal(got.n, 1);
    assert_string_equal(got.at[0].stage->metric, "llm_tpot_seconds");
    assert_true(fabs(got.at[0].count - 7200) < 80);
    assert_true(got.at[0].p50 == 1.5 && fabs(got.at[0].p95 - 1.95) < 1e-9);
    assert_true(fabs(got.at[0].threshold - 3) < 1e-9);
    arena_done(&a);
    (void)memory_free(m);
}

static int attempt(void *ctx)
{
    struct proposals got = {.n = 0};
    struct arena a;
    struct err err;
    arena_init(&a, NULL);
    int r = from_reader(ctx, &a, &got, &err);
    assert_int_equal(got.n, r == 0 ? 2 : 0);
    arena_done(&a);
    return r;
}

static void test_allocation_failures(void **state)
{
    struct memory *m;
    (void)state;
    assert_int_equal(memory_new(&m), 0);
    fill(m, "llm_ttft_seconds{model=\"m\",upstream=\"a\"}", 60);
    fill(m, "llm_ttft_seconds{model=\"n\",upstream=\"a\"}", 60);
    assert_true(memfail_each(attempt, m) > 20);
    (void)memory_free(m);
}

/* --- what is printed --- */

static void print(const struct proposals *s, int (*how)(const struct proposals *, struct buf *),
                  struct buf *out)
{
    buf_clear(out);
    assert_int_equal(how(s, out), 0);
    assert_int_equal(buf_append(out, span_of("", 1)), 0); /* to be read as a C text */
}

static void assert_has(const struct buf *b, const char *part)
{
    if (!strstr(buf_span(b).p, part))
        fail_msg("\"%s\" is not in:\n%s", part, buf_span(b).p);
}

static void test_table(void **state)
{
    static const struct plan plans[] = {
        {"llama\x1b[2J\n3", {USUAL(0, 100), SLOW(100, 104), USUAL(104, 288)}, 3},
        {"rare", {{0, 100, 1, 2, 1}}, 1},
        {"zero", {{0, 288, 0, 0, 100}}, 1},
    };
    struct script s = {.metric = "llm_ttft_seconds", .plans = plans, .n_plans = ARRAY_LEN(plans)};
    struct proposals got;
    struct arena a;
    struct buf out;
    struct err err;
    (void)state;
    arena_init(&a, NULL);
    buf_init(&out, 65536);
    assert_int_equal(make(&s, &a, &got, &err), 0);
    print(&got, propose_print, &out);
    assert_has(&out, "2024-10-02 00:00 to 2024-10-04 00:00 UTC (2d): p95 and 50 % more.\n");
    assert_has(&out, "llama?[2J?3");
    assert_has(&out, "  ttft         28800");
    assert_has(&out, "         3s      2       30 min\n");
    assert_has(&out, "too few requests\n");
    assert_has(&out, "always 0\n");

    got.n = 0;
    print(&got, propose_print, &out);
    assert_has(&out, "There were no requests.\n");
    buf_done(&out);
    arena_done(&a);
}

static void test_rules(void **state)
{
    static const struct plan plans[] = {
        {"a\"b\\c\n- x\xe2\x80\xa8\xe6\xa8\xa1", {USUAL(0, 288)}, 1},
        {"rare", {{0, 100, 1, 2, 1}}, 1}};
    struct script s = {.metric = "llm_ttft_seconds", .plans = plans, .n_plans = ARRAY_LEN(plans)};
    struct proposals got;
    struct arena a;
    struct buf out;
    struct err err;
    (void)state;
    arena_init(&a, NULL);
    buf_init(&out, 65536);
    assert_int_equal(make(&s, &a, &got, &err), 0);
    print(&got, propose_print_rules, &out);
    assert_has(&out, "# Thresholds from what was recorded, 2024-10-02 00:00 to");
    assert_has(&out, "labels: {of: ttft_p95, model: \"a\\\"b\\\\c\\u000a- "
                     "x\\u2028\xe6\xa8\xa1\"}\n        expr: 3\n");
    assert_has(&out, "      # 28800 requests: p50 1.5s, p95 1.95s, p99 1.99s; would have fired 0 "
                     "times, 0 min in all\n");
    assert_has(&out, "      - alert: LLMTimeToFirstTokenSlow\n");
    assert_has(&out, "#llmtimetofirsttokenslow\n");
    assert_has(&out, "one request in 20 takes {{ humanizeDuration $value }} for its first token\"");
    assert_null(strstr(buf_span(&out).p, "rare"));
    assert_null(strstr(buf_span(&out).p, "LLMOutputSlow"));

    got.at[0].p99 = 1234.6;
    got.at[0].threshold = 1900;
    print(&got, propose_print_rules, &out);
    assert_has(&out, "p99 1235s;");
    assert_has(&out, "expr: 1900\n");

    got.n = 0;
    print(&got, propose_print_rules, &out);
    assert_has(&out, "    rules: []\n");
    buf_done(&out);
    arena_done(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cases),
        cmocka_unit_test(test_stages_and_models),
        cmocka_unit_test(test_a_source_that_fails),
        cmocka_unit_test(test_from_a_reader),
        cmocka_unit_test(test_allocation_failures),
        cmocka_unit_test(test_table),
        cmocka_unit_test(test_rules),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
