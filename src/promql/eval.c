/* SPDX-License-Identifier: Apache-2.0 */
/*
 * promql/eval.c - evaluation of a node: the table of kinds, and what is evaluated once only.
 */
#include "promql/eval.h"

#include <errno.h>

#include "promql/call.h"
#include "promql/range.h"
#include "promql/select.h"
#include "promql/shared.h"

const struct node *eval_unwrap(const struct node *n)
{
    while (n->kind == NODE_PAREN)
        n = n->inner;
    return n;
}

/* Functions of the evaluation's time differ from step to step even over fixed arguments, but for
 * timestamp() of a selector. */
static bool is_call_invariant(const struct node *n)
{
    const struct call_function *f = call_function_find(n->call.function->name);
    bool depends = f ? f->depends_on_time : strcmp(n->call.function->name, "predict_linear") == 0;
    if (f && f->eval == call_timestamp && call_arg(n, 0)->kind == NODE_SELECTOR)
        depends = false;
    for (size_t i = 0; i < n->call.n_args && !depends; i++)
        depends = !eval_is_invariant(n->call.args[i]);
    return !depends;
}

bool eval_is_invariant(const struct node *n)
{
    switch (n->kind) {
    case NODE_NUMBER:
    case NODE_STRING:
        return true;
    case NODE_PAREN:
    case NODE_NEGATE:
        return eval_is_invariant(n->inner);
    case NODE_BINARY:
        return eval_is_invariant(n->binary.left) && eval_is_invariant(n->binary.right);
    case NODE_AGGREGATE:
        return eval_is_invariant(n->aggregate.inner) &&
               (!n->aggregate.parameter || eval_is_invariant(n->aggregate.parameter));
    case NODE_CALL:
        return is_call_invariant(n);
    case NODE_SELECTOR:
        return n->selector.when.at != AT_NONE;
    case NODE_SUBQUERY:
        return n->subquery.when.at != AT_NONE;
    }
    return false;
}

static int eval_number(struct eval *e, const struct node *n, const struct grid *g, struct arena *a,
                       struct value *ret)
{
    double *v = arena_array(a, g->n, sizeof(*v));
    (void)e;
    if (!v)
        return -ENOMEM;
    for (size_t i = 0; i < g->n; i++)
        v[i] = n->number.value;
    return columns_scalar(g, a, v, ret);
}

static int eval_string(struct eval *e, const struct node *n, const struct grid *g, struct arena *a,
                       struct value *ret)
{
    (void)e;
    struct span copy = arena_dup(a, n->string);
    *ret = (struct value){.type = PROMQL_STRING,
                          .n_steps = g->n,
                          .start_ms = g->start_ms,
                          .step_ms = g->step_ms,
                          .string = copy};
    return copy.p ? 0 : -ENOMEM;
}

static int eval_paren(struct eval *e, const struct node *n, const struct grid *g, struct arena *a,
                      struct value *ret)
{
    return eval_node(e, n->inner, g, a, ret);
}

static int negate(struct column *c, size_t n_steps, struct arena *a)
{
    for (size_t i = 0; i < n_steps; i++)
        c->v[i] = -c->v[i];
    c->drops_name = true;
    for (size_t i = 0; c->h && i < n_steps; i++) {
        struct fhist *h;
        if (!c->h[i])
            continue;
        int r = fhist_scale(a, c->h[i], -1, &h);
        if (r < 0)
            return r;
        c->h[i] = h;
    }
    return 0;
}

static int eval_negate(struct eval *e, const struct node *n, const struct grid *g, struct arena *a,
                       struct value *ret)
{
    int r = eval_node(e, n->inner, g, a, ret);
    for (size_t i = 0; r == 0 && i < ret->n_columns; i++)
        r = negate(&ret->columns[i], g->n, a);
    return r;
}

static int eval_selector(struct eval *e, const struct node *n, const struct grid *g,
                         struct arena *a, struct value *ret)
{
    return (n->selector.range ? matrix_eval : select_instant)(e, n, g, a, ret);
}

static node_eval *const kinds[] = {
    [NODE_NUMBER] = eval_number, [NODE_STRING] = eval_string,     [NODE_PAREN] = eval_paren,
    [NODE_NEGATE] = eval_negate, [NODE_BINARY] = binary_eval,     [NODE_AGGREGATE] = shared_eval,
    [NODE_CALL] = call_eval,     [NODE_SELECTOR] = eval_selector, [NODE_SUBQUERY] = matrix_eval,
};

/* One step's value at every step. */
static int spread(struct eval *e, const struct grid *g, struct arena *a, struct value *v)
{
    for (size_t k = 0; k < v->n_columns; k++) {
        struct column *c = &v->columns[k], wide;
        int r = column_new(a, g->n, &wide);
        if (r == 0 && c->h)
            r = column_need_h(a, g->n, &wide);
        if (r == 0)
            r = eval_check_cells(e, k + 1, g->n);
        if (r < 0)
            return r;
        wide.labels = c->labels;
        wide.drops_name = c->drops_name;
        for (size_t i = 0; i < g->n; i++) {
            wide.v[i] = c->v[0];
            wide.has[i] = c->has[0];
            if (c->h)
                wide.h[i] = c->h[0];
        }
        *c = wide;
    }
    v->n_steps = g->n;
    v->step_ms = g->step_ms;
    return 0;
}

static bool is_evaluated_once(const struct node *n, const struct grid *g)
{
    return g->n > 1 && n->kind != NODE_NUMBER && n->kind != NODE_PAREN &&
           (n->type == PROMQL_VECTOR || n->type == PROMQL_SCALAR) && eval_is_invariant(n);
}

int eval_node(struct eval *e, const struct node *n, const struct grid *g, struct arena *a,
              struct value *ret)
{
    int r = eval_check_cells(e, 1, g->n);
    *ret = (struct value){
        .type = n->type, .n_steps = g->n, .start_ms = g->start_ms, .step_ms = g->step_ms};
    if (r < 0)
        return r;
    if (g->n == 0)
        return 0;
    if (!is_evaluated_once(n, g))
        return kinds[n->kind](e, n, g, a, ret);
    struct grid one = *g;
    one.n = 1;
    r = kinds[n->kind](e, n, &one, a, ret);
    return r < 0 ? r : spread(e, g, a, ret);
}

int eval_scalar(struct eval *e, const struct node *n, const struct grid *g, struct arena *a,
                double **ret)
{
    struct value v;
    int r = eval_node(e, n, g, a, &v);
    if (r < 0)
        return r;
    if (v.n_columns != 1) {
        *ret = arena_zalloc(a, g->n, sizeof(**ret)); /* no steps */
        return *ret ? 0 : -ENOMEM;
    }
    *ret = v.columns[0].v;
    return 0;
}

int eval_each(struct eval *e, const struct node *n, const struct grid *g, const struct sink *to)
{
    struct arena a;
    struct value v;
    n = eval_unwrap(n);
    if (g->n > 0 && !is_evaluated_once(n, g)) {
        if (range_call_is(n))
            return range_call_each(e, n, g, to);
        if (n->kind == NODE_SELECTOR && n->type == PROMQL_VECTOR)
            return select_each(e, n, g, to);
    }
    arena_init(&a, e->budget);
    int r = eval_node(e, n, g, &a, &v);
    for (size_t i = 0; r == 0 && i < v.n_columns; i++)
        r = to->put(to->ctx, &v.columns[i]);
    arena_done(&a);
    return r;
}
