/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dialect/openai_responses: what one event says, whole streams of every shape, requests, answers.
 * C numbers are those of the project's list of field lessons.
 */
#include "harness.h"

#include <stdio.h>
#include <string.h>

#include "base/attr.h"
#include "base/limits.h"
#include "base/mem.h"
#include "dialect/openai_common.h"

static const struct dialect *const d = &dialect_openai_responses;

enum {
    TEXT = DIALECT_TEXT,
    REASON = DIALECT_REASONING,
    SUMMARY = DIALECT_REASONING | DIALECT_REASONING_SUMMARY,
    OPAQUE = DIALECT_REASONING_OPAQUE,
    NAME = DIALECT_TOOL_NAME,
    ARGS = DIALECT_TOOL_ARGS,
    AUDIO = DIALECT_AUDIO,
    IMAGE = DIALECT_IMAGE,
};

static struct token_event event_of(struct dialect_answer *a, const char *name, const char *data)
{
    struct token_event e;
    d->event(a, span_cstr(name), span_cstr(data), &e);
    return e;
}

static struct dialect_answer fresh(void)
{
    struct dialect_answer a;
    dialect_answer_init(&a);
    return a;
}

#define EVENT(type, members) "{\"type\":\"" type "\",\"sequence_number\":3," members "}"
#define DELTA(type)                                                                                \
    EVENT(type, "\"item_id\":\"m\",\"output_index\":0,\"delta\":\"x\",\"obfuscation\":\"text\"")
#define ADDED(item) EVENT("response.output_item.added", "\"output_index\":0,\"item\":" item)
#define RESPONSE(type, members)                                                                    \
    EVENT(type, "\"response\":{\"id\":\"r\",\"object\":\"response\"," members "}")

