/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dialect/openai_chat, openai_completions, openai_common: what one event says, table-driven.
 */
#include "harness.h"

#include <stdio.h>
#include <string.h>

#include "base/attr.h"
#include "base/mem.h"
#include "dialect/openai_common.h"

enum {
    TEXT = DIALECT_TEXT,
    REASON = DIALECT_REASONING,
    SUMMARY = DIALECT_REASONING | DIALECT_REASONING_SUMMARY,
    OPAQUE = DIALECT_REASONING_OPAQUE,
    NAME = DIALECT_TOOL_NAME,
    ARGS = DIALECT_TOOL_ARGS,
};

#define DELTA(members)                                                                             \
    "{\"choices\":[{\"index\":0,\"delta\":{" members "},\"finish_reason\":null}]}"

static const struct {
    const char *data;
    uint32_t kinds;
} deltas[] = {
    {DELTA("\"role\":\"assistant\",\"content\":\"\""), 0},
    {DELTA("\"role\":\"assistant\",\"content\":null,\"refusal\":null"), 0},
    {DELTA("\"content\":\" \""), TEXT},
    {DELTA("\"content\":\"a\""), TEXT},
    {DELTA("\"c\\u006fntent\":\"a\""), TEXT},
    {DELTA("\"content\":[{\"type\":\"text\",\"text\":\"a\"}]"), TEXT},
    {DELTA("\"content\":[{\"type\":\"text\",\"text\":\"\"}]"), 0},
    {DELTA(
         "\"content\":[{\"type\":\"thinking\",\"thinking\":[{\"type\":\"text\",\"text\":\"h\"}]}]"),
     REASON},
    {DELTA("\"content\":[{\"type\":\"thinking\",\"thinking\":\"h\"},{\"type\":\"text\",\"text\":"
           "\"a\"}]"),
     REASON | TEXT},
    {DELTA("\"content\":[{\"type\":\"thinking\",\"thinking\":[]}]"), 0},
    {DELTA("\"content\":[{\"type\":\"reasoning\",\"summary\":[{\"text\":\"s\"}]}]"), SUMMARY},
    {DELTA("\"content\":[{\"type\":\"image_url\",\"image_url\":{\"url\":\"x\"}}]"), DIALECT_IMAGE},
    {DELTA("\"content\":{\"text\":\"a\"}"), TEXT},
    {DELTA("\"content\":{\"thinking\":\"a\"}"), REASON},
    {DELTA("\"content\":5"), 0},
    {DELTA("\"reasoning_content\":\"r\""), REASON},
    {DELTA("\"reasoning_content\":\"r\",\"content\":\"\""), REASON},
    {DELTA("\"reasoning\":\"r\",\"content\":\"t\""), REASON | TEXT},
    {DELTA("\"reasoning_text\":\"r\""), REASON},
    {DELTA("\"thinking\":\"r\""), REASON},
    {DELTA("\"reasoning\":{\"content\":\"r\"}"), REASON},
    {DELTA("\"reasoning\":{\"effort\":\"high\"}"), 0},
    {DELTA("\"reasoning_details\":[]"), 0},
    {DELTA("\"reasoning_details\":[{\"type\":\"reasoning.text\",\"text\":\"r\"}]"), REASON},
    {DELTA("\"reasoning_details\":[{\"type\":\"reasoning.summary\",\"summary\":\"s\"}]"), SUMMARY},
    {DELTA("\"reasoning_details\":[{\"type\":\"reasoning.encrypted\",\"data\":\"x\"}]"), OPAQUE},
    {DELTA("\"reasoning_details\":[{\"text\":\"\",\"signature\":\"x\"}]"), OPAQUE},
    {DELTA("\"thinking_blocks\":[{\"thinking\":\"x\"}]"), REASON},
    {DELTA("\"reasoning_opaque\":\"x\""), OPAQUE},
    {DELTA("\"refusal\":\"no\""), DIALECT_REFUSAL},
    {DELTA("\"tool_calls\":[{\"index\":0,\"id\":\"c\",\"type\":\"function\",\"function\":{\"name\":"
           "\"f\",\"arguments\":\"\"}}]"),
     NAME},
    {DELTA("\"tool_calls\":[{\"index\":0,\"function\":{\"arguments\":\"{\"}}]"), ARGS},
    {DELTA("\"tool_calls\":[{\"function\":{\"name\":\"f\",\"arguments\":{\"a\":1}}}]"),
     NAME | ARGS},
    {DELTA("\"tool_calls\":[{\"function\":{\"arguments\":{}}}]"), 0},
    {DELTA("\"tool_calls\":[{\"custom\":{\"name\":\"f\",\"input\":\"i\"}}]"), NAME | ARGS},
    {DELTA("\"tool_calls\":null"), 0},
    {DELTA("\"tool_calls\":[null,{}]"), 0},
    {DELTA("\"function_call\":{\"name\":\"f\",\"arguments\":\"a\"}"), NAME | ARGS},
    {DELTA("\"audio\":{\"id\":\"a\"}"), 0},
    {DELTA("\"audio\":{\"transcript\":\"a\"}"), DIALECT_AUDIO},
    {DELTA("\"audio\":{\"data\":\"UklG\"}"), DIALECT_AUDIO},
    {DELTA("\"images\":[]"), 0},
    {DELTA("\"images\":[{\"url\":\"u\"}]"), DIALECT_IMAGE},
    {DELTA("\"obfuscation\":\"abc\",\"unknown\":{\"content\":\"x\"}"), 0},
    {"{\"choices\":[{\"delta\":null}]}", 0},
    {"{\"choices\":[null,7,[],{\"delta\":{\"content\":\"x\"}}]}", TEXT},
    {"{\"choices\":null}", 0},
    {"{\"choices\":{}}", 0},
    {"{\"choices\":[]}", 0},
    {"{}", 0},
};

