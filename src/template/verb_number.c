/* SPDX-License-Identifier: Apache-2.0 */
/*
 * template/verb_number.c - integers and floating-point numbers, padded and signed as Go does it.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>

#include "base/utf8.h"
#include "series/number.h"
#include "template/verb.h"

enum {
    HEX_BYTES = 128,
    HEX_DIGITS_MAX = 100, /* behind the point */
};

/* A number in parts: sign and base, zeros that a precision asks for, digits. */
struct parts {
    char head[4];
    size_t n_head, n_zeros;
    struct span digits;
};

static int put_parts(const struct verb *verb, const struct parts *p, struct buf *out)
{
    size_t n = p->n_head + p->n_zeros + p->digits.n;
    size_t n_pad = verb->width > 0 && (size_t)verb->width > n ? (size_t)verb->width - n : 0;
    int r = verb->has_minus ? 0 : verb_repeat(' ', n_pad, out);
    if (r == 0 && p->n_head > 0)
        r = buf_append(out, span_of(p->head, p->n_head));
    if (r == 0)
        r = verb_repeat('0', p->n_zeros, out);
    if (r == 0 && p->digits.n > 0)
        r = buf_append(out, p->digits);
    return r == 0 && verb->has_minus ? verb_repeat(' ', n_pad, out) : r;
}

/* Digits of v in a base, at the end of text; returns how many. */
static struct span digits_of(uint64_t v, unsigned base, bool is_upper, char text[64])
{
    const char *digits = is_upper ? "0123456789ABCDEF" : "0123456789abcdef";
    size_t at = 64;
    do {
        text[--at] = digits[v % base];
        v /= base;
    } while (v > 0);
    return span_of(text + at, 64 - at);
}

static void put_head(struct parts *p, char c)
{
    p->head[p->n_head++] = c;
}

static void put_sign(const struct verb *verb, bool is_negative, struct parts *p)
{
    if (is_negative)
        put_head(p, '-');
    else if (verb->has_plus || verb->has_space)
        put_head(p, verb->has_plus ? '+' : ' ');
}

/* What the flag # puts in front, and %O always. */
static void put_base(const struct verb *verb, unsigned base, struct parts *p)
{
    if (verb->rune == 'O') {
        put_head(p, '0');
        put_head(p, 'o');
    }
    if (verb->has_sharp && base == 8 && p->n_zeros == 0 && p->digits.p[0] != '0') {
        p->n_zeros = 1;
    } else if (verb->has_sharp && (base == 2 || base == 16)) {
        put_head(p, '0');
        put_head(p, (char)(base == 2 ? 'b' : verb->rune));
    }
}

static int in_base(const struct verb *verb, int64_t i, unsigned base, struct buf *out)
{
    char text[64];
    struct parts p = {.n_head = 0};
    uint64_t v = i < 0 ? 0 - (uint64_t)i : (uint64_t)i;
    bool has_sign = i < 0 || verb->has_plus || verb->has_space;
    size_t n_least = 0;
    if (verb->precision >= 0)
        n_least = (size_t)verb->precision;
    else if (verb->has_zero && verb->width > 0 && !verb->has_minus)
        n_least = (size_t)verb->width - (has_sign ? 1 : 0);
    if (verb->precision == 0 && v == 0)
        return verb_repeat(' ', verb->width > 0 ? (size_t)verb->width : 0, out);
    p.digits = digits_of(v, base, verb->rune == 'X', text);
    p.n_zeros = n_least > p.digits.n ? n_least - p.digits.n : 0;
    put_sign(verb, i < 0, &p);
    put_base(verb, base, &p);
    return put_parts(verb, &p, out);
}

static uint32_t rune_of(int64_t i)
{
    return i < 0 || i > 0x10ffff || (i >= 0xd800 && i < 0xe000) ? 0xfffd : (uint32_t)i;
}

static int as_character(const struct verb *verb, int64_t i, struct buf *out)
{
    char rune[4];
    return verb_pad(verb, span_of(rune, utf8_put(rune_of(i), rune)), out);
}

