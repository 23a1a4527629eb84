/* SPDX-License-Identifier: Apache-2.0 */
#include "base/timestamp.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "base/num.h"

#define DAY_US    (86400 * US_PER_S)
#define US_PER_MS (US_PER_S / 1000)
#define END_US    INT64_C(253402300800000000) /* the year 10000 */

/* The two to four digits at the front of *s, which has to be followed by end (0: by anything). */
static bool take_digits(struct span *s, size_t n, char end, int64_t *ret)
{
    uint64_t value;
    if (s->n < n + (end != '\0') || num_parse_u64(span_of(s->p, n), &value) < 0 ||
        (end != '\0' && s->p[n] != end))
        return false;
    *ret = (int64_t)value;
    *s = span_from(*s, n + (end != '\0'));
    return true;
}

static bool is_leap(int64_t year)
{
    return year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
}

static int64_t days_of_month(int64_t year, int64_t month)
{
    static const uint8_t days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    return days[month - 1] + (month == 2 && is_leap(year));
}

/* Since the epoch; the date exists. */
static int64_t days_of_date(int64_t year, int64_t month, int64_t day)
{
    int64_t before = year - 1;
    int64_t days = before * 365 + before / 4 - before / 100 + before / 400 - 719162;
    for (int64_t m = 1; m < month; m++)
        days += days_of_month(year, m);
    return days + day - 1;
}

static bool take_date(struct span *s, int64_t *ret_us)
{
    int64_t year, month, day;
    if (!take_digits(s, 4, '-', &year) || !take_digits(s, 2, '-', &month) ||
        !take_digits(s, 2, '\0', &day) || year < 1 || month < 1 || month > 12 || day < 1 ||
        day > days_of_month(year, month))
        return false;
    *ret_us = days_of_date(year, month, day) * DAY_US;
    return true;
}

static bool take_fraction(struct span *s, int64_t *us)
{
    size_t n = 1;
    int64_t unit = US_PER_S;
    for (; n < s->n && s->p[n] >= '0' && s->p[n] <= '9'; n++) {
        unit /= 10;
        *us += (s->p[n] - '0') * unit;
    }
    *s = span_from(*s, n);
    return n > 1;
}

/* A leap second counts as the one behind it. */
static bool take_time(struct span *s, int64_t *us)
{
    int64_t hour, minute, second;
    if (!take_digits(s, 2, ':', &hour) || !take_digits(s, 2, ':', &minute) ||
        !take_digits(s, 2, '\0', &second) || hour > 23 || minute > 59 || second > 60)
        return false;
    *us += ((hour * 60 + minute) * 60 + second) * US_PER_S;
    return s->n == 0 || s->p[0] != '.' || take_fraction(s, us);
}

static bool take_zone(struct span *s, int64_t *us)
{
    int64_t hour, minute;
    bool is_east = s->n > 0 && s->p[0] == '+';
    if (s->n == 1 && (s->p[0] == 'Z' || s->p[0] == 'z'))
        return true;
    if (s->n != 6 || (!is_east && s->p[0] != '-'))
        return false;
    *s = span_from(*s, 1);
    if (!take_digits(s, 2, ':', &hour) || !take_digits(s, 2, '\0', &minute) || hour > 23 ||
        minute > 59)
        return false;
    *us -= (is_east ? 1 : -1) * (hour * 60 + minute) * 60 * US_PER_S;
    return true;
}

static bool parse_rfc_3339(struct span s, int64_t *ret_us)
{
    if (!take_date(&s, ret_us) || s.n == 0 || !strchr("Tt ", s.p[0]) || s.p[0] == '\0')
        return false;
    s = span_from(s, 1);
    return take_time(&s, ret_us) && take_zone(&s, ret_us);
}

int timestamp_parse(struct span s, wall_t *ret)
{
    uint64_t ms;
    int64_t us = 0;
    if (num_parse_u64(s, &ms) == 0)
        us = ms < (uint64_t)(END_US / US_PER_MS) ? (int64_t)ms * US_PER_MS : 0;
    else if (!parse_rfc_3339(s, &us))
        return -EINVAL;
    if (us <= 0 || us >= END_US)
        return -EINVAL;
    *ret = (wall_t){us};
    return 0;
}
