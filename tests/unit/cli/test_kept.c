/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/kept_rows, kept_show, kept_one: answers with rows taken apart and shown, whatever is in them.
 */
#include "cli/kept_rows.h"

#include <errno.h>
#include <math.h>

#include "base/limits.h"
#include "cli/kept_show.h"
#include "harness.h"
#include "memfail.h"
#include "store/fields.h"

#define ROW_A                                                                                      \
    "{\"schema_version\":1,\"started_at\":\"2026-11-30T02:10:00.123456Z\",\"request_id\":\"a\","   \
    "\"labels\":{\"team\":\"x,\\\"y\"},\"model\":\"m\\u001b[31m\",\"upstream\":null,"              \
    "\"outcome\":\"ok\",\"status\":200,\"flags\":[],\"total_ms\":100.000000,\"ttft_ms\":0.250000," \
    "\"stage_receive_ms\":0.000000,\"stage_wait_ms\":25.000000,\"stage_answer_ms\":75.000000,"     \
    "\"prompt_tokens\":8,\"timeline\":[[1.000,1,0],[2.000,1,0]],\"of_tomorrow\":{\"x\":[1]}}"
#define ROW_B "{\"request_id\":\"b\",\"model\":\"\\u6a21\\u578b\",\"ttft_ms\":1234.56}"

static void test_taken_apart(void **state)
{
    (void)state;
    struct arena a;
    struct kept_page p;
    arena_init(&a, NULL);
    assert_int_equal(
        kept_page_read(SPAN("{\"requests\":[" ROW_A "," ROW_B "],\"next\":\"12\"}\n"), &a, &p), 0);
    assert_int_equal(p.n, 2);
    assert_span_equal("next", p.next, SPAN("12"));
    assert_null(p.error.p);
    assert_span_equal("json", p.rows[0].json, SPAN(ROW_A));
    assert_span_equal("json", p.rows[1].json, SPAN(ROW_B));
    assert_span_equal("text", kept_value(&p.rows[0], "model"), SPAN("m\x1b[31m"));
    assert_span_equal("object", kept_value(&p.rows[0], "labels"), SPAN("{\"team\":\"x,\\\"y\"}"));
    assert_span_equal("array", kept_value(&p.rows[0], "flags"), SPAN("[]"));
    assert_null(kept_value(&p.rows[0], "upstream").p);
    assert_null(kept_value(&p.rows[1], "outcome").p);
    assert_true(isnan(kept_number(kept_value(&p.rows[1], "outcome"))));
    assert_true(kept_number(kept_value(&p.rows[0], "prompt_tokens")) > 7.9);
    arena_done(&a);
}

static void test_errors_and_what_is_no_answer(void **state)
{
    (void)state;
    static const char *const bad[] = {"",
                                      "[]",
                                      "{}",
                                      "{\"requests\":5}",
                                      "{\"requests\":[5]}",
                                      "{\"requests\":[{\"a\":1}",
                                      "{\"requests\":[],\"next\":}",
                                      "{\"requests\":[]}x",
                                      "{\"status\":\"success\"}"};
    struct arena a;
    struct kept_page p;
    arena_init(&a, NULL);
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        assert_row(bad[i], kept_page_read(span_cstr(bad[i]), &a, &p) == -EPROTO);
        assert_row(bad[i], kept_single_read(span_cstr(bad[i]), &a, &p) == -EPROTO);
    }
    struct span error = SPAN("{\"status\":\"error\",\"error\":\"a \\\"b\\\"\"}");
    assert_int_equal(kept_page_read(error, &a, &p), 0);
    assert_span_equal("error", p.error, SPAN("a \"b\""));
    assert_int_equal(kept_single_read(error, &a, &p), 0);
    assert_span_equal("error", p.error, SPAN("a \"b\""));
    assert_int_equal(kept_single_read(SPAN(ROW_B), &a, &p), 0);
    assert_null(p.error.p);
    assert_int_equal(p.n, 1);
    arena_done(&a);
}

static void check(struct buf *out, int r, const char *want)
{
    assert_int_equal(r, 0);
    assert_span_equal("shown", buf_span(out), span_cstr(want));
    buf_clear(out);
}

