/* SPDX-License-Identifier: Apache-2.0 */
/*
 * observe/reading: streams that are lines of JSON or one array, whole answers beside them, and the
 * engine's own times.
 */
#include "path.h"

#include "observe/exchange.h"

#define NDJSON "application/x-ndjson"
#define SSE    "text/event-stream"
#define JSON   "application/json; charset=UTF-8"

#define OLLAMA_BODY "{\"model\":\"tiny:1b\",\"messages\":[]}"
#define LINE(t)     "{\"model\":\"tiny:1b\",\"message\":{\"content\":\"" t "\"},\"done\":false}\n"
#define THINKING(t)                                                                                \
    "{\"model\":\"tiny:1b\",\"message\":{\"content\":\"\",\"thinking\":\"" t "\"},\"done\":false}" \
    "\n"
#define LAST(t)                                                                                    \
    "{\"model\":\"tiny:1b\",\"message\":{\"content\":\"" t "\"},\"done\":true,\"done_reason\":"    \
    "\"stop\",\"total_duration\":5000,\"load_duration\":1000,\"prompt_eval_count\":12,"            \
    "\"prompt_eval_duration\":1500,\"eval_count\":4,\"eval_duration\":2500}\n"

#define STREAM_TARGET "/v1beta/models/gemini-x:streamGenerateContent"
#define WHOLE_TARGET  "/v1beta/models/gemini-x:generateContent"
#define ELEMENT(members)                                                                           \
    "{\"candidates\":[{\"content\":{\"parts\":[" members "]}}],\"modelVersion\":\"gemini-x\"}"
#define SAID(t) ELEMENT("{\"text\":\"" t "\"}")
#define FINISHED                                                                                   \
    "{\"candidates\":[{\"finishReason\":\"STOP\"}],\"usageMetadata\":{\"promptTokenCount\":9,"     \
    "\"candidatesTokenCount\":4,\"thoughtsTokenCount\":30,\"totalTokenCount\":43}}"
#define FAILED "{\"error\":{\"code\":503,\"message\":\"m\",\"status\":\"UNAVAILABLE\"}}"

/* A request sent at 150 us and answered with this head at 500 us. */
static void ask(struct path *p, const char *dialect, const char *target, const char *body,
                const char *type)
{
    path_open(p);
    path_begin(p, &path_post);
    path_plan_at(p, dialect, target, body);
    path_attempt(p, 150);
    path_head(p, 200, type, 500);
}

static void ask_ollama(struct path *p, const char *type)
{
    ask(p, "ollama", "/api/chat", OLLAMA_BODY, type);
}

static void ask_gemini(struct path *p, const char *target, const char *type)
{
    ask(p, "gemini", target, "{\"contents\":[]}", type);
}

static void assert_tokens(const struct record *r, int64_t prompt, int64_t completion)
{
    assert_int_equal(r->usage_source, USAGE_SOURCE_ENGINE);
    assert_int_equal(r->prompt_tokens, prompt);
    assert_int_equal(r->completion_tokens, completion);
}

static void lines_stream_unasked(void **state)
{
    (void)state;
    struct path p;
    ask_ollama(&p, NDJSON);
    path_read(&p, LINE(""), 600);
    assert_int_equal(p.seen.n_ttft, 0);
    path_read(&p, LINE("a"), 1100);
    assert_int_equal(p.seen.n_ttft, 1);
    assert_int_equal(p.seen.ttft_ns, 1000000);
    path_read(&p, LINE("b") "{\"message\":{\"con", 1300);
    path_read(&p, "tent\":\"c\"}}\n", 1500);
    const struct engine_times *engine = &p.tap->answer.engine;
    assert_int_equal(engine->total_ns, -1);
    path_read(&p, LAST("d"), 1700); /* text and end in one */
    assert_int_equal(engine->load_ns, 1000);
    assert_int_equal(engine->prefill_ns, 1500);
    assert_int_equal(engine->decode_ns, 2500);
    assert_int_equal(engine->total_ns, 5000);
    assert_int_equal(engine->queue_ns, -1);
    path_read(&p, LINE("behind the end"), 1800);
    path_end(&p, 1900);
    const struct record *r = &p.seen.record;
    assert_int_equal(r->outcome, OUTCOME_OK);
    assert_string_equal(r->dialect, "ollama");
    assert_string_equal(r->model_requested, "tiny:1b");
    assert_string_equal(r->model_response, "tiny:1b");
    assert_string_equal(r->finish_reason, "stop");
    assert_true(r->is_stream);
    assert_tokens(r, 12, 4);
    assert_int_equal(r->n_events, 5);
    assert_int_equal(r->n_output_events, 4);
    assert_int_equal(r->ttft_ns, 1000000);
    assert_int_equal(r->e2e_ns, 1600000);
    assert_int_equal(r->timing.tpot_status, TPOT_OK);
    assert_int_equal(r->timing.tpot_ns, 200000);
    assert_int_equal(p.seen.n_gaps, 3);
    assert_int_equal(r->flags, 0);
    path_close(&p);
}

