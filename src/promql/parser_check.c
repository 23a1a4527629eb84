/* SPDX-License-Identifier: Apache-2.0 */
/*
 * promql/parser_check.c - whether a tree makes sense: types, numbers of arguments, rules of
 * matching.
 */
#include <errno.h>
#include <stdio.h>

#include "promql/parser.h"
#include "promql/quote.h"

struct check {
    struct parser *p;
    bool may_be_empty; /* the selector in info(x, {...}) */
};

static void check(struct check *c, const struct node *n, int height);

static void fail_at(struct check *c, const struct node *n, const char *text)
{
    parser_fail(c->p, n->from, n->to, "%s", text);
}

/* The operator of a binary expression with all that belongs to it: what stands between the sides.
 */
static void fail_between(struct check *c, const struct node *n, const char *text)
{
    struct span in = c->p->lexer.input;
    size_t from = n->binary.left->to, to = n->binary.right->from;
    while (from < to && (in.p[from] == ' ' || (in.p[from] >= '\t' && in.p[from] <= '\r')))
        from++;
    while (to > from && (in.p[to - 1] == ' ' || (in.p[to - 1] >= '\t' && in.p[to - 1] <= '\r')))
        to--;
    parser_fail(c->p, from, to, "%s", text);
}

static void expect_type(struct check *c, const struct node *n, enum promql_type wanted,
                        const char *where, int height)
{
    check(c, n, height);
    if (n->type != wanted)
        parser_fail(c->p, n->from, n->to, "expected type %s in %s, got %s",
                    promql_type_name(wanted), where, promql_type_name(n->type));
}

static void check_aggregate(struct check *c, const struct node *n, int height)
{
    const struct aggregate_op_info *info = &aggregate_ops[n->aggregate.op];
    expect_type(c, n->aggregate.inner, PROMQL_VECTOR, "aggregation expression", height);
    if (info->has_parameter)
        expect_type(c, n->aggregate.parameter, info->parameter, "aggregation parameter", height);
}

/* A label must not be in on(...) and group_left(...) at once. */
static void check_include(struct check *c, const struct node *n)
{
    const struct vector_matching *m = n->binary.matching;
    if (!m || !m->is_on)
        return;
    for (size_t i = 0, j = 0; i < m->n_names && j < m->n_include;) {
        struct span a = m->names[i], b = m->include[j];
        int order = span_cmp(a, b);
        if (order == 0) {
            char quoted[200], text[280];
            quote_copy(a, 0, quoted, sizeof(quoted));
            (void)snprintf(text, sizeof(text),
                           "label %s must not occur in ON and GROUP clause at once", quoted);
            fail_between(c, n, text);
            return;
        }
        if (order < 0)
            i++;
        else
            j++;
    }
}

static void check_matching(struct check *c, const struct node *n, bool are_vectors)
{
    const struct vector_matching *m = n->binary.matching;
    const struct binary_op_info *info = &binary_ops[n->binary.op];
    bool has_fill = m && (m->has_fill_left || m->has_fill_right);
    if (m && !are_vectors) {
        if (m->n_names > 0)
            fail_at(c, n, "vector matching only allowed between instant vectors");
        if (has_fill)
            fail_at(c, n, "filling in missing series only allowed between instant vectors");
    } else if (m && info->is_set) {
        if (m->card == MATCH_ONE_TO_MANY || m->card == MATCH_MANY_TO_ONE)
            parser_fail(c->p, n->from, n->to, "no grouping allowed for \"%s\" operation",
                        info->text);
        if (has_fill)
            fail_at(c, n, "filling in missing series not allowed for set operators");
    }
}

static void check_binary(struct check *c, const struct node *n, int height)
{
    const struct node *left = n->binary.left, *right = n->binary.right;
    const struct binary_op_info *info = &binary_ops[n->binary.op];
    check(c, left, height);
    check(c, right, height);
    bool are_scalars = left->type == PROMQL_SCALAR && right->type == PROMQL_SCALAR;
    if (n->binary.is_bool && !info->is_comparison)
        fail_between(c, n, "bool modifier can only be used on comparison operators");
    if (info->is_comparison && !n->binary.is_bool && are_scalars)
        fail_between(c, n, "comparisons between scalars must use BOOL modifier");
    check_include(c, n);
    const struct node *sides[] = {left, right};
    for (size_t i = 0; i < ARRAY_LEN(sides); i++) {
        if (sides[i]->type != PROMQL_SCALAR && sides[i]->type != PROMQL_VECTOR)
            fail_at(c, sides[i],
                    "binary expression must contain only scalar and instant vector types");
    }
    check_matching(c, n, left->type == PROMQL_VECTOR && right->type == PROMQL_VECTOR);
    if (info->is_set && (left->type == PROMQL_SCALAR || right->type == PROMQL_SCALAR))
        parser_fail(c->p, n->from, n->to,
                    "set operator \"%s\" not allowed in binary scalar expression", info->text);
}

static void check_count(struct check *c, const struct node *n)
{
    const struct function_info *f = n->call.function;
    size_t got = n->call.n_args;
    const char *how = f->n_min == f->n_max ? "" : got < f->n_min ? "at least " : "at most ";
    if (got < f->n_min || got > f->n_max)
        parser_fail(c->p, n->from, n->to, "expected %s%d argument(s) in call to \"%s\", got %zu",
                    how, got < f->n_min ? f->n_min : f->n_max, f->name, got);
}

