/* SPDX-License-Identifier: Apache-2.0 */
/*
 * base/zone.c - TZif files: a list of moments with the offset that holds from each on, and a rule
 * for what comes after the last.
 */
#include "base/zone.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/file.h"

enum {
    FILE_BYTES_MAX = 256 * 1024,
    HEADER_BYTES = 44,
    DAY_S = 86400,
    HOUR_S = 3600,
    OFFSET_MAX_S = 26 * HOUR_S,
};

/* A day of each year: Mm.w.d (the w-th weekday d of month m), Jn (from 1, no 29 February) or n. */
struct rule_day {
    enum { DAY_OF_WEEK, DAY_WITHOUT_LEAP, DAY_FROM_0 } kind;
    int month, week, day;
    int32_t at_s; /* wall time of that day */
};

struct rule {
    bool is_known, has_summer;
    int32_t offset_s, summer_s;
    struct rule_day begin, end;
};

struct zone {
    const int64_t *at;
    const int32_t *offset_s; /* from at[i] on */
    size_t n;
    int32_t first_s; /* before at[0] */
    struct rule rule;
};

/* --- days --- */

static int64_t days_of(int64_t year, int month, int day)
{
    struct tm tm = {.tm_year = (int)(year - 1900), .tm_mon = month - 1, .tm_mday = day};
    return timegm(&tm) / DAY_S;
}

static struct tm tm_of(int64_t t_s)
{
    struct tm tm = {.tm_year = 70, .tm_mday = 1};
    time_t t = (time_t)t_s;
    (void)gmtime_r(&t, &tm); /* out of its range: stays 1970 */
    return tm;
}

static int days_in(int64_t year, int month)
{
    return (int)(days_of(year + month / 12, month % 12 + 1, 1) - days_of(year, month, 1));
}

/* --- the rule at the end --- */

static bool take(struct span *s, char c)
{
    if (s->n == 0 || s->p[0] != c)
        return false;
    (void)span_take(s, 1);
    return true;
}

static bool take_number(struct span *s, int max, int *ret)
{
    int v = 0;
    size_t n = 0;
    while (n < s->n && n < 4 && s->p[n] >= '0' && s->p[n] <= '9')
        v = v * 10 + (s->p[n++] - '0');
    if (n == 0 || v > max)
        return false;
    (void)span_take(s, n);
    *ret = v;
    return true;
}

static bool take_time(struct span *s, int32_t *ret_s)
{
    bool is_negative = take(s, '-');
    int hours, minutes = 0, seconds = 0;
    if (!is_negative)
        (void)take(s, '+');
    if (!take_number(s, 167, &hours) || (take(s, ':') && !take_number(s, 59, &minutes)) ||
        (take(s, ':') && !take_number(s, 59, &seconds)))
        return false;
    *ret_s = hours * HOUR_S + minutes * 60 + seconds;
    if (is_negative)
        *ret_s = -*ret_s;
    return true;
}

static bool take_name(struct span *s)
{
    size_t n = 0;
    if (s->n > 0 && s->p[0] == '<') {
        n = span_find_char(*s, '>') + 1;
        if (n > s->n)
            return false;
    } else {
        while (n < s->n && ((s->p[n] | 0x20) >= 'a' && (s->p[n] | 0x20) <= 'z'))
            n++;
    }
    (void)span_take(s, n);
    return n >= 3;
}

static bool take_day(struct span *s, struct rule_day *ret)
{
    struct rule_day d = {.at_s = 2 * HOUR_S};
    if (take(s, 'M')) {
        d.kind = DAY_OF_WEEK;
        if (!take_number(s, 12, &d.month) || !take(s, '.') || !take_number(s, 5, &d.week) ||
            !take(s, '.') || !take_number(s, 6, &d.day) || d.month < 1 || d.week < 1)
            return false;
    } else {
        d.kind = take(s, 'J') ? DAY_WITHOUT_LEAP : DAY_FROM_0;
        if (!take_number(s, 365, &d.day) || (d.kind == DAY_WITHOUT_LEAP && d.day < 1))
            return false;
    }
    if (take(s, '/') && !take_time(s, &d.at_s))
        return false;
    *ret = d;
    return true;
}

