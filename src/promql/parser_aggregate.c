/* SPDX-License-Identifier: Apache-2.0 */
/*
 * promql/parser_aggregate.c - sum by (a) (x), sum(x) without (a), and lists of labels.
 */
#include <stdlib.h>

#include "promql/parser.h"

static const char in_grouping[] = "grouping opts";

struct name {
    struct span text;
    struct name *next;
};

/* A list as a sorted array without repetitions. */
static bool sorted(struct parser *p, const struct name *first, size_t n, const struct span **ret,
                   size_t *ret_n)
{
    struct span *names = parser_alloc(p, (n ? n : 1) * sizeof(*names));
    if (!names)
        return false;
    size_t i = 0, n_unique = 0;
    for (; first; first = first->next)
        names[i++] = first->text;
    qsort(names, n, sizeof(*names), span_sort_cmp);
    for (i = 0; i < n; i++) {
        if (n_unique == 0 || !span_eq(names[n_unique - 1], names[i]))
            names[n_unique++] = names[i];
    }
    *ret = names;
    *ret_n = n_unique;
    return true;
}

/* One name of a list; NULL: failed. */
static struct name *label(struct parser *p)
{
    const struct token *next = parser_peek(p);
    if (!token_may_be_label(next) && next->kind != TOKEN_STRING) {
        parser_unexpected_in(p, in_grouping, "label");
        return NULL;
    }
    struct token t = parser_take(p);
    struct name *name = parser_alloc(p, sizeof(*name));
    if (!name)
        return NULL;
    name->text = t.kind == TOKEN_STRING ? parser_string(p, &t) : t.text;
    if (name->text.n == 0)
        parser_fail(p, t.from, token_end(&t), "invalid label name for grouping: \"\"");
    return p->failed ? NULL : name;
}

bool parser_label_list(struct parser *p, const struct span **ret, size_t *ret_n, size_t *ret_to)
{
    struct name *first = NULL, **last = &first;
    size_t n = 0;
    if (!parser_is(p, TOKEN_LEFT_PAREN)) {
        parser_unexpected_in(p, in_grouping, "\"(\"");
        return false;
    }
    (void)parser_take(p);
    while (!parser_is(p, TOKEN_RIGHT_PAREN)) {
        if (!(*last = label(p)))
            return false;
        last = &(*last)->next;
        n++;
        if (parser_is(p, TOKEN_COMMA)) {
            (void)parser_take(p);
        } else if (!parser_is(p, TOKEN_RIGHT_PAREN)) {
            parser_unexpected_in(p, in_grouping, "\",\" or \")\"");
            return false;
        }
    }
    struct token close = parser_take(p);
    *ret_to = token_end(&close);
    return !p->failed && sorted(p, first, n, ret, ret_n);
}

/* by (...) or without (...), when it stands here. */
static bool grouping(struct parser *p, struct node *n, size_t *ret_to, bool *ret_is_there)
{
    *ret_is_there = parser_is_keyword(p, KEYWORD_BY) || parser_is_keyword(p, KEYWORD_WITHOUT);
    if (!*ret_is_there)
        return !p->failed;
    n->aggregate.is_without = parser_take(p).which == KEYWORD_WITHOUT;
    return parser_label_list(p, &n->aggregate.names, &n->aggregate.n_names, ret_to);
}

static bool take_arguments(struct parser *p, struct node *n, const struct node *const *args,
                           size_t n_args)
{
    size_t wanted = aggregate_ops[n->aggregate.op].has_parameter ? 2 : 1;
    if (n_args == 0)
        parser_fail(p, n->from, n->to, "no arguments for aggregate expression provided");
    else if (n_args != wanted)
        parser_fail(p, n->from, n->to,
                    "wrong number of arguments for aggregate expression provided, expected %zu, "
                    "got %zu",
                    wanted, n_args);
    if (p->failed)
        return false;
    n->aggregate.parameter = wanted == 2 ? args[0] : NULL;
    n->aggregate.inner = args[wanted - 1];
    return true;
}

static bool aggregate(struct parser *p, struct node *n)
{
    const struct node **args;
    size_t n_args;
    bool is_there;
    if (!grouping(p, n, &n->to, &is_there) || !parser_arguments(p, &args, &n_args, &n->to))
        return false;
    if (!is_there && !grouping(p, n, &n->to, &is_there))
        return false;
    return take_arguments(p, n, args, n_args);
}

struct node *parser_aggregate(struct parser *p, struct token op)
{
    struct node *n = parser_node(p, NODE_AGGREGATE, PROMQL_VECTOR, op.from, token_end(&op));
    if (!n)
        return NULL;
    n->aggregate.op = (enum aggregate_op)op.which;
    struct expectation outer = p->expectation;
    p->expectation = (struct expectation){"aggregation", NULL};
    bool is_ok = aggregate(p, n);
    p->expectation = outer;
    return is_ok ? n : NULL;
}
