/* SPDX-License-Identifier: Apache-2.0 */
/*
 * promql/quote.h - strings of the language: written with quotes and escapes, and read again.
 *
 * Threading: pure.
 */
#ifndef PROMQL_QUOTE_H
#define PROMQL_QUOTE_H

#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"

/* "..." with escapes, as text that reads back as the same bytes. */
int quote_print(struct span s, struct buf *out) WARN_UNUSED;
/* The same into an array, cut where it does not fit; at most max_runes characters (0: all). */
void quote_copy(struct span s, size_t max_runes, char *dst, size_t cap);
/* One character as 'x', for messages; also of what is none (U+FFFD). */
void quote_rune(int32_t rune, char dst[16]);

/*
 * The bytes that a token of a string stands for ("...", '...' or `...`; the lexer has checked its
 * escapes). A view into s where nothing is escaped, else in a. -ENOMEM.
 */
int quote_read(struct span s, struct arena *a, struct span *ret) WARN_UNUSED;

#endif
