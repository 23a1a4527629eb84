/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dialect/openai_responses.c - responses: typed events around one response object.
 *
 * What a member means depends on the event's type, which may stand behind it (and is the SSE
 * event's name where the data tells none). So every member that some type cares about is noted on
 * the way, and what was noted is judged at the end.
 * Beginnings (response.created, .in_progress, empty items and parts) and repetitions (.done, which
 * hold again what the deltas brought) carry nothing.
 */
#include "base/attr.h"
#include "dialect/openai_common.h"

enum { TYPE_MAX = 64 };

/* Notes about one event or answer. */
struct notes {
    struct said *said; /* model, usage */

    struct span raw_type;
    struct span type; /* plain: the same, type_text, or the SSE event's name */
    char type_text[TYPE_MAX];
    struct span delta; /* raw */
    bool has_delta;
    bool has_image;

    struct span item_type; /* raw */
    bool has_item_name;
    bool has_item_opaque;

    struct span status; /* raw, of the response, with why it is incomplete */
    struct span incomplete_reason;
    bool has_failed; /* it holds an error */
    struct span failure;

    bool has_error; /* beside the response */
    struct span error;
    struct span code;
    bool is_error_object;
};

/* --- the response --- */

static bool take_usage(struct json *j, struct usage *ret)
{
    struct span key;
    struct usage u = USAGE_NONE;
    struct openai_details input = OPENAI_DETAILS_NONE;
    struct openai_details output = OPENAI_DETAILS_NONE;
    if (!take_object(j))
        return false;
    while (json_key(j, &key)) {
        switch (key_of(key)) {
        case KEY_INPUT_TOKENS:
            take_count(j, &u.prompt);
            break;
        case KEY_OUTPUT_TOKENS:
            take_count(j, &u.completion);
            break;
        case KEY_TOTAL_TOKENS:
            take_count(j, &u.total);
            break;
        case KEY_INPUT_TOKENS_DETAILS:
            openai_take_details(j, &input);
            break;
        case KEY_OUTPUT_TOKENS_DETAILS:
            openai_take_details(j, &output);
            break;
        default:
            (void)json_skip(j); /* the status is sticky */
            break;
        }
    }
    u.cached = input.cached;
    u.cache_write = usage_first_told(input.cache_write, input.cache_creation);
    u.reasoning = output.reasoning;
    *ret = u;
    return true;
}

static void take_incomplete(struct json *j, struct span *ret_reason)
{
    struct span key;
    if (!take_object(j))
        return;
    while (json_key(j, &key)) {
        if (key_of(key) == KEY_REASON)
            take_name(j, ret_reason);
        else
            (void)json_skip(j); /* the status is sticky */
    }
}

static void take_response_member(struct json *j, enum key key, struct notes *n)
{
    switch (key) {
    case KEY_MODEL:
        take_name(j, &n->said->model);
        break;
    case KEY_STATUS:
        take_name(j, &n->status);
        break;
    case KEY_INCOMPLETE_DETAILS:
        take_incomplete(j, &n->incomplete_reason);
        break;
    case KEY_USAGE:
        n->said->has_usage = take_usage(j, &n->said->usage);
        break;
    case KEY_ERROR:
        n->has_failed = said_is_error(j, &n->failure);
        break;
    default:
        (void)json_skip(j); /* the status is sticky */
        break;
    }
}

static void take_response(struct json *j, struct notes *n)
{
    struct span key;
    if (!take_object(j))
        return;
    while (json_key(j, &key))
        take_response_member(j, key_of(key), n);
}

/* --- what stands beside it --- */

static void take_type(struct json *j, struct notes *n)
{
    struct json_value v;
    if (!take_whole(j, &v) || v.type != JSON_STRING)
        return;
    n->type = n->raw_type = v.raw;
    if (v.has_escape)
        n->type = span_of(n->type_text, json_unescape(v.raw, n->type_text, sizeof(n->type_text)));
}

