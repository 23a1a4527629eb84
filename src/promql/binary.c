/* SPDX-License-Identifier: Apache-2.0 */
/*
 * promql/binary.c - see binary.h; and operators with a scalar on a side.
 *
 * Floats are computed for whole columns, missing cells included: what comes out for those is never
 * read, and a loop without conditions is faster than one with.
 */
#include "promql/binary.h"

#include <errno.h>
#include <math.h>

#include "promql/call.h"

bool binary_changes_meaning(enum binary_op op)
{
    return op <= OP_ATAN2;
}

static bool compare(enum binary_op op, double l, double r)
{
    switch (op) {
    case OP_EQ:
        return l == r;
    case OP_NE:
        return l != r;
    case OP_LT:
        return l < r;
    case OP_LE:
        return l <= r;
    case OP_GT:
        return l > r;
    default:
        return l >= r;
    }
}

double binary_scalar(enum binary_op op, double l, double r)
{
    switch (op) {
    case OP_ADD:
        return l + r;
    case OP_SUB:
        return l - r;
    case OP_MUL:
        return l * r;
    case OP_DIV:
        return l / r;
    case OP_MOD:
        return fmod(l, r);
    case OP_POW:
        return pow(l, r);
    case OP_ATAN2:
        return atan2(l, r);
    default:
        return compare(op, l, r);
    }
}

int binary_cells_init(struct binary_cells *b, struct eval *e, const struct node *n, size_t n_steps,
                      struct arena *out, struct arena *work)
{
    *b = (struct binary_cells){.e = e, .node = n, .out = out, .n_steps = n_steps};
    b->both = arena_zalloc(work, n_steps, 1);
    b->keep = arena_zalloc(work, n_steps, 1);
    b->v = arena_zalloc(work, n_steps, sizeof(*b->v));
    b->_h_room = arena_zalloc(work, n_steps, sizeof(const struct fhist *));
    return b->both && b->keep && b->v && b->_h_room ? 0 : -ENOMEM;
}

static void arithmetic(enum binary_op op, double *restrict out, const double *l, const double *r,
                       size_t n)
{
    switch (op) {
    case OP_ADD:
        for (size_t i = 0; i < n; i++)
            out[i] = l[i] + r[i];
        return;
    case OP_SUB:
        for (size_t i = 0; i < n; i++)
            out[i] = l[i] - r[i];
        return;
    case OP_MUL:
        for (size_t i = 0; i < n; i++)
            out[i] = l[i] * r[i];
        return;
    case OP_DIV:
        for (size_t i = 0; i < n; i++)
            out[i] = l[i] / r[i];
        return;
    default:
        for (size_t i = 0; i < n; i++)
            out[i] = binary_scalar(op, l[i], r[i]);
        return;
    }
}

enum binary_note {
    SAID_TYPES = 1, /* and three more: which side is a histogram */
    SAID_INCOMPATIBLE = 16,
    SAID_COLLIDE = 32,
    SAID_RECONCILED = 64,
};

static int say_types(struct binary_cells *b, bool is_left_h, bool is_right_h)
{
    const char *op = binary_ops[b->node->binary.op].text;
    if (!notes_first(&b->_said, (unsigned)SAID_TYPES << (is_left_h + 2 * is_right_h)))
        return 0;
    return notes_info(&b->e->notes, b->node->from,
                      "incompatible sample types encountered for binary operator \"%s\": %s %s %s",
                      op, is_left_h ? "histogram" : "float", op,
                      is_right_h ? "histogram" : "float");
}

static int compute_floats(struct binary_cells *b, const double *l, const double *r)
{
    enum binary_op op = b->node->binary.op;
    size_t n = b->n_steps;
    if (binary_changes_meaning(op)) {
        memset(b->keep, 1, n);
        arithmetic(op, b->v, l, r, n);
        return 0;
    }
    if (!binary_ops[op].is_comparison) { /* trims */
        bool is_any = memchr(b->both, 1, n) != NULL;
        memset(b->both, 0, n);
        return is_any ? say_types(b, false, false) : 0;
    }
    for (size_t i = 0; i < n; i++) {
        b->keep[i] = compare(op, l[i], r[i]);
        b->v[i] = b->node->binary.is_bool ? b->keep[i] : l[i];
    }
    return 0;
}

