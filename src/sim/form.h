/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sim/form.h - templates of events and answers: fixed text with named places for what differs.
 *
 *   "data: {'index':<choice>,'delta':{'content':'<text>'}}\n\n"
 *
 * Role:      read once at the start, so that rendering is a walk over ready parts. ' stands for ",
 *            <name> for a slot, \n for the line end of the stream (LF or CRLF). No other text may
 *            hold ' or <.
 * Memory:    all of it belongs to struct forms; a struct form is a plain value.
 * Threading: read-only after forms_finish.
 */
#ifndef SIM_FORM_H
#define SIM_FORM_H

#include <stdbool.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/buf.h"

/* What a template can name (form_slot_name). What each is filled with stands in sim/speech.c. */
enum slot {
    SLOT_NONE,
    /* who and when */
    SLOT_PREFIX,
    SLOT_ID,
    SLOT_MODEL,
    SLOT_CREATED,
    SLOT_NOW,
    /* of the event */
    SLOT_CHOICE,
    SLOT_BLOCK,
    SLOT_SEQUENCE,
    SLOT_OPENER,
    SLOT_CLOSER,
    SLOT_TEXT,
    SLOT_ARGS_BEGIN,
    SLOT_ARGS_END,
    SLOT_REASON,
    SLOT_WHY,
    /* counts of tokens */
    SLOT_PROMPT,
    SLOT_PROMPT_NEW,
    SLOT_CACHED,
    SLOT_COMPLETION,
    SLOT_ANSWER,
    SLOT_REASONING,
    SLOT_TOTAL,
    /* the engine's own times */
    SLOT_TOTAL_NS,
    SLOT_QUEUE_NS,
    SLOT_PREFILL_NS,
    SLOT_DECODE_NS,
    SLOT_QUEUE_MS,
    SLOT_PREFILL_MS,
    SLOT_DECODE_MS,
    SLOT_ITL_MS,
    SLOT_PREFILL_TOKEN_MS,
    SLOT_DECODE_TOKEN_MS,
    SLOT_PREFILL_RATE,
    SLOT_DECODE_RATE,
    /* error answers */
    SLOT_STATUS,
    SLOT_ERROR_TYPE,
    SLOT_MESSAGE,
    SLOT_NO_USAGE,
    /* forms in forms: an event with one of them is put together in a buffer */
    SLOT_FIRST_USAGE,
    SLOT_USAGE,
    SLOT_TIMES,
    SLOT_WHOLE,
    SLOT_ALL_TEXT,
    SLOT_ALL_REASONING,
    SLOT_ALL_ARGS,
    SLOT_COUNT_,
    SLOT_FIRST_NESTED = SLOT_FIRST_USAGE,
    SLOT_FIRST_LONG = SLOT_WHOLE, /* texts of any length */
};
const char *form_slot_name(enum slot s);

/* Literal text, and the slot behind it. */
struct form_part {
    struct span text; /* its place is known from forms_finish on */
    enum slot slot;
    uint32_t _at; /* in the text of the forms */
};

struct form {
    uint32_t first; /* part */
    uint16_t n;
    bool has_nested; /* a slot between SLOT_FIRST_NESTED and SLOT_FIRST_LONG */
    bool is_long;    /* a slot from SLOT_FIRST_LONG on */
};

struct forms {
    struct buf _text;
    struct form_part *_parts;
    size_t _n, _cap;
};

void forms_init(struct forms *f);
void forms_done(struct forms *f);

/* -EINVAL: an unknown slot; -ENOMEM. */
int forms_add(struct forms *f, struct span text, bool is_crlf, struct form *ret) WARN_UNUSED;

/* Nothing is added any more: the parts of all forms are valid from now on. */
void forms_finish(struct forms *f);

static inline const struct form_part *forms_parts(const struct forms *f, struct form form)
{
    return f->_parts + form.first;
}

#endif
