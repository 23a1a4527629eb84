/* SPDX-License-Identifier: Apache-2.0 */
/*
 * io/listener.h - listening sockets: opened once, watched by one or several loops.
 *
 * Unix sockets: whoever opened one closes it with listener_close, which removes the file. A file
 *            that was left behind (a socket that nobody answers on) makes room for a new one; a
 *            socket in use, and anything that is no socket, is left alone: -EADDRINUSE.
 * Threading: a struct listener belongs to its loop; descriptors may be shared by several loops.
 */
#ifndef IO_LISTENER_H
#define IO_LISTENER_H

#include "base/attr.h"
#include "io/addr.h"
#include "io/loop.h"

/* Of a Unix socket's file: owner and group may connect. */
#define LISTENER_MODE_DEFAULT 0660

struct listener {
    struct watch _watch;
    struct timer _pause; /* after running out of descriptors */
    struct loop *_loop;
    int _spare;       /* a descriptor to give up when no other is free; -1: gone */
    bool serves_last; /* may be set at any time */
    void (*on_accept)(struct listener *l, int fd); /* takes over fd: non-blocking, close-on-exec */
};

/* Opens a listening socket (stamps on, SO_REUSEADDR). Returns the fd or -errno. ret_bound (may be
 * NULL): with the port that the kernel chose. */
int listener_open(const struct addr *at, int backlog, struct addr *ret_bound) WARN_UNUSED;

/*
 * Prepares a listening socket that somebody else opened, as if listener_open had. 0; -ENOTSOCK, or
 * -EINVAL: it does not listen, or is no stream socket; -EAFNOSUPPORT: of no family that is served.
 */
int listener_adopt(int fd, struct addr *ret_bound) WARN_UNUSED;

/* Closes a descriptor of listener_open, and removes the file of a Unix socket. */
void listener_close(int fd);

/* Refuses connections from now on; others may listen there, so what is left to do is close(2), once
 * nobody uses the number any more. */
void listener_refuse(int fd);

/*
 * Watches a listening fd, possibly shared by several loops (EPOLLEXCLUSIVE). fd stays the caller's.
 *
 * When descriptors run out, a few of the clients that wait are closed at once and counted, and then
 * accepting pauses for a moment. With serves_last one of them is accepted instead, in place of a
 * descriptor that was kept for it: for the listener that tells an operator what is wrong.
 */
int listener_start(struct listener *l, struct loop *loop, int fd,
                   void (*on_accept)(struct listener *l, int fd)) WARN_UNUSED;
void listener_stop(struct listener *l);

/*
 * Looks for waiting connections that this loop was not told of: with EPOLLEXCLUSIVE it may have
 * been another process, which has stopped meanwhile.
 */
void listener_look(struct listener *l);

#endif
