/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/kept.h - inferometer requests: asks a running gateway for the requests that it keeps, and
 *              shows them as a table, JSON lines or CSV, or one of them with all its stages.
 */
#ifndef CLI_KEPT_H
#define CLI_KEPT_H

/* Exit status: 0 answered, 1 refused or not reached, 2 wrong flags or conditions. */
int kept_main(int argc, char **argv);

#endif
