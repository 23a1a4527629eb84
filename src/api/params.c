/* SPDX-License-Identifier: Apache-2.0 */
/*
 * api/params.c - parameters of a query string and of a form.
 */
#include "api/params.h"

#include <errno.h>
#include <math.h>

#include "base/num.h"
#include "base/timestamp.h"
#include "base/utf8.h"
#include "promql/parse.h"

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    char lower = (char)(c | 0x20);
    return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

int params_decode(struct arena *a, struct span s, bool is_form, struct span *ret)
{
    char *p = arena_alloc(a, s.n + 1);
    size_t n = 0;
    if (!p)
        return -ENOMEM;
    for (size_t i = 0; i < s.n; i++) {
        char c = s.p[i];
        if (c == '%') {
            int high = i + 2 < s.n ? hex_digit(s.p[i + 1]) : -1;
            int low = high >= 0 ? hex_digit(s.p[i + 2]) : -1;
            if (low < 0)
                return -EINVAL;
            c = (char)(high << 4 | low);
            i += 2;
        } else if (c == '+' && is_form) {
            c = ' ';
        }
        p[n++] = c;
    }
    *ret = span_of(p, n);
    return 0;
}

static size_t count(struct span s)
{
    size_t n = s.n > 0;
    for (size_t i = 0; i < s.n; i++)
        n += s.p[i] == '&';
    return n;
}

static int add(struct arena *a, struct span s, struct param *at, size_t *n)
{
    while (s.n > 0) {
        struct span value = span_split(&s, '&');
        struct span name = span_split(&value, '=');
        if (name.n == 0 && value.n == 0)
            continue;
        int r = params_decode(a, name, true, &at[*n].name);
        if (r == 0)
            r = params_decode(a, value, true, &at[*n].value);
        if (r < 0)
            return r;
        (*n)++;
    }
    return 0;
}

int params_parse(struct arena *a, struct span query, struct span form, struct params *ret)
{
    size_t max = count(query) + count(form), n = 0;
    if (max > PARAMS_MAX)
        return -E2BIG;
    struct param *at = arena_zalloc(a, max ? max : 1, sizeof(*at));
    if (!at)
        return -ENOMEM;
    int r = add(a, form, at, &n);
    if (r == 0)
        r = add(a, query, at, &n);
    if (r == 0)
        *ret = (struct params){at, n};
    return r;
}

struct span params_get(const struct params *p, struct span name)
{
    for (size_t i = 0; i < p->n; i++) {
        if (span_eq(p->at[i].name, name))
            return p->at[i].value;
    }
    return (struct span){0};
}

static int64_t clamp_ms(double seconds)
{
    double ms = round(seconds * 1000);
    if (ms <= (double)PARAMS_TIME_MIN)
        return PARAMS_TIME_MIN;
    return ms >= (double)PARAMS_TIME_MAX ? PARAMS_TIME_MAX : (int64_t)ms;
}

int params_time(struct span s, int64_t *ret_ms)
{
    double seconds;
    wall_t wall;
    if (num_parse_double(s, &seconds) == 0) {
        *ret_ms = clamp_ms(seconds);
        return 0;
    }
    /* How Go's clients write the ends of time. */
    if (span_starts_with(s, SPAN("-292273086-"))) {
        *ret_ms = PARAMS_TIME_MIN;
        return 0;
    }
    if (span_starts_with(s, SPAN("292277025-"))) {
        *ret_ms = PARAMS_TIME_MAX;
        return 0;
    }
    if (timestamp_parse(s, &wall) < 0)
        return -EINVAL;
    *ret_ms = wall.us / 1000;
    return 0;
}

int params_duration(struct span s, int64_t *ret_ms)
{
    return promql_parse_duration(s, ret_ms);
}

/* Takes "_2e_" off *s, the first underscore already taken. */
static bool take_rune(struct span *s, uint32_t *ret)
{
    enum { DIGITS_MAX = 6, RUNE_MAX = 0x10ffff };
    uint64_t v;
    size_t n = span_find_char(*s, '_');
    if (n == s->n || n > DIGITS_MAX || num_parse_hex(span_take(s, n), &v) < 0 || v > RUNE_MAX)
        return false;
    (void)span_take(s, 1);
    *ret = (uint32_t)v;
    return true;
}

int params_unescape_name(struct arena *a, struct span name, struct span *ret)
{
    struct span s = name;
    *ret = name;
    if (!span_starts_with(s, SPAN("U__")))
        return 0;
    (void)span_take(&s, 3);
    char *p = arena_alloc(a, name.n + 1);
    size_t n = 0;
    if (!p)
        return -ENOMEM;
    while (s.n > 0) {
        char c = span_take(&s, 1).p[0];
        uint32_t rune;
        if (c != '_') {
            p[n++] = c;
        } else if (s.n > 0 && s.p[0] == '_') {
            p[n++] = '_';
            (void)span_take(&s, 1);
        } else if (take_rune(&s, &rune)) {
            n += utf8_put(rune, p + n);
        } else {
            return 0;
        }
    }
    *ret = span_of(p, n);
    return 0;
}
