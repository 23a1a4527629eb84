/* SPDX-License-Identifier: Apache-2.0 */
/*
 * top/screen.h - a terminal as a screen of lines, and its keys (ncurses).
 *
 * Role:      shows what view.h drew; nothing else here knows of terminals. Built without ncurses
 *            (-DNCURSES=OFF) top_screen_open says so, and the rest does nothing.
 * State:     the terminal's, of the whole process: one screen at a time. top_screen_close puts it
 *            back as it was.
 * Errors:    -ENOTTY: no terminal, or one that nothing is known of; -ENOSYS: built without.
 * Threading: the main thread.
 */
#ifndef TOP_SCREEN_H
#define TOP_SCREEN_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "base/span.h"

enum top_key {
    TOP_KEY_NONE = 0, /* the time is over, or the size changed */
    TOP_KEY_UP = 0x1000,
    TOP_KEY_DOWN,
    TOP_KEY_PAGE_UP,
    TOP_KEY_PAGE_DOWN,
    TOP_KEY_HOME,
    TOP_KEY_ESCAPE,
    TOP_KEY_ENTER,
    TOP_KEY_RUBOUT,
    TOP_KEY_GONE,      /* the terminal is */
    TOP_KEY_INTERRUPT, /* SIGINT: Ctrl-C */
};

int top_screen_open(struct err *reterr) WARN_UNUSED;
void top_screen_close(void);
void top_screen_size(size_t *ret_width, size_t *ret_height);
/* lines: with bytes of enum top_style. */
void top_screen_show(struct span lines);
/* Whether Ctrl-C came since it was opened; what waits for others ends then. */
bool top_screen_is_interrupted(void);
/* Waits: an ASCII character or one of enum top_key. */
int top_screen_key(int wait_ms);

#endif