/* The second argument of info is a list of matchers that looks like a selector. */
static void check_info(struct check *c, const struct node *n)
{
    const struct node *data = n->call.args[1];
    if (data->type != PROMQL_VECTOR)
        parser_fail(c->p, n->from, n->to,
                    "expected type instant vector in call to function \"info\", got %s",
                    promql_type_name(data->type));
    if (data->kind != NODE_SELECTOR)
        fail_at(c, data, "expected label selectors only");
    else if (data->selector.name.n > 0)
        fail_at(c, data, "expected label selectors only, got vector selector instead");
    c->may_be_empty = true;
}

static void check_call(struct check *c, const struct node *n, int height)
{
    const struct function_info *f = n->call.function;
    char where[80];
    (void)snprintf(where, sizeof(where), "call to function \"%s\"", f->name);
    check_count(c, n);
    bool is_info = strcmp(f->name, "info") == 0 && n->call.n_args > 1;
    if (is_info)
        check_info(c, n);
    for (size_t i = 0; i < n->call.n_args && f->n_args > 0; i++) {
        c->may_be_empty = is_info && i == 1;
        expect_type(c, n->call.args[i], f->args[i < f->n_args ? i : f->n_args - 1u], where, height);
        c->may_be_empty = false;
    }
}

static void check_selector(struct check *c, const struct node *n)
{
    size_t n_matchers = n->selector.n_matchers;
    bool selects = n->selector.name.n > 0 || c->may_be_empty;
    for (size_t i = 0; i < n_matchers; i++) {
        const struct matcher *m = &n->selector.matchers[i];
        bool is_twice =
            n->selector.name.n > 0 && i + 1 < n_matchers && span_eq(m->name, SPAN(LABEL_NAME));
        if (is_twice) {
            char first[200], second[200];
            quote_copy(n->selector.name, 0, first, sizeof(first));
            quote_copy(m->value, 0, second, sizeof(second));
            parser_fail(c->p, n->from, n->to, "metric name must not be set twice: %s or %s", first,
                        second);
        }
        selects = selects || !matcher_matches_empty(m);
    }
    if (!selects)
        fail_at(c, n, "vector selector must contain at least one non-empty matcher");
}

/* Durations are checked while they are read; only their height is left. */
static void check_duration(struct check *c, const struct duration *d, int height)
{
    if (!d || c->p->failed)
        return;
    if (height > PROMQL_HEIGHT_MAX) {
        parser_fail(c->p, d->from, d->to, "duration has more than %d operations in a row",
                    PROMQL_HEIGHT_MAX);
        c->p->failed = -E2BIG;
        return;
    }
    check_duration(c, d->left, height + 1);
    check_duration(c, d->right, height + 1);
}

static void check_subquery(struct check *c, const struct node *n, int height)
{
    const struct node *inner = n->subquery.inner;
    check(c, inner, height);
    static const char *const names[] = {"scalar", "vector", "matrix", "string"};
    if (inner->type != PROMQL_VECTOR)
        parser_fail(c->p, n->from, n->to,
                    "subquery is only allowed on instant vector, got %s instead",
                    names[inner->type]);
    check_duration(c, n->subquery.range, 0);
    check_duration(c, n->subquery.step, 0);
    check_duration(c, n->subquery.when.offset, 0);
}

static void fail_sign(struct check *c, const struct node *operand, size_t from)
{
    parser_fail(c->p, from, operand->to,
                "unary expression only allowed on expressions of type scalar or instant vector, "
                "got \"%s\"",
                promql_type_name(operand->type));
}

static void check(struct check *c, const struct node *n, int height)
{
    if (c->p->failed)
        return;
    if (height >= PROMQL_HEIGHT_MAX) {
        parser_fail(c->p, n->from, n->to, "expression has more than %d operations in a row",
                    PROMQL_HEIGHT_MAX);
        c->p->failed = -E2BIG;
        return;
    }
    height++;
    switch (n->kind) {
    case NODE_NUMBER:
    case NODE_STRING:
        break;
    case NODE_PAREN:
        check(c, n->inner, height);
        break;
    case NODE_NEGATE:
        check(c, n->inner, height);
        if (n->type != PROMQL_SCALAR && n->type != PROMQL_VECTOR)
            fail_sign(c, n->inner, n->from);
        break;
    case NODE_BINARY:
        check_binary(c, n, height);
        break;
    case NODE_AGGREGATE:
        check_aggregate(c, n, height);
        break;
    case NODE_CALL:
        check_call(c, n, height);
        break;
    case NODE_SELECTOR:
        check_selector(c, n);
        check_duration(c, n->selector.range, 0);
        check_duration(c, n->selector.when.offset, 0);
        break;
    case NODE_SUBQUERY:
        check_subquery(c, n, height);
        break;
    }
}

void parser_check(struct parser *p, const struct node *root)
{
    struct check c = {.p = p};
    check(&c, root, 0);
    if (p->wrong_sign)
        fail_sign(&c, p->wrong_sign, p->wrong_sign_at);
}
