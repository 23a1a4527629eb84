/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dialect/openai_common.c - chunks and answers of the OpenAI dialects: choices, usage, errors.
 *
 * One pass per chunk, no allocation. Strings are looked at for emptiness only; the few that are
 * kept (model, finish reason, error type) are copied when the whole chunk has proved to be JSON.
 */
#include "dialect/openai_common.h"

/* --- usage --- */

void openai_take_details(struct json *j, struct openai_details *ret)
{
    struct span key;
    if (!take_object(j))
        return;
    while (json_key(j, &key)) {
        ret->is_filled = true;
        switch (key_of(key)) {
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
    struct openai_details prompt;
    struct openai_details input;
    struct openai_details completion;
    int64_t cache_hit;  /* DeepSeek */
    int64_t cache_read; /* Anthropic's name in OpenAI clothes */
};

/* One of the times that an engine tells about itself; another key is passed over. */
static void take_time(struct json *j, enum key key, struct engine_times *t)
{
    const double ms = 1e6;
    const double s = 1e9;
    switch (key) {
    case KEY_QUEUE_TIME_MS: /* vLLM */
        take_scaled(j, ms, &t->queue_ns);
        break;
    case KEY_TIME_TO_FIRST_TOKEN_MS: /* from scheduling on, not from arrival */
    case KEY_PROMPT_MS:              /* llama.cpp */
        take_scaled(j, ms, &t->prefill_ns);
        break;
    case KEY_GENERATION_TIME_MS:
    case KEY_PREDICTED_MS:
        take_scaled(j, ms, &t->decode_ns);
        break;
    case KEY_QUEUE_TIME: /* Groq, Cerebras */
        take_scaled(j, s, &t->queue_ns);
        break;
    case KEY_PROMPT_TIME:
        take_scaled(j, s, &t->prefill_ns);
        break;
    case KEY_COMPLETION_TIME:
        take_scaled(j, s, &t->decode_ns);
        break;
    case KEY_TOTAL_TIME:
        take_scaled(j, s, &t->total_ns);
        break;
    default:
        (void)json_skip(j); /* the status is sticky */
        break;
    }
}

static void take_usage_member(struct json *j, enum key key, struct counts *c,
                              struct engine_times *times)
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
        openai_take_details(j, &c->prompt);
        break;
    case KEY_COMPLETION_TOKENS_DETAILS:
        openai_take_details(j, &c->completion);
        break;
    case KEY_INPUT_TOKENS_DETAILS:
        openai_take_details(j, &c->input);
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
        take_time(j, key, times);
        break;
    }
}

/* Takes the next value; true and *ret when it is an object. Times beside the counts go to *times.
 */
static bool take_usage(struct json *j, struct usage *ret, struct engine_times *times)
{
    struct span key;
    if (!take_object(j))
        return false;
    struct counts c = {USAGE_NONE,          OPENAI_DETAILS_NONE, OPENAI_DETAILS_NONE,
                       OPENAI_DETAILS_NONE, USAGE_UNTOLD,        USAGE_UNTOLD};
    while (json_key(j, &key))
        take_usage_member(j, key_of(key), &c, times);
    struct usage u = c.usage;
    const struct openai_details *writes = c.prompt.is_filled ? &c.prompt : &c.input;
    u.cache_write = usage_first_told(writes->cache_write, writes->cache_creation);
    u.cached = usage_first_told(usage_first_told(c.prompt.cached, c.cache_hit),
                                usage_first_told(u.cached, c.cache_read));
    u.reasoning = usage_first_told(c.completion.reasoning, u.reasoning);
    *ret = u;
    return true;
}

/* --- choices --- */

/* A walk through one chunk. Of the places of a usage the top level wins, then choices, then x_groq.
 */
struct walk {
    openai_on_choice *on_choice;
    struct said *said;
    bool has_choice_usage;
    bool has_groq_usage;
    struct usage choice_usage;
    struct usage groq_usage;
    bool is_error_object; /* "object":"error", what names it stands beside (vLLM) */
    struct span type;
    struct span code;
};

