/* SPDX-License-Identifier: Apache-2.0 */
/*
 * promql/script_pin.c - an expression whose worth does not depend on when it is asked.
 *
 * Selectors and subqueries get "@ time". What has one already stays, and what is inside such a
 * subquery as well: its own times count from there.
 */
#include <errno.h>
#include <string.h>

#include "promql/script_private.h"

struct pin {
    struct arena *arena;
    struct when when;
    bool is_unsafe; /* a function whose worth follows the evaluation's time */
    int error;
};

/* Functions that read the clock, also where their arguments do not change. */
static bool is_unsafe(const char *name)
{
    static const char *const names[] = {
        "days_in_month", "day_of_month", "day_of_week", "day_of_year",    "end",
        "hour",          "minute",       "month",       "predict_linear", "range",
        "start",         "step",         "time",        "timestamp",      "year"};

    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        if (strcmp(name, names[i]) == 0)
            return true;
    return false;
}

static void pin_when(const struct pin *p, struct when *when)
{
    if (when->at == AT_NONE) {
        when->at = AT_TIME;
        when->at_ms = p->when.at_ms;
    }
}

static const struct node *pin_node(struct pin *p, const struct node *n);

static void pin_call(struct pin *p, struct node *n)
{
    const struct node **args = arena_array(p->arena, n->call.n_args, sizeof(const struct node *));

    p->is_unsafe |= is_unsafe(n->call.function->name);
    if (!args) {
        p->error = -ENOMEM;
        return;
    }
    for (size_t i = 0; i < n->call.n_args; i++)
        args[i] = pin_node(p, n->call.args[i]);
    n->call.args = args;
}

/* Its operands, in the copy n. */
static void pin_inside(struct pin *p, struct node *n)
{
    switch (n->kind) {
    case NODE_PAREN:
    case NODE_NEGATE:
        n->inner = pin_node(p, n->inner);
        break;
    case NODE_BINARY:
        n->binary.left = pin_node(p, n->binary.left);
        n->binary.right = pin_node(p, n->binary.right);
        break;
    case NODE_AGGREGATE:
        n->aggregate.inner = pin_node(p, n->aggregate.inner);
        if (n->aggregate.parameter)
            n->aggregate.parameter = pin_node(p, n->aggregate.parameter);
        break;
    case NODE_CALL:
        pin_call(p, n);
        break;
    case NODE_SELECTOR:
        pin_when(p, &n->selector.when);
        break;
    case NODE_SUBQUERY: /* pinned itself, it keeps what is inside as it is */
        pin_when(p, &n->subquery.when);
        break;
    default:
        break;
    }
}

static const struct node *pin_node(struct pin *p, const struct node *n)
{
    struct node *copy = arena_alloc(p->arena, sizeof(*copy));

    if (!copy) {
        p->error = -ENOMEM;
        return n;
    }
    *copy = *n;
    pin_inside(p, copy);
    return copy;
}

int script_pin(struct arena *a, const struct node *n, int64_t t_ms, const struct node **ret)
{
    struct pin p = {.arena = a, .when = {.at = AT_TIME, .at_ms = t_ms}};
    const struct node *pinned = pin_node(&p, n);

    if (p.error == 0)
        *ret = p.is_unsafe ? n : pinned;
    return p.error;
}
