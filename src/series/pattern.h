/* SPDX-License-Identifier: Apache-2.0 */
/*
 * series/pattern.h - a regular expression that matches a whole text, as Prometheus' do; or one that
 * is looked for in a text.
 *
 * Syntax:    RE2's, which Prometheus has: what PCRE2 has besides (look-around, references to
 *            groups, possessive quantifiers, verbs) is refused, so that a rule file that works
 *            here works there. '.' matches a line feed, too.
 * Work:      PCRE2 with limits; a pattern that would need more is tried again with its matcher
 *            that does not backtrack, whose work grows with the length of the text only.
 * Memory:    PCRE2's goes through base/mem.h; a compiled pattern has at most 64 KiB.
 * Errors:    -EINVAL with a text (pattern does not compile), -ENOMEM.
 * Threading: one thread at a time.
 */
#ifndef SERIES_PATTERN_H
#define SERIES_PATTERN_H

#include "base/buf.h"
#include "base/err.h"
#include "base/span.h"

enum { PATTERN_TEXT_MAX = 64 * 1024 };

struct pattern;
int pattern_new(struct span text, struct pattern **ret, struct err *reterr) WARN_UNUSED;
/* One that may be anywhere in a text, and whose '.' is no line feed: as Go's regexp has it. */
int pattern_new_search(struct span text, struct pattern **ret, struct err *reterr) WARN_UNUSED;
struct pattern *pattern_free(struct pattern *p);

/* 1: s matches, 0: it does not (a text that is no UTF-8 never does), -ENOMEM, -E2BIG: too much
 * work. */
int pattern_matches(struct pattern *p, struct span s) WARN_UNUSED;

/* How many texts so far needed the matcher that does not backtrack: each is a lot of work. */
int pattern_n_slow(const struct pattern *p);

/*
 * Whether s matches; then *out gets replacement with $1, ${1}, ${name}, $$ replaced. -EINVAL: no
 * match (nothing appended). out may be NULL.
 */
int pattern_expand(struct pattern *p, struct span s, struct span replacement,
                   struct buf *out) WARN_UNUSED;

/*
 * For patterns that are looked for: appends s with each match replaced as pattern_expand does it. A
 * text that is no UTF-8 has no match. -E2BIG: too much work, or more than PATTERN_FOUND_MAX
 * matches.
 */
enum { PATTERN_FOUND_MAX = 10000 };
int pattern_replace_all(struct pattern *p, struct span s, struct span replacement,
                        struct buf *out) WARN_UNUSED;

/*
 * What RE2 would refuse and PCRE2 would not; NULL when there is nothing. *ret_at: the offset.
 */
const char *pattern_syntax_check(struct span text, size_t *ret_at);

#endif
