/* SPDX-License-Identifier: Apache-2.0 */
/*
 * template/builtin_number.c - numbers for people: humanize and its kin; moments and durations.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>

#include "series/duration.h"
#include "template/builtin.h"
#include "template/datetime.h"
#include "template/verb.h"

/* The first number that int64_t has no room for. */
#define INT64_END 9223372036854775808.0

static const struct verb four_digits = {.rune = 'g', .width = -1, .precision = 4};

/* v with four digits, then its unit. */
static int put(struct builtin_call *c, double v, const char *unit, struct tvalue *ret)
{
    struct tvalue number = tvalue_float(v);
    int r = verb_value(&four_digits, &number, &c->scratch);
    if (r == 0 && unit[0] != '\0')
        r = buf_append(&c->scratch, span_cstr(unit));
    return builtin_text(c, r, ret);
}

/* Divides v while it is base or more. */
static const char *scale_up(double *v, double base, const char *const *prefixes)
{
    const char *prefix = "";
    for (size_t i = 0; prefixes[i] && fabs(*v) >= base; i++) {
        prefix = prefixes[i];
        *v /= base;
    }
    return prefix;
}

static const char *scale_down(double *v)
{
    static const char *const prefixes[] = {"m", "u", "n", "p", "f", "a", "z", "y"};
    const char *prefix = "";
    for (size_t i = 0; i < ARRAY_LEN(prefixes) && fabs(*v) < 1; i++) {
        prefix = prefixes[i];
        *v *= 1000;
    }
    return prefix;
}

static int call_humanize(struct builtin_call *c, const struct tvalue *args, size_t n,
                         struct tvalue *ret)
{
    static const char *const prefixes[] = {"k", "M", "G", "T", "P", "E", "Z", "Y", NULL};
    double v = args[0].f;
    (void)n;
    if (v == 0 || !isfinite(v))
        return put(c, v, "", ret);
    const char *prefix = fabs(v) >= 1 ? scale_up(&v, 1000, prefixes) : scale_down(&v);
    return put(c, v, prefix, ret);
}

static int call_humanize1024(struct builtin_call *c, const struct tvalue *args, size_t n,
                             struct tvalue *ret)
{
    static const char *const prefixes[] = {"ki", "Mi", "Gi", "Ti", "Pi", "Ei", "Zi", "Yi", NULL};
    double v = args[0].f;
    (void)n;
    if (fabs(v) <= 1 || !isfinite(v))
        return put(c, v, "", ret);
    const char *prefix = scale_up(&v, 1024, prefixes);
    return put(c, v, prefix, ret);
}

/* From a minute on in whole seconds. */
static int put_long_duration(struct builtin_call *c, bool is_negative, int64_t s,
                             struct tvalue *ret)
{
    const char *sign = is_negative ? "-" : "";
    long long days = s / 86400, hours = s / 3600 % 24, minutes = s / 60 % 60, seconds = s % 60;
    int r;
    if (days != 0)
        r = buf_printf(&c->scratch, "%s%lldd %lldh %lldm %llds", sign, days, hours, minutes,
                       seconds);
    else if (hours != 0)
        r = buf_printf(&c->scratch, "%s%lldh %lldm %llds", sign, hours, minutes, seconds);
    else
        r = buf_printf(&c->scratch, "%s%lldm %llds", sign, minutes, seconds);
    return builtin_text(c, r, ret);
}

static int call_duration(struct builtin_call *c, const struct tvalue *args, size_t n,
                         struct tvalue *ret)
{
    double v = args[0].f;
    (void)n;
    if (!isfinite(v))
        return put(c, v, "", ret);
    if (fabs(v) >= 60) {
        /* What is too long for int64_t ends as it does in Go on 64 bits. */
        int64_t s = fabs(v) < INT64_END ? (int64_t)fabs(v) : INT64_MIN;
        return put_long_duration(c, v < 0, s, ret);
    }
    char unit[4];
    const char *prefix = v != 0 && fabs(v) < 1 ? scale_down(&v) : "";
    (void)snprintf(unit, sizeof(unit), "%ss", prefix);
    return put(c, v, unit, ret);
}

