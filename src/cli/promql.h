/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/promql.h - "inferometer promql test": runs test scripts of PromQL.
 */
#ifndef CLI_PROMQL_H
#define CLI_PROMQL_H

/* argv[0] is the command's name. Returns the exit status: 0, 1 (a failure), 2 (usage). */
int promql_main(int argc, char **argv);

#endif
