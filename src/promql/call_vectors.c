/* SPDX-License-Identifier: Apache-2.0 */
/*
 * promql/call_vectors.c - functions that make vectors and scalars: vector, scalar, absent, time and
 * the times of samples and of the query.
 */
#include <errno.h>
#include <math.h>

#include "promql/call.h"
#include "promql/range.h"
#include "promql/select.h"

int call_time(struct eval *e, const struct node *n, const struct grid *g, struct arena *a,
              struct value *ret)
{
    double *v = arena_array(a, g->n, sizeof(*v));
    (void)e;
    (void)n;
    if (!v)
        return -ENOMEM;
    for (size_t i = 0; i < g->n; i++)
        v[i] = (double)grid_at(g, i) / 1000;
    return columns_scalar(g, a, v, ret);
}

static int constant(double x, const struct grid *g, struct arena *a, struct value *ret)
{
    double *v = arena_array(a, g->n, sizeof(*v));
    if (!v)
        return -ENOMEM;
    for (size_t i = 0; i < g->n; i++)
        v[i] = x;
    return columns_scalar(g, a, v, ret);
}

int call_pi(struct eval *e, const struct node *n, const struct grid *g, struct arena *a,
            struct value *ret)
{
    (void)e;
    (void)n;
    return constant(M_PI, g, a, ret);
}

/* start(), end(), range(), step(): of the whole query, in seconds. */
int call_query_times(struct eval *e, const struct node *n, const struct grid *g, struct arena *a,
                     struct value *ret)
{
    const struct promql_options *o = e->options;
    const char *name = n->call.function->name;
    int64_t ms = o->start_ms;
    if (strcmp(name, "end") == 0)
        ms = o->end_ms;
    else if (strcmp(name, "range") == 0)
        ms = o->end_ms - o->start_ms;
    else if (strcmp(name, "step") == 0)
        ms = o->start_ms == o->end_ms ? 0 : o->step_ms;
    return constant((double)ms / 1000, g, a, ret);
}

int call_vector(struct eval *e, const struct node *n, const struct grid *g, struct arena *a,
                struct value *ret)
{
    int r = eval_node(e, call_arg(n, 0), g, a, ret);
    ret->type = PROMQL_VECTOR;
    return r;
}

int call_scalar(struct eval *e, const struct node *n, const struct grid *g, struct arena *a,
                struct value *ret)
{
    struct arena work;
    struct value in;
    double *v = arena_array(a, g->n, sizeof(*v));
    if (!v)
        return -ENOMEM;
    arena_init(&work, e->budget);
    int r = eval_node(e, call_arg(n, 0), g, &work, &in);
    for (size_t i = 0; i < g->n && r == 0; i++) {
        size_t n_found = 0;
        v[i] = (double)NAN;
        for (size_t k = 0; k < in.n_columns; k++) {
            const struct column *c = &in.columns[k];
            if (!c->has[i] || column_h(c, i))
                continue;
            v[i] = n_found++ == 0 ? c->v[i] : (double)NAN;
        }
    }
    arena_done(&work);
    return r < 0 ? r : columns_scalar(g, a, v, ret);
}

/* Whether matcher i says what a label is, as the first one and without another one behind it. */
static bool is_fixed(const struct node *n, size_t i)
{
    const struct matcher *all = n->selector.matchers, *m = &all[i];
    for (size_t k = 0; k < n->selector.n_matchers; k++)
        if (k != i && span_eq(all[k].name, m->name) && (k > i || all[k].op == MATCH_EQ))
            return false;
    return m->op == MATCH_EQ && m->value.n > 0 && !span_eq(m->name, SPAN(LABEL_NAME));
}

int call_absent_labels(const struct node *arg, struct arena *a, struct labels *ret)
{
    struct label *pairs;
    size_t k = 0;
    *ret = (struct labels){NULL, 0};
    if (arg->kind != NODE_SELECTOR || arg->selector.n_matchers == 0)
        return 0;
    pairs = arena_array(a, arg->selector.n_matchers, sizeof(*pairs));
    if (!pairs)
        return -ENOMEM;
    for (size_t i = 0; i < arg->selector.n_matchers; i++)
        if (is_fixed(arg, i))
            pairs[k++] =
                (struct label){arg->selector.matchers[i].name, arg->selector.matchers[i].value};
    struct labels borrowed;
    int r = labels_normalise(pairs, k, &borrowed, NULL);
    return r < 0 ? r : labels_copy(a, borrowed, ret);
}

struct presence {
    uint8_t *has;
    size_t n;
};

static int put_presence(void *ctx, const struct column *c)
{
    struct presence *x = ctx;
    for (size_t i = 0; i < x->n; i++)
        x->has[i] |= c->has[i];
    return 0;
}

int call_absent(struct eval *e, const struct node *n, const struct grid *g, struct arena *a,
                struct value *ret)
{
    struct columns list = columns_of(e, a, g->n);
    struct presence x = {.n = g->n, .has = arena_zalloc(a, g->n, 1)};
    const struct sink to = {put_presence, &x};
    struct labels labels = {NULL, 0};
    struct column *c = NULL;
    int r = x.has ? eval_each(e, call_arg(n, 0), g, &to) : -ENOMEM;
    if (r == 0)
        r = call_absent_labels(call_arg(n, 0), a, &labels);
    if (r == 0)
        r = columns_add(&list, labels, &c);
    for (size_t i = 0; i < g->n && r == 0; i++)
        if (!x.has[i])
            r = column_set(a, g->n, c, i, 1, NULL);
    columns_give(&list, g, ret);
    columns_prune(ret);
    return r;
}

int call_absent_over_time(struct eval *e, const struct node *n, const struct grid *g,
                          struct arena *a, struct value *ret)
{
    int r = range_absent_eval(e, n, g, a, ret);
    if (r < 0 || ret->n_columns == 0)
        return r;
    return call_absent_labels(call_arg(n, 0), a, &ret->columns[0].labels);
}

int call_timestamp(struct eval *e, const struct node *n, const struct grid *g, struct arena *a,
                   struct value *ret)
{
    const struct node *arg = call_arg(n, 0);
    if (arg->kind == NODE_SELECTOR)
        return select_timestamps(e, arg, g, a, ret);
    int r = eval_node(e, arg, g, a, ret);
    for (size_t k = 0; r == 0 && k < ret->n_columns; k++) {
        struct column *c = &ret->columns[k];
        c->h = NULL;
        c->drops_name = true;
        for (size_t i = 0; i < g->n; i++)
            c->v[i] = (double)grid_at(g, i) / 1000;
    }
    return r;
}
