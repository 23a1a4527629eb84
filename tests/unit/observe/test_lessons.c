/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Faults that users of neighbouring systems met, each with the right behaviour, from the bytes to
 * the record. The number is that of the project's list of field lessons; cases of the request side
 * (C29 to C31, C34, C43) are in tests/unit/policy/test_policy.c.
 */
#include "path.h"

static struct record *run(struct path *p, const char *const *events, int64_t step_us)
{
    path_open_stream(p, STREAM_BODY);
    int64_t at = 1000;
    for (; *events; events++, at += step_us)
        path_read(p, *events, at);
    path_end(p, at);
    path_close(p);
    return &p->seen.record;
}
#define RUN(p, ...) run((p), (const char *const[]){__VA_ARGS__, NULL}, 1000)

/* The clock of the first token ignores role preludes and keepalives; a stream that opened and
 * produced nothing has no sample. */
static void c01_role_and_keepalive_are_no_token(void **state)
{
    (void)state;
    struct path p;
    struct record *r = RUN(&p, ": keepalive\n\n", ROLE, ": keepalive\n\n", TEXT("a"), DONE);
    assert_int_equal(r->ttft_ns, 3900000);
    assert_int_equal(p.seen.n_ttft, 1);
    r = RUN(&p, ": keepalive\n\n", ROLE, FINISH("stop"), DONE);
    assert_int_equal(r->ttft_ns, -1);
    assert_int_equal(p.seen.n_ttft, 0);
}

static void c02_no_first_token_has_a_reason_and_ttfb_its_own_name(void **state)
{
    (void)state;
    enum no_first_token reason;
    struct path p;
    struct record *r = RUN(&p, ROLE, FINISH("stop"), DONE);
    assert_true(record_has_no_first_token(r, &reason));
    assert_int_equal(reason, NO_FIRST_TOKEN_NO_OUTPUT);
    assert_int_equal(r->ttfb_ns, 900000);
    assert_int_equal(r->ttfe_ns, 900000);
    assert_int_equal(r->ttft_ns, -1);
    r = RUN(&p, ROLE, EVENT("{\"error\":{\"code\":500}}"));
    assert_true(record_has_no_first_token(r, &reason));
    assert_int_equal(reason, NO_FIRST_TOKEN_ERROR);
}

/* One classifier for every path: completions and chat are read by the same rule. */
static void c03_one_rule_for_all_dialects(void **state)
{
    (void)state;
    struct path p;
    path_open(&p);
    path_send(&p, "openai-completions", "{\"model\":\"m\",\"stream\":true,\"prompt\":\"x\"}");
    path_head(&p, 200, "text/event-stream", 500);
    path_read(&p, EVENT("{\"choices\":[{\"index\":0,\"text\":\"\"}]}"), 600);
    path_read(&p, EVENT("{\"choices\":[{\"index\":0,\"text\":\"a\"}]}"), 700);
    path_read(&p, DONE, 800);
    path_end(&p, 900);
    assert_int_equal(p.seen.record.ttft_ns, 600000);
    path_close(&p);
}

/* Chunked prefill sends the role chunk long before the first token. */
static void c04_role_chunk_of_chunked_prefill(void **state)
{
    (void)state;
    struct path p;
    path_open_stream(&p, STREAM_BODY);
    path_read(&p, ROLE, 900000);
    path_read(&p, TEXT("a"), 2200000);
    path_read(&p, TEXT("b"), 2220000);
    path_read(&p, DONE, 2220100);
    path_end(&p, 2220200);
    assert_int_equal(p.seen.ttft_ns, INT64_C(2199900000));
    assert_int_equal(p.seen.n_gaps, 1);
    assert_int_equal(p.seen.gaps_ns[0], 20000000);
    path_close(&p);
}

#define TOOL(members)                                                                              \
    EVENT("{\"choices\":[{\"index\":0,\"delta\":{\"tool_calls\":[" members "]}}]}")

static void c05_tool_calls_are_output(void **state)
{
    (void)state;
    struct path p;
    struct record *r =
        RUN(&p, ROLE, TOOL("{\"index\":0,\"function\":{\"name\":\"f\",\"arguments\":\"\"}}"),
            TOOL("{\"index\":0,\"function\":{\"arguments\":\"{}\"}}"), FINISH("tool_calls"), DONE);
    assert_int_equal(r->ttft_ns, 1900000);
    assert_int_equal(r->ttfa_ns, 1900000);
    assert_int_equal(r->n_output_events, 2);
    assert_int_equal(r->n_content_events, 1);
    assert_string_equal(r->finish_reason, "tool_calls");
}

