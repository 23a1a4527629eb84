/* SPDX-License-Identifier: Apache-2.0 */
/*
 * promql/parser_selector.c - metric{a="b", "c"=~"d", "metric name"}.
 */
#include <errno.h>

#include "promql/parser.h"

static const char in_matching[] = "label matching";

static bool matcher_operator(struct parser *p, enum matcher_op *ret)
{
    const struct token *t = parser_peek(p);
    switch (t->kind) {
    case TOKEN_EQUAL:
        *ret = MATCH_EQ;
        return true;
    case TOKEN_REGEX:
        *ret = MATCH_RE;
        return true;
    case TOKEN_NOT_REGEX:
        *ret = MATCH_NRE;
        return true;
    case TOKEN_OPERATOR: /* in braces the only one is != */
        *ret = MATCH_NE;
        return true;
    default:
        return false;
    }
}

/* Makes a matcher and hands it to the parser's list, behind *last. */
static bool add_matcher(struct parser *p, enum matcher_op op, struct span name, struct span value,
                        size_t from, size_t to, struct matcher_cell ***last)
{
    struct matcher_cell *c = p->failed ? NULL : parser_alloc(p, sizeof(*c));
    if (!c)
        return false;
    struct err e;
    int r = matcher_init(p->arena, op, name, value, &c->matcher, &e);
    if (r == -EINVAL)
        parser_fail(p, from, to, "%s", e.text);
    else if (r < 0)
        parser_fail_code(p, r);
    if (r < 0)
        return false;
    **last = c;
    *last = &c->next;
    return true;
}

/* One matcher, or the name of a metric in quotes. */
static bool matcher(struct parser *p, struct matcher_cell ***last)
{
    struct token t = *parser_peek(p);
    if (t.kind != TOKEN_IDENTIFIER && t.kind != TOKEN_STRING) {
        parser_unexpected_in(p, in_matching, "identifier or \"}\"");
        return false;
    }
    (void)parser_take(p);
    bool is_quoted = t.kind == TOKEN_STRING;
    struct span name = is_quoted ? parser_string(p, &t) : t.text;
    enum matcher_op op;
    if (!matcher_operator(p, &op)) {
        if (is_quoted)
            return add_matcher(p, MATCH_EQ, SPAN(LABEL_NAME), name, t.from, token_end(&t), last);
        parser_unexpected_in(p, in_matching, "label matching operator");
        return false;
    }
    (void)parser_take(p);
    if (!parser_is(p, TOKEN_STRING)) {
        parser_unexpected_in(p, in_matching, "string");
        return false;
    }
    struct token v = parser_take(p);
    struct span value = parser_string(p, &v);
    return add_matcher(p, op, name, value, t.from, token_end(&v), last);
}

/* From { to }; the matchers go behind *last. */
static bool in_braces(struct parser *p, struct matcher_cell ***last, size_t *ret_to)
{
    (void)parser_take(p);
    while (!parser_is(p, TOKEN_RIGHT_BRACE)) {
        if (!matcher(p, last))
            return false;
        if (parser_is(p, TOKEN_COMMA)) {
            (void)parser_take(p);
        } else if (!parser_is(p, TOKEN_RIGHT_BRACE)) {
            parser_unexpected_in(p, in_matching, "\",\" or \"}\"");
            return false;
        }
    }
    struct token t = parser_take(p);
    *ret_to = token_end(&t);
    return !p->failed;
}

/* The matchers of a list, up to the one that was there before. */
static bool as_array(struct parser *p, struct node *n, const struct matcher_cell *first)
{
    size_t count = 0;
    for (const struct matcher_cell *c = first; c; c = c->next)
        count++;
    n->selector.n_matchers = count;
    n->selector.matchers = parser_alloc(p, (count ? count : 1) * sizeof(struct matcher));
    if (!n->selector.matchers)
        return false;
    for (size_t i = 0; first; first = first->next)
        n->selector.matchers[i++] = first->matcher;
    return true;
}

struct node *parser_selector(struct parser *p, const struct token *name)
{
    size_t from = name ? name->from : parser_peek(p)->from;
    struct matcher_cell *first = NULL, **last = &first;
    struct node *n = parser_node(p, NODE_SELECTOR, PROMQL_VECTOR, from, name ? token_end(name) : 0);
    bool is_ok = n && !p->failed;
    if (is_ok && parser_is(p, TOKEN_LEFT_BRACE))
        is_ok = in_braces(p, &last, &n->to);
    if (is_ok && name) {
        n->selector.name = name->text;
        is_ok = add_matcher(p, MATCH_EQ, SPAN(LABEL_NAME), name->text, from, n->to, &last);
    }
    if (is_ok)
        is_ok = as_array(p, n, first);
    *last = p->matchers; /* whatever became of it, they are freed with the expression */
    p->matchers = first;
    return is_ok && !p->failed ? n : NULL;
}
