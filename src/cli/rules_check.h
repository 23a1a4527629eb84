/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/rules_check.h - "inferometer rules check|test": rule files and their unit tests.
 */
#ifndef CLI_RULES_CHECK_H
#define CLI_RULES_CHECK_H

/* argv[0] is the command's name. Returns the exit status: 0, 1 (mistakes, failures), 2 (usage). */
int rules_check_main(int argc, char **argv);

#endif