static void take_choice(struct json *j, struct walk *w)
{
    struct span raw;
    struct span finish = {0};
    int64_t index = 0;
    while (json_key(j, &raw)) {
        enum key key = key_of(raw);
        switch (key) {
        case KEY_INDEX:
            take_count(j, &index);
            break;
        case KEY_FINISH_REASON:
            finish = take_string(j);
            break;
        case KEY_USAGE:
            w->has_choice_usage =
                take_usage(j, &w->choice_usage, &w->said->engine) || w->has_choice_usage;
            break;
        case KEY_ERROR:
            said_take_error(w->said, j);
            break;
        default:
            if (w->on_choice)
                w->on_choice(j, key, w->said);
            else
                (void)json_skip(j); /* the status is sticky */
            break;
        }
    }
    if (index > w->said->max_index)
        w->said->max_index = index;
    said_finish(w->said, index, finish);
}

static void take_choices(struct json *j, struct walk *w)
{
    w->said->has_choices = false;
    if (!take_array(j))
        return;
    while (json_item(j)) {
        w->said->has_choices = true;
        if (take_object(j))
            take_choice(j, w);
    }
}

/* Groq's extra object. */
static void take_x_groq(struct json *j, struct walk *w)
{
    struct span key;
    if (!take_object(j))
        return;
    while (json_key(j, &key)) {
        switch (key_of(key)) {
        case KEY_USAGE:
            w->has_groq_usage = take_usage(j, &w->groq_usage, &w->said->engine);
            break;
        case KEY_ERROR:
            said_take_error(w->said, j);
            break;
        default:
            (void)json_skip(j); /* the status is sticky */
            break;
        }
    }
}

/* The objects in which engines tell their own times: llama.cpp, vLLM, Cerebras. */
static void take_times(struct json *j, struct engine_times *ret)
{
    struct span key;
    if (!take_object(j))
        return;
    while (json_key(j, &key))
        take_time(j, key_of(key), ret);
}

static void take_member(struct json *j, enum key key, struct walk *w)
{
    struct said *s = w->said;
    switch (key) {
    case KEY_CHOICES:
        take_choices(j, w);
        break;
    case KEY_MODEL:
        take_name(j, &s->model);
        break;
    case KEY_SYSTEM_FINGERPRINT:
        take_name(j, &s->fingerprint);
        break;
    case KEY_USAGE:
        s->has_usage = take_usage(j, &s->usage, &s->engine);
        break;
    case KEY_X_GROQ:
        take_x_groq(j, w);
        break;
    case KEY_TIMINGS:
    case KEY_METRICS:
    case KEY_TIME_INFO:
        take_times(j, &s->engine);
        break;
    case KEY_ERROR:
        said_take_error(s, j);
        break;
    case KEY_OBJECT:
        w->is_error_object = json_str_eq(take_string(j), SPAN("error"));
        break;
    case KEY_OBFUSCATION:
        said_take_varying(s, j);
        break;
    case KEY_TYPE:
        take_name(j, &w->type);
        break;
    case KEY_CODE:
        take_name(j, &w->code);
        break;
    default:
        (void)json_skip(j); /* the status is sticky */
        break;
    }
}

bool openai_parse(struct span data, openai_on_choice *on_choice, struct said *ret)
{
    struct json j;
    struct span key;
    struct walk w = {.on_choice = on_choice, .said = ret};
    json_init(&j, data);
    if (!take_object(&j))
        return false;
    while (json_key(&j, &key))
        take_member(&j, key_of(key), &w);
    if (!json_is_done(&j))
        return false;
    if (!ret->has_usage && (w.has_choice_usage || w.has_groq_usage)) {
        ret->usage = w.has_choice_usage ? w.choice_usage : w.groq_usage;
        ret->has_usage = true;
    }
    if (w.is_error_object) {
        ret->is_error = true;
        ret->error_type = w.type.n > 0 ? w.type : w.code;
    }
    return true;
}

/* Answers are read without their choices' insides. */
static bool answer_parse(struct span name, struct span data, struct said *ret)
{
    (void)name;
    return openai_parse(data, NULL, ret);
}

void openai_event(struct dialect_answer *a, struct span name, struct span data, said_parse *parse,
                  struct token_event *ret)
{
    said_event(a, name, data, parse, ret);
    a->has_end_mark = a->has_end_mark || a->has_done_marker;
}

void openai_answer(struct dialect_answer *a, struct span body)
{
    said_answer(a, body, answer_parse);
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
    if (!take_object(&j))
        return false;
    while (json_key(&j, &key)) {
        switch (key_of(key)) {
        case KEY_CHOICES:
            has_empty_choices = take_array(&j) && !json_item(&j);
            if (!has_empty_choices)
                return false;
            break;
        case KEY_USAGE:
            has_usage = take_whole(&j, &v) && v.type == JSON_OBJECT;
            break;
        case KEY_ERROR:
            if (take_truthy(&j))
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
