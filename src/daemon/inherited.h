/* SPDX-License-Identifier: Apache-2.0 */
/*
 * daemon/inherited.h - listening sockets that somebody else opened for this process: a service
 *                      manager (daemon/activation.h), or the process before it
 *                      (daemon/takeover.h).
 *
 * Ownership: the set owns the descriptors until inherited_find gives one away.
 * Threading: plain values.
 */
#ifndef DAEMON_INHERITED_H
#define DAEMON_INHERITED_H

#include <stdbool.h>
#include <stddef.h>

#include "io/addr.h"

enum { INHERITED_MAX = 32 };

struct inherited_socket {
    struct addr at;
    int fd;        /* -1: given away */
    bool is_admin; /* it came as the admin listener's */
    bool is_ours;  /* nobody else will listen there once we stop */
};

struct inherited {
    size_t n;
    struct inherited_socket items[INHERITED_MAX];
};

/* Room is checked by the caller. The socket is listener_adopt's. */
void inherited_add(struct inherited *in, const struct inherited_socket *s);

/*
 * The socket for that address of the configuration, which may leave the port to the kernel; it is
 * the caller's then. NULL: none.
 */
struct inherited_socket *inherited_find(struct inherited *in, const struct addr *at, bool is_admin);

/* Closes what was not given away. */
void inherited_done(struct inherited *in);

#endif
