/* SPDX-License-Identifier: Apache-2.0 */
/* dialect/tokenizer: what engines want to be asked, and what their answers mean. */
#include "dialect/tokenizer.h"

#include <errno.h>

#include "guard.h"
#include "harness.h"
#include "memfail.h"
#include "wire/json.h"

static void forms_follow_each_other(void **state)
{
    (void)state;
    enum tokenizer_form f = tokenizer_first();
    assert_int_equal(f, TOKENIZER_PROMPT);
    assert_int_equal(tokenizer_next(f, "m"), TOKENIZER_MODEL);
    assert_int_equal(tokenizer_next(f, ""), TOKENIZER_CONTENT);
    assert_int_equal(tokenizer_next(TOKENIZER_MODEL, "m"), TOKENIZER_CONTENT);
    assert_int_equal(tokenizer_next(TOKENIZER_CONTENT, ""), TOKENIZER_INPUTS);
    assert_int_equal(tokenizer_next(TOKENIZER_INPUTS, "m"), TOKENIZER_FORM_COUNT_);
}

/* The members of the object, in one line. */
static void members_of(struct span body, char *dst)
{
    struct json j;
    struct json_value v;
    struct span key;
    json_init(&j, body);
    assert_true(json_next(&j, &v) && v.type == JSON_OBJECT);
    dst[0] = '\0';
    while (json_key(&j, &key)) {
        assert_true(json_next(&j, &v) && v.type == JSON_STRING && v.raw.n > 0);
        (void)strncat(dst, key.p, key.n);
        (void)strcat(dst, ",");
    }
    assert_true(json_is_done(&j));
}

static void bodies_have_what_each_engine_wants(void **state)
{
    (void)state;
    static const char *const want[TOKENIZER_FORM_COUNT_] = {
        [TOKENIZER_PROMPT] = "prompt,",
        [TOKENIZER_MODEL] = "model,prompt,",
        [TOKENIZER_CONTENT] = "content,",
        [TOKENIZER_INPUTS] = "inputs,",
    };
    size_t n = 0;
    for (int f = 0; f < TOKENIZER_FORM_COUNT_; f++) {
        char members[64];
        struct buf b;
        buf_init(&b, 4096);
        assert_int_equal(tokenizer_body((enum tokenizer_form)f, "a \"b\"", &b), 0);
        members_of(buf_span(&b), members);
        assert_string_equal(members, want[f]);
        assert_true(buf_len(&b) < 1024);
        if (f == TOKENIZER_PROMPT)
            n = buf_len(&b);
        buf_done(&b);
    }
    struct buf small;
    buf_init(&small, n / 2);
    assert_int_equal(tokenizer_body(TOKENIZER_PROMPT, "", &small), -EMSGSIZE);
    buf_done(&small);
}

static void answers_are_judged(void **state)
{
    (void)state;
#define VLLM "{\"count\":2,\"max_model_len\":4096,\"tokens\":[1,{\"a\":[]}],\"token_strs\":null}"
#define TGI  "[{\"id\":1,\"text\":\"a\",\"start\":0,\"stop\":1}]"
    static const struct {
        enum tokenizer_form form;
        int status;
        const char *body;
        enum tokenizer_verdict want;
    } rows[] = {
        {TOKENIZER_PROMPT, 200, VLLM, TOKENIZER_IS},
        {TOKENIZER_MODEL, 200, VLLM, TOKENIZER_IS},
        {TOKENIZER_CONTENT, 200, "{\"tokens\":[5]}", TOKENIZER_IS},
        {TOKENIZER_CONTENT, 200, "{\"tokens\":[{\"id\":5,\"piece\":\"a\"}]}", TOKENIZER_IS},
        {TOKENIZER_INPUTS, 200, TGI, TOKENIZER_IS},
        {TOKENIZER_PROMPT, 200, "{\"tokens\":[]}", TOKENIZER_OTHER_FORM}, /* llama.cpp */
        {TOKENIZER_PROMPT, 200, TGI, TOKENIZER_OTHER_FORM},
        {TOKENIZER_INPUTS, 200, "[]", TOKENIZER_OTHER_FORM},
        {TOKENIZER_PROMPT, 200, "<html>", TOKENIZER_OTHER_FORM},
        {TOKENIZER_PROMPT, 200, "", TOKENIZER_OTHER_FORM},
        {TOKENIZER_PROMPT, 200, "{\"tokens\":3}", TOKENIZER_OTHER_FORM},
        {TOKENIZER_PROMPT, 200, "{\"tokens\":[1]} x", TOKENIZER_OTHER_FORM},
        {TOKENIZER_PROMPT, 200, "{\"tokens\":[1,", TOKENIZER_OTHER_FORM},
        {TOKENIZER_PROMPT, 400, "", TOKENIZER_OTHER_FORM},
        {TOKENIZER_PROMPT, 422, "", TOKENIZER_OTHER_FORM},
        {TOKENIZER_PROMPT, 404, "", TOKENIZER_NONE},
        {TOKENIZER_MODEL, 404, "", TOKENIZER_OTHER_FORM}, /* no such model */
        {TOKENIZER_PROMPT, 405, "", TOKENIZER_NONE},
        {TOKENIZER_PROMPT, 401, "", TOKENIZER_NONE},
        {TOKENIZER_PROMPT, 307, "", TOKENIZER_NONE},
        {TOKENIZER_PROMPT, 501, "", TOKENIZER_NONE},
        {TOKENIZER_PROMPT, 429, "", TOKENIZER_LATER},
        {TOKENIZER_PROMPT, 500, "", TOKENIZER_LATER},
        {TOKENIZER_PROMPT, 503, "", TOKENIZER_LATER},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        enum tokenizer_verdict got =
            tokenizer_judge(rows[i].form, rows[i].status, span_cstr(rows[i].body));
        if (got != rows[i].want)
            fail_msg("row %zu: %d, not %d", i, got, rows[i].want);
    }
}

/* Cut anywhere it is no answer, and nothing behind it is read. */
static void every_prefix(void **state)
{
    (void)state;
    static const struct {
        enum tokenizer_form form;
        struct span body;
    } rows[] = {{TOKENIZER_PROMPT, SPAN_INIT(VLLM)}, {TOKENIZER_INPUTS, SPAN_INIT(TGI)}};
    struct guard g;
    guard_init(&g, 4096);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        for (size_t n = 0; n <= rows[i].body.n; n++) {
            struct span part = guard_copy(&g, span_of(rows[i].body.p, n));
            assert_int_equal(tokenizer_judge(rows[i].form, 200, part),
                             n == rows[i].body.n ? TOKENIZER_IS : TOKENIZER_OTHER_FORM);
        }
    }
    guard_done(&g);
}

static int try_body(void *ctx)
{
    struct buf b;
    (void)ctx;
    buf_init(&b, 4096);
    int r = tokenizer_body(TOKENIZER_MODEL, "m", &b);
    buf_done(&b);
    return r;
}

static void without_memory(void **state)
{
    (void)state;
    assert_true(memfail_each(try_body, NULL) > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(forms_follow_each_other),
        cmocka_unit_test(bodies_have_what_each_engine_wants),
        cmocka_unit_test(answers_are_judged),
        cmocka_unit_test(every_prefix),
        cmocka_unit_test(without_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
