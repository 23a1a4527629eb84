/* SPDX-License-Identifier: Apache-2.0 */
/*
 * api/search.h - private to api/: which request rows are asked for, out of parameters.
 *
 * Form:      from, to      of the end of the request: RFC 3339, seconds since the epoch, now, or a
 *                          distance from now like -90m; [from, to), all that is kept by default
 *            limit         1 .. SEARCH_LIMIT_MAX, SEARCH_LIMIT_DEFAULT by default
 *            order         a field that is a number, or time; - in front: the largest or newest
 *                          first; -time by default. Rows without the field are left out.
 *            after         the key that came with the page before
 *            everything else is a condition on a field of docs/RECORD.md, and all must hold:
 *            FIELD=VALUE FIELD!=VALUE; of numbers and times also FIELD>=VALUE FIELD>VALUE and so
 *            on; without a value: unknown, known. labels.NAME is one label. _ms of a name may be
 *            left out.
 * Units:     of values: as the JSON row shows them (durations in ms; 1.5s is the same as 1500).
 * Errors:    -EINVAL with the parameter at fault and what would be right; -ENOMEM.
 * Ownership: the arena's and the parameters'; a search is not moved.
 * Threading: pure.
 */
#ifndef API_SEARCH_H
#define API_SEARCH_H

#include "api/params.h"
#include "base/err.h"
#include "store/rows.h"

enum {
    SEARCH_LIMIT_DEFAULT = 50,
    SEARCH_LIMIT_MAX = 1000,
    SEARCH_CONDITIONS_MAX = 32,
    SEARCH_KEY_BYTES = 33, /* with the NUL */
};

struct search {
    struct rows_question question; /* its conditions are these */
    struct rows_condition conditions[SEARCH_CONDITIONS_MAX];
};

int search_parse(const struct params *p, wall_t now, struct arena *a, struct search *ret,
                 struct err *reterr) WARN_UNUSED;

/* What after has to be for the page behind this row. */
void search_key(const struct search *s, uint64_t key, const struct record *r,
                char dst[SEARCH_KEY_BYTES]);

/* -EINVAL. */
int search_time(struct span s, wall_t now, wall_t *ret) WARN_UNUSED;

#endif
