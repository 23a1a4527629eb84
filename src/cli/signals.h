/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/signals.h - signals as events of the main thread: blocked everywhere, taken by waiting.
 */
#ifndef CLI_SIGNALS_H
#define CLI_SIGNALS_H

#include <signal.h>

/* Blocks SIGINT, SIGTERM, SIGHUP for this thread and those it starts; ignores SIGPIPE. */
void signals_block(void);

/* The next of them, or 0 after timeout_ms (-1: no limit). */
int signals_wait(int timeout_ms);

#endif
