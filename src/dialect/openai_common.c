/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dialect/openai_common.c - chunks and answers of the OpenAI dialects: choices, usage, errors.
 *
 * One pass per chunk, no allocation. Strings are looked at for emptiness only; the few that are
 * kept (model, finish reason, error type) are copied when the whole chunk has proved to be JSON.
 */
#include "dialect/openai_common.h"

bool openai_take_whole(struct json *j, struct json_value *ret)
{
    if (!json_next(j, ret))
        return false;
    return (ret->type != JSON_OBJECT && ret->type != JSON_ARRAY) || json_leave(j);
}

static bool enter(struct json *j, enum json_type type)
{
    struct json_value v;
    if (!json_next(j, &v) || v.type == type)
        return json_status(j) == JSON_OK;
    if (v.type == JSON_OBJECT || v.type == JSON_ARRAY)
        (void)json_leave(j); /* the status is sticky */
    return false;
}

bool openai_enter_object(struct json *j)
{
    return enter(j, JSON_OBJECT);
}

bool openai_enter_array(struct json *j)
{
    return enter(j, JSON_ARRAY);
}

bool openai_take_text(struct json *j)
{
    struct json_value v;
    return openai_take_whole(j, &v) && json_is_nonempty_string(&v);
}

void openai_take_output_text(struct json *j, struct openai_output *out)
{
    struct json_value v;
    if (!openai_take_whole(j, &v) || !json_is_nonempty_string(&v))
        return;
    out->kinds |= DIALECT_TEXT;
    out->text = v.raw;
    out->n_texts++;
}

static bool is_truthy(struct json *j, const struct json_value *v)
{
    struct span key;
    double number;
    bool is_filled;
    switch (v->type) {
    case JSON_NULL:
        return false;
    case JSON_BOOL:
        return v->is_true;
    case JSON_NUMBER:
        return !json_double(v, &number) || number < 0.0 || number > 0.0;
    case JSON_STRING:
        return v->raw.n > 0;
    case JSON_OBJECT:
        is_filled = json_key(j, &key);
        break;
    case JSON_ARRAY:
        is_filled = json_item(j);
        break;
    default:
        return false;
    }
    if (is_filled)
        (void)json_leave(j); /* the status is sticky */
    return is_filled;
}

bool openai_take_truthy(struct json *j)
{
    struct json_value v;
    return json_next(j, &v) && is_truthy(j, &v);
}

/* --- usage --- */

static void take_count(struct json *j, int64_t *ret)
{
    struct json_value v;
    if (openai_take_whole(j, &v))
        (void)json_i64(&v, ret); /* null and other types tell nothing */
}

/* Detail objects of a usage: every count that any vendor puts there. */
struct details {
    int64_t cached;
    int64_t cache_write;
    int64_t cache_creation;
    int64_t reasoning;
    bool is_filled;
};
#define DETAILS_NONE                                                                               \
    ((struct details){USAGE_UNTOLD, USAGE_UNTOLD, USAGE_UNTOLD, USAGE_UNTOLD, false})

static void take_details(struct json *j, struct details *ret)
{
    struct span key;
    if (!openai_enter_object(j))
        return;
    while (json_key(j, &key)) {
        ret->is_filled = true;
        switch (openai_key_of(key)) {
        case KEY_CACHED_TOKENS:
            take_count(j, &ret->cached);
            break;
        case KEY_REASONING_TOKENS:
            take_count(j, &ret->reasoning);
            break;
        case KEY_CACHE_WRITE_TOKENS:
            take_count(j, &ret->cache_write);
            break;
        case KEY_CACHE_CREATION_TOKENS:
            take_count(j, &ret->cache_creation);
            break;
        default:
            (void)json_skip(j); /* the status is sticky */
            break;
        }
    }
}

/* A usage object with the names of all vendors, before one of each is chosen. */
struct counts {
    struct usage usage;
    struct details prompt;
    struct details input;
    struct details completion;
    int64_t cache_hit;  /* DeepSeek */
    int64_t cache_read; /* Anthropic's name in OpenAI clothes */
};

