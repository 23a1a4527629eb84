/* SPDX-License-Identifier: Apache-2.0 */
/*
 * verify/reads_limit.c - what an alert's expression is compared with, where that is a constant.
 */
#include <math.h>

#include "verify/names.h"
#include "verify/reads.h"
#include "verify/records.h"

static const struct node *peel(const struct node *n)
{
    while (n->kind == NODE_PAREN)
        n = n->inner;
    return n;
}

static bool is_call(const struct node *n, const char *name)
{
    return n->kind == NODE_CALL && span_eq(span_cstr(n->call.function->name), span_cstr(name));
}

/* --- constants: numbers, and what rules record of them --- */

static bool constant_of(struct verify_records *r, const struct node *n, int depth, double *ret);

/* The first of those that are recorded; a second one with another value: none. */
static bool recorded_constant(struct verify_records *r, const struct node *selector, int depth,
                              double *ret)
{
    struct verify_records_cursor c = {.selector = selector};
    bool is_found = false;
    double v;

    while (depth < VERIFY_RECORDS_MAX && verify_records_next(r, &c)) {
        if (!constant_of(r, promql_root(c.rule->expr), depth + 1, &v) || (is_found && v != *ret))
            return false;
        *ret = v;
        is_found = true;
    }
    return is_found;
}

static bool is_picking(enum aggregate_op op)
{
    return op == AGG_MAX || op == AGG_MIN || op == AGG_AVG;
}

static bool calculated(enum binary_op op, double left, double right, double *ret)
{
    switch (op) {
    case OP_ADD:
        *ret = left + right;
        return true;
    case OP_SUB:
        *ret = left - right;
        return true;
    case OP_MUL:
        *ret = left * right;
        return true;
    case OP_DIV:
        *ret = left / right;
        return true;
    default:
        return false;
    }
}

static bool constant_of(struct verify_records *r, const struct node *n, int depth, double *ret)
{
    double left, right;

    n = peel(n);
    switch (n->kind) {
    case NODE_NUMBER:
        *ret = n->number.value;
        return true;
    case NODE_NEGATE:
        if (!constant_of(r, n->inner, depth, ret))
            return false;
        *ret = -*ret;
        return true;
    case NODE_SELECTOR:
        return !n->selector.range && recorded_constant(r, n, depth, ret);
    case NODE_AGGREGATE:
        return is_picking(n->aggregate.op) && constant_of(r, n->aggregate.inner, depth, ret);
    case NODE_CALL:
        return (is_call(n, "scalar") || is_call(n, "vector")) &&
               constant_of(r, n->call.args[0], depth, ret);
    case NODE_BINARY:
        return constant_of(r, n->binary.left, depth, &left) &&
               constant_of(r, n->binary.right, depth, &right) &&
               calculated(n->binary.op, left, right, ret);
    default:
        return false;
    }
}

/* --- quantiles in seconds --- */

/* Sets is_ttft or is_e2e by the first selector that latency moves. */
static int look_at(void *ctx, const struct node *selector)
{
    struct verify_limit *l = ctx;
    struct verify_name_info info = verify_name_find(verify_records_name(selector));

    if (info.kind != VERIFY_NAME_MOVED)
        return 0;
    l->is_ttft = info.is_ttft;
    l->is_e2e = !info.is_ttft;
    return 1;
}

static void look_for_quantile(struct verify_records *r, const struct node *n, int depth,
                              struct verify_limit *l)
{
    n = peel(n);
    if (n->kind == NODE_AGGREGATE && is_picking(n->aggregate.op)) {
        look_for_quantile(r, n->aggregate.inner, depth, l);
    } else if (is_call(n, "histogram_quantile")) {
        if (node_each_selector(n->call.args[1], look_at, l) != 0)
            return; /* it is in l */
    } else if (n->kind == NODE_SELECTOR && !n->selector.range && depth < VERIFY_RECORDS_MAX) {
        struct verify_records_cursor c = {.selector = n};
        if (verify_records_next(r, &c))
            look_for_quantile(r, promql_root(c.rule->expr), depth + 1, l);
    }
}

/* x > 2, or 2 < x. */
static bool compared(struct verify_records *r, const struct node *n, struct verify_limit *l)
{
    enum binary_op op = n->binary.op;

    if ((op == OP_GT || op == OP_GE) && constant_of(r, n->binary.right, 0, &l->value))
        l->measured = n->binary.left;
    else if ((op == OP_LT || op == OP_LE) && constant_of(r, n->binary.left, 0, &l->value))
        l->measured = n->binary.right;
    return l->measured != NULL;
}

void verify_reads_limit(struct verify_records *r, const struct node *n, struct verify_limit *ret)
{
    *ret = (struct verify_limit){.value = (double)NAN};
    verify_records_begin(r);
    n = peel(n);
    while (n->kind == NODE_BINARY && (n->binary.op == OP_AND || n->binary.op == OP_UNLESS))
        n = peel(n->binary.left);
    if (n->kind != NODE_BINARY || !compared(r, n, ret)) {
        ret->value = (double)NAN;
        return;
    }
    look_for_quantile(r, ret->measured, 0, ret);
}