static const struct {
    const char *data;
    uint32_t kinds;
} events[] = {
    /* deltas by type */
    {DELTA("response.output_text.delta"), TEXT},
    {DELTA("response.text.delta"), TEXT},
    {DELTA("response.content_part.delta"), TEXT},
    {DELTA("response.reasoning_text.delta"), REASON},
    {DELTA("response.reasoning.delta"), REASON},
    {DELTA("response.reasoning_summary_text.delta"), SUMMARY},
    {DELTA("response.reasoning_summary.delta"), SUMMARY},
    {DELTA("response.refusal.delta"), DIALECT_REFUSAL},
    {DELTA("response.audio.delta"), AUDIO},
    {DELTA("response.audio.transcript.delta"), AUDIO},
    {DELTA("response.output_audio.delta"), AUDIO},
    {DELTA("response.function_call_arguments.delta"), ARGS},
    {DELTA("response.custom_tool_call_input.delta"), ARGS},
    {DELTA("response.mcp_call_arguments.delta"), ARGS},
    {DELTA("response.code_interpreter_call_code.delta"), ARGS},
    {DELTA("response.apply_patch_call_operation_diff.delta"), ARGS},
    {DELTA("response.not_yet_known.delta"), ARGS},

    /* what a delta may be */
    {EVENT("response.output_text.delta", "\"delta\":\"\""), 0},
    {EVENT("response.output_text.delta", "\"delta\":null"), 0},
    {EVENT("response.output_text.delta", "\"delta\":7"), 0},
    {EVENT("response.output_text.delta", "\"delta\":[\"x\"]"), 0},
    {EVENT("response.output_text.delta", "\"delta\":{}"), 0},
    {EVENT("response.output_text.delta", "\"delta\":{\"text\":\"x\"}"), TEXT},
    {EVENT("response.reasoning.delta", "\"delta\":{\"type\":\"t\",\"content\":\"x\"}"), REASON},
    {EVENT("response.output_text.delta", "\"delta\":{\"text\":\"\",\"other\":\"x\"}"), 0},
    {EVENT("response.output_text.delta", "\"delta\":\"x\",\"delta\":\"\""), 0},
    {EVENT("response.output_text.delta", "\"delta\":\" \""), TEXT},
    {EVENT("response.output_text.delta", "\"text\":\"x\""), 0},

    /* the type may come last, first, escaped, or not at all */
    {"{\"delta\":\"x\",\"type\":\"response.output_text.delta\"}", TEXT},
    {"{\"delta\":\"x\",\"item_id\":\"m\",\"type\":\"response.function_call_arguments.delta\"}",
     ARGS},
    {"{\"item\":{\"name\":\"f\",\"type\":\"function_call\"},\"type\":\"response.output_item."
     "added\"}",
     NAME},
    {"{\"delta\":\"x\",\"type\":\"response.refus\\u0061l.delta\"}", DIALECT_REFUSAL},
    {"{\"d\\u0065lta\":\"x\",\"typ\\u0065\":\"response.output_text.delta\"}", TEXT},
    {"{\"delta\":\"x\"}", 0},
    {"{\"delta\":\"x\",\"type\":7}", 0},
    {"{\"delta\":\"x\",\"type\":\"\"}", 0},

    /* items */
    {ADDED("{\"type\":\"function_call\",\"name\":\"f\",\"arguments\":\"\"}"), NAME},
    {ADDED("{\"name\":\"f\",\"arguments\":\"\",\"type\":\"function_call\"}"), NAME},
    {ADDED("{\"type\":\"custom_tool_call\",\"name\":\"f\",\"input\":\"\"}"), NAME},
    {ADDED("{\"type\":\"mcp_call\",\"name\":\"f\",\"server_label\":\"s\"}"), NAME},
    {ADDED("{\"type\":\"function_call\",\"name\":\"\"}"), 0},
    {ADDED("{\"type\":\"function_call\"}"), 0},
    {ADDED("{\"type\":\"code_interpreter_call\",\"code\":\"\"}"), 0},
    {ADDED("{\"type\":\"web_search_call\",\"name\":\"f\"}"), 0},
    {ADDED("{\"type\":\"message\",\"name\":\"f\",\"content\":[]}"), 0},
    {ADDED("{\"type\":\"reasoning\",\"summary\":[],\"encrypted_content\":\"gAAA\"}"), OPAQUE},
    {ADDED("{\"encrypted_content\":\"gAAA\",\"type\":\"reasoning\"}"), OPAQUE},
    {ADDED("{\"type\":\"reasoning\",\"summary\":[],\"encrypted_content\":\"\"}"), 0},
    {ADDED("{\"type\":\"reasoning\",\"summary\":[]}"), 0},
    {ADDED("{\"type\":\"message\",\"encrypted_content\":\"gAAA\"}"), 0},
    {ADDED("null"), 0},
    {ADDED("[]"), 0},

    /* images */
    {EVENT("response.image_generation_call.partial_image",
           "\"partial_image_index\":0,\"partial_image_b64\":\"iVBO\""),
     IMAGE},
    {EVENT("response.image_generation_call.partial_image", "\"partial_image_b64\":\"\""), 0},
    {EVENT("response.image_generation_call.generating", "\"partial_image_b64\":\"iVBO\""), 0},

    /* beginnings and repetitions carry nothing (C02) */
    {RESPONSE("response.created", "\"status\":\"in_progress\",\"usage\":null,\"output\":[]"), 0},
    {RESPONSE("response.in_progress", "\"status\":\"in_progress\",\"output\":[]"), 0},
    {RESPONSE("response.queued", "\"status\":\"queued\""), 0},
    {EVENT("response.content_part.added", "\"part\":{\"type\":\"output_text\",\"text\":\"\"}"), 0},
    {EVENT("response.content_part.done", "\"part\":{\"type\":\"output_text\",\"text\":\"x\"}"), 0},
    {EVENT("response.output_text.done", "\"text\":\"x\""), 0},
    {EVENT("response.function_call_arguments.done", "\"arguments\":\"{}\""), 0},
    {EVENT("response.reasoning_summary_text.done", "\"text\":\"x\""), 0},
    {EVENT("response.output_item.done",
           "\"item\":{\"type\":\"function_call\",\"name\":\"f\",\"arguments\":\"{}\"}"),
     0},
    {EVENT("response.output_text.annotation.added", "\"annotation\":{\"text\":\"x\"}"), 0},
    {EVENT("response.web_search_call.searching", "\"item_id\":\"w\""), 0},
    {EVENT("keepalive", "\"x\":1"), 0},
    {EVENT("ping", "\"delta\":\"x\""), 0},
    {"{}", 0},
};

