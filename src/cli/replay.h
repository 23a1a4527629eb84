/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/replay.h - "inferometer replay": what a recorded stream says, as one JSON object.
 */
#ifndef CLI_REPLAY_H
#define CLI_REPLAY_H

/* argv[0] is the command's name. Returns the exit status: 0, 1 (cannot read), 2 (usage). */
int replay_main(int argc, char **argv);

#endif
