/* SPDX-License-Identifier: Apache-2.0 */
/* Pages and histories become series at moments. */
#include "pages.h"

#include <errno.h>

#include "base/buf.h"
#include "memfail.h"

static const char page[] = "# TYPE llm_requests_total counter\n" PAGE_REQUESTS("m", "a", "ok", "5")
    PAGE_REQUESTS("m", "a", "client_gone_before_first", "2") PAGE_REQUESTS("m", "a", "timeout", "3")
        PAGE_REQUESTS("m", "b", "ok", "7") PAGE_TTFT("m", "0.5", "1") PAGE_TTFT(
            "m", "+Inf", "4") "llm_tokens_total{model=\"m\",upstream=\"u\",type=\"cached\"} 9\n"
                              "llm_tokens_total{model=\"m\",upstream=\"u\",type=\"prompt\"} 11\n"
                              "llm_unknown_total 3\nthis is no sample at all {\nother 4\n";

static double sum(const struct top_feed *f, enum top_family family, const char *tenant)
{
    double v = 0;
    const struct top_moment *m = &f->moments[f->n_moments - 1];
    for (size_t i = 0; i < f->n_series; i++)
        if (f->series[i].family == family &&
            (!tenant || span_eq(top_feed_text(f, f->series[i].dims[2]), span_cstr(tenant))))
            v += top_feed_value(m, i);
    return v;
}

static void what_a_page_says(void **state)
{
    struct top_feed f;
    (void)state;
    feed_begin(&f);
    feed_take(&f, page, 1000);
    assert_true(sum(&f, TOP_OK, "a") == 7); /* a client that left is no error */
    assert_true(sum(&f, TOP_ERRORS, "a") == 3);
    assert_true(sum(&f, TOP_OK, "b") == 7);
    assert_true(sum(&f, TOP_TTFT, NULL) == 5);
    assert_true(sum(&f, TOP_PROMPT_TOKENS, NULL) == 11);
    assert_int_equal(f.n_bounds[TOP_TTFT], 2);
    assert_int_equal(f.n_left_out, 0);
    top_feed_done(&f);
}

static void the_last_minutes_come_from_the_history(void **state)
{
    static const char history[] =
        "{\"data\":{\"resultType\":\"matrix\",\"result\":["
        "{\"metric\":{\"__name__\":\"llm_requests_total\",\"model\":\"m\",\"outcome\":\"ok\","
        "\"stream\":\"true\"},\"values\":[[10.5,\"1\"],[20.5,\"2\"]]},"
        "{\"metric\":{\"__name__\":\"llm_requests_total\",\"model\":\"m\",\"outcome\":\"ok\","
        "\"stream\":\"false\"},\"values\":[[20.5,\"40\"]]},"
        "{\"metric\":{\"__name__\":\"inferometer_build_info\"},"
        "\"values\":[[5.5,\"1\"],[10.5,\"1\"],[20.5,\"1\"]]}]}}";
    struct top_feed f;
    (void)state;
    feed_begin(&f);
    assert_int_equal(top_feed_history(&f, SPAN("[]")), -EPROTO);
    assert_int_equal(top_feed_history(&f, SPAN("")), -EPROTO);
    assert_int_equal(f.n_moments, 0);
    assert_int_equal(top_feed_history(&f, span_cstr(history)), 0);
    assert_int_equal(f.n_moments, 3);
    assert_int_equal(f.moments[0].t_ms, 5500); /* when there was nothing yet */
    assert_int_equal(f.moments[0].n, 0);
    assert_true(sum(&f, TOP_OK, NULL) == 42);
    assert_int_equal(f.n_series, 1);                               /* stream is no label of rows */
    assert_int_equal(top_feed_history(&f, span_cstr(history)), 0); /* too late */
    assert_int_equal(f.n_moments, 3);
    top_feed_done(&f);
}

static void old_moments_thin_out(void **state)
{
    struct top_feed f;
    (void)state;
    feed_begin(&f);
    for (int64_t t = 1; t <= 300; t++)
        feed_take(&f, page, t * 1000);
    assert_true(f.n_moments <= TOP_MOMENTS_MAX);
    for (size_t i = 1; i < f.n_moments; i++)
        assert_true(f.moments[i].t_ms > f.moments[i - 1].t_ms);
    for (size_t i = f.n_moments - 20; i < f.n_moments; i++) /* the last ones are all there */
        assert_int_equal(f.moments[i].t_ms, 300000 - (int64_t)(f.n_moments - 1 - i) * 1000);
    assert_true(f.moments[0].t_ms < 100000);
    assert_int_equal(top_feed_at(&f, 299999)->t_ms, 299000);
    assert_ptr_equal(top_feed_at(&f, 0), &f.moments[0]);
    top_feed_done(&f);
}