static void kinds_of_events(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(events); i++) {
        struct dialect_answer a = fresh();
        struct token_event e = event_of(&a, "", events[i].data);
        if (e.kinds != events[i].kinds)
            fail_msg("%s: kinds 0x%x, not 0x%x", events[i].data, e.kinds, events[i].kinds);
        assert_row(events[i].data, a.n_bad_json == 0 && !a.has_error && !e.is_end);
        assert_row(events[i].data, !d->is_ended(&a));
    }
}

/* The name of the SSE event is the type where the data tells none, and only there. */
static void the_name_stands_in_for_the_type(void **state)
{
    (void)state;
    struct dialect_answer a = fresh();
    const char *delta = "{\"delta\":\"x\"}";
    assert_int_equal(event_of(&a, "response.output_text.delta", delta).kinds, TEXT);
    /* the same bytes under another name: what was learned of the first must not count */
    assert_int_equal(event_of(&a, "response.refusal.delta", delta).kinds, DIALECT_REFUSAL);
    assert_int_equal(event_of(&a, "", delta).kinds, 0);
    assert_int_equal(event_of(&a, "response.output_text.delta",
                              "{\"type\":\"response.refusal.delta\",\"delta\":\"x\"}")
                         .kinds,
                     DIALECT_REFUSAL);
    assert_true(event_of(&a, "response.completed", "{\"response\":{}}").is_end);
    assert_string_equal(a.finish, "completed");
}

/* Cut anywhere, an event is no JSON and leaves nothing behind. */
static void cut_events_leave_nothing(void **state)
{
    (void)state;
    static const char *const wholes[] = {
        "{\"response\":{\"model\":\"m\",\"status\":\"failed\",\"error\":{\"code\":\"c\"},"
        "\"usage\":{\"input_tokens\":1}},\"delta\":\"x\",\"type\":\"response.failed\"}",
        "{\"item\":{\"name\":\"f\",\"type\":\"function_call\"},\"error\":{\"code\":1},"
        "\"type\":\"response.output_item.added\"}",
    };
    for (size_t i = 0; i < ARRAY_LEN(wholes); i++) {
        for (size_t n = 0; n < strlen(wholes[i]); n++) {
            struct token_event e;
            struct dialect_answer a = fresh();
            struct dialect_answer before = a;
            before.n_bad_json = 1;
            before.n_bad_objects = n > 0;
            d->event(&a, SPAN(""), span_of(wholes[i], n), &e);
            assert_int_equal(e.kinds, 0);
            assert_memory_equal(&a, &before, sizeof(a));
        }
    }
}

static void terminal_events(void **state)
{
    (void)state;
    static const struct {
        const char *data;
        const char *finish;
        bool is_error;
    } rows[] = {
        {RESPONSE("response.completed", "\"status\":\"completed\""), "completed", false},
        {RESPONSE("response.incomplete",
                  "\"status\":\"incomplete\",\"incomplete_details\":{\"reason\":\"max_output_"
                  "tokens\"}"),
         "incomplete:max_output_tokens", false},
        {RESPONSE("response.incomplete",
                  "\"incomplete_details\":{\"x\":1,\"reason\":\"content_filter\"},\"status\":"
                  "\"incomplete\""),
         "incomplete:content_filter", false},
        {RESPONSE("response.incomplete", "\"incomplete_details\":null"), "incomplete", false},
        {RESPONSE("response.incomplete", "\"incomplete_details\":{\"reason\":\"\"}"), "incomplete",
         false},
        {RESPONSE("response.incomplete",
                  "\"incomplete_details\":{\"reason\":\"a_reason_that_is_longer_than_what_is_"
                  "kept\"}"),
         "incomplete:a_reason_that_is_lon", false},
        {RESPONSE("response.incomplete", "\"status\":\"a_status_that_is_longer_than_what_is_kept\","
                                         "\"incomplete_details\":{\"reason\":\"x\"}"),
         "a_status_that_is_longer_than_wh", false},
        {RESPONSE("response.completed", "\"status\":\"st\\u0061tus\""), "status", false},
        {RESPONSE("response.failed", "\"status\":\"failed\",\"error\":null"), "failed", true},
        {RESPONSE("response.failed", "\"status\":\"failed\",\"error\":{\"code\":\"c\"}"), "failed",
         true},
        {RESPONSE("response.completed", "\"error\":{\"code\":\"c\"}"), "completed", true},
        {RESPONSE("response.cancelled", "\"status\":\"cancelled\""), "cancelled", false},
        {RESPONSE("response.done", "\"status\":\"\""), "done", false},
        {EVENT("response.completed", "\"response\":null"), "completed", false},
        {"{\"type\":\"response.completed\"}", "completed", false},
        {"{\"response\":{\"status\":\"completed\"},\"type\":\"response.compl\\u0065ted\"}",
         "completed", false},
        {"{\"type\":\"response.compl\\u0065ted\"}", "completed", false},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct dialect_answer a = fresh();
        struct token_event e = event_of(&a, "", rows[i].data);
        assert_row(rows[i].data, e.is_end && e.kinds == 0);
        assert_row(rows[i].data, e.is_error == rows[i].is_error);
        assert_row(rows[i].data, a.has_end_mark && !a.has_done_marker && d->is_ended(&a));
        if (strcmp(a.finish, rows[i].finish) != 0)
            fail_msg("%s: \"%s\", not \"%s\"", rows[i].data, a.finish, rows[i].finish);
    }
    static const char *const no_end[] = {
        "{\"type\":\"completed\"}",
        "{\"type\":\"response.complete\"}",
        "{\"type\":\"response.output_item.done\"}",
        "{\"type\":\"response.code_interpreter_call.completed\"}",
        "{\"type\":\"response.mcp_call.failed\",\"error\":{\"code\":1}}",
    };
    for (size_t i = 0; i < ARRAY_LEN(no_end); i++) {
        struct dialect_answer a = fresh();
        assert_row(no_end[i], !event_of(&a, "", no_end[i]).is_end);
        assert_row(no_end[i], !d->is_ended(&a) && !a.has_error);
    }
}

