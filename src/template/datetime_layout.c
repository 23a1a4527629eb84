/* SPDX-License-Identifier: Apache-2.0 */
/*
 * template/datetime_layout.c - moments as text.
 *
 * A layout shows how the second of January 2006, 15:04:05, in a zone 7 hours behind UTC, would be
 * written. What in it is not part of that moment stands for itself.
 */
#include <ctype.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/num.h"
#include "template/datetime.h"

static const char *const months[] = {"January",   "February", "March",    "April",
                                     "May",       "June",     "July",     "August",
                                     "September", "October",  "November", "December"};
static const char *const days[] = {"Sunday",   "Monday", "Tuesday", "Wednesday",
                                   "Thursday", "Friday", "Saturday"};

/* What stands in the place of an element. */
enum what {
    FIXED, /* the same at every moment, since all are in UTC */
    MONTH_NAME,
    DAY_NAME,
    HALF,
    SMALL_HALF,
    YEAR, /* from here on numbers */
    SHORT_YEAR,
    MONTH,
    DAY,
    YEAR_DAY,
    HOUR,
    HOUR_OF_HALF,
    MINUTE,
    SECOND,
};

/* Of several that fit the first is meant. */
static const struct element {
    const char *text;
    enum what what;
    int width;         /* of a number: at least so many; of a name: so many of it; 0: all */
    bool has_blanks;   /* in front of a number, for zeros */
    bool is_word;      /* no small letter follows */
    const char *fixed; /* FIXED */
} elements[] = {
    {"January", .what = MONTH_NAME},
    {"Jan", .what = MONTH_NAME, .width = 3, .is_word = true},
    {"Monday", .what = DAY_NAME},
    {"Mon", .what = DAY_NAME, .width = 3, .is_word = true},
    {"MST", .fixed = "UTC"},
    {"2006", .what = YEAR, .width = 4},
    {"002", .what = YEAR_DAY, .width = 3},
    {"01", .what = MONTH, .width = 2},
    {"02", .what = DAY, .width = 2},
    {"03", .what = HOUR_OF_HALF, .width = 2},
    {"04", .what = MINUTE, .width = 2},
    {"05", .what = SECOND, .width = 2},
    {"06", .what = SHORT_YEAR, .width = 2},
    {"15", .what = HOUR, .width = 2},
    {"1", .what = MONTH},
    {"2", .what = DAY},
    {"__2", .what = YEAR_DAY, .width = 3, .has_blanks = true},
    {"_2", .what = DAY, .width = 2, .has_blanks = true},
    {"3", .what = HOUR_OF_HALF},
    {"4", .what = MINUTE},
    {"5", .what = SECOND},
    {"PM", .what = HALF},
    {"pm", .what = SMALL_HALF},
    {"-070000", .fixed = "+000000"},
    {"-07:00:00", .fixed = "+00:00:00"},
    {"-0700", .fixed = "+0000"},
    {"-07:00", .fixed = "+00:00"},
    {"-07", .fixed = "+00"},
    {"Z070000", .fixed = "Z"},
    {"Z07:00:00", .fixed = "Z"},
    {"Z0700", .fixed = "Z"},
    {"Z07:00", .fixed = "Z"},
    {"Z07", .fixed = "Z"},
};

static int number_of(const struct tm *tm, enum what what)
{
    switch (what) {
    case YEAR:
        return tm->tm_year + 1900;
    case SHORT_YEAR:
        return (tm->tm_year + 1900) % 100;
    case MONTH:
        return tm->tm_mon + 1;
    case DAY:
        return tm->tm_mday;
    case YEAR_DAY:
        return tm->tm_yday + 1;
    case HOUR:
        return tm->tm_hour;
    case HOUR_OF_HALF:
        return (tm->tm_hour + 11) % 12 + 1;
    case MINUTE:
        return tm->tm_min;
    default:
        return tm->tm_sec;
    }
}

static const char *word_of(const struct tm *tm, const struct element *e)
{
    switch (e->what) {
    case MONTH_NAME:
        return months[tm->tm_mon];
    case DAY_NAME:
        return days[tm->tm_wday];
    case HALF:
        return tm->tm_hour >= 12 ? "PM" : "AM";
    case SMALL_HALF:
        return tm->tm_hour >= 12 ? "pm" : "am";
    default:
        return e->fixed;
    }
}

static int put_element(const struct element *e, const struct tm *tm, struct buf *out)
{
    if (e->what >= YEAR)
        return buf_printf(out, e->has_blanks ? "%*d" : "%0*d", e->width, number_of(tm, e->what));
    const char *word = word_of(tm, e);
    return buf_append(out, span_of(word, e->width > 0 ? (size_t)e->width : strlen(word)));
}

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
static int put_fraction(int64_t ns, struct span s, size_t n, struct buf *out)
{
    char text[16];
    size_t n_digits = n > 9 ? 9 : n;
    text[0] = s.p[0];
    num_format_padded((uint64_t)ns, 9, text + 1);
    if (s.p[1] == '9')
        while (n_digits > 0 && text[n_digits] == '0')
            n_digits--;
    return n_digits > 0 ? buf_append(out, span_of(text, n_digits + 1)) : 0;
}

int datetime_format(int64_t ns, struct span layout, struct buf *out)
{
    time_t t = num_floor_div(ns, NS_PER_S);
    struct tm tm = {.tm_mday = 1};
    int r = 0;
    (void)gmtime_r(&t, &tm); /* has every moment that ns can tell */
    while (layout.n > 0 && r == 0) {
        size_t n_fraction = fraction_length(layout);
        const struct element *e = n_fraction > 0 ? NULL : find_element(layout);
        if (n_fraction > 0) {
            r = put_fraction(num_floor_mod(ns, NS_PER_S), layout, n_fraction, out);
            (void)span_take(&layout, n_fraction + 1);
        } else if (e) {
            r = put_element(e, &tm, out);
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