static void c06_c07_reasoning_is_output_and_the_answer_has_its_own_time(void **state)
{
    (void)state;
    struct path p;
    struct record *r = RUN(&p, ROLE, THINK("h"), THINK("m"), TEXT("a"), DONE);
    assert_int_equal(r->ttft_ns, 1900000);
    assert_int_equal(r->ttfa_ns, 3900000);
    assert_int_equal(p.seen.n_ttft, 1);
    assert_int_equal(p.seen.n_ttfa, 1);
    assert_int_equal(r->stage_ns[STAGE_REASONING], 2000000);
    r = RUN(&p, THINK("only"), FINISH("length"), DONE);
    assert_int_equal(r->ttft_ns, 900000);
    assert_int_equal(r->ttfa_ns, -1);
    assert_int_equal(r->outcome, OUTCOME_OK);
}

static void c08_opaque_reasoning_is_activity(void **state)
{
    (void)state;
    struct path p;
    struct record *r = RUN(&p,
                           EVENT("{\"choices\":[{\"delta\":{\"reasoning_details\":[{\"type\":"
                                 "\"reasoning.encrypted\",\"data\":\"zzz\"}]}}]}"),
                           TEXT("a"), USAGE(1, 30), DONE);
    assert_int_equal(r->ttft_ns, 900000);
    assert_int_equal(r->ttfa_ns, 1900000);
    assert_int_equal(r->n_content_events, 1);
    assert_true(r->flags & RECORD_REASONING_HIDDEN);
    assert_int_equal(r->timing.tpot_status, TPOT_HIDDEN_REASONING);
}

static void c09_c10_c16_non_streams_have_no_ttft(void **state)
{
    (void)state;
    struct path p;
    path_open(&p);
    path_send(&p, "openai-chat", "{\"model\":\"m\",\"stream\":false}");
    path_head(&p, 200, "application/json", 90000);
    path_read(&p, "{\"usage\":{\"prompt_tokens\":1,\"completion_tokens\":50}}", 90010);
    path_end(&p, 90020);
    const struct record *r = &p.seen.record;
    assert_int_equal(r->ttft_ns, -1);
    assert_int_equal(r->timing.tpot_ns, -1);
    assert_int_equal(r->timing.tpot_status, TPOT_NOT_STREAM);
    assert_int_equal(p.seen.n_ttft, 0);
    assert_int_equal(r->e2e_ns, 89920000); /* its own field, not TTFT's */
    path_close(&p);
}

static void c11_stamp_is_that_of_the_first_event(void **state)
{
    (void)state;
    struct path p;
    struct record *r = RUN(&p, TEXT("a"), TEXT("b"), TEXT("c"), DONE);
    assert_int_equal(r->ttft_ns, 900000);
}

/* Stamps are taken at the read; how long the write to the client took changes nothing. */
static void c12_c13_stamp_is_taken_at_the_read(void **state)
{
    (void)state;
    struct path p;
    path_open_stream(&p, STREAM_BODY);
    observe_tap.response_body(p.tap, SPAN(TEXT("a")), stamp_us(&p, 1000));
    observe_tap.forwarded(p.tap, us(5000));
    observe_tap.response_body(p.tap, SPAN(TEXT("b") DONE), stamp_us(&p, 6000));
    observe_tap.forwarded(p.tap, us(6001));
    path_end(&p, 7000);
    assert_int_equal(p.seen.ttft_ns, 900000);
    assert_int_equal(p.seen.gaps_ns[0], 5000000);
    assert_int_equal(p.seen.overheads_ns[0], 4000000); /* the difference is told apart */
    path_close(&p);
}

static void c14_no_negative_or_zero_origin(void **state)
{
    (void)state;
    struct path p;
    path_open(&p);
    path_send(&p, "openai-chat", STREAM_BODY);
    path_head(&p, 200, "text/event-stream", 40); /* a head from before the request */
    path_read(&p, TEXT("a"), 50);
    path_read(&p, DONE, 60);
    path_end(&p, 200);
    assert_int_equal(p.seen.n_ttft, 0);
    assert_int_equal(p.seen.record.ttft_ns, -1);
    assert_int_equal(p.seen.record.upstream_ttft_ns, -1);
    path_close(&p);
}

static void c15_c24_tpot_spans_first_to_last_token(void **state)
{
    (void)state;
    struct path p;
    struct record *r = RUN(&p, ROLE, TEXT("a"), TEXT("b"), TEXT("c"), TEXT("d"), FINISH("stop"),
                           USAGE(9, 31), DONE);
    assert_int_equal(r->timing.tpot_ns, 100000); /* 3 ms over 30 steps, headers and tail left out */
}

