/* SPDX-License-Identifier: Apache-2.0 */
/*
 * base/clock.h - the two clock types and the only functions that read a clock.
 *
 * mono_t is CLOCK_MONOTONIC, used for every stamp and, as a difference, for every duration
 * (plain int64_t ..._ns). wall_t is CLOCK_REALTIME in microseconds, kept once per request for
 * people. They are distinct struct types, so the compiler refuses to mix them.
 *
 * Pure modules (wire, dialect, policy, timing, record) include the types and never call the
 * functions. Tests may install a fake clock.
 */
#ifndef BASE_CLOCK_H
#define BASE_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

#define NS_PER_US INT64_C(1000)
#define NS_PER_MS INT64_C(1000000)
#define NS_PER_S  INT64_C(1000000000)
#define US_PER_S  INT64_C(1000000)

typedef struct {
    int64_t ns; /* 0 = not set; a real stamp is never 0 */
} mono_t;

typedef struct {
    int64_t us; /* since the Unix epoch; 0 = not set */
} wall_t;

#define MONO_NONE ((mono_t){0})

/* When bytes arrived, and how that is known. */
struct stamp {
    mono_t at;
    bool is_kernel; /* kernel receive stamp (SO_TIMESTAMPNS); else the clock after the read */
    bool is_clock_stepped; /* the real-time clock was stepped since the read before */
};

static inline bool mono_is_set(mono_t t)
{
    return t.ns != 0;
}

/* b - a, in ns. Both must be set. */
static inline int64_t mono_diff(mono_t b, mono_t a)
{
    return b.ns - a.ns;
}

static inline mono_t mono_add(mono_t t, int64_t ns)
{
    return (mono_t){t.ns + ns};
}

static inline mono_t mono_max(mono_t a, mono_t b)
{
    return a.ns >= b.ns ? a : b;
}

/* Reads CLOCK_MONOTONIC / CLOCK_REALTIME. Any thread. */
mono_t clock_mono(void);
wall_t clock_wall(void);

/* CLOCK_REALTIME in ns since the epoch, for mapping kernel receive stamps (io/stamp.h). */
int64_t clock_real_ns(void);

/*
 * Tests: from now on the clocks return what these functions say; NULL brings the real clock back.
 * Call while no other thread runs.
 */
void clock_fake(int64_t (*mono_ns)(void), int64_t (*real_ns)(void));

#endif
