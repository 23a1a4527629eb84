/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sim/ask.h - what the body of a request asks the simulated engine for. Where the answer stands in
 * the body differs from API to API: each has a table of member names.
 */
#ifndef SIM_ASK_H
#define SIM_ASK_H

#include <stdbool.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/span.h"

enum { ASK_MODEL_MAX = 128, ASK_PARTS_MAX = 4 };

struct ask {
    bool is_stream;
    bool has_stream_options;
    bool has_include_usage;
    int64_t max_tokens;                /* -1: not told */
    int64_t n_choices;                 /* 1 when not told */
    int64_t prompt_bytes;              /* as JSON */
    struct span prompt[ASK_PARTS_MAX]; /* its first parts, views into the body */
    size_t n_parts;
    const char *_body;
    char model[ASK_MODEL_MAX]; /* still escaped as in the request, so that it can be echoed as JSON
                                */
};

enum ask_what {
    ASK_MODEL,
    ASK_STREAM,
    ASK_OPTIONS, /* an object that is there: stream_options */
    ASK_INCLUDE_USAGE,
    ASK_MAX_TOKENS,
    ASK_CHOICES,
    ASK_PROMPT,
    ASK_INPUTS, /* a prompt, of which each item gets an answer */
};

/* One member; "a.b" is b in the object a. A row with a name without a dot stands for the object. */
struct ask_field {
    const char *name; /* NULL: end of the table */
    enum ask_what what;
};

void ask_init(struct ask *a);

/*
 * *ret: what is known already, and where it goes. -EINVAL: *ret_why says what is wrong (static
 * text); `missing` when there is no prompt. *ret is then unchanged.
 */
int ask_parse(struct span body, const struct ask_field *fields, const char *missing,
              struct ask *ret, const char **ret_why) WARN_UNUSED;

#endif