static struct token_event event_of(const struct dialect *d, struct dialect_answer *a,
                                   const char *name, const char *data)
{
    struct token_event e;
    d->event(a, span_cstr(name), span_cstr(data), &e);
    return e;
}

static void kinds_of_deltas(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(deltas); i++) {
        struct dialect_answer a;
        dialect_answer_init(&a);
        struct token_event e = event_of(&dialect_openai_chat, &a, "", deltas[i].data);
        if (e.kinds != deltas[i].kinds)
            fail_msg("%s: kinds 0x%x, not 0x%x", deltas[i].data, e.kinds, deltas[i].kinds);
        assert_row(deltas[i].data, a.n_bad_json == 0 && !a.has_error && !e.is_end);
    }
}

/* Cut anywhere, an event is no JSON and leaves nothing behind. */
static void cut_events_leave_nothing(void **state)
{
    (void)state;
    const char *whole = "{\"model\":\"m\",\"choices\":[{\"delta\":{\"content\":\"a\"},"
                        "\"finish_reason\":\"stop\"}],\"usage\":{\"prompt_tokens\":1},"
                        "\"error\":{\"type\":\"t\"}}";
    for (size_t n = 0; n < strlen(whole); n++) {
        struct dialect_answer a;
        struct dialect_answer before;
        struct token_event e;
        dialect_answer_init(&a);
        before = a;
        before.n_bad_json = 1;
        before.n_bad_objects = n > 0;
        dialect_openai_chat.event(&a, SPAN(""), span_of(whole, n), &e);
        assert_int_equal(e.kinds, 0);
        assert_memory_equal(&a, &before, sizeof(a));
    }
}

static void completions_text(void **state)
{
    (void)state;
    static const struct {
        const char *data;
        uint32_t kinds;
    } rows[] = {
        {"{\"choices\":[{\"text\":\"a\",\"index\":0,\"finish_reason\":null}]}", TEXT},
        {"{\"choices\":[{\"text\":\"\",\"index\":0,\"finish_reason\":\"stop\"}]}", 0},
        {"{\"choices\":[{\"index\":0}]}", 0},
        {"{\"choices\":[{\"delta\":{\"content\":\"a\"}}]}", TEXT},
        {"{\"choices\":[{\"delta\":{\"reasoning\":\"a\"}}]}", 0},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct dialect_answer a;
        dialect_answer_init(&a);
        assert_row(rows[i].data,
                   event_of(&dialect_openai_completions, &a, "", rows[i].data).kinds ==
                       rows[i].kinds);
    }
}

static void done_is_the_end(void **state)
{
    (void)state;
    static const char *const rows[] = {"[DONE]", " [DONE] ", "[DONE]\n"};
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct dialect_answer a;
        dialect_answer_init(&a);
        assert_false(dialect_openai_chat.is_ended(&a));
        struct token_event e = event_of(&dialect_openai_chat, &a, "", rows[i]);
        assert_true(e.is_end && a.has_done_marker && a.n_bad_json == 0);
        assert_true(dialect_openai_chat.is_ended(&a));
    }
}

