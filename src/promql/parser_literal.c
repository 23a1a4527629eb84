/* SPDX-License-Identifier: Apache-2.0 */
/*
 * promql/parser_literal.c - what the tokens of numbers, durations and strings are worth.
 */
#include <errno.h>
#include <math.h>

#include "base/num.h"
#include "promql/parser.h"
#include "promql/quote.h"
#include "series/duration.h"

enum { NUMBER_MAX = 512 }; /* digits of a number that is read */

/* Digits in a base; larger than an int64_t: false. */
static bool integer(struct span s, unsigned base, double *ret)
{
    uint64_t v = 0;
    if (s.n == 0)
        return false;
    for (size_t i = 0; i < s.n; i++) {
        char c = s.p[i];
        unsigned d = c <= '9' ? (unsigned)(c - '0') : (unsigned)((c | 0x20) - 'a' + 10);
        if (c < '0' || d >= base || v > (uint64_t)INT64_MAX / base)
            return false;
        v = v * base + d;
        if (v > (uint64_t)INT64_MAX)
            return false;
    }
    *ret = (double)v;
    return true;
}

static bool is_digit_at(struct span s, size_t i)
{
    return i < s.n && s.p[i] >= '0' && s.p[i] <= '9';
}

/* As num_parse_double takes it: without underscores, with digits on both sides of the point. */
static bool tidy(struct span s, char dst[NUMBER_MAX + 2], size_t *ret_n)
{
    size_t n = 0;
    for (size_t i = 0; i < s.n; i++) {
        if (n >= NUMBER_MAX)
            return false;
        bool is_point = s.p[i] == '.';
        if (is_point && i == 0)
            dst[n++] = '0';
        if (s.p[i] != '_')
            dst[n++] = s.p[i];
        if (is_point && !is_digit_at(s, i + 1))
            dst[n++] = '0';
    }
    *ret_n = n;
    return true;
}

static int plain_number(struct span s, double *ret)
{
    if (span_eq_nocase(s, SPAN("inf"))) {
        *ret = (double)INFINITY;
        return 0;
    }
    if (span_eq_nocase(s, SPAN("nan"))) {
        *ret = (double)NAN;
        return 0;
    }
    char text[NUMBER_MAX + 2];
    size_t n;
    if (!tidy(s, text, &n))
        return -EINVAL;
    struct span digits = span_of(text, n);
    if (n > 2 && text[0] == '0' && (text[1] == 'x' || text[1] == 'X'))
        return integer(span_from(digits, 2), 16, ret) ? 0 : -ERANGE;
    if (n > 1 && text[0] == '0' && integer(span_from(digits, 1), 8, ret))
        return 0;
    return num_parse_double(digits, ret);
}

static double duration_token(struct parser *p, const struct token *t, const char *quoted)
{
    int64_t ms = 0;
    int r = promql_parse_duration(t->text, &ms);
    struct span unit = r == -EINVAL ? duration_unknown_unit(t->text) : SPAN("");
    if (r == -ERANGE)
        parser_fail(p, t->from, token_end(t), "duration out of range");
    else if (unit.n > 0)
        parser_fail(p, t->from, token_end(t), "unknown unit \"%.*s\" in duration %s",
                    SPAN_ARG(unit), quoted);
    else if (r < 0)
        parser_fail(p, t->from, token_end(t), "not a valid duration string: %s", quoted);
    return r < 0 ? 0 : (double)ms / 1000;
}

double parser_number(struct parser *p, const struct token *t)
{
    double v = 0;
    char quoted[NUMBER_MAX];
    quote_copy(t->text, 0, quoted, sizeof(quoted));
    if (t->kind == TOKEN_DURATION)
        return duration_token(p, t, quoted);
    int r = plain_number(t->text, &v);
    if (r < 0)
        parser_fail(p, t->from, token_end(t), "error parsing number: %s is %s", quoted,
                    r == -ERANGE ? "out of range" : "not a number");
    return v;
}

struct span parser_string(struct parser *p, const struct token *t)
{
    struct span s = {0};
    if (quote_read(t->text, p->arena, &s) < 0)
        parser_fail_code(p, -ENOMEM);
    return s;
}
