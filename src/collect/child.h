/* SPDX-License-Identifier: Apache-2.0 */
/*
 * collect/child.h - a program that is run for what it prints, and not for longer than it may.
 *
 * Role:      nvidia-smi and the like: standard output and error gathered, standard input empty, of
 *            the environment PATH, HOME, LANG and LD_LIBRARY_PATH.
 * Deadline:  when it is over the child and its process group are killed and reaped. One that cannot
 *            be killed (it waits in its driver) is left behind and kept in mind: child_is_left says
 *            whether it is still there, and until it is gone no other one should be started.
 * Limits:    CHILD_OUT_BYTES of each stream; more of it is read and dropped.
 * Errors:    negative errno of what could not be done: -ENOENT and -EACCES for the program,
 *            -ETIMEDOUT when it was killed, -ENOMEM.
 * Threading: any; blocks up to the deadline and CHILD_REAP_MS.
 */
#ifndef COLLECT_CHILD_H
#define COLLECT_CHILD_H

#include <sys/types.h>

#include "base/buf.h"

enum { CHILD_OUT_BYTES = 1024 * 1024, CHILD_REAP_MS = 1000 };

struct child {
    struct buf out, errors;
    int status;  /* exit status, or 128 and its signal; valid when child_run said 0 */
    pid_t _left; /* killed and not gone yet; 0: none */
};

void child_init(struct child *c);
void child_done(struct child *c);

/* argv[0] is a path, or a name that is looked up in PATH. out and errors are what it printed. */
int child_run(struct child *c, const char *const *argv, int64_t deadline_ns) WARN_UNUSED;
bool child_is_left(struct child *c);

#endif
