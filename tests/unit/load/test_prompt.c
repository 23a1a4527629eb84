/* SPDX-License-Identifier: Apache-2.0 */
#include "load/prompt.h"

#include <errno.h>
#include <string.h>

#include "harness.h"
#include "memfail.h"
#include "wire/json.h"

static size_t joined(struct prompt *p, const struct prompt_ask *ask, char *dst, size_t cap)
{
    struct span parts[PROMPT_PARTS];
    size_t n = 0;

    prompt_body(p, ask, parts);
    for (int i = 0; i < PROMPT_PARTS; i++) {
        assert_true(n + parts[i].n <= cap);
        memcpy(dst + n, parts[i].p, parts[i].n);
        n += parts[i].n;
    }
    return n;
}

static void test_bodies(void **state)
{
    static const struct {
        bool is_chat;
        struct prompt_ask ask;
        const char *holds, *lacks;
    } rows[] = {
        {true,
         {1, 10, 5, true, true},
         "\"stream\":true,\"stream_options\":{\"include_usage\":true}",
         "\"prompt\""},
        {true, {1, 10, 5, true, false}, "\"max_tokens\":5,\"stream\":true}", "stream_options"},
        {true, {1, 10, -1, false, true}, "\"}],\"stream\":false}", "max_tokens"},
        {false, {1, 10, 5, false, true}, "\"prompt\":\"", "messages"},
        {true, {UINT64_MAX, 1000, 5, true, true}, "\"role\":\"user\"", "\"prompt\""},
        {true, {0, 0, 5, true, true}, "\"content\":\"\"", "\"prompt\""},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char text[8192];
        struct prompt p;
        struct json j;
        struct span all;
        assert_int_equal(prompt_init(&p, rows[i].is_chat, "a \"model\"", 1000, 1), 0);
        all = span_of(text, joined(&p, &rows[i].ask, text, sizeof(text)));
        json_init(&j, all);
        assert_row(rows[i].holds, json_skip(&j) && json_is_done(&j));
        assert_row(rows[i].holds, span_find(all, span_cstr(rows[i].holds)) < all.n);
        assert_row(rows[i].lacks, span_find(all, span_cstr(rows[i].lacks)) == all.n);
        assert_true(span_starts_with(all, SPAN("{\"model\":\"a \\\"model\\\"\",")));
        prompt_done(&p);
    }
}

static void test_sizes_and_variety(void **state)
{
    struct prompt p;
    struct span a[PROMPT_PARTS], b[PROMPT_PARTS];
    struct prompt_ask ask = {.prompt_tokens = 500, .max_tokens = 1};
    (void)state;
    assert_int_equal(prompt_init(&p, true, "m", 500, 1), 0);
    prompt_body(&p, &ask, a);
    assert_int_equal(a[1].n, 2000);
    ask.number = 1;
    prompt_body(&p, &ask, b);
    assert_int_equal(b[1].n, 2000);
    assert_memory_not_equal(a[1].p, b[1].p, 64);
    ask.number = 0;
    prompt_body(&p, &ask, b);
    assert_memory_equal(a[1].p, b[1].p, 2000);
    prompt_done(&p);
}

static int attempt(void *ctx)
{
    struct prompt p;
    int r = prompt_init(&p, true, "m", 10, 1);
    (void)ctx;
    if (r == 0)
        prompt_done(&p);
    return r;
}

static void test_no_memory(void **state)
{
    (void)state;
    assert_true(memfail_each(attempt, NULL) >= 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bodies),
        cmocka_unit_test(test_sizes_and_variety),
        cmocka_unit_test(test_no_memory),
    };
    return cmocka_run_group_tests_name("load/prompt", tests, NULL, NULL);
}
