/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tsdb/symbols.h - names and values of labels, each text once, by number.
 *
 * Ownership: texts are copied; those that symbols_text gives live until symbols_drop.
 * Errors:    -ENOMEM; nothing has changed then.
 * Threading: whoever writes excludes everybody else (tsdb_private.h).
 */
#ifndef TSDB_SYMBOLS_H
#define TSDB_SYMBOLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/span.h"

struct symbol {
    char *p; /* NULL: nobody has this number */
    uint32_t n, n_refs;
};

/* Numbers begin with 1 and are given once while the program runs; 0 is the empty text. */
struct symbols {
    struct symbol *at; /* by number */
    uint32_t n, cap;   /* n: the highest number + 1 */
    uint32_t *slots;   /* hash table of numbers; 0: free */
    uint32_t n_slots, n_used;
};

void symbols_init(struct symbols *s);
void symbols_done(struct symbols *s);

/* 0: unknown (or empty). */
uint32_t symbols_find(const struct symbols *s, struct span text);
/* Its number, new or not, with one more reference. */
int symbols_take(struct symbols *s, struct span text, uint32_t *ret) WARN_UNUSED;
/* When reading from disk: this number is that text; without a reference. -EBADMSG: taken. */
int symbols_load(struct symbols *s, uint32_t number, struct span text) WARN_UNUSED;
void symbols_refer(struct symbols *s, uint32_t number);
/* Without a reference a symbol stays until it is dropped, or referred to again. */
void symbols_release(struct symbols *s, uint32_t number);
bool symbols_is_unused(const struct symbols *s, uint32_t number);
void symbols_drop(struct symbols *s, uint32_t number);
bool symbols_has(const struct symbols *s, uint32_t number);

static inline struct span symbols_text(const struct symbols *s, uint32_t number)
{
    return span_of(s->at[number].p, s->at[number].n);
}

size_t symbols_bytes(const struct symbols *s);

#endif
