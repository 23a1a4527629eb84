/* SPDX-License-Identifier: Apache-2.0 */
/*
 * daemon/pulse.h - whether a loop still turns: it is asked, and has to have answered by the next
 *                  time.
 *
 * Threading: pulse_beats by one thread; the answer is the loop's.
 */
#ifndef DAEMON_PULSE_H
#define DAEMON_PULSE_H

#include <stdatomic.h>
#include <stdbool.h>

#include "io/loop.h"

struct pulse {
    struct loop *_loop;
    atomic_bool _is_answered;
};

/* The loop outlives the pulse, and runs until nobody asks any more. */
void pulse_init(struct pulse *p, struct loop *l);

/* Whether the loop has turned since the last call (the first: true); asks again if it has. */
bool pulse_beats(struct pulse *p);

#endif
