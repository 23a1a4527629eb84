/* SPDX-License-Identifier: Apache-2.0 */
/*
 * base/utf8.h - one UTF-8 sequence at a time.
 *
 * Threading: pure.
 */
#ifndef BASE_UTF8_H
#define BASE_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/span.h"

/*
 * Looks at the sequence at the front of s, which is not empty (Unicode 15, table 3-7). Returns its
 * length, 1 to 4, and sets *ret_is_valid; for a malformed one the length is that of the part that
 * one U+FFFD replaces.
 */
size_t utf8_step(struct span s, bool *ret_is_valid);

/* Whether all of s is UTF-8. */
bool utf8_is_valid(struct span s);

/* The code point of a sequence that is valid. */
uint32_t utf8_value(struct span sequence);
/* Takes a character off s, which is not empty; each byte that is no UTF-8 is a U+FFFD. */
uint32_t utf8_take(struct span *s);

/* Characters that end a line for some, or that a terminal obeys. */
bool utf8_is_odd(uint32_t c);

/* Writes a code point, up to U+10FFFF, surrogates as any other; returns its length. */
size_t utf8_put(uint32_t c, char dst[4]);

#endif
