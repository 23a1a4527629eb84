/* SPDX-License-Identifier: Apache-2.0 */
/*
 * promql/aggregate_select.c - aggregations that leave some of the series as they are (topk,
 * bottomk, limitk, limit_ratio), and quantile.
 *
 * The series are evaluated into the result and filtered in place. Equal values: the first series
 * in the order of labels wins.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/num.h"
#include "promql/aggregate.h"
#include "promql/fp.h"

/* Columns of a group, and room for the best of them: column numbers, the worst on top. */
struct part {
    size_t *heap;
    size_t n, n_members;
};

struct choice {
    struct eval *e;
    const struct node *node;
    struct value *v;
    size_t *part_of; /* by column */
    struct part *parts;
    size_t n_parts;
    uint8_t *keep; /* by column, at the step in question */
    size_t step;
    bool is_bottom;
    unsigned said;
};

static int make_parts(struct choice *x, struct arena *work)
{
    struct grouping grouping;
    size_t n = x->v->n_columns;
    size_t *room = arena_array(work, n, sizeof(*room));
    int r = grouping_init(&grouping, x->node, work);
    x->part_of = arena_array(work, n, sizeof(*x->part_of));
    x->parts = arena_zalloc(work, n, sizeof(*x->parts));
    x->keep = arena_zalloc(work, n, 1);
    if (!room || !x->part_of || !x->parts || !x->keep)
        return -ENOMEM;
    for (size_t i = 0; i < n && r == 0; i++) {
        r = grouping_get(&grouping, x->v->columns[i].labels, &x->part_of[i], NULL);
        if (r == 0)
            x->parts[x->part_of[i]].n_members++;
    }
    x->n_parts = grouping.index.n;
    for (size_t i = 0; i < x->n_parts; i++) {
        x->parts[i].heap = room;
        room += x->parts[i].n_members;
    }
    return r;
}

/* Whether column a is to go before column b does. */
static bool is_worse(const struct choice *x, size_t a, size_t b)
{
    double va = x->v->columns[a].v[x->step], vb = x->v->columns[b].v[x->step];
    if (isnan(va) || isnan(vb))
        return isnan(va) && isnan(vb) ? a > b : isnan(va);
    if (va == vb)
        return a > b;
    return x->is_bottom ? va > vb : va < vb;
}

static void sift_down(const struct choice *x, struct part *p)
{
    size_t i = 0;
    for (;;) {
        size_t worst = i;
        for (size_t c = 2 * i + 1; c <= 2 * i + 2 && c < p->n; c++)
            if (is_worse(x, p->heap[c], p->heap[worst]))
                worst = c;
        if (worst == i)
            return;
        size_t swap = p->heap[i];
        p->heap[i] = p->heap[worst];
        p->heap[worst] = swap;
        i = worst;
    }
}

static void heap_push(const struct choice *x, struct part *p, size_t column)
{
    size_t i = p->n++;
    for (; i > 0 && is_worse(x, column, p->heap[(i - 1) / 2]); i = (i - 1) / 2)
        p->heap[i] = p->heap[(i - 1) / 2];
    p->heap[i] = column;
}

static size_t heap_pop(const struct choice *x, struct part *p)
{
    size_t top = p->heap[0];
    p->heap[0] = p->heap[--p->n];
    sift_down(x, p);
    return top;
}

static int choose_extremes(struct choice *x, double k)
{
    for (size_t i = 0; i < x->v->n_columns; i++) {
        const struct column *c = &x->v->columns[i];
        struct part *p = &x->parts[x->part_of[i]];
        if (!c->has[x->step] || k < 1)
            continue;
        if (column_h(c, x->step)) {
            if (!notes_first(&x->said, 1))
                continue;
            int r = notes_ignored_in_aggregation(&x->e->notes, x->node->from,
                                                 x->is_bottom ? "bottomk" : "topk");
            if (r < 0)
                return r;
            continue;
        }
        if ((double)p->n + 1 <= k) {
            heap_push(x, p, i);
        } else if (is_worse(x, p->heap[0], i)) {
            p->heap[0] = i;
            sift_down(x, p);
        }
    }
    for (size_t i = 0; i < x->n_parts; i++)
        for (size_t k2 = 0; k2 < x->parts[i].n; k2++)
            x->keep[x->parts[i].heap[k2]] = 1;
    return 0;
}

static int choose_first(struct choice *x, double k)
{
    for (size_t i = 0; i < x->v->n_columns; i++) {
        struct part *p = &x->parts[x->part_of[i]];
        if (!x->v->columns[i].has[x->step] || (double)p->n + 1 > k)
            continue;
        p->n++;
        x->keep[i] = 1;
    }
    return 0;
}

