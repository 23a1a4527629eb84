/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/terminal.h - what standard output can show, and text that does no harm there.
 *
 * Threading: pure.
 */
#ifndef CLI_TERMINAL_H
#define CLI_TERMINAL_H

#include <stdbool.h>

#include "base/buf.h"
#include "base/err.h"

/* Columns; 80 where it is no terminal. */
int terminal_width(void);

/* By the environment. */
bool terminal_has_utf8(void);

/* Columns that a text takes: one for each character. */
size_t terminal_columns(struct span s);

/* Texts of others may hold what a terminal obeys: '?' stands for control characters. */
int terminal_put(struct span s, struct buf *out) WARN_UNUSED;

/* What was printed is written. 0, or why it could not be, with a text. */
int terminal_flush(struct err *reterr) WARN_UNUSED;

#endif