static void errors_in_every_form(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        const char *data;
        const char *error; /* NULL: none */
    } rows[] = {
        {"", "{\"error\":{\"message\":\"m\",\"type\":\"server_error\",\"code\":500}}",
         "server_error"},
        {"", "{\"error\":{\"message\":\"m\",\"code\":502}}", "502"},
        {"", "{\"error\":{\"code\":\"rate_limited\"}}", "rate_limited"},
        {"", "{\"error\":{\"message\":\"the text is never kept\"}}", "error"},
        {"", "{\"error\":{\"type\":\"the prompt was: hello\"}}", "error"},
        {"", "{\"error\":\"overloaded\"}", "error"},
        {"", "{\"error\":\"\"}", NULL},
        {"", "{\"error\":null}", NULL},
        {"", "{\"error\":{}}", NULL},
        {"error", "{\"message\":\"m\"}", "error"},
        {"error", "not json", "error"},
        {"error", "", NULL},
        {"message", "{}", NULL},
        {"", "{\"object\":\"error\",\"message\":\"m\",\"type\":\"BadRequestError\",\"code\":400}",
         "BadRequestError"},
        {"", "{\"choices\":[{\"error\":{\"code\":504,\"message\":\"m\"}}]}", "504"},
        {"", "{\"x_groq\":{\"error\":\"over capacity\"}}", "error"},
        {"", "{\"choices\":[{\"delta\":{\"error\":\"x\"}}]}", NULL},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct dialect_answer a;
        dialect_answer_init(&a);
        struct token_event e = event_of(&dialect_openai_chat, &a, rows[i].name, rows[i].data);
        assert_row(rows[i].data, a.has_error == (rows[i].error != NULL));
        assert_row(rows[i].data, e.is_error == a.has_error);
        if (strcmp(a.error, rows[i].error ? rows[i].error : "") != 0)
            fail_msg("%s: \"%s\", not \"%s\"", rows[i].data, a.error, rows[i].error);
    }
}

static void a_named_error_is_not_forgotten(void **state)
{
    (void)state;
    struct dialect_answer a;
    dialect_answer_init(&a);
    (void)event_of(&dialect_openai_chat, &a, "", "{\"error\":{\"type\":\"server_error\"}}");
    (void)event_of(&dialect_openai_chat, &a, "error", "{}");
    assert_string_equal(a.error, "server_error");
}

/* Text beside the stream: only an error is taken of it. */
static void an_error_pasted_into_the_stream(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        const char *error;
    } rows[] = {
        {"{\n  \"error\": {\n    \"code\": 499,\n    \"status\": \"CANCELLED\"\n  }\n}\n",
         "CANCELLED"},
        {"{\"error\": \"some text\"}\n", "error"},
        {"{\"choices\":[{\"finish_reason\":\"stop\"}],\"model\":\"m\",\"usage\":{"
         "\"prompt_tokens\":1}}",
         ""},
        {"{\"error\": null}", ""},
        {"{\"error\": {\"code\": 1}", ""},
        {"{ nonsense", ""},
        {"", ""},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct dialect_answer a;
        dialect_answer_init(&a);
        dialect_read_stray(&dialect_openai_chat, &a, span_cstr(rows[i].text));
        assert_row(rows[i].text, a.has_error == (rows[i].error[0] != '\0'));
        assert_row(rows[i].text, strcmp(a.error, rows[i].error) == 0);
        assert_row(rows[i].text, a.n_bad_json == 0 && !a.has_finish && a.model[0] == '\0');
        assert_row(rows[i].text, !usage_is_set(&a.usage));
    }
}

static void finish_per_choice(void **state)
{
    (void)state;
    struct dialect_answer a;
    dialect_answer_init(&a);
    (void)event_of(&dialect_openai_chat, &a, "",
                   "{\"choices\":[{\"index\":1,\"finish_reason\":\"length\"}]}");
    assert_string_equal(a.finish, "length"); /* the only one so far */
    (void)event_of(&dialect_openai_chat, &a, "",
                   "{\"choices\":[{\"finish_reason\":\"st\\u006fp\",\"index\":0}]}");
    (void)event_of(&dialect_openai_chat, &a, "",
                   "{\"choices\":[{\"index\":1,\"finish_reason\":\"stop\"}]}");
    assert_string_equal(a.finish, "stop");
    assert_int_equal(a.n_choices_finished, 2);
    assert_int_equal(a.choices[0].index, 1);
    assert_string_equal(a.choices[0].finish, "stop");
    assert_int_equal(a.max_choice_index, 1);
    /* the last one seen counts, an empty one does not */
    (void)event_of(&dialect_openai_chat, &a, "",
                   "{\"choices\":[{\"index\":0,\"finish_reason\":\"tool_calls\"}]}");
    (void)event_of(&dialect_openai_chat, &a, "",
                   "{\"choices\":[{\"index\":0,\"finish_reason\":null}]}");
    assert_string_equal(a.finish, "tool_calls");
    /* more choices than are kept */
    for (int i = 2; i < 20; i++) {
        char data[96];
        (void)snprintf(data, sizeof(data), "{\"choices\":[{\"index\":%d,\"finish_reason\":\"s\"}]}",
                       i);
        (void)event_of(&dialect_openai_chat, &a, "", data);
    }
    assert_int_equal(a.n_choices_finished, DIALECT_CHOICES_MAX);
    assert_int_equal(a.max_choice_index, 19);
}

