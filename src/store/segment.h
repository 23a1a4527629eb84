/* SPDX-License-Identifier: Apache-2.0 */
/*
 * store/segment.h - the oldest rows of a day's tail become columns, with what says which questions
 * need not read them.
 *
 * Zones:     per number of a record between which values it lies in the segment.
 * Filter:    bits set by the request ids of the segment: an id without its bits is not there; of
 *            ids that are not there, one in some 300 has them all the same.
 * Errors:    as db/db.h; -EBADMSG: the tail is damaged.
 * Threading: one owner each.
 */
#ifndef STORE_SEGMENT_H
#define STORE_SEGMENT_H

#include "store/column.h"
#include "store/day.h"
#include "store/rowcode.h"

enum { SEGMENT_ROWS = 4096, SEGMENT_ROWS_MAX = COLUMN_ROWS_MAX };

/* What making segments needs, kept from one to the next: some 8 MiB. */
struct segment_maker;
int segment_maker_new(struct segment_maker **ret) WARN_UNUSED;
struct segment_maker *segment_maker_free(struct segment_maker *m);

/*
 * Makes one segment of the tail's first SEGMENT_ROWS rows, or of all when there are fewer, in a
 * transaction of its own. After an error the day has to be closed.
 */
int segment_make(struct segment_maker *m, struct day *d) WARN_UNUSED;

/* Removes the day's oldest segment; *ret_n_rows: how many rows that were, 0: it has none. After an
 * error the day has to be closed. */
int segment_drop_oldest(struct day *d, int64_t *ret_n_rows) WARN_UNUSED;

/* The zone of a field of that number; false: nothing is known of it. */
bool segment_zone(struct span zones, int64_t field, struct column_zone *ret);

/* Whether an id may be in the segment of that filter. */
bool segment_may_have(struct span filter, struct span id);

/* Blocks of a tail: checks the checksum behind and takes it off. -EBADMSG. */
int segment_check_block(struct span *block) WARN_UNUSED;

/* Layouts of a file, read when they are first asked for. */
struct segment_layouts {
    struct layout **at;
    int64_t *ids;
    size_t n;
};
int segment_layout(struct segment_layouts *l, struct db *db, int64_t id,
                   const struct layout **ret) WARN_UNUSED;
void segment_layouts_done(struct segment_layouts *l);

#endif
