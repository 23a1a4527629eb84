/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dialect/anthropic.c - messages and count_tokens.
 *
 * What an event's members mean depends on its "type", which may stand behind them: all of them are
 * noted in one pass, and the type decides at the end. Events that tell no type have the name of
 * their SSE event. Of the events only message_stop is the end: a stream without it was cut short,
 * whatever stop reason it told.
 *
 * Usage: message_start tells the input, and a number of output tokens from before there was any;
 * message_delta tells running totals, which replace what was told before.
 */
#include "dialect/anthropic.h"

#include "base/attr.h"
#include "dialect/inspect.h"
#include "dialect/refusal.h"
#include "dialect/said.h"

/* --- usage --- */

static int64_t take_thinking_tokens(struct json *j)
{
    struct span key;
    int64_t thinking = USAGE_UNTOLD;
    int64_t reasoning = USAGE_UNTOLD;
    if (!take_object(j))
        return USAGE_UNTOLD;
    while (json_key(j, &key)) {
        switch (key_of(key)) {
        case KEY_THINKING_TOKENS:
            take_count(j, &thinking);
            break;
        case KEY_REASONING_TOKENS:
            take_count(j, &reasoning);
            break;
        default:
            (void)json_skip(j); /* the status is sticky */
            break;
        }
    }
    return usage_first_told(thinking, reasoning);
}

/* Takes the next value; true and *ret when it is an object. */
static bool take_usage(struct json *j, struct usage *ret)
{
    struct span key;
    if (!take_object(j))
        return false;
    *ret = USAGE_NONE;
    while (json_key(j, &key)) {
        switch (key_of(key)) {
        case KEY_INPUT_TOKENS:
            take_count(j, &ret->prompt);
            break;
        case KEY_OUTPUT_TOKENS:
            take_count(j, &ret->completion);
            break;
        case KEY_CACHE_READ_INPUT_TOKENS:
            take_count(j, &ret->cached);
            break;
        case KEY_CACHE_CREATION_INPUT_TOKENS:
            take_count(j, &ret->cache_write);
            break;
        case KEY_OUTPUT_TOKENS_DETAILS:
            ret->reasoning = take_thinking_tokens(j);
            break;
        default:
            (void)json_skip(j); /* the status is sticky */
            break;
        }
    }
    return true;
}

/* --- the members of an event --- */

/* A content_block or a delta: what any type of it looks at, raw strings. */
struct block {
    struct span type;
    struct span text;
    struct span thinking;
    struct span partial_json;
    struct span signature;
    struct span data;
    struct span content;
    struct span stop_reason;
    bool has_input;
};

struct walk {
    struct said *said;
    struct span type;
    struct span stop_reason; /* of a whole answer */
    bool has_block;
    bool has_delta;
    bool has_usage;         /* beside the type */
    bool has_message_usage; /* in "message" */
    /* What follows is set where it is there. */
    struct block block;
    struct block delta;
    struct usage usage;
    struct usage message_usage;
};

/* Takes the next value; true and *ret when it is an object. */
static bool take_block(struct json *j, struct block *ret)
{
    struct span key;
    if (!take_object(j))
        return false;
    *ret = (struct block){.has_input = false};
    while (json_key(j, &key)) {
        switch (key_of(key)) {
        case KEY_TYPE:
            ret->type = take_string(j);
            break;
        case KEY_TEXT:
            ret->text = take_string(j);
            break;
        case KEY_THINKING:
            ret->thinking = take_string(j);
            break;
        case KEY_PARTIAL_JSON:
            ret->partial_json = take_string(j);
            break;
        case KEY_SIGNATURE:
            ret->signature = take_string(j);
            break;
        case KEY_DATA:
            ret->data = take_string(j);
            break;
        case KEY_CONTENT:
            ret->content = take_string(j);
            break;
        case KEY_STOP_REASON:
            ret->stop_reason = take_string(j);
            break;
        case KEY_INPUT:
            ret->has_input = take_truthy(j);
            break;
        default:
            (void)json_skip(j); /* the status is sticky */
            break;
        }
    }
    return true;
}

