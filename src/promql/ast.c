/* SPDX-License-Identifier: Apache-2.0 */
/*
 * promql/ast.c - names and properties of types and operators.
 */
#include "promql/ast.h"

const struct binary_op_info binary_ops[OP_COUNT_] = {
    [OP_OR] = {.text = "or", .precedence = 1, .is_set = true},
    [OP_AND] = {.text = "and", .precedence = 2, .is_set = true},
    [OP_UNLESS] = {.text = "unless", .precedence = 2, .is_set = true},
    [OP_EQ] = {.text = "==", .precedence = 3, .is_comparison = true},
    [OP_NE] = {.text = "!=", .precedence = 3, .is_comparison = true},
    [OP_LT] = {.text = "<", .precedence = 3, .is_comparison = true},
    [OP_LE] = {.text = "<=", .precedence = 3, .is_comparison = true},
    [OP_GT] = {.text = ">", .precedence = 3, .is_comparison = true},
    [OP_GE] = {.text = ">=", .precedence = 3, .is_comparison = true},
    [OP_TRIM_UPPER] = {.text = "</", .precedence = 3},
    [OP_TRIM_LOWER] = {.text = ">/", .precedence = 3},
    [OP_ADD] = {.text = "+", .precedence = 4},
    [OP_SUB] = {.text = "-", .precedence = 4},
    [OP_MUL] = {.text = "*", .precedence = 5},
    [OP_DIV] = {.text = "/", .precedence = 5},
    [OP_MOD] = {.text = "%", .precedence = 5},
    [OP_ATAN2] = {.text = "atan2", .precedence = 5},
    [OP_POW] = {.text = "^", .precedence = 6, .is_right_associative = true},
};

const struct aggregate_op_info aggregate_ops[AGG_COUNT_] = {
    [AGG_SUM] = {.text = "sum"},
    [AGG_AVG] = {.text = "avg"},
    [AGG_COUNT] = {.text = "count"},
    [AGG_MIN] = {.text = "min"},
    [AGG_MAX] = {.text = "max"},
    [AGG_GROUP] = {.text = "group"},
    [AGG_STDDEV] = {.text = "stddev"},
    [AGG_STDVAR] = {.text = "stdvar"},
    [AGG_TOPK] = {.text = "topk", .has_parameter = true, .parameter = PROMQL_SCALAR},
    [AGG_BOTTOMK] = {.text = "bottomk", .has_parameter = true, .parameter = PROMQL_SCALAR},
    [AGG_COUNT_VALUES] = {.text = "count_values",
                          .has_parameter = true,
                          .parameter = PROMQL_STRING},
    [AGG_QUANTILE] = {.text = "quantile", .has_parameter = true, .parameter = PROMQL_SCALAR},
    [AGG_LIMITK] = {.text = "limitk", .has_parameter = true, .parameter = PROMQL_SCALAR},
    [AGG_LIMIT_RATIO] = {.text = "limit_ratio", .has_parameter = true, .parameter = PROMQL_SCALAR},
};

const char *promql_type_name(enum promql_type t)
{
    static const char *const names[] = {
        [PROMQL_SCALAR] = "scalar",
        [PROMQL_VECTOR] = "instant vector",
        [PROMQL_MATRIX] = "range vector",
        [PROMQL_STRING] = "string",
    };
    return names[t];
}

static int each_of(const struct node *const *nodes, size_t n,
                   int (*visit)(void *ctx, const struct node *n), void *ctx)
{
    int r = 0;
    for (size_t i = 0; i < n && r == 0; i++)
        if (nodes[i])
            r = node_each(nodes[i], visit, ctx);
    return r;
}

int node_each(const struct node *n, int (*visit)(void *ctx, const struct node *n), void *ctx)
{
    const struct node *two[2] = {NULL, NULL};
    int r = visit(ctx, n);
    if (r != 0)
        return r;
    switch (n->kind) {
    case NODE_NUMBER:
    case NODE_STRING:
    case NODE_SELECTOR:
        break;
    case NODE_PAREN:
    case NODE_NEGATE:
        two[0] = n->inner;
        break;
    case NODE_SUBQUERY:
        two[0] = n->subquery.inner;
        break;
    case NODE_BINARY:
        two[0] = n->binary.left;
        two[1] = n->binary.right;
        break;
    case NODE_AGGREGATE:
        two[0] = n->aggregate.parameter;
        two[1] = n->aggregate.inner;
        break;
    case NODE_CALL:
        return each_of((const struct node *const *)n->call.args, n->call.n_args, visit, ctx);
    }
    return each_of(two, 2, visit, ctx);
}

struct selector_visit {
    int (*visit)(void *ctx, const struct node *selector);
    void *ctx;
};

static int visit_selector(void *ctx, const struct node *n)
{
    const struct selector_visit *v = ctx;
    return n->kind == NODE_SELECTOR ? v->visit(v->ctx, n) : 0;
}

int node_each_selector(const struct node *n, int (*visit)(void *ctx, const struct node *selector),
                       void *ctx)
{
    struct selector_visit v = {visit, ctx};
    return node_each(n, visit_selector, &v);
}
