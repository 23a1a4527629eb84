/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dialect/openai_chat.c - chat/completions: what a delta carries.
 *
 * Every name under which a provider streams output counts; a delta whose strings are all empty
 * (role only, keepalive, filter result) carries nothing.
 */
#include "dialect/openai_common.h"

enum text_form { TEXT_NONE, TEXT_STRING, TEXT_LIST };

/* The members of one content part or reasoning detail, as far as any of them decides. */
struct part {
    struct span type;
    bool has_text;
    bool has_thinking_key;
    enum text_form thinking;
    enum text_form summary;
    bool has_content;
    bool has_opaque; /* data or signature */
};

/* Takes a string, or a list of objects with "text". */
static enum text_form take_text_or_list(struct json *j)
{
    struct json_value v;
    struct span key;
    bool is_filled = false;
    if (!json_next(j, &v))
        return TEXT_NONE;
    if (v.type == JSON_OBJECT)
        (void)json_leave(j); /* the status is sticky */
    if (v.type != JSON_ARRAY)
        return json_is_nonempty_string(&v) ? TEXT_STRING : TEXT_NONE;
    while (json_item(j)) {
        bool is_object = take_object(j);
        while (is_object && json_key(j, &key)) {
            if (key_of(key) == KEY_TEXT)
                is_filled = take_text(j) || is_filled;
            else
                (void)json_skip(j); /* the status is sticky */
        }
    }
    return is_filled ? TEXT_LIST : TEXT_NONE;
}

/* Walks an object that was just entered. */
static struct part take_part(struct json *j)
{
    struct part part = {.thinking = TEXT_NONE};
    struct span key;
    struct json_value v;
    while (json_key(j, &key)) {
        switch (key_of(key)) {
        case KEY_TYPE:
            if (take_whole(j, &v) && v.type == JSON_STRING)
                part.type = v.raw;
            break;
        case KEY_TEXT:
            part.has_text = take_text(j);
            break;
        case KEY_THINKING:
            part.has_thinking_key = true;
            part.thinking = take_text_or_list(j);
            break;
        case KEY_SUMMARY:
            part.summary = take_text_or_list(j);
            break;
        case KEY_CONTENT:
            part.has_content = take_text(j);
            break;
        case KEY_DATA:
        case KEY_SIGNATURE:
            part.has_opaque = take_text(j) || part.has_opaque;
            break;
        default:
            (void)json_skip(j); /* the status is sticky */
            break;
        }
    }
    return part;
}

/* One item of a content list (Mistral, some gateways). */
static uint32_t content_part_kinds(const struct part *part)
{
    if (part->has_thinking_key || span_eq(part->type, SPAN("thinking")))
        return part->thinking != TEXT_NONE ? DIALECT_REASONING : 0;
    if (part->has_text)
        return DIALECT_TEXT;
    if (span_eq(part->type, SPAN("reasoning")) && part->summary == TEXT_LIST)
        return DIALECT_REASONING | DIALECT_REASONING_SUMMARY;
    if (span_eq(part->type, SPAN("image_url")) || span_eq(part->type, SPAN("image")))
        return DIALECT_IMAGE;
    return 0;
}

/* One item of reasoning_details or thinking_blocks. */
static uint32_t detail_kinds(const struct part *part)
{
    if (part->summary == TEXT_STRING)
        return DIALECT_REASONING | DIALECT_REASONING_SUMMARY;
    if (part->has_text || part->thinking == TEXT_STRING)
        return DIALECT_REASONING;
    return part->has_opaque ? DIALECT_REASONING_OPAQUE : 0;
}

/* Folds the kinds of a list's objects. *j stands behind '['. */
static void take_parts(struct json *j, uint32_t (*kinds_of)(const struct part *), uint32_t *kinds)
{
    while (json_item(j)) {
        if (!take_object(j))
            continue;
        struct part part = take_part(j);
        *kinds |= kinds_of(&part);
    }
}

static void take_content(struct json *j, struct said *s)
{
    struct json_value v;
    if (!json_next(j, &v))
        return;
    if (json_is_nonempty_string(&v)) {
        said_output(s, DIALECT_TEXT, v.raw);
    } else if (v.type == JSON_ARRAY) {
        take_parts(j, content_part_kinds, &s->kinds);
    }
    if (v.type != JSON_OBJECT)
        return;
    struct part part = take_part(j);
    s->kinds |=
        (part.has_text ? DIALECT_TEXT : 0) | (part.thinking == TEXT_STRING ? DIALECT_REASONING : 0);
}

