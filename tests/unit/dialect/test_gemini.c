/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dialect/gemini: what one event or element says, streams and answers, requests, refusals.
 */
#include "harness.h"

#include <stdio.h>
#include <string.h>

#include "base/attr.h"
#include "base/mem.h"
#include "dialect/gemini.h"
#include "guard.h"

enum {
    TEXT = DIALECT_TEXT,
    REASON = DIALECT_REASONING | DIALECT_REASONING_SUMMARY,
    OPAQUE = DIALECT_REASONING_OPAQUE,
    ARGS = DIALECT_TOOL_ARGS,
    CALL = DIALECT_TOOL_NAME | DIALECT_TOOL_ARGS,
    AUDIO = DIALECT_AUDIO,
    IMAGE = DIALECT_IMAGE,
};

#define PARTS(parts)                                                                               \
    "{\"candidates\":[{\"content\":{\"parts\":[" parts "],\"role\":\"model\"},\"index\":0}]}"

static const struct {
    const char *data;
    uint32_t kinds;
} events[] = {
    {PARTS("{\"text\":\"a\"}"), TEXT},
    {PARTS("{\"text\":\"\"}"), 0},
    {PARTS("{\"text\":null}"), 0},
    {PARTS("{\"text\":{\"text\":\"a\"}}"), 0},
    {PARTS(""), 0},
    {PARTS("\"a\",5,null"), 0},
    {PARTS("{\"te\\u0078t\":\"a\"}"), TEXT},
    {PARTS("{\"text\":\"hm\",\"thought\":true}"), REASON},
    {PARTS("{\"thought\":true,\"text\":\"hm\"}"), REASON},
    {PARTS("{\"text\":\"a\",\"thought\":false}"), TEXT},
    {PARTS("{\"text\":\"a\",\"thought\":\"true\"}"), TEXT},
    {PARTS("{\"text\":\"\",\"thought\":true}"), 0},
    {PARTS("{\"text\":\"hm\",\"thought\":true},{\"text\":\"a\"}"), REASON | TEXT},
    {PARTS("{\"text\":\"\",\"thoughtSignature\":\"c2ln\"}"), OPAQUE},
    {PARTS("{\"text\":\"a\",\"thoughtSignature\":\"c2ln\"}"), TEXT | OPAQUE},
    {PARTS("{\"thoughtSignature\":\"\"}"), 0},
    {PARTS("{\"functionCall\":{\"name\":\"f\",\"args\":{\"x\":1}}}"), CALL},
    {PARTS("{\"functionCall\":{\"name\":\"f\",\"args\":{}}}"), CALL},
    {PARTS("{\"functionCall\":{\"name\":\"f\",\"willContinue\":true}}"), CALL},
    {PARTS("{\"functionCall\":{\"partialArgs\":[{\"jsonPath\":\"$.x\",\"stringValue\":\"1\"}],"
           "\"willContinue\":true}}"),
     ARGS},
    {PARTS("{\"functionCall\":{\"args\":{\"x\":1}}}"), ARGS},
    {PARTS("{\"functionCall\":{\"name\":\"\",\"args\":{},\"partialArgs\":[]}}"), 0},
    {PARTS("{\"functionCall\":{}}"), 0},
    {PARTS("{\"functionCall\":\"f\"}"), 0},
    {PARTS("{\"executableCode\":{\"language\":\"PYTHON\",\"code\":\"1+1\"}}"), ARGS},
    {PARTS("{\"executableCode\":{\"language\":\"PYTHON\",\"code\":\"\"}}"), 0},
    {PARTS("{\"codeExecutionResult\":{\"outcome\":\"OUTCOME_OK\",\"output\":\"2\"}}"), 0},
    {PARTS("{\"inlineData\":{\"mimeType\":\"image/png\",\"data\":\"aGk=\"}}"), IMAGE},
    {PARTS("{\"inlineData\":{\"data\":\"aGk=\",\"mimeType\":\"audio/L16;rate=24000\"}}"), AUDIO},
    {PARTS("{\"inlineData\":{\"mimeType\":\"image/png\",\"data\":\"\"}}"), 0},
    {"{\"candidates\":[{\"content\":{\"role\":\"model\"},\"index\":0}]}", 0},
    {"{\"candidates\":[{\"content\":\"a\"},5,[{\"content\":{\"parts\":[{\"text\":\"a\"}]}}]]}", 0},
    {"{\"candidates\":[{\"content\":{\"parts\":{\"text\":\"a\"}}}]}", 0},
    {"{\"candidates\":{\"content\":{\"parts\":[{\"text\":\"a\"}]}}}", 0},
    {"{\"candidates\":[]}", 0},
    {"{}", 0},
    {"{\"response\":" PARTS("{\"text\":\"a\"}") ",\"traceId\":\"x\"}", TEXT},
    {"{\"response\":[" PARTS("{\"text\":\"a\"}") "]}", 0},
    {"[" PARTS("{\"text\":\"a\"}") "]", TEXT},
    {"[{\"response\":" PARTS("{\"text\":\"a\"}") "}]", TEXT},
    {"\n[5,\n" PARTS("{\"text\":\"a\"}") " , " PARTS("{\"text\":\"hm\",\"thought\":true}") "]\n",
     TEXT | REASON},
};

