/* SPDX-License-Identifier: Apache-2.0 */
#include "store/age_clock.h"

#include "base/limits.h"

#define LEAP_US    (INT64_C(3600) * US_PER_S)
#define BELIEVE_NS (INT64_C(86400) * NS_PER_S)

void age_clock_begin(struct age_clock *t, wall_t last, mono_t mono)
{
    *t = (struct age_clock){.now = last, .at = mono};
}

wall_t age_clock_go(struct age_clock *t, wall_t wall, mono_t mono, int64_t *ret_leap_us)
{
    bool is_first = !mono_is_set(t->at);
    int64_t expected_us = is_first ? wall.us : t->now.us + mono_diff(mono, t->at) / NS_PER_US;
    bool is_leap = !is_first && wall.us - expected_us > LEAP_US;
    *ret_leap_us = 0;
    if (is_leap && !t->is_held) {
        t->is_held = true;
        t->believe_at = mono_add(mono, BELIEVE_NS);
        *ret_leap_us = wall.us - expected_us;
    }
    if (!is_leap || mono_diff(mono, t->believe_at) >= 0) {
        t->now = wall;
        t->is_held = false;
    } else {
        t->now.us = expected_us;
    }
    t->at = mono;
    return t->now;
}