static void take_reasoning(struct json *j, struct said *s)
{
    struct json_value v;
    if (!json_next(j, &v))
        return;
    if (json_is_nonempty_string(&v))
        said_output(s, DIALECT_REASONING, v.raw);
    if (v.type == JSON_ARRAY)
        (void)json_leave(j); /* the status is sticky */
    if (v.type != JSON_OBJECT)
        return;
    struct part part = take_part(j);
    if (part.has_text || part.has_content)
        s->kinds |= DIALECT_REASONING;
}

/* Arguments are a string; some engines send the object itself. */
static void take_arguments(struct json *j, struct said *s)
{
    struct json_value v;
    if (!json_next(j, &v))
        return;
    if (v.type == JSON_STRING)
        said_output(s, DIALECT_TOOL_ARGS, v.raw);
    else if (v.type == JSON_OBJECT)
        s->kinds |= take_is_truthy(j, &v) ? DIALECT_TOOL_ARGS : 0;
    else if (v.type == JSON_ARRAY)
        (void)json_leave(j); /* the status is sticky */
}

/* The object of a function or custom tool. */
static void take_function(struct json *j, struct said *s)
{
    struct span key;
    if (!take_object(j))
        return;
    while (json_key(j, &key)) {
        switch (key_of(key)) {
        case KEY_NAME:
            s->kinds |= take_text(j) ? DIALECT_TOOL_NAME : 0;
            break;
        case KEY_ARGUMENTS:
        case KEY_INPUT:
            take_arguments(j, s);
            break;
        default:
            (void)json_skip(j); /* the status is sticky */
            break;
        }
    }
}

static void take_tool_calls(struct json *j, struct said *s)
{
    struct span key;
    if (!take_array(j))
        return;
    while (json_item(j)) {
        bool is_object = take_object(j);
        while (is_object && json_key(j, &key)) {
            enum key k = key_of(key);
            if (k == KEY_FUNCTION || k == KEY_CUSTOM)
                take_function(j, s);
            else
                (void)json_skip(j); /* the status is sticky */
        }
    }
}

static void take_audio(struct json *j, uint32_t *kinds)
{
    struct span key;
    if (!take_object(j))
        return;
    while (json_key(j, &key)) {
        enum key k = key_of(key);
        if (k == KEY_DATA || k == KEY_TRANSCRIPT)
            *kinds |= take_text(j) ? DIALECT_AUDIO : 0;
        else
            (void)json_skip(j); /* the status is sticky */
    }
}

static void take_delta_member(struct json *j, enum key key, struct said *s)
{
    uint32_t *kinds = &s->kinds;
    switch (key) {
    case KEY_CONTENT:
        take_content(j, s);
        break;
    case KEY_REASONING_CONTENT:
    case KEY_REASONING:
    case KEY_REASONING_TEXT:
    case KEY_THINKING:
        take_reasoning(j, s);
        break;
    case KEY_REASONING_DETAILS:
    case KEY_THINKING_BLOCKS:
        if (take_array(j))
            take_parts(j, detail_kinds, kinds);
        break;
    case KEY_REASONING_OPAQUE:
        *kinds |= take_text(j) ? DIALECT_REASONING_OPAQUE : 0;
        break;
    case KEY_REFUSAL:
        *kinds |= take_text(j) ? DIALECT_REFUSAL : 0;
        break;
    case KEY_TOOL_CALLS:
        take_tool_calls(j, s);
        break;
    case KEY_FUNCTION_CALL:
        take_function(j, s);
        break;
    case KEY_AUDIO:
        take_audio(j, kinds);
        break;
    case KEY_IMAGES:
        *kinds |= take_truthy(j) ? DIALECT_IMAGE : 0;
        break;
    default:
        (void)json_skip(j); /* the status is sticky */
        break;
    }
}

static void on_choice(struct json *j, enum key key, struct said *s)
{
    struct span member;
    if (key != KEY_DELTA) {
        (void)json_skip(j); /* the status is sticky */
        return;
    }
    if (!take_object(j))
        return;
    while (json_key(j, &member))
        take_delta_member(j, key_of(member), s);
}

static bool chat_parse(struct span name, struct span data, struct said *ret)
{
    (void)name;
    return openai_parse(data, on_choice, ret);
}

static void chat_event(struct dialect_answer *a, struct span name, struct span data,
                       struct token_event *ret)
{
    openai_event(a, name, data, chat_parse, ret);
}

const struct dialect dialect_openai_chat = {
    .name = "openai-chat",
    .framing = FRAMING_SSE,
    .is_generating = true,
    .can_include_usage = true,
    .inspect = openai_inspect,
    .add_include_usage = openai_add_include_usage,
    .event = chat_event,
    .may_be_bare_usage = openai_may_be_bare_usage,
    .is_bare_usage = openai_is_bare_usage,
    .answer = openai_answer,
    .is_ended = openai_is_ended,
    .refusal_body = openai_refusal_body,
};