static void take_usage_member(struct json *j, enum openai_key key, struct counts *c)
{
    switch (key) {
    case KEY_PROMPT_TOKENS:
        take_count(j, &c->usage.prompt);
        break;
    case KEY_COMPLETION_TOKENS:
        take_count(j, &c->usage.completion);
        break;
    case KEY_TOTAL_TOKENS:
        take_count(j, &c->usage.total);
        break;
    case KEY_PROMPT_TOKENS_DETAILS:
        take_details(j, &c->prompt);
        break;
    case KEY_COMPLETION_TOKENS_DETAILS:
        take_details(j, &c->completion);
        break;
    case KEY_INPUT_TOKENS_DETAILS:
        take_details(j, &c->input);
        break;
    case KEY_PROMPT_CACHE_HIT_TOKENS:
        take_count(j, &c->cache_hit);
        break;
    case KEY_CACHED_TOKENS:
        take_count(j, &c->usage.cached);
        break;
    case KEY_CACHE_READ_INPUT_TOKENS:
        take_count(j, &c->cache_read);
        break;
    case KEY_REASONING_TOKENS:
        take_count(j, &c->usage.reasoning);
        break;
    default:
        (void)json_skip(j); /* the status is sticky */
        break;
    }
}

static int64_t first_told(int64_t a, int64_t b)
{
    return a != USAGE_UNTOLD ? a : b;
}

/* Takes the next value; true and *ret when it is an object. */
static bool take_usage(struct json *j, struct usage *ret)
{
    struct span key;
    if (!openai_enter_object(j))
        return false;
    struct counts c = {USAGE_NONE,   DETAILS_NONE, DETAILS_NONE,
                       DETAILS_NONE, USAGE_UNTOLD, USAGE_UNTOLD};
    while (json_key(j, &key))
        take_usage_member(j, openai_key_of(key), &c);
    struct usage u = c.usage;
    const struct details *writes = c.prompt.is_filled ? &c.prompt : &c.input;
    u.cache_write = first_told(writes->cache_write, writes->cache_creation);
    u.cached =
        first_told(first_told(c.prompt.cached, c.cache_hit), first_told(u.cached, c.cache_read));
    u.reasoning = first_told(c.completion.reasoning, u.reasoning);
    *ret = u;
    return true;
}

static void fold_usage(struct usage *into, const struct usage *u)
{
    into->prompt = first_told(u->prompt, into->prompt);
    into->completion = first_told(u->completion, into->completion);
    into->cached = first_told(u->cached, into->cached);
    into->cache_write = first_told(u->cache_write, into->cache_write);
    into->reasoning = first_told(u->reasoning, into->reasoning);
    into->total = first_told(u->total, into->total);
}

/* --- errors --- */

/* Takes a value that may name the kind of an error: a string, or a number (an HTTP status). */
static void take_name(struct json *j, struct span *ret)
{
    struct json_value v;
    if (openai_take_whole(j, &v) && (json_is_nonempty_string(&v) || v.type == JSON_NUMBER))
        *ret = v.raw;
}

/* What names an error, in its object or beside "object":"error". */
struct error_names {
    struct span type;
    struct span code;
};

static struct span error_name(const struct error_names *e)
{
    return e->type.n > 0 ? e->type : e->code;
}

