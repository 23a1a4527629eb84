/* SPDX-License-Identifier: Apache-2.0 */
/*
 * daemon/handover.h - the side of a running process: offers its listening sockets to the one that
 *                     is to come after it.
 *
 * Protocol:  packets on a Unix socket (SOCK_SEQPACKET) at the configured path. Whoever connects is
 *            told "inferometer-handover 1 N OURS" together with the N listening descriptors, the
 *            admin listener's last; bit i of OURS: nobody but the two holds socket i. When it
 *            serves, it answers "ready TAKEN", bit i: it listens on socket i. When this process
 *            accepts no more it closes the connection. Whoever leaves without "ready" changes
 *            nothing.
 * Access:    the socket has mode 0600, and the peer has to be of the same user, or root.
 * Path:      a new process prepares its socket beside the path and renames it into place when it
 *            serves, so that the former one answers there until then.
 * Lending:   while another process has the sockets and may listen there, none is shut down.
 * Threading: the loop's; on_taken is called there, once.
 */
#ifndef DAEMON_HANDOVER_H
#define DAEMON_HANDOVER_H

#include <stdint.h>
#include <sys/types.h>

#include "base/attr.h"
#include "base/err.h"
#include "daemon/listeners.h"
#include "io/loop.h"

#define HANDOVER_HELLO "inferometer-handover 1 "
#define HANDOVER_READY "ready "

/* A packet in either direction. */
enum { HANDOVER_PACKET_MAX = 128 };

struct handover;

struct handover_config {
    const char *path;            /* as long as the process lives */
    struct listeners *listeners; /* likewise */
    /* Process pid serves now; bit i of taken: it listens on socket i. */
    void (*on_taken)(void *arg, pid_t pid, uint32_t taken);
    void *arg;
};

/* Prepares it; nobody can connect before handover_publish. */
int handover_open(struct loop *l, const struct handover_config *config, struct handover **ret,
                  struct err *reterr) WARN_UNUSED;

/* Puts it into the place of a former process'. */
int handover_publish(struct handover *h, struct err *reterr) WARN_UNUSED;

/* Accepting is over: tells the one that took over, and offers nothing any more. NULL is allowed. */
void handover_finish(struct handover *h);

/* NULL is allowed; returns NULL. Removes its file unless another process has put one there. */
struct handover *handover_free(struct handover *h);

#endif