static void c17_ttft_is_in_the_record(void **state)
{
    (void)state;
    struct path p;
    struct record *r = RUN(&p, TEXT("a"), DONE);
    struct buf b;
    buf_init(&b, 65536);
    assert_int_equal(record_to_json(r, &b), 0);
    assert_true(span_find(buf_span(&b), SPAN("\"ttft_ms\":0.900000,")) < buf_len(&b));
    buf_done(&b);
}

static void c18_times_do_not_need_usage(void **state)
{
    (void)state;
    struct path p;
    struct record *r = RUN(&p, TEXT("a"), TEXT("b"), FINISH("stop"), DONE);
    assert_int_equal(r->usage_source, USAGE_SOURCE_NONE);
    assert_int_equal(r->ttft_ns, 900000);
    assert_int_equal(p.seen.n_gaps, 1);
    assert_true(r->e2e_ns > 0);
    assert_int_equal(r->timing.tpot_status, TPOT_NO_USAGE);
}

static void c19_comments_are_no_events(void **state)
{
    (void)state;
    struct path p;
    struct record *r =
        RUN(&p, ": OPENROUTER PROCESSING\n\n", TEXT("a"), ": ping\n\n", TEXT("b"), DONE);
    assert_int_equal(r->n_events, 3);
    assert_int_equal(p.seen.n_gaps, 1);
    assert_int_equal(p.seen.gaps_ns[0], 2000000);
}

/* Several tokens per chunk: gaps of chunks and gaps of tokens, each under its own name. */
static void c20_c21_token_weighted_gaps(void **state)
{
    (void)state;
    struct path p;
    struct record *r = RUN(&p, TEXT("a b c"), TEXT("d e f"), TEXT("g h i"), USAGE(1, 9), DONE);
    assert_int_equal(p.seen.n_gaps, 2);
    assert_int_equal(p.seen.gaps_ns[0], 1000000);
    assert_int_equal(p.seen.itl_tokens, 6);
    assert_true(p.seen.itl_total_ns > 1.97e6 && p.seen.itl_total_ns < 2.03e6);
    assert_true(r->timing.tokens_per_event > 2.99 && r->timing.tokens_per_event < 3.01);
}

static void c28_c32_usage_chunk_without_choices(void **state)
{
    (void)state;
    struct path p;
    struct record *r = RUN(&p, TEXT("a"), FINISH("stop"), USAGE(12, 34), DONE);
    assert_int_equal(r->prompt_tokens, 12);
    assert_int_equal(r->completion_tokens, 34);
    assert_int_equal(r->n_output_events, 1);
    assert_int_equal(r->outcome, OUTCOME_OK);
}

