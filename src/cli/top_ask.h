/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/top_ask.h - private to cli/top_*: the questions behind a live table.
 *
 * Errors:    negative errno with a text: the metrics did not come. What else does not come is
 *            empty: a gateway without history answers no queries.
 * Threading: the main thread; waits for all answers of a call, TOP_ASK_PATIENCE_S at most, and no
 *            longer than until Ctrl-C on the screen (top/screen.h).
 */
#ifndef CLI_TOP_ASK_H
#define CLI_TOP_ASK_H

#include "cli/talk.h"
#include "top/feed.h"
#include "top/lists.h"

enum { TOP_ASK_PATIENCE_S = 5 };

/* The minutes before now; nothing where the gateway keeps none. */
int top_ask_history(const struct talk_place *at, struct top_feed *f,
                    struct err *reterr) WARN_UNUSED;
/* How it is now. */
int top_ask_now(const struct talk_place *at, struct top_feed *f, struct top_lists *l,
                struct err *reterr) WARN_UNUSED;

#endif
