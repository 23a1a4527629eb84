/* SPDX-License-Identifier: Apache-2.0 */
/*
 * base/num.c - numbers from text and back.
 *
 * The C library's strto* functions skip white space, accept prefixes of what they are given and
 * follow the locale. Here the grammar is checked first and by us; only the conversion between
 * decimal and binary floating point is left to the library, under the "C" locale.
 */
#include "base/num.h"

#include <errno.h>
#include <locale.h>
#include <math.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"

enum {
    HEX_DIGITS_MAX = 16,
    /* The longest exact decimal of a double has 1,075 characters; longer text is not a number. */
    DOUBLE_TEXT_MAX = 1200,
    DOUBLE_FORMAT_BYTES = 32,
};

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* How many digits s starts with. */
static size_t count_digits(struct span s)
{
    size_t n = 0;
    while (n < s.n && is_digit(s.p[n]))
        n++;
    return n;
}

int num_parse_u64(struct span s, uint64_t *ret)
{
    uint64_t v = 0;
    if (s.n == 0 || count_digits(s) != s.n)
        return -EINVAL;
    for (size_t i = 0; i < s.n; i++) {
        if (__builtin_mul_overflow(v, UINT64_C(10), &v) ||
            __builtin_add_overflow(v, (uint64_t)(s.p[i] - '0'), &v))
            return -ERANGE;
    }
    *ret = v;
    return 0;
}

int num_parse_i64(struct span s, int64_t *ret)
{
    const uint64_t min_magnitude = (uint64_t)INT64_MAX + 1;
    bool is_negative = span_starts_with(s, SPAN("-"));
    uint64_t magnitude;
    int r = num_parse_u64(span_from(s, is_negative ? 1 : 0), &magnitude);
    if (r < 0)
        return r;
    if (magnitude > (is_negative ? min_magnitude : (uint64_t)INT64_MAX))
        return -ERANGE;
    if (magnitude == min_magnitude)
        *ret = INT64_MIN; /* has no positive counterpart */
    else
        *ret = is_negative ? -(int64_t)magnitude : (int64_t)magnitude;
    return 0;
}

static int hex_digit(char c)
{
    if (is_digit(c))
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    return -1;
}

int num_parse_hex(struct span s, uint64_t *ret)
{
    uint64_t v = 0;
    if (s.n == 0)
        return -EINVAL;
    for (size_t i = 0; i < s.n; i++) {
        int digit = hex_digit(s.p[i]);
        if (digit < 0)
            return -EINVAL;
        v = v << 4 | (uint64_t)digit;
    }
    if (s.n > HEX_DIGITS_MAX)
        return -ERANGE;
    *ret = v;
    return 0;
}

static locale_t c_locale_object;

static void make_c_locale(void)
{
    c_locale_object = newlocale(LC_ALL_MASK, "C", (locale_t)0);
}

/* The "C" locale; glibc hands out a static object, so there is nothing to free or to fail. */
static locale_t c_locale(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, make_c_locale);
    return c_locale_object;
}

/* -?digits(.digits)?([eE][+-]?digits)? */
static bool is_decimal(struct span s)
{
    if (span_starts_with(s, SPAN("-")))
        (void)span_take(&s, 1);
    size_t n = count_digits(s);
    if (n == 0)
        return false;
    (void)span_take(&s, n);
    if (span_starts_with(s, SPAN("."))) {
        (void)span_take(&s, 1);
        n = count_digits(s);
        if (n == 0)
            return false;
        (void)span_take(&s, n);
    }
    if (s.n > 0 && (s.p[0] == 'e' || s.p[0] == 'E')) {
        (void)span_take(&s, 1);
        if (s.n > 0 && (s.p[0] == '+' || s.p[0] == '-'))
            (void)span_take(&s, 1);
        n = count_digits(s);
        if (n == 0)
            return false;
        (void)span_take(&s, n);
    }
    return s.n == 0;
}

int num_parse_double(struct span s, double *ret)
{
    char text[DOUBLE_TEXT_MAX + 1];
    if (!is_decimal(s))
        return -EINVAL;
    if (s.n > DOUBLE_TEXT_MAX)
        return -ERANGE;
    (void)span_copy(s, text, sizeof(text));
    double v = strtod_l(text, NULL, c_locale());
    if (!isfinite(v))
        return -ERANGE;
    *ret = v;
    return 0;
}

struct unit {
    struct span name;
    int64_t factor;
};

