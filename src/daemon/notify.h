/* SPDX-License-Identifier: Apache-2.0 */
/*
 * daemon/notify.h - tells a service manager how far the program is (sd_notify(3)'s protocol).
 *
 * Role:      datagrams to the socket that NOTIFY_SOCKET names; without one, nothing is told. A
 *            manager that does not listen is no reason to stop: what cannot be told is lost.
 * Threading: one owner.
 */
#ifndef DAEMON_NOTIFY_H
#define DAEMON_NOTIFY_H

#include <stdint.h>
#include <sys/types.h>

#include "base/attr.h"

struct notify {
    int _fd;             /* -1: nobody wants to know */
    int64_t watchdog_ns; /* the manager wants a sign of life at least so often; 0: it does not */
};

/* From the environment: NOTIFY_SOCKET, WATCHDOG_USEC and WATCHDOG_PID. */
void notify_open(struct notify *n);
void notify_close(struct notify *n);

/* Serving, also again after notify_reloading. status: for people, one line. */
void notify_ready(const struct notify *n, const char *status);
void notify_reloading(const struct notify *n);
void notify_stopping(const struct notify *n, const char *status);
void notify_alive(const struct notify *n);
/* Another process serves from now on. */
void notify_main_pid(const struct notify *n, pid_t pid);

#endif
