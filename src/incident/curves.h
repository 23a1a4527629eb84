/* SPDX-License-Identifier: Apache-2.0 */
/*
 * incident/curves.h - of this module only: which curves an incident has, and how they are taken.
 *
 * Threading: one thread per reader.
 */
#ifndef INCIDENT_CURVES_H
#define INCIDENT_CURVES_H

#include "incident/curve.h"

struct curves_kind {
    const char *name, *title, *unit;
    const char *expr; /* $R: the range of rates */
    bool is_mean;     /* points are put together by their mean, else by the largest */
};

enum { CURVES_MAX = 16 };
extern const struct curves_kind curves_kinds[];
extern const size_t curves_n;

/* The expression of a kind, for people and for the query. */
int curves_expr(const struct curves_kind *k, int64_t range_ms, struct buf *out) WARN_UNUSED;

/*
 * How far one part reaches that begins at from_ms and is wanted up to until_ms: at most that, and a
 * multiple of the curve's steps unless it is until_ms.
 */
int64_t curves_part_end(const struct curve *c, int64_t from_ms, int64_t until_ms);

/* Takes [from_ms, to_ms) as far as it is one part. Errors: of promql_query and of the reader. */
int curves_take(struct curve *c, const struct curves_kind *k, int64_t range_ms, struct reader *r,
                int64_t from_ms, int64_t to_ms) WARN_UNUSED;

#endif
