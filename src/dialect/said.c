/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dialect/said.c - see said.h. Strings are kept (model, finish reason, error type) only here.
 */
#include "dialect/said.h"

#include "base/attr.h"

void said_init(struct said *s)
{
    memset(s, 0, offsetof(struct said, finished));
    s->usage = USAGE_NONE;
    s->engine = ENGINE_TIMES_NONE;
    s->max_index = -1;
}

void said_output(struct said *s, uint32_t kind, struct span raw)
{
    if (raw.n == 0)
        return;
    s->kinds |= kind;
    s->text = raw;
    s->n_texts++;
}

void said_take_output(struct said *s, struct json *j, uint32_t kind)
{
    said_output(s, kind, take_string(j));
}

void said_take_varying(struct said *s, struct json *j)
{
    struct json_value v;
    if (!take_whole(j, &v) || (v.type != JSON_STRING && v.type != JSON_NUMBER) ||
        s->n_varying == (int)ARRAY_LEN(s->varying))
        return;
    s->varying[s->n_varying++] = v.raw;
}

void said_finish_detail(struct said *s, int64_t index, struct span reason, struct span detail)
{
    if (reason.n == 0 || s->n_finished == DIALECT_CHOICES_MAX)
        return;
    s->finished[s->n_finished].index = index;
    s->finished[s->n_finished].finish = reason;
    s->finished[s->n_finished].detail = detail;
    s->n_finished++;
}

void said_finish(struct said *s, int64_t index, struct span reason)
{
    said_finish_detail(s, index, reason, (struct span){0});
}

bool said_is_error(struct json *j, struct span *ret_type)
{
    struct json_value v;
    struct span key;
    struct span type = {0};
    struct span status = {0};
    struct span code = {0};
    bool is_filled = false;
    if (!json_next(j, &v))
        return false;
    if (v.type != JSON_OBJECT)
        return take_is_truthy(j, &v);
    while (json_key(j, &key)) {
        is_filled = true;
        switch (key_of(key)) {
        case KEY_TYPE:
            take_name(j, &type);
            break;
        case KEY_STATUS: /* Google: "RESOURCE_EXHAUSTED" beside the code 429 */
            take_name(j, &status);
            break;
        case KEY_CODE:
            take_name(j, &code);
            break;
        default:
            (void)json_skip(j); /* the status is sticky */
            break;
        }
    }
    struct span name = type.n > 0 ? type : status.n > 0 ? status : code;
    if (name.n > 0)
        *ret_type = name;
    return is_filled;
}

void said_take_error(struct said *s, struct json *j)
{
    s->is_error = said_is_error(j, &s->error_type) || s->is_error;
}

/* Error kinds become a label-like detail, so free text must not get in. */
static bool is_plain_name(struct span s)
{
    if (s.n == 0 || s.n >= DIALECT_ERROR_MAX)
        return false;
    for (size_t i = 0; i < s.n; i++) {
        char c = s.p[i];
        bool is_word = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
        if (!is_word && c != '_' && c != '-' && c != '.' && c != ':')
            return false;
    }
    return true;
}

static void fold_error(struct dialect_answer *a, struct span type)
{
    bool is_named = a->has_error && strcmp(a->error, "error") != 0;
    a->has_error = true;
    if (is_plain_name(type))
        (void)span_copy(type, a->error, sizeof(a->error));
    else if (!is_named)
        (void)span_copy(SPAN("error"), a->error, sizeof(a->error));
}

static void write_finish(char *dst, size_t cap, struct span reason, struct span detail)
{
    size_t n = json_unescape(reason, dst, cap);
    if (detail.n == 0 || n + 2 > cap)
        return;
    dst[n] = ':';
    (void)json_unescape(detail, dst + n + 1, cap - n - 1);
}

