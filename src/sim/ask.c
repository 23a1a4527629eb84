/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/ask.h"

#include <errno.h>

#include "wire/json.h"

void ask_init(struct ask *a)
{
    *a = (struct ask){.max_tokens = -1, .n_choices = 1};
}

/* The next value if it is of that type; another one is passed over. */
static bool take(struct json *j, enum json_type type, struct json_value *ret)
{
    if (!json_next(j, ret))
        return false;
    if (ret->type == type)
        return true;
    if (ret->type == JSON_OBJECT || ret->type == JSON_ARRAY)
        (void)json_leave(j); /* errors are sticky and seen at the end */
    return false;
}

static void take_bool(struct json *j, bool *ret)
{
    struct json_value v;

    if (take(j, JSON_BOOL, &v))
        *ret = v.is_true;
}

static void take_count(struct json *j, int64_t *ret)
{
    struct json_value v;
    int64_t n;

    if (take(j, JSON_NUMBER, &v) && json_i64(&v, &n) && n >= 0)
        *ret = n;
}

static void take_model(struct json *j, struct ask *a)
{
    struct json_value v;

    /* A model name that would be cut inside an escape is not worth keeping. */
    if (take(j, JSON_STRING, &v) && v.raw.n < sizeof(a->model))
        (void)span_copy(v.raw, a->model, sizeof(a->model));
}

static void take_stream_options(struct json *j, struct ask *a)
{
    struct json_value v;
    struct span key;

    if (!take(j, JSON_OBJECT, &v))
        return;
    a->has_stream_options = true;
    while (json_key(j, &key)) {
        if (json_str_eq(key, SPAN("include_usage")))
            take_bool(j, &a->has_include_usage);
        else
            (void)json_skip(j); /* errors are sticky and seen at the end */
    }
}

static void take_field(struct json *j, struct span key, struct ask *a)
{
    size_t before = json_offset(j);

    if (json_str_eq(key, SPAN("model"))) {
        take_model(j, a);
    } else if (json_str_eq(key, SPAN("stream"))) {
        take_bool(j, &a->is_stream);
    } else if (json_str_eq(key, SPAN("stream_options"))) {
        take_stream_options(j, a);
    } else if (json_str_eq(key, SPAN("max_tokens")) ||
               json_str_eq(key, SPAN("max_completion_tokens"))) {
        take_count(j, &a->max_tokens);
    } else if (json_str_eq(key, SPAN("n"))) {
        take_count(j, &a->n_choices);
    } else {
        (void)json_skip(j); /* errors are sticky and seen at the end */
        if (json_str_eq(key, SPAN("messages")) || json_str_eq(key, SPAN("prompt")))
            a->prompt_bytes = (int64_t)(json_offset(j) - before);
    }
}

int ask_parse(struct span body, struct ask *ret, const char **ret_why)
{
    struct json j;
    struct json_value v;
    struct span key;
    struct ask a;

    ask_init(&a);
    json_init(&j, body);
    if (!json_next(&j, &v) || v.type != JSON_OBJECT) {
        *ret_why = "the request body is not a JSON object";
        return -EINVAL;
    }
    while (json_key(&j, &key))
        take_field(&j, key, &a);
    if (!json_is_done(&j)) {
        *ret_why = "the request body is not valid JSON";
        return -EINVAL;
    }
    if (a.prompt_bytes == 0) {
        *ret_why = "\"messages\" (chat) or \"prompt\" (completions) is missing";
        return -EINVAL;
    }
    if (a.n_choices < 1)
        a.n_choices = 1;
    *ret = a;
    return 0;
}
