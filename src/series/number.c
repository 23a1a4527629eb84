/* SPDX-License-Identifier: Apache-2.0 */
/*
 * series/number.c - values as text.
 */
#include "series/number.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>

#include "base/num.h"

/* ".5" and "5.": the point's other side is written out. */
static int parse_decimal(struct span s, double *ret)
{
    char text[512];
    size_t point = span_find_char(s, '.');
    bool has_digit_behind = point + 1 < s.n && s.p[point + 1] >= '0' && s.p[point + 1] <= '9';

    if (point == s.n || (point > 0 && has_digit_behind))
        return num_parse_double(s, ret);
    if (s.n + 2 > sizeof(text) || (point == 0 && !has_digit_behind))
        return -EINVAL;
    int n = snprintf(text, sizeof(text), "%s%.*s.%s%.*s", point == 0 ? "0" : "", (int)point, s.p,
                     has_digit_behind ? "" : "0", SPAN_ARG(span_from(s, point + 1)));
    return num_parse_double(span_of(text, (size_t)n), ret);
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