static void take_message(struct json *j, struct walk *w)
{
    struct span key;
    w->has_message_usage = false;
    if (!take_object(j))
        return;
    while (json_key(j, &key)) {
        switch (key_of(key)) {
        case KEY_MODEL:
            take_name(j, &w->said->model);
            break;
        case KEY_USAGE:
            w->has_message_usage = take_usage(j, &w->message_usage);
            break;
        default:
            (void)json_skip(j); /* the status is sticky */
            break;
        }
    }
}

static void take_member(struct json *j, enum key key, struct walk *w)
{
    switch (key) {
    case KEY_TYPE:
        w->type = take_string(j);
        break;
    case KEY_DELTA:
        w->has_delta = take_block(j, &w->delta);
        break;
    case KEY_CONTENT_BLOCK:
        w->has_block = take_block(j, &w->block);
        break;
    case KEY_MESSAGE:
        take_message(j, w);
        break;
    case KEY_USAGE:
        w->has_usage = take_usage(j, &w->usage);
        break;
    case KEY_MODEL:
        take_name(j, &w->said->model);
        break;
    case KEY_STOP_REASON:
        w->stop_reason = take_string(j);
        break;
    case KEY_ERROR:
        said_take_error(w->said, j);
        break;
    default:
        (void)json_skip(j); /* the status is sticky */
        break;
    }
}

/* --- what they say --- */

/* Which of the names a raw string is, escapes resolved; n: none. */
static size_t name_at(struct span raw, const struct span *names, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (span_eq(raw, names[i]))
            return i;
    }
    if (raw.n == 0 || !memchr(raw.p, '\\', raw.n))
        return n;
    size_t i = 0;
    while (i < n && !json_str_eq(raw, names[i]))
        i++;
    return i;
}

enum type {
    TYPE_BLOCK_DELTA,
    TYPE_BLOCK_START,
    TYPE_MESSAGE_START,
    TYPE_MESSAGE_DELTA,
    TYPE_MESSAGE_STOP,
    TYPE_MESSAGE, /* a whole answer */
    TYPE_ERROR,
    TYPE_OTHER, /* ping and content_block_stop among them: they say nothing */
};

static enum type type_of(struct span raw)
{
    static const struct span names[TYPE_OTHER] = {
        [TYPE_BLOCK_DELTA] = SPAN_INIT("content_block_delta"),
        [TYPE_BLOCK_START] = SPAN_INIT("content_block_start"),
        [TYPE_MESSAGE_START] = SPAN_INIT("message_start"),
        [TYPE_MESSAGE_DELTA] = SPAN_INIT("message_delta"),
        [TYPE_MESSAGE_STOP] = SPAN_INIT("message_stop"),
        [TYPE_MESSAGE] = SPAN_INIT("message"),
        [TYPE_ERROR] = SPAN_INIT("error"),
    };
    return (enum type)name_at(raw, names, ARRAY_LEN(names));
}

static void say_delta(const struct block *d, struct said *s)
{
    enum { TEXT, INPUT_JSON, THINKING, SIGNATURE, COMPACTION, OTHER };
    static const struct span names[OTHER] = {
        [TEXT] = SPAN_INIT("text_delta"),
        [INPUT_JSON] = SPAN_INIT("input_json_delta"),
        [THINKING] = SPAN_INIT("thinking_delta"),
        [SIGNATURE] = SPAN_INIT("signature_delta"),
        [COMPACTION] = SPAN_INIT("compaction_delta"),
    };
    switch (name_at(d->type, names, ARRAY_LEN(names))) {
    case TEXT:
        said_output(s, DIALECT_TEXT, d->text);
        break;
    case INPUT_JSON:
        said_output(s, DIALECT_TOOL_ARGS, d->partial_json);
        break;
    case THINKING:
        said_output(s, DIALECT_REASONING, d->thinking);
        break;
    case SIGNATURE:
        said_output(s, DIALECT_REASONING_OPAQUE, d->signature);
        break;
    case COMPACTION:
        said_output(s, DIALECT_TEXT, d->content);
        break;
    default: /* of citations_delta nothing was generated */
        break;
    }
}

