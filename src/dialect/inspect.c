/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dialect/inspect.c - see inspect.h.
 */
#include "dialect/inspect.h"

void inspect_begin(struct inspect_walk *w, struct span window, bool is_complete,
                   struct dialect_request *ret)
{
    *ret = (struct dialect_request){.is_complete = is_complete, .max_tokens = -1, .n = 1};
    *w = (struct inspect_walk){.window = window.p, .window_bytes = window.n, .request = ret};
    json_init(&w->json, window);
    w->is_object = take_object(&w->json);
}

/* A name as a reader takes it that ends it at a NUL. */
static bool is_like(struct span key, struct span name)
{
    struct span rest = key;
    return span_eq_nocase(span_split(&rest, '\0'), name);
}

bool inspect_is_like_model(struct span raw_key)
{
    enum { LONGEST = 16 }; /* bytes that decide: none of the names has as many */
    char text[LONGEST];
    struct span key = raw_key;
    if (span_find_char(raw_key, '\\') < raw_key.n)
        key = span_of(text, json_unescape(raw_key, text, sizeof(text)));
    return is_like(key, SPAN("model")) || is_like(key, SPAN("models")) ||
           is_like(key, SPAN("fallbacks"));
}

void inspect_take_model(struct inspect_walk *w, struct span raw_key)
{
    struct dialect_request *r = w->request;
    char text[DIALECT_MODEL_MAX + 4]; /* room for one character more than is kept */
    struct json_value v;
    r->is_duplicate_model =
        r->is_duplicate_model || w->n_models++ > 0 || raw_key.n > strlen("model");
    r->is_model_cut = false;
    r->model[0] = '\0';
    r->model_bytes = 0;
    if (!take_whole(&w->json, &v) || v.type != JSON_STRING)
        return;
    size_t n = json_unescape(v.raw, text, sizeof(text));
    r->is_model_cut = n >= sizeof(r->model) || memchr(text, '\0', n) != NULL;
    (void)json_unescape(v.raw, r->model, sizeof(r->model));
    r->model_bytes = v.raw.n + 2;
    r->model_at = json_offset(&w->json) - r->model_bytes;
}

/* A value that is neither true nor false is as good as none. */
static void take_stream(struct inspect_walk *w)
{
    struct json_value v;
    if (take_whole(&w->json, &v))
        w->request->is_stream = v.type == JSON_BOOL ? v.is_true : w->is_stream_default;
}

/* Only where it stands: nobody may ask for what is in it. */
static void take_metadata(struct inspect_walk *w)
{
    size_t at = json_offset(&w->json);
    w->request->metadata = json_skip(&w->json) ? span_of(w->window + at, json_offset(&w->json) - at)
                                               : (struct span){0};
}

void inspect_stream_by_default(struct inspect_walk *w)
{
    w->is_stream_default = w->request->is_stream = w->is_object;
}

bool inspect_member(struct inspect_walk *w, enum key *ret)
{
    struct span raw;
    while (w->is_object && json_key(&w->json, &raw)) {
        enum key key = key_of(raw);
        if (key == KEY_MODEL) {
            inspect_take_model(w, raw);
        } else if (key == KEY_STREAM) {
            take_stream(w);
        } else if (key == KEY_METADATA) {
            take_metadata(w);
        } else {
            if (key == KEY_OTHER && inspect_is_like_model(raw))
                w->request->is_duplicate_model = true;
            *ret = key;
            return true;
        }
    }
    return false;
}

void inspect_take_prompt(struct inspect_walk *w)
{
    take_size(&w->json, w->window_bytes, &w->request->prompt_bytes);
}

void inspect_end(struct inspect_walk *w)
{
    struct dialect_request *r = w->request;
    if (w->is_object)
        r->is_json = r->is_complete ? json_is_done(&w->json) : json_status(&w->json) != JSON_ERROR;
}
