/* SPDX-License-Identifier: Apache-2.0 */
/*
 * load/prompt.h - request bodies of a load run: deterministic words, about 4 bytes a token.
 *
 * Cost:      one text holds every prompt; a body is a vector of views into it, nothing is copied.
 * Lifetime:  parts are valid until the next prompt_body on the same struct, the text until done.
 */
#ifndef LOAD_PROMPT_H
#define LOAD_PROMPT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/span.h"

enum { PROMPT_PARTS = 3, PROMPT_BYTES_PER_TOKEN = 4 };

struct prompt {
    char *_text;
    size_t _n;
    char *_prefix; /* up to the prompt's text */
    size_t _n_prefix;
    bool _is_chat;
    char _suffix[192];
};

/* max_prompt_tokens: of the largest prompt that will be asked for. -ENOMEM. */
int prompt_init(struct prompt *p, bool is_chat, const char *model, int64_t max_prompt_tokens,
                uint64_t seed) WARN_UNUSED;
void prompt_done(struct prompt *p);

struct prompt_ask {
    uint64_t number; /* of the request: another number, another text */
    int64_t prompt_tokens;
    int64_t max_tokens; /* < 0: the request does not say */
    bool is_stream;
    bool include_usage;
};

void prompt_body(struct prompt *p, const struct prompt_ask *ask,
                 struct span ret_parts[PROMPT_PARTS]);

#endif
