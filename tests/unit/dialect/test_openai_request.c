/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dialect/openai_request: inspection of whole and cut windows, the include_usage edit, refusals.
 */
#include "harness.h"

#include <stdio.h>
#include <string.h>

#include "base/attr.h"
#include "base/limits.h"
#include "dialect/openai_common.h"
#include "guard.h"

static struct dialect_request inspect(const char *body)
{
    struct dialect_request r;
    dialect_openai_chat.inspect((struct span){0}, span_cstr(body), true, &r);
    return r;
}

static void reads_what_is_asked(void **state)
{
    (void)state;
    struct dialect_request r =
        inspect("{\"model\":\"gpt-4o\",\"messages\":[{\"role\":\"user\",\"content\":\"hi\"}],"
                "\"stream\":true,\"n\":3,\"max_tokens\":50,\"max_completion_tokens\":60,"
                "\"stream_options\":{\"include_usage\":true}}");
    assert_true(r.is_json && r.is_complete && r.is_stream && r.has_include_usage);
    assert_false(r.is_duplicate_model);
    assert_string_equal(r.model, "gpt-4o");
    assert_int_equal(r.n, 3);
    assert_int_equal(r.max_tokens, 60);
    assert_int_equal(r.prompt_bytes, strlen("[{\"role\":\"user\",\"content\":\"hi\"}]"));

    r = inspect("{}");
    assert_true(r.is_json);
    assert_false(r.is_stream || r.has_include_usage);
    assert_string_equal(r.model, "");
    assert_int_equal(r.n, 1);
    assert_int_equal(r.max_tokens, -1);
}

