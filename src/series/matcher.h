/* SPDX-License-Identifier: Apache-2.0 */
/*
 * series/matcher.h - which series a selector means: label = "v", != , =~, !~.
 *
 * Patterns:  series/pattern.h; lists of plain words, prefixes and the like are compared without
 *            it.
 * Ownership: made in an arena, and matcher_done besides (PCRE2's own memory).
 * Errors:    -EINVAL with a text (pattern does not compile), -ENOMEM.
 * Threading: matching from one thread at a time.
 */
#ifndef SERIES_MATCHER_H
#define SERIES_MATCHER_H

#include "base/err.h"
#include "series/labels.h"
#include "series/pattern.h"

enum matcher_op { MATCH_EQ, MATCH_NE, MATCH_RE, MATCH_NRE };

struct matcher_pattern;
struct matcher {
    struct span name, value;
    enum matcher_op op;
    struct matcher_pattern *pattern; /* MATCH_RE, MATCH_NRE */
};

int matcher_init(struct arena *a, enum matcher_op op, struct span name, struct span value,
                 struct matcher *ret, struct err *reterr) WARN_UNUSED;
void matcher_done(struct matcher *m);

/* value: empty where the label is missing. Where that cannot be told (no memory, too much work) it
 * is false, for all operators, and matcher_error says so from then on. */
bool matcher_matches(const struct matcher *m, struct span value);
bool matcher_matches_all(const struct matcher *m, size_t n, struct labels l);
/* Whether a series without that label matches. */
bool matcher_matches_empty(const struct matcher *m);

/* 0, or the first -ENOMEM, -E2BIG that matching met. */
int matcher_error(const struct matcher *m);

/* The values of a pattern that is a plain list of words (a|b|c), n of them; 0: it is none. */
size_t matcher_words(const struct matcher *m, const struct span **ret);

/* name="v", name=~"v": as Prometheus prints. */
int matcher_print(const struct matcher *m, struct buf *out) WARN_UNUSED;

#endif
