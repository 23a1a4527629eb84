/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/targets_explain.h - "inferometer targets explain": what a saved page of metrics tells.
 */
#ifndef CLI_TARGETS_EXPLAIN_H
#define CLI_TARGETS_EXPLAIN_H

int targets_explain_main(int argc, char **argv);

#endif
