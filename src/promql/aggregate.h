/* SPDX-License-Identifier: Apache-2.0 */
/*
 * promql/aggregate.h - aggregations: those that sum up a stream of series, and those that look at
 * all series of a step at a time.
 *
 * Threading: one thread per query.
 */
#ifndef PROMQL_AGGREGATE_H
#define PROMQL_AGGREGATE_H

#include "promql/column.h"

/* Which group a series belongs to, and the labels of the group's result. */
struct grouping {
    struct label_index index;
    const struct span *without; /* names that go, the metric's among them */
    size_t n_without;
    const struct node *node;
};
int grouping_init(struct grouping *x, const struct node *n, struct arena *work) WARN_UNUSED;
int grouping_get(struct grouping *x, struct labels l, size_t *ret, bool *ret_is_new) WARN_UNUSED;
/* Borrowed texts, pairs from a. */
int grouping_labels(const struct grouping *x, struct labels l, struct arena *a,
                    struct labels *ret) WARN_UNUSED;

node_eval aggregate_topk; /* topk, bottomk, limitk, limit_ratio */
node_eval aggregate_quantile;
node_eval aggregate_count_values;

/* One group of a streaming aggregation: arrays with an element per step, as far as needed. */
struct aggregate_group {
    struct labels labels;
    bool drops_name;
    double *v;      /* the sum, the mean, the extreme value */
    double *c;      /* what the sum lost; squares */
    double *n;      /* how many */
    uint8_t *kinds; /* enum aggregate_kind */
    struct fhist_sum **h;
};
enum aggregate_kind {
    AGGREGATE_FLOAT = 1,
    AGGREGATE_HISTOGRAM = 2,
    AGGREGATE_INCOMPATIBLE = 4, /* histograms of two layouts */
    AGGREGATE_INCREMENTAL = 8,  /* v is a mean already */
    AGGREGATE_RESET = 16,       /* hints seen */
    AGGREGATE_NOT_RESET = 32,
};

struct aggregation {
    struct eval *e;
    const struct node *node;
    size_t at; /* of what is aggregated, for notes */
    size_t n_steps;
    struct arena *out, *work;
    struct grouping grouping;
    struct aggregate_group *groups;
    size_t n_groups, cap;
    const struct aggregate_kernel *kernel;
    unsigned said;            /* notes, of aggregate_kernels.c */
    const void *said_schemas; /* labels of the series of which that was told last */
};
struct aggregate_kernel {
    /* Takes a series into a group. */
    int (*add)(struct aggregation *x, struct aggregate_group *g, const struct column *c);
    /* Makes the group's column; ret is without values, but ret->v is g->v. */
    int (*get)(struct aggregation *x, struct aggregate_group *g, struct column *ret);
    bool needs_c, needs_n;
    double start; /* v before the first series */
};
extern const struct aggregate_kernel aggregate_kernels[AGG_COUNT_]; /* aggregate_kernels.c */

#endif
