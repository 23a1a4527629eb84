/* SPDX-License-Identifier: Apache-2.0 */
#include "load/tally.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "harness.h"
#include "load/load_report.h"
#include "wire/json.h"

static const struct tally_slo no_slo = {-1, -1, -1};

static struct load_result result(enum outcome o, int64_t ttft_ns, int64_t tpot_ns, int64_t e2e_ns)
{
    struct load_result r = {.outcome = o,
                            .status = o == OUTCOME_HTTP_ERROR ? 429 : 200,
                            .is_stream = true,
                            .ttft_ns = ttft_ns,
                            .e2e_ns = e2e_ns,
                            .prompt_tokens = 10,
                            .completion_tokens = 20,
                            .has_usage = true,
                            .t_end = {5 * NS_PER_S}};

    timing_summary_init(&r.summary, tpot_ns >= 0 ? TPOT_OK : TPOT_TOO_FEW_TOKENS);
    r.summary.tpot_ns = tpot_ns;
    return r;
}

static void add(struct tally *t, struct load_result r)
{
    tally_add(t, &r);
}

static void test_goodput(void **state)
{
    static const struct {
        const char *name;
        struct tally_slo slo;
        enum outcome outcome;
        int64_t ttft_ns, tpot_ns, e2e_ns;
        bool is_good;
    } rows[] = {
        {"nothing asked", {-1, -1, -1}, OUTCOME_OK, 10, 10, 10, true},
        {"failed", {-1, -1, -1}, OUTCOME_TRUNCATED, 10, 10, -1, false},
        {"on the limit", {10, 10, 10}, OUTCOME_OK, 10, 10, 10, true},
        {"ttft", {9, 10, 10}, OUTCOME_OK, 10, 10, 10, false},
        {"tpot", {10, 9, 10}, OUTCOME_OK, 10, 10, 10, false},
        {"e2e", {10, 10, 9}, OUTCOME_OK, 10, 10, 10, false},
        {"no tpot: no objective", {10, 1, 10}, OUTCOME_OK, 10, -1, 10, true},
        {"no token", {10, -1, -1}, OUTCOME_OK, -1, -1, 10, false},
        {"failed but quick", {10, 10, 10}, OUTCOME_HTTP_ERROR, -1, -1, -1, false},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct tally t;
        assert_int_equal(tally_init(&t, &rows[i].slo), 0);
        add(&t, result(rows[i].outcome, rows[i].ttft_ns, rows[i].tpot_ns, rows[i].e2e_ns));
        assert_row(rows[i].name, t.n_good == (rows[i].is_good ? 1 : 0));
        assert_row(rows[i].name, t.ttft_good.n_good <= t.ttft_good.n_eligible);
        tally_done(&t);
    }
}

static void test_objectives(void **state)
{
    struct tally_slo slo = {100, 10, -1};
    struct tally t;
    struct load_result whole = result(OUTCOME_OK, -1, -1, 50);
    (void)state;
    assert_int_equal(tally_init(&t, &slo), 0);
    add(&t, result(OUTCOME_OK, 100, 10, 500));
    add(&t, result(OUTCOME_OK, 101, 10, 500));
    add(&t, result(OUTCOME_OK, 50, -1, 500));
    add(&t, result(OUTCOME_UPSTREAM_CUT, 50, 5, -1));
    whole.is_stream = false; /* no TTFT to keep */
    add(&t, whole);
    assert_int_equal(t.ttft_good.n_eligible, 4);
    assert_int_equal(t.ttft_good.n_good, 2);
    assert_int_equal(t.tpot_good.n_eligible, 3);
    assert_int_equal(t.tpot_good.n_good, 2);
    assert_int_equal(t.e2e_good.n_eligible, 0);
    assert_int_equal(t.n_good, 3);
    assert_int_equal(tally_n_failed(&t), 1);
    tally_done(&t);
}