static void lines_with_thinking_and_a_call(void **state)
{
    (void)state;
    struct path p;
    ask_ollama(&p, NDJSON);
    path_read(&p, THINKING("h") THINKING("m"), 600);
    assert_int_equal(p.seen.n_ttft, 1);
    assert_int_equal(p.seen.n_ttfa, 0);
    path_read(&p, "{\"message\":{\"tool_calls\":[{\"function\":{\"name\":\"f\"}}]}}\r\n", 900);
    assert_int_equal(p.seen.ttfa_ns, 800000);
    path_read(&p, LAST(""), 1000);
    path_end(&p, 1000);
    assert_int_equal(p.seen.record.outcome, OUTCOME_OK);
    assert_false(has_flag(&p, RECORD_REASONING_HIDDEN));
    path_close(&p);
}

/* The last line may come without its line feed. */
static void a_last_line_that_nothing_ends(void **state)
{
    (void)state;
    struct path p;
    ask_ollama(&p, NDJSON);
    path_read(&p, LINE("a"), 600);
    path_read(&p, "{\"done\":true,\"prompt_eval_count\":12,\"eval_count\":1}", 700);
    path_end(&p, 800);
    assert_int_equal(p.seen.record.outcome, OUTCOME_OK);
    assert_string_equal(p.seen.record.finish_reason, "done");
    assert_tokens(&p.seen.record, 12, 1);
    assert_int_equal(p.seen.record.e2e_ns, 600000);
    path_close(&p);
}

