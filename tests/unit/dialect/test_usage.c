/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dialect/usage: usage as reported in all its places, and its normalised form.
 */
#include "harness.h"

#include <stdio.h>

#include "base/attr.h"
#include "dialect/openai_common.h"

#define NO USAGE_UNTOLD

static struct usage usage_of(const char *usage)
{
    struct dialect_answer a;
    struct token_event e;
    char data[1024];
    dialect_answer_init(&a);
    (void)snprintf(data, sizeof(data), "{\"choices\":[],\"usage\":%s}", usage);
    dialect_openai_chat.event(&a, SPAN(""), span_cstr(data), &e);
    assert_int_equal(a.n_bad_json, 0);
    return a.usage;
}

static void vendors_names(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int64_t prompt, completion, cached, cache_write, reasoning;
    } rows[] = {
        {"{\"prompt_tokens\":7,\"completion_tokens\":9,\"total_tokens\":16}", 7, 9, NO, NO, NO},
        {"{\"prompt_tokens\":7,\"prompt_tokens_details\":{\"cached_tokens\":4}}", 7, NO, 4, NO, NO},
        {"{\"prompt_tokens_details\":{\"cached_tokens\":4,\"cache_write_tokens\":2}}", NO, NO, 4, 2,
         NO},
        {"{\"prompt_tokens_details\":{\"cache_creation_tokens\":3}}", NO, NO, NO, 3, NO},
        {"{\"input_tokens_details\":{\"cache_creation_tokens\":3}}", NO, NO, NO, 3, NO},
        {"{\"prompt_cache_hit_tokens\":5,\"prompt_cache_miss_tokens\":2}", NO, NO, 5, NO, NO},
        {"{\"cached_tokens\":6}", NO, NO, 6, NO, NO},
        {"{\"cache_read_input_tokens\":8}", NO, NO, 8, NO, NO},
        {"{\"prompt_tokens_details\":{\"cached_tokens\":0},\"prompt_cache_hit_tokens\":5}", NO, NO,
         0, NO, NO},
        {"{\"completion_tokens_details\":{\"reasoning_tokens\":11}}", NO, NO, NO, NO, 11},
        {"{\"reasoning_tokens\":12}", NO, NO, NO, NO, 12},
        {"{\"prompt_tokens\":null,\"completion_tokens\":\"9\",\"prompt_tokens_details\":null}", NO,
         NO, NO, NO, NO},
        {"{\"prompt_tokens\":{\"a\":[1]},\"completion_tokens\":3.0}", NO, 3, NO, NO, NO},
        {"{\"prompt_tokens\":-1,\"cached_tokens\":-1}", -1, NO, -1, NO, NO},
        {"{}", NO, NO, NO, NO, NO},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct usage u = usage_of(rows[i].text);
        assert_row(rows[i].text, u.prompt == rows[i].prompt);
        assert_row(rows[i].text, u.completion == rows[i].completion);
        assert_row(rows[i].text, u.cached == rows[i].cached);
        assert_row(rows[i].text, u.cache_write == rows[i].cache_write);
        assert_row(rows[i].text, u.reasoning == rows[i].reasoning);
    }
}

/* The same usage in several places of one chunk counts once: top level, then choices, then x_groq.
 */
static void places_do_not_add_up(void **state)
{
    (void)state;
    struct dialect_answer a;
    struct token_event e;
    dialect_answer_init(&a);
    dialect_openai_chat.event(
        &a, SPAN(""),
        SPAN("{\"x_groq\":{\"usage\":{\"prompt_tokens\":1}},\"usage\":{"
             "\"prompt_tokens\":3},\"choices\":[{\"usage\":{\"prompt_tokens\":"
             "2}}]}"),
        &e);
    assert_int_equal(a.usage.prompt, 3);
    dialect_openai_chat.event(&a, SPAN(""),
                              SPAN("{\"x_groq\":{\"usage\":{\"prompt_tokens\":1}},\"choices\":[{"
                                   "\"usage\":{\"prompt_tokens\":2}}]}"),
                              &e);
    assert_int_equal(a.usage.prompt, 2);
    dialect_openai_chat.event(&a, SPAN(""), SPAN("{\"x_groq\":{\"usage\":{\"prompt_tokens\":1}}}"),
                              &e);
    assert_int_equal(a.usage.prompt, 1);
    assert_true(e.has_usage);
}