static void metadata_is_noticed_where_it_stands(void **state)
{
    (void)state;
    static const struct {
        const char *body, *want;
    } rows[] = {
        {"{\"metadata\":{\"a\":\"b\"},\"model\":\"m\"}", "{\"a\":\"b\"}"},
        {"{\"model\":\"m\",\"metadata\":[1,{\"a\":2}]}", "[1,{\"a\":2}]"},
        {"{\"metadata\":{},\"metadata\":\"x\"}", "\"x\""}, /* the last one counts */
        {"{\"metad\\u0061ta\":null}", "null"},
        {"{\"messages\":[{\"metadata\":{}}]}", ""},
        {"{\"metadata\":{\"a\":\"b", ""}, /* cut */
        {"{\"metadata\":{}", "{}"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        assert_span_equal(rows[i].body, span_trim(inspect(rows[i].body).metadata),
                          span_cstr(rows[i].want));
}

static void the_last_of_two_keys_counts(void **state)
{
    (void)state;
    assert_true(inspect("{\"stream\":false,\"stream\":true}").is_stream);
    assert_false(inspect("{\"stream\":true,\"stream\":false}").is_stream);
    assert_false(inspect("{\"stream\":true,\"stream\":null}").is_stream);
    struct dialect_request r = inspect("{\"model\":\"a\",\"model\":\"b\"}");
    assert_true(r.is_duplicate_model);
    assert_string_equal(r.model, "b");
    r = inspect("{\"mod\\u0065l\":\"a\\u0062\"}");
    assert_true(r.is_duplicate_model);
    assert_string_equal(r.model, "ab");
    assert_true(inspect("{\"str\\u0065am\":true}").is_stream);
    assert_false(inspect("{\"stream_options\":{\"include_usage\":true},\"stream_options\":{}}")
                     .has_include_usage);
    assert_true(inspect("{\"stream_options\":{\"include_usage\":false,\"include_usage\":true}}")
                    .has_include_usage);
}

static void values_of_other_types_are_nothing(void **state)
{
    (void)state;
    struct dialect_request r = inspect(
        "{\"model\":5,\"stream\":\"true\",\"n\":-2,\"max_tokens\":\"9\",\"stream_options\":[{"
        "\"include_usage\":true}],\"messages\":{\"stream\":true}}");
    assert_true(r.is_json);
    assert_false(r.is_stream || r.has_include_usage);
    assert_string_equal(r.model, "");
    assert_int_equal(r.n, 1);
    assert_int_equal(r.max_tokens, -1);
}

static void what_is_no_json_object(void **state)
{
    (void)state;
    static const char *const rows[] = {
        "",      "[]",       "\"x\"",      "{",          "{\"stream\":true",
        "{} {}", "nonsense", "{\"a\":01}", "{\"a\":1,}", "--boundary\r\nContent-Disposition: x",
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct dialect_request r = inspect(rows[i]);
        struct dialect_edit e;
        assert_row(rows[i], !r.is_json);
        assert_row(rows[i], !dialect_openai_chat.add_include_usage(span_cstr(rows[i]), &r, &e));
    }
}

/* A window that is cut anywhere keeps what was before the cut, and reads nothing behind it. */
static void cut_windows_keep_what_is_known(void **state)
{
    (void)state;
    const char *body =
        "{\"model\":\"m\\u00e9\",\"stream\":true,\"stream_options\":{\"include_usage\":"
        "true},\"messages\":[{\"content\":\"x\\n\"}],\"n\":12,\"temperature\":0.5}";
    struct guard guard;
    guard_init(&guard, strlen(body));
    for (size_t n = 0; n <= strlen(body); n++) {
        struct dialect_request r;
        struct dialect_edit e;
        struct span window = guard_copy(&guard, span_of(body, n));
        dialect_openai_chat.inspect((struct span){0}, window, false, &r);
        if (n == 0)
            continue;
        assert_true(r.is_json);
        assert_false(r.is_complete);
        assert_int_equal(r.is_stream, n > strlen("{\"model\":\"m\\u00e9\",\"stream\":tru"));
        assert_string_equal(r.model, n > strlen("{\"model\":\"m\\u00e9") ? "m\xc3\xa9" : "");
        assert_false(dialect_openai_chat.add_include_usage(window, &r, &e));
    }
    guard_done(&guard);
    struct dialect_request r;
    dialect_openai_chat.inspect((struct span){0}, SPAN("{\"messages\":[\"abc"), false, &r);
    assert_int_equal(r.prompt_bytes, 5);
}

static const char *apply(struct span body, const struct dialect_edit *e)
{
    static char text[4096];
    struct span rest = span_from(body, e->at + e->remove);
    assert_true(e->at + e->insert.n + rest.n < sizeof(text));
    memcpy(text, body.p, e->at);
    memcpy(text + e->at, e->insert.p, e->insert.n);
    memcpy(text + e->at + e->insert.n, rest.p, rest.n);
    text[e->at + e->insert.n + rest.n] = '\0';
    return text;
}

/* NULL: no edit. */
static const struct {
    const char *body;
    const char *want;
} edits[] = {
    {"{\"stream\":true}", "{\"stream_options\":{\"include_usage\":true},\"stream\":true}"},
    {" {\n  \"stream\" : true, \"x\":1 }\n",
     " {\"stream_options\":{\"include_usage\":true},\n  \"stream\" : true, \"x\":1 }\n"},
    {"{\"stream\":true,\"stream_options\":{}}",
     "{\"stream\":true,\"stream_options\":{\"include_usage\":true}}"},
    {"{\"stream\":true,\"stream_options\":{ }}",
     "{\"stream\":true,\"stream_options\":{\"include_usage\":true }}"},
    {"{\"stream\":true,\"stream_options\":{\"continuous_usage_stats\":true}}",
     "{\"stream\":true,\"stream_options\":{\"include_usage\":true,\"continuous_usage_stats\":true}"
     "}"},
    {"{\"stream_options\":{\"include_usage\":false,\"y\":[1]},\"stream\":true}",
     "{\"stream_options\":{\"include_usage\":true,\"y\":[1]},\"stream\":true}"},
    {"{\"stream_options\":{\"include_usage\":null},\"stream\":true}",
     "{\"stream_options\":{\"include_usage\":true},\"stream\":true}"},
    {"{\"stream_options\":{\"include_usage\":\"no\" },\"stream\":true}",
     "{\"stream_options\":{\"include_usage\":true },\"stream\":true}"},
    {"{\"stream_options\":{\"include_usage\":{\"a\":[]} },\"stream\":true}",
     "{\"stream_options\":{\"include_usage\":true },\"stream\":true}"},
    {"{\"stream_options\":{\"include_usage\":true,\"include_usage\": false},\"stream\":true}",
     "{\"stream_options\":{\"include_usage\":true,\"include_usage\": true},\"stream\":true}"},
    {"{\"stream\":true,\"stream_options\":null}",
     "{\"stream\":true,\"stream_options\":{\"include_usage\":true}}"},
    {"{\"stream\":true,\"stream\\u005foptions\":{\"a\":1}}",
     "{\"stream\":true,\"stream\\u005foptions\":{\"include_usage\":true,\"a\":1}}"},
    {"{\"stream_options\":{\"include_usage\":true},\"stream\":true,\"stream_options\":{\"a\":1}}",
     "{\"stream_options\":{\"include_usage\":true},\"stream\":true,\"stream_options\":{"
     "\"include_usage\":true,\"a\":1}}"},
    {"{\"messages\":[{\"stream_options\":{}}],\"stream\":true}",
     "{\"stream_options\":{\"include_usage\":true},\"messages\":[{\"stream_options\":{}}],"
     "\"stream\":"
     "true}"},
    {"{\"stream\":true,\"stream_options\":{\"include_usage\":true}}", NULL},
    {"{\"stream\":true,\"stream_options\":\"x\"}", NULL},
    {"{\"stream\":true,\"stream_options\":[]}", NULL},
    {"{\"stream\":false}", NULL},
    {"{\"stream\":false,\"stream_options\":{\"include_usage\":false}}", NULL},
    {"{}", NULL},
};

static void edits_touch_one_value(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(edits); i++) {
        struct span body = span_cstr(edits[i].body);
        struct dialect_request r = inspect(edits[i].body);
        struct dialect_edit e;
        bool is_edited = dialect_openai_chat.add_include_usage(body, &r, &e);
        assert_row(edits[i].body, is_edited == (edits[i].want != NULL));
        if (!is_edited)
            continue;
        const char *got = apply(body, &e);
        assert_span_equal(edits[i].body, span_cstr(got), span_cstr(edits[i].want));
        /* and then nothing more is wanted */
        r = inspect(got);
        assert_row(edits[i].body, r.has_include_usage && r.is_json);
        assert_row(edits[i].body, !dialect_openai_chat.add_include_usage(span_cstr(got), &r, &e));
    }
}

static void embeddings_never_stream(void **state)
{
    (void)state;
    struct dialect_request r;
    dialect_openai_embeddings.inspect(
        (struct span){0}, SPAN("{\"model\":\"e\",\"input\":[\"a\"],\"stream\":true}"), true, &r);
    assert_false(r.is_stream);
    assert_int_equal(r.prompt_bytes, 5);
    assert_null(dialect_openai_embeddings.add_include_usage);
}

static void refusals_have_the_form(void **state)
{
    (void)state;
    for (int i = 0; i < REFUSAL_COUNT_; i++) {
        struct buf b;
        buf_init(&b, 4096);
        assert_int_equal(openai_refusal_body((enum dialect_refusal)i, "say \"no\"", &b), 0);
        const char *text = buf_span(&b).p;
        const char *head = "{\"error\":{\"message\":\"say \\\"no\\\"\",\"type\":\"";
        assert_int_equal(strncmp(text, head, strlen(head)), 0);
        assert_true(span_find(buf_span(&b), SPAN(",\"param\":null,\"code\":\"")) < buf_len(&b));
        assert_true(dialect_refusal_status((enum dialect_refusal)i) >= 400);
        buf_done(&b);
    }
    assert_int_equal(dialect_refusal_status(REFUSAL_TOO_MANY), 429);
}

/* In every dialect whose body names the model. */
static void other_models_are_told(void **state)
{
    (void)state;
    static const struct {
        const char *body;
        bool is_duplicate;
        bool is_cut;
    } rows[] = {
        {"{\"model\":\"a\",\"x\":{\"model\":\"b\"},\"my_model\":1,\"mode\":2}", false, false},
        {"{\"model\":\"a\",\"model\":\"b\"}", true, false},
        {"{\"model\":\"b\",\"model\":\"b\"}", true, false},
        {"{\"\\u006dodel\":\"a\"}", true, false},
        {"{\"Model\":\"b\",\"model\":\"a\"}", true, false},
        {"{\"model\":\"a\",\"m\\u004fdel\":\"b\"}", true, false},
        {"{\"model\":\"a\",\"model\\u0000x\":\"b\"}", true, false},
        {"{\"model\":\"a\",\"models\":[\"b\"]}", true, false},
        {"{\"model\":\"a\",\"fallbacks\":[\"b\"]}", true, false},
        {"{\"model\":\"a\\u0000b\"}", false, true},
        {"{\"model\":\"a\\u0000b\",\"model\":\"a\"}", true, false},
    };
    const struct dialect *d;
    for (size_t k = 0; (d = dialect_at(k)) != NULL; k++) {
        if (strcmp(d->name, "gemini") == 0)
            continue;
        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
            struct dialect_request r;
            d->inspect(SPAN("/"), span_cstr(rows[i].body), true, &r);
            assert_row(rows[i].body, r.is_duplicate_model == rows[i].is_duplicate);
            assert_row(rows[i].body, r.is_model_cut == rows[i].is_cut);
        }
    }
}

