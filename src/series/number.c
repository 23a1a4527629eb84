/* SPDX-License-Identifier: Apache-2.0 */
/*
 * series/number.c - values as text.
 */
#include "series/number.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/num.h"

/* ".5" and "5.": the point's other side is written out. */
static int parse_decimal(struct span s, double *ret)
{
    char text[512];
    size_t n = span_find_char(s, '.');
    bool has_digit_behind = n + 1 < s.n && s.p[n + 1] >= '0' && s.p[n + 1] <= '9';

    if (n == s.n || (n > 0 && has_digit_behind))
        return num_parse_double(s, ret);
    if (s.n + 1 > sizeof(text) || (n == 0 && !has_digit_behind))
        return -EINVAL;
    size_t at = n == 0 ? 0 : n + 1; /* of the zero that is missing */
    memcpy(text, s.p, at);
    text[at] = '0';
    memcpy(text + at + 1, s.p + at, s.n - at);
    return num_parse_double(span_of(text, s.n + 1), ret);
}

static int parse_unsigned(struct span s, double *ret)
{
    uint64_t n;

    if (span_eq_nocase(s, SPAN("inf")) || span_eq_nocase(s, SPAN("infinity"))) {
        *ret = HUGE_VAL;
        return 0;
    }
    if (span_eq_nocase(s, SPAN("nan"))) {
        *ret = (double)NAN;
        return 0;
    }
    if (s.n > 2 && s.p[0] == '0' && (s.p[1] == 'x' || s.p[1] == 'X')) {
        int r = num_parse_hex(span_from(s, 2), &n);
        if (r == 0)
            *ret = (double)n;
        return r;
    }
    return parse_decimal(s, ret);
}

int number_parse(struct span s, double *ret)
{
    bool is_negative = s.n > 0 && s.p[0] == '-';
    double v;

    if (is_negative || (s.n > 0 && s.p[0] == '+'))
        (void)span_take(&s, 1);
    if (s.n == 0 || s.p[0] == '-' || s.p[0] == '+')
        return -EINVAL;
    int r = parse_unsigned(s, &v);
    if (r == 0)
        *ret = is_negative ? -v : v;
    return r;
}

int number_print(double v, struct buf *out)
{
    char text[32];
    return buf_append(out, span_of(text, num_format_double(v, text)));
}

enum {
    SHORTEST_BYTES = 32,
    DIGITS_ENOUGH = 16, /* behind the first one: every double reads back */
    EXPONENT_MIN = -4,
    EXPONENT_END = 6,
};

int number_print_g(double v, struct buf *out)
{
    char text[SHORTEST_BYTES];
    int digits = -1, exponent = 0;
    double magnitude = fabs(v);

    if (!isfinite(v) || v == 0)
        return signbit(v) && v == 0 ? buf_append(out, SPAN("-0")) : number_print(v, out);
    do
        (void)snprintf(text, sizeof(text), "%.*e", ++digits, magnitude);
    while (digits < DIGITS_ENOUGH && strtod(text, NULL) != magnitude);
    for (const char *p = strchr(text, 'e') + 2; *p; p++)
        exponent = 10 * exponent + (*p - '0');
    if (strchr(text, 'e')[1] == '-')
        exponent = -exponent;
    if (exponent < EXPONENT_MIN || exponent >= EXPONENT_END)
        return buf_printf(out, "%s%s", signbit(v) ? "-" : "", text);
    return buf_printf(out, "%.*f", digits > exponent ? digits - exponent : 0, v);
}