/* Takes the value of an "error" key. */
static void take_error(struct json *j, struct openai_event *e)
{
    struct json_value v;
    struct span key;
    struct error_names names = {{0}, {0}};
    bool is_filled = false;
    if (!json_next(j, &v))
        return;
    if (v.type != JSON_OBJECT) {
        e->is_error = is_truthy(j, &v) || e->is_error;
        return;
    }
    while (json_key(j, &key)) {
        is_filled = true;
        switch (openai_key_of(key)) {
        case KEY_TYPE:
            take_name(j, &names.type);
            break;
        case KEY_CODE:
            take_name(j, &names.code);
            break;
        default:
            (void)json_skip(j); /* the status is sticky */
            break;
        }
    }
    if (!is_filled)
        return;
    e->is_error = true;
    if (error_name(&names).n > 0)
        e->error_type = error_name(&names);
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

/* --- choices --- */

/* The places of a usage in one chunk. The top level wins, then choices, then x_groq. */
struct places {
    bool has_choice;
    bool has_groq;
    struct usage choice;
    struct usage groq;
};

static void take_choice(struct json *j, openai_on_choice *on_choice, struct openai_event *e,
                        struct places *places)
{
    struct span raw;
    struct span finish = {0};
    int64_t index = 0;
    while (json_key(j, &raw)) {
        struct json_value v;
        enum openai_key key = openai_key_of(raw);
        switch (key) {
        case KEY_INDEX:
            take_count(j, &index);
            break;
        case KEY_FINISH_REASON:
            finish =
                openai_take_whole(j, &v) && json_is_nonempty_string(&v) ? v.raw : (struct span){0};
            break;
        case KEY_USAGE:
            places->has_choice = take_usage(j, &places->choice) || places->has_choice;
            break;
        case KEY_ERROR:
            take_error(j, e);
            break;
        default:
            if (on_choice)
                on_choice(j, key, &e->output);
            else
                (void)json_skip(j); /* the status is sticky */
            break;
        }
    }
    e->max_index = index > e->max_index ? index : e->max_index;
    if (finish.n > 0 && e->n_finished < DIALECT_CHOICES_MAX) {
        e->finished[e->n_finished].index = index;
        e->finished[e->n_finished].finish = finish;
        e->n_finished++;
    }
}

static void take_choices(struct json *j, openai_on_choice *on_choice, struct openai_event *e,
                         struct places *places)
{
    e->has_choices = false;
    if (!openai_enter_array(j))
        return;
    while (json_item(j)) {
        e->has_choices = true;
        if (openai_enter_object(j))
            take_choice(j, on_choice, e, places);
    }
}

/* Groq's extra object. */
static void take_x_groq(struct json *j, struct openai_event *e, struct places *places)
{
    struct span key;
    if (!openai_enter_object(j))
        return;
    while (json_key(j, &key)) {
        switch (openai_key_of(key)) {
        case KEY_USAGE:
            places->has_groq = take_usage(j, &places->groq);
            break;
        case KEY_ERROR:
            take_error(j, e);
            break;
        default:
            (void)json_skip(j); /* the status is sticky */
            break;
        }
    }
}

/* One member of a chunk. *names: what stands beside "object":"error" (vLLM). */
static void take_member(struct json *j, enum openai_key key, openai_on_choice *on_choice,
                        struct openai_event *e, struct places *places, struct error_names *names)
{
    struct json_value v;
    switch (key) {
    case KEY_CHOICES:
        take_choices(j, on_choice, e, places);
        break;
    case KEY_MODEL:
        take_name(j, &e->model);
        break;
    case KEY_USAGE:
        e->has_usage = take_usage(j, &e->usage);
        break;
    case KEY_X_GROQ:
        take_x_groq(j, e, places);
        break;
    case KEY_ERROR:
        take_error(j, e);
        break;
    case KEY_OBJECT:
        e->is_error_object =
            openai_take_whole(j, &v) && v.type == JSON_STRING && json_str_eq(v.raw, SPAN("error"));
        break;
    case KEY_TYPE:
        take_name(j, &names->type);
        break;
    case KEY_CODE:
        take_name(j, &names->code);
        break;
    default:
        (void)json_skip(j); /* the status is sticky */
        break;
    }
}

bool openai_parse(struct span data, openai_on_choice *on_choice, struct openai_event *ret)
{
    struct json j;
    struct span key;
    struct places places;
    struct error_names names = {{0}, {0}};
    places.has_choice = places.has_groq = false; /* the counts are read only behind these */
    *ret = (struct openai_event){.usage = USAGE_NONE, .max_index = -1};
    json_init(&j, data);
    if (!openai_enter_object(&j))
        return false;
    while (json_key(&j, &key))
        take_member(&j, openai_key_of(key), on_choice, ret, &places, &names);
    if (!json_is_done(&j))
        return false;
    if (!ret->has_usage && (places.has_choice || places.has_groq)) {
        ret->usage = places.has_choice ? places.choice : places.groq;
        ret->has_usage = true;
    }
    if (ret->is_error_object) {
        ret->is_error = true;
        ret->error_type = error_name(&names);
    }
    return true;
}

static void fold_finish(struct dialect_answer *a, int64_t index, struct span raw)
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
    (void)json_unescape(raw, a->choices[i].finish, sizeof(a->choices[i].finish));
    int shown = 0;
    while (shown < a->n_choices_finished && a->choices[shown].index != 0)
        shown++;
    if (shown == a->n_choices_finished)
        shown = 0;
    memcpy(a->finish, a->choices[shown].finish, sizeof(a->finish));
}

