/* SPDX-License-Identifier: Apache-2.0 */
/*
 * verify/reads.c - names and windows of expressions.
 */
#include "verify/reads.h"

#include <errno.h>
#include <stdlib.h>

#include "verify/names.h"
#include "verify/records.h"

/* The nodes directly below one; at most PROMQL_ARGS_MAX. */
static size_t children_of(const struct node *n, const struct node **ret)
{
    size_t k = 0;

    switch (n->kind) {
    case NODE_NUMBER:
    case NODE_STRING:
    case NODE_SELECTOR:
        break;
    case NODE_PAREN:
    case NODE_NEGATE:
        ret[k++] = n->inner;
        break;
    case NODE_SUBQUERY:
        ret[k++] = n->subquery.inner;
        break;
    case NODE_BINARY:
        ret[k++] = n->binary.left;
        ret[k++] = n->binary.right;
        break;
    case NODE_AGGREGATE:
        if (n->aggregate.parameter)
            ret[k++] = n->aggregate.parameter;
        ret[k++] = n->aggregate.inner;
        break;
    case NODE_CALL:
        for (size_t i = 0; i < n->call.n_args; i++)
            ret[k++] = n->call.args[i];
        break;
    }
    return k;
}

/* --- sets of names --- */

static int join(struct arena *a, struct verify_names *to, struct verify_names other)
{
    struct span *at = arena_array(a, to->n + other.n, sizeof(*at));
    size_t i = 0, k = 0, n = 0;

    if (!at)
        return -ENOMEM;
    while (i < to->n || k < other.n) {
        int c = i == to->n ? 1 : k == other.n ? -1 : span_cmp(to->at[i], other.at[k]);
        at[n++] = c <= 0 ? to->at[i] : other.at[k];
        i += c <= 0;
        k += c >= 0;
    }
    *to = (struct verify_names){at, n};
    return 0;
}

/* to: only those that are in both. */
static void meet(struct verify_names *to, struct verify_names other)
{
    size_t i = 0, k = 0, n = 0;

    while (i < to->n && k < other.n) {
        int c = span_cmp(to->at[i], other.at[k]);
        if (c == 0)
            to->at[n++] = to->at[i];
        i += c <= 0;
        k += c >= 0;
    }
    to->n = n;
}

struct walk {
    struct verify_records *records;
    bool only_needed;
};

static int names_of(const struct walk *w, const struct node *n, int depth,
                    struct verify_names *ret);

/* Of the rules that record a name: all that they read, or what each of them needs. */
static int recorded_names(const struct walk *w, const struct node *selector, int depth,
                          struct verify_names *ret)
{
    struct verify_records_cursor c = {.selector = selector};
    bool is_first = true;
    int r = 0;

    while (r == 0 && verify_records_next(w->records, &c)) {
        struct verify_names some = {0};
        r = names_of(w, promql_root(c.rule->expr), depth + 1, &some);
        if (r == 0 && w->only_needed && !is_first)
            meet(ret, some);
        else if (r == 0)
            r = join(w->records->arena, ret, some);
        is_first = false;
    }
    return r < 0 ? r : !is_first;
}

static int selector_names(const struct walk *w, const struct node *n, int depth,
                          struct verify_names *ret)
{
    struct verify_names one = {0};
    struct span name = verify_records_name(n);
    int r = depth < VERIFY_RECORDS_MAX ? recorded_names(w, n, depth, ret) : 1;

    if (r != 0 || name.n == 0)
        return r < 0 ? r : 0;
    one.at = &name;
    one.n = 1;
    return join(w->records->arena, ret, one);
}

static bool is_absent_call(const struct node *n)
{
    struct span name = n->kind == NODE_CALL ? span_cstr(n->call.function->name) : SPAN("");

    return span_eq(name, SPAN("absent")) || span_eq(name, SPAN("absent_over_time"));
}

static int or_names(const struct walk *w, const struct node *n, int depth, struct verify_names *ret)
{
    struct verify_names left = {0}, right = {0};
    int r = names_of(w, n->binary.left, depth, &left);

    if (r == 0 && n->binary.op == OP_OR) {
        r = names_of(w, n->binary.right, depth, &right);
        meet(&left, right);
    }
    return r < 0 ? r : join(w->records->arena, ret, left);
}

static int names_of(const struct walk *w, const struct node *n, int depth, struct verify_names *ret)
{
    const struct node *below[PROMQL_ARGS_MAX];
    int r = 0;

    if (n->kind == NODE_SELECTOR)
        return selector_names(w, n, depth, ret);
    if (w->only_needed && is_absent_call(n))
        return 0;
    if (w->only_needed && n->kind == NODE_BINARY &&
        (n->binary.op == OP_OR || n->binary.op == OP_UNLESS))
        return or_names(w, n, depth, ret);
    size_t k = children_of(n, below);
    for (size_t i = 0; i < k && r == 0; i++)
        r = names_of(w, below[i], depth, ret);
    return r;
}

int verify_reads_all(struct verify_records *r, const struct node *n, struct verify_names *ret)
{
    const struct walk w = {r, false};

    *ret = (struct verify_names){0};
    verify_records_begin(r);
    return names_of(&w, n, 0, ret);
}

int verify_reads_needed(struct verify_records *r, const struct node *n, struct verify_names *ret)
{
    const struct walk w = {r, true};

    *ret = (struct verify_names){0};
    verify_records_begin(r);
    return names_of(&w, n, 0, ret);
}

/* --- windows --- */

static int64_t length_of(const struct duration *d, double factor, bool is_offset)
{
    int64_t ms = 0;

    if (!d || promql_duration_ms(d, 0, 0, is_offset, &ms, NULL) < 0)
        return 0;
    ms = is_offset ? verify_plan_span(factor, ms) : verify_plan_range(factor, ms);
    return ms > 0 ? ms : 0;
}

static int64_t window_of(struct verify_records *r, const struct node *n, double factor, int depth);

static int64_t recorded_window(struct verify_records *r, const struct node *selector, double factor,
                               int depth)
{
    struct verify_records_cursor c = {.selector = selector};
    int64_t most = 0;

    while (depth < VERIFY_RECORDS_MAX && verify_records_next(r, &c)) {
        int64_t ms = window_of(r, promql_root(c.rule->expr), factor, depth + 1) +
                     verify_plan_interval(factor, c.group);
        most = ms > most ? ms : most;
    }
    return most;
}

static int64_t window_of(struct verify_records *r, const struct node *n, double factor, int depth)
{
    const struct node *below[PROMQL_ARGS_MAX];
    int64_t most = 0, own = 0;

    if (n->kind == NODE_SELECTOR) {
        own = length_of(n->selector.range, factor, false) +
              length_of(n->selector.when.offset, factor, true);
        return own + recorded_window(r, n, factor, depth);
    }
    if (n->kind == NODE_SUBQUERY)
        own = length_of(n->subquery.range, factor, false) +
              length_of(n->subquery.when.offset, factor, true);
    size_t k = children_of(n, below);
    for (size_t i = 0; i < k; i++) {
        int64_t ms = window_of(r, below[i], factor, depth);
        most = ms > most ? ms : most;
    }
    return own + most;
}

int64_t verify_reads_window(struct verify_records *r, const struct node *n, double factor)
{
    verify_records_begin(r);
    return window_of(r, n, factor, 0);
}
