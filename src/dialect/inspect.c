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
    struct json_value v;
    r->is_duplicate_model = w->n_models++ > 0 || key.n > strlen("model");
    if (!take_whole(&w->json, &v))
        return;
    r->model[0] = '\0';
    if (v.type == JSON_STRING)
        (void)json_unescape(v.raw, r->model, sizeof(r->model));
}

bool inspect_member(struct inspect_walk *w, enum key *ret)
{
    struct span raw;
    while (w->is_object && json_key(&w->json, &raw)) {
        enum key key = key_of(raw);
        if (key == KEY_MODEL) {
            take_model(w, raw);
        } else if (key == KEY_STREAM) {
            take_flag(&w->json, &w->request->is_stream);
        } else {
            *ret = key;
            return true;
        }
    }
    return false;
}

void inspect_take_prompt(struct inspect_walk *w)
{
    size_t before = json_offset(&w->json);
    size_t after = json_skip(&w->json) ? json_offset(&w->json) : w->window_bytes;
    w->request->prompt_bytes += (int64_t)(after - before);
}

void inspect_end(struct inspect_walk *w)
{
    struct dialect_request *r = w->request;
    if (w->is_object)
        r->is_json = r->is_complete ? json_is_done(&w->json) : json_status(&w->json) != JSON_ERROR;
}