static struct token_event event_of(struct dialect_answer *a, const char *data)
{
    struct token_event e;
    struct guard guard;
    guard_init(&guard, strlen(data));
    dialect_gemini.event(a, SPAN(""), guard_copy(&guard, span_cstr(data)), &e);
    guard_done(&guard);
    return e;
}

static void kinds_of_parts(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(events); i++) {
        struct dialect_answer a;
        dialect_answer_init(&a);
        struct token_event e = event_of(&a, events[i].data);
        assert_row(events[i].data, e.kinds == events[i].kinds);
        assert_row(events[i].data, !e.is_end && !e.is_error && !e.has_usage);
        assert_row(events[i].data, a.n_bad_json == 0 && !dialect_gemini.is_ended(&a));
    }
}

/* Once a text event was read, others of its shape are not: what says more has to be. */
static void events_after_a_text_are_read(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(events); i++) {
        struct dialect_answer a;
        dialect_answer_init(&a);
        (void)event_of(&a, PARTS("{\"text\":\"first\"}"));
        assert_row(events[i].data, event_of(&a, events[i].data).kinds == events[i].kinds);
    }
}

static void what_is_no_answer(void **state)
{
    (void)state;
    static const char *const rows[] = {"",      "5",   "\"a\"",      "[]",       "[5]",  "[[{}]]",
                                       "{} {}", "[{}", "{\"a\":1,}", "nonsense", "null", "{"};
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct dialect_answer a;
        dialect_answer_init(&a);
        struct token_event e = event_of(&a, rows[i]);
        assert_row(rows[i], a.n_bad_json == 1 && e.kinds == 0 && !e.is_error);
    }
}

#define WHOLE                                                                                      \
    "{\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"a\"}]},\"finishReason\":\"STOP\","      \
    "\"index\":0}],\"usageMetadata\":{\"promptTokenCount\":9,\"candidatesTokenCount\":4,"          \
    "\"totalTokenCount\":13},\"modelVersion\":\"gemini-x\",\"error\":{\"status\":\"INTERNAL\"}}"

static void cut_events_leave_nothing(void **state)
{
    (void)state;
    struct guard guard;
    guard_init(&guard, strlen(WHOLE));
    for (size_t n = 0; n < strlen(WHOLE); n++) {
        struct dialect_answer a;
        struct token_event e;
        dialect_answer_init(&a);
        dialect_gemini.event(&a, SPAN(""), guard_copy(&guard, span_of(WHOLE, n)), &e);
        assert_int_equal(e.kinds, 0);
        assert_false(e.is_error || e.has_usage || a.has_finish || a.has_error);
        assert_int_equal(a.n_bad_json, 1);
        assert_string_equal(a.model, "");
        assert_false(usage_is_set(&a.usage));
    }
    guard_done(&guard);
}

