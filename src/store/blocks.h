/* SPDX-License-Identifier: Apache-2.0 */
/*
 * store/blocks.h - rows on their way to disk: blocks of encoded rows, each of one day.
 *
 * Role:      rows are encoded where they come in, and wait in a tenth of the memory of a record.
 *            Around midnight the blocks of two days are open at once.
 * Memory:    max_bytes of rows, 12 KiB a block beside, and what BLOCKS_SPARE blocks keep.
 * Errors:    -ENOBUFS: max_bytes are waiting; -ENOMEM.
 * Threading: one owner, or under the owner's lock.
 */
#ifndef STORE_BLOCKS_H
#define STORE_BLOCKS_H

#include "store/day.h"
#include "store/rowcode.h"

enum { BLOCKS_SPARE = 2 };

struct block {
    int64_t day, from_us, to_us;
    bool is_closed; /* has its checksum; no more rows */
    struct buf bytes;
    struct rowcode_writer writer;
};

struct blocks {
    struct block **at;
    size_t n, cap;
    size_t n_rows, n_bytes, max_bytes;
    struct block *spare[BLOCKS_SPARE];
};

void blocks_init(struct blocks *b, size_t max_bytes);
void blocks_done(struct blocks *b);

int blocks_append(struct blocks *b, const struct record *record) WARN_UNUSED;

/* The block with its checksum, ready to be written. layout: of this program. */
int blocks_close(struct blocks *b, struct block *block) WARN_UNUSED;
struct day_block blocks_view(const struct block *block, struct span layout);

/* The first n are done with. */
void blocks_drop(struct blocks *b, size_t n);

/* All of from go behind those of to, as long as to has not its max_bytes. */
int blocks_move(struct blocks *from, struct blocks *to) WARN_UNUSED;

#endif
