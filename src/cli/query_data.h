/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/query_data.h - the answer to a query, taken apart.
 *
 * Units:     seconds since the epoch.
 * Ownership: an arena's; texts may be views into the answer, which outlives the result.
 * Threading: pure.
 */
#ifndef CLI_QUERY_DATA_H
#define CLI_QUERY_DATA_H

#include "base/arena.h"

struct query_point {
    double t, v;      /* v is NaN for what is no number */
    struct span text; /* the value as it was sent */
};
struct query_series {
    struct span metric; /* name{label="value"}; empty for a scalar or a string */
    struct query_point *at;
    size_t n;
};
struct query_data {
    struct span type; /* "vector", "matrix", "scalar", "string" */
    struct query_series *series;
    size_t n_series;
    struct span error_type, error; /* error.p == NULL: it went well */
    struct span *notes;            /* warnings and infos */
    size_t n_notes;
};

/* -EPROTO: this is no such answer. -ENOMEM. */
int query_data_read(struct span json, struct arena *a, struct query_data *ret) WARN_UNUSED;

#endif
