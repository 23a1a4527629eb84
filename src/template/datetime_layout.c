/* SPDX-License-Identifier: Apache-2.0 */
/*
 * template/datetime_layout.c - moments as text.
 *
 * A layout shows how the second of January 2006, 15:04:05, in a zone 7 hours behind UTC, would be
 * written. What in it is not part of that moment stands for itself.
 */
#include <ctype.h>
#include <errno.h>
#include <time.h>

#include "base/clock.h"
#include "base/num.h"
#include "template/datetime.h"

static const char *const months[] = {"January",   "February", "March",    "April",
                                     "May",       "June",     "July",     "August",
                                     "September", "October",  "November", "December"};
static const char *const days[] = {"Sunday",   "Monday", "Tuesday", "Wednesday",
                                   "Thursday", "Friday", "Saturday"};

struct parts {
    struct tm tm;
    int64_t ns; /* of the second */
};

static void split(int64_t ns, struct parts *ret)
{
    time_t t = num_floor_div(ns, NS_PER_S);
    ret->ns = num_floor_mod(ns, NS_PER_S);
    if (!gmtime_r(&t, &ret->tm))
        ret->tm = (struct tm){.tm_mday = 1};
}

/* At least width digits; pad stands in front. */
static int put_number(int64_t v, int width, char pad, struct buf *out)
{
    return pad == '0' ? buf_printf(out, "%0*lld", width, (long long)v)
                      : buf_printf(out, "%*lld", width, (long long)v);
}

static int put_month(const struct parts *p, struct buf *out)
{
    return buf_append(out, span_cstr(months[p->tm.tm_mon]));
}

static int put_short_month(const struct parts *p, struct buf *out)
{
    return buf_append(out, span_of(months[p->tm.tm_mon], 3));
}

static int put_day_name(const struct parts *p, struct buf *out)
{
    return buf_append(out, span_cstr(days[p->tm.tm_wday]));
}

static int put_short_day_name(const struct parts *p, struct buf *out)
{
    return buf_append(out, span_of(days[p->tm.tm_wday], 3));
}

static int put_year(const struct parts *p, struct buf *out)
{
    return put_number(p->tm.tm_year + 1900, 4, '0', out);
}

static int put_short_year(const struct parts *p, struct buf *out)
{
    return put_number((p->tm.tm_year + 1900) % 100, 2, '0', out);
}

static int put_month2(const struct parts *p, struct buf *out)
{
    return put_number(p->tm.tm_mon + 1, 2, '0', out);
}

static int put_month1(const struct parts *p, struct buf *out)
{
    return put_number(p->tm.tm_mon + 1, 1, '0', out);
}

static int put_day2(const struct parts *p, struct buf *out)
{
    return put_number(p->tm.tm_mday, 2, '0', out);
}

static int put_day_blank(const struct parts *p, struct buf *out)
{
    return put_number(p->tm.tm_mday, 2, ' ', out);
}

static int put_day1(const struct parts *p, struct buf *out)
{
    return put_number(p->tm.tm_mday, 1, '0', out);
}

static int put_year_day(const struct parts *p, struct buf *out)
{
    return put_number(p->tm.tm_yday + 1, 3, '0', out);
}

static int put_year_day_blank(const struct parts *p, struct buf *out)
{
    return put_number(p->tm.tm_yday + 1, 3, ' ', out);
}

static int put_hour24(const struct parts *p, struct buf *out)
{
    return put_number(p->tm.tm_hour, 2, '0', out);
}

static int64_t hour12(const struct parts *p)
{
    return p->tm.tm_hour % 12 == 0 ? 12 : p->tm.tm_hour % 12;
}

static int put_hour2(const struct parts *p, struct buf *out)
{
    return put_number(hour12(p), 2, '0', out);
}

static int put_hour1(const struct parts *p, struct buf *out)
{
    return put_number(hour12(p), 1, '0', out);
}

static int put_minute2(const struct parts *p, struct buf *out)
{
    return put_number(p->tm.tm_min, 2, '0', out);
}

static int put_minute1(const struct parts *p, struct buf *out)
{
    return put_number(p->tm.tm_min, 1, '0', out);
}

static int put_second2(const struct parts *p, struct buf *out)
{
    return put_number(p->tm.tm_sec, 2, '0', out);
}

static int put_second1(const struct parts *p, struct buf *out)
{
    return put_number(p->tm.tm_sec, 1, '0', out);
}

static int put_half(const struct parts *p, struct buf *out)
{
    return buf_append(out, p->tm.tm_hour >= 12 ? SPAN("PM") : SPAN("AM"));
}

static int put_small_half(const struct parts *p, struct buf *out)
{
    return buf_append(out, p->tm.tm_hour >= 12 ? SPAN("pm") : SPAN("am"));
}

