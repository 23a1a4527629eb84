/* SPDX-License-Identifier: Apache-2.0 */
/*
 * template/tparser_literal.c - what numbers, characters and strings are worth.
 *
 * A number is an int unless it is written with a point or an exponent: that decides what it may be
 * compared with and how it is printed.
 */
#include "template/tparser.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/num.h"
#include "base/utf8.h"

enum { DIGITS_MAX = 400 }; /* of a number, as it is written */

static bool has_any(struct span s, const char *chars)
{
    for (size_t i = 0; i < s.n; i++)
        if (s.p[i] != '\0' && strchr(chars, s.p[i]))
            return true;
    return false;
}

/* Without a sign; base 0 takes 0x, 0o, 0b and a leading 0 into account. -EINVAL, -ERANGE. */
static int parse_digits(struct span s, uint64_t *ret)
{
    static const struct {
        char letter;
        unsigned base;
    } bases[] = {{'x', 16}, {'o', 8}, {'b', 2}};
    unsigned base = 10;
    uint64_t v = 0;
    for (size_t i = 0; i < ARRAY_LEN(bases) && s.n > 1 && s.p[0] == '0'; i++)
        if ((s.p[1] | 0x20) == bases[i].letter)
            base = bases[i].base;
    if (base != 10)
        (void)span_take(&s, 2);
    else if (s.n > 1 && s.p[0] == '0')
        base = 8;
    if (s.n == 0)
        return -EINVAL;
    for (size_t i = 0; i < s.n; i++) {
        char c = s.p[i];
        unsigned digit = c >= '0' && c <= '9' ? (unsigned)(c - '0')
                         : (c | 0x20) >= 'a' && (c | 0x20) <= 'f'
                             ? (unsigned)((c | 0x20) - 'a' + 10)
                             : 99;
        if (digit >= base)
            return -EINVAL;
        if (__builtin_mul_overflow(v, base, &v) || __builtin_add_overflow(v, digit, &v))
            return -ERANGE;
    }
    *ret = v;
    return 0;
}

static int parse_integer(struct span s, struct tvalue *ret)
{
    bool is_negative = s.p[0] == '-';
    uint64_t v;
    if (is_negative || s.p[0] == '+')
        (void)span_take(&s, 1);
    int r = parse_digits(s, &v);
    if (r != 0)
        return r;
    if (v > (uint64_t)INT64_MAX + (is_negative ? 1 : 0))
        return -ERANGE;
    *ret = tvalue_int(is_negative ? (int64_t)(0 - v) : (int64_t)v);
    return 0;
}

static int parse_float(struct span s, struct tvalue *ret)
{
    char text[DIGITS_MAX + 1], *end;
    bool is_hex = has_any(s, "xX");
    if (has_any(s, is_hex ? "iInN" : "iInNfFaA") || (is_hex && !has_any(s, "pP")))
        return -EINVAL; /* words that strtod takes for a number */
    (void)span_copy(s, text, sizeof(text));
    double v = strtod(text, &end);
    if (*end != '\0' || end == text)
        return -EINVAL;
    if (isinf(v))
        return -ERANGE;
    *ret = tvalue_float(v);
    return 0;
}

/* Underscores between digits only make them easier to read. */
static int without_underscores(struct span s, char *dst, struct span *ret)
{
    size_t n = 0;
    bool is_hex = has_any(s, "xX");
    if (s.n > DIGITS_MAX)
        return -EINVAL;
    for (size_t i = 0; i < s.n; i++) {
        if (s.p[i] != '_') {
            dst[n++] = s.p[i];
            continue;
        }
        if (i == 0 || i + 1 == s.n || s.p[i - 1] == '_' || (!is_hex && has_any(s, ".eE")))
            return -EINVAL;
    }
    dst[n] = '\0';
    *ret = span_of(dst, n);
    return 0;
}

static int parse_number(struct tparser *p, const struct tword *w, struct tvalue *ret)
{
    char text[DIGITS_MAX + 1];
    struct span s;
    int r = without_underscores(w->text, text, &s);
    bool is_hex = r == 0 && has_any(s, "xX");
    if (r == 0)
        r = has_any(s, is_hex ? ".pP" : ".eE") ? parse_float(s, ret) : parse_integer(s, ret);
    if (r == -ERANGE)
        return tparser_fail(p, w->at, "number is too large");
    return r == 0 ? 0
                  : tparser_fail(p, w->at, "bad number syntax: \"%.*s\"",
                                 (int)(w->text.n > 40 ? 40 : w->text.n), w->text.p);
}

