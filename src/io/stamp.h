/* SPDX-License-Identifier: Apache-2.0 */
/*
 * io/stamp.h - kernel receive stamps (SO_TIMESTAMPNS, CLOCK_REALTIME) mapped to the monotonic
 * clock.
 *
 * Why:       a busy process reads late; the kernel stamped the bytes when they came. The stamp is
 *            that of the last segment of a read.
 * Mapping:   realtime - monotonic is sampled by stamp_sync once per loop turn. When it moved more
 *            than slewing explains, the real-time clock was stepped: kernel stamps of this turn
 *            are not trusted and reads fall back to the clock, marked so. The same goes for bytes
 *            that had been waiting since before the step.
 * Bounds:    a mapped stamp must lie in [floor, now]; floor is the connection's previous stamp
 *            (equal when two reads share a segment). Outside of it the clock is taken and
 *            STAT_STAMP_FALLBACKS counted.
 * Threading: one stamp_mapper per loop.
 */
#ifndef IO_STAMP_H
#define IO_STAMP_H

#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"

struct stamp_mapper {
    int64_t _offset_ns; /* realtime - monotonic */
    mono_t _synced_at;
    mono_t _stepped_at; /* when the last step was seen; stamps from before it mean nothing now */
    bool _is_stepped;   /* in this turn */
    bool _is_set;
};

/* Once per loop turn, before any read. Returns the time. */
mono_t stamp_sync(struct stamp_mapper *m);

/* kernel_real_ns: the SCM_TIMESTAMPNS value or 0 when there was none; now: clock after the read. */
struct stamp stamp_map(struct stamp_mapper *m, int64_t kernel_real_ns, mono_t floor, mono_t now);

#endif
