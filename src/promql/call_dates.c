/* SPDX-License-Identifier: Apache-2.0 */
/*
 * promql/call_dates.c - calendar functions, in UTC. Argument: seconds since the epoch, cut to whole
 * ones.
 */
#include <errno.h>
#include <math.h>

#include "base/num.h"
#include "promql/call.h"

struct date {
    int64_t year;
    int month, day; /* from 1 */
    int64_t days;   /* since the epoch */
    int second;     /* of the day */
};

/* What 64 bits hold: beyond that no date is told. */
static const double seconds_end = 0x1p63;

/* Days since the epoch of the first of March of a year, which begins a year without leap troubles.
 */
static int64_t days_to_march(int64_t year)
{
    return 365 * year + num_floor_div(year, 4) - num_floor_div(year, 100) +
           num_floor_div(year, 400) - 719468;
}

static struct date date_of(double t)
{
    int64_t s = (int64_t)t;
    struct date d = {.days = num_floor_div(s, 86400)};
    d.second = (int)(s - d.days * 86400);
    int64_t year = num_floor_div((d.days + 719468) * 400, 146097); /* or the one before or behind */
    while (days_to_march(year + 1) <= d.days)
        year++;
    while (days_to_march(year) > d.days)
        year--;
    int day_of_year = (int)(d.days - days_to_march(year)); /* from March */
    int month = (5 * day_of_year + 2) / 153;               /* 0: March */
    d.day = day_of_year - (153 * month + 2) / 5 + 1;
    d.month = month < 10 ? month + 3 : month - 9;
    d.year = year + (month >= 10);
    return d;
}

static bool is_leap(int64_t year)
{
    return (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
}

static int days_in(int64_t year, int month)
{
    static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    return days[month - 1] + (month == 2 && is_leap(year));
}

double call_date_minute(double t)
{
    int minute = date_of(t).second / 60 % 60;
    return minute;
}

double call_date_hour(double t)
{
    int hour = date_of(t).second / 3600;
    return hour;
}

double call_date_day_of_week(double t)
{
    int64_t days = date_of(t).days + 4; /* the epoch was a Thursday */
    return (double)num_floor_mod(days, 7);
}

double call_date_day_of_month(double t)
{
    return date_of(t).day;
}

double call_date_day_of_year(double t)
{
    struct date d = date_of(t);
    int n = d.day;
    for (int m = 1; m < d.month; m++)
        n += days_in(d.year, m);
    return n;
}

double call_date_days_in_month(double t)
{
    struct date d = date_of(t);
    return days_in(d.year, d.month);
}

double call_date_month(double t)
{
    return date_of(t).month;
}

double call_date_year(double t)
{
    return (double)date_of(t).year;
}

/* What has no date has no hour either. */
static void apply_all(double (*apply)(double t), struct column *c, size_t n)
{
    for (size_t i = 0; i < n; i++)
        c->v[i] = fabs(c->v[i]) < seconds_end ? apply(c->v[i]) : (double)NAN;
}

/* Without an argument: of the evaluation's time. */
int call_dates(struct eval *e, const struct node *n, const struct grid *g, struct arena *a,
               struct value *ret)
{
    double (*apply)(double) = call_function_find(n->call.function->name)->apply;
    bool has_arg = n->call.n_args > 0;
    int r = has_arg ? call_floats_of(e, call_arg(n, 0), g, a, ret) : call_time(e, n, g, a, ret);
    ret->type = PROMQL_VECTOR;
    for (size_t k = 0; r == 0 && k < ret->n_columns; k++) {
        struct column *c = &ret->columns[k];
        for (size_t i = 0; !has_arg && i < g->n; i++)
            c->v[i] = floor(c->v[i]);
        apply_all(apply, c, g->n);
    }
    return r;
}