static void fold(struct dialect_answer *a, const struct openai_event *e)
{
    if (e->model.n > 0 && a->model[0] == '\0')
        (void)json_unescape(e->model, a->model, sizeof(a->model));
    if (e->has_usage)
        fold_usage(&a->usage, &e->usage);
    for (int i = 0; i < e->n_finished; i++)
        fold_finish(a, e->finished[i].index, e->finished[i].finish);
    if (e->max_index > a->max_choice_index)
        a->max_choice_index = e->max_index;
    if (e->is_error)
        fold_error(a, e->error_type);
}

static struct span trim_space(struct span s)
{
    while (s.n > 0 && (unsigned char)s.p[0] <= ' ')
        (void)span_take(&s, 1);
    while (s.n > 0 && (unsigned char)s.p[s.n - 1] <= ' ')
        s.n--;
    return s;
}

/* One string of text and nothing else that a like event could say anew. */
static bool is_text_only(const struct openai_event *e)
{
    return e->output.kinds == DIALECT_TEXT && e->output.n_texts == 1 && e->n_finished == 0 &&
           !e->has_usage && !e->is_error;
}

void openai_event(struct dialect_answer *a, struct span name, struct span data,
                  openai_on_choice *on_choice, struct token_event *ret)
{
    struct openai_event e;
    bool is_error_name = span_eq(name, SPAN("error"));
    *ret = (struct token_event){.is_error = is_error_name};
    data = trim_space(data);
    if (name.n == 0 && shape_matches(&a->shape, data)) {
        ret->kinds = DIALECT_TEXT;
        return;
    }
    if (span_eq(data, SPAN("[DONE]"))) {
        *ret = (struct token_event){.is_end = true};
        a->has_done_marker = true;
        return;
    }
    if (!openai_parse(data, on_choice, &e)) {
        a->n_bad_json++;
        if (is_error_name && data.n > 0)
            fold_error(a, (struct span){0});
        ret->is_error = is_error_name && data.n > 0;
        return;
    }
    e.is_error = e.is_error || is_error_name;
    fold(a, &e);
    ret->kinds = e.output.kinds;
    ret->is_error = e.is_error;
    ret->has_usage = e.has_usage;
    ret->has_no_choices = !e.has_choices;
    if (is_text_only(&e))
        shape_learn(&a->shape, data, e.output.text);
}

void openai_answer(struct dialect_answer *a, struct span body)
{
    struct openai_event e;
    if (openai_parse(trim_space(body), NULL, &e))
        fold(a, &e);
    else
        a->n_bad_json++;
}

bool openai_may_be_bare_usage(struct span event)
{
    /* Such an event holds an empty array, and hardly any other does. */
    for (;;) {
        size_t at = span_find_char(event, '[');
        if (at == event.n)
            return false;
        event = span_from(event, at + 1);
        size_t n_space = 0;
        while (n_space < event.n && event.p[n_space] == ' ')
            n_space++;
        /* A line end may be followed by the name of the next data line: look closer. */
        int c = n_space < event.n ? event.p[n_space] : 0;
        if (c == ']' || c == '\t' || c == '\r' || c == '\n')
            return true;
    }
}

bool openai_is_bare_usage(struct span data)
{
    struct json j;
    struct json_value v;
    struct span key;
    bool has_empty_choices = false;
    bool has_usage = false;
    json_init(&j, data);
    if (!openai_enter_object(&j))
        return false;
    while (json_key(&j, &key)) {
        switch (openai_key_of(key)) {
        case KEY_CHOICES:
            has_empty_choices = openai_enter_array(&j) && !json_item(&j);
            if (!has_empty_choices)
                return false;
            break;
        case KEY_USAGE:
            has_usage = openai_take_whole(&j, &v) && v.type == JSON_OBJECT;
            break;
        case KEY_ERROR:
            if (openai_take_truthy(&j))
                return false;
            break;
        default:
            (void)json_skip(&j); /* the status is sticky */
            break;
        }
    }
    return json_is_done(&j) && has_empty_choices && has_usage;
}

bool openai_is_ended(const struct dialect_answer *a)
{
    return a->has_finish || a->has_done_marker;
}