static void fold_finish(struct dialect_answer *a, int64_t index, struct span reason,
                        struct span detail)
{
    int i = 0;
    while (i < a->n_choices_finished && a->choices[i].index != index)
        i++;
    a->has_finish = true;
    if (i == DIALECT_CHOICES_MAX)
        return;
    if (i == a->n_choices_finished)
        a->n_choices_finished++;
    a->choices[i].index = index;
    write_finish(a->choices[i].finish, sizeof(a->choices[i].finish), reason, detail);
    int shown = 0;
    while (shown < a->n_choices_finished && a->choices[shown].index != 0)
        shown++;
    if (shown == a->n_choices_finished)
        shown = 0;
    memcpy(a->finish, a->choices[shown].finish, sizeof(a->finish));
}

static void fold(struct dialect_answer *a, const struct said *s)
{
    if (s->model.n > 0 && a->model[0] == '\0')
        (void)json_unescape(s->model, a->model, sizeof(a->model));
    if (s->fingerprint.n > 0 && a->fingerprint[0] == '\0')
        (void)json_unescape(s->fingerprint, a->fingerprint, sizeof(a->fingerprint));
    if (s->has_usage)
        usage_fold(&a->usage, &s->usage);
    if (s->has_usage && s->usage.completion != USAGE_UNTOLD)
        a->is_completion_early = s->is_usage_early;
    usage_fold_times(&a->engine, &s->engine);
    for (int i = 0; i < s->n_finished; i++)
        fold_finish(a, s->finished[i].index, s->finished[i].finish, s->finished[i].detail);
    if (s->max_index > a->max_choice_index)
        a->max_choice_index = s->max_index;
    if (s->is_error)
        fold_error(a, s->error_type);
    if (s->is_end)
        a->has_end_mark = true;
}

/* JSON's white space, and whatever else is not above a blank. */
static struct span trim(struct span data)
{
    while (data.n > 0 && (unsigned char)data.p[0] <= ' ')
        (void)span_take(&data, 1);
    while (data.n > 0 && (unsigned char)data.p[data.n - 1] <= ' ')
        data.n--;
    return data;
}

/* One string of output that may be another one, and nothing that a like event could say anew: a
 * shape to learn. */
static bool is_repeatable(const struct said *s)
{
    return s->n_texts == 1 && s->n_finished == 0 && !s->has_usage && !s->is_error && !s->is_end;
}

void said_event(struct dialect_answer *a, struct span name, struct span data, said_parse *parse,
                struct token_event *ret)
{
    struct said s UNINITIALIZED; /* mostly not needed */
    bool is_error_name = span_eq(name, SPAN("error"));
    *ret = (struct token_event){.is_error = is_error_name};
    data = trim(data);
    if (!is_error_name && shape_matches(&a->shape, data, &ret->kinds))
        return;
    if (span_eq(data, SPAN("[DONE]"))) {
        *ret = (struct token_event){.is_end = true};
        a->has_done_marker = true;
        return;
    }
    said_init(&s);
    if (!parse(name, data, &s)) {
        a->n_bad_json++;
        a->n_bad_objects += data.n > 0 && data.p[0] == '{';
        ret->is_error = is_error_name && data.n > 0;
        if (ret->is_error)
            fold_error(a, (struct span){0});
        return;
    }
    s.is_error = s.is_error || is_error_name;
    fold(a, &s);
    *ret = (struct token_event){
        .kinds = s.kinds,
        .is_end = s.is_end,
        .is_error = s.is_error,
        .has_usage = s.has_usage,
        .has_no_choices = s.has_usage && !s.has_choices,
    };
    if (is_repeatable(&s))
        shape_learn(&a->shape, data, s.kinds, s.text, s.varying, s.n_varying);
}

void said_answer(struct dialect_answer *a, struct span body, said_parse *parse)
{
    struct said s UNINITIALIZED;
    said_init(&s);
    if (parse((struct span){0}, trim(body), &s))
        fold(a, &s);
    else
        a->n_bad_json++;
}

void dialect_read_stray(const struct dialect *d, struct dialect_answer *a, struct span text)
{
    struct dialect_answer stray;
    if (text.n == 0)
        return;
    dialect_answer_init(&stray);
    d->answer(&stray, text);
    if (stray.has_error)
        fold_error(a, span_cstr(stray.error));
}
