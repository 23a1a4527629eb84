/* SPDX-License-Identifier: Apache-2.0 */
/*
 * template/datetime.c - durations as text; what can be asked of moments and durations.
 */
#include "template/datetime.h"

#include <errno.h>
#include <time.h>

#include "base/clock.h"
#include "base/num.h"

/* v in units of `unit` ns, with as many digits behind the point as there are. */
static int put_fraction(uint64_t v, uint64_t unit, const char *name, struct buf *out)
{
    char text[32];
    size_t n = num_format_u64(v / unit, text);
    uint64_t rest = v % unit;
    int width = unit == NS_PER_S ? 9 : unit == NS_PER_MS ? 6 : unit == NS_PER_US ? 3 : 0;
    if (rest > 0) {
        text[n++] = '.';
        num_format_padded(rest, width, text + n);
        n += (size_t)width;
        while (text[n - 1] == '0')
            n--;
    }
    return buf_printf(out, "%.*s%s", (int)n, text, name);
}

int datetime_print_duration(int64_t ns, struct buf *out)
{
    uint64_t v = ns < 0 ? 0 - (uint64_t)ns : (uint64_t)ns;
    uint64_t hours = v / NS_PER_S / 3600, minutes = v / NS_PER_S / 60 % 60;
    int r = ns < 0 ? buf_append(out, SPAN("-")) : 0;
    if (v == 0)
        return buf_append(out, SPAN("0s"));
    if (r == 0 && v < NS_PER_US)
        return put_fraction(v, 1, "ns", out);
    if (r == 0 && v < NS_PER_MS)
        return put_fraction(v, NS_PER_US, "\xc2\xb5s", out);
    if (r == 0 && v < NS_PER_S)
        return put_fraction(v, NS_PER_MS, "ms", out);
    if (r == 0 && hours > 0)
        r = buf_printf(out, "%lluh", (unsigned long long)hours);
    if (r == 0 && (hours > 0 || minutes > 0))
        r = buf_printf(out, "%llum", (unsigned long long)minutes);
    return r == 0 ? put_fraction(v % (60 * NS_PER_S), NS_PER_S, "s", out) : r;
}

/* param: what sets methods of one function apart. */
typedef int (*method_fn)(struct builtin_call *c, int64_t ns, int64_t param,
                         const struct tvalue *arg, struct tvalue *ret);

enum { YEAR, YEAR_DAY, DAY, HOUR, MINUTE, SECOND };

static int time_field(struct builtin_call *c, int64_t ns, int64_t param, const struct tvalue *arg,
                      struct tvalue *ret)
{
    time_t t = num_floor_div(ns, NS_PER_S);
    struct tm tm = {.tm_mday = 1};
    (void)c, (void)arg;
    (void)gmtime_r(&t, &tm);
    const int fields[] = {
        [YEAR] = tm.tm_year + 1900, [YEAR_DAY] = tm.tm_yday + 1, [DAY] = tm.tm_mday,
        [HOUR] = tm.tm_hour,        [MINUTE] = tm.tm_min,        [SECOND] = tm.tm_sec,
    };
    *ret = tvalue_int(fields[param]);
    return 0;
}

static int time_unix(struct builtin_call *c, int64_t ns, int64_t param, const struct tvalue *arg,
                     struct tvalue *ret)
{
    (void)c, (void)arg;
    *ret = tvalue_int(num_floor_div(ns, param));
    return 0;
}

static int time_nanosecond(struct builtin_call *c, int64_t ns, int64_t param,
                           const struct tvalue *arg, struct tvalue *ret)
{
    (void)c, (void)param, (void)arg;
    *ret = tvalue_int(num_floor_mod(ns, NS_PER_S));
    return 0;
}

static int time_utc(struct builtin_call *c, int64_t ns, int64_t param, const struct tvalue *arg,
                    struct tvalue *ret)
{
    (void)c, (void)param, (void)arg;
    *ret = (struct tvalue){.kind = TVALUE_TIME, .i = ns};
    return 0;
}

static int time_string(struct builtin_call *c, int64_t ns, int64_t param, const struct tvalue *arg,
                       struct tvalue *ret)
{
    (void)param, (void)arg;
    return builtin_text(c, datetime_print(ns, &c->scratch), ret);
}

static int time_format(struct builtin_call *c, int64_t ns, int64_t param, const struct tvalue *arg,
                       struct tvalue *ret)
{
    (void)param;
    return builtin_text(c, datetime_format(ns, arg->s, &c->scratch), ret);
}

static int time_add(struct builtin_call *c, int64_t ns, int64_t param, const struct tvalue *arg,
                    struct tvalue *ret)
{
    int64_t sum;
    (void)c, (void)param;
    if (__builtin_add_overflow(ns, arg->i, &sum))
        sum = ns < 0 ? INT64_MIN : INT64_MAX;
    *ret = (struct tvalue){.kind = TVALUE_TIME, .i = sum};
    return 0;
}

