/* SPDX-License-Identifier: Apache-2.0 */
/*
 * io/timer.h - hierarchical timer wheel: O(1) start and stop, 1 ms ticks.
 *
 * Units:     delays in ns, rounded up to the next tick; delays beyond 4.6 h are clamped to it and
 *            the timer re-armed by its owner if need be.
 * Memory:    struct timer lives in its owner.
 * Threading: the loop's.
 */
#ifndef IO_TIMER_H
#define IO_TIMER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/clock.h"
#include "base/list.h"

enum { TIMER_LEVELS = 4, TIMER_SLOTS = 64 };

struct timer {
    struct list _link;
    uint64_t _tick; /* when it is due */
    void (*on_fire)(struct timer *t);
};

struct timer_wheel {
    uint64_t _tick; /* all timers before it have fired */
    mono_t _epoch;
    uint64_t _busy[TIMER_LEVELS]; /* bit per slot that may hold timers */
    struct list _slots[TIMER_LEVELS][TIMER_SLOTS];
    uint64_t _n;
};

void timer_wheel_init(struct timer_wheel *w, mono_t now);

/* t must have been initialised once; starting a running timer moves it. */
void timer_init(struct timer *t, void (*on_fire)(struct timer *t));
void timer_start(struct timer_wheel *w, struct timer *t, mono_t now, int64_t delay_ns);
void timer_stop(struct timer_wheel *w, struct timer *t); /* idempotent */
bool timer_is_running(const struct timer *t);

/* Fires everything due at now; callbacks may start and stop timers. */
void timer_advance(struct timer_wheel *w, mono_t now);

/* ns from now until the wheel has to be advanced again; -1 when no timer runs. */
int64_t timer_next_ns(const struct timer_wheel *w, mono_t now);

#endif