static void a_done_marker_behind_the_end_changes_nothing(void **state)
{
    (void)state;
    struct dialect_answer a = fresh();
    (void)event_of(&a, "response.completed",
                   RESPONSE("response.completed",
                            "\"status\":\"completed\",\"usage\":{\"input_tokens\":1,"
                            "\"output_tokens\":2}"));
    struct token_event e = event_of(&a, "", "[DONE]");
    assert_true(e.is_end && !e.is_error && e.kinds == 0);
    assert_int_equal(a.n_bad_json, 0);
    assert_string_equal(a.finish, "completed");
    assert_int_equal(a.usage.completion, 2);
    /* alone it is no end: the response never came */
    a = fresh();
    (void)event_of(&a, "", "[DONE]");
    assert_false(d->is_ended(&a));
    assert_true(a.has_done_marker && !a.has_end_mark); /* how the connection ends decides */
}

static void errors_in_every_form(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        const char *data;
        const char *error; /* NULL: none */
    } rows[] = {
        {"error", "{\"type\":\"error\",\"error\":{\"type\":\"tokens\",\"code\":\"rate\"}}",
         "tokens"},
        {"", "{\"error\":{\"code\":\"rate_limit_exceeded\"},\"type\":\"error\"}",
         "rate_limit_exceeded"},
        {"", "{\"type\":\"error\",\"code\":\"server_error\",\"message\":\"m\",\"param\":null}",
         "server_error"},
        {"", "{\"type\":\"error\",\"code\":null,\"message\":\"the text is never kept\"}", "error"},
        {"", "{\"type\":\"response.error\",\"error\":{\"code\":\"c\"}}", "c"},
        {"", "{\"type\":\"response.error\",\"code\":\"c\"}", "c"},
        {"error", "{\"message\":\"m\"}", "error"},
        {"error", "not json", "error"},
        {"", "{\"error\":{\"message\":\"m\",\"type\":\"server_error\"}}", "server_error"},
        {"", "{\"error\":\"overloaded\"}", "error"},
        {"", "{\"error\":null}", NULL},
        {"", "{\"object\":\"error\",\"type\":\"BadRequestError\",\"code\":400}", "BadRequestError"},
        {"", "{\"object\":\"error\",\"type\":\"B\\u0061d\",\"code\":400}", "error"},
        {"", "{\"object\":\"error\",\"code\":400}", "400"},
        {"", RESPONSE("response.failed", "\"error\":{\"code\":\"server_error\"}"), "server_error"},
        {"", RESPONSE("response.failed", "\"error\":null"), "error"},
        {"", RESPONSE("response.failed", "\"error\":{\"message\":\"m\"}"), "error"},
        {"", RESPONSE("response.incomplete", "\"error\":null"), NULL},
        /* a tool's error is not the answer's */
        {"", EVENT("response.mcp_call.failed", "\"error\":{\"code\":1}"), NULL},
        {"", EVENT("response.output_item.done", "\"item\":{\"error\":{\"code\":1}}"), NULL},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct dialect_answer a = fresh();
        struct token_event e = event_of(&a, rows[i].name, rows[i].data);
        assert_row(rows[i].data, a.has_error == (rows[i].error != NULL));
        assert_row(rows[i].data, e.is_error == a.has_error);
        if (strcmp(a.error, rows[i].error ? rows[i].error : "") != 0)
            fail_msg("%s: \"%s\", not \"%s\"", rows[i].data, a.error, rows[i].error);
    }
}

