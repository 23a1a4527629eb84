/* SPDX-License-Identifier: Apache-2.0 */
/*
 * promql/select.h - reading the series of a selector.
 *
 * Errors:    of the reader, limits (eval.h).
 * Threading: one thread per query.
 */
#ifndef PROMQL_SELECT_H
#define PROMQL_SELECT_H

#include "promql/time.h"

/* A selector over the steps of a grid, ready to be read series by series. */
struct selection {
    struct eval *e;
    const struct node *node;
    const struct grid *grid;
    struct moment moment;
    struct reach reach;
    int64_t range_ms; /* 0: instant */
    int64_t from_ms, to_ms;
    enum series_aspect aspect; /* where data is sparse; else the last value */
    struct series_ref *series; /* sorted by labels */
    size_t n;
    struct samples samples; /* of the series that was read last */
};

/*
 * labels and the list live in a. aspect: see reader.h. selection_done belongs to every call, also
 * after an error.
 */
int selection_init(struct selection *s, struct eval *e, const struct node *n, const struct grid *g,
                   enum series_aspect aspect, struct arena *a) WARN_UNUSED;
int selection_read(struct selection *s, size_t i) WARN_UNUSED;
void selection_done(struct selection *s);

/* An instant selector, series by series; and with the samples' own times (s) as values. */
int select_each(struct eval *e, const struct node *n, const struct grid *g,
                const struct sink *to) WARN_UNUSED;
int select_timestamps(struct eval *e, const struct node *n, const struct grid *g, struct arena *a,
                      struct value *ret) WARN_UNUSED;

#endif
