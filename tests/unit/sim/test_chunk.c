/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/chunk.h"

#include <string.h>

#include "base/mem.h"
#include "harness.h"
#include "sim/words.h"
#include "wire/json.h"

static struct chunk_style style(bool is_chat)
{
    struct chunk_style s;

    chunk_style_init(&s, is_chat, SPAN("0123456789abcdef01234567"), 1700000000, SPAN("m\\u0041"));
    return s;
}

/* The whole event; static. */
static struct span joined(const struct chunk *c)
{
    static char text[4096];
    size_t n = 0;

    for (int i = 0; i < c->n; i++) {
        assert_true(n + c->parts[i].n < sizeof(text));
        memcpy(text + n, c->parts[i].p, c->parts[i].n);
        n += c->parts[i].n;
    }
    return span_of(text, n);
}

static void assert_event(const struct chunk *c, const char *end, const char *holds)
{
    struct span all = joined(c);
    struct span json = all;
    struct json j;

    assert_true(c->n <= CHUNK_PARTS_MAX);
    assert_true(span_starts_with(all, SPAN("data: {")));
    assert_true(all.n > strlen(end));
    assert_span_equal("end", span_from(all, all.n - strlen(end)), span_cstr(end));
    assert_row(holds, span_find(all, span_cstr(holds)) < all.n);
    json = span_of(all.p + 6, all.n - 6 - strlen(end));
    json_init(&j, json);
    assert_row(holds, json_skip(&j) && json_is_done(&j));
}

static void test_shapes(void **state)
{
    struct chunk_style chat = style(true), text = style(false);
    struct chunk_usage usage = {.prompt = 9, .cached = 4, .completion = 3, .reasoning = 1};
    struct chunk c;
    (void)state;
    chunk_role(&c, &chat, 0);
    assert_event(&c, "\n\n", "\"delta\":{\"role\":\"assistant\",\"content\":\"\"");
    chunk_text(&c, &chat, 7, CHUNK_CONTENT, SPAN(" hi"), NULL);
    assert_event(&c, "\n\n", "{\"index\":7,\"delta\":{\"content\":\" hi\"}");
    chunk_text(&c, &chat, 0, CHUNK_REASONING, SPAN(" hi"), NULL);
    assert_event(&c, "\n\n", "\"delta\":{\"reasoning_content\":\" hi\"}");
    chunk_text(&c, &chat, 0, CHUNK_REFUSAL, SPAN(" hi"), &usage);
    assert_event(&c, "\n\n", "\"completion_tokens\":3,\"total_tokens\":12");
    chunk_text(&c, &text, 0, CHUNK_CONTENT, SPAN(" hi"), &usage);
    assert_event(&c, "\n\n", "{\"index\":0,\"text\":\" hi\",");
    chunk_tool_name(&c, &chat, 0, NULL);
    assert_event(&c, "\n\n", "\"name\":\"lookup\"");
    chunk_tool_args(&c, &chat, 0, SPAN(" hi"), true, true, NULL);
    assert_event(&c, "\n\n", "\"arguments\":\"{\\\"query\\\":\\\" hi\\\"}\"");
    chunk_tool_args(&c, &chat, 0, SPAN(" hi"), false, false, &usage);
    assert_event(&c, "\n\n", "\"arguments\":\" hi\"");
    chunk_finish(&c, &chat, 1, "length");
    assert_event(&c, "\n\n",
                 "\"index\":1,\"delta\":{},\"logprobs\":null,\"finish_reason\":\"length\"");
    chunk_finish(&c, &text, 0, "stop");
    assert_event(&c, "\n\n", "\"text\":\"\",\"logprobs\":null,\"finish_reason\":\"stop\"");
    chunk_bare_usage(&c, &chat, &usage);
    assert_event(&c, "\n\n", "\"choices\":[],\"usage\":{\"prompt_tokens\":9,");
    chunk_error(&c, &chat);
    assert_event(&c, "\n\n", "\"error\":{");
}

static void test_line_ends_and_null_usage(void **state)
{
    struct chunk_style s = style(true);
    struct chunk_usage usage = {0};
    struct chunk c;
    (void)state;
    s.has_null_usage = true;
    chunk_text(&c, &s, 0, CHUNK_CONTENT, SPAN("x"), NULL);
    assert_event(&c, "\n\n", "\"usage\":null}");
    s.is_crlf = true;
    chunk_text(&c, &s, 0, CHUNK_CONTENT, SPAN("x"), NULL);
    assert_event(&c, "\r\n\r\n", "\"usage\":null}");
    chunk_text(&c, &s, 0, CHUNK_CONTENT, SPAN("x"), &usage);
    assert_event(&c, "\r\n\r\n", "\"usage\":{");
    s.has_null_usage = false;
    chunk_role(&c, &s, 0);
    assert_event(&c, "\r\n\r\n", "}]}");
    chunk_done(&c, &s);
    assert_span_equal("done", joined(&c), SPAN("data: [DONE]\r\n\r\n"));
    chunk_comment(&c, &s);
    assert_span_equal("comment", joined(&c), SPAN(": keep-alive\r\n\r\n"));
}

static void test_extremes_fit(void **state)
{
    struct chunk_usage most = {INT64_MAX / 2, INT64_MAX, INT64_MAX / 2, INT64_MAX};
    char model[200];
    struct chunk_style s;
    struct chunk c;
    (void)state;
    memset(model, 'm', sizeof(model));
    chunk_style_init(&s, true, SPAN("0123456789012345678901234567890123456789"), INT64_MAX,
                     span_of(model, sizeof(model)));
    assert_true(s.n_prefix > 0);
    chunk_text(&c, &s, 7, CHUNK_REASONING, SPAN("x"), &most);
    assert_event(&c, "\n\n", "\"usage\":{");
    assert_true(c._n_scratch <= CHUNK_SCRATCH_MAX);
}

/* What the bench back end does per token must not allocate. */
static void test_no_allocation(void **state)
{
    struct chunk_style s = style(true);
    struct words *w = mem_alloc(sizeof(*w));
    uint64_t before;
    struct chunk c;
    (void)state;
    assert_non_null(w);
    words_init(w);
    before = mem_count_total().n_allocs;
    for (int64_t i = 0; i < 5000; i++) {
        struct span text = words_get(w, i, 1 + i % 64);
        assert_true(text.n > 0 && text.p[0] == ' ');
        chunk_text(&c, &s, 0, CHUNK_CONTENT, text, NULL);
    }
    assert_int_equal(mem_count_total().n_allocs, before);
    assert_true(words_get(w, 12345, WORDS_MAX + 1).n > WORDS_MAX);
    mem_free(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_shapes),
        cmocka_unit_test(test_line_ends_and_null_usage),
        cmocka_unit_test(test_extremes_fit),
        cmocka_unit_test(test_no_allocation),
    };
    return cmocka_run_group_tests_name("sim/chunk", tests, NULL, NULL);
}