/* How a stream of that dialect and type is judged. */
static const struct {
    const char *name;
    const char *dialect;
    const char *type;
    const char *reads[2];
    enum tap_end end;
    enum outcome outcome;
    const char *detail;
    int n_ttft;
} streams[] = {
    {"lines without an end",
     "ollama",
     NDJSON,
     {LINE("a")},
     TAP_END_COMPLETE,
     OUTCOME_TRUNCATED,
     "",
     1},
    {"no line at all", "ollama", NDJSON, {NULL}, TAP_END_COMPLETE, OUTCOME_TRUNCATED, "", 0},
    {"an error line",
     "ollama",
     NDJSON,
     {LINE("a"), "{\"error\":\"it stopped\"}\n"},
     TAP_END_COMPLETE,
     OUTCOME_STREAM_ERROR,
     "error",
     1},
    {"lines cut",
     "ollama",
     NDJSON,
     {LINE("a"), "{\"done\":"},
     TAP_END_UPSTREAM_CUT,
     OUTCOME_UPSTREAM_CUT,
     "",
     1},
    {"cut behind the end", "ollama", NDJSON, {LAST("a")}, TAP_END_UPSTREAM_CUT, OUTCOME_OK, "", 1},
    {"left behind the end", "ollama", NDJSON, {LAST("a")}, TAP_END_CLIENT_GONE, OUTCOME_OK, "", 1},
    {"left before the first line",
     "ollama",
     NDJSON,
     {NULL},
     TAP_END_CLIENT_GONE,
     OUTCOME_CLIENT_GONE_BEFORE_FIRST,
     "",
     0},
    {"left after it",
     "ollama",
     NDJSON,
     {LINE("a")},
     TAP_END_CLIENT_GONE,
     OUTCOME_CLIENT_GONE_AFTER_FIRST,
     "",
     1},
    {"a model that is only loaded",
     "ollama",
     NDJSON,
     {"{\"response\":\"\",\"done\":true,\"done_reason\":\"load\"}\n"},
     TAP_END_COMPLETE,
     OUTCOME_OK,
     "",
     0},
    {"an array",
     "gemini",
     JSON,
     {"[" SAID("a"), "," FINISHED "]"},
     TAP_END_COMPLETE,
     OUTCOME_OK,
     "",
     1},
    {"an array without an end",
     "gemini",
     JSON,
     {"[" SAID("a"), "]"},
     TAP_END_COMPLETE,
     OUTCOME_TRUNCATED,
     "",
     1},
    {"an array cut",
     "gemini",
     JSON,
     {"[" SAID("a"), ",\n{\"candi"},
     TAP_END_UPSTREAM_CUT,
     OUTCOME_UPSTREAM_CUT,
     "",
     1},
    {"an array with an error",
     "gemini",
     JSON,
     {"[" SAID("a"), "," FAILED "]"},
     TAP_END_COMPLETE,
     OUTCOME_STREAM_ERROR,
     "UNAVAILABLE",
     1},
    {"an array of an error",
     "gemini",
     JSON,
     {"[" FAILED "]"},
     TAP_END_COMPLETE,
     OUTCOME_STREAM_ERROR,
     "UNAVAILABLE",
     0},
    {"an error instead of an array",
     "gemini",
     JSON,
     {FAILED},
     TAP_END_COMPLETE,
     OUTCOME_STREAM_ERROR,
     "UNAVAILABLE",
     0},
    {"an empty array", "gemini", JSON, {"[]"}, TAP_END_COMPLETE, OUTCOME_TRUNCATED, "", 0},
    {"a refused prompt",
     "gemini",
     JSON,
     {"[{\"promptFeedback\":{\"blockReason\":\"SAFETY\"}}]"},
     TAP_END_COMPLETE,
     OUTCOME_OK,
     "",
     0},
    {"events",
     "gemini",
     SSE,
     {EVENT(SAID("a")), EVENT(FINISHED)},
     TAP_END_COMPLETE,
     OUTCOME_OK,
     "",
     1},
    {"events without an end",
     "gemini",
     SSE,
     {EVENT(SAID("a"))},
     TAP_END_COMPLETE,
     OUTCOME_TRUNCATED,
     "",
     1},
    {"events with an error",
     "gemini",
     SSE,
     {EVENT(SAID("a")) EVENT(FAILED)},
     TAP_END_COMPLETE,
     OUTCOME_STREAM_ERROR,
     "UNAVAILABLE",
     1},
    {"an error pasted behind events",
     "gemini",
     SSE,
     {EVENT(SAID("a")) EVENT(FINISHED), "{\n  \"error\": {\n    \"status\": \"CANCELLED\"\n  }\n}"},
     TAP_END_COMPLETE,
     OUTCOME_STREAM_ERROR,
     "CANCELLED",
     1},
    {"other text behind events",
     "gemini",
     SSE,
     {EVENT(SAID("a")) EVENT(FINISHED), "{\n \"candidates\": 5\n}\n{"},
     TAP_END_COMPLETE,
     OUTCOME_OK,
     "",
     1},
};

static void outcomes_of_streams(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(streams); i++) {
        struct path p;
        bool is_ollama = strcmp(streams[i].dialect, "ollama") == 0;
        if (is_ollama)
            ask_ollama(&p, streams[i].type);
        else
            ask_gemini(&p, STREAM_TARGET, streams[i].type);
        for (size_t k = 0; k < ARRAY_LEN(streams[i].reads) && streams[i].reads[k]; k++)
            path_read(&p, streams[i].reads[k], 600 + 100 * (int64_t)k);
        if (streams[i].end == TAP_END_COMPLETE)
            observe_tap.response_end(p.tap, stamp_us(&p, 900));
        path_end_as(&p, streams[i].end, TAP_REASON_NONE, 910);
        const struct record *r = &p.seen.record;
        assert_row(streams[i].name, r->outcome == streams[i].outcome);
        assert_row(streams[i].name, strcmp(r->outcome_reason, streams[i].detail) == 0);
        assert_row(streams[i].name, p.seen.n_ttft == streams[i].n_ttft);
        assert_row(streams[i].name, r->is_stream && r->unobserved[0] == '\0');
        path_close(&p);
    }
}