static void test_shown(void **state)
{
    (void)state;
    struct arena a;
    struct kept_page p;
    struct kept_columns c;
    struct buf out;
    arena_init(&a, NULL);
    buf_init(&out, MIB);
    kept_columns_init(&c);
    c.n = 0;
    kept_columns_add(&c, fields_find(SPAN("started_at")));
    kept_columns_add(&c, fields_find(SPAN("model")));
    kept_columns_add(&c, fields_find(SPAN("ttft_ms")));
    kept_columns_add(&c, fields_find(SPAN("model")));
    kept_columns_add(&c, -1);
    assert_int_equal(kept_page_read(SPAN("{\"requests\":[]}"), &a, &p), 0);
    check(&out, kept_show_table(&c, &p, &out), "no requests\n");
    assert_int_equal(kept_page_read(SPAN("{\"requests\":[" ROW_A "," ROW_B "]}"), &a, &p), 0);
    check(&out, kept_show_table(&c, &p, &out),
          "started_at               model   ttft_ms\n"
          "2026-11-30T02:10:00.123  m?[31m    0.250\n"
          "-                        \xe6\xa8\xa1\xe5\x9e\x8b       1234.6\n");
    p.n = 1;
    check(&out, kept_show_table(&c, &p, &out), "2026-11-30T02:10:00.123  m?[31m    0.250\n");
    check(&out, kept_show_json(&p, &out), ROW_A "\n");
    assert_int_equal(kept_show_csv(&p, true, &out), 0);
    assert_true(span_starts_with(buf_span(&out),
                                 SPAN("2026-11-30T02:10:00.123456Z,a,,,,,\"{\"\"team\"\":\"\"x,")));
    buf_done(&out);
    arena_done(&a);
}

static void test_one(void **state)
{
    (void)state;
    struct arena a;
    struct kept_page p;
    struct buf out;
    const struct kept_one_options narrow = {.width = 56};
    const struct kept_one_options none = {.width = 1, .has_utf8 = true};
    arena_init(&a, NULL);
    buf_init(&out, MIB);
    assert_int_equal(kept_single_read(SPAN(ROW_A), &a, &p), 0);
    check(&out, kept_show_one(&p.rows[0], &narrow, &out),
          "request a\n\n"
          "stage                 ms    share\n"
          "receive            0.000     0.0%\n"
          "wait              25.000    25.0%  #####\n"
          "answer            75.000    75.0%       ###############\n"
          "total            100.000\n\n"
          "Identity\n"
          "  started_at            2026-11-30T02:10:00.123456Z\n"
          "  request_id            a\n"
          "  labels                {\"team\":\"x,\\\"y\"}\n"
          "  model                 m?[31m\n\n"
          "Result\n"
          "  outcome               ok\n"
          "  status                200\n"
          "  flags                 []\n\n"
          "Durations\n"
          "  total_ms              100.000000\n"
          "  ttft_ms               0.250000\n\n"
          "Stream\n"
          "  timeline              2 arrivals, in full with --format json\n\n"
          "Tokens\n"
          "  prompt_tokens         8\n");
    assert_int_equal(kept_single_read(SPAN(ROW_B), &a, &p), 0);
    check(&out, kept_show_one(&p.rows[0], &none, &out),
          "request b\n\nIdentity\n  request_id            b\n"
          "  model                 \xe6\xa8\xa1\xe5\x9e\x8b\n\nDurations\n"
          "  ttft_ms               1234.56\n");
    buf_done(&out);
    arena_done(&a);
}

static int attempt(void *ctx)
{
    (void)ctx;
    struct arena a;
    struct kept_page p;
    struct kept_columns c;
    struct buf out;
    arena_init(&a, NULL);
    buf_init(&out, MIB);
    kept_columns_init(&c);
    int r = kept_page_read(SPAN("{\"requests\":[" ROW_A "," ROW_B "],\"next\":\"12\"}"), &a, &p);
    if (r == 0)
        r = kept_show_table(&c, &p, &out);
    if (r == 0)
        r = kept_show_csv(&p, false, &out);
    buf_done(&out);
    arena_done(&a);
    return r;
}

static void test_failing_allocations(void **state)
{
    (void)state;
    assert_true(memfail_each(attempt, NULL) >= 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_taken_apart),
        cmocka_unit_test(test_errors_and_what_is_no_answer),
        cmocka_unit_test(test_shown),
        cmocka_unit_test(test_one),
        cmocka_unit_test(test_failing_allocations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
