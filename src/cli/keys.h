/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/keys.h - the subcommand "inferometer key": adds, lists and revokes gateway keys.
 */
#ifndef CLI_KEYS_H
#define CLI_KEYS_H

/* Exit status: 0 done, 1 it could not be, 2 wrong usage. */
int keys_main(int argc, char **argv);

#endif
