/* SPDX-License-Identifier: Apache-2.0 */
/*
 * daemon/takeover.h - the side of a starting process: takes the listening sockets of the one that
 *                     runs (daemon/handover.h, where the protocol is told).
 *
 * Threading: takeover_begin, _ready and _done by the main thread while the loop does not run;
 *            on_over on the loop's.
 */
#ifndef DAEMON_TAKEOVER_H
#define DAEMON_TAKEOVER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/attr.h"
#include "daemon/inherited.h"
#include "io/loop.h"

struct takeover {
    struct watch _watch; /* fd -1: there is nobody to take over from */
    struct loop *_loop;
    void (*_on_over)(void *arg);
    void *_arg;
};

void takeover_init(struct takeover *t);

/*
 * Asks the process at path, for a few seconds at most, and adds what it has. 0, also when nobody is
 * there; else -errno: it did not answer as it should, or not at all.
 */
int takeover_begin(struct takeover *t, const char *path, struct inherited *in) WARN_UNUSED;
bool takeover_is_open(const struct takeover *t);

/* Calls on_over(arg) once the former process accepts no more, or is gone. */
int takeover_watch(struct takeover *t, struct loop *l, void (*on_over)(void *arg),
                   void *arg) WARN_UNUSED;

/* This process serves; bit i of taken: on the i-th socket of takeover_begin. */
void takeover_ready(const struct takeover *t, uint32_t taken);

void takeover_done(struct takeover *t);

#endif