/* The factor of the unit with this name, or 0. */
static int64_t unit_find(const struct unit *units, size_t n, struct span name)
{
    for (size_t i = 0; i < n; i++) {
        if (span_eq(units[i].name, name))
            return units[i].factor;
    }
    return 0;
}

static int parse_fraction(struct span digits, int64_t unit_ns, int64_t *ret_ns)
{
    int64_t ns = 0;
    for (size_t i = 0; i < digits.n; i++) {
        int64_t digit = digits.p[i] - '0';
        /* Finer than a nanosecond: not representable, unless it is a zero. */
        if (digit != 0 && unit_ns % 10 != 0)
            return -ERANGE;
        unit_ns /= 10;
        ns += digit * unit_ns;
    }
    *ret_ns = ns;
    return 0;
}

int num_parse_duration(struct span s, int64_t *ret_ns)
{
    static const struct unit units[] = {
        {SPAN_INIT("us"), NS_PER_US},      {SPAN_INIT("ms"), NS_PER_MS},
        {SPAN_INIT("s"), NS_PER_S},        {SPAN_INIT("m"), 60 * NS_PER_S},
        {SPAN_INIT("h"), 3600 * NS_PER_S}, {SPAN_INIT("d"), 86400 * NS_PER_S},
    };
    if (span_eq(s, SPAN("0"))) {
        *ret_ns = 0;
        return 0;
    }
    struct span whole = span_take(&s, count_digits(s));
    struct span fraction = {0};
    if (span_starts_with(s, SPAN("."))) {
        (void)span_take(&s, 1);
        fraction = span_take(&s, count_digits(s));
        if (fraction.n == 0)
            return -EINVAL;
    }
    int64_t unit_ns = unit_find(units, ARRAY_LEN(units), s);
    if (unit_ns == 0)
        return -EINVAL;

    int64_t n;
    int64_t fraction_ns;
    int r = num_parse_i64(whole, &n);
    if (r < 0)
        return r;
    r = parse_fraction(fraction, unit_ns, &fraction_ns);
    if (r < 0)
        return r;
    if (__builtin_mul_overflow(n, unit_ns, &n) || __builtin_add_overflow(n, fraction_ns, &n))
        return -ERANGE;
    *ret_ns = n;
    return 0;
}

int num_parse_bytes(struct span s, uint64_t *ret_bytes)
{
    static const struct unit units[] = {
        {SPAN_INIT(""), 1},
        {SPAN_INIT("KiB"), INT64_C(1) << 10},
        {SPAN_INIT("MiB"), INT64_C(1) << 20},
        {SPAN_INIT("GiB"), INT64_C(1) << 30},
        {SPAN_INIT("KB"), 1000},
        {SPAN_INIT("MB"), INT64_C(1000000)},
        {SPAN_INIT("GB"), INT64_C(1000000000)},
    };
    struct span digits = span_take(&s, count_digits(s));
    int64_t factor = unit_find(units, ARRAY_LEN(units), s);
    if (factor == 0)
        return -EINVAL;
    uint64_t n;
    int r = num_parse_u64(digits, &n);
    if (r < 0)
        return r;
    if (__builtin_mul_overflow(n, (uint64_t)factor, &n))
        return -ERANGE;
    *ret_bytes = n;
    return 0;
}

static size_t copy_text(char *dst, const char *text)
{
    size_t n = strlen(text);
    memcpy(dst, text, n + 1);
    return n;
}

size_t num_format_double(double v, char *dst)
{
    enum { DIGITS_ALWAYS_KEPT = 15, DIGITS_ALWAYS_ENOUGH = 17 };
    if (isnan(v))
        return copy_text(dst, "NaN");
    if (isinf(v))
        return copy_text(dst, v > 0 ? "+Inf" : "-Inf");
    locale_t before = uselocale(c_locale());
    int n = 0;
    for (int digits = DIGITS_ALWAYS_KEPT; digits <= DIGITS_ALWAYS_ENOUGH; digits++) {
        n = snprintf(dst, DOUBLE_FORMAT_BYTES, "%.*g", digits, v);
        double back = strtod(dst, NULL);
        if (back == v)
            break;
    }
    uselocale(before);
    return (size_t)n;
}

size_t num_format_fraction(double v, char *dst)
{
    size_t n = num_format_double(v, dst);
    return isfinite(v) && !strpbrk(dst, ".e") ? n + copy_text(dst + n, ".0") : n;
}

