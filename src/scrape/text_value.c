/* SPDX-License-Identifier: Apache-2.0 */
/*
 * scrape/text_value.c - numbers of samples: the double that is nearest to what is written.
 *
 * Nearly all have at most 19 digits and a small power of ten. Those are exact without the C
 * library: digits below 2^53 and a power of ten up to 10^22 are doubles, so that one multiplication
 * or division rounds once; more digits are multiplied out in 128 bits, or divided with the
 * remainder kept as a last bit, so that the conversion rounds once. Others go to strtod.
 */
#include <errno.h>
#include <math.h>

#include "base/num.h"
#include "scrape/text_private.h"

__extension__ typedef unsigned __int128 u128;

enum {
    DIGITS_MAX = 19,        /* always fit 64 bits */
    POWERS_EXACT = 22,      /* 10^22 is a double */
    POWERS_WHOLE = 19,      /* 10^19 fits 64 bits */
    EXPONENT_MAX = 10000,   /* larger ones are the same to a double */
    SLOW_DIGITS_MAX = 1100, /* num_parse_double wants no more */
    SLOW_BYTES = SLOW_DIGITS_MAX + 32,
};
#define MANTISSA_EXACT (UINT64_C(1) << 53)

/* digits times 10^exponent; digits are those of a text, without its point. */
struct decimal {
    uint64_t digits;
    int n_digits; /* significant ones; beyond DIGITS_MAX `digits` lacks the rest */
    int exponent;
    bool is_negative;
};

static const double powers[POWERS_EXACT + 1] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                                1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                                1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

static uint64_t whole_power(int n)
{
    uint64_t v = 1;
    for (int i = 0; i < n; i++)
        v *= 10;
    return v;
}

static inline bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Digits at p; returns where they end. */
static inline const char *take_digits(const char *p, const char *end, struct decimal *d)
{
    for (; p < end && is_digit(*p); p++) {
        d->n_digits += d->n_digits > 0 || *p != '0';
        if (d->n_digits <= DIGITS_MAX)
            d->digits = 10 * d->digits + (uint64_t)(*p - '0');
    }
    return p;
}

static const char *take_exponent(const char *p, const char *end, int *ret)
{
    bool is_negative = p < end && *p == '-';
    int v = 0;

    if (p < end && (*p == '-' || *p == '+'))
        p++;
    if (p == end)
        return NULL;
    for (; p < end && is_digit(*p); p++)
        v = v < EXPONENT_MAX ? 10 * v + (*p - '0') : v;
    *ret = is_negative ? -v : v;
    return p == end ? p : NULL;
}

/* Digits with at most one point among them, and an exponent; false: that is not what s is. */
static bool decimal_of(struct span s, struct decimal *d)
{
    const char *p = s.p, *end = s.p + s.n;
    size_t n = 0; /* digits, zeros too */

    if (p < end && (*p == '-' || *p == '+'))
        d->is_negative = *p++ == '-';
    const char *from = p;
    p = take_digits(p, end, d);
    n = (size_t)(p - from);
    if (p < end && *p == '.') {
        from = ++p;
        p = take_digits(p, end, d);
        n += (size_t)(p - from);
        d->exponent = -(int)(p - from);
    }
    if (n == 0)
        return false;
    if (p < end && (*p == 'e' || *p == 'E')) {
        int exponent = 0;
        if (!take_exponent(p + 1, end, &exponent))
            return false;
        d->exponent += exponent;
        return true;
    }
    return p == end;
}

/* digits / 10^n, rounded once. */
static double divide(uint64_t digits, int n)
{
    uint64_t divisor = whole_power(n);
    int up = __builtin_clzll(digits), down = __builtin_clzll(divisor);
    u128 dividend = (u128)(digits << up) << 63;

    divisor <<= down;
    uint64_t quotient = (uint64_t)(dividend / divisor);
    uint64_t rest = (uint64_t)(dividend - (u128)quotient * divisor);
    /* At least 62 bits: one that is never among the 53 tells that there was a remainder. */
    return ldexp((double)(quotient | (rest != 0)), down - up - 63);
}

/* The nearest double, where that is cheap. */
static bool decimal_is_cheap(const struct decimal *d, double *ret)
{
    int e = d->exponent;

    if (d->digits == 0 && d->n_digits == 0)
        *ret = 0;
    else if (d->n_digits > DIGITS_MAX)
        return false;
    else if (d->digits <= MANTISSA_EXACT && e >= -POWERS_EXACT && e <= POWERS_EXACT)
        *ret = e < 0 ? (double)d->digits / powers[-e] : (double)d->digits * powers[e];
    else if (e >= 0 && e <= POWERS_WHOLE)
        *ret = (double)((u128)d->digits * whole_power(e));
    else if (e < 0 && e >= -POWERS_WHOLE)
        *ret = divide(d->digits, -e);
    else
        return false;
    return true;
}

/* The same number as "DIGITSeEXPONENT", without signs and zeros in front, for the C library. */
static int decimal_slow(struct span s, const struct decimal *d, double *ret)
{
    char text[SLOW_BYTES];
    size_t n = 0;
    int r;

    if (d->n_digits > SLOW_DIGITS_MAX)
        return -EINVAL;
    for (size_t i = 0; i < s.n && s.p[i] != 'e' && s.p[i] != 'E'; i++)
        if (is_digit(s.p[i]) && (n > 0 || s.p[i] != '0'))
            text[n++] = s.p[i];
    text[n++] = 'e';
    n += num_format_i64(d->exponent, text + n);
    r = num_parse_double(span_of(text, n), ret);
    return r < 0 ? -EINVAL : 0; /* beyond a double's range: Prometheus refuses it, too */
}

static int special(struct span s, double *ret)
{
    bool is_negative = s.n > 0 && s.p[0] == '-';

    if (span_eq_nocase(s, SPAN("nan"))) { /* without a sign */
        *ret = (double)NAN;
        return 0;
    }
    if (is_negative || (s.n > 0 && s.p[0] == '+'))
        (void)span_take(&s, 1);
    if (!span_eq_nocase(s, SPAN("inf")) && !span_eq_nocase(s, SPAN("infinity")))
        return -EINVAL;
    *ret = is_negative ? -HUGE_VAL : HUGE_VAL;
    return 0;
}

int text_value(struct span s, double *ret)
{
    struct decimal d = {0};
    double v;
    int r = 0;

    if (!decimal_of(s, &d))
        return special(s, ret);
    if (!decimal_is_cheap(&d, &v))
        r = decimal_slow(s, &d, &v);
    if (r == 0)
        *ret = d.is_negative ? -v : v;
    return r;
}
