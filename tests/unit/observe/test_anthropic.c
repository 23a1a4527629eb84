/* SPDX-License-Identifier: Apache-2.0 */
/*
 * observe over the Anthropic dialect: which event is the first token, how a stream ended, what its
 * counts mean. Numbers of field lessons as in test_lessons.c.
 */
#include "path.h"

#define REQUEST "{\"model\":\"claude-x\",\"max_tokens\":99,\"stream\":true,\"messages\":[]}"

#define SSE(name, members) "event: " name "\ndata: {\"type\":\"" name "\"" members "}\n\n"
#define START                                                                                      \
    SSE("message_start", ",\"message\":{\"type\":\"message\",\"model\":\"claude-x\",\"content\":"  \
                         "[],\"usage\":{\"input_tokens\":10,\"cache_read_input_tokens\":30,"       \
                         "\"cache_creation_input_tokens\":5,\"output_tokens\":2}}")
#define PING           SSE("ping", "")
#define BLOCK(members) SSE("content_block_start", ",\"index\":0,\"content_block\":{" members "}")
#define DELTA(members) SSE("content_block_delta", ",\"index\":0,\"delta\":{" members "}")
#define STOP           SSE("content_block_stop", ",\"index\":0")
#define TEXT_BLOCK     BLOCK("\"type\":\"text\",\"text\":\"\"")
#define SAY(t)         DELTA("\"type\":\"text_delta\",\"text\":\"" t "\"")
#define MUSE(t)        DELTA("\"type\":\"thinking_delta\",\"thinking\":\"" t "\"")
#define SIGN           DELTA("\"type\":\"signature_delta\",\"signature\":\"EqQB\"")
#define ENDING(usage)                                                                              \
    SSE("message_delta", ",\"delta\":{\"stop_reason\":\"end_turn\"},\"usage\":{" usage "}")
#define END   SSE("message_stop", "")
#define ERROR SSE("error", ",\"error\":{\"type\":\"overloaded_error\",\"message\":\"Overloaded\"}")

static void begin(struct path *p)
{
    path_send(p, "anthropic", REQUEST);
    path_head(p, 200, "text/event-stream", 500);
}

/* Events one millisecond apart, the first at 1 ms; returns when the next one would come. */
static int64_t read_all(struct path *p, const char *const *events)
{
    int64_t at = 1000;
    for (; *events; events++, at += 1000)
        path_read(p, *events, at);
    return at;
}

static struct record *run(struct path *p, const char *const *events)
{
    path_open(p);
    begin(p);
    path_end(p, read_all(p, events));
    path_close(p);
    return &p->seen.record;
}
#define RUN(p, ...) run((p), (const char *const[]){__VA_ARGS__, NULL})

static void c03_message_start_and_ping_are_no_token(void **state)
{
    (void)state;
    enum no_first_token reason;
    struct path p;
    struct record *r = RUN(&p, START, PING, TEXT_BLOCK, PING, SAY("a"), SAY("b"), STOP,
                           ENDING("\"output_tokens\":2"), END);
    assert_int_equal(r->ttfe_ns, 900000);
    assert_int_equal(r->ttft_ns, 4900000);
    assert_int_equal(r->ttfa_ns, 4900000);
    assert_int_equal(p.seen.n_ttft, 1);
    assert_int_equal(r->n_events, 9);
    assert_int_equal(r->n_output_events, 2);
    assert_int_equal(r->e2e_ns, 8900000);
    assert_int_equal(r->outcome, OUTCOME_OK);
    assert_string_equal(r->finish_reason, "end_turn");
    assert_string_equal(r->model_response, "claude-x");
    assert_int_equal(r->max_tokens, 99);

    r = RUN(&p, START, PING, PING, ENDING("\"output_tokens\":0"), END);
    assert_int_equal(p.seen.n_ttft, 0);
    assert_int_equal(r->ttft_ns, -1);
    assert_true(record_has_no_first_token(r, &reason));
    assert_int_equal(reason, NO_FIRST_TOKEN_NO_OUTPUT);
}

static void c05_a_tool_without_arguments_is_a_token(void **state)
{
    (void)state;
    struct path p;
    struct record *r =
        RUN(&p, START, BLOCK("\"type\":\"tool_use\",\"id\":\"t\",\"name\":\"f\",\"input\":{}"),
            DELTA("\"type\":\"input_json_delta\",\"partial_json\":\"\""), STOP,
            ENDING("\"output_tokens\":20"), END);
    assert_int_equal(r->ttft_ns, 1900000);
    assert_int_equal(r->ttfa_ns, 1900000);
    assert_int_equal(r->n_output_events, 1);
    assert_int_equal(r->n_content_events, 0);
}

