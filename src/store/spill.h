/* SPDX-License-Identifier: Apache-2.0 */
/*
 * store/spill.h - where blocks of rows wait while the database refuses them.
 *
 * Shape:     one file, whose room is taken from the file system when it is made, so that it can be
 *            written when nothing else can. Blocks lie one behind the other, each with a checksum
 *            and its mark (epoch, number). When all of them have gone into the database the file
 *            begins anew, with the next epoch.
 * Once only: whoever takes a block into the database stores its mark in the same transaction, so
 *            that a block that comes twice, after a kill, is known (store/rows.h).
 * Durability: what spill_put returned 0 for survives the end of the process.
 * Errors:    negative errno of files; -ENOSPC: full, nothing was written; -ENOMEM.
 * Threading: one owner.
 */
#ifndef STORE_SPILL_H
#define STORE_SPILL_H

#include "base/err.h"
#include "store/day.h"

enum { SPILL_BYTES_MIN = 64 * 1024 };

struct spill;

/* Opens or makes it, of n_bytes, and finds what waits in it. A file that is smaller grows; one
 * whose beginning is damaged, or that is something else, goes aside. -EBUSY: another one has it
 * open; -EAGAIN: it was removed meanwhile. */
int spill_open(const char *path, size_t n_bytes, struct spill **ret,
               struct err *reterr) WARN_UNUSED;
struct spill *spill_close(struct spill *s); /* what waits, waits on */
/* Whether it is the file at path still: nobody removed or replaced it. */
bool spill_is_at(const struct spill *s, const char *path);

int spill_put(struct spill *s, int64_t day, const struct day_block *block) WARN_UNUSED;

/* The oldest block that waits: 1; it is valid until the next call. 0: none waits. -EBADMSG: the
 * rest cannot be read, and is given up; spill_stats told how many rows that were. */
int spill_next(struct spill *s, int64_t *ret_day, struct day_block *ret,
               struct day_mark *ret_mark) WARN_UNUSED;
/* That one is in the database. */
void spill_drop(struct spill *s);

bool spill_has_blocks(const struct spill *s);

struct spill_stats {
    uint64_t n_rows, n_blocks; /* that wait */
    size_t n_bytes, cap_bytes; /* in use since it was last empty; of the file */
};
void spill_stats(const struct spill *s, struct spill_stats *ret);

#endif
