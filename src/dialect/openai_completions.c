/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dialect/openai_completions.c - completions (text under choices) and embeddings (usage only).
 */
#include "dialect/openai_common.h"

static void on_choice(struct json *j, enum openai_key key, struct openai_output *out)
{
    struct span member;
    if (key == KEY_TEXT) {
        openai_take_output_text(j, out);
        return;
    }
    if (key != KEY_DELTA) {
        (void)json_skip(j); /* the status is sticky */
        return;
    }
    /* Some proxies answer the completions path with chat deltas. */
    if (!openai_enter_object(j))
        return;
    while (json_key(j, &member)) {
        if (openai_key_of(member) == KEY_CONTENT)
            openai_take_output_text(j, out);
        else
            (void)json_skip(j); /* the status is sticky */
    }
}

static void completions_event(struct dialect_answer *a, struct span name, struct span data,
                              struct token_event *ret)
{
    openai_event(a, name, data, on_choice, ret);
}

const struct dialect dialect_openai_completions = {
    .name = "openai-completions",
    .framing = DIALECT_SSE,
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

static void embeddings_inspect(struct span window, bool is_complete, struct dialect_request *ret)
{
    openai_inspect(window, is_complete, ret);
    ret->is_stream = false; /* no such thing here; a stray key changes nothing */
}

static void embeddings_event(struct dialect_answer *a, struct span name, struct span data,
                             struct token_event *ret)
{
    openai_event(a, name, data, NULL, ret);
}

const struct dialect dialect_openai_embeddings = {
    .name = "openai-embeddings",
    .framing = DIALECT_SSE,
    .inspect = embeddings_inspect,
    .event = embeddings_event,
    .answer = openai_answer,
    .is_ended = openai_is_ended,
    .refusal_body = openai_refusal_body,
};
