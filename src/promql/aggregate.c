/* SPDX-License-Identifier: Apache-2.0 */
/*
 * promql/aggregate.c - grouping, and aggregations that need to see each series once.
 *
 * Those take series as they come (eval_each): sum by (le) (rate(x[5m])) holds one column per group
 * and one series' samples, however many series there are.
 */
#include "promql/aggregate.h"

#include <errno.h>

int grouping_init(struct grouping *x, const struct node *n, struct arena *work)
{
    struct span *without;
    int r = label_names_with_metric(work, n->aggregate.names, n->aggregate.n_names, &without,
                                    &x->n_without);
    x->node = n;
    x->without = without;
    label_index_init(&x->index, work, n->aggregate.is_without ? LABELS_WITHOUT : LABELS_BY,
                     n->aggregate.names, n->aggregate.n_names);
    return r;
}

int grouping_get(struct grouping *x, struct labels l, size_t *ret, bool *ret_is_new)
{
    return label_index_get(&x->index, l, ret, ret_is_new);
}

int grouping_labels(const struct grouping *x, struct labels l, struct arena *a, struct labels *ret)
{
    if (x->node->aggregate.is_without)
        return labels_without(a, l, x->without, x->n_without, ret);
    return labels_only(a, l, x->node->aggregate.names, x->node->aggregate.n_names, ret);
}

static int group_new(struct aggregation *x, struct labels l)
{
    struct labels labels = {NULL, 0};
    struct aggregate_group *groups =
        arena_grow(x->work, x->groups, x->n_groups, 1, &x->cap, sizeof(*groups));
    if (!groups)
        return -ENOMEM;
    x->groups = groups;
    int r = eval_check_cells(x->e, x->n_groups + 1, x->n_steps);
    if (r == 0)
        r = grouping_labels(&x->grouping, l, x->work, &labels);
    struct aggregate_group g = {.v = arena_array(x->out, x->n_steps, sizeof(double)),
                                .kinds = arena_zalloc(x->work, x->n_steps, 1)};
    if (r == 0)
        r = labels_copy(x->out, labels, &g.labels);
    if (r == 0 && x->kernel->needs_c)
        g.c = arena_zalloc(x->work, x->n_steps, sizeof(double));
    if (r == 0 && x->kernel->needs_n)
        g.n = arena_zalloc(x->work, x->n_steps, sizeof(double));
    if (r < 0)
        return r;
    if (!g.v || !g.kinds || (x->kernel->needs_c && !g.c) || (x->kernel->needs_n && !g.n))
        return -ENOMEM;
    for (size_t i = 0; i < x->n_steps; i++)
        g.v[i] = x->kernel->start;
    x->groups[x->n_groups++] = g;
    return 0;
}

static int put(void *ctx, const struct column *c)
{
    struct aggregation *x = ctx;
    size_t id;
    bool is_new;
    int r = grouping_get(&x->grouping, c->labels, &id, &is_new);
    if (r == 0 && is_new)
        r = group_new(x, c->labels);
    if (r < 0)
        return r;
    x->groups[id].drops_name |= c->drops_name;
    r = x->kernel->add(x, &x->groups[id], c);
    return r < 0 ? r : eval_work(x->e, x->n_steps);
}

static int get_all(struct aggregation *x, const struct grid *g, struct value *ret)
{
    struct columns list = columns_of(x->e, x->out, x->n_steps);
    int r = 0;
    for (size_t i = 0; i < x->n_groups && r == 0; i++) {
        struct aggregate_group *group = &x->groups[i];
        struct column c = {.labels = group->labels,
                           .drops_name = group->drops_name,
                           .v = group->v,
                           .has = arena_zalloc(x->out, x->n_steps, 1)};
        r = c.has ? x->kernel->get(x, group, &c) : -ENOMEM;
        if (r == 0 && !column_is_empty(&c, x->n_steps))
            r = columns_push(&list, &c);
    }
    columns_give(&list, g, ret);
    return r;
}

static int stream(struct eval *e, const struct node *n, const struct grid *g, struct arena *a,
                  struct value *ret)
{
    struct arena work;
    struct aggregation x = {.e = e,
                            .node = n,
                            .at = eval_unwrap(n->aggregate.inner)->from,
                            .n_steps = g->n,
                            .out = a,
                            .work = &work,
                            .kernel = &aggregate_kernels[n->aggregate.op]};
    const struct sink to = {put, &x};
    arena_init(&work, e->budget);
    int r = grouping_init(&x.grouping, n, &work);
    if (r == 0)
        r = eval_each(e, n->aggregate.inner, g, &to);
    if (r == 0)
        r = get_all(&x, g, ret);
    arena_done(&work);
    return r;
}

int aggregate_eval(struct eval *e, const struct node *n, const struct grid *g, struct arena *a,
                   struct value *ret)
{
    switch (n->aggregate.op) {
    case AGG_TOPK:
    case AGG_BOTTOMK:
    case AGG_LIMITK:
    case AGG_LIMIT_RATIO:
        return aggregate_topk(e, n, g, a, ret);
    case AGG_QUANTILE:
        return aggregate_quantile(e, n, g, a, ret);
    case AGG_COUNT_VALUES:
        return aggregate_count_values(e, n, g, a, ret);
    default:
        return stream(e, n, g, a, ret);
    }
}