/* By a number in [0, 1) that a series always has; a negative ratio takes the others. */
static int choose_ratio(struct choice *x, double ratio)
{
    for (size_t i = 0; i < x->v->n_columns; i++) {
        double at = (double)labels_hash(x->v->columns[i].labels) / 18446744073709551616.0;
        x->keep[i] = ratio >= 0 ? at < ratio : at >= 1 + ratio;
    }
    return 0;
}

static int choose(struct choice *x, double parameter)
{
    for (size_t i = 0; i < x->n_parts; i++)
        x->parts[i].n = 0;
    memset(x->keep, 0, x->v->n_columns);
    int r = x->node->aggregate.op == AGG_LIMITK        ? choose_first(x, trunc(parameter))
            : x->node->aggregate.op == AGG_LIMIT_RATIO ? choose_ratio(x, parameter)
                                                       : choose_extremes(x, trunc(parameter));
    for (size_t i = 0; i < x->v->n_columns; i++)
        if (!x->keep[i])
            column_unset(&x->v->columns[i], x->step);
    return r < 0 ? r : eval_work(x->e, x->v->n_columns);
}

/* The best first, group by group: how an instant query shows them. */
static int order(struct choice *x, struct arena *a)
{
    struct column *sorted = arena_array(a, x->v->n_columns, sizeof(*sorted));
    size_t n = 0;
    if (!sorted)
        return -ENOMEM;
    for (size_t i = 0; i < x->n_parts; i++) {
        struct part *p = &x->parts[i];
        size_t n_best = p->n;
        while (p->n > 0) {
            size_t at = n + p->n - 1;
            sorted[at] = x->v->columns[heap_pop(x, p)];
        }
        n += n_best;
    }
    x->v->columns = sorted;
    x->v->n_columns = n;
    x->v->is_ordered = true;
    return 0;
}

static double largest(const double *v, size_t n)
{
    double r = v[0];
    for (size_t i = 1; i < n; i++)
        r = v[i] > r ? v[i] : r;
    return r;
}

static double smallest(const double *v, size_t n)
{
    double r = v[0];
    for (size_t i = 1; i < n; i++)
        r = v[i] < r ? v[i] : r;
    return r;
}

static bool any_nan(const double *v, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (isnan(v[i]))
            return true;
    return false;
}

/* 1: nothing can come out. */
static int check_count(struct eval *e, const struct node *n, const double *k, size_t n_steps)
{
    static const double int64_end = 9223372036854775808.0;
    char number[32];
    double high = largest(k, n_steps), low = smallest(k, n_steps);
    if (any_nan(k, n_steps))
        return eval_fail(e, -EINVAL, n, "Parameter value is NaN");
    if (high < 1)
        return 1;
    if (low <= -int64_end)
        return eval_fail(e, -EINVAL, n, "Scalar value %.*s underflows int64",
                         (int)num_format_double(low, number), number);
    if (high >= int64_end)
        return eval_fail(e, -EINVAL, n, "Scalar value %.*s overflows int64",
                         (int)num_format_double(high, number), number);
    return 0;
}

static int say_ratio(struct eval *e, const struct node *n, double got, int cap)
{
    char number[32];
    return notes_warn(&e->notes, eval_unwrap(n->aggregate.parameter)->from,
                      "ratio value should be between -1 and 1, got %.*s, capping to %d",
                      (int)num_format_double(got, number), number, cap);
}

static int check_ratio(struct eval *e, const struct node *n, double *ratio, size_t n_steps)
{
    int r = 0;
    if (any_nan(ratio, n_steps))
        return eval_fail(e, -EINVAL, n, "Ratio value is NaN");
    double high = largest(ratio, n_steps), low = smallest(ratio, n_steps);
    if (high > 1)
        r = say_ratio(e, n, high, 1);
    if (r == 0 && low < -1)
        r = say_ratio(e, n, low, -1);
    for (size_t i = 0; i < n_steps; i++)
        ratio[i] = ratio[i] > 1 ? 1 : ratio[i] < -1 ? -1 : ratio[i];
    return r < 0 ? r : high == 0 && low == 0;
}

static int choose_all(struct choice *x, const struct grid *g, const double *parameter,
                      struct arena *a, struct arena *work)
{
    enum aggregate_op op = x->node->aggregate.op;
    int r = make_parts(x, work);
    for (x->step = 0; x->step < g->n && r == 0; x->step++)
        r = choose(x, parameter[x->step]);
    x->step = 0;
    if (r == 0 && g->n == 1 && (op == AGG_TOPK || op == AGG_BOTTOMK))
        return order(x, a);
    columns_prune(x->v);
    return r;
}

