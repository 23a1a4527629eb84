/* SPDX-License-Identifier: Apache-2.0 */
/*
 * promql/value.h - what an expression is worth, over all steps of a query at once.
 *
 * Role:      result of a query, and of every node while it is evaluated. An instant query has one
 *            step.
 * Shape:     a vector is a list of series; each has a cell per step: nothing, a float, or a
 *            histogram. Columns are plain arrays, so that an operation is a loop over doubles.
 * Ownership: an arena's.
 * Threading: pure.
 */
#ifndef PROMQL_VALUE_H
#define PROMQL_VALUE_H

#include <stdint.h>

#include "promql/ast.h"
#include "series/reader.h"

/* One series of a vector. A cell without a value has has[i] == 0; a histogram h[i] != NULL. */
struct column {
    struct labels labels;
    double *v;
    uint8_t *has;
    const struct fhist **h; /* NULL: no cell is a histogram */
    bool drops_name;        /* the name goes when the result is made (delayed name removal) */
};

/* One series of a matrix (a range selector as the whole query): samples with their own times. */
struct run {
    struct labels labels;
    const int64_t *t;
    const double *v;
    const struct fhist *const *h; /* NULL: floats only */
    size_t n;
};

struct value {
    enum promql_type type;
    size_t n_steps;
    int64_t start_ms, step_ms;
    struct column *columns; /* PROMQL_VECTOR; PROMQL_SCALAR: one, without labels */
    size_t n_columns;
    bool is_ordered;  /* topk, sort: keep the order as it is */
    struct run *runs; /* PROMQL_MATRIX */
    size_t n_runs;
    struct span string;
};

#endif
