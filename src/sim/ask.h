/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sim/ask.h - what the body of a chat or completions request asks the simulated engine for.
 */
#ifndef SIM_ASK_H
#define SIM_ASK_H

#include <stdbool.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/span.h"

enum { ASK_MODEL_MAX = 128 };

struct ask {
    bool is_stream;
    bool has_stream_options;
    bool has_include_usage;
    int64_t max_tokens;        /* max_completion_tokens or max_tokens; -1: not told */
    int64_t n_choices;         /* n; 1 when not told */
    int64_t prompt_bytes;      /* of messages or prompt, as JSON */
    char model[ASK_MODEL_MAX]; /* still escaped as in the request, so that it can be echoed as JSON
                                */
};

void ask_init(struct ask *a);

/* -EINVAL: *ret_why says what is wrong (static text). */
int ask_parse(struct span body, struct ask *ret, const char **ret_why) WARN_UNUSED;

#endif