static int call_percentage(struct builtin_call *c, const struct tvalue *args, size_t n,
                           struct tvalue *ret)
{
    (void)n;
    return put(c, args[0].f * 100, "%", ret);
}

/* Seconds since the epoch to ns, in whole ms. */
static int to_moment(struct builtin_call *c, double v, int64_t *ret)
{
    double ns = v * 1e9;
    if (!isfinite(v))
        return builtin_fail(c, "value is NaN or Inf");
    if (ns >= INT64_END || ns < -INT64_END)
        return builtin_fail(c,
                            "%g cannot be represented as a nanoseconds timestamp since it "
                            "overflows int64",
                            v);
    *ret = (int64_t)ns / 1000000 * 1000000;
    return 0;
}

static int call_timestamp(struct builtin_call *c, const struct tvalue *args, size_t n,
                          struct tvalue *ret)
{
    int64_t ns = 0;
    (void)n;
    if (!isfinite(args[0].f))
        return put(c, args[0].f, "", ret);
    int r = to_moment(c, args[0].f, &ns);
    return r == 0 ? builtin_text(c, datetime_print(ns, &c->scratch), ret) : r;
}

static int call_to_time(struct builtin_call *c, const struct tvalue *args, size_t n,
                        struct tvalue *ret)
{
    int64_t ns = 0;
    int r = to_moment(c, args[0].f, &ns);
    (void)n;
    if (r == 0)
        *ret = (struct tvalue){.kind = TVALUE_TIME, .i = ns};
    return r;
}

static int call_to_duration(struct builtin_call *c, const struct tvalue *args, size_t n,
                            struct tvalue *ret)
{
    double v = args[0].f * 1e9;
    (void)c, (void)n;
    *ret =
        (struct tvalue){.kind = TVALUE_DURATION, .i = fabs(v) < INT64_END ? (int64_t)v : INT64_MIN};
    return 0;
}

static int call_now(struct builtin_call *c, const struct tvalue *args, size_t n, struct tvalue *ret)
{
    (void)args, (void)n;
    *ret = tvalue_float((double)c->env->now_ms / 1000);
    return 0;
}

static int call_parse_duration(struct builtin_call *c, const struct tvalue *args, size_t n,
                               struct tvalue *ret)
{
    struct span s = args[0].s;
    bool is_negative = s.n > 0 && s.p[0] == '-';
    int64_t ms = 0;
    (void)n;
    if (s.n == 0)
        return builtin_fail(c, "empty duration string");
    if (is_negative)
        (void)span_take(&s, 1);
    int r = span_eq(s, SPAN("0")) ? 0 : duration_parse(s, &ms);
    if (r == -ERANGE)
        return builtin_fail(c, "duration out of range");
    if (r != 0)
        return builtin_fail(c, "not a valid duration string: \"%.*s\"",
                            (int)(args[0].s.n > 100 ? 100 : args[0].s.n), args[0].s.p);
    *ret = tvalue_float((double)(is_negative ? -ms : ms) / 1000);
    return 0;
}

const struct builtin builtin_number_rows[] = {
    {.name = "humanize", .takes = "n", .call = call_humanize},
    {.name = "humanize1024", .takes = "n", .call = call_humanize1024},
    {.name = "humanizeDuration", .takes = "n", .call = call_duration},
    {.name = "humanizePercentage", .takes = "n", .call = call_percentage},
    {.name = "humanizeTimestamp", .takes = "n", .call = call_timestamp},
    {.name = "toTime", .takes = "n", .call = call_to_time},
    {.name = "toDuration", .takes = "n", .call = call_to_duration},
    {.name = "now", .takes = "", .call = call_now},
    {.name = "parseDuration", .takes = "s", .call = call_parse_duration},
    {.name = NULL},
};
