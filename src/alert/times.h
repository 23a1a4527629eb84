/* SPDX-License-Identifier: Apache-2.0 */
/*
 * alert/times.h - time_intervals: named stretches of the week, month and year.
 *
 * Role:      decides whether a route is quiet now (mute_time_intervals, active_time_intervals).
 * Shape:     as Alertmanager's: an interval is every moment that all its lists hold (times,
 *            weekdays, days_of_month, months, years; one that is not written holds every moment),
 *            read in its location, UTC when there is none. A named one is every moment of any of
 *            its intervals.
 * Units:     minutes of a day, ends not included; days from 1, or from the month's end as -1;
 *            weekdays from Sunday, 0; ms since the epoch.
 * Threading: constant; matching from any thread.
 */
#ifndef ALERT_TIMES_H
#define ALERT_TIMES_H

#include "base/span.h"
#include "base/zone.h"

struct alert_range {
    int first, last;
};
struct alert_ranges {
    const struct alert_range *at;
    size_t n;
    bool is_written; /* a list that is empty holds no moment */
};

enum alert_interval_part {
    INTERVAL_TIMES,
    INTERVAL_WEEKDAYS,
    INTERVAL_DAYS,
    INTERVAL_MONTHS,
    INTERVAL_YEARS,
    INTERVAL_COUNT_,
};

struct alert_interval {
    struct alert_ranges parts[INTERVAL_COUNT_];
    const struct zone *zone; /* NULL: UTC */
    struct span location;    /* its name, or "" */
};

struct alert_times {
    struct span name;
    const struct alert_interval *intervals;
    size_t n;
};

bool alert_times_contain(const struct alert_times *t, int64_t now_ms);

#endif
