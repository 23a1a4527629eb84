/* SPDX-License-Identifier: Apache-2.0 */
/* The engine's own histogram out of a page, and what it rose by. */
#include "verify/page.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "harness.h"
#include "memfail.h"

#define NAME  "vllm:time_to_first_token_seconds"
#define OTHER "vllm:num_requests_running{engine=\"0\",model_name=\"m\"} 1\n"
#define HIST(engine, a, b, c, sum)                                                                 \
    NAME "_bucket{engine=\"" engine "\",model_name=\"m\",le=\"0.5\"} " a "\n" NAME                 \
         "_bucket{engine=\"" engine "\",model_name=\"m\",le=\"2.5\"} " b "\n" NAME                 \
         "_bucket{engine=\"" engine "\",model_name=\"m\",le=\"+Inf\"} " c "\n" NAME                \
         "_count{engine=\"" engine "\",model_name=\"m\"} " c "\n" NAME "_sum{engine=\"" engine     \
         "\",model_name=\"m\"} " sum "\n"
#define HEAD "# TYPE " NAME " histogram\n"

static void read_page(const char *text, struct verify_page *ret)
{
    struct err why = {.text = ""};

    if (verify_page_read(span_cstr(text), ret, &why) < 0)
        fail_msg("%s", why.text);
}

static void test_read(void **state)
{
    struct verify_page p;

    (void)state;
    read_page(HEAD OTHER HIST("0", "1", "3", "4", "10") HIST("1", "10", "20", "20", "5"), &p);
    assert_string_equal(p.engine, "vLLM");
    assert_string_equal(p.name, NAME);
    assert_true(p.count == 24 && p.sum == 15); /* of both engines */
    assert_int_equal(p.n, 3);
    assert_true(p.at[0].n == 11 && p.at[1].n == 23 && p.at[2].n == 24);
    assert_true(isinf(p.at[2].le));
}

static void test_refused(void **state)
{
    static const struct {
        const char *text, *why;
    } rows[] = {
        {"", ""},
        {"<html>no metrics</html>", ""},
        {"up 1\n", "no engine"},
        {OTHER "vllm:num_requests_waiting{engine=\"0\",model_name=\"m\"} 1\n"
               "vllm:kv_cache_usage_perc{engine=\"0\",model_name=\"m\"} 0.5\n",
         "no histogram of the time to the first token"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct verify_page p = {.n = 77};
        struct err why = {.text = ""};
        assert_row(rows[i].text, verify_page_read(span_cstr(rows[i].text), &p, &why) == -EINVAL);
        assert_row(rows[i].text, why.text[0] && strstr(why.text, rows[i].why));
        assert_row(rows[i].text, p.n == 77);
    }
}

static void test_has(void **state)
{
    static const char page[] = HEAD OTHER HIST("0", "1", "3", "4", "10");

    (void)state;
    assert_true(verify_page_has(span_cstr(page), SPAN(NAME "_bucket")));
    assert_true(verify_page_has(span_cstr(page), SPAN(NAME)));
    assert_true(verify_page_has(span_cstr(page), SPAN("vllm:num_requests_running")));
    assert_false(verify_page_has(span_cstr(page), SPAN("vllm:time_to_first_tokn_seconds_bucket")));
    assert_false(verify_page_has(SPAN(""), SPAN(NAME)));
}

static void test_rise(void **state)
{
    struct verify_page none = {.n = 0}, before, after;
    struct verify_rise r;

    (void)state;
    read_page(HEAD OTHER HIST("0", "100", "100", "100", "10"), &before);
    read_page(HEAD OTHER HIST("0", "100", "190", "200", "310"), &after);
    r = verify_page_rise(&before, &after);
    assert_true(r.count == 100 && r.mean == 3 && r.has_buckets);
    assert_true(r.p99_from == 2.5 && isinf(r.p99_to)); /* 90 of 100 are below 2.5 */
    r = verify_page_rise(&none, &before);
    assert_true(r.count == 100 && fabs(r.mean - 0.1) < 1e-9);
    assert_true(r.p99_from == 0 && r.p99_to == 0.5);
    r = verify_page_rise(&after, &after);
    assert_true(r.count == 0 && isnan(r.mean) && !r.has_buckets);
    r = verify_page_rise(&after, &before); /* a restart: counted from 0 */
    assert_true(r.count == 100 && fabs(r.mean - 0.1) < 1e-9 && r.p99_to == 0.5);
}

static int read_once(void *ctx)
{
    struct verify_page p = {.n = 0};
    struct err why = {.text = ""};

    (void)ctx;
    return verify_page_read(SPAN(HEAD OTHER HIST("0", "1", "3", "4", "10")), &p, &why);
}

static void test_without_memory(void **state)
{
    (void)state;
    assert_true(memfail_each(read_once, NULL) > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_read),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_has),
        cmocka_unit_test(test_rise),
        cmocka_unit_test(test_without_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
