/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/top_live.h - "inferometer top": what passes through a running gateway, live in a terminal, or
 * once for scripts.
 */
#ifndef CLI_TOP_LIVE_H
#define CLI_TOP_LIVE_H

/* Exit status: 0 shown, 1 the gateway does not answer, 2 wrong flags. */
int top_live_main(int argc, char **argv);

#endif