static void finish_reasons(void **state)
{
    (void)state;
    static const struct {
        const char *data;
        const char *finish;
        int64_t max_index;
        int n_finished;
    } rows[] = {
        {"{\"candidates\":[{\"finishReason\":\"STOP\",\"index\":0}]}", "STOP", 0, 1},
        {"{\"candidates\":[{\"finishReason\":\"MAX_TOKENS\"}]}", "MAX_TOKENS", 0, 1},
        {"{\"candidates\":[{\"finishReason\":\"STOP\",\"index\":1},{\"index\":0,"
         "\"content\":{\"parts\":[{\"text\":\"a\"}]},\"finishReason\":\"SAFETY\"}]}",
         "SAFETY", 1, 2},
        {"{\"candidates\":[{\"finishReason\":\"STOP\",\"index\":2}]}", "STOP", 2, 1},
        {"{\"candidates\":[{\"finishReason\":\"\"}]}", "", 0, 0},
        {"{\"candidates\":[{\"finishReason\":null}]}", "", 0, 0},
        {"{\"promptFeedback\":{\"blockReason\":\"SAFETY\"}}", "blocked:SAFETY", -1, 1},
        {"{\"promptFeedback\":{\"safetyRatings\":[],\"blockReason\":\"PROHIBITED_CONTENT\"}}",
         "blocked:PROHIBITED_CONTENT", -1, 1},
        {"{\"promptFeedback\":{\"blockReason\":\"A_REASON_THAT_IS_RATHER_LONG_FOR_ONE\"}}",
         "blocked:A_REASON_THAT_IS_RATHER", -1, 1},
        {"{\"promptFeedback\":{\"blockReason\":\"SAFE\\u0054Y\"}}", "blocked:SAFETY", -1, 1},
        {"{\"promptFeedback\":{\"blockReason\":\"\"}}", "", -1, 0},
        {"{\"promptFeedback\":{\"safetyRatings\":[{\"blocked\":true}]}}", "", -1, 0},
        {"{\"response\":{\"promptFeedback\":{\"blockReason\":\"OTHER\"}}}", "blocked:OTHER", -1, 1},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct dialect_answer a;
        dialect_answer_init(&a);
        (void)event_of(&a, rows[i].data);
        assert_row(rows[i].data, strcmp(a.finish, rows[i].finish) == 0);
        assert_row(rows[i].data, a.max_choice_index == rows[i].max_index);
        assert_row(rows[i].data, a.n_choices_finished == rows[i].n_finished);
        assert_row(rows[i].data, dialect_gemini.is_ended(&a) == (rows[i].n_finished > 0));
        assert_row(rows[i].data, !a.has_end_mark); /* more may follow a finish reason */
    }
}

static void errors(void **state)
{
    (void)state;
    static const struct {
        const char *data;
        bool is_error;
        const char *error;
    } rows[] = {
        {"{\"error\":{\"code\":429,\"message\":\"quota\",\"status\":\"RESOURCE_EXHAUSTED\"}}", true,
         "RESOURCE_EXHAUSTED"},
        {"{\"error\":{\"code\":500,\"message\":\"x\"}}", true, "500"},
        {"[{\"error\":{\"code\":503,\"status\":\"UNAVAILABLE\"}}]", true, "UNAVAILABLE"},
        {"{\"error\":null}", false, ""},
        {"{\"error\":{}}", false, ""},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct dialect_answer a;
        dialect_answer_init(&a);
        assert_row(rows[i].data, event_of(&a, rows[i].data).is_error == rows[i].is_error);
        assert_row(rows[i].data, a.has_error == rows[i].is_error);
        assert_row(rows[i].data, strcmp(a.error, rows[i].error) == 0);
        dialect_answer_init(&a);
        dialect_gemini.answer(&a, span_cstr(rows[i].data));
        assert_row(rows[i].data, strcmp(a.error, rows[i].error) == 0);
        dialect_answer_init(&a);
        dialect_read_stray(&dialect_gemini, &a, span_cstr(rows[i].data));
        assert_row(rows[i].data, strcmp(a.error, rows[i].error) == 0);
    }
}

/* --- usage --- */

