/* SPDX-License-Identifier: Apache-2.0 */
/*
 * io/stamp.c - the offset between the two clocks, sampled so that a preemption between the two
 * reads is noticed, and the test for a step.
 */
#include "io/stamp.h"

#include "base/stat.h"

/* Slewing moves the real-time clock by at most 500 ppm; twice that plus the sampling error. */
#define STEP_FLOOR_NS   (200 * NS_PER_US)
#define STEP_SLEW_RATIO 1000 /* 1 / 1000 ppm */
#define SAMPLE_GOOD_NS  (5 * NS_PER_US)

enum { SAMPLE_TRIES = 3 };

/* realtime - monotonic, from the tightest of a few samples. */
static int64_t offset_sample(mono_t *ret_now)
{
    int64_t best_width = INT64_MAX;
    int64_t best = 0;

    for (int i = 0; i < SAMPLE_TRIES; i++) {
        mono_t before = clock_mono();
        int64_t real = clock_real_ns();
        mono_t after = clock_mono();
        int64_t width = mono_diff(after, before);

        if (width < best_width) {
            best_width = width;
            best = real - (before.ns + width / 2);
            *ret_now = after;
        }
        if (width <= SAMPLE_GOOD_NS)
            break;
    }
    return best;
}

mono_t stamp_sync(struct stamp_mapper *m)
{
    mono_t now = MONO_NONE;
    int64_t offset = offset_sample(&now);

    m->_is_stepped = false;
    if (m->_is_set) {
        int64_t moved = offset - m->_offset_ns;
        int64_t allowed = STEP_FLOOR_NS + mono_diff(now, m->_synced_at) / STEP_SLEW_RATIO;

        if (moved > allowed || moved < -allowed) {
            m->_is_stepped = true;
            m->_stepped_at = now;
            stat_inc(STAT_CLOCK_STEPS);
        }
    }
    m->_offset_ns = offset;
    m->_synced_at = now;
    m->_is_set = true;
    return now;
}

struct stamp stamp_map(struct stamp_mapper *m, int64_t kernel_real_ns, mono_t floor, mono_t now)
{
    struct stamp s = {.at = now, .is_kernel = false, .is_clock_stepped = m->_is_stepped};

    if (kernel_real_ns != 0 && m->_is_set && !m->_is_stepped) {
        mono_t mapped = {kernel_real_ns - m->_offset_ns};

        s.is_clock_stepped = mapped.ns < m->_stepped_at.ns;
        if (!s.is_clock_stepped && mapped.ns >= floor.ns && mapped.ns <= now.ns) {
            s.at = mapped;
            s.is_kernel = true;
            return s;
        }
    }
    stat_inc(STAT_STAMP_FALLBACKS);
    return s;
}
