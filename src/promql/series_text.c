/* SPDX-License-Identifier: Apache-2.0 */
/*
 * promql/series_text.c - the labels of one series as text: metric{a="b"}.
 */
#include <errno.h>

#include "promql/parser.h"

static const char in_set[] = "label set";

struct pair {
    struct label label;
    struct pair *next;
};

static struct pair *new_pair(struct parser *p, struct span name, struct span value)
{
    struct pair *pair = p->failed ? NULL : parser_alloc(p, sizeof(*pair));
    if (pair)
        pair->label = (struct label){name, value};
    return pair;
}

/* name="value", or the name of a metric in quotes. */
static struct pair *item(struct parser *p)
{
    struct token t = *parser_peek(p);
    if (t.kind != TOKEN_IDENTIFIER && t.kind != TOKEN_STRING) {
        parser_unexpected_in(p, in_set, "identifier or \"}\"");
        return NULL;
    }
    (void)parser_take(p);
    bool is_quoted = t.kind == TOKEN_STRING;
    struct span name = is_quoted ? parser_string(p, &t) : t.text;
    if (!parser_is(p, TOKEN_EQUAL)) {
        if (is_quoted && (parser_is(p, TOKEN_COMMA) || parser_is(p, TOKEN_RIGHT_BRACE)))
            return new_pair(p, SPAN(LABEL_NAME), name);
        parser_unexpected_in(p, in_set, is_quoted ? "\",\" or \"}\"" : "\"=\"");
        return NULL;
    }
    (void)parser_take(p);
    if (!parser_is(p, TOKEN_STRING)) {
        parser_unexpected_in(p, in_set, "string");
        return NULL;
    }
    struct token v = parser_take(p);
    return new_pair(p, name, parser_string(p, &v));
}

/* From { to }; the pairs go behind *last. */
static size_t items(struct parser *p, struct pair **last)
{
    size_t n = 0;
    (void)parser_take(p);
    while (!p->failed && !parser_is(p, TOKEN_RIGHT_BRACE)) {
        if (!(*last = item(p)))
            return 0;
        last = &(*last)->next;
        n++;
        if (parser_is(p, TOKEN_COMMA))
            (void)parser_take(p);
        else if (!parser_is(p, TOKEN_RIGHT_BRACE))
            parser_unexpected_in(p, in_set, "\",\" or \"}\"");
    }
    (void)parser_take(p);
    return n;
}

static int normalise(struct parser *p, const struct pair *first, size_t n, struct labels *ret)
{
    struct label *pairs = parser_alloc(p, (n ? n : 1) * sizeof(*pairs));
    if (!pairs)
        return -ENOMEM;
    for (size_t i = 0; first; first = first->next)
        pairs[i++] = first->label;
    struct labels sorted;
    struct span twice;
    int r = labels_normalise(pairs, n, &sorted, &twice);
    if (r == -EINVAL)
        parser_fail(p, 0, p->lexer.at, "label \"%.*s\" is given twice", SPAN_ARG(twice));
    return r < 0 ? r : labels_copy(p->arena, sorted, ret);
}

int promql_parse_series(struct span *s, struct arena *a, struct labels *ret,
                        struct promql_error *reterr)
{
    struct promql_error ignored;
    struct parser p;
    parser_init(&p, *s, a, reterr ? reterr : &ignored);
    struct pair *first = NULL, **last = &first;
    size_t n = 0;
    const struct token *t = parser_peek(&p);
    bool has_name = token_may_be_metric(t);
    if (has_name) {
        first = new_pair(&p, SPAN(LABEL_NAME), parser_take(&p).text);
        last = first ? &first->next : last;
        n = 1;
    } else if (t->kind != TOKEN_LEFT_BRACE) {
        parser_unexpected_in(&p, "series", NULL);
    }
    bool has_braces = !p.failed && p.lexer.at < s->n && s->p[p.lexer.at] == '{';
    if (!p.failed && (has_braces || !has_name)) {
        (void)parser_peek(&p);
        n += items(&p, last);
    }
    if (p.failed)
        return p.failed;
    int r = normalise(&p, first, n, ret);
    if (r < 0) {
        parser_fail_code(&p, r);
        return r;
    }
    (void)span_take(s, p.lexer.at);
    return 0;
}
