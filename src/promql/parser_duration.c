/* SPDX-License-Identifier: Apache-2.0 */
/*
 * promql/parser_duration.c - durations in brackets and behind offset: numbers, step(), range() and
 * arithmetic.
 */
#include <math.h>

#include "promql/parser.h"

static struct duration *climb(struct parser *p, int least);

/* Seconds that fit into nanoseconds of 64 bits. */
static bool is_in_range(double seconds)
{
    static const double limit = 9223372036.854775808;
    return seconds <= limit && seconds >= -limit;
}

static struct duration *make(struct parser *p, enum duration_op op, size_t from, size_t to)
{
    struct duration *d = p->failed ? NULL : parser_alloc(p, sizeof(*d));
    if (d) {
        d->op = op;
        d->from = from;
        d->to = to;
    }
    return d;
}

static struct duration *number(struct parser *p)
{
    struct token t = parser_take(p);
    double v = parser_number(p, &t);
    struct duration *d = make(p, DUR_NUMBER, t.from, token_end(&t));
    if (!d)
        return NULL;
    d->seconds = v;
    d->is_written_as_duration = t.kind == TOKEN_DURATION;
    if (!is_in_range(v)) {
        parser_fail(p, d->from, d->to, "duration out of range");
        return NULL;
    }
    return d;
}

/* step(), range(), min_of(a, b), max_of(a, b). */
static struct duration *word(struct parser *p)
{
    static const enum duration_op ops[] = {[WORD_STEP] = DUR_STEP,
                                           [WORD_RANGE] = DUR_RANGE,
                                           [WORD_MIN_OF] = DUR_MIN_OF,
                                           [WORD_MAX_OF] = DUR_MAX_OF};
    struct token t = parser_take(p), paren;
    if (!parser_expect(p, TOKEN_LEFT_PAREN, &paren))
        return NULL;
    struct duration *d = make(p, ops[t.which], t.from, 0);
    if (d && (d->op == DUR_MIN_OF || d->op == DUR_MAX_OF)) {
        d->left = parser_duration(p);
        if (!d->left || !parser_expect(p, TOKEN_COMMA, &paren))
            return NULL;
        d->right = parser_duration(p);
        if (!d->right)
            return NULL;
    }
    if (!d || !parser_expect(p, TOKEN_RIGHT_PAREN, &paren))
        return NULL;
    d->to = token_end(&paren);
    return d;
}

static struct duration *paren(struct parser *p)
{
    struct token open = parser_take(p), close;
    struct duration *d = parser_duration(p);
    if (!d || !parser_expect(p, TOKEN_RIGHT_PAREN, &close))
        return NULL;
    d->is_wrapped = true;
    d->from = open.from;
    d->to = token_end(&close);
    return d;
}

static struct duration *negated(struct parser *p, size_t from, bool is_minus, struct duration *d)
{
    if (!d)
        return NULL;
    if (d->op == DUR_NUMBER && !d->is_wrapped) {
        d->seconds = is_minus ? -d->seconds : d->seconds;
        d->from = from;
        return d;
    }
    if (!is_minus)
        return d;
    struct duration *n = make(p, DUR_NEGATE, from, d->to);
    if (n)
        n->right = d;
    return n;
}

static bool is_sign(struct parser *p)
{
    return parser_is_operator(p, OP_ADD) || parser_is_operator(p, OP_SUB);
}

static bool is_duration_word(struct parser *p)
{
    const struct token *t = parser_peek(p);
    return t->kind == TOKEN_PREPROCESSOR && t->which >= WORD_STEP;
}

static bool is_number(struct parser *p)
{
    return parser_is(p, TOKEN_NUMBER) || parser_is(p, TOKEN_DURATION);
}

static struct duration *operand(struct parser *p)
{
    if (is_number(p))
        return number(p);
    if (is_sign(p)) {
        struct token sign = parser_take(p);
        struct duration *d = climb(p, binary_ops[OP_POW].precedence);
        return negated(p, sign.from, sign.which == OP_SUB, d);
    }
    if (parser_is(p, TOKEN_LEFT_PAREN))
        return paren(p);
    if (is_duration_word(p))
        return word(p);
    parser_unexpected(p);
    return NULL;
}

static bool arithmetic(struct parser *p, enum duration_op *ret)
{
    static const struct {
        enum binary_op op;
        enum duration_op duration;
    } ops[] = {{OP_ADD, DUR_ADD}, {OP_SUB, DUR_SUB}, {OP_MUL, DUR_MUL},
               {OP_DIV, DUR_DIV}, {OP_MOD, DUR_MOD}, {OP_POW, DUR_POW}};
    for (size_t i = 0; i < ARRAY_LEN(ops); i++) {
        if (parser_is_operator(p, ops[i].op)) {
            *ret = ops[i].duration;
            return true;
        }
    }
    return false;
}

static struct duration *join(struct parser *p, enum duration_op op, const struct token *sign,
                             const struct duration *left, const struct duration *right)
{
    bool is_zero = right->op == DUR_NUMBER && !right->is_wrapped && right->seconds == 0;
    if (is_zero && (op == DUR_DIV || op == DUR_MOD)) {
        parser_fail(p, sign->from, token_end(sign), "%s by zero",
                    op == DUR_DIV ? "division" : "modulo");
        return NULL;
    }
    struct duration *d = make(p, op, left->from, right->to);
    if (d) {
        d->left = left;
        d->right = right;
    }
    return d;
}

/* Operators behind left that bind at least that tightly. */
static struct duration *climb_from(struct parser *p, struct duration *left, int least)
{
    enum duration_op op;
    while (left && !p->failed && arithmetic(p, &op)) {
        const struct binary_op_info *info = &binary_ops[parser_peek(p)->which];
        if (info->precedence < least)
            break;
        struct token sign = parser_take(p);
        struct duration *right = climb(p, info->precedence + (info->is_right_associative ? 0 : 1));
        left = right ? join(p, op, &sign, left, right) : NULL;
    }
    return p->failed ? NULL : left;
}

static struct duration *climb(struct parser *p, int least)
{
    if (!parser_enter(p))
        return NULL;
    struct duration *d = climb_from(p, operand(p), least);
    parser_leave(p);
    return d;
}

struct duration *parser_duration(struct parser *p)
{
    return climb(p, 1);
}

/*
 * Behind offset only what stands in parentheses goes on with an operator: foo offset -2^2 is
 * (foo offset -2)^2, and foo offset 5m + bar adds bar.
 */
struct duration *parser_offset_duration(struct parser *p)
{
    if (is_number(p))
        return number(p);
    if (is_duration_word(p))
        return word(p);
    if (!is_sign(p))
        return parser_duration(p);
    struct token sign = parser_take(p);
    bool is_minus = sign.which == OP_SUB;
    if (is_number(p))
        return negated(p, sign.from, is_minus, number(p));
    if (is_duration_word(p))
        return negated(p, sign.from, is_minus, word(p));
    if (parser_is(p, TOKEN_LEFT_PAREN))
        return negated(p, sign.from, is_minus, paren(p));
    struct duration *d = climb(p, binary_ops[OP_POW].precedence);
    return climb_from(p, negated(p, sign.from, is_minus, d), 1);
}