#define WITH_USAGE(p, c)                                                                           \
    EVENT("{\"choices\":[{\"index\":0,\"delta\":{\"content\":\"a\"}}],\"usage\":{"                 \
          "\"prompt_tokens\":" #p ",\"completion_tokens\":" #c "}}")

static void c33_c35_usage_is_last_wins(void **state)
{
    (void)state;
    struct path p;
    struct record *r =
        RUN(&p, WITH_USAGE(5, 1), WITH_USAGE(5, 2), WITH_USAGE(5, 3), USAGE(5, 3), DONE);
    assert_int_equal(r->prompt_tokens, 5);
    assert_int_equal(r->completion_tokens, 3);
}

static void c36_reasoning_is_part_of_completion(void **state)
{
    (void)state;
    struct path p;
    struct record *r =
        RUN(&p, THINK("h"), TEXT("a"),
            EVENT("{\"choices\":[],\"usage\":{\"prompt_tokens\":1,\"completion_tokens\":"
                  "298,\"completion_tokens_details\":{\"reasoning_tokens\":288}}}"),
            DONE);
    assert_int_equal(r->completion_tokens, 298);
    assert_int_equal(r->reasoning_tokens, 288);
    r = RUN(
        &p, TEXT("a"), TEXT("b"),
        EVENT("{\"choices\":[],\"usage\":{\"prompt_tokens\":165,\"completion_tokens\":2,"
              "\"total_tokens\":296,\"completion_tokens_details\":{\"reasoning_tokens\":129}}}"),
        DONE);
    assert_int_equal(r->completion_tokens, 131); /* reported beside it */
    assert_int_equal(r->raw_completion_tokens, 2);
    assert_int_equal(r->timing.tpot_status, TPOT_OK);
    assert_int_equal(r->timing.tpot_ns, 1000000); /* over the two that streamed */
    assert_false(r->flags & RECORD_USAGE_ANOMALY);
}

static void c37_cached_is_part_of_prompt(void **state)
{
    (void)state;
    struct path p;
    struct record *r = RUN(&p, TEXT("a"),
                           EVENT("{\"choices\":[],\"usage\":{\"prompt_tokens\":100,"
                                 "\"completion_tokens\":1,\"prompt_tokens_details\":{"
                                 "\"cached_tokens\":64}}}"),
                           DONE);
    assert_int_equal(r->prompt_tokens, 100);
    assert_int_equal(r->cached_tokens, 64);
    assert_int_equal(r->raw_cached_tokens, 64);
}

static void c38_negative_counts_are_anomalies(void **state)
{
    (void)state;
    struct path p;
    struct record *r = RUN(&p, TEXT("a"),
                           EVENT("{\"choices\":[],\"usage\":{\"prompt_tokens\":100,"
                                 "\"completion_tokens\":1,\"prompt_tokens_details\":{"
                                 "\"cached_tokens\":-1}}}"),
                           DONE);
    assert_int_equal(r->cached_tokens, -1);     /* unknown */
    assert_int_equal(r->raw_cached_tokens, -1); /* as reported */
    assert_int_equal(r->prompt_tokens, 100);
    assert_true(r->flags & RECORD_USAGE_ANOMALY);
}

static void c46_aborted_streams_keep_partial_usage_and_their_outcome(void **state)
{
    (void)state;
    struct path p;
    path_open_stream(&p, STREAM_BODY);
    path_read(&p, WITH_USAGE(5, 1), 1000);
    path_read(&p, WITH_USAGE(5, 2), 2000);
    path_end_as(&p, TAP_END_CLIENT_GONE, TAP_REASON_NONE, 2500);
    const struct record *r = &p.seen.record;
    assert_int_equal(r->outcome, OUTCOME_CLIENT_GONE_AFTER_FIRST);
    assert_int_equal(r->completion_tokens, 2);
    assert_int_equal(r->usage_source, USAGE_SOURCE_ENGINE);
    assert_int_equal(r->ttft_ns, 900000);
    path_close(&p);
}

static void c49_errors_in_200_and_truncation_are_no_success(void **state)
{
    (void)state;
    struct path p;
    struct record *r = RUN(&p, TEXT("a"), "event: error\ndata: {\"message\":\"x\"}\n\n");
    assert_int_equal(r->outcome, OUTCOME_STREAM_ERROR);
    r = RUN(&p, EVENT("{\"error\":{\"message\":\"x\",\"type\":\"overloaded_error\"}}"), DONE);
    assert_int_equal(r->outcome, OUTCOME_STREAM_ERROR);
    assert_string_equal(r->outcome_reason, "overloaded_error");
    r = RUN(&p, TEXT("a"), TEXT("b"));
    assert_int_equal(r->outcome, OUTCOME_TRUNCATED);
    r = RUN(&p, TEXT("a"), FINISH("stop"));
    assert_int_equal(r->outcome, OUTCOME_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(c01_role_and_keepalive_are_no_token),
        cmocka_unit_test(c02_no_first_token_has_a_reason_and_ttfb_its_own_name),
        cmocka_unit_test(c03_one_rule_for_all_dialects),
        cmocka_unit_test(c04_role_chunk_of_chunked_prefill),
        cmocka_unit_test(c05_tool_calls_are_output),
        cmocka_unit_test(c06_c07_reasoning_is_output_and_the_answer_has_its_own_time),
        cmocka_unit_test(c08_opaque_reasoning_is_activity),
        cmocka_unit_test(c09_c10_c16_non_streams_have_no_ttft),
        cmocka_unit_test(c11_stamp_is_that_of_the_first_event),
        cmocka_unit_test(c12_c13_stamp_is_taken_at_the_read),
        cmocka_unit_test(c14_no_negative_or_zero_origin),
        cmocka_unit_test(c15_c24_tpot_spans_first_to_last_token),
        cmocka_unit_test(c17_ttft_is_in_the_record),
        cmocka_unit_test(c18_times_do_not_need_usage),
        cmocka_unit_test(c19_comments_are_no_events),
        cmocka_unit_test(c20_c21_token_weighted_gaps),
        cmocka_unit_test(c28_c32_usage_chunk_without_choices),
        cmocka_unit_test(c33_c35_usage_is_last_wins),
        cmocka_unit_test(c36_reasoning_is_part_of_completion),
        cmocka_unit_test(c37_cached_is_part_of_prompt),
        cmocka_unit_test(c38_negative_counts_are_anomalies),
        cmocka_unit_test(c46_aborted_streams_keep_partial_usage_and_their_outcome),
        cmocka_unit_test(c49_errors_in_200_and_truncation_are_no_success),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
