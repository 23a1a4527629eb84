/* SPDX-License-Identifier: Apache-2.0 */
/*
 * promql/eval.h - what the files of the evaluator share: a query in progress, its steps, the table
 * of what each kind of node does.
 *
 * Role:      inside of promql only; query.h is the door.
 * Shape:     a node is evaluated over all steps of a grid at once into a struct value in an arena
 *            that its caller gives. Children that are only read are evaluated into an arena of the
 *            node's own, which goes when the node is done; values that pass through (filters, set
 *            operators, label functions) are evaluated into the caller's and changed in place.
 * Invariant: histograms are never changed in place, so pointers to them may be shared; a cell with
 *            has[i] == 0 has v[i] == 0 or a left-over that nobody reads, and h[i] == NULL.
 * Errors:    negative errno; the text is in eval->err (eval_fail), except for -ENOMEM from an
 *            arena, whose text query.c makes from the budget.
 * Threading: one thread per query.
 */
#ifndef PROMQL_EVAL_H
#define PROMQL_EVAL_H

#include "promql/notes.h"
#include "promql/query.h"

/* The moments a node is evaluated at: start, start + step, ... n of them. */
struct grid {
    int64_t start_ms, step_ms;
    size_t n;
};

static inline int64_t grid_at(const struct grid *g, size_t i)
{
    return g->start_ms + (int64_t)i * g->step_ms;
}

struct eval {
    const struct promql_options *options; /* defaults filled in */
    struct reader *reader;
    struct arena_budget *budget;
    struct notes notes;
    struct promql_error *err;
    uint64_t n_samples; /* read */
    uint64_t n_unasked; /* samples and cells since is_over was asked */
    /*
     * Below histogram_count and the like, and not below what looks at buckets, histograms get the
     * hints that a look at the one before gives. Counts how deep it is in both.
     */
    int n_counting, n_looking;
    int64_t widened_ms;    /* widest range that was widened */
    struct shared *shared; /* shared.h; NULL: nothing is */
};

/* eval_limits.c */

/* Sets the text of the query's error, where node stands (may be NULL); returns code. */
int eval_fail(struct eval *e, int code, const struct node *n, const char *fmt, ...)
    PRINTF_LIKE(4, 5);
int eval_fail_same_labels(struct eval *e); /* two series would have the same labels */
/* Counts n cells or samples of work; asks now and then whether the query is over. */
int eval_work(struct eval *e, uint64_t n) WARN_UNUSED;
int eval_count_samples(struct eval *e, size_t n) WARN_UNUSED; /* that were read */
/* Whether a value of so many cells is within the limits. */
int eval_check_cells(struct eval *e, size_t n_columns, size_t n_steps) WARN_UNUSED;

/* eval.c */
int eval_node(struct eval *e, const struct node *n, const struct grid *g, struct arena *a,
              struct value *ret) WARN_UNUSED;
/* A scalar's values, one per step. */
int eval_scalar(struct eval *e, const struct node *n, const struct grid *g, struct arena *a,
                double **ret) WARN_UNUSED;
const struct node *eval_unwrap(const struct node *n); /* without parentheses around it */
bool eval_is_invariant(const struct node *n);         /* the same at every step */

/* Receives the series of a vector one by one; the column's cells are void afterwards. */
struct sink {
    int (*put)(void *ctx, const struct column *c);
    void *ctx;
};
/* Evaluates a vector without holding all of it where that is possible. */
int eval_each(struct eval *e, const struct node *n, const struct grid *g,
              const struct sink *to) WARN_UNUSED;

/* The kinds of nodes: each evaluates n over g into *ret, in a. */
typedef int node_eval(struct eval *e, const struct node *n, const struct grid *g, struct arena *a,
                      struct value *ret);
node_eval select_instant;    /* select.c */
node_eval matrix_eval;       /* matrix.c: the whole query is a matrix */
node_eval binary_eval;       /* binary.c */
node_eval matching_eval;     /* matching.c: vector and vector, but for set operators */
node_eval set_operator_eval; /* set_operators.c */
node_eval aggregate_eval;    /* aggregate.c */
node_eval call_eval;         /* call.c */

#endif
