/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dialect/openai_completions.c - completions (text under choices) and embeddings (usage only).
 */
#include "dialect/openai_common.h"

static void on_choice(struct json *j, enum key key, struct said *s)
{
    struct span member;
    if (key == KEY_TEXT) {
        said_take_output(s, j, DIALECT_TEXT);
        return;
    }
    if (key != KEY_DELTA) {
        (void)json_skip(j); /* the status is sticky */
        return;
    }
    /* Some proxies answer the completions path with chat deltas. */
    if (!take_object(j))
        return;
    while (json_key(j, &member)) {
        if (key_of(member) == KEY_CONTENT)
            said_take_output(s, j, DIALECT_TEXT);
        else
            (void)json_skip(j); /* the status is sticky */
    }
}

static bool completions_parse(struct span name, struct span data, struct said *ret)
{
    (void)name;
    return openai_parse(data, on_choice, ret);
}

static void completions_event(struct dialect_answer *a, struct span name, struct span data,
                              struct token_event *ret)
{
    openai_event(a, name, data, completions_parse, ret);
}

const struct dialect dialect_openai_completions = {
    .name = "openai-completions",
    .framing = FRAMING_SSE,
    .is_generating = true,
    .can_include_usage = true,
    .inspect = openai_inspect,
    .add_include_usage = openai_add_include_usage,
    .event = completions_event,
    .may_be_bare_usage = openai_may_be_bare_usage,
    .is_bare_usage = openai_is_bare_usage,
    .answer = openai_answer,
    .is_ended = openai_is_ended,
    .refusal_body = openai_refusal_body,
};

static void embeddings_inspect(struct span target, struct span window, bool is_complete,
                               struct dialect_request *ret)
{
    openai_inspect(target, window, is_complete, ret);
    ret->is_stream = false; /* no such thing here; a stray key changes nothing */
}

static bool embeddings_parse(struct span name, struct span data, struct said *ret)
{
    (void)name;
    return openai_parse(data, NULL, ret);
}

static void embeddings_event(struct dialect_answer *a, struct span name, struct span data,
                             struct token_event *ret)
{
    openai_event(a, name, data, embeddings_parse, ret);
}

const struct dialect dialect_openai_embeddings = {
    .name = "openai-embeddings",
    .framing = FRAMING_SSE,
    .inspect = embeddings_inspect,
    .event = embeddings_event,
    .answer = openai_answer,
    .is_ended = openai_is_ended,
    .refusal_body = openai_refusal_body,
};
