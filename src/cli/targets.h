/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/targets.h - "inferometer targets": what a running gateway scrapes and measures, what was
 * recognised, and what is missing; "inferometer targets explain" is targets_explain.h.
 */
#ifndef CLI_TARGETS_H
#define CLI_TARGETS_H

int targets_main(int argc, char **argv);

#endif
