/* SPDX-License-Identifier: Apache-2.0 */
/*
 * promql/lexer_literal.c - numbers, durations and strings as tokens.
 *
 * The lexer finds where they end and refuses what cannot be one; what they are worth is for
 * parser_literal.c.
 */
#include "promql/lexer_private.h"
#include "promql/quote.h"

static bool take_any(struct lexer *x, const char *set)
{
    int c = lexer_peek(x);
    if (c <= 0 || !strchr(set, c))
        return false;
    x->at++;
    return true;
}

static bool is_any(const struct lexer *x, const char *set)
{
    int c = lexer_peek(x);
    return c > 0 && strchr(set, c);
}

struct number_scan {
    const char *digits;
    bool is_hex, has_dot, has_exponent;
};

/* One of ". e _" or a run of digits; false: this is no number. */
static bool number_part(struct lexer *x, struct number_scan *s)
{
    if (take_any(x, ".")) {
        bool had = s->has_dot;
        s->has_dot = true;
        return !had && !take_any(x, "_.") && !s->is_hex;
    }
    if (is_any(x, s->digits)) {
        while (take_any(x, s->digits))
            ;
        return true;
    }
    if (take_any(x, "eE")) {
        bool had = s->has_exponent;
        s->has_exponent = true;
        if (had)
            return false;
        (void)take_any(x, "+-");
        return !take_any(x, "._eE") && lexer_peek(x) >= 0;
    }
    (void)take_any(x, "_");
    return !take_any(x, "._eE") && lexer_peek(x) >= 0;
}

static bool take_number(struct lexer *x)
{
    struct number_scan s = {.digits = "0123456789"};
    size_t begin = x->at;
    if (take_any(x, "0") && take_any(x, "xX")) {
        (void)take_any(x, "_");
        s = (struct number_scan){.digits = "0123456789abcdefABCDEF", .is_hex = true};
    }
    s.has_dot = take_any(x, ".");
    while (is_any(x, s.digits) || is_any(x, "._eE")) {
        if (!number_part(x, &s))
            return false;
    }
    return x->at > begin && !is_alnum(lexer_peek(x));
}

/* The rest of a duration, behind its first digits: a unit, then digits and units. */
static bool take_duration(struct lexer *x)
{
    static const char digits[] = "0123456789";
    if (!take_any(x, "smhdwy"))
        return false;
    (void)take_any(x, "s"); /* of ms; hs and the like are refused when it is read */
    while (take_any(x, digits)) {
        while (take_any(x, digits))
            ;
        if (!take_any(x, "smhdw"))
            return false;
        (void)take_any(x, "s");
    }
    if (!is_alnum(lexer_peek(x)))
        return true;
    x->at++; /* the message shows it, too */
    return false;
}

void lexer_number(struct lexer *x, struct token *ret)
{
    if (take_number(x)) {
        lexer_emit(x, ret, TOKEN_NUMBER, 0);
    } else if (take_duration(x)) {
        lexer_emit(x, ret, TOKEN_DURATION, 0);
    } else {
        char quoted[96];
        quote_copy(span_of(x->input.p + x->start, x->at - x->start), 0, quoted, sizeof(quoted));
        lexer_fail(x, ret, "bad number or duration syntax: %s", quoted);
    }
}

static int hex_digit(int32_t c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    int32_t lower = c | 0x20;
    return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : 16;
}

/* The digits of an escape; false: lexer_fail was called. */
static bool escape_digits(struct lexer *x, struct token *ret, size_t n, int base, uint32_t max)
{
    uint32_t v = 0;
    for (; n > 0; n--) {
        size_t len;
        int32_t c = lexer_rune(x, &len);
        int d = c < 0 ? 16 : hex_digit(c);
        if (c == -1) {
            lexer_fail(x, ret, "escape sequence not terminated");
            return false;
        }
        if (d >= base) {
            char quoted[16];
            quote_rune(c, quoted);
            lexer_fail(x, ret, "illegal character U+%04X %s in escape sequence",
                       c < 0 ? 0xfffdu : (unsigned)c, quoted);
            return false;
        }
        v = v * (uint32_t)base + (uint32_t)d;
        x->at += len;
    }
    if (v > max || (v >= 0xd800 && v < 0xe000)) {
        lexer_fail(x, ret, "escape sequence is an invalid Unicode code point");
        return false;
    }
    return true;
}

/* Behind a backslash; false: lexer_fail was called. */
static bool escape(struct lexer *x, struct token *ret, int quote)
{
    enum { RUNE_MAX = 0x10ffff };
    size_t n;
    int32_t c = lexer_rune(x, &n);
    if (c >= '0' && c <= '7')
        return escape_digits(x, ret, 3, 8, 255);
    x->at += n;
    if (c == quote || (c > 0 && c < 0x80 && strchr("abfnrtv\\", c)))
        return true;
    if (c == 'x')
        return escape_digits(x, ret, 2, 16, 255);
    if (c == 'u' || c == 'U')
        return escape_digits(x, ret, c == 'u' ? 4 : 8, 16, RUNE_MAX);
    if (c == -1) {
        lexer_fail(x, ret, "escape sequence not terminated");
        return false;
    }
    char quoted[16];
    quote_rune(c, quoted);
    lexer_fail(x, ret, "unknown escape sequence U+%04X %s", c < 0 ? 0xfffdu : (unsigned)c, quoted);
    return false;
}

void lexer_string(struct lexer *x, struct token *ret)
{
    int quote = lexer_peek(x);
    bool is_raw = quote == '`';
    x->at++;
    for (;;) {
        size_t n;
        int32_t c = lexer_rune(x, &n);
        if (c == -1 || (c == '\n' && !is_raw)) {
            lexer_fail(x, ret, is_raw ? "unterminated raw string" : "unterminated quoted string");
            return;
        }
        if (c == -2 || c == 0xfffd) {
            lexer_fail(x, ret, "invalid UTF-8 rune");
            return;
        }
        x->at += n;
        if (c == quote)
            break;
        if (c == '\\' && !is_raw && !escape(x, ret, quote))
            return;
    }
    lexer_emit(x, ret, TOKEN_STRING, 0);
}
