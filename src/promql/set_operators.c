/* SPDX-License-Identifier: Apache-2.0 */
/*
 * promql/set_operators.c - and, or, unless: a series of a side stays where the other side has, or
 * has not, one with the same labels in question.
 */
#include <errno.h>

#include "promql/column.h"

/* For each group of labels the steps at which a side has something. */
struct groups {
    struct label_index index;
    uint8_t **has;
    size_t n_steps;
};

static int groups_init(struct groups *x, const struct node *n, const struct value *v,
                       struct arena *work)
{
    const struct vector_matching *m = n->binary.matching;
    x->n_steps = v->n_steps;
    x->has = arena_zalloc(work, v->n_columns, sizeof(*x->has));
    label_index_init(&x->index, work, m->is_on ? LABELS_BY : LABELS_WITHOUT, m->names, m->n_names);
    if (!x->has)
        return -ENOMEM;
    for (size_t k = 0; k < v->n_columns; k++) {
        size_t id;
        int r = label_index_get(&x->index, v->columns[k].labels, &id, NULL);
        if (r < 0)
            return r;
        if (!x->has[id])
            x->has[id] = arena_zalloc(work, v->n_steps, 1);
        if (!x->has[id])
            return -ENOMEM;
        for (size_t i = 0; i < v->n_steps; i++)
            x->has[id][i] |= v->columns[k].has[i];
    }
    return 0;
}

/* Leaves of v what the groups have (is_in) or have not. */
static int filter(struct eval *e, struct groups *x, struct value *v, bool is_in)
{
    size_t n_known = x->index.n;
    for (size_t k = 0; k < v->n_columns; k++) {
        struct column *c = &v->columns[k];
        size_t id;
        int r = label_index_get(&x->index, c->labels, &id, NULL);
        if (r < 0)
            return r;
        for (size_t i = 0; i < v->n_steps; i++)
            if ((id < n_known && x->has[id][i]) != is_in)
                column_unset(c, i);
        r = eval_work(e, v->n_steps);
        if (r < 0)
            return r;
    }
    return 0;
}

/* Columns of both, one behind the other. */
static int join(struct eval *e, const struct value *l, const struct value *r, struct arena *a,
                const struct grid *g, struct value *ret)
{
    struct columns list = columns_of(e, a, g->n);
    int rc = 0;
    for (size_t i = 0; i < l->n_columns && rc == 0; i++)
        rc = columns_push(&list, &l->columns[i]);
    for (size_t i = 0; i < r->n_columns && rc == 0; i++)
        rc = columns_push(&list, &r->columns[i]);
    columns_give(&list, g, ret);
    if (rc < 0)
        return rc;
    columns_prune(ret);
    return columns_merge(e, ret, a);
}

static int eval_or(struct eval *e, const struct node *n, const struct grid *g, struct arena *a,
                   struct arena *work, struct value *ret)
{
    struct value l, r;
    struct groups x = {.n_steps = 0};
    int rc = eval_node(e, n->binary.left, g, a, &l);
    if (rc == 0)
        rc = eval_node(e, n->binary.right, g, a, &r);
    if (rc == 0)
        rc = groups_init(&x, n, &l, work);
    if (rc == 0)
        rc = filter(e, &x, &r, false);
    return rc != 0 ? rc : join(e, &l, &r, a, g, ret);
}

static int eval_and_unless(struct eval *e, const struct node *n, const struct grid *g,
                           struct arena *a, struct arena *work, struct value *ret)
{
    struct value r;
    struct groups x = {.n_steps = 0};
    int rc = eval_node(e, n->binary.left, g, a, ret);
    if (rc == 0)
        rc = eval_node(e, n->binary.right, g, work, &r);
    if (rc == 0)
        rc = groups_init(&x, n, &r, work);
    return rc < 0 ? rc : filter(e, &x, ret, n->binary.op == OP_AND);
}

int set_operator_eval(struct eval *e, const struct node *n, const struct grid *g, struct arena *a,
                      struct value *ret)
{
    struct arena work;
    arena_init(&work, e->budget);
    int r = (n->binary.op == OP_OR ? eval_or : eval_and_unless)(e, n, g, a, &work, ret);
    arena_done(&work);
    return r;
}