/* "CET-1CEST,M3.5.0,M10.5.0/3": offsets are west of UTC there. */
static struct rule rule_parse(struct span s)
{
    struct rule r = {.is_known = false};
    if (!take_name(&s) || !take_time(&s, &r.offset_s))
        return r;
    r.offset_s = -r.offset_s;
    if (s.n > 0) {
        r.summer_s = r.offset_s + HOUR_S;
        if (!take_name(&s))
            return r;
        if (s.n > 0 && s.p[0] != ',') {
            if (!take_time(&s, &r.summer_s))
                return r;
            r.summer_s = -r.summer_s;
        }
        if (!take(&s, ',') || !take_day(&s, &r.begin) || !take(&s, ',') || !take_day(&s, &r.end))
            return r;
        r.has_summer = true;
    }
    r.is_known = s.n == 0;
    return r;
}

/* In wall time, as seconds since the epoch. */
static int64_t rule_moment(const struct rule_day *d, int64_t year)
{
    int64_t day = days_of(year, 1, 1) + d->day;
    if (d->kind == DAY_WITHOUT_LEAP) {
        day += days_in(year, 2) == 29 && d->day >= 60 ? 0 : -1;
    } else if (d->kind == DAY_OF_WEEK) {
        int64_t first = days_of(year, d->month, 1);
        int weekday = (int)(((first + 4) % 7 + 7) % 7);
        int of_month = (d->day - weekday + 7) % 7 + (d->week - 1) * 7;
        while (of_month >= days_in(year, d->month))
            of_month -= 7;
        day = first + of_month;
    }
    return day * DAY_S + d->at_s;
}

static int32_t rule_offset(const struct rule *r, int64_t t_s)
{
    if (!r->has_summer)
        return r->offset_s;
    int64_t year = tm_of(t_s + r->offset_s).tm_year + INT64_C(1900);
    int64_t begin = rule_moment(&r->begin, year) - r->offset_s;
    int64_t end = rule_moment(&r->end, year) - r->summer_s;
    bool is_summer = begin < end ? t_s >= begin && t_s < end : t_s >= begin || t_s < end;
    return is_summer ? r->summer_s : r->offset_s;
}

/* --- the file --- */

static uint64_t be(const char *p, size_t n)
{
    uint64_t v = 0;
    for (size_t i = 0; i < n; i++)
        v = v << 8 | (unsigned char)p[i];
    return v;
}

/* Counts of a header, in the order in which they stand there. */
enum { COUNT_UT, COUNT_STD, COUNT_LEAPS, COUNT_TIMES, COUNT_TYPES, COUNT_CHARS, COUNT_COUNT_ };

struct body {
    size_t n[COUNT_COUNT_];
    size_t time_bytes; /* 4 or 8 */
    struct span data;
};

/* Takes a header and what belongs to it. */
static bool take_body(struct span *s, size_t time_bytes, struct body *ret)
{
    struct body b = {.time_bytes = time_bytes};
    if (s->n < HEADER_BYTES || !span_starts_with(*s, SPAN("TZif")))
        return false;
    for (size_t i = 0; i < COUNT_COUNT_; i++) {
        b.n[i] = (size_t)be(s->p + 20 + 4 * i, 4);
        if (b.n[i] > FILE_BYTES_MAX)
            return false;
    }
    (void)span_take(s, HEADER_BYTES);
    size_t n = b.n[COUNT_TIMES] * (time_bytes + 1) + b.n[COUNT_TYPES] * 6 + b.n[COUNT_CHARS] +
               b.n[COUNT_LEAPS] * (time_bytes + 4) + b.n[COUNT_STD] + b.n[COUNT_UT];
    if (n > s->n)
        return false;
    b.data = span_take(s, n);
    *ret = b;
    return true;
}

static bool type_offset(const struct body *b, size_t type, int32_t *ret_s)
{
    if (type >= b->n[COUNT_TYPES])
        return false;
    const char *types = b->data.p + b->n[COUNT_TIMES] * (b->time_bytes + 1);
    *ret_s = (int32_t)be(types + type * 6, 4);
    return *ret_s > -OFFSET_MAX_S && *ret_s < OFFSET_MAX_S;
}

static int64_t time_at(const struct body *b, size_t i)
{
    const char *p = b->data.p + i * b->time_bytes;
    return b->time_bytes == 8 ? (int64_t)be(p, 8) : (int32_t)be(p, 4);
}

