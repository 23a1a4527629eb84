/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dialect/inspect.c - see inspect.h.
 */
#include "dialect/inspect.h"

void inspect_begin(struct inspect_walk *w, struct span window, bool is_complete,
                   struct dialect_request *ret)
{
    *ret = (struct dialect_request){.is_complete = is_complete, .max_tokens = -1, .n = 1};
    *w = (struct inspect_walk){.window_bytes = window.n, .request = ret};
    json_init(&w->json, window);
    w->is_object = take_object(&w->json);
}

static void take_model(struct inspect_walk *w, struct span key)
{
    struct dialect_request *r = w->request;
    r->is_duplicate_model = w->n_models++ > 0 || key.n > strlen("model") || r->is_duplicate_model;
    inspect_take_model(w);
}

void inspect_take_model(struct inspect_walk *w)
{
    struct dialect_request *r = w->request;
    struct json_value v;
    r->model[0] = '\0';
    r->model_bytes = 0;
    if (!take_whole(&w->json, &v) || v.type != JSON_STRING)
        return;
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
            take_model(w, raw);
        } else if (key == KEY_STREAM) {
            take_stream(w);
        } else {
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
