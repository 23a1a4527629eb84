/* SPDX-License-Identifier: Apache-2.0 */
/*
 * promql/parse.c - the ways into the parser, and the expression they give.
 */
#include "promql/parse.h"

#include <errno.h>

#include "base/mem.h"
#include "promql/parser.h"

struct promql_expr {
    struct arena arena;
    struct span text;
    const struct node *root;
    struct matcher_cell *matchers;
};

struct promql_expr *promql_free_expr(struct promql_expr *e)
{
    if (!e)
        return NULL;
    for (struct matcher_cell *c = e->matchers; c; c = c->next)
        matcher_done(&c->matcher);
    arena_done(&e->arena);
    mem_free(e);
    return NULL;
}

const struct node *promql_root(const struct promql_expr *e)
{
    return e->root;
}

struct span promql_text(const struct promql_expr *e)
{
    return e->text;
}

/* All of the text as one expression. */
static const struct node *parse_query(struct parser *p)
{
    if (parser_is(p, TOKEN_END)) {
        parser_fail(p, 0, 0, "no expression found in input");
        return NULL;
    }
    const struct node *n = parser_expression(p);
    if (n && !parser_is(p, TOKEN_END))
        parser_unexpected(p);
    if (!p->failed)
        parser_check(p, n);
    return n;
}

static bool selects_something(const struct node *n)
{
    for (size_t i = 0; i < n->selector.n_matchers; i++) {
        if (!matcher_matches_empty(&n->selector.matchers[i]))
            return true;
    }
    return false;
}

/* All of the text as one selector. */
static const struct node *parse_match(struct parser *p)
{
    const struct token *t = parser_peek(p);
    bool has_name = token_may_be_metric(t);
    if (!has_name && t->kind != TOKEN_LEFT_BRACE) {
        parser_unexpected(p);
        return NULL;
    }
    struct token name = {0};
    if (has_name)
        name = parser_take(p);
    const struct node *n = parser_selector(p, has_name ? &name : NULL);
    if (n && !parser_is(p, TOKEN_END))
        parser_unexpected(p);
    if (n && !p->failed && !selects_something(n)) {
        parser_fail(p, 0, 0, "match[] must contain at least one non-empty matcher");
        p->error->line = 0;
    }
    return n;
}

static int parse(struct span text, const struct node *(*how)(struct parser *p),
                 struct promql_expr **ret, struct promql_error *reterr)
{
    struct promql_error ignored;
    struct parser p;
    parser_init(&p, text, NULL, reterr ? reterr : &ignored);
    if (text.n > PROMQL_QUERY_MAX) {
        parser_fail(&p, 0, 0, "query is longer than %d bytes", PROMQL_QUERY_MAX);
        return -E2BIG;
    }
    struct promql_expr *e = mem_zalloc(1, sizeof(*e));
    if (!e) {
        parser_fail_code(&p, -ENOMEM);
        return -ENOMEM;
    }
    arena_init(&e->arena, NULL);
    p.arena = &e->arena;
    e->text = arena_dup(&e->arena, text);
    lexer_init(&p.lexer, e->text);
    if (e->text.p)
        e->root = how(&p);
    else
        parser_fail_code(&p, -ENOMEM);
    e->matchers = p.matchers;
    if (p.failed) {
        (void)promql_free_expr(e);
        return p.failed;
    }
    *ret = e;
    return 0;
}

int promql_parse(struct span query, struct promql_expr **ret, struct promql_error *reterr)
{
    return parse(query, parse_query, ret, reterr);
}

int promql_parse_selector(struct span text, struct promql_expr **ret, struct promql_error *reterr)
{
    return parse(text, parse_match, ret, reterr);
}
