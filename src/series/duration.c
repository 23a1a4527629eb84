/* SPDX-License-Identifier: Apache-2.0 */
/*
 * series/duration.c - durations as text and as numbers.
 */
#include "series/duration.h"

#include <errno.h>

#include "base/attr.h"
#include "base/num.h"

/* From the largest to the smallest; years and weeks are only written when nothing is left. */
static const struct unit {
    const char *text;
    int64_t ms;
    bool is_written_alone;
} units[] = {
    {"y", INT64_C(365) * 86400000, true},
    {"w", INT64_C(7) * 86400000, true},
    {"d", 86400000, false},
    {"h", 3600000, false},
    {"m", 60000, false},
    {"s", 1000, false},
    {"ms", 1, false},
};

/* Takes the bytes that are digits (or are none) off *s. */
static struct span take_run(struct span *s, bool are_digits)
{
    size_t n = 0;
    while (n < s->n && (s->p[n] >= '0' && s->p[n] <= '9') == are_digits)
        n++;
    return span_take(s, n);
}

/* Index of a unit from *from on; ARRAY_LEN(units): there is none. */
static size_t find_unit(struct span text, size_t from)
{
    while (from < ARRAY_LEN(units) && !span_eq(span_cstr(units[from].text), text))
        from++;
    return from;
}

struct span duration_unknown_unit(struct span s)
{
    while (s.n > 0) {
        (void)take_run(&s, true);
        struct span unit = take_run(&s, false);
        if (find_unit(unit, 0) == ARRAY_LEN(units))
            return unit;
    }
    return s;
}

/* Takes "12h" off *s; its unit stands behind all before it, *at is moved behind it. */
static int take_part(struct span *s, size_t *at, int64_t *total)
{
    uint64_t v;
    int r = num_parse_u64(take_run(s, true), &v);
    if (r < 0)
        return r;
    *at = find_unit(take_run(s, false), *at);
    if (*at == ARRAY_LEN(units))
        return -EINVAL;
    int64_t ms = units[(*at)++].ms;
    /* Nanoseconds fit into 64 bits, as in Prometheus. */
    if (v > (uint64_t)(INT64_MAX / 1000000 / ms))
        return -ERANGE;
    *total += (int64_t)v * ms;
    return *total > INT64_MAX / 1000000 ? -ERANGE : 0;
}

int duration_parse(struct span s, int64_t *ret_ms)
{
    int64_t total = 0;
    size_t at = 0;
    if (s.n == 0)
        return -EINVAL;
    while (s.n > 0) {
        int r = take_part(&s, &at, &total);
        if (r < 0)
            return r;
    }
    *ret_ms = total;
    return 0;
}

int duration_print(int64_t ms, struct buf *out)
{
    int r = ms < 0 ? buf_append(out, SPAN("-")) : 0;
    uint64_t left = ms < 0 ? 0 - (uint64_t)ms : (uint64_t)ms;
    if (left == 0)
        return buf_append(out, SPAN("0s"));
    for (size_t i = 0; i < ARRAY_LEN(units) && r == 0; i++) {
        uint64_t unit = (uint64_t)units[i].ms;
        uint64_t n = left / unit, rest = left % unit;
        if (n == 0 || (units[i].is_written_alone && rest != 0))
            continue;
        r = buf_printf(out, "%llu%s", (unsigned long long)n, units[i].text);
        left = rest;
    }
    return r;
}