static void counts(void **state)
{
    (void)state;
    static const struct {
        const char *usage;
        struct usage raw;
        struct dialect_tokens want;
        bool is_anomalous;
    } rows[] = {
#define NO USAGE_UNTOLD
        {"\"promptTokenCount\":9,\"candidatesTokenCount\":4,\"totalTokenCount\":13",
         {9, 4, NO, NO, NO, 13, NO},
         {9, 4, -1, -1, -1},
         false},
        /* thoughts beside candidates, always, whatever the total says */
        {"\"promptTokenCount\":9,\"candidatesTokenCount\":20,\"thoughtsTokenCount\":5",
         {9, 20, NO, NO, 5, NO, NO},
         {9, 25, -1, -1, 5},
         false},
        {"\"promptTokenCount\":9,\"candidatesTokenCount\":4,\"thoughtsTokenCount\":30,"
         "\"totalTokenCount\":43",
         {9, 4, NO, NO, 30, 43, NO},
         {9, 34, -1, -1, 30},
         false},
        /* candidates of 0 are left out: the total tells */
        {"\"promptTokenCount\":85,\"thoughtsTokenCount\":162,\"totalTokenCount\":247",
         {85, NO, NO, NO, 162, 247, NO},
         {85, 162, -1, -1, 162},
         false},
        {"\"promptTokenCount\":85,\"thoughtsTokenCount\":162,\"totalTokenCount\":250",
         {85, NO, NO, NO, 162, 250, NO},
         {85, -1, -1, -1, 162},
         false},
        {"\"promptTokenCount\":85,\"totalTokenCount\":85",
         {85, NO, NO, NO, NO, 85, NO},
         {85, -1, -1, -1, -1},
         false},
        /* cached within prompt */
        {"\"promptTokenCount\":1087,\"cachedContentTokenCount\":1081,\"candidatesTokenCount\":2",
         {1087, 2, 1081, NO, NO, NO, NO},
         {1087, 2, 1081, -1, -1},
         false},
        {"\"promptTokenCount\":10,\"cachedContentTokenCount\":11",
         {10, NO, 11, NO, NO, NO, NO},
         {10, -1, -1, -1, -1},
         true},
        /* tool results beside prompt */
        {"\"promptTokenCount\":37,\"candidatesTokenCount\":29,\"thoughtsTokenCount\":37,"
         "\"toolUsePromptTokenCount\":105,\"totalTokenCount\":208",
         {37, 29, NO, NO, 37, 208, 105},
         {142, 66, -1, -1, 37},
         false},
        {"\"promptTokenCount\":37,\"thoughtsTokenCount\":37,\"toolUsePromptTokenCount\":105,"
         "\"totalTokenCount\":179",
         {37, NO, NO, NO, 37, 179, 105},
         {142, 37, -1, -1, 37},
         false},
        {"\"promptTokenCount\":37,\"toolUsePromptTokenCount\":0",
         {37, NO, NO, NO, NO, NO, 0},
         {37, -1, -1, -1, -1},
         false},
        {"\"promptTokenCount\":37,\"toolUsePromptTokenCount\":-1",
         {37, NO, NO, NO, NO, NO, -1},
         {37, -1, -1, -1, -1},
         true},
        {"\"toolUsePromptTokenCount\":5", {NO, NO, NO, NO, NO, NO, 5}, {-1, -1, -1, -1, -1}, false},
        {"\"trafficType\":\"ON_DEMAND\"",
         {NO, NO, NO, NO, NO, NO, NO},
         {-1, -1, -1, -1, -1},
         false},
        {"\"promptTokenCount\":9223372036854775807,\"toolUsePromptTokenCount\":1",
         {INT64_MAX, NO, NO, NO, NO, NO, 1},
         {-1, -1, -1, -1, -1},
         true},
#undef NO
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        char data[512];
        struct dialect_answer a;
        bool is_anomalous = !rows[i].is_anomalous;
        dialect_answer_init(&a);
        (void)snprintf(data, sizeof(data), "{\"usageMetadata\":{%s}}", rows[i].usage);
        assert_row(rows[i].usage, event_of(&a, data).has_usage);
        assert_row(rows[i].usage, memcmp(&a.usage, &rows[i].raw, sizeof(a.usage)) == 0);
        struct dialect_tokens t = dialect_normalise(&dialect_gemini, &a.usage, &is_anomalous);
        assert_row(rows[i].usage, memcmp(&t, &rows[i].want, sizeof(t)) == 0);
        assert_row(rows[i].usage, is_anomalous == rows[i].is_anomalous);
    }
}