/* A string, or an object with text (or content). */
static void take_delta(struct json *j, struct notes *n)
{
    struct json_value v;
    struct span key;
    if (!json_next(j, &v))
        return;
    n->has_delta = json_is_nonempty_string(&v);
    n->delta = n->has_delta ? v.raw : (struct span){0};
    if (v.type == JSON_ARRAY)
        (void)json_leave(j); /* the status is sticky */
    while (v.type == JSON_OBJECT && json_key(j, &key)) {
        enum key k = key_of(key);
        if (k == KEY_TEXT || k == KEY_CONTENT)
            n->has_delta = take_text(j) || n->has_delta;
        else
            (void)json_skip(j); /* the status is sticky */
    }
}

static void take_item(struct json *j, struct notes *n)
{
    struct span key;
    if (!take_object(j))
        return;
    while (json_key(j, &key)) {
        switch (key_of(key)) {
        case KEY_TYPE:
            n->item_type = take_string(j);
            break;
        case KEY_NAME:
            n->has_item_name = take_text(j);
            break;
        case KEY_ENCRYPTED_CONTENT:
            n->has_item_opaque = take_text(j);
            break;
        default:
            (void)json_skip(j); /* the status is sticky */
            break;
        }
    }
}

static void take_member(struct json *j, enum key key, struct notes *n)
{
    switch (key) {
    case KEY_TYPE:
        take_type(j, n);
        break;
    case KEY_DELTA:
        take_delta(j, n);
        break;
    case KEY_ITEM:
        take_item(j, n);
        break;
    case KEY_RESPONSE:
        take_response(j, n);
        break;
    case KEY_PARTIAL_IMAGE_B64:
        n->has_image = take_text(j);
        break;
    case KEY_ERROR:
        n->has_error = said_is_error(j, &n->error);
        break;
    case KEY_SEQUENCE_NUMBER:
    case KEY_OBFUSCATION:
        said_take_varying(n->said, j);
        break;
    case KEY_CODE:
        take_name(j, &n->code);
        break;
    case KEY_OBJECT: /* "error": what names it stands beside (vLLM) */
        n->is_error_object = json_str_eq(take_string(j), SPAN("error"));
        break;
    default:
        (void)json_skip(j); /* the status is sticky */
        break;
    }
}

/* --- what the notes say --- */

#define PREFIX "response."

/* What a delta of that type carries: text has three names, tools have many. */
static uint32_t kinds_of_delta(struct span type)
{
    if (span_eq(type, SPAN(PREFIX "output_text.delta")))
        return DIALECT_TEXT;
    if (span_starts_with(type, SPAN(PREFIX "reasoning_summary")))
        return DIALECT_REASONING | DIALECT_REASONING_SUMMARY;
    if (span_starts_with(type, SPAN(PREFIX "reasoning")))
        return DIALECT_REASONING;
    if (span_eq(type, SPAN(PREFIX "refusal.delta")))
        return DIALECT_REFUSAL;
    if (span_find(type, SPAN("audio")) < type.n)
        return DIALECT_AUDIO;
    if (span_eq(type, SPAN(PREFIX "text.delta")) ||
        span_eq(type, SPAN(PREFIX "content_part.delta")))
        return DIALECT_TEXT;
    return DIALECT_TOOL_ARGS;
}

static uint32_t kinds_of_item(const struct notes *n)
{
    static const struct span calls[] = {SPAN_INIT("function_call"), SPAN_INIT("custom_tool_call"),
                                        SPAN_INIT("mcp_call")};
    if (n->has_item_opaque && json_str_eq(n->item_type, SPAN("reasoning")))
        return DIALECT_REASONING_OPAQUE;
    for (size_t i = 0; n->has_item_name && i < ARRAY_LEN(calls); i++) {
        if (json_str_eq(n->item_type, calls[i]))
            return DIALECT_TOOL_NAME;
    }
    return 0;
}

/* The event that ends the stream; *ret: the word that the type says it with. */
static bool is_terminal(struct span type, struct span *ret)
{
    static const struct span words[] = {SPAN_INIT("completed"), SPAN_INIT("incomplete"),
                                        SPAN_INIT("failed"), SPAN_INIT("cancelled"),
                                        SPAN_INIT("done")};
    if (!span_starts_with(type, SPAN(PREFIX)))
        return false;
    *ret = span_from(type, strlen(PREFIX));
    for (size_t i = 0; i < ARRAY_LEN(words); i++) {
        if (span_eq(*ret, words[i])) {
            *ret = words[i]; /* the type may be part of the notes */
            return true;
        }
    }
    return false;
}