static void say_block(const struct block *b, struct said *s)
{
    enum { TOOL_USE, SERVER_TOOL_USE, MCP_TOOL_USE, REDACTED_THINKING, COMPACTION, OTHER };
    static const struct span names[OTHER] = {
        [TOOL_USE] = SPAN_INIT("tool_use"),
        [SERVER_TOOL_USE] = SPAN_INIT("server_tool_use"),
        [MCP_TOOL_USE] = SPAN_INIT("mcp_tool_use"),
        [REDACTED_THINKING] = SPAN_INIT("redacted_thinking"),
        [COMPACTION] = SPAN_INIT("compaction"),
    };
    said_output(s, DIALECT_TEXT, b->text);
    said_output(s, DIALECT_REASONING, b->thinking);
    switch (name_at(b->type, names, ARRAY_LEN(names))) {
    case TOOL_USE:
    case SERVER_TOOL_USE:
    case MCP_TOOL_USE:
        s->kinds |= DIALECT_TOOL_NAME | (b->has_input ? (uint32_t)DIALECT_TOOL_ARGS : 0);
        break;
    case REDACTED_THINKING:
        said_output(s, DIALECT_REASONING_OPAQUE, b->data);
        break;
    case COMPACTION:
        said_output(s, DIALECT_TEXT, b->content);
        break;
    default: /* text and thinking; results of tools that the server ran were not generated */
        break;
    }
}

static void say_usage(bool has_usage, const struct usage *u, struct said *s)
{
    s->has_usage = has_usage;
    if (has_usage)
        s->usage = *u;
}

static void say(const struct walk *w, enum type type, struct said *s)
{
    switch (type) {
    case TYPE_BLOCK_DELTA:
        if (w->has_delta)
            say_delta(&w->delta, s);
        break;
    case TYPE_BLOCK_START:
        if (w->has_block)
            say_block(&w->block, s);
        break;
    case TYPE_MESSAGE_START:
        say_usage(w->has_message_usage, &w->message_usage, s);
        s->is_usage_early = true;
        break;
    case TYPE_MESSAGE_DELTA:
        say_usage(w->has_usage, &w->usage, s);
        if (w->has_delta)
            said_finish(s, 0, w->delta.stop_reason);
        break;
    case TYPE_MESSAGE:
        say_usage(w->has_usage, &w->usage, s);
        said_finish(s, 0, w->stop_reason);
        break;
    case TYPE_MESSAGE_STOP:
        s->is_end = true;
        break;
    case TYPE_ERROR:
        s->is_error = true;
        break;
    case TYPE_OTHER:
        break;
    }
}

static bool anthropic_parse(struct span name, struct span data, struct said *ret)
{
    struct json j;
    struct span key;
    struct walk w UNINITIALIZED;
    memset(&w, 0, offsetof(struct walk, block));
    w.said = ret;
    json_init(&j, data);
    if (!take_object(&j))
        return false;
    while (json_key(&j, &key))
        take_member(&j, key_of(key), &w);
    if (!json_is_done(&j))
        return false;
    say(&w, type_of(w.type.n > 0 ? w.type : name), ret);
    if (w.type.n == 0)
        ret->n_texts = 0; /* a like event may have another name */
    return true;
}

static void anthropic_event(struct dialect_answer *a, struct span name, struct span data,
                            struct token_event *ret)
{
    said_event(a, name, data, anthropic_parse, ret);
}

static void anthropic_answer(struct dialect_answer *a, struct span body)
{
    said_answer(a, body, anthropic_parse);
}

static bool anthropic_is_ended(const struct dialect_answer *a)
{
    return a->has_end_mark;
}

/* --- requests --- */

/* The prompt is what the model reads: system, messages, and the tools it may use. */
static void anthropic_inspect(struct span target, struct span window, bool is_complete,
                              struct dialect_request *ret)
{
    struct inspect_walk w;
    enum key key;
    (void)target;