/* Every element counts when its last bracket came, not when the array is whole. */
static void an_array_streams(void **state)
{
    (void)state;
    struct path p;
    ask_gemini(&p, STREAM_TARGET, JSON);
    path_read(&p, "[{\"candidates\": [{\"content\": {\"parts\": [{\"te", 600);
    path_read(&p, "xt\": \"Hm, }]\", \"thought\": true}]}}]", 700);
    assert_int_equal(p.seen.n_ttft, 0);
    path_read(&p, "}", 800);
    assert_int_equal(p.seen.n_ttft, 1);
    assert_int_equal(p.seen.ttft_ns, 700000);
    assert_int_equal(p.seen.n_ttfa, 0);
    path_read(&p, "\n,\r\n" SAID("a"), 1000);
    assert_int_equal(p.seen.n_ttfa, 1);
    assert_int_equal(p.seen.ttfa_ns, 900000);
    path_read(&p, "," SAID("b") "," SAID("c"), 1300);
    path_read(&p, "," FINISHED, 1400);
    path_read(&p, "]", 1500);
    path_end(&p, 1600);
    const struct record *r = &p.seen.record;
    assert_int_equal(r->outcome, OUTCOME_OK);
    assert_string_equal(r->model_requested, "gemini-x");
    assert_string_equal(r->model_response, "gemini-x");
    assert_string_equal(r->finish_reason, "STOP");
    assert_int_equal(r->n_events, 5);
    assert_int_equal(r->n_output_events, 4);
    assert_tokens(r, 9, 34);
    assert_int_equal(r->raw_completion_tokens, 4);
    assert_int_equal(r->reasoning_tokens, 30);
    /* Thoughts are summaries: what streamed is the answer, 300 us and 3 tokens behind its first. */
    assert_true(has_flag(&p, RECORD_REASONING_HIDDEN));
    assert_int_equal(r->timing.tpot_status, TPOT_OK);
    assert_int_equal(r->timing.tpot_ns, 100000);
    assert_int_equal(r->e2e_ns, 1300000); /* the last event, not the bracket behind it */
    path_close(&p);
}

/* A call without arguments and without text is a first token (C05). */
/* Who has the whole array may leave; before that, or without a finish reason, it was cut short. */
static void an_array_ends_with_its_bracket(void **state)
{
    (void)state;
    static const struct {
        const char *bytes;
        enum outcome outcome;
    } rows[] = {
        {"[" SAID("a") "," FINISHED "]", OUTCOME_OK},
        {"[" SAID("a") "," FINISHED "\n]\n", OUTCOME_OK},
        {"[" SAID("a") "," FINISHED, OUTCOME_CLIENT_GONE_AFTER_FIRST},
        {"[" SAID("a") "]", OUTCOME_TRUNCATED},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct path p;
        ask_gemini(&p, STREAM_TARGET, JSON);
        path_read(&p, rows[i].bytes, 600);
        path_end_as(&p, TAP_END_CLIENT_GONE, TAP_REASON_NONE, 5000);
        assert_row(rows[i].bytes, p.seen.record.outcome == rows[i].outcome);
        assert_row(rows[i].bytes, rows[i].outcome != OUTCOME_OK || p.seen.record.e2e_ns == 500000);
        path_close(&p);
    }
}

static void a_call_alone_has_a_first_token(void **state)
{
    (void)state;
    struct path p;
    ask_gemini(&p, STREAM_TARGET "?alt=sse", SSE);
    path_read(&p, EVENT(ELEMENT("{\"functionCall\":{\"name\":\"f\",\"args\":{}}}")), 900);
    assert_int_equal(p.seen.ttft_ns, 800000);
    assert_int_equal(p.seen.ttfa_ns, 800000);
    path_read(&p, EVENT(FINISHED), 1000);
    path_end(&p, 1000);
    assert_int_equal(p.seen.record.n_content_events, 1);
    assert_int_equal(p.seen.record.outcome, OUTCOME_OK);
    path_close(&p);
}