static int as_quoted(const struct verb *verb, int64_t i, struct buf *out)
{
    static const char letters[] = "abtnvfr";
    char text[24], rune[4];
    uint32_t c = rune_of(i);
    if (c >= '\a' && c <= '\r')
        (void)snprintf(text, sizeof(text), "'\\%c'", letters[c - '\a']);
    else if (c < ' ' || c == 0x7f)
        (void)snprintf(text, sizeof(text), "'\\x%02x'", (unsigned)c);
    else if (c == '\'' || c == '\\')
        (void)snprintf(text, sizeof(text), "'\\%c'", (char)c);
    else if (c >= 0x80 && (verb->has_plus || !verb_is_shown(c)))
        (void)snprintf(text, sizeof(text), c < 0x10000 ? "'\\u%04x'" : "'\\U%08x'", (unsigned)c);
    else
        (void)snprintf(text, sizeof(text), "'%.*s'", (int)utf8_put(c, rune), rune);
    return verb_pad(verb, span_cstr(text), out);
}

/* U+0041, or U+0041 'A'. */
static int as_code_point(const struct verb *verb, int64_t i, struct buf *out)
{
    char digits[64], rune[4];
    struct verb padded = *verb;
    struct buf text;
    struct span s = digits_of((uint64_t)i, 16, true, digits);
    size_t n_least = verb->precision > 4 ? (size_t)verb->precision : 4;
    bool is_shown = verb->has_sharp && rune_of(i) == (uint64_t)i && verb_is_shown((uint32_t)i);
    padded.has_zero = false;
    buf_init(&text, TEMPLATE_OUTPUT_MAX);
    int r = buf_append(&text, SPAN("U+"));
    if (r == 0)
        r = verb_repeat('0', n_least > s.n ? n_least - s.n : 0, &text);
    if (r == 0)
        r = buf_append(&text, s);
    if (r == 0 && is_shown)
        r = buf_printf(&text, " '%.*s'", (int)utf8_put((uint32_t)i, rune), rune);
    if (r == 0)
        r = verb_pad(&padded, buf_span(&text), out);
    buf_done(&text);
    return r;
}

int verb_integer(const struct verb *verb, const struct tvalue *v, struct buf *out)
{
    switch (verb->rune) {
    case 'v':
    case 'd':
        return in_base(verb, v->i, 10, out);
    case 'b':
        return in_base(verb, v->i, 2, out);
    case 'o':
    case 'O':
        return in_base(verb, v->i, 8, out);
    case 'x':
    case 'X':
        return in_base(verb, v->i, 16, out);
    case 'c':
        return as_character(verb, v->i, out);
    case 'q':
        return as_quoted(verb, v->i, out);
    case 'U':
        return as_code_point(verb, v->i, out);
    default:
        return verb_refuse(verb, v, out);
    }
}

static int put_fixed(uint32_t rune, int precision, double v, char *dst, size_t cap)
{
    switch (rune) {
    case 'e':
        return snprintf(dst, cap, "%.*e", precision, v);
    case 'E':
        return snprintf(dst, cap, "%.*E", precision, v);
    case 'g':
    case 'v':
        return snprintf(dst, cap, "%.*g", precision, v);
    case 'G':
        return snprintf(dst, cap, "%.*G", precision, v);
    default:
        return snprintf(dst, cap, "%.*f", precision, v);
    }
}

/* In as few digits as tell it from others. */
static int put_shortest(const struct verb *verb, double v, struct buf *out)
{
    size_t from = buf_len(out);
    int r = number_print_g(v, out);
    if (r != 0 || verb->rune != 'G')
        return r;
    for (char *p = buf_end(out) - (buf_len(out) - from); p < buf_end(out); p++)
        if (*p == 'e')
            *p = 'E';
    return 0;
}

/* 0x1.8p+01: as %a, but always with a 1 in front, and two digits or more behind the p. */
static int put_hex(const struct verb *verb, double v, struct buf *out)
{
    char text[HEX_BYTES];
    int exponent = 0, digits = verb->precision > HEX_DIGITS_MAX ? HEX_DIGITS_MAX : verb->precision;
    double mantissa = v == 0 ? 0 : frexp(v, &exponent) * 2;
    bool is_upper = verb->rune == 'X';
    if (digits < 0)
        (void)snprintf(text, sizeof(text), is_upper ? "%A" : "%a", mantissa);
    else
        (void)snprintf(text, sizeof(text), is_upper ? "%.*A" : "%.*a", digits, mantissa);
    exponent -= v == 0 ? 0 : 1;
    if (text[2] == '2') { /* rounded up */
        text[2] = '1';
        exponent++;
    }
    return buf_printf(out, "%.*s%c%+03d", (int)strcspn(text, "pP"), text, is_upper ? 'P' : 'p',
                      exponent);
}