/* Adds or subtracts; 0: the layouts do not go together. */
static int combine(struct binary_cells *b, const struct fhist *l, const struct fhist *r,
                   struct fhist **ret)
{
    bool is_add = b->node->binary.op == OP_ADD;
    const char *what = is_add ? "addition" : "subtraction";
    struct notes *notes = &b->e->notes;
    size_t at = b->node->from;
    unsigned flags = 0;
    int rc = (is_add ? fhist_add : fhist_sub)(b->out, l, r, ret, &flags);
    if (rc < 0)
        return rc;
    if (flags & FHIST_INCOMPATIBLE) {
        if (!notes_first(&b->_said, SAID_INCOMPATIBLE))
            return 0;
        rc = notes_warn(notes, at, "incompatible bucket layout encountered for binary operator %s",
                        binary_ops[b->node->binary.op].text);
        return rc < 0 ? rc : 0;
    }
    if ((flags & FHIST_HINTS_COLLIDE) && notes_first(&b->_said, SAID_COLLIDE))
        rc = notes_hints_collide(notes, at, what);
    if (rc == 0 && (flags & FHIST_CUSTOM_RECONCILED) && notes_first(&b->_said, SAID_RECONCILED))
        rc = notes_reconciled(notes, at, what);
    return rc < 0 ? rc : 1;
}

/* What an operator does with a histogram on the left, by what is on the right. 1: *ret; 0: it is
 * not defined. */
static int histogram_op(struct binary_cells *b, const struct fhist *l, double r,
                        const struct fhist *rh, struct fhist **ret)
{
    enum binary_op op = b->node->binary.op;
    int rc = -EINVAL;
    if (rh && (op == OP_ADD || op == OP_SUB))
        return combine(b, l, rh, ret);
    if (!rh && op == OP_MUL)
        rc = fhist_scale(b->out, l, r, ret);
    else if (!rh && op == OP_DIV)
        rc = fhist_divide(b->out, l, r, ret);
    else if (!rh && (op == OP_TRIM_UPPER || op == OP_TRIM_LOWER))
        rc = fhist_trim(b->out, l, r, op == OP_TRIM_UPPER, ret);
    if (rc == -EINVAL)
        rc = say_types(b, true, rh != NULL);
    else if (rc == 0)
        return 1;
    return rc;
}

static void set_h(struct binary_cells *b, size_t i, const struct fhist *h)
{
    b->h = b->_h_room;
    b->h[i] = h;
}

/* One cell with a histogram on a side. */
static int compute_cell(struct binary_cells *b, size_t i, const struct column *left,
                        const struct column *right)
{
    const struct fhist *l = column_h(left, i), *r = column_h(right, i);
    enum binary_op op = b->node->binary.op;
    struct fhist *h = NULL;
    int rc;
    b->keep[i] = 1;
    if (l && r && (op == OP_EQ || op == OP_NE)) {
        b->keep[i] = fhist_eq(l, r) == (op == OP_EQ);
        b->v[i] = b->keep[i];
        if (!b->node->binary.is_bool)
            set_h(b, i, l);
        return 0;
    }
    if (l)
        rc = histogram_op(b, l, right->v[i], r, &h);
    else if (op == OP_MUL)
        rc = fhist_scale(b->out, r, left->v[i], &h) < 0 ? -ENOMEM : 1;
    else
        rc = say_types(b, false, true);
    if (rc <= 0) {
        b->both[i] = 0;
        return rc;
    }
    if (op != OP_TRIM_LOWER && op != OP_TRIM_UPPER)
        fhist_compact(h);
    set_h(b, i, h);
    return 0;
}

