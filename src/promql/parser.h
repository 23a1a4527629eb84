/* SPDX-License-Identifier: Apache-2.0 */
/*
 * promql/parser.h - between the files of the parser.
 *
 * Role:      the state of one parse. Precedence climbing over tokens, one ahead; the first error
 *            ends it.
 * Ownership: all in the arena of the expression; matchers besides in a list for promql_free_expr.
 * Errors:    functions that give a node give NULL after parser_fail or without memory; p->failed is
 *            then a negative errno.
 * Threading: one owner.
 */
#ifndef PROMQL_PARSER_H
#define PROMQL_PARSER_H

#include "promql/lexer.h"
#include "promql/parse.h"

/* A matcher of the expression, whoever holds a copy: what is freed with it. */
struct matcher_cell {
    struct matcher matcher;
    struct matcher_cell *next;
};

/* How an unexpected token is told: "unexpected X in CONTEXT, expected EXPECTED"; NULL: without. */
struct expectation {
    const char *context, *expected;
};

struct parser {
    struct lexer lexer;
    struct token token; /* the next one, when has_token */
    bool has_token;
    struct arena *arena;
    struct matcher_cell *matchers;
    struct expectation expectation;
    struct promql_error *error;
    int failed; /* 0, or a negative errno */
    int depth;
    /* The first unary plus before what has no sign; told when all else is right. */
    const struct node *wrong_sign;
    size_t wrong_sign_at;
};

void parser_init(struct parser *p, struct span text, struct arena *arena,
                 struct promql_error *reterr);

/* The next token, not taken. On an error TOKEN_ERROR, and p->failed is set. */
const struct token *parser_peek(struct parser *p);
struct token parser_take(struct parser *p);
bool parser_is(struct parser *p, enum token_kind kind); /* the next token */
bool parser_is_keyword(struct parser *p, enum keyword which);
bool parser_is_operator(struct parser *p, enum binary_op op);
/* Takes it when it is of that kind; else parser_unexpected. */
bool parser_expect(struct parser *p, enum token_kind kind, struct token *ret);

void parser_fail(struct parser *p, size_t at, size_t to, const char *fmt, ...) PRINTF_LIKE(4, 5);
void parser_fail_code(struct parser *p, int code);
/* The next token is not what may stand here. */
void parser_unexpected(struct parser *p);
void parser_unexpected_in(struct parser *p, const char *context, const char *expected);

/* One level deeper; false: too deep. Each true has its parser_leave. */
bool parser_enter(struct parser *p);
void parser_leave(struct parser *p);

void *parser_alloc(struct parser *p, size_t n); /* zeroed; NULL: p->failed is set */
struct node *parser_node(struct parser *p, enum node_kind kind, enum promql_type type, size_t from,
                         size_t to);

/* parser_literal.c */
double parser_number(struct parser *p, const struct token *t); /* a number or a duration */
struct span parser_string(struct parser *p, const struct token *t);

/* parser_expression.c */
struct node *parser_expression(struct parser *p);
/* "(a, b, ...)"; the next token is the parenthesis. false: failed. */
bool parser_arguments(struct parser *p, const struct node ***ret, size_t *ret_n, size_t *ret_to);

/* parser_selector.c */
/* metric{a="b"}: name is the token before the braces, taken already; NULL: there is none. */
struct node *parser_selector(struct parser *p, const struct token *name);

/* parser_modifier.c: [range], [range:step], offset, @, anchored, smoothed; n is what they follow.
 */
struct node *parser_modifiers(struct parser *p, struct node *n);

/* parser_aggregate.c; the operator was taken. */
struct node *parser_aggregate(struct parser *p, struct token op);
/* "(a, b)" of by, on and the like: sorted, unique. *ret_to: behind it. */
bool parser_label_list(struct parser *p, const struct span **ret, size_t *ret_n, size_t *ret_to);

/* parser_binary.c */
struct matching_parse {
    bool is_bool;
    bool has_fill;
    struct vector_matching matching;
};
bool parser_matching(struct parser *p, struct matching_parse *ret);
struct node *parser_binary(struct parser *p, enum binary_op op, const struct matching_parse *how,
                           struct node *left, struct node *right);

/* parser_duration.c */
struct duration *parser_duration(struct parser *p);        /* in brackets */
struct duration *parser_offset_duration(struct parser *p); /* behind offset */

/* parser_check.c: types, numbers of arguments, rules of matching, height. */
void parser_check(struct parser *p, const struct node *root);

#endif
