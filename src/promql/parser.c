/* SPDX-License-Identifier: Apache-2.0 */
/*
 * promql/parser.c - what all parts of the parser need: tokens, errors, nodes.
 */
#include "promql/parser.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

void parser_init(struct parser *p, struct span text, struct arena *arena,
                 struct promql_error *reterr)
{
    *p = (struct parser){.arena = arena, .error = reterr};
    lexer_init(&p->lexer, text);
}

void parser_fail(struct parser *p, size_t at, size_t to, const char *fmt, ...)
{
    if (p->failed)
        return; /* the first one is told */
    p->failed = -EINVAL;
    struct promql_error *e = p->error;
    *e = (struct promql_error){.at = at, .to = to};
    promql_position(p->lexer.input, at, &e->line, &e->column);
    va_list args;
    va_start(args, fmt);
    (void)vsnprintf(e->text, sizeof(e->text), fmt, args); /* cut when too long */
    va_end(args);
}

void parser_fail_code(struct parser *p, int code)
{
    if (p->failed)
        return;
    parser_fail(p, 0, 0, "%s", err_str(code));
    p->error->line = 0;
    p->failed = code;
}

const struct token *parser_peek(struct parser *p)
{
    if (!p->has_token) {
        lexer_next(&p->lexer, &p->token);
        p->has_token = true;
        if (p->token.kind == TOKEN_ERROR)
            parser_fail(p, p->lexer.start, p->lexer.input.n, "%s", p->lexer.error);
    }
    return &p->token;
}

struct token parser_take(struct parser *p)
{
    struct token t = *parser_peek(p);
    if (t.kind != TOKEN_END && t.kind != TOKEN_ERROR)
        p->has_token = false;
    return t;
}

bool parser_is(struct parser *p, enum token_kind kind)
{
    return parser_peek(p)->kind == kind;
}

bool parser_is_keyword(struct parser *p, enum keyword which)
{
    return token_is_keyword(parser_peek(p), which);
}

bool parser_is_operator(struct parser *p, enum binary_op op)
{
    const struct token *t = parser_peek(p);
    return t->kind == TOKEN_OPERATOR && t->which == (int)op;
}

bool parser_expect(struct parser *p, enum token_kind kind, struct token *ret)
{
    if (!parser_is(p, kind)) {
        parser_unexpected(p);
        return false;
    }
    *ret = parser_take(p);
    return true;
}

void parser_unexpected_in(struct parser *p, const char *context, const char *expected)
{
    const struct token *t = parser_peek(p);
    char what[300];
    token_describe(t, what, sizeof(what));
    parser_fail(p, t->from, token_end(t), "unexpected %s%s%s%s%s", what, context ? " in " : "",
                context ? context : "", expected ? ", expected " : "", expected ? expected : "");
}

void parser_unexpected(struct parser *p)
{
    parser_unexpected_in(p, p->expectation.context, p->expectation.expected);
}

bool parser_enter(struct parser *p)
{
    if (p->depth >= PROMQL_DEPTH_MAX) {
        size_t at = parser_peek(p)->from;
        parser_fail(p, at, at, "expression is nested more than %d deep", PROMQL_DEPTH_MAX);
        if (p->failed == -EINVAL)
            p->failed = -E2BIG;
        return false;
    }
    p->depth++;
    return true;
}

void parser_leave(struct parser *p)
{
    p->depth--;
}

void *parser_alloc(struct parser *p, size_t n)
{
    void *m = arena_zalloc(p->arena, 1, n);
    if (!m)
        parser_fail_code(p, -ENOMEM);
    return m;
}

struct node *parser_node(struct parser *p, enum node_kind kind, enum promql_type type, size_t from,
                         size_t to)
{
    struct node *n = parser_alloc(p, sizeof(*n));
    if (n) {
        n->kind = kind;
        n->type = type;
        n->from = from;
        n->to = to;
    }
    return n;
}
