/* SPDX-License-Identifier: Apache-2.0 */
/*
 * base/casing.h - upper and lower case of texts, and titles.
 *
 * Covers:    Latin, Greek, Cyrillic, Armenian and full-width letters, one character for one: other
 *            scripts that have cases stay as they are, "ß" does, too.
 * Errors:    -ENOMEM, -EMSGSIZE (out is full).
 * Threading: pure.
 */
#ifndef BASE_CASING_H
#define BASE_CASING_H

#include "base/buf.h"

int casing_upper(struct span s, struct buf *out) WARN_UNUSED;
int casing_lower(struct span s, struct buf *out) WARN_UNUSED;
/* The first letter of each word in upper case, the others as they are: "aa bb CC" is "Aa Bb CC". */
int casing_title(struct span s, struct buf *out) WARN_UNUSED;

#endif
