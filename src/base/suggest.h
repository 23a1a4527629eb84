/* SPDX-License-Identifier: Apache-2.0 */
/*
 * base/suggest.h - "did you mean": the known name that is nearest to a mistyped one.
 *
 *   struct suggest s;
 *   suggest_init(&s, typed);
 *   for each known name: suggest_offer(&s, name);
 *   s.best                                          empty when nothing is near enough
 *
 * Distance:  inserted, deleted, replaced and swapped neighbouring letters count 1 each; '_' and
 *            '-', upper and lower case are the same letter.
 * Near:      a third of the name may be wrong, of short names one letter; or its end is missing.
 * Threading: plain values.
 */
#ifndef BASE_SUGGEST_H
#define BASE_SUGGEST_H

#include <limits.h>

#include "base/span.h"

enum { SUGGEST_NAME_MAX = 63 }; /* longer names are not compared */

struct suggest {
    struct span wanted;
    struct span best; /* borrowed from what was offered */
    int _distance;
};

static inline void suggest_init(struct suggest *s, struct span wanted)
{
    *s = (struct suggest){.wanted = wanted, ._distance = INT_MAX};
}

void suggest_offer(struct suggest *s, struct span name);

/* Edits that make a of b; INT_MAX when either has more than SUGGEST_NAME_MAX bytes. */
int suggest_distance(struct span a, struct span b);

#endif