const char num_digit_pairs[] = "00010203040506070809101112131415161718192021222324"
                               "25262728293031323334353637383940414243444546474849"
                               "50515253545556575859606162636465666768697071727374"
                               "75767778798081828384858687888990919293949596979899";

static size_t put_zeros(char *dst, int n)
{
    for (int i = 0; i < n; i++)
        dst[i] = '0';
    return n > 0 ? (size_t)n : 0;
}

/* "1.25", "e-07": digits and where their point is, as "0.000000125". */
static size_t put_shifted(struct span mantissa, int shift, char *dst)
{
    size_t n = 0, whole = span_find_char(mantissa, '.');
    int point = (int)whole + shift; /* digits in front of it */
    if (point <= 0) {
        n = copy_text(dst, "0.");
        n += put_zeros(dst + n, -point);
    }
    for (size_t i = 0, seen = 0; i < mantissa.n; i++) {
        if (mantissa.p[i] == '.')
            continue;
        if (point > 0 && seen == (size_t)point)
            dst[n++] = '.';
        dst[n++] = mantissa.p[i];
        seen++;
    }
    int n_digits = (int)mantissa.n - (whole < mantissa.n ? 1 : 0);
    return n + put_zeros(dst + n, point - n_digits);
}

size_t num_format_plain(double v, char dst[NUM_PLAIN_BYTES])
{
    char text[DOUBLE_FORMAT_BYTES];
    struct span s = span_of(text, num_format_double(v, text));
    size_t n = 0, mantissa = span_find_char(s, 'e');
    uint64_t shift = 0;
    bool has_exponent = isfinite(v) && num_parse_u64(span_from(s, mantissa + 2), &shift) == 0;
    if (!has_exponent) {
        memcpy(dst, s.p, s.n);
        return s.n;
    }
    struct span digits = span_of(s.p, mantissa);
    if (s.p[0] == '-') {
        dst[n++] = '-';
        digits = span_from(digits, 1);
    }
    return n + put_shifted(digits, s.p[mantissa + 1] == '-' ? -(int)shift : (int)shift, dst + n);
}

#define E9 UINT64_C(1000000000)

/* Decimal digits of v > 0. Its bits times 1233 / 4096, about log10(2), are that or one less; the
 * powers of ten tell which. */
static size_t count_decimals(uint64_t v)
{
    static const uint64_t powers[] = {
        1,         10,           100,         1000,         10000,         100000,
        1000000,   10000000,     100000000,   E9,           10 * E9,       100 * E9,
        1000 * E9, 10000 * E9,   100000 * E9, 1000000 * E9, 10000000 * E9, 100000000 * E9,
        E9 * E9,   10 * E9 * E9,
    };
    size_t bits = 64 - (size_t)__builtin_clzll(v);
    size_t n = bits * 1233 >> 12;
    return n + (v >= powers[n]);
}

size_t num_format_long_u64(uint64_t v, char *dst)
{
    size_t n = count_decimals(v);
    size_t at = n;
    for (; v >= 100; v /= 100) {
        at -= 2;
        memcpy(dst + at, num_digit_pairs + 2 * (v % 100), 2);
    }
    if (v >= 10)
        memcpy(dst, num_digit_pairs + 2 * v, 2);
    else
        dst[0] = (char)('0' + v);
    return n;
}

size_t num_format_i64(int64_t v, char *dst)
{
    if (v >= 0)
        return num_format_u64((uint64_t)v, dst);
    dst[0] = '-';
    return 1 + num_format_u64(-(uint64_t)v, dst + 1); /* unsigned: INT64_MIN negates too */
}

size_t num_format_decimal(double v, int decimals, char *dst)
{
    static const uint64_t scales[] = {1,      10,      100,      1000,      10000,
                                      100000, 1000000, 10000000, 100000000, 1000000000};
    if (!(v >= 0 && v <= 1e9)) /* NaN is neither */
        return num_format_double(v, dst);
    uint64_t scale = scales[decimals];
    uint64_t scaled = (uint64_t)(v * (double)scale + 0.5);
    size_t n = num_format_u64(scaled / scale, dst);
    if (scaled % scale == 0)
        return n;
    dst[n++] = '.';
    num_format_padded(scaled % scale, decimals, dst + n);
    n += (size_t)decimals;
    while (dst[n - 1] == '0')
        n--;
    return n;
}