static void c06_thinking_is_output_and_the_answer_has_its_own_time(void **state)
{
    (void)state;
    struct path p;
    struct record *r =
        RUN(&p, START, BLOCK("\"type\":\"thinking\",\"thinking\":\"\""), MUSE("a"), MUSE("b"), SIGN,
            STOP, TEXT_BLOCK, SAY("c"), STOP, ENDING("\"output_tokens\":9"), END);
    assert_int_equal(r->ttft_ns, 2900000);
    assert_int_equal(r->ttfa_ns, 7900000);
    assert_int_equal(r->completion_tokens, 9);
    assert_false(r->flags & RECORD_REASONING_HIDDEN);
    assert_int_equal(r->timing.tpot_status, TPOT_OK);
}

/* Thinking that is not shown, or redacted: activity, but nothing that could be counted. */
static void c08_opaque_thinking_is_activity(void **state)
{
    (void)state;
    struct path p;
    struct record *r = RUN(
        &p, START, BLOCK("\"type\":\"thinking\",\"thinking\":\"\""), SIGN, STOP, TEXT_BLOCK,
        SAY("a"), SAY("b"), SAY("c"), STOP,
        ENDING("\"output_tokens\":103,\"output_tokens_details\":{\"thinking_tokens\":100}"), END);
    assert_int_equal(r->ttft_ns, 2900000);
    assert_int_equal(r->ttfa_ns, 5900000);
    assert_true(r->flags & RECORD_REASONING_HIDDEN);
    assert_int_equal(r->timing.tpot_status, TPOT_OK);
    assert_int_equal(r->timing.tpot_ns, 1000000);
    r = RUN(&p, START, BLOCK("\"type\":\"redacted_thinking\",\"data\":\"EmwK\""), STOP, TEXT_BLOCK,
            SAY("a"), SAY("b"), ENDING("\"output_tokens\":90"), END);
    assert_int_equal(r->ttft_ns, 1900000);
    assert_int_equal(r->timing.tpot_status, TPOT_HIDDEN_REASONING);
}

static void c35_c37_tokens(void **state)
{
    (void)state;
    struct path p;
    struct record *r = RUN(&p, START, SAY("a"), ENDING("\"output_tokens\":7"),
                           ENDING("\"output_tokens\":12"), END);
    assert_int_equal(r->usage_source, USAGE_SOURCE_ENGINE);
    assert_int_equal(r->prompt_tokens, 45); /* what was read and written is part of it */
    assert_int_equal(r->cached_tokens, 30);
    assert_int_equal(r->cache_write_tokens, 5);
    assert_int_equal(r->completion_tokens, 12);
    assert_int_equal(r->raw_prompt_tokens, 10);
    assert_false(r->flags & RECORD_USAGE_ANOMALY);
}

static void c49_streams_that_went_wrong(void **state)
{
    (void)state;
    struct path p;
    struct record *r = RUN(&p, START, TEXT_BLOCK, SAY("a"), STOP, ENDING("\"output_tokens\":7"));
    assert_int_equal(r->outcome, OUTCOME_TRUNCATED); /* whatever stop reason it told */
    r = RUN(&p, START, TEXT_BLOCK, SAY("a"));
    assert_int_equal(r->outcome, OUTCOME_TRUNCATED);
    r = RUN(&p, START, TEXT_BLOCK, SAY("a"), ERROR);
    assert_int_equal(r->outcome, OUTCOME_STREAM_ERROR);
    assert_string_equal(r->outcome_reason, "overloaded_error");
    r = RUN(&p, START, ERROR, END);
    assert_int_equal(r->outcome, OUTCOME_STREAM_ERROR);
    r = RUN(&p, START, EVENT("{\"error\":{\"type\":\"api_error\"}}"));
    assert_int_equal(r->outcome, OUTCOME_STREAM_ERROR);
    assert_string_equal(r->outcome_reason, "api_error");
}

/* Behind message_stop nothing can spoil the answer; before it, everything. */
static void the_end_mark_decides_before_the_connection(void **state)
{
    (void)state;
    static const struct {
        const char *end;
        enum outcome gone, cut;
    } rows[] = {
        {END, OUTCOME_OK, OUTCOME_OK},
        {STOP, OUTCOME_CLIENT_GONE_AFTER_FIRST, OUTCOME_UPSTREAM_CUT},
        {ERROR, OUTCOME_STREAM_ERROR, OUTCOME_STREAM_ERROR},
    };
    struct path p;
    path_open(&p);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const char *const events[] = {START, SAY("a"), ENDING("\"output_tokens\":7"), rows[i].end,
                                      NULL};
        begin(&p);
        path_end_as(&p, TAP_END_CLIENT_GONE, TAP_REASON_NONE, read_all(&p, events));
        assert_row(rows[i].end, p.seen.record.outcome == rows[i].gone);
        begin(&p);
        path_end_as(&p, TAP_END_UPSTREAM_CUT, TAP_REASON_NONE, read_all(&p, events));
        assert_row(rows[i].end, p.seen.record.outcome == rows[i].cut);
    }
    path_close(&p);
}

