/* SPDX-License-Identifier: Apache-2.0 */
/*
 * promql/column.c - see column.h.
 *
 * Tables and lists grow by doubling inside the arena; what they leave behind is less than what they
 * hold, and goes with the arena.
 */
#include "promql/column.h"

#include <errno.h>

int column_new(struct arena *a, size_t n_steps, struct column *ret)
{
    double *v = arena_zalloc(a, n_steps, sizeof(*v));
    uint8_t *has = arena_zalloc(a, n_steps, sizeof(*has));
    if (!v || !has)
        return -ENOMEM;
    *ret = (struct column){.v = v, .has = has};
    return 0;
}

int column_need_h(struct arena *a, size_t n_steps, struct column *c)
{
    if (!c->h)
        c->h = arena_zalloc(a, n_steps, sizeof(const struct fhist *));
    return c->h ? 0 : -ENOMEM;
}

bool column_is_empty(const struct column *c, size_t n_steps)
{
    return !memchr(c->has, 1, n_steps);
}

int columns_push(struct columns *l, const struct column *c)
{
    int r = eval_check_cells(l->e, l->n + 1, l->n_steps);
    if (r < 0)
        return r;
    struct column *at = arena_grow(l->a, l->at, l->n, 1, &l->cap, sizeof(*at));
    if (!at)
        return -ENOMEM;
    l->at = at;
    l->at[l->n++] = *c;
    return 0;
}

int columns_add(struct columns *l, struct labels labels, struct column **ret)
{
    struct column c;
    int r = column_new(l->a, l->n_steps, &c);
    if (r < 0)
        return r;
    c.labels = labels;
    r = columns_push(l, &c);
    if (r < 0)
        return r;
    *ret = &l->at[l->n - 1];
    return 0;
}

void columns_give(const struct columns *l, const struct grid *g, struct value *ret)
{
    *ret = (struct value){.type = PROMQL_VECTOR,
                          .n_steps = g->n,
                          .start_ms = g->start_ms,
                          .step_ms = g->step_ms,
                          .columns = l->at,
                          .n_columns = l->n};
}

int columns_scalar(const struct grid *g, struct arena *a, double *v, struct value *ret)
{
    struct column *c = arena_zalloc(a, 1, sizeof(*c));
    uint8_t *has = arena_alloc(a, g->n);
    if (!c || !has)
        return -ENOMEM;
    memset(has, 1, g->n);
    *c = (struct column){.v = v, .has = has};
    *ret = (struct value){.type = PROMQL_SCALAR,
                          .n_steps = g->n,
                          .start_ms = g->start_ms,
                          .step_ms = g->step_ms,
                          .columns = c,
                          .n_columns = 1};
    return 0;
}

void columns_prune(struct value *v)
{
    size_t n = 0;
    for (size_t i = 0; i < v->n_columns; i++)
        if (!column_is_empty(&v->columns[i], v->n_steps))
            v->columns[n++] = v->columns[i];
    v->n_columns = n;
}

static int merge_into(struct eval *e, struct arena *a, size_t n_steps, struct column *to,
                      const struct column *from)
{
    for (size_t i = 0; i < n_steps; i++) {
        if (!from->has[i])
            continue;
        if (to->has[i])
            return eval_fail_same_labels(e);
        int r = column_set(a, n_steps, to, i, from->v[i], column_h(from, i));
        if (r < 0)
            return r;
    }
    to->drops_name |= from->drops_name;
    return eval_work(e, n_steps);
}

int columns_merge(struct eval *e, struct value *v, struct arena *a)
{
    struct label_index x;
    struct arena work;
    size_t n = 0;
    int r = 0;
    if (v->n_columns < 2)
        return 0;
    arena_init(&work, e->budget);
    label_index_init(&x, &work, LABELS_ALL, NULL, 0);
    for (size_t i = 0; i < v->n_columns && r == 0; i++) {
        size_t to;
        bool is_new;
        r = label_index_get(&x, v->columns[i].labels, &to, &is_new);
        if (r < 0)
            break;
        if (is_new)
            v->columns[n++] = v->columns[i];
        else
            r = merge_into(e, a, v->n_steps, &v->columns[to], &v->columns[i]);
    }
    if (r == 0)
        v->n_columns = n;
    arena_done(&work);
    return r;
}