/* Gemini leaves out a completion of 0: what was thought is all there is, and needs no estimate. */
static void thoughts_alone_are_not_estimated(void **state)
{
    (void)state;
    struct path p;
    ask_gemini(&p, STREAM_TARGET, "application/json");
    path_read(&p, "[" SAID("a") "," FINISHED "]", 600);
    path_end(&p, 900);
    path_begin(&p, &path_post);
    path_plan_at(&p, "gemini", STREAM_TARGET, "{\"contents\":[]}");
    path_attempt(&p, 150);
    path_head(&p, 200, "application/json", 500);
    path_read(&p,
              "[{\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"t\",\"thought\":true}]}}],"
              "\"usageMetadata\":{\"promptTokenCount\":9,\"thoughtsTokenCount\":30,"
              "\"totalTokenCount\":39}}",
              600);
    path_end_as(&p, TAP_END_UPSTREAM_CUT, TAP_REASON_NONE, 900);
    assert_tokens(&p.seen.record, 9, 30);
    assert_false(has_flag(&p, RECORD_ESTIMATED));
    path_close(&p);
}

static void whole_answers(void **state)
{
    (void)state;
    struct path p;
    ask(&p, "ollama", "/api/chat", "{\"model\":\"tiny:1b\",\"stream\":false}", JSON);
    path_read(&p, LAST("all of it"), 900);
    observe_tap.response_end(p.tap, stamp_us(&p, 900));
    assert_int_equal(p.tap->answer.engine.total_ns, 5000);
    path_end_as(&p, TAP_END_COMPLETE, TAP_REASON_NONE, 910);
    assert_int_equal(p.seen.record.outcome, OUTCOME_OK);
    assert_false(p.seen.record.is_stream);
    assert_int_equal(p.seen.n_ttft, 0);
    assert_tokens(&p.seen.record, 12, 4);
    assert_string_equal(p.seen.record.finish_reason, "stop");
    path_close(&p);

    ask_gemini(&p, WHOLE_TARGET, JSON);
    path_read(&p, SAID("a"), 800); /* in two reads, and the second says nothing */
    path_read(&p, "\n", 900);
    path_end(&p, 900);
    assert_int_equal(p.seen.record.outcome, OUTCOME_OK);
    assert_false(p.seen.record.is_stream);
    assert_int_equal(p.seen.n_ttft, 0);
    assert_string_equal(p.seen.record.model_response, "gemini-x");
    path_close(&p);

    ask(&p, "ollama-embed", "/api/embed", "{\"model\":\"e\",\"input\":\"x\"}", JSON);
    path_read(&p, "{\"model\":\"e\",\"embeddings\":[[1,2]],\"prompt_eval_count\":8}", 900);
    path_end(&p, 900);
    assert_int_equal(p.seen.record.outcome, OUTCOME_OK);
    assert_false(p.seen.record.is_stream);
    assert_tokens(&p.seen.record, 8, -1);
    path_close(&p);
}

/* An error's body is read whole, whatever was asked for; an array around it makes no difference. */
static void http_errors(void **state)
{
    (void)state;
    struct path p;
    path_open(&p);
    path_begin(&p, &path_post);
    path_plan_at(&p, "gemini", STREAM_TARGET, "{}");
    path_attempt(&p, 150);
    path_head(&p, 503, JSON, 500);
    path_read(&p, "[" FAILED "\n]", 600);
    path_end(&p, 700);
    assert_int_equal(p.seen.record.outcome, OUTCOME_HTTP_ERROR);
    assert_string_equal(p.seen.record.outcome_reason, "UNAVAILABLE");
    assert_true(p.seen.record.is_stream);
    path_close(&p);

    path_open(&p);
    path_begin(&p, &path_post);
    path_plan_at(&p, "ollama", "/api/chat", OLLAMA_BODY);
    path_attempt(&p, 150);
    path_head(&p, 404, JSON, 500);
    path_read(&p, "{\"error\":\"model \\\"x\\\" not found, try pulling it first\"}", 600);
    path_end(&p, 700);
    assert_int_equal(p.seen.record.outcome, OUTCOME_HTTP_ERROR);
    assert_string_equal(p.seen.record.outcome_reason, "error"); /* never its text */
    path_close(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_stream_unasked),
        cmocka_unit_test(lines_with_thinking_and_a_call),
        cmocka_unit_test(a_last_line_that_nothing_ends),
        cmocka_unit_test(outcomes_of_streams),
        cmocka_unit_test(an_array_streams),
        cmocka_unit_test(an_array_ends_with_its_bracket),
        cmocka_unit_test(a_call_alone_has_a_first_token),
        cmocka_unit_test(thoughts_alone_are_not_estimated),
        cmocka_unit_test(whole_answers),
        cmocka_unit_test(http_errors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
