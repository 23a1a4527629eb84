/* SPDX-License-Identifier: Apache-2.0 */
/*
 * promql/call_sort.c - sort, sort_desc, sort_by_label, sort_by_label_desc: the order of an instant
 * query's result. Results of range queries are sorted by labels, which a note tells.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "promql/call.h"

/* A column and where it stood: equal ones keep their order. */
struct item {
    struct column c;
    size_t at;
};

/* NaN is last in both orders. */
static int compare_value(const struct item *a, const struct item *b, bool is_desc)
{
    double x = a->c.v[0], y = b->c.v[0];
    if (isnan(x) || isnan(y))
        return isnan(x) - isnan(y);
    return is_desc ? (x < y) - (x > y) : (x > y) - (x < y);
}

static int by_position(const struct item *a, const struct item *b)
{
    return (a->at > b->at) - (a->at < b->at);
}

static int compare_ascending(const void *a, const void *b)
{
    int r = compare_value(a, b, false);
    return r ? r : by_position(a, b);
}

static int compare_descending(const void *a, const void *b)
{
    int r = compare_value(a, b, true);
    return r ? r : by_position(a, b);
}

static int sort_items(struct value *v, struct arena *a,
                      int (*compare)(const void *x, const void *y))
{
    struct item *items = arena_array(a, v->n_columns, sizeof(*items));
    if (!items)
        return -ENOMEM;
    for (size_t i = 0; i < v->n_columns; i++)
        items[i] = (struct item){v->columns[i], i};
    if (v->n_columns > 1)
        qsort(items, v->n_columns, sizeof(*items), compare);
    for (size_t i = 0; i < v->n_columns; i++)
        v->columns[i] = items[i].c;
    v->is_ordered = true;
    return 0;
}

static int say_ineffective(struct eval *e, const struct node *n, const struct grid *g)
{
    if (g->n < 2)
        return 0;
    return notes_warn(
        &e->notes, n->from,
        "sort is ineffective for range queries since results are always ordered by labels");
}

int call_sort(struct eval *e, const struct node *n, const struct grid *g, struct arena *a,
              struct value *ret)
{
    bool is_desc = strcmp(n->call.function->name, "sort_desc") == 0;
    int r = say_ineffective(e, n, g);
    if (r == 0)
        r = eval_node(e, call_arg(n, 0), g, a, ret);
    if (r < 0)
        return r;
    for (size_t k = 0; k < ret->n_columns; k++) {
        struct column *c = &ret->columns[k];
        for (size_t i = 0; c->h && i < g->n; i++)
            if (c->h[i])
                c->has[i] = 0;
        c->h = NULL;
    }
    columns_prune(ret);
    return g->n == 1 ? sort_items(ret, a, is_desc ? compare_descending : compare_ascending) : 0;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Takes a run of digits, or of anything else, off *s. */
static struct span take_run(struct span *s)
{
    size_t n = 1;
    while (n < s->n && is_digit(s->p[n]) == is_digit(s->p[0]))
        n++;
    return span_take(s, n);
}

static struct span without_zeros(struct span s)
{
    while (s.n > 1 && s.p[0] == '0')
        (void)span_take(&s, 1);
    return s;
}

/* As people sort: runs of digits by their number. */
static int compare_natural(struct span a, struct span b)
{
    while (a.n > 0 && b.n > 0) {
        struct span x = take_run(&a), y = take_run(&b);
        int r = 0;
        if (is_digit(x.p[0]) && is_digit(y.p[0])) {
            x = without_zeros(x);
            y = without_zeros(y);
            r = (x.n > y.n) - (x.n < y.n);
        }
        if (r == 0)
            r = span_cmp(x, y);
        if (r != 0)
            return r;
    }
    return (a.n > 0) - (b.n > 0);
}

/* qsort has no argument for its function; so keys of each column are made in front. */
struct keyed {
    struct column c;
    const struct span *keys;
    size_t n_keys;
};

static int compare_keys(const void *a, const void *b)
{
    const struct keyed *x = a, *y = b;
    for (size_t i = 0; i < x->n_keys; i++) {
        int r = span_eq(x->keys[i], y->keys[i]) ? 0 : compare_natural(x->keys[i], y->keys[i]);
        if (r != 0)
            return r;
    }
    return labels_cmp(x->c.labels, y->c.labels);
}

static int compare_keys_desc(const void *a, const void *b)
{
    return compare_keys(b, a);
}

static int sort_keyed(struct value *v, const struct node *n, struct arena *a, bool is_desc)
{
    struct keyed *items = arena_array(a, v->n_columns, sizeof(*items));
    size_t n_keys = n->call.n_args - 1;
    struct span *keys = arena_array(a, v->n_columns, (n_keys ? n_keys : 1) * sizeof(*keys));
    if (!items || !keys)
        return -ENOMEM;
    for (size_t i = 0; i < v->n_columns; i++) {
        struct span *of = keys + i * n_keys;
        items[i] = (struct keyed){v->columns[i], of, n_keys};
        for (size_t k = 0; k < n_keys; k++)
            of[k] = labels_get(v->columns[i].labels, call_arg(n, k + 1)->string);
    }
    if (v->n_columns > 1)
        qsort(items, v->n_columns, sizeof(*items), is_desc ? compare_keys_desc : compare_keys);
    for (size_t i = 0; i < v->n_columns; i++)
        v->columns[i] = items[i].c;
    v->is_ordered = true;
    return 0;
}

int call_sort_by_label(struct eval *e, const struct node *n, const struct grid *g, struct arena *a,
                       struct value *ret)
{
    bool is_desc = strcmp(n->call.function->name, "sort_by_label_desc") == 0;
    int r = say_ineffective(e, n, g);
    if (r == 0)
        r = eval_node(e, call_arg(n, 0), g, a, ret);
    if (r < 0 || g->n != 1)
        return r;
    return sort_keyed(ret, n, a, is_desc);
}
