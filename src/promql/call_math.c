/* SPDX-License-Identifier: Apache-2.0 */
/*
 * promql/call_math.c - functions of one float at a time; histograms are left out.
 */
#include <errno.h>

#include "promql/call.h"
#include "promql/fp.h"

double call_sgn(double v)
{
    return v < 0 ? -1 : v > 0 ? 1 : v;
}

double call_rad(double v)
{
    return v * M_PI / 180;
}

double call_deg(double v)
{
    return v * 180 / M_PI;
}

/* The argument's columns, floats only, nameless from here on. */
int call_floats_of(struct eval *e, const struct node *arg, const struct grid *g, struct arena *a,
                   struct value *ret)
{
    int r = eval_node(e, arg, g, a, ret);
    for (size_t k = 0; r == 0 && k < ret->n_columns; k++) {
        struct column *c = &ret->columns[k];
        c->drops_name = true;
        for (size_t i = 0; c->h && i < g->n; i++)
            if (c->h[i])
                c->has[i] = 0;
        c->h = NULL;
    }
    return r;
}

int call_map(struct eval *e, const struct node *n, const struct grid *g, struct arena *a,
             struct value *ret)
{
    double (*apply)(double) = call_function_find(n->call.function->name)->apply;
    int r = call_floats_of(e, call_arg(n, 0), g, a, ret);
    for (size_t k = 0; r == 0 && k < ret->n_columns; k++) {
        struct column *c = &ret->columns[k];
        for (size_t i = 0; i < g->n; i++)
            if (c->has[i])
                c->v[i] = apply(c->v[i]);
        r = eval_work(e, g->n);
    }
    return r;
}

/* Bounds per step; NULL: none. */
static void clamp(struct column *c, size_t n, const double *low, const double *high)
{
    for (size_t i = 0; i < n; i++) {
        double l = low ? low[i] : -(double)INFINITY, h = high ? high[i] : (double)INFINITY;
        if (h < l)
            c->has[i] = 0;
        c->v[i] = fp_max(l, fp_min(h, c->v[i]));
    }
}

int call_clamp(struct eval *e, const struct node *n, const struct grid *g, struct arena *a,
               struct value *ret)
{
    const char *name = n->call.function->name;
    bool has_low = strcmp(name, "clamp_max") != 0, has_high = strcmp(name, "clamp_min") != 0;
    double *low = NULL, *high = NULL;
    int r = call_floats_of(e, call_arg(n, 0), g, a, ret);
    if (r == 0 && has_low)
        r = call_scalar_arg(e, n, 1, g, a, &low);
    if (r == 0 && has_high)
        r = call_scalar_arg(e, n, has_low ? 2 : 1, g, a, &high);
    for (size_t k = 0; r == 0 && k < ret->n_columns; k++)
        clamp(&ret->columns[k], g->n, low, high);
    return r;
}

int call_round(struct eval *e, const struct node *n, const struct grid *g, struct arena *a,
               struct value *ret)
{
    double *to = NULL;
    int r = call_floats_of(e, call_arg(n, 0), g, a, ret);
    if (r == 0 && n->call.n_args > 1)
        r = call_scalar_arg(e, n, 1, g, a, &to);
    for (size_t k = 0; r == 0 && k < ret->n_columns; k++) {
        struct column *c = &ret->columns[k];
        for (size_t i = 0; i < g->n; i++) {
            double inverse = to ? 1 / to[i] : 1;
            c->v[i] = floor(c->v[i] * inverse + 0.5) / inverse;
        }
    }
    return r;
}

/* max_of(a, b), min_of(a, b) */
int call_extreme_of(struct eval *e, const struct node *n, const struct grid *g, struct arena *a,
                    struct value *ret)
{
    bool is_max = strcmp(n->call.function->name, "max_of") == 0;
    double *x = NULL, *y = NULL;
    int r = call_scalar_arg(e, n, 0, g, a, &x);
    if (r == 0)
        r = call_scalar_arg(e, n, 1, g, a, &y);
    for (size_t i = 0; r == 0 && i < g->n; i++)
        x[i] = is_max ? fp_max(x[i], y[i]) : fp_min(x[i], y[i]);
    return r < 0 ? r : columns_scalar(g, a, x, ret);
}