    inspect_begin(&w, window, is_complete, ret);
    while (inspect_member(&w, &key)) {
        switch (key) {
        case KEY_MAX_TOKENS:
            take_positive(&w.json, &ret->max_tokens);
            break;
        case KEY_SYSTEM:
        case KEY_MESSAGES:
        case KEY_TOOLS:
            inspect_take_prompt(&w);
            break;
        default:
            (void)json_skip(&w.json); /* the status is sticky */
            break;
        }
    }
    inspect_end(&w);
}

/* --- refusals --- */

static const char *const error_types[REFUSAL_COUNT_] = {
    [REFUSAL_BAD_REQUEST] = "invalid_request_error",
    [REFUSAL_UNAUTHORIZED] = "authentication_error",
    [REFUSAL_FORBIDDEN] = "permission_error",
    [REFUSAL_NOT_FOUND] = "not_found_error",
    [REFUSAL_REQUEST_TIMEOUT] = "invalid_request_error",
    [REFUSAL_BODY_TOO_LARGE] = "request_too_large",
    [REFUSAL_TOO_MANY] = "rate_limit_error",
    [REFUSAL_QUEUE_TIMEOUT] = "rate_limit_error",
    [REFUSAL_INTERNAL] = "api_error",
    [REFUSAL_CONNECT_FAILED] = "api_error",
    [REFUSAL_BAD_RESPONSE] = "api_error",
    [REFUSAL_UPSTREAM_CUT] = "api_error",
    [REFUSAL_DRAINING] = "overloaded_error",
    [REFUSAL_TIMEOUT] = "timeout_error",
};

static int anthropic_refusal_body(enum dialect_refusal r, const char *message, struct buf *ret_body)
{
    size_t n_before = buf_len(ret_body);
    struct jsonw w;
    jsonw_init(&w, ret_body);
    jsonw_begin_object(&w);
    jsonw_put_cstr(&w, "type", "error");
    jsonw_key(&w, "error");
    jsonw_begin_object(&w);
    jsonw_put_cstr(&w, "type", error_types[refusal_known(r)]);
    jsonw_put_cstr(&w, "message", message ? message : refusal_code(r));
    jsonw_end_object(&w);
    jsonw_end_object(&w);
    return refusal_end(&w, ret_body, n_before);
}

const struct dialect dialect_anthropic = {
    .name = "anthropic",
    .key_field = "x-api-key",
    .framing = FRAMING_SSE,
    .is_generating = true,
    .is_cached_beside_prompt = true,
    .inspect = anthropic_inspect,
    .event = anthropic_event,
    .answer = anthropic_answer,
    .is_ended = anthropic_is_ended,
    .refusal_body = anthropic_refusal_body,
};

/* --- count_tokens: a question about a request, whose answer is no usage --- */

static void count_tokens_inspect(struct span target, struct span window, bool is_complete,
                                 struct dialect_request *ret)
{
    anthropic_inspect(target, window, is_complete, ret);
    ret->is_stream = false; /* no such thing here; a stray key changes nothing */
}

/* Nothing but errors is read. */
static bool count_tokens_parse(struct span name, struct span data, struct said *ret)
{
    if (!anthropic_parse(name, data, ret))
        return false;
    ret->kinds = 0;
    ret->has_usage = false;
    return true;
}

static void count_tokens_event(struct dialect_answer *a, struct span name, struct span data,
                               struct token_event *ret)
{
    said_event(a, name, data, count_tokens_parse, ret);
}

static void count_tokens_answer(struct dialect_answer *a, struct span body)
{
    said_answer(a, body, count_tokens_parse);
}

const struct dialect dialect_anthropic_count_tokens = {
    .name = "anthropic-count-tokens",
    .key_field = "x-api-key",
    .framing = FRAMING_SSE,
    .is_cached_beside_prompt = true,
    .inspect = count_tokens_inspect,
    .event = count_tokens_event,
    .answer = count_tokens_answer,
    .is_ended = anthropic_is_ended,
    .refusal_body = anthropic_refusal_body,
};