/* --- whole streams, one of each shape --- */

#define CREATED RESPONSE("response.created", "\"status\":\"in_progress\",\"model\":\"gpt-r\"")
#define COMPLETED(usage)                                                                           \
    RESPONSE("response.completed", "\"status\":\"completed\",\"model\":\"gpt-r\","                 \
                                   "\"usage\":" usage)

enum { SHAPE_EVENTS_MAX = 12 };

static const struct {
    const char *name;
    const char *events[SHAPE_EVENTS_MAX];
    int first_output; /* -1: none */
    int n_output;
    uint32_t kinds;
    const char *finish;
    struct usage usage;
    struct dialect_tokens tokens;
} shapes[] = {
    {"text; usage is that of the last event (C39)",
     {CREATED, RESPONSE("response.in_progress", "\"usage\":null"),
      ADDED("{\"type\":\"message\",\"content\":[]}"),
      EVENT("response.content_part.added", "\"part\":{\"text\":\"\"}"),
      DELTA("response.output_text.delta"), DELTA("response.output_text.delta"),
      EVENT("response.output_text.done", "\"text\":\"xx\""),
      COMPLETED("{\"input_tokens\":9,\"input_tokens_details\":{\"cached_tokens\":4},"
                "\"output_tokens\":12,\"output_tokens_details\":{\"reasoning_tokens\":0},"
                "\"total_tokens\":21}"),
      "[DONE]"},
     4,
     2,
     TEXT,
     "completed",
     {9, 12, 4, USAGE_UNTOLD, 0, 21, USAGE_UNTOLD},
     {9, 12, 4, -1, 0}},
    {"summarised and encrypted reasoning, then a call",
     {CREATED, ADDED("{\"encrypted_content\":\"g\",\"summary\":[],\"type\":\"reasoning\"}"),
      DELTA("response.reasoning_summary_text.delta"),
      ADDED("{\"type\":\"function_call\",\"name\":\"f\",\"arguments\":\"\"}"),
      DELTA("response.function_call_arguments.delta"),
      EVENT("response.function_call_arguments.done", "\"arguments\":\"x\""),
      COMPLETED("{\"input_tokens\":60,\"input_tokens_details\":{\"cached_tokens\":0,"
                "\"cache_write_tokens\":50},\"output_tokens\":139,\"output_tokens_details\":{"
                "\"reasoning_tokens\":64},\"total_tokens\":199}")},
     1,
     4,
     OPAQUE | SUMMARY | NAME | ARGS,
     "completed",
     {60, 139, 0, 50, 64, 199, USAGE_UNTOLD},
     {60, 139, 0, 50, 64}},
    {"readable reasoning that is counted beside the output (C36)",
     {CREATED, DELTA("response.reasoning_text.delta"), DELTA("response.output_text.delta"),
      COMPLETED("{\"input_tokens\":10,\"output_tokens\":5,\"output_tokens_details\":{"
                "\"reasoning_tokens\":20},\"total_tokens\":35}")},
     1,
     2,
     REASON | TEXT,
     "completed",
     {10, 5, USAGE_UNTOLD, USAGE_UNTOLD, 20, 35, USAGE_UNTOLD},
     {10, 25, -1, -1, 20}},
    {"cut by its limit while it still reasoned, nothing seen",
     {CREATED, ADDED("{\"type\":\"reasoning\",\"summary\":[]}"),
      EVENT("response.output_item.done", "\"item\":{\"type\":\"reasoning\",\"summary\":[]}"),
      RESPONSE("response.incomplete",
               "\"status\":\"incomplete\",\"incomplete_details\":{\"reason\":\"max_output_tokens\"}"
               ",\"usage\":{\"input_tokens\":80,\"output_tokens\":448,\"output_tokens_details\":{"
               "\"reasoning_tokens\":448}}")},
     -1,
     0,
     0,
     "incomplete:max_output_tokens",
     {80, 448, USAGE_UNTOLD, USAGE_UNTOLD, 448, USAGE_UNTOLD, USAGE_UNTOLD},
     {80, 448, -1, -1, 448}},
    {"an image, with usage on the way",
     {CREATED, RESPONSE("response.in_progress", "\"usage\":{\"input_tokens\":7}"),
      EVENT("response.image_generation_call.partial_image", "\"partial_image_b64\":\"i\""),
      COMPLETED("{\"output_tokens\":3,\"input_tokens_details\":{\"cache_creation_tokens\":2}}")},
     2,
     1,
     IMAGE,
     "completed",
     {7, 3, USAGE_UNTOLD, 2, USAGE_UNTOLD, USAGE_UNTOLD, USAGE_UNTOLD},
     {7, 3, -1, 2, -1}},
    {"counts that cannot be (C38)",
     {CREATED, DELTA("response.refusal.delta"),
      COMPLETED("{\"input_tokens\":10,\"output_tokens\":-2,\"input_tokens_details\":{"
                "\"cached_tokens\":-1},\"output_tokens_details\":null}")},
     1,
     1,
     DIALECT_REFUSAL,
     "completed",
     {10, -2, -1, USAGE_UNTOLD, USAGE_UNTOLD, USAGE_UNTOLD, USAGE_UNTOLD},
     {10, -1, -1, -1, -1}},
};

