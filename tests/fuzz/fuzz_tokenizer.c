/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dialect/tokenizer: answers to /tokenize. Only a 200 with JSON in it has tokens, one form's answer
 * is none of the other's, and the same bytes are judged the same way again.
 */
#include "pieces.h"

#include "dialect/tokenizer.h"
#include "wire/json.h"

static bool is_json(struct span body)
{
    struct json j;
    json_init(&j, body);
    return json_skip(&j) && json_is_done(&j);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const int statuses[] = {200, 204, 307, 400, 404, 405, 422, 429, 500, 501, 503};
    struct span body;
    uint8_t choice = pieces_choice(data, size, &body);
    int status = statuses[choice % ARRAY_LEN(statuses)];
    bool is_object = false, is_list = false;
    for (int f = 0; f < TOKENIZER_FORM_COUNT_; f++) {
        enum tokenizer_form form = (enum tokenizer_form)f;
        enum tokenizer_verdict v = tokenizer_judge(form, status, body);
        FUZZ_CHECK(v == tokenizer_judge(form, status, body));
        FUZZ_CHECK(v != TOKENIZER_IS || (status == 200 && is_json(body)));
        if (tokenizer_judge(form, 200, body) != TOKENIZER_IS)
            continue;
        is_object = is_object || form != TOKENIZER_INPUTS;
        is_list = is_list || form == TOKENIZER_INPUTS;
    }
    /* What a prompt's answer is, an input's is, too; a list is an input's alone. */
    FUZZ_CHECK(!is_object || is_list);
    return 0;
}
