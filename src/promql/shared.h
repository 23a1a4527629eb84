/* SPDX-License-Identifier: Apache-2.0 */
/*
 * promql/shared.h - an aggregation that is written more than once in an expression is evaluated
 * once.
 *
 * Role:      several quantiles of one histogram, a ratio with its denominator in it: reading the
 *            series is what such an expression costs.
 * Shape:     the same is what has the same text. Its value is kept until the query ends, for the
 *            steps of its first use; where another use has other steps (in a subquery) it is
 *            evaluated anew. Notes are those of the first use, as ever (notes.h).
 * Memory:    of the query's arena.
 * Limits:    SHARED_MAX aggregations of an expression are looked at.
 * Threading: one thread per query.
 */
#ifndef PROMQL_SHARED_H
#define PROMQL_SHARED_H

#include "promql/eval.h"

enum { SHARED_MAX = 64 };

/* Finds them in root; e->shared, and NULL where there is none. a: of the result. */
int shared_init(struct eval *e, const struct node *root, struct span text,
                struct arena *a) WARN_UNUSED;

/* Evaluates an aggregation, or gives a copy of what it is worth. */
node_eval shared_eval;

#endif