static void check_shape(size_t i)
{
    struct dialect_answer a = fresh();
    uint32_t kinds = 0;
    int n_output = 0;
    int first_output = -1;
    bool is_anomalous;
    for (int n = 0; n < SHAPE_EVENTS_MAX && shapes[i].events[n]; n++) {
        uint32_t k = event_of(&a, "", shapes[i].events[n]).kinds;
        kinds |= k;
        n_output += k != 0;
        first_output = k != 0 && first_output < 0 ? n : first_output;
    }
    const char *name = shapes[i].name;
    assert_row(name, first_output == shapes[i].first_output);
    assert_row(name, n_output == shapes[i].n_output);
    assert_row(name, kinds == shapes[i].kinds);
    assert_row(name, strcmp(a.finish, shapes[i].finish) == 0);
    assert_row(name, strcmp(a.model, "gpt-r") == 0);
    assert_row(name, d->is_ended(&a) && !a.has_error && a.n_bad_json == 0);
    assert_row(name, a.max_choice_index <= 0);
    assert_row(name, memcmp(&a.usage, &shapes[i].usage, sizeof(a.usage)) == 0);
    struct dialect_tokens t = dialect_normalise(d, &a.usage, &is_anomalous);
    assert_row(name, memcmp(&t, &shapes[i].tokens, sizeof(t)) == 0);
    assert_row(name, is_anomalous == (a.usage.completion < 0));
}

static void whole_streams(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(shapes); i++)
        check_shape(i);
}

/* Nothing is allocated, and events that differ in their text only are recognised rightly: a stream
 * says the same whether one event was learned before another or not. */
static void events_allocate_nothing(void **state)
{
    (void)state;
    uint64_t n_before = mem_count_total().n_allocs;
    struct dialect_answer a = fresh();
    for (int round = 0; round < 2; round++) {
        for (size_t i = 0; i < ARRAY_LEN(events); i++)
            assert_row(events[i].data, event_of(&a, "", events[i].data).kinds == events[i].kinds);
    }
    assert_int_equal(mem_count_total().n_allocs, n_before);
}

/* --- whole answers --- */

