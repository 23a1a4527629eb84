/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/review_ask.h - "inferometer slo review": asks a gateway to look back.
 */
#ifndef CLI_REVIEW_ASK_H
#define CLI_REVIEW_ASK_H

/* argv[0] is "review". Returns the exit status: 0, 1 (refused or not reached), 2 (usage). */
int review_ask_main(int argc, char **argv);

#endif
