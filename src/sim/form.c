/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/form.h"

#include <errno.h>

#include "base/limits.h"
#include "base/mem.h"

static const char *const slot_names[SLOT_COUNT_] = {
    [SLOT_NONE] = "",
    [SLOT_PREFIX] = "prefix",
    [SLOT_ID] = "id",
    [SLOT_MODEL] = "model",
    [SLOT_CREATED] = "created",
    [SLOT_NOW] = "now",
    [SLOT_CHOICE] = "choice",
    [SLOT_BLOCK] = "block",
    [SLOT_SEQUENCE] = "sequence",
    [SLOT_OPENER] = "opener",
    [SLOT_CLOSER] = "closer",
    [SLOT_TEXT] = "text",
    [SLOT_ARGS_BEGIN] = "args_begin",
    [SLOT_ARGS_END] = "args_end",
    [SLOT_REASON] = "reason",
    [SLOT_WHY] = "why",
    [SLOT_PROMPT] = "prompt",
    [SLOT_PROMPT_NEW] = "prompt_new",
    [SLOT_CACHED] = "cached",
    [SLOT_COMPLETION] = "completion",
    [SLOT_ANSWER] = "answer",
    [SLOT_REASONING] = "reasoning",
    [SLOT_TOTAL] = "total",
    [SLOT_TOTAL_NS] = "total_ns",
    [SLOT_QUEUE_NS] = "queue_ns",
    [SLOT_PREFILL_NS] = "prefill_ns",
    [SLOT_DECODE_NS] = "decode_ns",
    [SLOT_QUEUE_MS] = "queue_ms",
    [SLOT_PREFILL_MS] = "prefill_ms",
    [SLOT_DECODE_MS] = "decode_ms",
    [SLOT_ITL_MS] = "itl_ms",
    [SLOT_PREFILL_TOKEN_MS] = "prefill_token_ms",
    [SLOT_DECODE_TOKEN_MS] = "decode_token_ms",
    [SLOT_PREFILL_RATE] = "prefill_rate",
    [SLOT_DECODE_RATE] = "decode_rate",
    [SLOT_STATUS] = "status",
    [SLOT_ERROR_TYPE] = "error_type",
    [SLOT_MESSAGE] = "message",
    [SLOT_NO_USAGE] = "no_usage",
    [SLOT_FIRST_USAGE] = "first_usage",
    [SLOT_USAGE] = "usage",
    [SLOT_TIMES] = "times",
    [SLOT_WHOLE] = "whole",
    [SLOT_ALL_TEXT] = "all_text",
    [SLOT_ALL_REASONING] = "all_reasoning",
    [SLOT_ALL_ARGS] = "all_args",
};

const char *form_slot_name(enum slot s)
{
    return s < SLOT_COUNT_ ? slot_names[s] : "?";
}

void forms_init(struct forms *f)
{
    *f = (struct forms){0};
    buf_init(&f->_text, MIB);
}

void forms_done(struct forms *f)
{
    buf_done(&f->_text);
    mem_free(f->_parts);
    f->_parts = NULL;
}

static enum slot slot_find(struct span name)
{
    for (int i = SLOT_NONE + 1; i < SLOT_COUNT_; i++)
        if (span_eq(name, span_cstr(slot_names[i])))
            return (enum slot)i;
    return SLOT_NONE;
}

/* Appends text with its quotes and line ends. */
static int literal_add(struct forms *f, struct span text, bool is_crlf)
{
    int r = 0;

    for (size_t i = 0; i < text.n && r == 0; i++) {
        char c = text.p[i];

        if (c == '\'')
            c = '"';
        if (c == '\n' && is_crlf)
            r = buf_append(&f->_text, SPAN("\r"));
        if (r == 0)
            r = buf_append(&f->_text, span_of(&c, 1));
    }
    return r;
}

/* Takes literal text and the slot behind it off the front of *text. */
static int part_take(struct forms *f, struct span *text, bool is_crlf, struct form_part *ret)
{
    size_t at = buf_len(&f->_text);
    struct span literal = span_split(text, '<');
    bool has_slot = text->n > 0;
    int r = literal_add(f, literal, is_crlf);

    if (r < 0)
        return r;
    *ret = (struct form_part){.text.n = buf_len(&f->_text) - at, ._at = (uint32_t)at};
    if (has_slot)
        ret->slot = slot_find(span_split(text, '>'));
    return has_slot && ret->slot == SLOT_NONE ? -EINVAL : 0;
}

static int part_add(struct forms *f, const struct form_part *part)
{
    enum { CAP_MIN = 512 };

    if (f->_n == f->_cap) {
        size_t cap = f->_cap > 0 ? f->_cap * 2 : CAP_MIN;
        struct form_part *grown = mem_realloc(f->_parts, cap * sizeof(*grown));

        if (!grown)
            return -ENOMEM;
        f->_parts = grown;
        f->_cap = cap;
    }
    f->_parts[f->_n++] = *part;
    return 0;
}

int forms_add(struct forms *f, struct span text, bool is_crlf, struct form *ret)
{
    struct form form = {.first = (uint32_t)f->_n};

    while (text.n > 0) {
        struct form_part part;
        int r = part_take(f, &text, is_crlf, &part);

        if (r == 0)
            r = part_add(f, &part);
        if (r < 0)
            return r;
        form.n++;
        form.is_long |= part.slot >= SLOT_FIRST_LONG;
        form.has_nested |= part.slot >= SLOT_FIRST_NESTED && part.slot < SLOT_FIRST_LONG;
    }
    *ret = form;
    return 0;
}

void forms_finish(struct forms *f)
{
    for (size_t i = 0; i < f->_n; i++)
        f->_parts[i].text.p = buf_span(&f->_text).p + f->_parts[i]._at;
}
