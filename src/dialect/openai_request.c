/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dialect/openai_request.c - request inspection, the include_usage edit, refusal bodies.
 *
 * The edit touches nothing but the one value.
 */
#include "dialect/inspect.h"
#include "dialect/openai_common.h"
#include "dialect/refusal.h"

static void take_stream_options(struct json *j, struct dialect_request *ret)
{
    struct span key;
    if (take_object(j)) {
        ret->has_include_usage = false;
        while (json_key(j, &key)) {
            if (key_of(key) == KEY_INCLUDE_USAGE)
                take_flag(j, &ret->has_include_usage);
            else
                (void)json_skip(j); /* the status is sticky */
        }
    } else if (json_status(j) == JSON_OK) {
        ret->has_include_usage = false;
    }
}

void openai_inspect(struct span target, struct span window, bool is_complete,
                    struct dialect_request *ret)
{
    struct inspect_walk w;
    enum key key;
    int64_t max_completion = -1;
    (void)target;

    inspect_begin(&w, window, is_complete, ret);
    while (inspect_member(&w, &key)) {
        switch (key) {
        case KEY_MAX_TOKENS:
            take_positive(&w.json, &ret->max_tokens);
            break;
        case KEY_MAX_COMPLETION_TOKENS:
        case KEY_MAX_OUTPUT_TOKENS: /* responses */
            take_positive(&w.json, &max_completion);
            break;
        case KEY_STREAM_OPTIONS:
            take_stream_options(&w.json, ret);
            break;
        case KEY_N:
            take_positive(&w.json, &ret->n);
            break;
        case KEY_MESSAGES:
        case KEY_PROMPT:
        case KEY_INPUT:
        case KEY_INSTRUCTIONS:
            inspect_take_prompt(&w);
            break;
        default:
            (void)json_skip(&w.json); /* the status is sticky */
            break;
        }
    }
    inspect_end(&w);
    if (max_completion > 0)
        ret->max_tokens = max_completion;
}

/* Where the edit has to go: the last stream_options and the last include_usage in it. */
struct usage_place {
    struct span window;
    size_t object_at;          /* behind the request's opening brace */
    bool has_options;          /* stream_options is there */
    struct json_value options; /* its value */
    bool is_options_empty;
    bool has_include;  /* include_usage is in it */
    size_t include_at; /* its value, whatever that is */
    size_t include_bytes;
};

static void find_include(struct json *j, struct usage_place *ret)
{
    struct span key;
    ret->is_options_empty = true;
    ret->has_include = false;
    while (json_key(j, &key)) {
        struct json_value v;
        ret->is_options_empty = false;
        if (key_of(key) != KEY_INCLUDE_USAGE) {
            (void)json_skip(j); /* the status is sticky */
            continue;
        }
        ret->has_include = take_whole(j, &v);
        if (!ret->has_include)
            return;
        /* A container's span runs to the end of the input, a string's leaves out the quotes: the
         * reader stands behind the value now. */
        ret->include_at = (size_t)(v.raw.p - ret->window.p) - (v.type == JSON_STRING);
        ret->include_bytes = json_offset(j) - ret->include_at;
    }
}

static bool find_place(struct span window, struct usage_place *ret)
{
    struct json j;
    struct json_value v;
    struct span key;
    *ret = (struct usage_place){.window = window};
    json_init(&j, window);
    if (!json_next(&j, &v) || v.type != JSON_OBJECT)
        return false;
    ret->object_at = (size_t)(v.raw.p + 1 - window.p);
    while (json_key(&j, &key)) {
        if (key_of(key) != KEY_STREAM_OPTIONS) {
            (void)json_skip(&j); /* the status is sticky */
            continue;
        }
        if (!json_next(&j, &ret->options))
            return false;
        ret->has_options = true;
        ret->has_include = false;
        if (ret->options.type == JSON_OBJECT)
            find_include(&j, ret);
        else if (ret->options.type == JSON_ARRAY && !json_leave(&j))
            return false;
    }
    return json_is_done(&j);
}

bool openai_add_include_usage(struct span window, const struct dialect_request *req,
                              struct dialect_edit *ret)
{
    struct usage_place place;
    if (!req->is_complete || !req->is_json || !req->is_stream || req->has_include_usage)
        return false;
    if (!find_place(window, &place))
        return false;
    struct dialect_edit e = {.at = place.object_at};
    if (!place.has_options) {
        /* "stream" is there, so a member follows and the comma is right. */
        e.insert = SPAN("\"stream_options\":{\"include_usage\":true},");
    } else if (place.options.type == JSON_NULL) {
        e.at = (size_t)(place.options.raw.p - window.p);
        e.remove = place.options.raw.n;
        e.insert = SPAN("{\"include_usage\":true}");
    } else if (place.options.type != JSON_OBJECT) {
        return false; /* the client's own mistake: the upstream shall tell it */
    } else if (place.has_include) {
        e.at = place.include_at;
        e.remove = place.include_bytes;
        e.insert = SPAN("true");
    } else {
        e.at = (size_t)(place.options.raw.p + 1 - window.p);
        e.insert = place.is_options_empty ? SPAN("\"include_usage\":true")
                                          : SPAN("\"include_usage\":true,");
    }
    *ret = e;
    return true;
}

/* --- refusals --- */

static const char *const error_types[REFUSAL_COUNT_] = {
    [REFUSAL_BAD_REQUEST] = "invalid_request_error",
    [REFUSAL_UNAUTHORIZED] = "authentication_error",
    [REFUSAL_FORBIDDEN] = "permission_error",
    [REFUSAL_NOT_FOUND] = "invalid_request_error",
    [REFUSAL_REQUEST_TIMEOUT] = "invalid_request_error",
    [REFUSAL_BODY_TOO_LARGE] = "invalid_request_error",
    [REFUSAL_TOO_MANY] = "rate_limit_error",
    [REFUSAL_QUEUE_TIMEOUT] = "rate_limit_error",
    [REFUSAL_INTERNAL] = "server_error",
    [REFUSAL_CONNECT_FAILED] = "upstream_error",
    [REFUSAL_BAD_RESPONSE] = "upstream_error",
    [REFUSAL_UPSTREAM_CUT] = "upstream_error",
    [REFUSAL_DRAINING] = "server_error",
    [REFUSAL_TIMEOUT] = "upstream_error",
};

int openai_refusal_body(enum dialect_refusal r, const char *message, struct buf *ret_body)
{
    const char *code = refusal_code(r);
    size_t n_before = buf_len(ret_body);
    struct jsonw w;
    jsonw_init(&w, ret_body);
    jsonw_begin_object(&w);
    jsonw_key(&w, "error");
    jsonw_begin_object(&w);
    jsonw_put_cstr(&w, "message", message ? message : code);
    jsonw_put_cstr(&w, "type", error_types[refusal_known(r)]);
    jsonw_key(&w, "param");
    jsonw_null(&w);
    jsonw_put_cstr(&w, "code", code);
    jsonw_end_object(&w);
    jsonw_end_object(&w);
    return refusal_end(&w, ret_body, n_before);
}
