/* SPDX-License-Identifier: Apache-2.0 */
/* Figures of rows over a window. */
#include "pages.h"

#include <math.h>

#include "base/jsonw.h"
#include "memfail.h"
#include "top/table.h"

static const char before[] = PAGE_REQUESTS("m", "a", "ok", "100")
    PAGE_REQUESTS("n", "b", "ok", "50") PAGE_TTFT("m", "0.1", "10") PAGE_TTFT("m", "1", "20")
        PAGE_TTFT("m", "+Inf",
                  "20") "llm_inflight_requests{model=\"m\",upstream=\"u\",tenant=\"a\"} 9\n";
/* n began anew; another tenant came. */
static const char after[] = PAGE_REQUESTS("m", "a", "ok", "130")
    PAGE_REQUESTS("m", "a", "timeout", "10") PAGE_REQUESTS("n", "b", "ok", "20")
        PAGE_REQUESTS("m", "c", "ok", "5") PAGE_TTFT("m", "0.1", "14") PAGE_TTFT("m", "1", "30")
            PAGE_TTFT("m", "+Inf",
                      "30") "llm_inflight_requests{model=\"m\",upstream=\"u\",tenant=\"a\"} 3\n";

static const struct top_wish by_model = {.by = {true},
                                         .window_ms = 10000,
                                         .sort = TOP_BY_REQUESTS,
                                         .quantile = TOP_P50,
                                         .trend = TOP_TTFT,
                                         .n_trend = 4,
                                         .trend_ms = 20000};

static void two_looks(struct top_feed *f)
{
    feed_begin(f);
    feed_take(f, before, 10000);
    feed_take(f, after, 20000);
}

static bool near(double a, double b)
{
    return fabs(a - b) < 1e-9;
}

static void rates_and_quantiles(void **state)
{
    struct top_feed f;
    struct top_table t;
    (void)state;
    two_looks(&f);
    assert_int_equal(top_table_make(&f, &by_model, &t), 0);
    assert_int_equal(t.n, 2);
    assert_true(near(t.window_s, 10));
    const struct top_row *m = &t.rows[0], *n = &t.rows[1];
    assert_true(near(m->requests_per_s, 4.5) && near(m->error_ratio, 10.0 / 45));
    assert_true(near(m->inflight, 3));
    assert_true(near(n->requests_per_s, 2)); /* since it began anew */
    assert_true(near(t.total.requests_per_s, 6.5));
    /* 4 of 10 up to 0.1, 6 up to 1: rank 5 is a sixth into the second */
    assert_true(near(m->stages[TOP_TTFT][TOP_P50], 0.1 + 0.9 / 6));
    assert_true(near(m->stages[TOP_TTFT][TOP_P99], 0.1 + 0.9 * 5.9 / 6));
    assert_true(isnan(m->stages[TOP_TPOT][TOP_P50]) && isnan(n->stages[TOP_TTFT][TOP_P50]));
    /* slots of 5 s: before the first look, up to it, then nothing new, then all of it */
    assert_true(isnan(m->trend[0]) && isnan(m->trend[1]) && isnan(m->trend[2]));
    assert_true(fabs((double)m->trend[3] - 0.25) < 1e-6);
    top_table_done(&t);
    top_feed_done(&f);
}

static void order_and_choice(void **state)
{
    static const struct {
        const char *what;
        struct top_wish wish;
        const char *names; /* of the rows */
    } rows[] = {
        {"most requests first", {.by = {true}, .sort = TOP_BY_REQUESTS}, "m,n,"},
        {"the other way", {.by = {true}, .sort = TOP_BY_REQUESTS, .is_upwards = true}, "n,m,"},
        {"by name",
         {.by = {true, true, true}, .sort = TOP_BY_NAME},
         "m / u / a,m / u / c,n / u / b,"},
        {"no figure comes last", {.by = {true}, .sort = TOP_BY_STAGE + TOP_TTFT}, "m,n,"},
        {"also upwards",
         {.by = {true}, .sort = TOP_BY_STAGE + TOP_TTFT, .is_upwards = true},
         "m,n,"},
        {"a part of the name", {.by = {true, false, true}, .filter = SPAN_INIT("/ B")}, "n / b,"},
        {"no part", {.by = {true}, .filter = SPAN_INIT("x")}, ""},
        {"one row for all", {.by = {false}}, "all,"},
    };
    struct top_feed f;
    (void)state;
    two_looks(&f);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct top_wish w = rows[i].wish;
        struct top_table t;
        struct buf names;
        buf_init(&names, 1000);
        w.window_ms = 10000;
        assert_int_equal(top_table_make(&f, &w, &t), 0);
        for (size_t k = 0; k < t.n; k++) {
            assert_int_equal(top_table_name(&f, &w, &t.rows[k], &names), 0);
            assert_int_equal(buf_append(&names, SPAN(",")), 0);
        }
        assert_span_equal(rows[i].what, buf_span(&names), span_cstr(rows[i].names));
        buf_done(&names);
        top_table_done(&t);
    }
    top_feed_done(&f);
}

static void before_the_second_look(void **state)
{
    struct top_feed f;
    struct top_table t;
    (void)state;
    feed_begin(&f);
    assert_int_equal(top_table_make(&f, &by_model, &t), 0);
    assert_int_equal(t.n, 0);
    top_table_done(&t);
    feed_take(&f, before, 10000);
    assert_int_equal(top_table_make(&f, &by_model, &t), 0);
    assert_int_equal(t.n, 1); /* it has open requests */
    assert_true(isnan(t.rows[0].requests_per_s) && near(t.rows[0].inflight, 9));
    top_table_done(&t);
    top_feed_done(&f);
}

static void as_json(void **state)
{
    struct top_feed f;
    struct top_table t;
    struct buf b;
    struct jsonw w;
    (void)state;
    two_looks(&f);
    buf_init(&b, 100000);
    jsonw_init(&w, &b);
    assert_int_equal(top_table_make(&f, &by_model, &t), 0);
    jsonw_begin_object(&w);
    top_table_write(&f, &by_model, &t, &w);
    jsonw_end_object(&w);
    assert_int_equal(jsonw_error(&w), 0);
    static const char *const parts[] = {
        "\"labels\":{\"model\":\"m\"},\"requests_per_s\":4.5,",
        "\"tpot_s\":{\"p50\":null,", /* no sample is not 0 */
    };
    for (size_t i = 0; i < 2; i++)
        assert_row(parts[i], span_find(buf_span(&b), span_cstr(parts[i])) < buf_len(&b));
    buf_done(&b);
    top_table_done(&t);
    top_feed_done(&f);
}

static int attempt(void *ctx)
{
    struct top_table t = {0};
    int r = top_table_make(ctx, &by_model, &t);
    if (r < 0)
        assert_null(t.rows);
    top_table_done(&t);
    return r;
}

static void without_memory(void **state)
{
    struct top_feed f;
    (void)state;
    two_looks(&f);
    assert_true(memfail_each(attempt, &f) >= 4);
    top_feed_done(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rates_and_quantiles),    cmocka_unit_test(order_and_choice),
        cmocka_unit_test(before_the_second_look), cmocka_unit_test(as_json),
        cmocka_unit_test(without_memory),
    };
    return cmocka_run_group_tests_name("top/table", tests, NULL, NULL);
}