static int time_sub(struct builtin_call *c, int64_t ns, int64_t param, const struct tvalue *arg,
                    struct tvalue *ret)
{
    int64_t d;
    (void)c, (void)param;
    if (__builtin_sub_overflow(ns, arg->i, &d))
        d = ns < 0 ? INT64_MIN : INT64_MAX;
    *ret = (struct tvalue){.kind = TVALUE_DURATION, .i = d};
    return 0;
}

/* param: -1 before, 0 at the same time, 1 after */
static int time_compare(struct builtin_call *c, int64_t ns, int64_t param, const struct tvalue *arg,
                        struct tvalue *ret)
{
    (void)c;
    *ret = tvalue_bool((ns > arg->i) - (ns < arg->i) == param);
    return 0;
}

static int duration_string(struct builtin_call *c, int64_t ns, int64_t param,
                           const struct tvalue *arg, struct tvalue *ret)
{
    (void)param, (void)arg;
    return builtin_text(c, datetime_print_duration(ns, &c->scratch), ret);
}

static int duration_float(struct builtin_call *c, int64_t ns, int64_t param,
                          const struct tvalue *arg, struct tvalue *ret)
{
    (void)c, (void)arg;
    int64_t whole = ns / param, rest = ns % param; /* apart, so that no digit is lost */
    *ret = tvalue_float((double)whole + (double)rest / (double)param);
    return 0;
}

static int duration_whole(struct builtin_call *c, int64_t ns, int64_t param,
                          const struct tvalue *arg, struct tvalue *ret)
{
    (void)c, (void)arg;
    *ret = tvalue_int(ns / param);
    return 0;
}

static const struct method {
    const char *name;
    enum tvalue_kind of, takes; /* TVALUE_NONE: nothing */
    method_fn call;
    int64_t param;
} methods[] = {
    {"Format", TVALUE_TIME, TVALUE_STRING, time_format, 0},
    {"String", TVALUE_TIME, TVALUE_NONE, time_string, 0},
    {"UTC", TVALUE_TIME, TVALUE_NONE, time_utc, 0},
    {"Unix", TVALUE_TIME, TVALUE_NONE, time_unix, NS_PER_S},
    {"UnixMilli", TVALUE_TIME, TVALUE_NONE, time_unix, NS_PER_MS},
    {"UnixMicro", TVALUE_TIME, TVALUE_NONE, time_unix, NS_PER_US},
    {"UnixNano", TVALUE_TIME, TVALUE_NONE, time_unix, 1},
    {"Year", TVALUE_TIME, TVALUE_NONE, time_field, YEAR},
    {"YearDay", TVALUE_TIME, TVALUE_NONE, time_field, YEAR_DAY},
    {"Day", TVALUE_TIME, TVALUE_NONE, time_field, DAY},
    {"Hour", TVALUE_TIME, TVALUE_NONE, time_field, HOUR},
    {"Minute", TVALUE_TIME, TVALUE_NONE, time_field, MINUTE},
    {"Second", TVALUE_TIME, TVALUE_NONE, time_field, SECOND},
    {"Nanosecond", TVALUE_TIME, TVALUE_NONE, time_nanosecond, 0},
    {"Add", TVALUE_TIME, TVALUE_DURATION, time_add, 0},
    {"Sub", TVALUE_TIME, TVALUE_TIME, time_sub, 0},
    {"Before", TVALUE_TIME, TVALUE_TIME, time_compare, -1},
    {"Equal", TVALUE_TIME, TVALUE_TIME, time_compare, 0},
    {"After", TVALUE_TIME, TVALUE_TIME, time_compare, 1},
    {"String", TVALUE_DURATION, TVALUE_NONE, duration_string, 0},
    {"Hours", TVALUE_DURATION, TVALUE_NONE, duration_float, 3600 * NS_PER_S},
    {"Minutes", TVALUE_DURATION, TVALUE_NONE, duration_float, 60 * NS_PER_S},
    {"Seconds", TVALUE_DURATION, TVALUE_NONE, duration_float, NS_PER_S},
    {"Milliseconds", TVALUE_DURATION, TVALUE_NONE, duration_whole, NS_PER_MS},
    {"Microseconds", TVALUE_DURATION, TVALUE_NONE, duration_whole, NS_PER_US},
    {"Nanoseconds", TVALUE_DURATION, TVALUE_NONE, duration_whole, 1},
};

int datetime_method(struct builtin_call *c, const struct tvalue *v, struct span name,
                    const struct tvalue *args, size_t n, struct tvalue *ret)
{
    const struct method *m = NULL;
    for (size_t i = 0; i < ARRAY_LEN(methods) && !m; i++)
        if (methods[i].of == v->kind && span_eq(name, span_cstr(methods[i].name)))
            m = &methods[i];
    if (!m)
        return -ENOENT;
    size_t want = m->takes == TVALUE_NONE ? 0 : 1;
    if (n != want)
        return builtin_fail(c, "wrong number of args for %s: want %zu got %zu", m->name, want, n);
    if (want > 0 && args[0].kind != m->takes)
        return builtin_fail(c, "wrong type for value; expected %s; got %s", tvalue_type(m->takes),
                            tvalue_type(args[0].kind));
    builtin_enter(c);
    return builtin_leave(c, m->name, m->call(c, v->i, m->param, args, ret));
}