/* The number's bits: 4503599627370496p-52 */
static int put_binary(double v, struct buf *out)
{
    const uint64_t hidden = 1ULL << 52;
    uint64_t bits;
    memcpy(&bits, &v, sizeof(bits));
    int exponent = (int)(bits >> 52 & 0x7ff);
    uint64_t mantissa = (bits & (hidden - 1)) | (exponent > 0 ? hidden : 0);
    return buf_printf(out, "%llup%+d", (unsigned long long)mantissa,
                      (exponent > 0 ? exponent : 1) - 1075);
}

/*
 * The flag #: a point, and zeros up to the precision where that counts digits. Takes number and
 * writes it to out.
 */
static int put_pointed(const struct verb *verb, struct span number, struct buf *out)
{
    bool is_counted = verb_is_one_of(verb, "vgGx"), is_hex = verb->rune == 'x' || verb->rune == 'X',
         has_point = false, is_begun = false;
    int n_zeros = !is_counted ? 0 : verb->precision < 0 ? 6 : verb->precision;
    size_t n = 0;
    for (; n < number.n && !strchr(is_hex ? "pP" : "eE", number.p[n]); n++) {
        has_point = has_point || number.p[n] == '.';
        is_begun = is_begun || (number.p[n] != '0' && number.p[n] != '.');
        n_zeros -= is_begun && number.p[n] != '.' ? 1 : 0;
    }
    n_zeros -= n == 1 && number.p[0] == '0' ? 1 : 0;
    int r = buf_append(out, span_of(number.p, n));
    if (r == 0 && !has_point)
        r = buf_append(out, SPAN("."));
    if (r == 0)
        r = verb_repeat('0', n_zeros > 0 ? (size_t)n_zeros : 0, out);
    return r == 0 && n < number.n ? buf_append(out, span_from(number, n)) : r;
}

/* The digits of v, which has no sign, in out. */
static int put_digits(const struct verb *verb, double v, struct buf *out)
{
    int precision = verb->precision < 0 ? 6 : verb->precision;
    char *p = NULL;
    if (verb->rune == 'b')
        return put_binary(v, out);
    if (verb->rune == 'x' || verb->rune == 'X')
        return put_hex(verb, v, out);
    if (verb->precision < 0 && verb_is_one_of(verb, "vgG"))
        return put_shortest(verb, v, out);
    int n = put_fixed(verb->rune, precision, v, NULL, 0);
    int r = n < 0 ? -ENOMEM : buf_reserve(out, (size_t)n + 1, &p);
    if (r != 0)
        return r;
    (void)put_fixed(verb->rune, precision, v, p, (size_t)n + 1);
    buf_commit(out, (size_t)n);
    return 0;
}

/* Of Inf and NaN: they are never padded with zeros. */
static int put_no_number(const struct verb *verb, double v, struct buf *out)
{
    struct verb padded = *verb;
    const char *text = v > 0 ? "+Inf" : "-Inf";
    if (isnan(v))
        text = verb->has_plus ? "+NaN" : verb->has_space ? " NaN" : "NaN";
    else if (v > 0 && verb->has_space && !verb->has_plus)
        text = " Inf";
    padded.has_zero = false;
    return verb_pad(&padded, span_cstr(text), out);
}

int verb_float(const struct verb *verb, const struct tvalue *v, struct buf *out)
{
    struct buf text, pointed;
    struct parts p = {.n_head = 0};
    int r;
    if (!verb_is_one_of(verb, "vgGeEfFxXb"))
        return verb_refuse(verb, v, out);
    if (!isfinite(v->f))
        return put_no_number(verb, v->f, out);
    put_sign(verb, signbit(v->f), &p);
    buf_init(&text, TEMPLATE_OUTPUT_MAX);
    buf_init(&pointed, TEMPLATE_OUTPUT_MAX);
    r = put_digits(verb, fabs(v->f), &text);
    p.digits = buf_span(&text);
    if (r == 0 && verb->has_sharp && verb->rune != 'b') {
        r = put_pointed(verb, p.digits, &pointed);
        p.digits = buf_span(&pointed);
    }
    size_t n = p.n_head + p.digits.n;
    if (verb->has_zero && !verb->has_minus && verb->width > 0 && (size_t)verb->width > n)
        p.n_zeros = (size_t)verb->width - n;
    if (r == 0)
        r = put_parts(verb, &p, out);
    buf_done(&pointed);
    buf_done(&text);
    return r;
}