static void whole_answers(void **state)
{
    (void)state;
    struct dialect_answer a = fresh();
    d->answer(&a, SPAN(" {\"id\":\"r\",\"object\":\"response\",\"status\":\"completed\",\"error\":"
                       "null,\"incomplete_details\":null,\"model\":\"gpt-r-1\",\"output\":[{"
                       "\"type\":\"message\",\"status\":\"x\",\"content\":[{\"text\":\"error\"}]}],"
                       "\"usage\":{\"input_tokens\":5,\"input_tokens_details\":{\"cached_tokens\":"
                       "2},\"output_tokens\":6,\"output_tokens_details\":{\"reasoning_tokens\":3},"
                       "\"total_tokens\":11}}\n"));
    assert_string_equal(a.model, "gpt-r-1");
    assert_string_equal(a.finish, "completed");
    assert_false(a.has_error);
    assert_int_equal(a.usage.prompt, 5);
    assert_int_equal(a.usage.completion, 6);
    assert_int_equal(a.usage.cached, 2);
    assert_int_equal(a.usage.reasoning, 3);
    assert_int_equal(a.usage.total, 11);

    a = fresh();
    d->answer(&a, SPAN("{\"status\":\"incomplete\",\"incomplete_details\":{\"reason\":"
                       "\"max_output_tokens\"}}"));
    assert_string_equal(a.finish, "incomplete:max_output_tokens");

    static const struct {
        const char *body;
        const char *error;
    } errors[] = {
        {"{\"status\":\"failed\",\"error\":{\"code\":\"server_error\"}}", "server_error"},
        {"{\"error\":{\"message\":\"m\",\"type\":\"invalid_request_error\",\"code\":null}}",
         "invalid_request_error"},
        {"{\"object\":\"error\",\"message\":\"m\",\"type\":\"NotFoundError\",\"code\":404}",
         "NotFoundError"},
    };
    for (size_t i = 0; i < ARRAY_LEN(errors); i++) {
        a = fresh();
        d->answer(&a, span_cstr(errors[i].body));
        assert_row(errors[i].body, a.has_error && strcmp(a.error, errors[i].error) == 0);
    }
    a = fresh();
    d->answer(&a, SPAN("<html>"));
    assert_int_equal(a.n_bad_json, 1);
}

/* --- requests --- */

static struct dialect_request inspect(const char *body)
{
    struct dialect_request r;
    d->inspect(SPAN("/v1/responses"), span_cstr(body), true, &r);
    return r;
}

static void reads_what_is_asked(void **state)
{
    (void)state;
    struct dialect_request r =
        inspect("{\"model\":\"gpt-r\",\"instructions\":\"be brief\",\"input\":[{\"role\":\"user\","
                "\"content\":\"hi\"}],\"stream\":true,\"max_output_tokens\":50,\"n\":3}");
    assert_true(r.is_json && r.is_complete && r.is_stream);
    assert_false(r.is_duplicate_model);
    assert_string_equal(r.model, "gpt-r");
    assert_int_equal(r.max_tokens, 50);
    assert_int_equal(r.n, 1);
    assert_int_equal(r.prompt_bytes,
                     strlen("\"be brief\"") + strlen("[{\"role\":\"user\",\"content\":\"hi\"}]"));

    r = inspect("{\"mod\\u0065l\":\"a\",\"input\":\"hi\",\"stream\":false,\"model\":\"b\"}");
    assert_true(r.is_duplicate_model);
    assert_string_equal(r.model, "b");
    assert_false(r.is_stream);
    assert_int_equal(r.max_tokens, -1);
    assert_int_equal(r.prompt_bytes, strlen("\"hi\""));
    assert_false(inspect("{\"model\":").is_json);
}

static void refusals_are_openais(void **state)
{
    (void)state;
    struct buf body;
    buf_init(&body, 1024);
    assert_int_equal(d->refusal_body(REFUSAL_TOO_MANY, "later", &body), 0);
    assert_true(span_starts_with(buf_span(&body), SPAN("{\"error\":{\"message\":\"later\"")));
    buf_done(&body);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kinds_of_events),
        cmocka_unit_test(the_name_stands_in_for_the_type),
        cmocka_unit_test(cut_events_leave_nothing),
        cmocka_unit_test(terminal_events),
        cmocka_unit_test(a_done_marker_behind_the_end_changes_nothing),
        cmocka_unit_test(errors_in_every_form),
        cmocka_unit_test(whole_streams),
        cmocka_unit_test(events_allocate_nothing),
        cmocka_unit_test(whole_answers),
        cmocka_unit_test(reads_what_is_asked),
        cmocka_unit_test(refusals_are_openais),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