static int zone_fill(struct arena *a, const struct body *b, struct zone *z)
{
    int64_t *at = arena_array(a, b->n[COUNT_TIMES], sizeof(*at));
    int32_t *offset_s = arena_array(a, b->n[COUNT_TIMES], sizeof(*offset_s));
    if (!at || !offset_s)
        return -ENOMEM;
    const char *types = b->data.p + b->n[COUNT_TIMES] * b->time_bytes;
    if (!type_offset(b, 0, &z->first_s))
        return -EINVAL;
    for (size_t i = 0; i < b->n[COUNT_TIMES]; i++) {
        at[i] = time_at(b, i);
        if (!type_offset(b, (unsigned char)types[i], &offset_s[i]) || (i > 0 && at[i] < at[i - 1]))
            return -EINVAL;
    }
    z->at = at;
    z->offset_s = offset_s;
    z->n = b->n[COUNT_TIMES];
    return 0;
}

int zone_parse(struct arena *a, struct span file, const struct zone **ret)
{
    struct body b;
    bool has_second = file.n > 4 && file.p[4] >= '2';
    if (!take_body(&file, 4, &b) || (has_second && !take_body(&file, 8, &b)))
        return -EINVAL;
    struct zone *z = arena_zalloc(a, 1, sizeof(*z));
    if (!z)
        return -ENOMEM;
    int r = zone_fill(a, &b, z);
    if (r < 0)
        return r;
    if (has_second && take(&file, '\n'))
        z->rule = rule_parse(span_of(file.p, span_find_char(file, '\n')));
    *ret = z;
    return 0;
}

static bool is_name(struct span s)
{
    if (s.n == 0 || s.n > 200 || s.p[0] == '/' || s.p[0] == '-')
        return false;
    for (size_t i = 0; i < s.n; i++) {
        char c = s.p[i], lower = (char)(c | 0x20);
        if (!(lower >= 'a' && lower <= 'z') && !(c >= '0' && c <= '9') && c != '_' && c != '-' &&
            c != '+' && c != '/')
            return false;
    }
    return true;
}

int zone_load(struct arena *a, struct span name, const struct zone **ret)
{
    const char *dir = getenv("TZDIR");
    char path[512];
    struct buf text;
    if (!is_name(name))
        return -EINVAL;
    if (span_eq(name, SPAN("Local")))
        (void)snprintf(path, sizeof(path), "/etc/localtime");
    else if (snprintf(path, sizeof(path), "%s/%.*s", dir && *dir ? dir : "/usr/share/zoneinfo",
                      SPAN_ARG(name)) >= (int)sizeof(path))
        return -EINVAL;
    buf_init(&text, FILE_BYTES_MAX + 1);
    int r = file_read(path, FILE_BYTES_MAX, &text);
    if (r == 0)
        r = zone_parse(a, buf_span(&text), ret);
    else if (r != -ENOMEM)
        r = r == -ENOENT || r == -ENOTDIR || r == -EISDIR ? -ENOENT : -EINVAL;
    buf_done(&text);
    return r;
}

int32_t zone_offset_s(const struct zone *z, int64_t t_s)
{
    if (!z)
        return 0;
    if (z->rule.is_known && (z->n == 0 || t_s >= z->at[z->n - 1]))
        return rule_offset(&z->rule, t_s);
    size_t low = 0, high = z->n; /* at[low - 1] <= t_s < at[high] */
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        if (z->at[mid] <= t_s)
            low = mid + 1;
        else
            high = mid;
    }
    return low == 0 ? z->first_s : z->offset_s[low - 1];
}

int zone_moments(const struct zone *z, int64_t local_s, int64_t ret_s[2])
{
    int n = 0;
    /* The offsets before and after a change that is near. */
    int64_t at[2] = {local_s - zone_offset_s(z, local_s - DAY_S),
                     local_s - zone_offset_s(z, local_s + DAY_S)};
    if (at[1] < at[0]) {
        int64_t first = at[1];
        at[1] = at[0];
        at[0] = first;
    }
    for (int i = 0; i < 2; i++) {
        if (at[i] + zone_offset_s(z, at[i]) == local_s && (n == 0 || ret_s[0] != at[i]))
            ret_s[n++] = at[i];
    }
    return n;
}

struct zone_civil zone_civil(const struct zone *z, int64_t t_s)
{
    struct tm tm = tm_of(t_s + zone_offset_s(z, t_s));
    int64_t year = tm.tm_year + INT64_C(1900);
    return (struct zone_civil){
        .year = year,
        .month = tm.tm_mon + 1,
        .day = tm.tm_mday,
        .weekday = tm.tm_wday,
        .minute = tm.tm_hour * 60 + tm.tm_min,
        .days_in_month = days_in(year, tm.tm_mon + 1),
    };
}
