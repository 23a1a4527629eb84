/* SPDX-License-Identifier: Apache-2.0 */
/*
 * promql/binary.h - operators on two columns, cell by cell.
 *
 * Errors:    negative errno. Types that do not go together leave no value and a note.
 * Threading: pure.
 */
#ifndef PROMQL_BINARY_H
#define PROMQL_BINARY_H

#include "promql/column.h"

/* Room for the result of two columns: what to make of it depends on the kind of matching. */
struct binary_cells {
    struct eval *e;
    const struct node *node;
    struct arena *out; /* of histograms */
    size_t n_steps;
    uint8_t *both; /* in: steps to compute; out: those where the operator is defined */
    uint8_t *keep; /* a comparison holds; else 1 */
    double *v;
    const struct fhist **h; /* NULL: no histograms among the results */
    const struct fhist **_h_room;
    unsigned _said; /* enum binary_note */
};
int binary_cells_init(struct binary_cells *b, struct eval *e, const struct node *n, size_t n_steps,
                      struct arena *out, struct arena *work) WARN_UNUSED;
/*
 * left op right at the steps of both. A comparison's result is the left value; with bool 0 or 1.
 */
int binary_cells_compute(struct binary_cells *b, const struct column *left,
                         const struct column *right) WARN_UNUSED;

double binary_scalar(enum binary_op op, double l, double r);
bool binary_changes_meaning(enum binary_op op); /* arithmetic: the name goes */

#endif