static void a_long_name_is_cut(void **state)
{
    (void)state;
    char body[DIALECT_MODEL_MAX + 64];
    struct dialect_request r;
    for (int n = DIALECT_MODEL_MAX - 2; n <= DIALECT_MODEL_MAX + 8; n++) {
        (void)snprintf(body, sizeof(body), "{\"model\":\"%0*d\"}", n, 1);
        openai_inspect(SPAN("/"), span_cstr(body), true, &r);
        assert_int_equal(r.is_model_cut, n >= DIALECT_MODEL_MAX);
        assert_int_equal(strlen(r.model), n < DIALECT_MODEL_MAX ? n : DIALECT_MODEL_MAX - 1);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_what_is_asked),
        cmocka_unit_test(the_last_of_two_keys_counts),
        cmocka_unit_test(metadata_is_noticed_where_it_stands),
        cmocka_unit_test(values_of_other_types_are_nothing),
        cmocka_unit_test(what_is_no_json_object),
        cmocka_unit_test(cut_windows_keep_what_is_known),
        cmocka_unit_test(edits_touch_one_value),
        cmocka_unit_test(embeddings_never_stream),
        cmocka_unit_test(refusals_have_the_form),
        cmocka_unit_test(other_models_are_told),
        cmocka_unit_test(a_long_name_is_cut),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
