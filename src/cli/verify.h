/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/verify.h - the subcommand "inferometer verify".
 */
#ifndef CLI_VERIFY_H
#define CLI_VERIFY_H

int verify_main(int argc, char **argv);

#endif
