/* SPDX-License-Identifier: Apache-2.0 */
/*
 * promql/call.h - functions over instant vectors and scalars, by name.
 *
 * Role:      call.c has the table; the functions are in call_*.c. Those over ranges: range.h.
 * Threading: one thread per query.
 */
#ifndef PROMQL_CALL_H
#define PROMQL_CALL_H

#include "promql/column.h"

struct call_function {
    const char *name;
    node_eval *eval;
    double (*apply)(double v); /* for call_map and call_dates */
    bool depends_on_time;      /* of the evaluation, even where its arguments do not */
};
const struct call_function *call_function_find(const char *name);

/* The i-th argument, which is there, without parentheses. */
static inline const struct node *call_arg(const struct node *n, size_t i)
{
    return eval_unwrap(n->call.args[i]);
}
/* A scalar's value from n->call.args[i], one per step. */
int call_scalar_arg(struct eval *e, const struct node *n, size_t i, const struct grid *g,
                    struct arena *a, double **ret) WARN_UNUSED;
/* Labels of the result of absent(arg): those that its matchers fix. */
int call_absent_labels(const struct node *arg, struct arena *a, struct labels *ret) WARN_UNUSED;

/* arg's columns, floats only, nameless from here on. */
int call_floats_of(struct eval *e, const struct node *arg, const struct grid *g, struct arena *a,
                   struct value *ret) WARN_UNUSED;

node_eval call_map; /* call_math.c: floats one by one */
node_eval call_clamp, call_round, call_extreme_of;
node_eval call_dates; /* call_dates.c */
node_eval call_time, call_pi, call_query_times, call_vector, call_scalar, call_absent,
    call_absent_over_time, call_timestamp; /* call_vectors.c */
node_eval call_sort, call_sort_by_label;   /* call_sort.c */
node_eval call_label_replace, call_label_join;
node_eval call_histogram_number, call_histogram_quantile, call_histogram_quantiles,
    call_histogram_fraction;

double call_date_minute(double t), call_date_hour(double t), call_date_day_of_week(double t),
    call_date_day_of_month(double t), call_date_day_of_year(double t),
    call_date_days_in_month(double t), call_date_month(double t), call_date_year(double t);
double call_sgn(double v), call_rad(double v), call_deg(double v);

#endif
