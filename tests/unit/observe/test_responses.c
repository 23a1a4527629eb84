/* SPDX-License-Identifier: Apache-2.0 */
/*
 * observe with the openai-responses dialect: typed events from the bytes to the record.
 */
#include "path.h"

#define NAMED(type, members)                                                                       \
    "event: " type "\ndata: {\"type\":\"" type "\",\"sequence_number\":0" members "}\n\n"
#define CREATED                                                                                    \
    NAMED("response.created", ",\"response\":{\"status\":\"in_progress\",\"model\":\"m\"}")
#define MESSAGE NAMED("response.output_item.added", ",\"item\":{\"type\":\"message\"}")
#define OUTPUT  NAMED("response.output_text.delta", ",\"delta\":\"a\"")
#define SUMMARY NAMED("response.reasoning_summary_text.delta", ",\"delta\":\"h\"")
#define COMPLETED                                                                                  \
    NAMED("response.completed", ",\"response\":{\"status\":\"completed\",\"model\":\"m\","         \
                                "\"usage\":{\"input_tokens\":7,\"output_tokens\":5}}")
#define FAILED                                                                                     \
    NAMED("response.failed", ",\"response\":{\"status\":\"failed\",\"error\":{"                    \
                             "\"code\":\"server_error\",\"message\":\"m\"}}")

/* A stream whose reads come every 1,000 us from 1,000 us on, up to its end. */
static struct record *run(struct path *p, const char *const *reads, enum tap_end end)
{
    int64_t at = 1000;
    path_open(p);
    path_send(p, "openai-responses", "{\"model\":\"m\",\"input\":\"hi\",\"stream\":true}");
    path_head(p, 200, "text/event-stream", 500);
    for (; *reads; reads++, at += 1000)
        path_read(p, *reads, at);
    if (end == TAP_END_COMPLETE)
        path_end(p, at);
    else
        path_end_as(p, end, TAP_REASON_NONE, at);
    path_close(p);
    return &p->seen.record;
}
#define RUN(p, end, ...) run((p), (const char *const[]){__VA_ARGS__, NULL}, end)

/* C02: the beginning of a response is no token. */
static void first_token_is_the_first_delta(void **state)
{
    (void)state;
    struct path p;
    struct record *r = RUN(&p, TAP_END_COMPLETE, CREATED, MESSAGE, OUTPUT, OUTPUT, COMPLETED);
    assert_int_equal(r->outcome, OUTCOME_OK);
    assert_string_equal(r->dialect, "openai-responses");
    assert_string_equal(r->finish_reason, "completed");
    assert_int_equal(r->ttfe_ns, 900000);
    assert_int_equal(r->ttft_ns, 2900000);
    assert_int_equal(p.seen.n_ttft, 1);
    assert_int_equal(r->n_events, 5);
    assert_int_equal(r->n_output_events, 2);
    assert_int_equal(r->prompt_tokens, 7);
    assert_int_equal(r->completion_tokens, 5);
    assert_int_equal(r->e2e_ns, 4900000); /* the end mark, not the end of the body */
    assert_int_equal(r->timing.tpot_ns, 250000);
    assert_int_equal(r->flags, 0);
}

static void streams_without_output_have_a_reason(void **state)
{
    (void)state;
    enum no_first_token reason;
    struct path p;
    struct record *r = RUN(&p, TAP_END_COMPLETE, CREATED, MESSAGE, COMPLETED);
    assert_int_equal(r->ttft_ns, -1);
    assert_int_equal(p.seen.n_ttft, 0);
    assert_true(record_has_no_first_token(r, &reason));
    assert_int_equal(reason, NO_FIRST_TOKEN_NO_OUTPUT);
    r = RUN(&p, TAP_END_COMPLETE, CREATED, FAILED);
    assert_true(record_has_no_first_token(r, &reason));
    assert_int_equal(reason, NO_FIRST_TOKEN_ERROR);
}

/* A summary is no stream of the tokens that were generated for it. */
static void summarised_reasoning_is_hidden(void **state)
{
    (void)state;
    struct path p;
    struct record *r = RUN(&p, TAP_END_COMPLETE, CREATED, SUMMARY, OUTPUT, COMPLETED);
    assert_int_equal(r->ttft_ns, 1900000);
    assert_int_equal(r->ttfa_ns, 2900000);
    assert_true(has_flag(&p, RECORD_REASONING_HIDDEN));
}

