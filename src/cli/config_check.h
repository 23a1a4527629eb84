/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/config_check.h - the subcommand "inferometer config": check a file, show what holds.
 *
 * Threading: main thread.
 */
#ifndef CLI_CONFIG_CHECK_H
#define CLI_CONFIG_CHECK_H

/*
 * argv[0] is "config". Returns the exit status: 0; 1 for mistakes in the file; 2 for a wrong
 * command line.
 */
int config_check_main(int argc, char **argv);

#endif