static int put_zone_name(const struct parts *p, struct buf *out)
{
    (void)p;
    return buf_append(out, SPAN("UTC"));
}

static int put_z(const struct parts *p, struct buf *out)
{
    (void)p;
    return buf_append(out, SPAN("Z"));
}

static int put_plus2(const struct parts *p, struct buf *out)
{
    (void)p;
    return buf_append(out, SPAN("+00"));
}

static int put_plus4(const struct parts *p, struct buf *out)
{
    (void)p;
    return buf_append(out, SPAN("+0000"));
}

static int put_plus_colon(const struct parts *p, struct buf *out)
{
    (void)p;
    return buf_append(out, SPAN("+00:00"));
}

static int put_plus6(const struct parts *p, struct buf *out)
{
    (void)p;
    return buf_append(out, SPAN("+000000"));
}

static int put_plus_colons(const struct parts *p, struct buf *out)
{
    (void)p;
    return buf_append(out, SPAN("+00:00:00"));
}

/* Of several that fit the first is meant. */
static const struct element {
    const char *text;
    bool is_word; /* no small letter follows */
    int (*put)(const struct parts *p, struct buf *out);
} elements[] = {
    {"January", false, put_month},
    {"Jan", true, put_short_month},
    {"Monday", false, put_day_name},
    {"Mon", true, put_short_day_name},
    {"MST", false, put_zone_name},
    {"2006", false, put_year},
    {"002", false, put_year_day},
    {"01", false, put_month2},
    {"02", false, put_day2},
    {"03", false, put_hour2},
    {"04", false, put_minute2},
    {"05", false, put_second2},
    {"06", false, put_short_year},
    {"15", false, put_hour24},
    {"1", false, put_month1},
    {"2", false, put_day1},
    {"__2", false, put_year_day_blank},
    {"_2", false, put_day_blank},
    {"3", false, put_hour1},
    {"4", false, put_minute1},
    {"5", false, put_second1},
    {"PM", false, put_half},
    {"pm", false, put_small_half},
    {"-070000", false, put_plus6},
    {"-07:00:00", false, put_plus_colons},
    {"-0700", false, put_plus4},
    {"-07:00", false, put_plus_colon},
    {"-07", false, put_plus2},
    {"Z070000", false, put_z},
    {"Z07:00:00", false, put_z},
    {"Z0700", false, put_z},
    {"Z07:00", false, put_z},
    {"Z07", false, put_z},
};

static const struct element *find_element(struct span layout)
{
    if (span_starts_with(layout, SPAN("_2006"))) /* a plain '_', then the year */
        return NULL;
    for (size_t i = 0; i < ARRAY_LEN(elements); i++) {
        struct span text = span_cstr(elements[i].text);
        if (!span_starts_with(layout, text))
            continue;
        if (elements[i].is_word && layout.n > text.n && islower((unsigned char)layout.p[text.n]))
            continue;
        return &elements[i];
    }
    return NULL;
}

/* .000 or ,999 at the front: how many; 0: there is none. */
static size_t fraction_length(struct span s)
{
    size_t n = 1;
    if (s.n < 2 || (s.p[0] != '.' && s.p[0] != ',') || (s.p[1] != '0' && s.p[1] != '9'))
        return 0;
    while (n < s.n && s.p[n] == s.p[1])
        n++;
    return n < s.n && isdigit((unsigned char)s.p[n]) ? 0 : n - 1;
}

/* Nines stand for digits up to the last that is no zero, and for none without any. */
static int put_fraction(const struct parts *p, struct span s, size_t n, struct buf *out)
{
    char text[16];
    size_t n_digits = n > 9 ? 9 : n;
    text[0] = s.p[0];
    num_format_padded((uint64_t)p->ns, 9, text + 1);
    if (s.p[1] == '9')
        while (n_digits > 0 && text[n_digits] == '0')
            n_digits--;
    return n_digits > 0 ? buf_append(out, span_of(text, n_digits + 1)) : 0;
}

int datetime_format(int64_t ns, struct span layout, struct buf *out)
{
    struct parts p;
    int r = 0;
    split(ns, &p);
    while (layout.n > 0 && r == 0) {
        size_t n_fraction = fraction_length(layout);
        const struct element *e = n_fraction > 0 ? NULL : find_element(layout);
        if (n_fraction > 0) {
            r = put_fraction(&p, layout, n_fraction, out);
            (void)span_take(&layout, n_fraction + 1);
        } else if (e) {
            r = e->put(&p, out);
            (void)span_take(&layout, strlen(e->text));
        } else {
            r = buf_append(out, span_take(&layout, 1));
        }
    }
    return r;
}

int datetime_print(int64_t ns, struct buf *out)
{
    return datetime_format(ns, SPAN("2006-01-02 15:04:05.999999999 -0700 MST"), out);
}