static void long_names_are_cut(void **state)
{
    (void)state;
    char data[1024];
    char name[500];
    memset(name, 'm', sizeof(name));
    (void)snprintf(data, sizeof(data),
                   "{\"model\":\"%.300s\",\"choices\":[{\"finish_reason\":\"%.300s\"}]}", name,
                   name);
    struct dialect_answer a;
    dialect_answer_init(&a);
    (void)event_of(&dialect_openai_chat, &a, "", data);
    assert_int_equal(strlen(a.model), DIALECT_MODEL_MAX - 1);
    assert_int_equal(strlen(a.finish), DIALECT_FINISH_MAX - 1);
    (void)event_of(&dialect_openai_chat, &a, "", "{\"model\":\"second\"}");
    assert_int_equal(a.model[0], 'm'); /* the first one seen */
}

static void whole_answers(void **state)
{
    (void)state;
    struct dialect_answer a;
    dialect_answer_init(&a);
    dialect_openai_chat.answer(
        &a,
        SPAN(" {\"id\":\"x\",\"model\":\"gpt\",\"choices\":[{\"index\":0,\"message\":{\"content\":"
             "\"error\"},\"finish_reason\":\"stop\"},{\"index\":1,\"finish_reason\":\"length\"}],"
             "\"usage\":{\"prompt_tokens\":9,\"completion_tokens\":12}}\n"));
    assert_string_equal(a.model, "gpt");
    assert_string_equal(a.finish, "stop");
    assert_int_equal(a.max_choice_index, 1);
    assert_int_equal(a.usage.prompt, 9);
    assert_int_equal(a.usage.completion, 12);
    assert_false(a.has_error);
    dialect_openai_chat.answer(&a, SPAN("<html>"));
    assert_int_equal(a.n_bad_json, 1);
    dialect_openai_embeddings.answer(
        &a, SPAN("{\"data\":[],\"usage\":{\"prompt_tokens\":5,\"total_tokens\":5}}"));
    assert_int_equal(a.usage.prompt, 5);
}

static void events_allocate_nothing(void **state)
{
    (void)state;
    struct mem_count before = mem_count_total();
    struct dialect_answer a;
    dialect_answer_init(&a);
    for (size_t i = 0; i < ARRAY_LEN(deltas); i++)
        (void)event_of(&dialect_openai_chat, &a, "", deltas[i].data);
    assert_int_equal(mem_count_total().n_allocs, before.n_allocs);
}

static void bare_usage_is_recognised(void **state)
{
    (void)state;
    static const struct {
        const char *data;
        bool is_bare;
    } rows[] = {
        {"{\"choices\":[],\"usage\":{\"prompt_tokens\":1}}", true},
        {"{\"usage\":{\"prompt_tokens\":1},\"id\":\"x\",\"choices\":[ ]}", true},
        {"{\"choices\":[],\"usage\":null}", false},
        {"{\"choices\":[]}", false},
        {"{\"choices\":[{\"delta\":{}}],\"usage\":{\"prompt_tokens\":1}}", false},
        {"{\"usage\":{\"prompt_tokens\":1}}", false},
        {"{\"choices\":[],\"usage\":{\"prompt_tokens\":1},\"error\":{\"code\":1}}", false},
        {"{\"choices\":[],\"usage\":{\"prompt_tokens\":1},\"error\":null}", true},
        {"{\"choices\":[],\"prompt_filter_results\":[{\"usage\":{}}]}", false}, /* Azure */
        {"{\"choices\":[],\"usage\":{\"prompt_tokens\":1}", false},
        {"{\"choices\":[],\"usage\":[]}", false},
        {"[DONE]", false},
        {"", false},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        assert_row(rows[i].data, openai_is_bare_usage(span_cstr(rows[i].data)) == rows[i].is_bare);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kinds_of_deltas),
        cmocka_unit_test(cut_events_leave_nothing),
        cmocka_unit_test(completions_text),
        cmocka_unit_test(done_is_the_end),
        cmocka_unit_test(errors_in_every_form),
        cmocka_unit_test(a_named_error_is_not_forgotten),
        cmocka_unit_test(an_error_pasted_into_the_stream),
        cmocka_unit_test(finish_per_choice),
        cmocka_unit_test(long_names_are_cut),
        cmocka_unit_test(whole_answers),
        cmocka_unit_test(events_allocate_nothing),
        cmocka_unit_test(bare_usage_is_recognised),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
