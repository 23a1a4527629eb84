/* SPDX-License-Identifier: Apache-2.0 */
/*
 * promql/shared.c - see shared.h.
 *
 * A copy has cells of its own, since values that pass through are changed in place; labels and
 * histograms are shared, as nobody changes those.
 */
#include "promql/shared.h"

#include <errno.h>

#include "promql/column.h"

/* One aggregation, wherever it is written. */
struct part {
    struct span text;
    const struct node *uses[SHARED_MAX];
    size_t n_uses;
    bool is_known; /* evaluated, for what follows */
    struct grid grid;
    bool is_counting, is_looking;
    struct value value;
};

struct shared {
    struct arena *a;
    struct part *parts;
    size_t n;
};

/* --- what is written twice --- */

struct finding {
    struct span text;
    const struct node *all[SHARED_MAX];
    size_t n;
};

static int take(void *ctx, const struct node *n)
{
    struct finding *f = ctx;
    if (n->kind != NODE_AGGREGATE || n->to > f->text.n || n->from >= n->to)
        return 0;
    if (f->n == SHARED_MAX)
        return 1;
    f->all[f->n++] = n;
    return 0;
}

static struct span text_of(const struct finding *f, const struct node *n)
{
    return span_of(f->text.p + n->from, n->to - n->from);
}

static struct part *part_of(const struct shared *s, struct span text)
{
    for (size_t i = 0; i < s->n; i++) {
        if (span_eq(s->parts[i].text, text))
            return &s->parts[i];
    }
    return NULL;
}

static bool is_repeated(const struct finding *f, size_t at)
{
    for (size_t i = 0; i < f->n; i++) {
        if (i != at && span_eq(text_of(f, f->all[i]), text_of(f, f->all[at])))
            return true;
    }
    return false;
}

static void sort_out(struct shared *s, const struct finding *f)
{
    for (size_t i = 0; i < f->n; i++) {
        if (!is_repeated(f, i))
            continue;
        struct part *p = part_of(s, text_of(f, f->all[i]));
        if (!p) {
            p = &s->parts[s->n++];
            p->text = text_of(f, f->all[i]);
        }
        p->uses[p->n_uses++] = f->all[i];
    }
}

int shared_init(struct eval *e, const struct node *root, struct span text, struct arena *a)
{
    struct finding f = {.text = text};
    size_t n_repeated = 0;
    e->shared = NULL;
    if (node_each(root, take, &f) != 0)
        return 0;
    for (size_t i = 0; i < f.n; i++)
        n_repeated += is_repeated(&f, i);
    if (n_repeated == 0)
        return 0;
    struct shared *s = arena_zalloc(a, 1, sizeof(*s));
    if (s)
        s->parts = arena_zalloc(a, n_repeated / 2, sizeof(*s->parts));
    if (!s || !s->parts)
        return -ENOMEM;
    s->a = a;
    sort_out(s, &f);
    e->shared = s;
    return 0;
}

/* --- what it is worth --- */

static struct part *find(const struct shared *s, const struct node *n)
{
    for (size_t i = 0; s && i < s->n; i++) {
        for (size_t k = 0; k < s->parts[i].n_uses; k++) {
            if (s->parts[i].uses[k] == n)
                return &s->parts[i];
        }
    }
    return NULL;
}

/* Histograms have other hints below what counts them (eval.h). */
static bool is_as_now(const struct part *p, const struct eval *e, const struct grid *g)
{
    return p->grid.start_ms == g->start_ms && p->grid.step_ms == g->step_ms && p->grid.n == g->n &&
           p->is_counting == (e->n_counting > 0) && p->is_looking == (e->n_looking > 0);
}

static int copy_column(const struct column *from, size_t n_steps, struct arena *a,
                       struct column *ret)
{
    int r = column_new(a, n_steps, ret);
    if (r == 0 && from->h)
        r = column_need_h(a, n_steps, ret);
    if (r < 0)
        return r;
    ret->labels = from->labels;
    ret->drops_name = from->drops_name;
    memcpy(ret->v, from->v, n_steps * sizeof(*from->v));
    memcpy(ret->has, from->has, n_steps * sizeof(*from->has));
    if (from->h)
        memcpy(ret->h, from->h, n_steps * sizeof(*from->h));
    return 0;
}

static int copy_value(struct eval *e, const struct value *from, struct arena *a, struct value *ret)
{
    *ret = *from;
    ret->columns = arena_array(a, from->n_columns, sizeof(*ret->columns));
    if (!ret->columns)
        return -ENOMEM;
    int r = eval_work(e, from->n_columns * from->n_steps);
    for (size_t i = 0; i < from->n_columns && r == 0; i++)
        r = copy_column(&from->columns[i], from->n_steps, a, &ret->columns[i]);
    return r;
}

int shared_eval(struct eval *e, const struct node *n, const struct grid *g, struct arena *a,
                struct value *ret)
{
    struct part *p = find(e->shared, n);
    if (!p || (p->is_known && !is_as_now(p, e, g)))
        return aggregate_eval(e, n, g, a, ret);
    if (!p->is_known) {
        p->value = *ret;
        int r = aggregate_eval(e, n, g, e->shared->a, &p->value);
        if (r < 0)
            return r;
        p->grid = *g;
        p->is_counting = e->n_counting > 0;
        p->is_looking = e->n_looking > 0;
        p->is_known = true;
    }
    return copy_value(e, &p->value, a, ret);
}