/* Counts so far come with most events: the last of each counts, and null tells nothing. */
static void the_last_count_counts(void **state)
{
    (void)state;
    struct dialect_answer a;
    dialect_answer_init(&a);
    (void)event_of(&a, "{\"usageMetadata\":{\"promptTokenCount\":9,\"candidatesTokenCount\":1}}");
    (void)event_of(&a, "[{\"response\":{\"usageMetadata\":{\"candidatesTokenCount\":5}}}]");
    assert_false(event_of(&a, "{\"usageMetadata\":null}").has_usage);
    assert_int_equal(a.usage.prompt, 9);
    assert_int_equal(a.usage.completion, 5);
}

static void whole_answers(void **state)
{
    (void)state;
    struct dialect_answer a;
    dialect_answer_init(&a);
    dialect_gemini.answer(
        &a, SPAN(" {\"candidates\": [{\"content\": {\"parts\": [{\"text\": \"error\"}]},\n"
                 "\"finishReason\": \"STOP\", \"avgLogprobs\": -0.5}],\n\"usageMetadata\": "
                 "{\"promptTokenCount\": 9,\n\"candidatesTokenCount\": 12},\n\"modelVersion\": "
                 "\"gemini-2.5-flash\", \"responseId\": \"x\"}\n"));
    assert_string_equal(a.model, "gemini-2.5-flash");
    assert_string_equal(a.finish, "STOP");
    assert_int_equal(a.usage.prompt, 9);
    assert_int_equal(a.usage.completion, 12);
    assert_false(a.has_error);
    dialect_gemini.answer(&a, SPAN("<html>"));
    assert_int_equal(a.n_bad_json, 1);
}

static void events_allocate_nothing(void **state)
{
    (void)state;
    struct mem_count before = mem_count_total();
    struct dialect_answer a;
    struct token_event e;
    dialect_answer_init(&a);
    for (size_t i = 0; i < ARRAY_LEN(events); i++)
        dialect_gemini.event(&a, SPAN(""), span_cstr(events[i].data), &e);
    assert_int_equal(mem_count_total().n_allocs, before.n_allocs);
}

/* --- requests --- */

static struct dialect_request inspect(const char *target, const char *body, bool is_complete)
{
    struct dialect_request r;
    struct guard guard;
    guard_init(&guard, strlen(body) + 1);
    dialect_gemini.inspect(span_cstr(target), guard_copy(&guard, span_cstr(body)), is_complete, &r);
    guard_done(&guard);
    return r;
}

static void the_target_tells(void **state)
{
    (void)state;
    static const struct {
        const char *target;
        const char *model;
        bool is_stream;
    } rows[] = {
        {"/v1beta/models/gemini-2.0-flash:streamGenerateContent?alt=sse", "gemini-2.0-flash", true},
        {"/v1beta/models/gemini-2.0-flash:streamGenerateContent", "gemini-2.0-flash", true},
        {"/v1beta/models/gemini-2.0-flash:generateContent?key=a:streamGenerateContent",
         "gemini-2.0-flash", false},
        {"/v1/tunedModels/mine-123:generateContent/", "mine-123", false},
        {"/v1/projects/p/locations/l/publishers/google/models/gemini-2.5-pro:streamGenerateContent",
         "gemini-2.5-pro", true},
        {"/v1/projects/p/locations/l/endpoints/456:generateContent", "456", false},
        {"https://host:8443/v1beta/models/a:b@001:generateContent", "a:b@001", false},
        {"/models/a%40001%2fb%zz%4:generateContent", "a@001/b%zz%4", false},
        {"/models/a%00b:generateContent", "a%00b", false},
        {"/v1internal:streamGenerateContent?alt=sse", "from-body", true},
        {"/v1beta/other/name:generateContent", "from-body", false},
        {"/v1beta/models/no-colon", "from-body", false},
        {"models/a:generateContent", "a", false},
        {":streamGenerateContent", "from-body", true},
        {"", "from-body", false},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct dialect_request r = inspect(rows[i].target, "{\"model\":\"from-body\"}", true);
        if (strcmp(r.model, rows[i].model) != 0)
            fail_msg("%s: %s, not %s", rows[i].target, r.model, rows[i].model);
        assert_row(rows[i].target, r.is_stream == rows[i].is_stream && r.is_json);
        r = inspect(rows[i].target, "no JSON", true);
        assert_row(rows[i].target, r.is_stream == rows[i].is_stream && !r.is_json);
    }
    char target[400];
    (void)snprintf(target, sizeof(target), "/models/%0300d:generateContent", 7);
    assert_int_equal(strlen(inspect(target, "{}", true).model), DIALECT_MODEL_MAX - 1);
    struct dialect_request r;
    dialect_gemini.inspect((struct span){0}, SPAN("{}"), true, &r);
    assert_string_equal(r.model, "");
}