/* C49. */
static void outcomes(void **state)
{
    (void)state;
    struct path p;
    struct record *r = RUN(&p, TAP_END_COMPLETE, CREATED, OUTPUT, FAILED);
    assert_int_equal(r->outcome, OUTCOME_STREAM_ERROR);
    assert_string_equal(r->outcome_reason, "server_error");
    assert_string_equal(r->finish_reason, "failed");
    r = RUN(&p, TAP_END_COMPLETE, CREATED, OUTPUT,
            NAMED("error", ",\"code\":\"rate_limit_exceeded\""));
    assert_int_equal(r->outcome, OUTCOME_STREAM_ERROR);
    assert_string_equal(r->outcome_reason, "rate_limit_exceeded");
    r = RUN(&p, TAP_END_COMPLETE, CREATED, OUTPUT);
    assert_int_equal(r->outcome, OUTCOME_TRUNCATED);
    r = RUN(&p, TAP_END_COMPLETE, CREATED, OUTPUT, DONE); /* the response itself never came */
    assert_int_equal(r->outcome, OUTCOME_TRUNCATED);
    r = RUN(&p, TAP_END_UPSTREAM_CUT, CREATED, OUTPUT);
    assert_int_equal(r->outcome, OUTCOME_UPSTREAM_CUT);
    r = RUN(&p, TAP_END_CLIENT_GONE, CREATED, MESSAGE);
    assert_int_equal(r->outcome, OUTCOME_CLIENT_GONE_BEFORE_FIRST);
    r = RUN(&p, TAP_END_COMPLETE, CREATED,
            NAMED("response.incomplete", ",\"response\":{\"status\":\"incomplete\","
                                         "\"incomplete_details\":{\"reason\":\"max_output_tokens\"}"
                                         "}"));
    assert_int_equal(r->outcome, OUTCOME_OK);
    assert_string_equal(r->finish_reason, "incomplete:max_output_tokens");
}

/* The terminal event is the end: nothing that happens to the connection later changes it. */
static void nothing_counts_behind_the_terminal_event(void **state)
{
    (void)state;
    static const enum tap_end ends[] = {TAP_END_COMPLETE, TAP_END_CLIENT_GONE, TAP_END_UPSTREAM_CUT,
                                        TAP_END_TIMEOUT};
    for (size_t i = 0; i < ARRAY_LEN(ends); i++) {
        struct path p;
        struct record *r = RUN(&p, ends[i], CREATED, OUTPUT, OUTPUT, COMPLETED, DONE OUTPUT);
        assert_int_equal(r->outcome, OUTCOME_OK);
        assert_int_equal(r->n_output_events, 2);
        assert_int_equal(r->n_events, 4);
        assert_int_equal(r->e2e_ns, 3900000);
    }
    struct path p;
    struct record *r = RUN(&p, TAP_END_CLIENT_GONE, CREATED, OUTPUT, FAILED);
    assert_int_equal(r->outcome, OUTCOME_STREAM_ERROR);
}

static void whole_answers(void **state)
{
    (void)state;
    struct path p;
    path_open(&p);
    path_send(&p, "openai-responses", "{\"model\":\"m\",\"input\":\"hi\"}");
    path_head(&p, 200, "application/json", 500);
    path_read(&p,
              "{\"object\":\"response\",\"status\":\"completed\",\"model\":\"m\",\"output\":[],"
              "\"usage\":{\"input_tokens\":7,\"output_tokens\":5}}",
              600);
    path_end(&p, 700);
    const struct record *r = &p.seen.record;
    assert_int_equal(r->outcome, OUTCOME_OK);
    assert_false(r->is_stream);
    assert_int_equal(r->ttft_ns, -1);
    assert_int_equal(r->completion_tokens, 5);
    assert_string_equal(r->finish_reason, "completed");
    path_close(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(first_token_is_the_first_delta),
        cmocka_unit_test(streams_without_output_have_a_reason),
        cmocka_unit_test(summarised_reasoning_is_hidden),
        cmocka_unit_test(outcomes),
        cmocka_unit_test(nothing_counts_behind_the_terminal_event),
        cmocka_unit_test(whole_answers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
