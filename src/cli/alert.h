/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/alert.h - the subcommand "inferometer alert": what is firing, silences, receivers.
 *
 * Role:      talks to the admin listener of a running gateway; alert.c the commands, alert_show.c
 *            what people see of the answers.
 * Threading: the main thread.
 */
#ifndef CLI_ALERT_H
#define CLI_ALERT_H

int alert_main(int argc, char **argv);

#endif
