/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/rules_suggest.h - "inferometer rules suggest": thresholds from what a gateway has recorded.
 */
#ifndef CLI_RULES_SUGGEST_H
#define CLI_RULES_SUGGEST_H

/* argv[0] is "suggest". Returns the exit status: 0, 1 (refused or not reached), 2 (usage). */
int rules_suggest_main(int argc, char **argv);

#endif
