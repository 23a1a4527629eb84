/* SPDX-License-Identifier: Apache-2.0 */
/*
 * store/aside.h - rows of a process that has not got the data directory, which another one writes.
 *
 * Role:      after a handover two processes or more have rows of one directory. Those that wait for
 *            it put theirs into files of their own, DIR/spill-TIME-PID, so that neither their end
 *            nor kill -9 loses any; the one that has it takes in what those left that ended.
 * Once only: each block is stored with its mark, as those of the spill file are (store/spill.h).
 * Errors:    negative errno, of files or of the database.
 * Threading: one owner.
 */
#ifndef STORE_ASIDE_H
#define STORE_ASIDE_H

#include "store/blocks.h"
#include "store/rows.h"
#include "store/spill.h"

/* Blocks of from go into *spill, which is opened with the first one; what was taken is dropped. */
int aside_put(const char *dir, size_t n_bytes, struct blocks *from,
              struct spill **spill) WARN_UNUSED;

/* A file that somebody left, while it is taken in. */
struct aside_left {
    struct spill *spill; /* NULL: none is open */
    char path[DAY_PATH_MAX];
    uint64_t n_given_up; /* rows that could not be read */
};
/* Some blocks of what was left. 1: there may be more; 0: nothing is left. An error is the
 * database's; of files that cannot be opened it is logged. */
int aside_take_in(struct aside_left *l, const char *dir, struct rows *rows) WARN_UNUSED;
void aside_left_done(struct aside_left *l);

#endif