static int hex_digits(struct span s, size_t n, uint32_t base, uint32_t *ret)
{
    *ret = 0;
    if (s.n < n)
        return -EINVAL;
    for (size_t i = 0; i < n; i++) {
        uint64_t digit;
        if (num_parse_hex(span_of(s.p + i, 1), &digit) != 0 || digit >= base)
            return -EINVAL;
        *ret = *ret * base + (uint32_t)digit;
    }
    return 0;
}

/* One escape, *s being behind its backslash. *ret_rune: the character, *ret_is_byte: only a byte.
 */
static int take_escape(struct span *s, char quote, uint32_t *ret_rune, bool *ret_is_byte)
{
    static const char letters[] = "abtnvfr";
    static const struct {
        char letter;
        size_t n;
        bool is_byte;
    } numbers[] = {{'x', 2, true}, {'u', 4, false}, {'U', 8, false}};
    if (s->n == 0)
        return -EINVAL;
    char c = s->p[0];
    *ret_is_byte = false;
    if (c >= '0' && c <= '7') {
        *ret_is_byte = true;
        if (hex_digits(*s, 3, 8, ret_rune) != 0 || *ret_rune > 0xff)
            return -EINVAL;
        (void)span_take(s, 3);
        return 0;
    }
    (void)span_take(s, 1);
    for (size_t i = 0; i < ARRAY_LEN(numbers); i++) {
        if (c != numbers[i].letter)
            continue;
        *ret_is_byte = numbers[i].is_byte;
        if (hex_digits(*s, numbers[i].n, 16, ret_rune) != 0 || *ret_rune > 0x10ffff ||
            (*ret_rune >= 0xd800 && *ret_rune < 0xe000))
            return -EINVAL;
        (void)span_take(s, numbers[i].n);
        return 0;
    }
    const char *known = memchr(letters, c, sizeof(letters) - 1);
    *ret_rune = known ? (uint32_t)('\a' + (known - letters)) : (uint32_t)(unsigned char)c;
    return known || c == '\\' || c == quote ? 0 : -EINVAL;
}

/* s without its quotes. *ret lies in a, or is s where nothing is escaped. */
static int unquote(struct span s, struct arena *a, struct span *ret)
{
    size_t n = 0;
    char *dst;
    if (span_find_char(s, '\\') == s.n) {
        *ret = s;
        return 0;
    }
    dst = arena_alloc(a, s.n); /* nothing gets longer */
    if (!dst)
        return -ENOMEM;
    while (s.n > 0) {
        uint32_t rune;
        bool is_byte;
        char c = span_take(&s, 1).p[0];
        if (c != '\\') {
            dst[n++] = c;
            continue;
        }
        int r = take_escape(&s, '"', &rune, &is_byte);
        if (r != 0)
            return r;
        if (is_byte)
            dst[n++] = (char)rune;
        else
            n += utf8_put(rune, dst + n);
    }
    *ret = span_of(dst, n);
    return 0;
}

/* 'x': the number of the character. */
static int parse_char(struct span s, struct tvalue *ret)
{
    uint32_t rune = 0;
    bool is_valid = true, is_byte;
    if (s.n == 0)
        return -EINVAL;
    if (s.p[0] == '\\') {
        (void)span_take(&s, 1);
        int r = take_escape(&s, '\'', &rune, &is_byte);
        if (r != 0)
            return r;
    } else {
        (void)utf8_step(s, &is_valid);
        rune = utf8_take(&s);
    }
    *ret = tvalue_int((int64_t)rune);
    return s.n == 0 && is_valid ? 0 : -EINVAL;
}

int tparser_literal(struct tparser *p, const struct tword *w, struct tvalue *ret)
{
    struct span inner, text;
    int r;
    if (w->kind == TWORD_NUMBER)
        return parse_number(p, w, ret);
    inner = span_of(w->text.p + 1, w->text.n - 2);
    if (w->kind == TWORD_CHAR) {
        r = parse_char(inner, ret);
        return r == 0 ? 0 : tparser_fail(p, w->at, "malformed character constant");
    }
    text = inner;
    r = w->kind == TWORD_RAW ? 0 : unquote(inner, &p->t->arena, &text);
    if (r == -EINVAL)
        return tparser_fail(p, w->at, "malformed string: an escape that there is not");
    if (r == 0)
        *ret = tvalue_string(text);
    return r;
}
