/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dialect/openai_common.h - what the OpenAI dialects share. Private to dialect/.
 *
 * Shapes:    the superset that providers who speak "OpenAI" really send (usage under choices or
 *            x_groq, errors as object, string, event name or "object":"error", list contents).
 */
#ifndef DIALECT_OPENAI_COMMON_H
#define DIALECT_OPENAI_COMMON_H

#include "dialect/dialect.h"
#include "dialect/openai_keys.h"
#include "wire/json.h"

/* Takes the next value; true: a string that is not empty. */
bool openai_take_text(struct json *j);

/* Takes the next value; true: it is an object (array), and its inside comes next. Other values are
 * passed over whole. */
bool openai_enter_object(struct json *j);
bool openai_enter_array(struct json *j);

/* Takes the next value, whatever it is, its inside included. false: error, or the input ended. */
bool openai_take_whole(struct json *j, struct json_value *ret);

/* Takes the next value; true: neither null, false, 0, "", {} nor []. */
bool openai_take_truthy(struct json *j);

/* What a choice carries. */
struct openai_output {
    uint32_t kinds;
    struct span text; /* raw content of the choice, when all output there is is this one string */
    int n_texts;
};

/* What one chunk or answer said, before it is folded into the answer: a chunk that turns out to be
 * no JSON halfway must leave nothing behind. */
struct openai_event {
    struct openai_output output;
    bool has_choices;
    bool has_usage;
    bool is_error;
    bool is_error_object; /* "object":"error" */
    struct usage usage;
    struct span model;
    struct span error_type; /* raw; empty when only the fact is known */
    int64_t max_index;      /* of the choices; -1: none */
    int n_finished;
    struct {
        int64_t index;
        struct span finish;
    } finished[DIALECT_CHOICES_MAX];
};

/*
 * Told every key of each choice but index, finish_reason, usage and error; takes the value (or
 * passes over it) and adds what it carries to *out.
 */
typedef void openai_on_choice(struct json *j, enum openai_key key, struct openai_output *out);

/* Takes the next value; a string that is not empty is output text. */
void openai_take_output_text(struct json *j, struct openai_output *out);

/* Reads a chunk or answer. on_choice: NULL passes over. false: data is no JSON object. */
bool openai_parse(struct span data, openai_on_choice *on_choice, struct openai_event *ret);

/* The event and answer ops, over a dialect's on_choice. */
void openai_event(struct dialect_answer *a, struct span name, struct span data,
                  openai_on_choice *on_choice, struct token_event *ret);
void openai_answer(struct dialect_answer *a, struct span body);

/* The remaining ops. */
void openai_inspect(struct span window, bool is_complete, struct dialect_request *ret);
bool openai_add_include_usage(struct span window, const struct dialect_request *req,
                              struct dialect_edit *ret);
bool openai_may_be_bare_usage(struct span event);
bool openai_is_bare_usage(struct span data);
bool openai_is_ended(const struct dialect_answer *a);
int openai_refusal_body(enum dialect_refusal r, const char *message, struct buf *ret_body);

extern const struct dialect dialect_openai_chat;
extern const struct dialect dialect_openai_completions;
extern const struct dialect dialect_openai_embeddings;

#endif
