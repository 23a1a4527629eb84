/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/slos.h - "inferometer slo": rules of SLOs, how soon they page, and how often for nothing.
 */
#ifndef CLI_SLOS_H
#define CLI_SLOS_H

/* argv[0] is the command's name. Returns the exit status: 0, 1 (a mistake or failure), 2 (usage).
 */
int slos_main(int argc, char **argv);

#endif