int binary_cells_compute(struct binary_cells *b, const struct column *left,
                         const struct column *right)
{
    b->h = NULL;
    if (!left->h && !right->h) {
        int r = compute_floats(b, left->v, right->v);
        return r < 0 ? r : eval_work(b->e, b->n_steps);
    }
    memset(b->_h_room, 0, b->n_steps * sizeof(const struct fhist *));
    for (size_t i = 0; i < b->n_steps; i++) {
        enum binary_op op = b->node->binary.op;
        int r = 0;
        if (!b->both[i])
            continue;
        if (column_h(left, i) || column_h(right, i)) {
            r = compute_cell(b, i, left, right);
        } else if (!binary_changes_meaning(op) && !binary_ops[op].is_comparison) {
            b->both[i] = 0;
            r = say_types(b, false, false);
        } else {
            double x = binary_scalar(op, left->v[i], right->v[i]);
            b->keep[i] = binary_changes_meaning(op) || x != 0;
            b->v[i] = binary_changes_meaning(op) || b->node->binary.is_bool ? x : left->v[i];
        }
        if (r < 0)
            return r;
    }
    return eval_work(b->e, b->n_steps);
}

static int two_scalars(struct eval *e, const struct node *n, const struct grid *g, struct arena *a,
                       struct value *ret)
{
    double *l = NULL, *r = NULL;
    int rc = eval_scalar(e, n->binary.left, g, a, &l);
    if (rc == 0)
        rc = eval_scalar(e, n->binary.right, g, a, &r);
    for (size_t i = 0; rc == 0 && i < g->n; i++)
        l[i] = binary_scalar(n->binary.op, l[i], r[i]);
    return rc < 0 ? rc : columns_scalar(g, a, l, ret);
}

/* The vector's column becomes the result: a filter keeps its value, whichever side it is on. */
static int apply(struct binary_cells *b, struct column *c, const struct column *scalar,
                 bool is_swapped)
{
    bool is_filter = binary_ops[b->node->binary.op].is_comparison && !b->node->binary.is_bool;
    memcpy(b->both, c->has, b->n_steps);
    int r = is_swapped ? binary_cells_compute(b, scalar, c) : binary_cells_compute(b, c, scalar);
    if (r < 0)
        return r;
    if (is_filter) {
        for (size_t i = 0; i < b->n_steps; i++)
            if (!b->both[i] || !b->keep[i])
                column_unset(c, i);
        return 0;
    }
    memcpy(c->has, b->both, b->n_steps);
    memcpy(c->v, b->v, b->n_steps * sizeof(*c->v));
    if (b->h)
        memcpy(c->h, b->h, b->n_steps * sizeof(const struct fhist *)); /* a side had some */
    else
        c->h = NULL;
    c->drops_name |= binary_changes_meaning(b->node->binary.op) || b->node->binary.is_bool;
    return 0;
}

static int with_scalar(struct eval *e, const struct node *n, const struct grid *g, struct arena *a,
                       struct value *ret)
{
    bool is_swapped = n->binary.left->type == PROMQL_SCALAR;
    const struct node *vector = is_swapped ? n->binary.right : n->binary.left;
    const struct node *scalar = is_swapped ? n->binary.left : n->binary.right;
    struct column s = {.v = NULL};
    struct binary_cells b;
    bool is_trim = n->binary.op == OP_TRIM_UPPER || n->binary.op == OP_TRIM_LOWER;
    struct arena work;
    arena_init(&work, e->budget);
    e->n_looking += is_trim;
    int r = eval_node(e, vector, g, a, ret);
    e->n_looking -= is_trim;
    if (r == 0)
        r = eval_scalar(e, scalar, g, &work, &s.v);
    if (r == 0)
        r = binary_cells_init(&b, e, n, g->n, a, &work);
    for (size_t i = 0; r == 0 && i < ret->n_columns; i++)
        r = apply(&b, &ret->columns[i], &s, is_swapped);
    ret->type = PROMQL_VECTOR;
    ret->is_ordered = false;
    arena_done(&work);
    return r;
}

int binary_eval(struct eval *e, const struct node *n, const struct grid *g, struct arena *a,
                struct value *ret)
{
    bool is_left = n->binary.left->type == PROMQL_SCALAR;
    bool is_right = n->binary.right->type == PROMQL_SCALAR;
    if (is_left && is_right)
        return two_scalars(e, n, g, a, ret);
    if (is_left || is_right)
        return with_scalar(e, n, g, a, ret);
    return (binary_ops[n->binary.op].is_set ? set_operator_eval : matching_eval)(e, n, g, a, ret);
}
