/* SPDX-License-Identifier: Apache-2.0 */
/*
 * collect/schedule.h - when something that is done at an interval is due.
 *
 * Moments:   offset_ms behind whole multiples of the interval on the wall clock, so that they are
 *            the same after a restart; from the first on they are counted on the monotonic clock.
 * Threading: pure.
 */
#ifndef COLLECT_SCHEDULE_H
#define COLLECT_SCHEDULE_H

#include "base/clock.h"
#include "base/num.h"

/* The first moment at or behind now. */
static inline mono_t schedule_first(mono_t now, int64_t wall_ms, int64_t interval_ms,
                                    int64_t offset_ms)
{
    return mono_add(now, num_floor_mod(offset_ms - wall_ms, interval_ms) * NS_PER_MS);
}

/* The one behind `due`; moments up to now are left out. */
static inline mono_t schedule_next(mono_t due, mono_t now, int64_t interval_ms)
{
    int64_t interval_ns = interval_ms * NS_PER_MS;
    int64_t late_ns = mono_diff(now, due);

    return mono_add(due, (late_ns > 0 ? late_ns / interval_ns + 1 : 1) * interval_ns);
}

#endif
