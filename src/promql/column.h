/* SPDX-License-Identifier: Apache-2.0 */
/*
 * promql/column.h - making vectors: columns in an arena and lists of them.
 *
 * Errors:    -ENOMEM; limits and equal labels as eval.h says.
 * Threading: pure.
 */
#ifndef PROMQL_COLUMN_H
#define PROMQL_COLUMN_H

#include <errno.h>

#include "promql/eval.h"
#include "promql/label_index.h"

/* Without values: v and has are zero. Labels are left to the caller. */
int column_new(struct arena *a, size_t n_steps, struct column *ret) WARN_UNUSED;
/* Makes room for histograms; they are NULL. */
int column_need_h(struct arena *a, size_t n_steps, struct column *c) WARN_UNUSED;
bool column_is_empty(const struct column *c, size_t n_steps);

static inline const struct fhist *column_h(const struct column *c, size_t i)
{
    return c->h ? c->h[i] : NULL;
}

/* Sets a cell; h may be NULL. */
static inline int WARN_UNUSED column_set(struct arena *a, size_t n_steps, struct column *c,
                                         size_t i, double v, const struct fhist *h)
{
    if (h && !c->h && column_need_h(a, n_steps, c) < 0)
        return -ENOMEM;
    c->v[i] = v;
    c->has[i] = 1;
    if (c->h)
        c->h[i] = h;
    return 0;
}

static inline void column_unset(struct column *c, size_t i)
{
    c->has[i] = 0;
    if (c->h)
        c->h[i] = NULL;
}

/* A list that grows in an arena. */
struct columns {
    struct eval *e;
    struct arena *a;
    struct column *at;
    size_t n, cap, n_steps;
};
static inline struct columns columns_of(struct eval *e, struct arena *a, size_t n_steps)
{
    return (struct columns){.e = e, .a = a, .n_steps = n_steps};
}
int columns_push(struct columns *l, const struct column *c) WARN_UNUSED;
/* A new column of the list with those labels. */
int columns_add(struct columns *l, struct labels labels, struct column **ret) WARN_UNUSED;

/* The list as a value of type vector. */
void columns_give(const struct columns *l, const struct grid *g, struct value *ret);

/* A scalar with the values v, one per step of g. */
int columns_scalar(const struct grid *g, struct arena *a, double *v, struct value *ret) WARN_UNUSED;

/* Takes columns without any value out of v. */
void columns_prune(struct value *v);
/*
 * Makes one of columns with the same labels; they may not both have a value at a step
 * (eval_fail_same_labels).
 */
int columns_merge(struct eval *e, struct value *v, struct arena *a) WARN_UNUSED;

#endif
