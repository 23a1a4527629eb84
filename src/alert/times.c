/* SPDX-License-Identifier: Apache-2.0 */
#include "alert/times.h"

static int value_of(const struct zone_civil *c, enum alert_interval_part part)
{
    switch (part) {
    case INTERVAL_TIMES:
        return c->minute;
    case INTERVAL_WEEKDAYS:
        return c->weekday;
    case INTERVAL_DAYS:
        return c->day;
    case INTERVAL_MONTHS:
        return c->month;
    default:
        return (int)c->year;
    }
}

/* -1 is the month's last day. A stretch that begins behind the month's end is none in it. */
static bool days_hold(struct alert_range r, const struct zone_civil *c)
{
    int first = r.first < 0 ? c->days_in_month + r.first + 1 : r.first;
    int last = r.last < 0 ? c->days_in_month + r.last + 1 : r.last;
    return c->day >= first && c->day <= last;
}

static bool part_holds(const struct alert_interval *in, enum alert_interval_part part,
                       const struct zone_civil *c)
{
    const struct alert_ranges *l = &in->parts[part];
    int v = value_of(c, part);
    if (!l->is_written)
        return true;
    for (size_t i = 0; i < l->n; i++) {
        struct alert_range r = l->at[i];
        int last = part == INTERVAL_TIMES ? r.last - 1 : r.last;
        if (part == INTERVAL_DAYS ? days_hold(r, c) : v >= r.first && v <= last)
            return true;
    }
    return false;
}

static bool interval_holds(const struct alert_interval *in, int64_t now_s)
{
    struct zone_civil c = zone_civil(in->zone, now_s);
    for (int part = 0; part < INTERVAL_COUNT_; part++) {
        if (!part_holds(in, (enum alert_interval_part)part, &c))
            return false;
    }
    return true;
}

bool alert_times_contain(const struct alert_times *t, int64_t now_ms)
{
    for (size_t i = 0; i < t->n; i++) {
        if (interval_holds(&t->intervals[i], now_ms / 1000))
            return true;
    }
    return false;
}
