/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/ask.h"

#include <errno.h>

#include "wire/json.h"

void ask_init(struct ask *a)
{
    *a = (struct ask){.max_tokens = -1, .n_choices = 1};
}

/* --- values --- */

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

/* Texts or lists of tokens are one input each; a list of numbers is one. */
static void take_inputs(struct json *j, struct ask *a)
{
    struct json_value v;
    int64_t n = 0;

    if (!take(j, JSON_ARRAY, &v))
        return;
    while (json_item(j)) {
        if (!json_next(j, &v))
            return;
        if (v.type == JSON_OBJECT || v.type == JSON_ARRAY)
            (void)json_leave(j); /* errors are sticky and seen at the end */
        n += v.type != JSON_NUMBER;
    }
    a->n_choices = n > 0 ? n : 1;
}

/* --- members --- */

/* What has been read of the body since `before` belongs to the prompt. */
static void add_prompt(struct json *j, size_t before, struct ask *a)
{
    size_t n = json_offset(j) - before;

    a->prompt_bytes += (int64_t)n;
    if (a->n_parts < ASK_PARTS_MAX)
        a->prompt[a->n_parts++] = span_of(a->_body + before, n);
}

static void take_field(struct json *j, enum ask_what what, struct ask *a)
{
    size_t before = json_offset(j);

    switch (what) {
    case ASK_MODEL:
        take_model(j, a);
        break;
    case ASK_STREAM:
        take_bool(j, &a->is_stream);
        break;
    case ASK_INCLUDE_USAGE:
        take_bool(j, &a->has_include_usage);
        break;
    case ASK_MAX_TOKENS:
        take_count(j, &a->max_tokens);
        break;
    case ASK_CHOICES:
        take_count(j, &a->n_choices);
        break;
    case ASK_INPUTS:
        take_inputs(j, a);
        add_prompt(j, before, a);
        break;
    case ASK_PROMPT:
        (void)json_skip(j); /* errors are sticky and seen at the end */
        add_prompt(j, before, a);
        break;
    case ASK_OPTIONS: /* taken as an object */
        break;
    }
}

/* The row of a key: the key itself, or (with a dot) something in it. */
static const struct ask_field *field_find(const struct ask_field *fields, struct span outer,
                                          struct span key, bool *ret_is_outer)
{
    for (; fields->name; fields++) {
        struct span name = span_cstr(fields->name);
        struct span first = span_split(&name, '.');

        *ret_is_outer = outer.n == 0 && (name.n > 0 || fields->what == ASK_OPTIONS);
        if (outer.n > 0 ? span_eq(first, outer) && json_str_eq(key, name) : json_str_eq(key, first))
            return fields;
    }
    return NULL;
}

static void take_members(struct json *j, const struct ask_field *fields, struct span outer,
                         struct ask *a)
{
    struct json_value v;
    struct span key;

    while (json_key(j, &key)) {
        bool is_outer;
        const struct ask_field *f = field_find(fields, outer, key, &is_outer);

        if (!f) {
            (void)json_skip(j); /* errors are sticky and seen at the end */
        } else if (!is_outer) {
            take_field(j, f->what, a);
        } else if (take(j, JSON_OBJECT, &v)) {
            struct span name = span_cstr(f->name);
            a->has_stream_options |= f->what == ASK_OPTIONS;
            take_members(j, fields, span_split(&name, '.'), a); /* once: names have one dot */
        }
    }
}

int ask_parse(struct span body, const struct ask_field *fields, const char *missing,
              struct ask *ret, const char **ret_why)
{
    struct ask a = *ret;
    struct json_value v;
    struct json j;

    a._body = body.p;
    json_init(&j, body);
    if (!json_next(&j, &v) || v.type != JSON_OBJECT) {
        *ret_why = "the request body is not a JSON object";
        return -EINVAL;
    }
    take_members(&j, fields, (struct span){0}, &a);
    if (!json_is_done(&j)) {
        *ret_why = "the request body is not valid JSON";
        return -EINVAL;
    }
    if (a.prompt_bytes == 0) {
        *ret_why = missing;
        return -EINVAL;
    }
    if (a.n_choices < 1)
        a.n_choices = 1;
    *ret = a;
    return 0;
}
