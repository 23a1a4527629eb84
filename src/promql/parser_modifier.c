/* SPDX-License-Identifier: Apache-2.0 */
/*
 * promql/parser_modifier.c - what follows a selector or a subquery: [range], [range:step], offset,
 * @, anchored, smoothed.
 */
#include <math.h>

#include "promql/parser.h"

static struct duration *positive_duration(struct parser *p)
{
    struct duration *d = parser_duration(p);
    if (d && d->op == DUR_NUMBER && !d->is_wrapped && d->seconds <= 0) {
        parser_fail(p, d->from, d->to, "duration must be greater than 0");
        return NULL;
    }
    return d;
}

/* The moment that modifiers of n are about; NULL: n has none. */
static struct when *moment_of(struct node *n)
{
    if (n->kind == NODE_SELECTOR)
        return &n->selector.when;
    return n->kind == NODE_SUBQUERY ? &n->subquery.when : NULL;
}

static struct node *subquery(struct parser *p, struct node *n, struct duration *range)
{
    struct duration *step = NULL;
    (void)parser_take(p); /* the colon */
    p->expectation =
        (struct expectation){"subquery selector", "number, duration, step(), range(), or \"]\""};
    if (!parser_is(p, TOKEN_RIGHT_BRACKET)) {
        step = positive_duration(p);
        if (!step)
            return NULL;
        p->expectation.expected = "\"]\"";
    }
    struct token close;
    if (!parser_expect(p, TOKEN_RIGHT_BRACKET, &close))
        return NULL;
    struct node *s = parser_node(p, NODE_SUBQUERY, PROMQL_MATRIX, n->from, token_end(&close));
    if (s) {
        s->subquery.inner = n;
        s->subquery.range = range;
        s->subquery.step = step;
    }
    return s;
}

static struct node *range_selector(struct parser *p, struct node *n, struct duration *range,
                                   size_t from)
{
    struct token close = parser_take(p);
    const char *why = NULL;
    if (n->kind != NODE_SELECTOR || n->selector.range)
        why = "ranges only allowed for vector selectors";
    else if (n->selector.when.offset)
        why = "no offset modifiers allowed before range";
    else if (n->selector.when.at != AT_NONE)
        why = "no @ modifiers allowed before range";
    if (why) {
        parser_fail(p, from, token_end(&close), "%s", why);
        return NULL;
    }
    n->selector.range = range;
    n->type = PROMQL_MATRIX;
    n->to = token_end(&close);
    return n;
}

static struct node *brackets(struct parser *p, struct node *n)
{
    size_t from = parser_take(p).from;
    struct expectation outer = p->expectation;
    p->expectation =
        (struct expectation){"subquery or range selector", "number, duration, step(), or range()"};
    struct duration *range = positive_duration(p);
    struct node *ret = NULL;
    if (range && parser_is(p, TOKEN_COLON))
        ret = subquery(p, n, range);
    else if (range && parser_is(p, TOKEN_RIGHT_BRACKET))
        ret = range_selector(p, n, range, from);
    else if (range)
        parser_unexpected_in(p, "subquery or range", "\":\" or \"]\"");
    p->expectation = outer;
    return ret;
}

static struct node *offset(struct parser *p, struct node *n)
{
    (void)parser_take(p);
    struct expectation outer = p->expectation;
    p->expectation = (struct expectation){"offset", "number, duration, step(), or range()"};
    struct duration *d = parser_offset_duration(p);
    p->expectation = outer;
    if (!d)
        return NULL;
    struct when *when = moment_of(n);
    if (!when)
        parser_fail(p, n->from, n->to,
                    "offset modifier must be preceded by an instant vector selector or range "
                    "vector selector or a subquery");
    else if (when->offset)
        parser_fail(p, n->from, n->to, "offset may not be set multiple times");
    else if (d->op != DUR_NUMBER || d->is_wrapped || d->seconds != 0)
        when->offset = d;
    n->to = d->to;
    return p->failed ? NULL : n;
}