static void test_counts(void **state)
{
    struct tally t;
    struct load_result r = result(OUTCOME_OK, 5, 5, 5);
    (void)state;
    assert_int_equal(tally_init(&t, &no_slo), 0);
    r.lag_ns = 7;
    r.is_retried = true;
    add(&t, r);
    add(&t, result(OUTCOME_HTTP_ERROR, -1, -1, -1));
    r.has_usage = false;
    r.completion_tokens = -1;
    add(&t, r);
    assert_int_equal(t.n_done, 3);
    assert_int_equal(t.n_retried, 2);
    assert_int_equal(t.n_by_status[429], 1);
    assert_int_equal(t.prompt_tokens, 20);
    assert_int_equal(t.completion_tokens, 20);
    assert_int_equal(t.n_with_usage, 1);
    assert_int_equal(readings_count(&t.lag), 3);
    assert_int_equal(readings_count(&t.ttft), 2);
    tally_done(&t);
}

static void test_spread(void **state)
{
    struct tally t;
    (void)state;
    assert_int_equal(tally_init(&t, &no_slo), 0);
    assert_int_equal(tally_spread_quantile(&t, &t.icl, 0.5), -1);
    for (int64_t i = 1; i <= 1000; i++)
        tally_gap(&t, i * NS_PER_MS);
    assert_true(llabs(tally_spread_quantile(&t, &t.icl, 0.5) - 500 * NS_PER_MS) < 12 * NS_PER_MS);
    assert_int_equal(tally_spread_quantile(&t, &t.icl, 1), 1000 * NS_PER_MS);
    assert_int_equal(t.icl.max_ns, 1000 * NS_PER_MS);
    assert_int_equal(t.icl.n, 1000);
    assert_true(fabs(t.icl.sum_ns - 500500e6) < 1);
    tally_done(&t);
}

static void test_itl_by_tokens(void **state)
{
    struct timing timing;
    struct timing_tokens tokens = {.completion = 8, .reasoning = -1};
    struct load_result r = result(OUTCOME_OK, 5, 5, 5);
    struct tally t;
    (void)state;
    timing_init(&timing);
    for (int i = 0; i < 4; i++)
        (void)timing_event(&timing, (mono_t){NS_PER_S + i * 10 * NS_PER_MS}, OUTPUT_TEXT, false);
    timing_summarise(&timing, tokens, &r.summary);
    r.timing = &timing;
    assert_int_equal(tally_init(&t, &no_slo), 0);
    add(&t, r);
    assert_int_equal(t.itl.n, 6); /* three gaps of two tokens */
    assert_true(llabs(t.itl.max_ns - 5 * NS_PER_MS) < NS_PER_MS / 5);
    tally_done(&t);
}

/* --- report --- */

static struct load_summary summary(void)
{
    return (struct load_summary){.url = "http://h/v1/chat/completions",
                                 .mode = "poisson",
                                 .offered_per_s = 2,
                                 .n_sent = 4,
                                 .n_in_flight_max = 3,
                                 .issue_ns = NS_PER_S,
                                 .elapsed_ns = 2 * NS_PER_S,
                                 .cpu_ratio = 0.1,
                                 .kernel_stamp_ratio = 1};
}

