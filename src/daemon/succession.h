/* SPDX-License-Identifier: Apache-2.0 */
/*
 * daemon/succession.h - a process between the one before it (daemon/takeover.h) and the one after
 * it (daemon/handover.h).
 *
 * Order:     init, ask, (listeners_open,) note, open, (threads,) serve; finish when nothing is
 *            accepted any more; done.
 * Threading: the main thread; on_former_over comes on the loop's, and so has finish to. done: the
 *            loop does not run any more.
 */
#ifndef DAEMON_SUCCESSION_H
#define DAEMON_SUCCESSION_H

#include "base/attr.h"
#include "base/err.h"
#include "daemon/control.h"
#include "daemon/handover.h"
#include "daemon/listeners.h"
#include "daemon/takeover.h"

struct succession {
    struct listeners *_listeners;
    struct control *_control; /* is told of the successor */
    struct takeover _former;
    struct handover *_next; /* NULL: none is configured */
    size_t _first;          /* of the former process' sockets among those inherited */
    uint32_t _taken;        /* bit i: its socket i is listened on */
    struct loop *_loop;
    void (*_on_former_over)(void *arg);
    void *_arg;
};

void succession_init(struct succession *s, struct listeners *l, struct control *c);

/* Adds the sockets of the process that runs, if one does. path "": nobody is asked. */
void succession_ask(struct succession *s, const char *path, struct inherited *in);

/* Which of them were given away. */
void succession_note(struct succession *s, const struct inherited *in);

/* Makes ready for the next process. path "": there will be none. */
int succession_open(struct succession *s, struct loop *l, const char *path,
                    struct err *reterr) WARN_UNUSED;

/* This process serves: the former one may stop, and nothing here is a reason to fail any more.
 * on_former_over(arg): all connections that wait are for us. */
void succession_serve(struct succession *s, void (*on_former_over)(void *arg), void *arg);

/* Nothing is accepted any more: tells the successor. */
void succession_finish(struct succession *s);
void succession_done(struct succession *s); /* also of one that was only initialised */

#endif