/* The number behind @, with its sign. */
static bool at_number(struct parser *p, double *ret, size_t *ret_to)
{
    double sign = 1;
    if (parser_is_operator(p, OP_ADD) || parser_is_operator(p, OP_SUB))
        sign = parser_take(p).which == OP_SUB ? -1 : 1;
    if (!parser_is(p, TOKEN_NUMBER) && !parser_is(p, TOKEN_DURATION)) {
        parser_unexpected_in(p, "@", "timestamp");
        return false;
    }
    struct token t = parser_take(p);
    *ret = sign * parser_number(p, &t);
    *ret_to = token_end(&t);
    return !p->failed;
}

static void fail_moment(struct parser *p, const struct node *n, double s)
{
    static const char text[] = "timestamp out of bounds for @ modifier";
    if (isfinite(s))
        parser_fail(p, n->from, n->to, "%s: %f", text, s);
    else
        parser_fail(p, n->from, n->to, "%s: %s", text, isnan(s) ? "NaN" : s > 0 ? "+Inf" : "-Inf");
}

/* The moment behind @ into *ret; *ret_to is the end of its text. */
static bool at_moment(struct parser *p, const struct node *n, struct when *ret, size_t *ret_to)
{
    const struct token *t = parser_peek(p);
    if (t->kind == TOKEN_PREPROCESSOR && (t->which == WORD_START || t->which == WORD_END)) {
        ret->at = parser_take(p).which == WORD_START ? AT_START : AT_END;
        struct expectation outer = p->expectation;
        struct token close = {0};
        p->expectation = (struct expectation){"@", "timestamp"};
        bool is_ok = parser_expect(p, TOKEN_LEFT_PAREN, &close) &&
                     parser_expect(p, TOKEN_RIGHT_PAREN, &close);
        p->expectation = outer;
        *ret_to = token_end(&close);
        return is_ok;
    }
    double s;
    if (!at_number(p, &s, ret_to))
        return false;
    static const double limit = 9223372036854775807.0;
    if (!isfinite(s) || s >= limit || s <= -limit) {
        fail_moment(p, n, s);
        return false;
    }
    double ms = round(s * 1000);
    ret->at = AT_TIME;
    ret->at_ms = ms >= limit ? INT64_MAX : ms <= -limit ? INT64_MIN : (int64_t)ms;
    return true;
}

static struct node *at(struct parser *p, struct node *n)
{
    (void)parser_take(p);
    struct when moment = {0};
    size_t to = n->to;
    if (!at_moment(p, n, &moment, &to))
        return NULL;
    struct when *when = moment_of(n);
    if (!when) {
        parser_fail(p, n->from, n->to,
                    "@ modifier must be preceded by an instant vector selector or range vector "
                    "selector or a subquery");
        return NULL;
    }
    if (when->at != AT_NONE) {
        parser_fail(p, n->from, n->to, "@ <timestamp> may not be set multiple times");
        return NULL;
    }
    when->at = moment.at;
    when->at_ms = moment.at_ms;
    n->to = to;
    return n;
}

static struct node *extended(struct parser *p, struct node *n)
{
    struct token t = parser_take(p);
    const char *word = t.which == KEYWORD_ANCHORED ? "anchored" : "smoothed";
    if (n->kind == NODE_SUBQUERY) {
        parser_fail(p, n->from, n->to, "%s modifier is not supported for subqueries", word);
        return NULL;
    }
    if (n->kind != NODE_SELECTOR) {
        parser_fail(p, n->from, n->to, "%s modifier not implemented", word);
        return NULL;
    }
    n->selector.is_anchored |= t.which == KEYWORD_ANCHORED;
    n->selector.is_smoothed |= t.which == KEYWORD_SMOOTHED;
    if (n->selector.is_anchored && n->selector.is_smoothed) {
        parser_fail(p, n->from, n->to, "anchored and smoothed modifiers cannot be used together");
        return NULL;
    }
    n->to = token_end(&t);
    return n;
}

struct node *parser_modifiers(struct parser *p, struct node *n)
{
    while (n && !p->failed) {
        if (parser_is(p, TOKEN_LEFT_BRACKET))
            n = brackets(p, n);
        else if (parser_is_keyword(p, KEYWORD_OFFSET))
            n = offset(p, n);
        else if (parser_is(p, TOKEN_AT))
            n = at(p, n);
        else if (parser_is_keyword(p, KEYWORD_ANCHORED) || parser_is_keyword(p, KEYWORD_SMOOTHED))
            n = extended(p, n);
        else
            break;
    }
    return p->failed ? NULL : n;
}