static void reads_what_is_asked(void **state)
{
    (void)state;
    static const struct {
        const char *body;
        int64_t max_tokens, n, prompt_bytes;
    } rows[] = {
        {"{\"contents\":[{\"parts\":[{\"text\":\"hi\"}]}],\"systemInstruction\":{\"parts\":[]},"
         "\"tools\":[{\"x\":1}],\"generationConfig\":{\"maxOutputTokens\":50,\"candidateCount\":2,"
         "\"stopSequences\":[\"a\"]}}",
         50, 2, 27 + 12},
        {"{\"contents\":\"hi\",\"system_instruction\":\"x\",\"generation_config\":{"
         "\"max_output_tokens\":7,\"candidate_count\":3}}",
         7, 3, 4 + 3},
        {"{\"model\":\"m\",\"project\":\"p\",\"request\":{\"contents\":[1],\"generationConfig\":{"
         "\"maxOutputTokens\":9}}}",
         9, 1, 3},
        {"{\"generationConfig\":{\"maxOutputTokens\":-1,\"candidateCount\":0}}", -1, 1, 0},
        {"{\"generationConfig\":[5],\"request\":5,\"maxOutputTokens\":8}", -1, 1, 0},
        {"{}", -1, 1, 0},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct dialect_request r = inspect("/models/m:generateContent", rows[i].body, true);
        assert_row(rows[i].body, r.is_json && r.is_complete);
        assert_row(rows[i].body, r.max_tokens == rows[i].max_tokens && r.n == rows[i].n);
        assert_row(rows[i].body, r.prompt_bytes == rows[i].prompt_bytes);
    }
}

static void cut_windows_keep_what_is_known(void **state)
{
    (void)state;
    const char *target = "/models/m:streamGenerateContent";
    struct dialect_request r = inspect(
        target, "{\"generationConfig\":{\"maxOutputTokens\":5},\"contents\":[{\"parts\":[{", false);
    assert_true(r.is_json && r.is_stream);
    assert_false(r.is_complete);
    assert_string_equal(r.model, "m");
    assert_int_equal(r.max_tokens, 5);
    assert_int_equal(r.prompt_bytes, strlen("[{\"parts\":[{"));
    assert_false(inspect(target, "{\"contents\":[1]", true).is_json);
    assert_false(inspect(target, "{\"contents\":[1],}", false).is_json);
}

