/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dialect/gemini.c - Google's generateContent and streamGenerateContent: Gemini API, Vertex AI,
 * Code Assist.
 *
 * The model and whether it streams stand in the request's target. A stream is one JSON array, or
 * events with ?alt=sse; each element is a whole answer with the next parts of its candidates, and
 * counts so far in most of them. No mark ends it: a finish reason does, and more parts may follow
 * one. Counts of 0 are left out. Reasoning that can be read is a summary of what was thought.
 *
 * Shapes:    an answer wrapped in "response" and a request in "request" (Code Assist); an event
 *            that is an array; requests in either spelling (generationConfig, generation_config).
 * Source:    ai.google.dev/api/generate-content, Vertex AI's GenerateContentResponse.
 */
#include "dialect/gemini.h"

#include "dialect/inspect.h"
#include "dialect/refusal.h"
#include "dialect/said.h"

/* --- parts --- */

static void take_function_call(struct json *j, uint32_t *kinds)
{
    struct span key;
    if (!take_object(j))
        return;
    while (json_key(j, &key)) {
        switch (key_of(key)) {
        case KEY_NAME: /* calls come whole, so a name alone is a call without arguments */
            *kinds |= take_text(j) ? DIALECT_TOOL_NAME | DIALECT_TOOL_ARGS : 0;
            break;
        case KEY_ARGS:
        case KEY_PARTIAL_ARGS:
            *kinds |= take_truthy(j) ? DIALECT_TOOL_ARGS : 0;
            break;
        default:
            (void)json_skip(j); /* the status is sticky */
            break;
        }
    }
}

/* Code that the model wrote for Google's own interpreter. */
static void take_executable_code(struct json *j, uint32_t *kinds)
{
    struct span key;
    if (!take_object(j))
        return;
    while (json_key(j, &key)) {
        if (key_of(key) == KEY_CODE)
            *kinds |= take_text(j) ? DIALECT_TOOL_ARGS : 0;
        else
            (void)json_skip(j); /* the status is sticky */
    }
}

static void take_inline_data(struct json *j, uint32_t *kinds)
{
    struct span key;
    struct span type = {0};
    bool has_data = false;
    if (!take_object(j))
        return;
    while (json_key(j, &key)) {
        enum key k = key_of(key);
        if (k == KEY_MIME_TYPE)
            type = take_string(j);
        else if (k == KEY_DATA)
            has_data = take_text(j);
        else
            (void)json_skip(j); /* the status is sticky */
    }
    if (has_data)
        *kinds |= span_starts_with(type, SPAN("audio")) ? DIALECT_AUDIO : DIALECT_IMAGE;
}

static void take_part(struct json *j, struct said *s)
{
    struct span key;
    struct span text = {0};
    bool is_thought = false;
    if (!take_object(j))
        return;
    while (json_key(j, &key)) {
        switch (key_of(key)) {
        case KEY_TEXT:
            text = take_string(j);
            break;
        case KEY_THOUGHT:
            take_flag(j, &is_thought);
            break;
        case KEY_THOUGHT_SIGNATURE:
            s->kinds |= take_text(j) ? DIALECT_REASONING_OPAQUE : 0;
            break;
        case KEY_FUNCTION_CALL_CAMEL:
            take_function_call(j, &s->kinds);
            break;
        case KEY_EXECUTABLE_CODE:
            take_executable_code(j, &s->kinds);
            break;
        case KEY_INLINE_DATA:
            take_inline_data(j, &s->kinds);
            break;
        default:
            (void)json_skip(j); /* the status is sticky */
            break;
        }
    }
    said_output(s, is_thought ? DIALECT_REASONING | DIALECT_REASONING_SUMMARY : DIALECT_TEXT, text);
}

static void take_content(struct json *j, struct said *s)
{
    struct span key;
    if (!take_object(j))
        return;
    while (json_key(j, &key)) {
        if (key_of(key) != KEY_PARTS) {
            (void)json_skip(j); /* the status is sticky */
            continue;
        }
        if (!take_array(j))
            continue;
        while (json_item(j))
            take_part(j, s);
    }
}

/* --- answers --- */

static void take_candidate(struct json *j, struct said *s)
{
    struct span key;
    struct span finish = {0};
    int64_t index = 0;
    if (!take_object(j))
        return;
    while (json_key(j, &key)) {
        switch (key_of(key)) {
        case KEY_CONTENT:
            take_content(j, s);
            break;
        case KEY_FINISH_REASON_CAMEL:
            finish = take_string(j);
            break;
        case KEY_INDEX:
            take_count(j, &index);
            break;
        default:
            (void)json_skip(j); /* the status is sticky */
            break;
        }
    }
    if (index > s->max_index)
        s->max_index = index;
    said_finish(s, index, finish);
}

static void take_candidates(struct json *j, struct said *s)
{
    if (!take_array(j))
        return;
    while (json_item(j)) {
        s->has_choices = true;
        take_candidate(j, s);
    }
}

