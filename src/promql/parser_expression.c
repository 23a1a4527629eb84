/* SPDX-License-Identifier: Apache-2.0 */
/*
 * promql/parser_expression.c - operators by precedence, signs, parentheses, calls, literals.
 */
#include "promql/parser.h"
#include "promql/quote.h"

static struct node *climb(struct parser *p, int least);

static struct node *number(struct parser *p)
{
    struct token t = parser_take(p);
    struct node *n = parser_node(p, NODE_NUMBER, PROMQL_SCALAR, t.from, token_end(&t));
    if (n) {
        n->number.value = parser_number(p, &t);
        n->number.is_duration = t.kind == TOKEN_DURATION;
    }
    return n;
}

static struct node *string(struct parser *p)
{
    struct token t = parser_take(p);
    struct node *n = parser_node(p, NODE_STRING, PROMQL_STRING, t.from, token_end(&t));
    if (n)
        n->string = parser_string(p, &t);
    return n;
}

static struct node *paren(struct parser *p)
{
    struct token open = parser_take(p), close;
    struct node *inner = parser_expression(p);
    if (!inner || !parser_expect(p, TOKEN_RIGHT_PAREN, &close))
        return NULL;
    struct node *n = parser_node(p, NODE_PAREN, inner->type, open.from, token_end(&close));
    if (n)
        n->inner = inner;
    return n;
}

struct argument {
    const struct node *node;
    struct argument *next;
};

bool parser_arguments(struct parser *p, const struct node ***ret, size_t *ret_n, size_t *ret_to)
{
    struct token t;
    struct argument *first = NULL, **last = &first;
    size_t n = 0;
    if (!parser_expect(p, TOKEN_LEFT_PAREN, &t))
        return false;
    while (n > 0 || !parser_is(p, TOKEN_RIGHT_PAREN)) {
        struct argument *a = parser_alloc(p, sizeof(*a));
        if (!a || !(a->node = parser_expression(p)))
            return false;
        *last = a;
        last = &a->next;
        n++;
        if (!parser_is(p, TOKEN_COMMA))
            break;
        t = parser_take(p);
        if (parser_is(p, TOKEN_RIGHT_PAREN))
            parser_fail(p, t.from, token_end(&t),
                        "trailing commas not allowed in function call args");
    }
    if (!parser_expect(p, TOKEN_RIGHT_PAREN, &t))
        return false;
    *ret_to = token_end(&t);
    *ret_n = n;
    *ret = parser_alloc(p, (n ? n : 1) * sizeof(const struct node *));
    for (size_t i = 0; *ret && first; first = first->next)
        (*ret)[i++] = first->node;
    return *ret != NULL;
}

static struct node *call(struct parser *p, struct token name)
{
    const struct node **args;
    size_t n_args, to;
    if (!parser_arguments(p, &args, &n_args, &to))
        return NULL;
    const struct function_info *f = function_find(name.text);
    if (!f) {
        char quoted[256];
        quote_copy(name.text, 0, quoted, sizeof(quoted));
        parser_fail(p, name.from, token_end(&name), "unknown function with name %s", quoted);
        return NULL;
    }
    struct node *n = parser_node(p, NODE_CALL, f->returns, name.from, to);
    if (n) {
        n->call.function = f;
        n->call.args = args;
        n->call.n_args = n_args;
    }
    return n;
}

/* Whether what follows a word can only follow the operator of an aggregation. */
static bool is_aggregation(struct parser *p)
{
    return parser_is(p, TOKEN_LEFT_PAREN) || parser_is_keyword(p, KEYWORD_BY) ||
           parser_is_keyword(p, KEYWORD_WITHOUT);
}

/* A word: an aggregation, a call or a selector, as what follows it tells. */
static struct node *word(struct parser *p)
{
    struct token t = parser_take(p);
    if (t.kind == TOKEN_AGGREGATE && is_aggregation(p))
        return parser_aggregate(p, t);
    if ((t.kind == TOKEN_IDENTIFIER || t.kind == TOKEN_PREPROCESSOR) &&
        parser_is(p, TOKEN_LEFT_PAREN))
        return call(p, t);
    if (p->failed)
        return NULL;
    return parser_selector(p, &t);
}

static struct node *primary(struct parser *p)
{
    const struct token *t = parser_peek(p);
    switch (t->kind) {
    case TOKEN_NUMBER:
    case TOKEN_DURATION:
        return number(p);
    case TOKEN_STRING:
        return string(p);
    case TOKEN_LEFT_PAREN:
        return paren(p);
    case TOKEN_LEFT_BRACE:
        return parser_selector(p, NULL);
    default:
        if (token_may_be_metric(t))
            return word(p);
        parser_unexpected(p);
        return NULL;
    }
}

/* -x, +x; a sign before a number is a part of it. */
static struct node *signed_operand(struct parser *p)
{
    struct token sign = parser_take(p);
    bool is_minus = sign.which == OP_SUB;
    struct node *operand = climb(p, binary_ops[OP_POW].precedence);
    if (!operand)
        return NULL;
    if (operand->kind == NODE_NUMBER) {
        if (is_minus)
            operand->number.value = -operand->number.value;
        operand->from = sign.from;
        return operand;
    }
    if (!is_minus) {
        bool has_sign = operand->type == PROMQL_SCALAR || operand->type == PROMQL_VECTOR;
        if (!has_sign && !p->wrong_sign) {
            p->wrong_sign = operand;
            p->wrong_sign_at = sign.from;
        }
        return operand;
    }
    struct node *n = parser_node(p, NODE_NEGATE, operand->type, sign.from, operand->to);
    if (n)
        n->inner = operand;
    return n;
}

static struct node *operand(struct parser *p)
{
    if (parser_is_operator(p, OP_ADD) || parser_is_operator(p, OP_SUB))
        return signed_operand(p);
    struct node *n = primary(p);
    return n ? parser_modifiers(p, n) : NULL;
}

/* An operand and all operators behind it that bind at least that tightly. */
static struct node *climb(struct parser *p, int least)
{
    if (!parser_enter(p))
        return NULL;
    struct node *left = operand(p);
    while (left && !p->failed && parser_is(p, TOKEN_OPERATOR)) {
        enum binary_op op = (enum binary_op)parser_peek(p)->which;
        const struct binary_op_info *info = &binary_ops[op];
        if (info->precedence < least)
            break;
        (void)parser_take(p);
        struct matching_parse how;
        if (!parser_matching(p, &how))
            left = NULL;
        struct node *right =
            left ? climb(p, info->precedence + (info->is_right_associative ? 0 : 1)) : NULL;
        left = right ? parser_binary(p, op, &how, left, right) : NULL;
    }
    parser_leave(p);
    return p->failed ? NULL : left;
}

struct node *parser_expression(struct parser *p)
{
    return climb(p, 1);
}