int aggregate_topk(struct eval *e, const struct node *n, const struct grid *g, struct arena *a,
                   struct value *ret)
{
    struct choice x = {.e = e, .node = n, .v = ret, .is_bottom = n->aggregate.op == AGG_BOTTOMK};
    struct arena work;
    double *parameter;
    arena_init(&work, e->budget);
    int r = eval_scalar(e, n->aggregate.parameter, g, &work, &parameter);
    if (r == 0)
        r = eval_node(e, n->aggregate.inner, g, a, ret);
    if (r == 0)
        r = n->aggregate.op == AGG_LIMIT_RATIO ? check_ratio(e, n, parameter, g->n)
                                               : check_count(e, n, parameter, g->n);
    if (r > 0)
        ret->n_columns = 0;
    else if (r == 0)
        r = choose_all(&x, g, parameter, a, &work);
    arena_done(&work);
    return r < 0 ? r : 0;
}

/* quantile(q, v): values of each group are gathered step by step. */
struct quantile {
    struct eval *e;
    const struct node *node;
    const struct value *in;
    struct columns *out;
    size_t *group_of;
    size_t **members; /* by group: columns, and how many */
    size_t *n_members;
    double *room;
    unsigned said;
};

static int quantile_groups(struct quantile *x, struct arena *a, struct arena *work)
{
    struct grouping grouping;
    size_t n = x->in->n_columns;
    int r = grouping_init(&grouping, x->node, work);
    x->group_of = arena_array(work, n, sizeof(size_t));
    x->room = arena_array(work, n, sizeof(double));
    x->members = arena_zalloc(work, n, sizeof(size_t *));
    x->n_members = arena_zalloc(work, n, sizeof(size_t));
    size_t *room = arena_array(work, n, sizeof(size_t));
    if (!x->group_of || !x->room || !x->members || !x->n_members || !room)
        return -ENOMEM;
    for (size_t i = 0; i < n && r == 0; i++) {
        bool is_new;
        r = grouping_get(&grouping, x->in->columns[i].labels, &x->group_of[i], &is_new);
        if (r == 0 && is_new) {
            struct labels labels, copy = {NULL, 0};
            struct column *c;
            r = grouping_labels(&grouping, x->in->columns[i].labels, work, &labels);
            if (r == 0)
                r = labels_copy(a, labels, &copy);
            if (r == 0)
                r = columns_add(x->out, copy, &c);
        }
        if (r == 0)
            x->n_members[x->group_of[i]]++;
    }
    for (size_t k = 0; k < grouping.index.n && r == 0; k++) {
        x->members[k] = room;
        room += x->n_members[k];
        x->n_members[k] = 0;
    }
    for (size_t i = 0; i < n && r == 0; i++) {
        size_t k = x->group_of[i];
        x->members[k][x->n_members[k]++] = i;
        /* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): every group has got its column */
        x->out->at[k].drops_name |= x->in->columns[i].drops_name;
    }
    return r;
}

static int quantile_cell(struct quantile *x, size_t group, size_t i, double q)
{
    size_t n = 0;
    int r = 0;
    for (size_t k = 0; k < x->n_members[group] && r == 0; k++) {
        const struct column *c = &x->in->columns[x->members[group][k]];
        if (!c->has[i])
            continue;
        if (column_h(c, i) && !notes_first(&x->said, 1))
            continue;
        if (column_h(c, i))
            r = notes_ignored_in_aggregation(
                &x->e->notes, eval_unwrap(x->node->aggregate.inner)->from, "quantile");
        else
            x->room[n++] = c->v[i];
    }
    if (r < 0 || n == 0)
        return r;
    x->out->at[group].v[i] = fp_quantile(x->room, n, q);
    x->out->at[group].has[i] = 1;
    return eval_work(x->e, n);
}

int aggregate_quantile(struct eval *e, const struct node *n, const struct grid *g, struct arena *a,
                       struct value *ret)
{
    struct arena work;
    struct value in;
    struct columns out = columns_of(e, a, g->n);
    struct quantile x = {.e = e, .node = n, .in = &in, .out = &out};
    double *q;
    arena_init(&work, e->budget);
    int r = eval_scalar(e, n->aggregate.parameter, g, &work, &q);
    for (size_t i = 0; i < g->n && r == 0; i++)
        r = notes_quantile(&e->notes, eval_unwrap(n->aggregate.parameter)->from, q[i]);
    if (r == 0)
        r = eval_node(e, n->aggregate.inner, g, &work, &in);
    if (r == 0)
        r = quantile_groups(&x, a, &work);
    for (size_t k = 0; k < out.n && r == 0; k++)
        for (size_t i = 0; i < g->n && r == 0; i++)
            r = quantile_cell(&x, k, i, q[i]);
    columns_give(&out, g, ret);
    arena_done(&work);
    return r;
}