static void test_report(void **state)
{
    struct tally_slo slo = {100 * NS_PER_MS, -1, -1};
    struct load_summary s = summary();
    struct tally t;
    struct buf out;
    struct span all;
    struct json j;
    (void)state;
    assert_int_equal(tally_init(&t, &slo), 0);
    add(&t, result(OUTCOME_OK, 50 * NS_PER_MS, 5 * NS_PER_MS, NS_PER_S));
    add(&t, result(OUTCOME_HTTP_ERROR, -1, -1, -1));
    add(&t, result(OUTCOME_UPSTREAM_CUT, 60 * NS_PER_MS, -1, -1));
    buf_init(&out, MIB);
    assert_int_equal(load_report_table(&t, &s, &out), 0);
    all = buf_span(&out);
    assert_true(span_find(all, SPAN("4 sent, 1 ok, 2 failed (1 upstream_cut, 1 http_429)")) <
                all.n);
    assert_true(span_find(all, SPAN("2.00/s offered, 0.50/s completed in 2.0 s, at most 3")) <
                all.n);
    assert_true(span_find(all, SPAN("hint: the server limits the rate")) < all.n);
    assert_true(span_find(all, SPAN("TTFT <= 100.0 ms: 33.33 %")) < all.n);
    assert_true(span_find(all, SPAN("warning")) == all.n);
    buf_clear(&out);
    assert_int_equal(load_report_json(&t, &s, &out), 0);
    all = buf_span(&out);
    json_init(&j, all);
    assert_true(json_skip(&j) && json_is_done(&j));
    assert_true(span_find(all, SPAN("\"errors\":{\"upstream_cut\":1,\"http_429\":1}")) < all.n);
    assert_true(span_find(all, SPAN("\"ttft_ns\":{\"count\":2,\"mean\":55000000,\"min\":50000000,"
                                    "\"p50\":50000000")) < all.n);
    assert_true(span_find(all, SPAN("\"icl_ns\":{\"count\":0,\"mean\":null")) < all.n);
    assert_true(span_find(all, SPAN("\"warning\":null")) < all.n);
    buf_done(&out);
    tally_done(&t);
}

static void test_report_of_nothing(void **state)
{
    struct tally_slo slo = {1, 1, 1};
    struct load_summary s = {.url = "u", .mode = "concurrency", .kernel_stamp_ratio = -1};
    struct tally t;
    struct buf out;
    struct json j;
    (void)state;
    assert_int_equal(tally_init(&t, &slo), 0);
    buf_init(&out, MIB);
    assert_int_equal(load_report_table(&t, &s, &out), 0);
    assert_true(span_find(buf_span(&out), SPAN("goodput     no data")) < buf_len(&out));
    buf_clear(&out);
    assert_int_equal(load_report_json(&t, &s, &out), 0);
    json_init(&j, buf_span(&out));
    assert_true(json_skip(&j) && json_is_done(&j));
    assert_true(span_find(buf_span(&out), SPAN("\"ratio\":null")) < buf_len(&out));
    buf_done(&out);
    tally_done(&t);
}

static void test_own_bottleneck(void **state)
{
    struct load_summary s = summary();
    struct tally t;
    struct load_result r = result(OUTCOME_OK, 5, 5, 5);
    const char *why = NULL;
    (void)state;
    assert_int_equal(tally_init(&t, &no_slo), 0);
    add(&t, r);
    assert_false(load_report_is_own_bottleneck(&t, &s, &why));
    s.cpu_ratio = 0.9;
    assert_true(load_report_is_own_bottleneck(&t, &s, &why));
    assert_non_null(strstr(why, "85 %"));
    s.cpu_ratio = 0.1;
    r.lag_ns = 6 * NS_PER_MS;
    add(&t, r);
    assert_true(load_report_is_own_bottleneck(&t, &s, &why));
    assert_non_null(strstr(why, "schedule lag"));
    tally_done(&t);
}

static void test_durations(void **state)
{
    static const struct {
        int64_t ns;
        const char *text;
    } rows[] = {
        {-1, "-"},
        {0, "0.0 us"},
        {1500, "1.5 us"},
        {1234567, "1.23 ms"},
        {123456789, "123.5 ms"},
        {2500000000, "2.50 s"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char text[24];
        load_report_duration(rows[i].ns, text);
        assert_string_equal(text, rows[i].text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_goodput),
        cmocka_unit_test(test_objectives),
        cmocka_unit_test(test_counts),
        cmocka_unit_test(test_spread),
        cmocka_unit_test(test_itl_by_tokens),
        cmocka_unit_test(test_report),
        cmocka_unit_test(test_report_of_nothing),
        cmocka_unit_test(test_own_bottleneck),
        cmocka_unit_test(test_durations),
    };
    return cmocka_run_group_tests_name("load/tally", tests, NULL, NULL);
}
