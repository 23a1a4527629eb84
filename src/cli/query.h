/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/query.h - inferometer query: asks a running gateway for its history in PromQL, and shows the
 *               answer as a table, a plot, JSON or CSV.
 */
#ifndef CLI_QUERY_H
#define CLI_QUERY_H

/* Exit status: 0 answered, 1 refused or not reached, 2 wrong flags or query. */
int query_main(int argc, char **argv);

#endif
