/* SPDX-License-Identifier: Apache-2.0 */
/*
 * promql/matrix.c - a range selector or a subquery as the whole query: samples with their own
 * times.
 */
#include <errno.h>

#include "promql/column.h"
#include "promql/select.h"

static int run_new(struct arena *a, size_t n, bool has_h, struct run *ret, int64_t **t, double **v,
                   const struct fhist ***h)
{
    *t = arena_array(a, n, sizeof(**t));
    *v = arena_array(a, n, sizeof(**v));
    *h = has_h ? arena_zalloc(a, n, sizeof(const struct fhist *)) : NULL;
    *ret = (struct run){.t = *t, .v = *v, .h = (const struct fhist *const *)*h};
    return *t && *v && (*h || !has_h) ? 0 : -ENOMEM;
}

static int copy_samples(const struct samples *x, struct arena *a, struct run *ret)
{
    int64_t *t;
    double *v;
    const struct fhist **h;
    int r = run_new(a, x->n, x->h != NULL, ret, &t, &v, &h);
    for (size_t i = 0; i < x->n && r == 0; i++) {
        struct fhist *copy;
        if (series_is_stale(x->v[i]))
            continue;
        t[ret->n] = x->t[i];
        v[ret->n] = x->v[i];
        if (x->h && x->h[i]) {
            r = fhist_copy(a, x->h[i], &copy);
            if (r == 0)
                h[ret->n] = copy;
        }
        ret->n++;
    }
    return r;
}

static int of_selector(struct eval *e, const struct node *n, const struct grid *g, struct arena *a,
                       struct value *ret)
{
    struct selection s;
    int r = selection_init(&s, e, n, g, SERIES_LAST, a);
    if (r == 0 && s.n > 0) {
        ret->runs = arena_array(a, s.n, sizeof(*ret->runs));
        if (!ret->runs)
            r = -ENOMEM;
    }
    for (size_t i = 0; i < s.n && r == 0; i++) {
        struct run run;
        r = selection_read(&s, i);
        if (r == 0)
            r = copy_samples(&s.samples, a, &run);
        run.labels = s.series[i].labels;
        if (r == 0 && run.n > 0)
            ret->runs[ret->n_runs++] = run;
    }
    selection_done(&s);
    return r;
}

static int copy_column(const struct column *c, const struct grid *g, struct arena *a,
                       struct run *ret)
{
    int64_t *t;
    double *v;
    const struct fhist **h;
    int r = run_new(a, g->n, c->h != NULL, ret, &t, &v, &h);
    for (size_t i = 0; i < g->n && r == 0; i++) {
        if (!c->has[i])
            continue;
        t[ret->n] = grid_at(g, i);
        v[ret->n] = c->v[i];
        if (h)
            h[ret->n] = c->h[i];
        ret->n++;
    }
    ret->labels = c->labels;
    if (r == 0 && c->drops_name)
        r = label_nameless(a, c->labels, &ret->labels);
    return r;
}

static int of_subquery(struct eval *e, const struct node *n, const struct grid *g, struct arena *a,
                       struct value *ret)
{
    struct moment moment;
    struct grid inner;
    struct value v = {.n_columns = 0};
    int64_t range_ms = 0;
    int r = moment_init(e, &n->subquery.when, &moment);
    if (r == 0)
        r = time_duration_ms(e, n->subquery.range, false, &range_ms);
    if (r == 0)
        r = time_subquery_grid(e, n, g, &moment, range_ms, &inner);
    if (r == 0)
        r = eval_node(e, n->subquery.inner, &inner, a, &v);
    if (r < 0 || v.n_columns == 0)
        return r;
    ret->runs = arena_array(a, v.n_columns, sizeof(*ret->runs));
    if (!ret->runs)
        return -ENOMEM;
    for (size_t i = 0; i < v.n_columns && r == 0; i++) {
        struct run run;
        r = copy_column(&v.columns[i], &inner, a, &run);
        if (r == 0 && run.n > 0)
            ret->runs[ret->n_runs++] = run;
    }
    return r;
}

int matrix_eval(struct eval *e, const struct node *n, const struct grid *g, struct arena *a,
                struct value *ret)
{
    if (g->n != 1)
        return eval_fail(e, -EINVAL, n, "a range cannot be evaluated over steps");
    return (n->kind == NODE_SUBQUERY ? of_subquery : of_selector)(e, n, g, a, ret);
}
