/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sim/chunk.h - server-sent events in the shape of OpenAI's streams, as parts ready for one write.
 *
 * Cost:      what is the same in all events of a stream is rendered once (struct chunk_style); an
 *            event is a vector of views into that, static text and the words. Nothing is allocated.
 * Lifetime:  a struct chunk is valid as long as its style and the text passed in.
 */
#ifndef SIM_CHUNK_H
#define SIM_CHUNK_H

#include <stdbool.h>
#include <stdint.h>

#include "base/span.h"

enum { CHUNK_PARTS_MAX = 10, CHUNK_PREFIX_MAX = 448, CHUNK_SCRATCH_MAX = 320 };

struct chunk_usage {
    int64_t prompt, cached, completion, reasoning;
};

/* What a stream's events have in common. */
struct chunk_style {
    bool is_chat;
    bool is_crlf;
    bool has_null_usage; /* "usage":null in the events that have none */
    size_t n_prefix;
    char prefix[CHUNK_PREFIX_MAX]; /* "data: {"id":...,"choices":[" */
};

struct chunk {
    int n;
    struct span parts[CHUNK_PARTS_MAX];
    size_t _n_scratch;
    char _scratch[CHUNK_SCRATCH_MAX];
};

/* id: the number part of the response id, at most 32 bytes; model: at most 128, JSON-escaped. */
void chunk_style_init(struct chunk_style *s, bool is_chat, struct span id, int64_t created_s,
                      struct span model);

/* Which field of the delta a text goes into; CHUNK_CONTENT is "text" in completions. */
enum chunk_field { CHUNK_CONTENT, CHUNK_REASONING, CHUNK_REFUSAL };

/* usage: counts so far to be told with the event, or NULL. */
void chunk_role(struct chunk *c, const struct chunk_style *s, int64_t choice);
void chunk_text(struct chunk *c, const struct chunk_style *s, int64_t choice,
                enum chunk_field field, struct span text, const struct chunk_usage *usage);

/* First event of a tool call (name), and its arguments: {"query":"text text"} over several events.
 */
void chunk_tool_name(struct chunk *c, const struct chunk_style *s, int64_t choice,
                     const struct chunk_usage *usage);
void chunk_tool_args(struct chunk *c, const struct chunk_style *s, int64_t choice, struct span text,
                     bool is_first, bool is_last, const struct chunk_usage *usage);

void chunk_finish(struct chunk *c, const struct chunk_style *s, int64_t choice, const char *reason);
void chunk_bare_usage(struct chunk *c, const struct chunk_style *s,
                      const struct chunk_usage *usage);
void chunk_done(struct chunk *c, const struct chunk_style *s);
void chunk_error(struct chunk *c, const struct chunk_style *s);
void chunk_comment(struct chunk *c, const struct chunk_style *s);

/* The usage object itself into dst (CHUNK_SCRATCH_MAX). */
size_t chunk_usage_format(const struct chunk_usage *u, char *dst);

#endif