static void note_error(struct said *s, struct span type)
{
    s->is_error = true;
    if (type.n > 0)
        s->error_type = type;
}

static void judge_error(const struct notes *n, struct said *s)
{
    bool is_error_type = span_eq(n->type, SPAN("error")) || span_eq(n->type, SPAN(PREFIX "error"));
    /* Beside another event's members it is the error of a tool. */
    bool is_beside = n->has_error && !span_starts_with(n->type, SPAN(PREFIX));
    if (n->is_error_object)
        note_error(s, n->raw_type.n > 0 ? n->raw_type : n->code);
    if (is_error_type || is_beside)
        note_error(s, n->error.n > 0 ? n->error : n->code);
    if (n->has_failed || span_eq(n->type, SPAN(PREFIX "failed")))
        note_error(s, n->failure);
}

static void judge(const struct notes *n, struct said *s)
{
    struct span word;
    if (n->has_delta && span_ends_with(n->type, SPAN(".delta"))) {
        s->kinds = kinds_of_delta(n->type);
        /* What the data says by itself, a like event says too. */
        s->text = n->delta;
        s->n_texts = n->raw_type.n > 0 && n->delta.n > 0;
    } else if (span_eq(n->type, SPAN(PREFIX "output_item.added"))) {
        s->kinds = kinds_of_item(n);
    } else if (n->has_image &&
               span_eq(n->type, SPAN(PREFIX "image_generation_call.partial_image"))) {
        s->kinds = DIALECT_IMAGE;
    } else if (is_terminal(n->type, &word)) {
        s->is_end = true;
        said_finish_detail(s, 0, n->status.n > 0 ? n->status : word, n->incomplete_reason);
    }
    judge_error(n, s);
}

/* --- the ops --- */

static bool event_parse(struct span name, struct span data, struct said *ret)
{
    struct json j;
    struct span key;
    struct notes n = {.said = ret};
    json_init(&j, data);
    if (!take_object(&j))
        return false;
    while (json_key(&j, &key))
        take_member(&j, key_of(key), &n);
    if (!json_is_done(&j))
        return false;
    if (n.type.n == 0)
        n.type = name;
    judge(&n, ret);
    return true;
}

/* The response itself, or an error. */
static bool answer_parse(struct span name, struct span data, struct said *ret)
{
    struct json j;
    struct span raw;
    struct notes n = {.said = ret};
    (void)name;
    json_init(&j, data);
    if (!take_object(&j))
        return false;
    while (json_key(&j, &raw)) {
        enum key key = key_of(raw);
        if (key == KEY_TYPE || key == KEY_CODE || key == KEY_OBJECT)
            take_member(&j, key, &n);
        else
            take_response_member(&j, key, &n);
    }
    if (!json_is_done(&j))
        return false;
    said_finish_detail(ret, 0, n.status, n.incomplete_reason);
    judge_error(&n, ret);
    return true;
}

static void responses_event(struct dialect_answer *a, struct span name, struct span data,
                            struct token_event *ret)
{
    said_event(a, name, data, event_parse, ret);
}

static void responses_answer(struct dialect_answer *a, struct span body)
{
    said_answer(a, body, answer_parse);
}

static void responses_inspect(struct span target, struct span window, bool is_complete,
                              struct dialect_request *ret)
{
    openai_inspect(target, window, is_complete, ret);
    ret->n = 1; /* there are no choices here; a stray key changes nothing */
}

/* A terminal event always has a word for how it ended; "[DONE]", which some send behind it, is no
 * replacement: the response would be missing. */
static bool responses_is_ended(const struct dialect_answer *a)
{
    return a->has_finish;
}

const struct dialect dialect_openai_responses = {
    .name = "openai-responses",
    .framing = FRAMING_SSE,
    .is_generating = true,
    .inspect = responses_inspect,
    .event = responses_event,
    .answer = responses_answer,
    .is_ended = responses_is_ended,
    .refusal_body = openai_refusal_body,
};
