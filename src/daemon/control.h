/* SPDX-License-Identifier: Apache-2.0 */
/*
 * daemon/control.h - what other threads ask of the main thread, which waits for it beside signals.
 *
 * Role:      a reload changes what belongs to the main thread, so the admin thread only asks for
 *            it. Each question has a number; an attempt that begins answers all that were asked
 *            before it, and none that came later: those may mean a newer file.
 * Threading: control_ask_reload and control_wake by any thread, the rest by the main thread.
 */
#ifndef DAEMON_CONTROL_H
#define DAEMON_CONTROL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/attr.h"

struct control {
    int fd;                  /* eventfd: readable when something was asked; -1: none */
    _Atomic pid_t successor; /* serves in our place; 0: none. Set before control_wake. */
    _Atomic uint64_t _n_asked;
    uint64_t _n_taken;
};

int control_init(struct control *c) WARN_UNUSED; /* negative errno */
void control_done(struct control *c);

/* Wakes the main thread. */
void control_wake(struct control *c);

/* The number of this question, from 1. */
uint64_t control_ask_reload(struct control *c);

/* Whether any waits: all up to *ret_upto are answered by what begins now. Clears the wake-up. */
bool control_take_reload(struct control *c, uint64_t *ret_upto);

#endif
