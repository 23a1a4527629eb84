/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/ask.h"

#include <errno.h>
#include <string.h>

#include "harness.h"
#include "sim/voice.h"

/* What a voice finds in a body. */
static int parse(enum voice_id voice, const char *body, struct ask *ret, const char **ret_why)
{
    const struct voice *v = voice_get(voice);

    return ask_parse(span_cstr(body), v->asks, v->missing, ret, ret_why);
}

static void test_fields(void **state)
{
    struct ask a;
    const char *why;
    (void)state;
    ask_init(&a);
    assert_int_equal(
        parse(VOICE_CHAT,
              "{\"model\":\"m\\n\",\"stream\":true,\"messages\":[1,2],\"max_tokens\":7,"
              "\"n\":2,\"stream_options\":{\"x\":[1],\"include_usage\":true},\"other\":{}}",
              &a, &why),
        0);
    assert_string_equal(a.model, "m\\n");
    assert_true(a.is_stream && a.has_stream_options && a.has_include_usage);
    assert_int_equal(a.max_tokens, 7);
    assert_int_equal(a.n_choices, 2);
    assert_int_equal(a.prompt_bytes, 5);
}

/* Where the other dialects have it. */
static void test_dialects(void **state)
{
    static const struct {
        enum voice_id voice;
        const char *body;
        bool is_stream;
        int64_t max_tokens, n_choices, prompt_bytes;
    } rows[] = {
        {VOICE_RESPONSES, "{\"input\":\"x\",\"stream\":true,\"max_output_tokens\":5}", true, 5, 1,
         3},
        {VOICE_RESPONSES, "{\"instructions\":\"ab\",\"input\":[1],\"max_tokens\":5}", false, -1, 1,
         7},
        {VOICE_MESSAGES, "{\"messages\":[],\"system\":\"ab\",\"max_tokens\":9,\"n\":3}", false, 9,
         1, 6},
        {VOICE_OLLAMA_CHAT, "{\"messages\":[],\"options\":{\"num_predict\":3,\"x\":{}}}", false, 3,
         1, 2},
        {VOICE_OLLAMA_GENERATE, "{\"prompt\":\"a\",\"options\":[3],\"num_predict\":4}", false, -1,
         1, 3},
        {VOICE_OLLAMA_EMBED, "{\"input\":[\"a\",\"b\",[\"c\"]]}", false, -1, 3, 15},
        {VOICE_EMBEDDINGS, "{\"input\":[1,2,3]}", false, -1, 1, 7},
        {VOICE_EMBEDDINGS, "{\"input\":[[1,2],[3]]}", false, -1, 2, 11},
        {VOICE_EMBEDDINGS, "{\"input\":\"ab\"}", false, -1, 1, 4},
        {VOICE_GEMINI_SSE,
         "{\"contents\":[{}],\"generationConfig\":{\"maxOutputTokens\":8,\"candidateCount\":2}}",
         false, 8, 2, 4},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct ask a;
        const char *why = "";
        ask_init(&a);
        assert_int_equal(parse(rows[i].voice, rows[i].body, &a, &why), 0);
        assert_row(rows[i].body, a.is_stream == rows[i].is_stream);
        assert_row(rows[i].body, a.max_tokens == rows[i].max_tokens);
        assert_row(rows[i].body, a.n_choices == rows[i].n_choices);
        assert_row(rows[i].body, a.prompt_bytes == rows[i].prompt_bytes);
        assert_row(rows[i].body, !a.has_stream_options);
    }
}

/* What was known before the body stays where the body does not say. */
static void test_known_before(void **state)
{
    struct ask a;
    const char *why;
    (void)state;
    ask_init(&a);
    a.is_stream = true;
    memcpy(a.model, "from-path", sizeof("from-path"));
    assert_int_equal(parse(VOICE_OLLAMA_CHAT, "{\"messages\":[]}", &a, &why), 0);
    assert_true(a.is_stream);
    assert_string_equal(a.model, "from-path");
    assert_int_equal(parse(VOICE_OLLAMA_CHAT, "{\"messages\":[],\"stream\":false}", &a, &why), 0);
    assert_false(a.is_stream);
}

static void test_defaults_and_other_types(void **state)
{
    static const char *const bodies[] = {
        "{\"prompt\":\"x\"}",
        "{\"prompt\":\"x\",\"stream\":null,\"n\":0,\"stream_options\":null}",
        "{\"prompt\":\"x\",\"stream\":{\"stream\":true},\"max_tokens\":[5]}",
        "{\"prompt\":\"x\",\"model\":{\"model\":\"a\"},\"max_tokens\":null}",
        "{\"prompt\":\"x\",\"max_tokens\":-4,\"stream_options\":[1]}",
        "{\"prompt\":\"x\",\"include_usage\":true,\"x\":{\"include_usage\":true}}",
    };
    (void)state;
    for (size_t i = 0; i < sizeof(bodies) / sizeof(bodies[0]); i++) {
        struct ask a;
        const char *why;
        ask_init(&a);
        assert_int_equal(parse(VOICE_COMPLETIONS, bodies[i], &a, &why), 0);
        assert_row(bodies[i], !a.is_stream && !a.has_stream_options && !a.has_include_usage);
        assert_row(bodies[i], a.max_tokens == -1 && a.n_choices == 1 && a.model[0] == '\0');
    }
}

static void test_refused(void **state)
{
    static const struct {
        enum voice_id voice;
        const char *body, *why;
    } rows[] = {
        {VOICE_CHAT, "", "not a JSON object"},
        {VOICE_CHAT, "[]", "not a JSON object"},
        {VOICE_CHAT, "{\"prompt\":\"x\"", "not valid"},
        {VOICE_CHAT, "{\"prompt\":\"x\"}}", "not valid"},
        {VOICE_CHAT, "{\"stream\":tru}", "not valid"},
        {VOICE_CHAT, "{\"stream\":true}", "\"messages\" is missing"},
        {VOICE_CHAT, "{}", "is missing"},
        {VOICE_COMPLETIONS, "{\"input\":\"x\"}", "\"prompt\" is missing"},
        {VOICE_RESPONSES, "{\"messages\":[]}", "\"input\" is missing"},
        {VOICE_MESSAGES, "{\"prompt\":\"x\"}", "\"messages\" is missing"},
        {VOICE_GEMINI_ARRAY, "{\"messages\":[]}", "\"contents\" is missing"},
        {VOICE_EMBEDDINGS, "{\"input\":[1,}", "not valid"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct ask a = {.max_tokens = 99};
        const char *why = "";
        assert_int_equal(parse(rows[i].voice, rows[i].body, &a, &why), -EINVAL);
        assert_row(rows[i].body, strstr(why, rows[i].why) != NULL);
        assert_int_equal(a.max_tokens, 99);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fields),       cmocka_unit_test(test_dialects),
        cmocka_unit_test(test_known_before), cmocka_unit_test(test_defaults_and_other_types),
        cmocka_unit_test(test_refused),
    };
    return cmocka_run_group_tests_name("sim/ask", tests, NULL, NULL);
}