/* A prompt that was refused has no candidates. */
static void take_prompt_feedback(struct json *j, struct said *s)
{
    struct span key;
    struct span reason = {0};
    if (!take_object(j))
        return;
    while (json_key(j, &key)) {
        if (key_of(key) == KEY_BLOCK_REASON)
            reason = take_string(j);
        else
            (void)json_skip(j); /* the status is sticky */
    }
    if (reason.n > 0)
        said_finish_detail(s, 0, SPAN("blocked"), reason);
}

static void take_usage(struct json *j, struct said *s)
{
    struct span key;
    if (!take_object(j))
        return;
    s->has_usage = true;
    while (json_key(j, &key)) {
        switch (key_of(key)) {
        case KEY_PROMPT_TOKEN_COUNT:
            take_count(j, &s->usage.prompt);
            break;
        case KEY_CANDIDATES_TOKEN_COUNT:
            take_count(j, &s->usage.completion);
            break;
        case KEY_CACHED_CONTENT_TOKEN_COUNT:
            take_count(j, &s->usage.cached);
            break;
        case KEY_THOUGHTS_TOKEN_COUNT:
            take_count(j, &s->usage.reasoning);
            break;
        case KEY_TOOL_USE_PROMPT_TOKEN_COUNT:
            take_count(j, &s->usage.tool_prompt);
            break;
        case KEY_TOTAL_TOKEN_COUNT:
            take_count(j, &s->usage.total);
            break;
        default:
            (void)json_skip(j); /* the status is sticky */
            break;
        }
    }
}

static void take_member(struct json *j, enum key key, struct said *s)
{
    switch (key) {
    case KEY_CANDIDATES:
        take_candidates(j, s);
        break;
    case KEY_PROMPT_FEEDBACK:
        take_prompt_feedback(j, s);
        break;
    case KEY_USAGE_METADATA:
        take_usage(j, s);
        break;
    case KEY_MODEL_VERSION:
        take_name(j, &s->model);
        break;
    case KEY_ERROR:
        said_take_error(s, j);
        break;
    default:
        (void)json_skip(j); /* the status is sticky */
        break;
    }
}

/* The inside of an answer, or of what it is wrapped in. */
static void take_answer(struct json *j, struct said *s)
{
    struct span key;
    struct span member;
    while (json_key(j, &key)) {
        enum key k = key_of(key);
        if (k != KEY_RESPONSE) {
            take_member(j, k, s);
            continue;
        }
        if (!take_object(j))
            continue;
        while (json_key(j, &member))
            take_member(j, key_of(member), s);
    }
}

static bool gemini_parse(struct span name, struct span data, struct said *ret)
{
    struct json j;
    struct json_value v;
    bool is_object = false;
    (void)name;
    json_init(&j, data);
    if (!json_next(&j, &v))
        return false;
    if (v.type == JSON_OBJECT) {
        is_object = true;
        take_answer(&j, ret);
    } else if (v.type == JSON_ARRAY) {
        while (json_item(&j)) {
            if (take_object(&j)) {
                is_object = true;
                take_answer(&j, ret);
            }
        }
    }
    return json_is_done(&j) && is_object;
}

static void gemini_event(struct dialect_answer *a, struct span name, struct span data,
                         struct token_event *ret)
{
    said_event(a, name, data, gemini_parse, ret);
}

static void gemini_answer(struct dialect_answer *a, struct span body)
{
    said_answer(a, body, gemini_parse);
}

static bool gemini_is_ended(const struct dialect_answer *a)
{
    return a->has_finish;
}

/* --- requests --- */

