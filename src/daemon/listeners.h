/* SPDX-License-Identifier: Apache-2.0 */
/*
 * daemon/listeners.h - the sockets that clients and administrators connect to: opened, or taken
 *                      over from whoever opened them.
 *
 * Access:    an address that other machines reach needs keys, or the decision to do without
 *            (access.open).
 * Ownership: descriptors belong to this until listeners_close; workers and the admin thread borrow
 *            them. A socket that others hold, too, is only closed: shutting it down would throw
 *            away what waits in its queue for them.
 * Threading: the main thread's, listeners_lend and listeners_own also the admin thread's;
 *            descriptors and texts are constant while it runs.
 */
#ifndef DAEMON_LISTENERS_H
#define DAEMON_LISTENERS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "daemon/config.h"
#include "daemon/inherited.h"
#include "io/addr.h"

enum { LISTENERS_MAX = 16, LISTENERS_ALL_MAX = LISTENERS_MAX + 1 };

struct listeners {
    size_t n;                                     /* for clients */
    int fds[LISTENERS_ALL_MAX];                   /* the admin listener's is the last, at [n] */
    char texts[LISTENERS_ALL_MAX][ADDR_TEXT_MAX]; /* addresses as bound */
    atomic_bool is_ours[LISTENERS_ALL_MAX];       /* nobody else holds it */
    atomic_bool is_lent[LISTENERS_ALL_MAX];       /* it is ours, but for one more process */
    size_t n_all;                                 /* open, admin included */
    bool is_public;       /* one of the clients' is reachable from other machines */
    bool is_admin_public; /* the admin listener's is */
};

/* All addresses of the configuration. What fits is taken from in. On failure what was opened stays
 * for listeners_close, and *reterr says what to do. */
int listeners_open(struct listeners *l, const struct config *c, struct inherited *in,
                   struct err *reterr) WARN_UNUSED;

/* Whether they may be served by this configuration, too. -EPERM with text and hint. */
int listeners_check(const struct listeners *l, const struct config *c,
                    struct err *reterr) WARN_UNUSED;

/* Clients are refused from now on, where nobody else listens. */
void listeners_refuse(struct listeners *l);

/* Another process gets what is ours, and may or may not listen there from now on. */
void listeners_lend(struct listeners *l);

/* It does not, or it has told that it is gone: bit i of which: socket i is ours again. */
void listeners_own(struct listeners *l, uint32_t which);

void listeners_close(struct listeners *l); /* also of one that is all zeros */

#endif
