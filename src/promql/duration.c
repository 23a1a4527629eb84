/* SPDX-License-Identifier: Apache-2.0 */
/*
 * promql/duration.c - durations as text and as numbers.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>

#include "base/num.h"
#include "promql/parser.h"

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

int promql_parse_duration(struct span s, int64_t *ret_ms)
{
    double seconds;
    if (num_parse_double(s, &seconds) == 0) {
        double ms = round(seconds * 1000);
        if (fabs(ms) > (double)(INT64_MAX / 1000000))
            return -ERANGE;
        *ret_ms = (int64_t)ms;
        return 0;
    }
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

int promql_print_duration(int64_t ms, struct buf *out)
{
    int r = ms < 0 ? buf_append(out, SPAN("-")) : 0;
    uint64_t left = ms < 0 ? 0 - (uint64_t)ms : (uint64_t)ms;
    if (left == 0)
        return buf_append(out, SPAN("0s"));
    for (size_t i = 0; i < ARRAY_LEN(units) && r == 0; i++) {
        uint64_t unit = (uint64_t)units[i].ms;
        if (left < unit || (units[i].is_written_alone && left % unit != 0))
            continue;
        r = buf_printf(out, "%llu%s", (unsigned long long)(left / unit), units[i].text);
        left %= unit;
    }
    return r;
}

static int fail(const struct duration *d, const char *text, struct promql_error *reterr)
{
    if (reterr) {
        /* Prometheus tells the range in bytes here, not line and column. */
        *reterr = (struct promql_error){.at = d->from, .to = d->to};
        (void)snprintf(reterr->text, sizeof(reterr->text), "%zu:%zu: %s", d->from, d->to, text);
    }
    return -EINVAL;
}

static double combine(enum duration_op op, double left, double right)
{
    switch (op) {
    case DUR_ADD:
        return left + right;
    case DUR_SUB:
        return left - right;
    case DUR_MUL:
        return left * right;
    case DUR_DIV:
        return left / right;
    case DUR_MOD:
        return fmod(left, right);
    case DUR_POW:
        return pow(left, right);
    case DUR_NEGATE:
        return -right;
    case DUR_MIN_OF:
        return isnan(left) || isnan(right) ? (double)NAN : fmin(left, right);
    default:
        return isnan(left) || isnan(right) ? (double)NAN : fmax(left, right);
    }
}

static int seconds_of(const struct duration *d, double step, double range, double *ret,
                      struct promql_error *reterr)
{
    double left = 0, right = 0;
    if (d->op == DUR_NUMBER || d->op == DUR_STEP || d->op == DUR_RANGE) {
        *ret = d->op == DUR_NUMBER ? d->seconds : d->op == DUR_STEP ? step : range;
        return 0;
    }
    int r = d->left ? seconds_of(d->left, step, range, &left, reterr) : 0;
    if (r == 0)
        r = seconds_of(d->right, step, range, &right, reterr);
    if (r < 0)
        return r;
    if (right == 0 && (d->op == DUR_DIV || d->op == DUR_MOD))
        return fail(d, d->op == DUR_DIV ? "division by zero" : "modulo by zero", reterr);
    *ret = combine(d->op, left, right);
    return 0;
}

int promql_duration_ms(const struct duration *d, int64_t step_ms, int64_t range_ms,
                       bool may_be_negative, int64_t *ret_ms, struct promql_error *reterr)
{
    static const double limit = 9223372036.854775808; /* nanoseconds in 64 bits */
    double s;
    int r = seconds_of(d, (double)step_ms / 1000, (double)range_ms / 1000, &s, reterr);
    if (r < 0)
        return r;
    if (!isfinite(s))
        return fail(d, "duration is NaN or infinite", reterr);
    if (s <= 0 && !may_be_negative)
        return fail(d, "duration must be greater than 0", reterr);
    if (s > limit || s < -limit)
        return fail(d, "duration is out of range", reterr);
    bool is_literal = d->op == DUR_NUMBER && !d->is_wrapped;
    /* A number is rounded to ns and cut to ms; what was calculated is cut to ms. */
    *ret_ms = is_literal ? (int64_t)round(s * 1e9) / 1000000 : (int64_t)(s * 1000);
    return 0;
}
