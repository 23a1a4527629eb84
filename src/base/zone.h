/* SPDX-License-Identifier: Apache-2.0 */
/*
 * base/zone.h - time zones by their IANA name, daylight saving included.
 *
 * Role:      civil time somewhere at a moment. Unlike tzset and localtime_r, for any number of
 *            zones at once and without touching the environment.
 * Source:    the system's zone files (TZif, RFC 8536) in /usr/share/zoneinfo, or $TZDIR; after a
 *            file's last change its rule (the POSIX TZ text at the end) goes on.
 * Units:     seconds since the epoch; offsets in seconds east of UTC.
 * Errors:    -ENOENT: no such zone; -EINVAL: not a name or not such a file; -ENOMEM.
 * Threading: reading needs no lock; a zone is constant.
 */
#ifndef BASE_ZONE_H
#define BASE_ZONE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"

struct zone;

/* "Europe/Berlin", "UTC", "Local": the machine's own. *ret lives in a. */
int zone_load(struct arena *a, struct span name, const struct zone **ret) WARN_UNUSED;
/* The same from the bytes of a file. */
int zone_parse(struct arena *a, struct span file, const struct zone **ret) WARN_UNUSED;

int32_t zone_offset_s(const struct zone *z, int64_t t_s); /* z NULL: UTC, 0 */

/*
 * The moments at which clocks there show local_s (civil time, counted as if it were UTC): 1, 2
 * where clocks are set back, 0 where they are set forward over it. Earliest first.
 */
int zone_moments(const struct zone *z, int64_t local_s, int64_t ret_s[2]);

struct zone_civil {
    int64_t year;
    int month, day; /* from 1 */
    int weekday;    /* Sunday is 0 */
    int minute;     /* of the day */
    int days_in_month;
};
struct zone_civil zone_civil(const struct zone *z, int64_t t_s);

#endif