/* Cumulative usage in every chunk: the last value per field, never a sum (C33, C35). */
static void last_value_wins_per_field(void **state)
{
    (void)state;
    struct dialect_answer a;
    struct token_event e;
    dialect_answer_init(&a);
    dialect_openai_chat.event(
        &a, SPAN(""), SPAN("{\"usage\":{\"prompt_tokens\":10,\"completion_tokens\":1}}"), &e);
    dialect_openai_chat.event(&a, SPAN(""), SPAN("{\"usage\":{\"completion_tokens\":2}}"), &e);
    dialect_openai_chat.event(&a, SPAN(""), SPAN("{\"usage\":null}"), &e);
    assert_false(e.has_usage);
    assert_int_equal(a.usage.prompt, 10);
    assert_int_equal(a.usage.completion, 2);
}

static void normalised(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        struct usage raw;
        struct dialect_tokens want;
        bool is_anomalous;
    } rows[] = {
        {"plain", {10, 20, NO, NO, NO, 30, NO}, {10, 20, -1, -1, -1}, false},
        {"nothing", {NO, NO, NO, NO, NO, NO, NO}, {-1, -1, -1, -1, -1}, false},
        {"all parts", {10, 20, 4, 2, 5, 30, NO}, {10, 20, 4, 2, 5}, false},
        {"negative cached", {10, 20, -1, NO, NO, NO, NO}, {10, 20, -1, -1, -1}, true},
        {"negative prompt", {-5, 20, 0, NO, NO, NO, NO}, {-1, 20, 0, -1, -1}, true},
        {"cached above prompt", {377, 69, 515, NO, 0, NO, NO}, {377, 69, -1, -1, 0}, true},
        {"cached without prompt", {NO, 69, 515, NO, NO, NO, NO}, {-1, 69, 515, -1, -1}, false},
        {"writes above the rest", {10, 1, 8, 3, NO, NO, NO}, {10, 1, 8, -1, -1}, true},
        {"reasoning beside, told by total",
         {165, 2, 164, NO, 129, 296, NO},
         {165, 131, 164, -1, 129},
         false},
        {"reasoning beside and smaller", {10, 50, NO, NO, 20, 80, NO}, {10, 70, -1, -1, 20}, false},
        {"reasoning above completion, no total",
         {10, 9, NO, NO, 61, NO, NO},
         {10, 70, -1, -1, 61},
         false},
        {"reasoning above, total says no", {28, 9, 0, NO, 61, 37, NO}, {28, 70, 0, -1, 61}, true},
        {"reasoning within", {10, 50, NO, NO, 50, 60, NO}, {10, 50, -1, -1, 50}, false},
        {"too large",
         {INT64_MAX, INT64_MAX, INT64_MAX, INT64_MAX, INT64_MAX, NO, NO},
         {-1, -1, -1, -1, -1},
         true},
        {"as large as can be",
         {USAGE_MAX, USAGE_MAX, NO, NO, NO, NO, NO},
         {USAGE_MAX, USAGE_MAX, -1, -1, -1},
         false},
        {"one more", {10, USAGE_MAX + 1, NO, NO, NO, NO, NO}, {10, -1, -1, -1, -1}, true},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        bool is_anomalous = !rows[i].is_anomalous;
        struct dialect_tokens t =
            dialect_normalise(&dialect_openai_chat, &rows[i].raw, &is_anomalous);
        assert_row(rows[i].name, t.prompt == rows[i].want.prompt);
        assert_row(rows[i].name, t.completion == rows[i].want.completion);
        assert_row(rows[i].name, t.cached == rows[i].want.cached);
        assert_row(rows[i].name, t.cache_write == rows[i].want.cache_write);
        assert_row(rows[i].name, t.reasoning == rows[i].want.reasoning);
        assert_row(rows[i].name, is_anomalous == rows[i].is_anomalous);
    }
    bool is_anomalous = false;
    struct usage huge = {1, INT64_MAX - 1, NO, NO, INT64_MAX, NO, NO};
    struct dialect_tokens t = dialect_normalise(&dialect_openai_chat, &huge, &is_anomalous);
    assert_int_equal(t.completion, -1);
    assert_true(is_anomalous);
}

static void is_set_by_either_count(void **state)
{
    (void)state;
    assert_false(usage_is_set(&USAGE_NONE));
    assert_true(usage_is_set(&(struct usage){0, NO, NO, NO, NO, NO, NO}));
    assert_true(usage_is_set(&(struct usage){NO, 1, NO, NO, NO, NO, NO}));
    assert_false(usage_is_set(&(struct usage){-1, NO, NO, NO, NO, NO, NO}));
    assert_false(usage_is_set(&(struct usage){INT64_MAX, INT64_MAX, NO, NO, NO, NO, NO}));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(vendors_names),
        cmocka_unit_test(places_do_not_add_up),
        cmocka_unit_test(last_value_wins_per_field),
        cmocka_unit_test(normalised),
        cmocka_unit_test(is_set_by_either_count),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
