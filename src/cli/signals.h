/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/signals.h - signals as events of the main thread: blocked everywhere, taken by waiting.
 */
#ifndef CLI_SIGNALS_H
#define CLI_SIGNALS_H

#include <signal.h>

#include "base/attr.h"

/* Blocks SIGINT, SIGTERM, SIGHUP for this thread and those it starts; ignores SIGPIPE. */
void signals_block(void);

/* The next of them, or 0 after timeout_ms (-1: no limit). */
int signals_wait(int timeout_ms);

/* A descriptor that is readable while one of them waits; the caller closes it. Or -errno. */
int signals_open(void) WARN_UNUSED;

/*
 * The next signal of signal_fd (signals_open), or 0: fd has become readable, or timeout_ms (-1: no
 * limit) passed.
 */
int signals_wait_or(int signal_fd, int fd, int timeout_ms);

#endif
