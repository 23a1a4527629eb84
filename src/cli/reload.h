/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/reload.h - inferometer reload: asks a running gateway, over its admin listener, to read its
 *                configuration again, and prints what came of it.
 */
#ifndef CLI_RELOAD_H
#define CLI_RELOAD_H

/* Exit status: 0 taken over, 1 refused or not reached, 2 wrong flags. */
int reload_main(int argc, char **argv);

#endif
