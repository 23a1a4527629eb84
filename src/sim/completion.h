/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sim/completion.h - whole JSON answers of the simulated engine: completions that do not stream,
 * and errors.
 */
#ifndef SIM_COMPLETION_H
#define SIM_COMPLETION_H

#include <stdbool.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/buf.h"
#include "sim/chunk.h"
#include "sim/words.h"

/* What is in one; everything borrowed. */
struct completion {
    const char *id;
    const char *model; /* escaped as in the request */
    const char *finish_reason;
    int64_t created_s;
    const struct words *words;
    struct buf *scratch;             /* overwritten */
    const struct chunk_usage *usage; /* NULL: none is told */
    int64_t n_tokens;                /* of each choice, reasoning included */
    int64_t n_reasoning;
    int64_t n_choices;
    bool is_chat, is_tool_call, is_refusal;
};

/* Both append to out; 0 or -errno of buf. */
int completion_render(const struct completion *c, struct buf *out) WARN_UNUSED;

/* {"error":{...}} in OpenAI's form; hint may be "". */
int completion_render_error(struct buf *out, int status, const char *message,
                            const char *hint) WARN_UNUSED;

#endif
