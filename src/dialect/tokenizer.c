/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dialect/tokenizer.c - see tokenizer.h.
 *
 * Why one after the other and not all members at once: vLLM logs a warning for each member that it
 * does not know, and older ones refuse the request.
 *
 * llama.cpp answers what it does not understand with an empty list, so tokens have to be there.
 */
#include "dialect/tokenizer.h"

#include "base/jsonw.h"
#include "wire/json.h"

const struct span tokenizer_target = SPAN_INIT("/tokenize");

static const char text[] =
    "The quick brown fox jumps over the lazy dog while 1,024 servers measure how long every "
    "single token takes. Numbers such as 3.14159 and words such as incomprehensibilities are cut "
    "into pieces; caf\xc3\xa9 and \xe4\xbd\xa0\xe5\xa5\xbd are, too. This sentence is always the "
    "same, so that its times can be compared.";

static const char *const members[TOKENIZER_FORM_COUNT_] = {
    [TOKENIZER_PROMPT] = "prompt",
    [TOKENIZER_MODEL] = "prompt",
    [TOKENIZER_CONTENT] = "content",
    [TOKENIZER_INPUTS] = "inputs",
};

enum tokenizer_form tokenizer_first(void)
{
    return TOKENIZER_PROMPT;
}

enum tokenizer_form tokenizer_next(enum tokenizer_form f, const char *model)
{
    int next = (int)f + 1;
    if (next == TOKENIZER_MODEL && model[0] == '\0')
        next++;
    return (enum tokenizer_form)next;
}

int tokenizer_body(enum tokenizer_form f, const char *model, struct buf *out)
{
    struct jsonw w;
    jsonw_init(&w, out);
    jsonw_begin_object(&w);
    if (f == TOKENIZER_MODEL) {
        jsonw_put_cstr(&w, "model", model);
    }
    jsonw_put_cstr(&w, members[f], text);
    jsonw_end_object(&w);
    return jsonw_error(&w);
}

/* An array that was entered; whether it has an item. */
static bool has_item(struct json *j)
{
    bool has_any = json_item(j);
    if (has_any) { /* the status is sticky */
        (void)json_skip(j);
        (void)json_leave(j);
    }
    return has_any;
}

/* {"tokens":[...]}, or with TGI the list itself. */
static bool has_tokens(enum tokenizer_form f, struct span body)
{
    struct json j;
    struct json_value v;
    struct span key;
    bool is_there = false;

    json_init(&j, body);
    if (!json_next(&j, &v))
        return false;
    if (v.type == JSON_ARRAY && f == TOKENIZER_INPUTS) {
        is_there = has_item(&j);
    } else if (v.type == JSON_OBJECT) {
        while (json_key(&j, &key)) {
            if (!span_eq(key, SPAN("tokens")))
                (void)json_skip(&j); /* likewise */
            else if (json_next(&j, &v) && v.type == JSON_ARRAY)
                is_there = has_item(&j);
        }
    }
    return is_there && json_is_done(&j);
}

static const struct {
    int status;
    enum tokenizer_verdict verdict;
} statuses[] = {
    {400, TOKENIZER_OTHER_FORM}, {408, TOKENIZER_LATER}, {415, TOKENIZER_OTHER_FORM},
    {422, TOKENIZER_OTHER_FORM}, {425, TOKENIZER_LATER}, {429, TOKENIZER_LATER},
    {501, TOKENIZER_NONE},
};

enum tokenizer_verdict tokenizer_judge(enum tokenizer_form f, int status, struct span body)
{
    if (status == 200)
        return has_tokens(f, body) ? TOKENIZER_IS : TOKENIZER_OTHER_FORM;
    for (size_t i = 0; i < ARRAY_LEN(statuses); i++)
        if (statuses[i].status == status)
            return statuses[i].verdict;
    /* With a path that is there, a model of that name is not. */
    if (status == 404 && f == TOKENIZER_MODEL)
        return TOKENIZER_OTHER_FORM;
    return status >= 500 ? TOKENIZER_LATER : TOKENIZER_NONE;
}