static int hex_of(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c |= 0x20;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Copies what may be percent-encoded; what is not rightly so stays as it is. Whether all of it. */
static bool decode(struct span s, char *dst, size_t cap)
{
    size_t n = 0;
    while (s.n > 0 && n + 1 < cap) {
        int high = s.n > 2 && s.p[0] == '%' ? hex_of(s.p[1]) : -1;
        int low = high >= 0 ? hex_of(s.p[2]) : -1;
        bool is_coded = low >= 0 && (high | low) != 0;
        dst[n++] = is_coded ? (char)(high << 4 | low) : s.p[0];
        (void)span_take(&s, is_coded ? 3 : 1);
    }
    dst[n] = '\0';
    return s.n == 0;
}

static struct span last_segment(struct span path)
{
    size_t at = path.n;
    while (at > 0 && path.p[at - 1] != '/')
        at--;
    return span_from(path, at);
}

/* ".../models/NAME:streamGenerateContent?alt=sse". Code Assist's "/v1internal:..." names none. */
static void read_target(struct span target, struct dialect_request *ret)
{
    struct span path = {target.p, span_find_char(target, '?')};
    while (path.n > 0 && path.p[path.n - 1] == '/')
        path.n--;
    struct span name = last_segment(path);
    size_t colon = name.n;
    while (colon > 0 && name.p[colon - 1] != ':')
        colon--;
    ret->is_stream = span_eq(span_from(name, colon), SPAN("streamGenerateContent"));
    bool has_parent = path.n > name.n;
    struct span parent = last_segment((struct span){path.p, has_parent ? path.n - name.n - 1 : 0});
    if (colon > 0 && (span_eq(parent, SPAN("models")) || span_eq(parent, SPAN("tunedModels")) ||
                      span_eq(parent, SPAN("endpoints")))) {
        ret->is_model_cut =
            !decode((struct span){name.p, colon - 1}, ret->model, sizeof(ret->model));
        ret->is_model_in_target = true;
        ret->model_at = (size_t)(name.p - target.p);
        ret->model_bytes = colon - 1;
    }
}

static void take_generation_config(struct json *j, struct dialect_request *ret)
{
    struct span key;
    if (!take_object(j))
        return;
    while (json_key(j, &key)) {
        switch (key_of(key)) {
        case KEY_MAX_OUTPUT_TOKENS:
        case KEY_MAX_OUTPUT_TOKENS_CAMEL:
            take_positive(j, &ret->max_tokens);
            break;
        case KEY_CANDIDATE_COUNT:
        case KEY_CANDIDATE_COUNT_SNAKE:
            take_positive(j, &ret->n);
            break;
        default:
            (void)json_skip(j); /* the status is sticky */
            break;
        }
    }
}

static void take_request_member(struct inspect_walk *w, enum key key)
{
    switch (key) {
    case KEY_CONTENTS:
    case KEY_SYSTEM_INSTRUCTION:
    case KEY_SYSTEM_INSTRUCTION_SNAKE:
        inspect_take_prompt(w);
        break;
    case KEY_GENERATION_CONFIG:
    case KEY_GENERATION_CONFIG_SNAKE:
        take_generation_config(&w->json, w->request);
        break;
    default:
        (void)json_skip(&w->json); /* the status is sticky */
        break;
    }
}

/* The path's model counts, else that of the body's outer object. */
static void note_other_model(struct dialect_request *ret, struct span key)
{
    if (inspect_is_like_model(key))
        ret->is_duplicate_model = true;
}

static void gemini_inspect(struct span target, struct span window, bool is_complete,
                           struct dialect_request *ret)
{
    struct inspect_walk w;
    struct json *j = &w.json;
    struct span key;
    struct span member;
    inspect_begin(&w, window, is_complete, ret);
    read_target(target, ret);
    bool is_named = ret->model[0] != '\0';
    /* No inspect_member: model and stream of the body are not those of the other dialects. */
    while (w.is_object && json_key(j, &key)) {
        enum key k = key_of(key);
        if (k == KEY_MODEL && !is_named) {
            inspect_take_model(&w, key);
        } else if (k != KEY_REQUEST) {
            note_other_model(ret, key);
            take_request_member(&w, k);
        } else if (take_object(j)) {
            while (json_key(j, &member)) {
                note_other_model(ret, member);
                take_request_member(&w, key_of(member));
            }
        }
    }
    inspect_end(&w);
}

/* --- refusals --- */

/* Google's names of what an HTTP status stands for. */
static const char *status_name(int status)
{
    switch (status) {
    case 401:
        return "UNAUTHENTICATED";
    case 403:
        return "PERMISSION_DENIED";
    case 404:
        return "NOT_FOUND";
    case 429:
        return "RESOURCE_EXHAUSTED";
    case 408:
    case 504:
        return "DEADLINE_EXCEEDED";
    case 502:
    case 503:
        return "UNAVAILABLE";
    default:
        return status < 500 ? "INVALID_ARGUMENT" : "INTERNAL";
    }
}

static int gemini_refusal_body(enum dialect_refusal r, const char *message, struct buf *ret_body)
{
    int status = dialect_refusal_status(r);
    size_t n_before = buf_len(ret_body);
    struct jsonw w;
    jsonw_init(&w, ret_body);
    jsonw_begin_object(&w);
    jsonw_key(&w, "error");
    jsonw_begin_object(&w);
    jsonw_put_i64(&w, "code", status);
    jsonw_put_cstr(&w, "message", message ? message : status_name(status));
    jsonw_put_cstr(&w, "status", status_name(status));
    jsonw_end_object(&w);
    jsonw_end_object(&w);
    return refusal_end(&w, ret_body, n_before);
}

const struct dialect dialect_gemini = {
    .name = "gemini",
    .key_field = "x-goog-api-key",
    .framing = FRAMING_JSON_ARRAY,
    .is_generating = true,
    .is_reasoning_beside_completion = true,
    .inspect = gemini_inspect,
    .event = gemini_event,
    .answer = gemini_answer,
    .is_ended = gemini_is_ended,
    .refusal_body = gemini_refusal_body,
};
