/* SPDX-License-Identifier: Apache-2.0 */
/*
 * review/quantile_uses.c - which rules ask for which quantile of what, and what they compare it
 * with.
 *
 * Only histogram_quantile with a number as its quantile, straight over selectors, in alerts and in
 * what they read that another rule recorded: nobody is woken by the others.
 */
#include <errno.h>

#include "review/review_private.h"

struct walk {
    struct review *r;
    const struct rule *rule;
    const struct rule_group *group;
    const struct node *limit; /* of the comparison that the node is the left side of */
    double q;                 /* of the call */
};

static int look(struct walk *w, const struct node *n);

static const struct node *bare(const struct node *n)
{
    while (n->kind == NODE_PAREN)
        n = n->inner;
    return n;
}

static int use_add(void *ctx, const struct node *selector)
{
    struct walk *w = ctx;
    struct review *r = w->r;
    struct quantile_use *at =
        arena_grow(&r->arena, r->uses, r->n_uses, 1, &r->cap_uses, sizeof(*at));
    if (!at)
        return -ENOMEM;
    r->uses = at;
    at[r->n_uses++] = (struct quantile_use){w->rule, w->group, w->q, selector, w->limit};
    return 0;
}

static int look_call(struct walk *w, const struct node *n)
{
    bool is_quantile = span_eq(span_cstr(n->call.function->name), SPAN("histogram_quantile"));
    const struct node *q = n->call.n_args > 0 ? bare(n->call.args[0]) : NULL;
    if (is_quantile && n->call.n_args == 2 && q->kind == NODE_NUMBER) {
        w->q = q->number.value;
        return node_each_selector(n->call.args[1], use_add, w);
    }
    int error = 0;
    for (size_t i = 0; i < n->call.n_args && error == 0; i++)
        error = look(w, n->call.args[i]);
    return error;
}

static int look_binary(struct walk *w, const struct node *n)
{
    struct walk left = *w, right = *w;
    bool is_over = n->binary.op == OP_GT || n->binary.op == OP_GE;
    bool is_kept = n->binary.op == OP_AND || n->binary.op == OP_OR || n->binary.op == OP_UNLESS;
    if (is_over)
        left.limit = n->binary.right;
    else if (!is_kept)
        left.limit = NULL; /* not the quantile itself is compared */
    if (!is_kept)
        right.limit = NULL;
    int error = look(&left, n->binary.left);
    return error == 0 ? look(&right, n->binary.right) : error;
}

static int look(struct walk *w, const struct node *n)
{
    switch (n->kind) {
    case NODE_PAREN:
        return look(w, n->inner);
    case NODE_BINARY:
        return look_binary(w, n);
    case NODE_AGGREGATE:
        return look(w, n->aggregate.inner);
    case NODE_CALL:
        return look_call(w, n);
    case NODE_SUBQUERY:
        return look(w, n->subquery.inner);
    default:
        return 0;
    }
}

/* --- which rules --- */

static int is_named(void *ctx, const struct node *selector)
{
    const struct span *name = ctx;
    return span_eq(selector->selector.name, *name);
}

static bool is_read_by_alert(const struct review *r, struct span name)
{
    for (size_t i = 0; i < r->n_rows; i++)
        if (r->rows[i].rule &&
            node_each_selector(promql_root(r->rows[i].rule->expr), is_named, &name) != 0)
            return true;
    return false;
}

int quantile_uses_find(struct review *r)
{
    int error = 0;
    for (size_t f = 0; f < r->q.n_files && error == 0; f++) {
        for (size_t g = 0; g < r->q.files[f]->n && error == 0; g++) {
            const struct rule_group *group = &r->q.files[f]->groups[g];
            for (size_t i = 0; i < group->n && error == 0; i++) {
                const struct rule *rule = &group->rules[i];
                struct walk w = {.r = r, .rule = rule, .group = group};
                if (rule->is_alert || is_read_by_alert(r, rule->name))
                    error = look(&w, promql_root(rule->expr));
            }
        }
    }
    return error;
}

struct span quantile_use_metric(const struct quantile_use *u)
{
    const struct node *s = u->selector;
    if (s->selector.name.n > 0)
        return s->selector.name;
    for (size_t i = 0; i < s->selector.n_matchers; i++) {
        const struct matcher *m = &s->selector.matchers[i];
        if (m->op == MATCH_EQ && span_eq(m->name, SPAN(LABEL_NAME)))
            return m->value;
    }
    return SPAN("");
}
