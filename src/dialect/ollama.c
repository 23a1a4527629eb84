/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dialect/ollama.c - Ollama's own API: /api/chat, /api/generate, /api/embed.
 *
 * A stream is one JSON object a line; "done":true ends it and carries the counts and the engine's
 * own times. A whole answer is that last object alone, with all of the text. Streaming is what a
 * request gets that does not say otherwise. Counts of 0 are left out, and so is the prompt's when
 * all of it was cached: they stay unknown.
 *
 * Source: docs/api.md and api/types.go of Ollama.
 */
#include "dialect/ollama.h"

#include "dialect/inspect.h"
#include "dialect/refusal.h"
#include "dialect/said.h"

/* --- answers --- */

static void take_message(struct json *j, struct said *s)
{
    struct span key;
    if (!take_object(j))
        return;
    while (json_key(j, &key)) {
        switch (key_of(key)) {
        case KEY_CONTENT:
            said_take_output(s, j, DIALECT_TEXT);
            break;
        case KEY_THINKING:
            said_take_output(s, j, DIALECT_REASONING);
            break;
        case KEY_TOOL_CALLS: /* always whole calls */
            s->kinds |= take_truthy(j) ? DIALECT_TOOL_NAME | DIALECT_TOOL_ARGS : 0;
            break;
        case KEY_IMAGES:
            s->kinds |= take_truthy(j) ? DIALECT_IMAGE : 0;
            break;
        default:
            (void)json_skip(j); /* the status is sticky */
            break;
        }
    }
}

/* Counts and times, in ns; they stand beside everything else. */
static void take_metric(struct json *j, enum key key, struct said *s)
{
    switch (key) {
    case KEY_PROMPT_EVAL_COUNT:
        take_count(j, &s->usage.prompt);
        break;
    case KEY_EVAL_COUNT:
        take_count(j, &s->usage.completion);
        break;
    case KEY_LOAD_DURATION:
        take_scaled(j, 1.0, &s->engine.load_ns);
        break;
    case KEY_PROMPT_EVAL_DURATION:
        take_scaled(j, 1.0, &s->engine.prefill_ns);
        break;
    case KEY_EVAL_DURATION:
        take_scaled(j, 1.0, &s->engine.decode_ns);
        break;
    case KEY_TOTAL_DURATION:
        take_scaled(j, 1.0, &s->engine.total_ns);
        break;
    default:
        (void)json_skip(j); /* the status is sticky */
        break;
    }
}

static void take_member(struct json *j, enum key key, struct said *s, struct span *reason)
{
    switch (key) {
    case KEY_MODEL:
        take_name(j, &s->model);
        break;
    case KEY_CREATED_AT:
        said_take_varying(s, j);
        break;
    case KEY_MESSAGE:
        take_message(j, s);
        break;
    case KEY_RESPONSE:
        said_take_output(s, j, DIALECT_TEXT);
        break;
    case KEY_THINKING:
        said_take_output(s, j, DIALECT_REASONING);
        break;
    case KEY_TOOL_CALLS:
        s->kinds |= take_truthy(j) ? DIALECT_TOOL_NAME | DIALECT_TOOL_ARGS : 0;
        break;
    case KEY_IMAGE:
        s->kinds |= take_text(j) ? DIALECT_IMAGE : 0;
        break;
    case KEY_DONE:
        take_flag(j, &s->is_end);
        break;
    case KEY_DONE_REASON:
        *reason = take_string(j);
        break;
    case KEY_ERROR:
        said_take_error(s, j);
        break;
    default:
        take_metric(j, key, s);
        break;
    }
}

static bool ollama_parse(struct span name, struct span data, struct said *ret)
{
    struct json j;
    struct span key;
    struct span reason = {0};
    (void)name;
    json_init(&j, data);
    if (!take_object(&j))
        return false;
    while (json_key(&j, &key))
        take_member(&j, key_of(key), ret, &reason);
    if (!json_is_done(&j))
        return false;
    ret->has_usage = ret->usage.prompt != USAGE_UNTOLD || ret->usage.completion != USAGE_UNTOLD;
    if (ret->is_end)
        said_finish(ret, 0, reason.n > 0 ? reason : SPAN("done"));
    return true;
}

static void ollama_event(struct dialect_answer *a, struct span name, struct span data,
                         struct token_event *ret)
{
    said_event(a, name, data, ollama_parse, ret);
}

static void ollama_answer(struct dialect_answer *a, struct span body)
{
    said_answer(a, body, ollama_parse);
}

static bool ollama_is_ended(const struct dialect_answer *a)
{
    return a->has_end_mark;
}

/* --- requests --- */

static void take_options(struct json *j, struct dialect_request *ret)
{
    struct span key;
    if (!take_object(j))
        return;
    while (json_key(j, &key)) {
        if (key_of(key) == KEY_NUM_PREDICT)
            take_positive(j, &ret->max_tokens); /* -1 and -2 are no limits */
        else
            (void)json_skip(j); /* the status is sticky */
    }
}

static void ollama_inspect(struct span target, struct span window, bool is_complete,
                           struct dialect_request *ret)
{
    struct inspect_walk w;
    enum key key;
    (void)target;
    inspect_begin(&w, window, is_complete, ret);
    inspect_stream_by_default(&w);
    while (inspect_member(&w, &key)) {
        switch (key) {
        case KEY_OPTIONS:
            take_options(&w.json, ret);
            break;
        case KEY_MESSAGES:
        case KEY_PROMPT:
        case KEY_SYSTEM:
        case KEY_INPUT:
            inspect_take_prompt(&w);
            break;
        default:
            (void)json_skip(&w.json); /* the status is sticky */
            break;
        }
    }
    inspect_end(&w);
}

static void embed_inspect(struct span target, struct span window, bool is_complete,
                          struct dialect_request *ret)
{
    ollama_inspect(target, window, is_complete, ret);
    ret->is_stream = false;
}

static int ollama_refusal_body(enum dialect_refusal r, const char *message, struct buf *ret_body)
{
    size_t n_before = buf_len(ret_body);
    struct jsonw w;
    jsonw_init(&w, ret_body);
    jsonw_begin_object(&w);
    jsonw_put_cstr(&w, "error", message ? message : refusal_code(r));
    jsonw_end_object(&w);
    return refusal_end(&w, ret_body, n_before);
}

const struct dialect dialect_ollama = {
    .name = "ollama",
    .framing = FRAMING_NDJSON,
    .is_generating = true,
    .inspect = ollama_inspect,
    .event = ollama_event,
    .answer = ollama_answer,
    .is_ended = ollama_is_ended,
    .refusal_body = ollama_refusal_body,
};

const struct dialect dialect_ollama_embed = {
    .name = "ollama-embed",
    .framing = FRAMING_NDJSON,
    .inspect = embed_inspect,
    .event = ollama_event,
    .answer = ollama_answer,
    .is_ended = ollama_is_ended,
    .refusal_body = ollama_refusal_body,
};