/* message_start tells a number of output tokens from before there is any output: a stream that was
 * cut has no count of what it brought. */
static void c46_an_early_count_is_not_taken_for_the_output(void **state)
{
    (void)state;
    static const char *const cut[] = {START, TEXT_BLOCK, SAY("a"), SAY("b"), SAY("c"), NULL};
    static const char *const whole[] = {
        START, TEXT_BLOCK, SAY("a"), SAY("b"), ENDING("\"output_tokens\":10"), END, NULL};
    struct path p;
    const struct record *r = &p.seen.record;
    path_open(&p);
    begin(&p);
    path_end_as(&p, TAP_END_CLIENT_GONE, TAP_REASON_NONE, read_all(&p, cut));
    assert_int_equal(r->outcome, OUTCOME_CLIENT_GONE_AFTER_FIRST);
    assert_int_equal(r->usage_source, USAGE_SOURCE_ENGINE); /* of the prompt */
    assert_int_equal(r->prompt_tokens, 45);
    assert_int_equal(r->completion_tokens, -1);
    assert_int_equal(r->raw_completion_tokens, 2);
    assert_int_equal(r->timing.tpot_status, TPOT_NO_USAGE);

    begin(&p);
    path_end(&p, read_all(&p, whole)); /* 5 tokens an event */
    assert_int_equal(r->completion_tokens, 10);
    begin(&p);
    path_end_as(&p, TAP_END_CLIENT_GONE, TAP_REASON_NONE, read_all(&p, cut));
    assert_int_equal(r->usage_source, USAGE_SOURCE_ESTIMATED);
    assert_true(has_flag(&p, RECORD_ESTIMATED));
    assert_int_equal(r->completion_tokens, 15);
    assert_int_equal(r->prompt_tokens, 45);
    assert_int_equal(r->raw_completion_tokens, 2);

    /* Before any output it is as good as any. */
    begin(&p);
    path_read(&p, START, 1000);
    path_end_as(&p, TAP_END_CLIENT_GONE, TAP_REASON_NONE, 2000);
    assert_int_equal(r->outcome, OUTCOME_CLIENT_GONE_BEFORE_FIRST);
    assert_int_equal(r->completion_tokens, 2);
    path_close(&p);
}

static void whole_answers_and_errors(void **state)
{
    (void)state;
    struct path p;
    const struct record *r = &p.seen.record;
    path_open(&p);
    path_send(&p, "anthropic", "{\"model\":\"claude-x\",\"max_tokens\":9}");
    path_head(&p, 200, "application/json", 90000);
    path_read(&p,
              "{\"type\":\"message\",\"model\":\"claude-x\",\"stop_reason\":\"max_tokens\","
              "\"usage\":{\"input_tokens\":3,\"cache_read_input_tokens\":4,\"output_tokens\":9}}",
              90010);
    path_end(&p, 90020);
    assert_int_equal(r->outcome, OUTCOME_OK);
    assert_int_equal(r->ttft_ns, -1);
    assert_int_equal(r->prompt_tokens, 7);
    assert_int_equal(r->completion_tokens, 9);
    assert_string_equal(r->finish_reason, "max_tokens");

    path_send(&p, "anthropic", REQUEST);
    path_head(&p, 529, "application/json", 500);
    path_read(&p, "{\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\"}}", 600);
    path_end(&p, 700);
    assert_int_equal(r->outcome, OUTCOME_HTTP_ERROR);
    assert_string_equal(r->outcome_reason, "overloaded_error");
    path_close(&p);
}

static void counting_tokens_uses_none(void **state)
{
    (void)state;
    struct path p;
    const struct record *r = &p.seen.record;
    path_open(&p);
    path_send(&p, "anthropic-count-tokens", REQUEST);
    path_head(&p, 200, "application/json", 500);
    path_read(&p, "{\"input_tokens\":2095}", 600);
    path_end(&p, 700);
    assert_int_equal(r->outcome, OUTCOME_OK);
    assert_false(r->is_stream);
    assert_string_equal(r->unobserved, "");
    assert_int_equal(r->usage_source, USAGE_SOURCE_NONE);
    assert_int_equal(r->prompt_tokens, -1);
    assert_int_equal(p.seen.n_ttft, 0);
    path_close(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(c03_message_start_and_ping_are_no_token),
        cmocka_unit_test(c05_a_tool_without_arguments_is_a_token),
        cmocka_unit_test(c06_thinking_is_output_and_the_answer_has_its_own_time),
        cmocka_unit_test(c08_opaque_thinking_is_activity),
        cmocka_unit_test(c35_c37_tokens),
        cmocka_unit_test(c49_streams_that_went_wrong),
        cmocka_unit_test(the_end_mark_decides_before_the_connection),
        cmocka_unit_test(c46_an_early_count_is_not_taken_for_the_output),
        cmocka_unit_test(whole_answers_and_errors),
        cmocka_unit_test(counting_tokens_uses_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