/* A page whose every row has texts of its own. */
static void take_many(struct top_feed *f, int from, int n, int64_t t_ms)
{
    struct buf b;
    buf_init(&b, 64 << 20);
    for (int i = from; i < from + n; i++)
        assert_int_equal(buf_printf(&b,
                                    "llm_requests_total{model=\"m%d\",tenant=\"t%d\","
                                    "outcome=\"ok\"} %d\n",
                                    i, i, i),
                         0);
    assert_int_equal(top_feed_page(f, buf_span(&b), t_ms), 0);
    buf_done(&b);
}

static void many_rows(void **state)
{
    struct top_feed f;
    (void)state;
    feed_begin(&f);
    take_many(&f, 0, TOP_SERIES_MAX + 10, 1000);
    assert_int_equal(f.n_series, TOP_SERIES_MAX);
    assert_int_equal(f.n_left_out, 10);
    assert_int_equal(f.n_texts, 2 * TOP_SERIES_MAX);
    take_many(&f, TOP_SERIES_MAX, 1000, 2000); /* what does not count takes no memory */
    assert_int_equal(f.n_texts, 2 * TOP_SERIES_MAX);
    take_many(&f, 7, 1, 3000);
    assert_int_equal(f.n_series, TOP_SERIES_MAX);
    assert_true(top_feed_value(&f.moments[2], 7) == 7);
    top_feed_done(&f);
}

static void figures_that_are_none(void **state)
{
    struct top_feed f;
    (void)state;
    feed_begin(&f);
    feed_take(&f,
              PAGE_REQUESTS("m", "a", "ok", "NaN") PAGE_REQUESTS("m", "b", "ok", "+Inf")
                  PAGE_REQUESTS("m", "c", "ok", "2") PAGE_TTFT("m", "NaN", "1"),
              1000);
    assert_true(sum(&f, TOP_OK, NULL) == 2);
    assert_int_equal(f.n_bounds[TOP_TTFT], 0);
    top_feed_done(&f);
}

/* Times that no clock shows, and those of one that is ahead. */
static void odd_times(void **state)
{
    static const char history[] =
        "{\"data\":{\"result\":[{\"metric\":{\"__name__\":\"llm_requests_total\",\"outcome\":"
        "\"ok\"},"
        "\"values\":[[-1e300,\"1\"],[1e300,\"2\"],[\"x\",\"3\"],[1,\"4\"],[9,\"5\"],7]}]}}";
    struct top_feed f;
    (void)state;
    feed_begin(&f);
    assert_int_equal(top_feed_history(&f, span_cstr(history)), 0);
    for (size_t i = 0; i < f.n_moments; i++)
        assert_true(f.moments[i].t_ms >= 0 && f.moments[i].t_ms <= 9000);
    feed_take(&f, page, 5000);
    assert_int_equal(f.moments[f.n_moments - 1].t_ms, 5000);
    assert_int_equal(f.moments[f.n_moments - 2].t_ms, 1000);
    feed_take(&f, page, 500); /* it was set back */
    assert_int_equal(f.moments[f.n_moments - 1].t_ms, 500);
    assert_true(f.n_moments < 2 || f.moments[f.n_moments - 2].t_ms < 500);
    top_feed_done(&f);
}

static int attempt(void *ctx)
{
    static const struct span names[] = {SPAN_INIT("model")};
    struct top_feed f;
    (void)ctx;
    top_feed_init(&f, names, 1);
    int r = top_feed_page(&f, span_cstr(page), 1000);
    if (r < 0)
        assert_int_equal(f.n_moments, 0);
    top_feed_done(&f);
    return r;
}

static void without_memory(void **state)
{
    (void)state;
    assert_true(memfail_each(attempt, NULL) > 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_a_page_says),
        cmocka_unit_test(the_last_minutes_come_from_the_history),
        cmocka_unit_test(old_moments_thin_out),
        cmocka_unit_test(many_rows),
        cmocka_unit_test(figures_that_are_none),
        cmocka_unit_test(odd_times),
        cmocka_unit_test(without_memory),
    };
    return cmocka_run_group_tests_name("top/feed", tests, NULL, NULL);
}
