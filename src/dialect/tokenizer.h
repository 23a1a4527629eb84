/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dialect/tokenizer.h - how engines are asked for the tokens of a text (POST /tokenize).
 *
 * Role:      the bodies that engines want, and what their answers mean. Whoever asks does not know
 *            which engine it is: it tries one form after the other, until an answer has tokens.
 * Text:      always the same one, a few hundred bytes, so that times can be compared.
 * Pure:      no I/O, no clock; nothing is allocated but in the caller's buffer.
 */
#ifndef DIALECT_TOKENIZER_H
#define DIALECT_TOKENIZER_H

#include <stdint.h>

#include "base/attr.h"
#include "base/buf.h"
#include "base/span.h"

enum tokenizer_form {
    TOKENIZER_PROMPT,  /* vLLM, SGLang */
    TOKENIZER_MODEL,   /* vLLM before 0.8: the model has to be named */
    TOKENIZER_CONTENT, /* llama.cpp */
    TOKENIZER_INPUTS,  /* TGI */
    TOKENIZER_FORM_COUNT_,
};

extern const struct span tokenizer_target; /* "/tokenize", before the upstream's base */

/* The form to try first, or after one that was not understood; TOKENIZER_FORM_COUNT_: none is left.
 * Without a model's name its form is passed over. */
enum tokenizer_form tokenizer_first(void);
enum tokenizer_form tokenizer_next(enum tokenizer_form f, const char *model);

/* The request's body, appended to out. 0 or -errno of out. */
int tokenizer_body(enum tokenizer_form f, const char *model, struct buf *out) WARN_UNUSED;

enum tokenizer_verdict {
    TOKENIZER_IS,         /* tokens came */
    TOKENIZER_OTHER_FORM, /* something is there, and did not understand */
    TOKENIZER_NONE,       /* no such path, or not for us */
    TOKENIZER_LATER,      /* it says nothing now: busy, starting, broken */
};

/* What an answer to form f says. */
enum tokenizer_verdict tokenizer_judge(enum tokenizer_form f, int status, struct span body);

#endif
