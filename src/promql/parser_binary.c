/* SPDX-License-Identifier: Apache-2.0 */
/*
 * promql/parser_binary.c - what stands between an operator and its right side: bool, on, ignoring,
 * group_left, group_right, fill.
 */
#include "promql/parser.h"

static bool names(struct parser *p, struct matching_parse *how)
{
    bool is_on = parser_is_keyword(p, KEYWORD_ON);
    if (!is_on && !parser_is_keyword(p, KEYWORD_IGNORING))
        return !p->failed;
    (void)parser_take(p);
    size_t to;
    how->matching.is_on = is_on;
    if (!parser_label_list(p, &how->matching.names, &how->matching.n_names, &to))
        return false;
    bool is_left = parser_is_keyword(p, KEYWORD_GROUP_LEFT);
    if (!is_left && !parser_is_keyword(p, KEYWORD_GROUP_RIGHT))
        return !p->failed;
    (void)parser_take(p);
    how->matching.card = is_left ? MATCH_MANY_TO_ONE : MATCH_ONE_TO_MANY;
    return !parser_is(p, TOKEN_LEFT_PAREN) ||
           parser_label_list(p, &how->matching.include, &how->matching.n_include, &to);
}

static bool fill_value(struct parser *p, double *ret)
{
    struct token t;
    double sign = 1;
    if (!parser_expect(p, TOKEN_LEFT_PAREN, &t))
        return false;
    if (parser_is_operator(p, OP_ADD) || parser_is_operator(p, OP_SUB))
        sign = parser_take(p).which == OP_SUB ? -1 : 1;
    if (!parser_is(p, TOKEN_NUMBER) && !parser_is(p, TOKEN_DURATION)) {
        parser_unexpected(p);
        return false;
    }
    t = parser_take(p);
    *ret = sign * parser_number(p, &t);
    return parser_expect(p, TOKEN_RIGHT_PAREN, &t);
}

static bool fill_side(struct parser *p, enum keyword word, bool *has, double *value)
{
    if (*has || !parser_is_keyword(p, word))
        return !p->failed;
    (void)parser_take(p);
    *has = true;
    return fill_value(p, value);
}

static bool fill(struct parser *p, struct matching_parse *how)
{
    struct vector_matching *m = &how->matching;
    bool has_both = false;
    if (!fill_side(p, KEYWORD_FILL, &has_both, &m->fill_left))
        return false;
    if (has_both) {
        m->has_fill_left = m->has_fill_right = true;
        m->fill_right = m->fill_left;
    } else if (!fill_side(p, KEYWORD_FILL_LEFT, &m->has_fill_left, &m->fill_left) ||
               !fill_side(p, KEYWORD_FILL_RIGHT, &m->has_fill_right, &m->fill_right) ||
               !fill_side(p, KEYWORD_FILL_LEFT, &m->has_fill_left, &m->fill_left)) {
        return false;
    }
    how->has_fill = m->has_fill_left || m->has_fill_right;
    return true;
}

bool parser_matching(struct parser *p, struct matching_parse *ret)
{
    *ret = (struct matching_parse){0};
    if (parser_is_keyword(p, KEYWORD_BOOL)) {
        (void)parser_take(p);
        ret->is_bool = true;
    }
    return names(p, ret) && fill(p, ret);
}

struct node *parser_binary(struct parser *p, enum binary_op op, const struct matching_parse *how,
                           struct node *left, struct node *right)
{
    bool are_scalars = left->type == PROMQL_SCALAR && right->type == PROMQL_SCALAR;
    bool are_vectors = left->type == PROMQL_VECTOR && right->type == PROMQL_VECTOR;
    struct node *n = parser_node(p, NODE_BINARY, are_scalars ? PROMQL_SCALAR : PROMQL_VECTOR,
                                 left->from, right->to);
    if (!n)
        return NULL;
    n->binary.op = op;
    n->binary.is_bool = how->is_bool;
    n->binary.left = left;
    n->binary.right = right;
    if (!are_vectors && how->matching.n_names == 0 && !how->has_fill)
        return n;
    struct vector_matching *m = parser_alloc(p, sizeof(*m));
    if (!m)
        return NULL;
    *m = how->matching;
    if (binary_ops[op].is_set && m->card == MATCH_ONE_TO_ONE)
        m->card = MATCH_MANY_TO_MANY;
    n->binary.matching = m;
    return n;
}
