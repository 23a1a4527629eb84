/* SPDX-License-Identifier: Apache-2.0 */
/*
 * store/age_clock.h - the time by which things are old enough to go.
 *
 * Role:      a clock that is set forward by mistake, for a moment, must not cost what was kept for
 *            months. The wall clock is followed, but a leap forward is believed only a day later;
 *            until then time goes on from where it was.
 * Units:     wall_t, mono_t.
 * Threading: one owner; no clock is read here.
 */
#ifndef STORE_AGE_CLOCK_H
#define STORE_AGE_CLOCK_H

#include "base/clock.h"

struct age_clock {
    wall_t now;
    mono_t at; /* when it was that time */
    mono_t believe_at;
    bool is_held;
};

/* Where time was when what is kept was written last; without it time begins with the first call of
 * age_clock_go. */
void age_clock_begin(struct age_clock *t, wall_t last, mono_t mono);

/* Goes on. *ret_leap_us: how far the wall clock leapt, in the call that sees it first, else 0. */
wall_t age_clock_go(struct age_clock *t, wall_t wall, mono_t mono, int64_t *ret_leap_us);

#endif
