/* SPDX-License-Identifier: Apache-2.0 */
/*
 * store/rowcode.h - rows one behind the other, as they wait in the tail and in the spill file.
 *
 * Role:      cheap to write on the way to disk, self-contained per block of rows; columns are made
 *            of it later.
 * Form:      per row a bit per field of the layout that says whether it has something to tell, then
 *            the values of those that do: varints (times as the difference to the row before), or a
 *            text: 1 + slot of a text that the block had before, or 1 + ROWCODE_SLOTS + length and
 *            the bytes. Which slot a text is in follows from its hash.
 * Memory:    a writer is about 12 KiB.
 * Errors:    -ENOMEM, -EMSGSIZE of buf; -EBADMSG for bytes that are no rows.
 * Threading: one owner each.
 */
#ifndef STORE_ROWCODE_H
#define STORE_ROWCODE_H

#include "base/buf.h"
#include "store/bytes.h"
#include "store/layout.h"

enum {
    ROWCODE_SLOTS = 64,
    ROWCODE_ROWS_MAX = 4096,             /* of one block */
    ROWCODE_BYTES_MAX = 4 * 1024 * 1024, /* of one block, the last row not counted */
    ROWCODE_ROW_MAX = 32 * 1024,         /* more than the longest row has */
};

struct rowcode_slot {
    uint32_t offset, n; /* in the block; n 0: empty */
};

struct rowcode_writer {
    struct rowcode_slot slots[FIELDS_MAX / 4][ROWCODE_SLOTS]; /* per field that is a text */
    int64_t last_wall;
    uint32_t n_rows;
};

void rowcode_begin(struct rowcode_writer *w);
/* Appends one row, of this program's layout, to the block (empty at the beginning). */
int rowcode_put(struct rowcode_writer *w, const struct record *r, struct buf *block) WARN_UNUSED;

/* Rows as columns of this program's fields: numbers or texts, the other is NULL. */
struct rowcode_batch {
    size_t n_rows, cap;
    int64_t *numbers[FIELDS_MAX];
    struct span *texts[FIELDS_MAX];
    bool is_there[FIELDS_MAX]; /* the layout of any row has the field */
    void *_memory;
};
/* Room for cap rows. */
int rowcode_batch_new(size_t cap, struct rowcode_batch **ret) WARN_UNUSED;
struct rowcode_batch *rowcode_batch_free(struct rowcode_batch *b);
void rowcode_batch_clear(struct rowcode_batch *b);

/* Appends the block's rows, exactly n_rows; texts are views of the block. -EBADMSG leaves the batch
 * as it was, -EMSGSIZE: they do not fit. */
int rowcode_read(struct span block, size_t n_rows, const struct layout *l,
                 struct rowcode_batch *b) WARN_UNUSED;

/* Fills r from row i. Texts that a record borrows are views; a RECORD_CSTR goes through keep, which
 * gives it a NUL behind (NULL: no memory). */
int rowcode_record(const struct rowcode_batch *b, size_t i,
                   struct span (*keep)(void *ctx, struct span text), void *ctx,
                   struct record *r) WARN_UNUSED;

#endif
