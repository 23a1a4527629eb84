/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dialect/inspect.h - what the inspections of requests share. Private to dialect/.
 *
 * Role:      walks the members of a request's window; model, stream and metadata are the same
 *            everywhere and are taken here, the dialect takes the others.
 * As servers read: of keys that stand twice the last one counts, and a key may be written with
 *            escapes.
 * Duplicates: is_duplicate_model tells that another reader may take another model than the one
 *            found here: "model" stands twice, or is written with escapes, in other case (Go's
 *            reader takes "Model") or with a NUL behind it; or "models" or "fallbacks" (OpenRouter,
 *            LiteLLM) offers others. For Gemini also a model both in the path and in the body.
 *
 *   struct inspect_walk w;
 *   enum key key;
 *   inspect_begin(&w, window, is_complete, ret);
 *   while (inspect_member(&w, &key)) {
 *       if (key == KEY_MAX_TOKENS)
 *           take_positive(&w.json, &ret->max_tokens);   // takes the value
 *       else
 *           (void)json_skip(&w.json);                   // or passes over it
 *   }
 *   inspect_end(&w);
 */
#ifndef DIALECT_INSPECT_H
#define DIALECT_INSPECT_H

#include "dialect/dialect.h"
#include "dialect/take.h"

struct inspect_walk {
    struct json json;
    const char *window;
    size_t window_bytes;
    struct dialect_request *request;
    bool is_object;
    bool is_stream_default;
    int n_models;
};

/* *ret is set to what is known of a request that says nothing; it has to outlive the walk. */
void inspect_begin(struct inspect_walk *w, struct span window, bool is_complete,
                   struct dialect_request *ret);

/* Whether a reader may take a name for "model" that is none for json_key, or be offered others by
 * it. */
bool inspect_is_like_model(struct span raw_key);

/* Takes the value as the model's name, and where it stands. inspect_member does it for "model";
 * raw_key: as that is written there. */
void inspect_take_model(struct inspect_walk *w, struct span raw_key);

/* What asks for no stream and not against one gets one (Ollama). Right behind inspect_begin. */
void inspect_stream_by_default(struct inspect_walk *w);

/* The next member that the dialect has to take or pass over; false: there is none. */
bool inspect_member(struct inspect_walk *w, enum key *ret);

/* Passes over the value and adds its size to the prompt's, as far as the window shows it. */
void inspect_take_prompt(struct inspect_walk *w);

/* Decides whether it was JSON. */
void inspect_end(struct inspect_walk *w);

#endif
