/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/incident_ask.h - the subcommand "inferometer incident": what went wrong, and what people say
 * of it.
 *
 * Role:      talks to the admin listener of a running gateway; incident_ask.c the commands,
 *            incident_show.c what people see of the answers.
 * Threading: the main thread.
 */
#ifndef CLI_INCIDENT_ASK_H
#define CLI_INCIDENT_ASK_H

int incident_ask_main(int argc, char **argv);

#endif
