/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dialect/openai_common.h - what the OpenAI dialects share. Private to dialect/.
 *
 * Shapes:    the superset that providers who speak "OpenAI" really send (usage under choices or
 *            x_groq, errors as object, string, event name or "object":"error", list contents).
 */
#ifndef DIALECT_OPENAI_COMMON_H
#define DIALECT_OPENAI_COMMON_H

#include "dialect/said.h"

/*
 * Told every key of each choice but index, finish_reason, usage and error; takes the value (or
 * passes over it) and adds what it carries to *s.
 */
typedef void openai_on_choice(struct json *j, enum key key, struct said *s);

/* Reads a chunk or answer. on_choice: NULL passes over. false: data is no JSON object. */
bool openai_parse(struct span data, openai_on_choice *on_choice, struct said *ret);

/* Detail objects of a usage: every count that any vendor puts there. */
struct openai_details {
    int64_t cached;
    int64_t cache_write;
    int64_t cache_creation;
    int64_t reasoning;
    bool is_filled;
};
#define OPENAI_DETAILS_NONE                                                                        \
    ((struct openai_details){USAGE_UNTOLD, USAGE_UNTOLD, USAGE_UNTOLD, USAGE_UNTOLD, false})
void openai_take_details(struct json *j, struct openai_details *ret);

/* Ops that they share. */
void openai_answer(struct dialect_answer *a, struct span body);
/* said_event, where "[DONE]" is the end mark. */
void openai_event(struct dialect_answer *a, struct span name, struct span data, said_parse *parse,
                  struct token_event *ret);
void openai_inspect(struct span target, struct span window, bool is_complete,
                    struct dialect_request *ret);
bool openai_add_include_usage(struct span window, const struct dialect_request *req,
                              struct dialect_edit *ret);
bool openai_may_be_bare_usage(struct span event);
bool openai_is_bare_usage(struct span data);
bool openai_is_ended(const struct dialect_answer *a);
int openai_refusal_body(enum dialect_refusal r, const char *message, struct buf *ret_body);

extern const struct dialect dialect_openai_chat;
extern const struct dialect dialect_openai_completions;
extern const struct dialect dialect_openai_embeddings;
extern const struct dialect dialect_openai_responses;

#endif
