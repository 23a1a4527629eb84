/* SPDX-License-Identifier: Apache-2.0 */
/*
 * promql/duration.c - what durations of a query are worth.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>

#include "base/num.h"
#include "promql/parser.h"
#include "series/duration.h"

int promql_parse_duration(struct span text, int64_t *ret_ms)
{
    double seconds;
    if (num_parse_double(text, &seconds) != 0)
        return duration_parse(text, ret_ms);
    double ms = round(seconds * 1000);
    if (fabs(ms) > (double)(INT64_MAX / 1000000))
        return -ERANGE;
    *ret_ms = (int64_t)ms;
    return 0;
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