static void refusals_have_the_form(void **state)
{
    (void)state;
    static const struct {
        enum dialect_refusal refusal;
        const char *body;
    } rows[] = {
        {REFUSAL_BAD_REQUEST, "{\"error\":{\"code\":400,\"message\":\"say "
                              "\\\"no\\\"\",\"status\":\"INVALID_ARGUMENT\"}}"},
        {REFUSAL_UNAUTHORIZED, "{\"error\":{\"code\":401,\"message\":\"say "
                               "\\\"no\\\"\",\"status\":\"UNAUTHENTICATED\"}}"},
        {REFUSAL_TOO_MANY, "{\"error\":{\"code\":429,\"message\":\"say \\\"no\\\"\",\"status\":"
                           "\"RESOURCE_EXHAUSTED\"}}"},
        {REFUSAL_INTERNAL,
         "{\"error\":{\"code\":500,\"message\":\"say \\\"no\\\"\",\"status\":\"INTERNAL\"}}"},
        {REFUSAL_CONNECT_FAILED,
         "{\"error\":{\"code\":502,\"message\":\"say \\\"no\\\"\",\"status\":\"UNAVAILABLE\"}}"},
        {REFUSAL_TIMEOUT, "{\"error\":{\"code\":504,\"message\":\"say "
                          "\\\"no\\\"\",\"status\":\"DEADLINE_EXCEEDED\"}}"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct buf b;
        buf_init(&b, 4096);
        assert_int_equal(dialect_gemini.refusal_body(rows[i].refusal, "say \"no\"", &b), 0);
        assert_span_equal(rows[i].body, buf_span(&b), span_cstr(rows[i].body));
        buf_done(&b);
    }
    for (int i = 0; i < REFUSAL_COUNT_; i++) {
        struct buf b;
        struct dialect_answer a;
        dialect_answer_init(&a);
        buf_init(&b, 4096);
        assert_int_equal(dialect_gemini.refusal_body((enum dialect_refusal)i, NULL, &b), 0);
        dialect_gemini.answer(&a, buf_span(&b));
        assert_true(a.has_error && a.error[0] >= 'A' && a.error[0] <= 'Z');
        buf_done(&b);
    }
}

/* What would let another reader find another model than the one found here. */
static void other_models_are_told(void **state)
{
    (void)state;
    static const struct {
        const char *target;
        const char *body;
        bool is_duplicate;
    } rows[] = {
        {"/v1beta/models/a:generateContent", "{\"contents\":[]}", false},
        {"/v1beta/models/a:generateContent", "{\"model\":\"models/b\"}", true},
        {"/v1beta/models/a:generateContent", "{\"request\":{\"model\":\"b\"}}", true},
        {"/v1internal:generateContent", "{\"model\":\"a\",\"request\":{}}", false},
        {"/v1internal:generateContent", "{\"model\":\"a\",\"model\":\"b\"}", true},
        {"/v1internal:generateContent", "{\"mod\\u0065l\":\"a\"}", true},
        {"/v1internal:generateContent", "{\"model\":\"a\",\"MODEL\":\"b\"}", true},
        {"/v1internal:generateContent", "{\"model\":\"a\",\"request\":{\"Model\":\"b\"}}", true},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct dialect_request r;
        dialect_gemini.inspect(span_cstr(rows[i].target), span_cstr(rows[i].body), true, &r);
        assert_row(rows[i].body, r.is_duplicate_model == rows[i].is_duplicate);
    }
}

static void a_long_name_is_cut(void **state)
{
    (void)state;
    char target[DIALECT_MODEL_MAX + 64];
    struct dialect_request r;
    for (int n = DIALECT_MODEL_MAX - 2; n <= DIALECT_MODEL_MAX; n++) {
        (void)snprintf(target, sizeof(target), "/v1/models/%0*d:generateContent", n, 1);
        dialect_gemini.inspect(span_cstr(target), SPAN("{}"), true, &r);
        assert_int_equal(r.is_model_cut, n >= DIALECT_MODEL_MAX);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kinds_of_parts),
        cmocka_unit_test(events_after_a_text_are_read),
        cmocka_unit_test(what_is_no_answer),
        cmocka_unit_test(cut_events_leave_nothing),
        cmocka_unit_test(finish_reasons),
        cmocka_unit_test(errors),
        cmocka_unit_test(counts),
        cmocka_unit_test(the_last_count_counts),
        cmocka_unit_test(whole_answers),
        cmocka_unit_test(events_allocate_nothing),
        cmocka_unit_test(the_target_tells),
        cmocka_unit_test(reads_what_is_asked),
        cmocka_unit_test(cut_windows_keep_what_is_known),
        cmocka_unit_test(refusals_have_the_form),
        cmocka_unit_test(other_models_are_told),
        cmocka_unit_test(a_long_name_is_cut),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
