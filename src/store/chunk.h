/* SPDX-License-Identifier: Apache-2.0 */
/*
 * store/chunk.h - a day read chunk by chunk: a segment, or a block of the tail.
 *
 * Role:      what questions, look-ups and the archive have in common: which chunks there are, and
 *            the values of single fields of one.
 * Reading:   within chunk_source_open .. close one state of the file is seen.
 * Memory:    the list of chunks (64 bytes each), and of the chunk at hand what was asked for.
 * Errors:    as db/db.h; -EBADMSG: this chunk is damaged, others may not be.
 * Threading: one owner, but chunk_source_interrupt.
 */
#ifndef STORE_CHUNK_H
#define STORE_CHUNK_H

#include "base/arena.h"
#include "store/column.h"
#include "store/day.h"
#include "store/rowcode.h"
#include "store/segment.h"

/* What many sources use one after the other. */
struct chunk_room {
    struct column_reader *columns;
    struct rowcode_batch *batch; /* of a block of the tail */
    struct buf block;            /* its bytes */
    int64_t numbers[COLUMN_ROWS_MAX], totals[COLUMN_ROWS_MAX];
};
int chunk_room_new(struct chunk_room **ret) WARN_UNUSED;
struct chunk_room *chunk_room_free(struct chunk_room *room);

struct chunk {
    int64_t first_row;
    uint32_t n_rows;
    bool is_tail;
    int64_t from_us, to_us;
    double best; /* for whoever sorts chunks */
};

struct chunk_source {
    int64_t day;
    struct db *db;
    struct chunk_room *room;
    int64_t fields[FIELDS_MAX];  /* number of each field's name; 0: not in this file */
    int16_t own[DAY_FIELDS_MAX]; /* and back; -1 */
    struct segment_layouts layouts;
    int64_t loaded_block; /* whose rows are in the batch; 0: none */
    sqlite3_stmt *_column, *_columns, *_block, *_filter;
};

/* -ENOENT: there is no such day. */
int chunk_source_open(const char *dir, int64_t day, struct chunk_room *room,
                      struct chunk_source **ret) WARN_UNUSED;
struct chunk_source *chunk_source_close(struct chunk_source *s);
void chunk_source_interrupt(struct chunk_source *s);

/*
 * Chunks with rows in [from_us, to_us), in the order in which rows came. zones is valid during the
 * call (empty for the tail); keep says whether the chunk is wanted (NULL: all are), and may set
 * best. The list is to be freed.
 */
int chunk_list(struct chunk_source *s, int64_t from_us, int64_t to_us,
               bool (*keep)(void *ctx, const struct chunk_source *s, struct chunk *c,
                            struct span zones),
               void *ctx, struct chunk **ret, size_t *ret_n) WARN_UNUSED;

/* The chunk that has a row; -ENOENT. */
int chunk_of_row(struct chunk_source *s, int64_t row, struct chunk *ret) WARN_UNUSED;

/* A column of a segment: 1, or 0 where it has none. */
int chunk_column(struct chunk_source *s, const struct chunk *c, size_t field,
                 struct column *ret) WARN_UNUSED;
/* Rows of a block of the tail are now in the room's batch. */
int chunk_load_block(struct chunk_source *s, const struct chunk *c) WARN_UNUSED;

/* A number of all rows. 0: the chunk has no such field, out is full of fields_missing; 1. */
int chunk_numbers(struct chunk_source *s, const struct chunk *c, size_t field,
                  int64_t *out) WARN_UNUSED;
/* When all rows ended, into the room's numbers. */
int chunk_ends(struct chunk_source *s, const struct chunk *c, const int64_t **ret) WARN_UNUSED;

/* Whole records of rows at[0 .. n - 1] (within the chunk, any order) into records[i]; texts are in
 * the arena. */
int chunk_records(struct chunk_source *s, const struct chunk *c, const uint32_t *at, size_t n,
                  struct arena *arena, struct record *const *records) WARN_UNUSED;

/* Rows of the chunk that have that request id, the first one into *ret_at; 0 or 1. */
int chunk_find(struct chunk_source *s, const struct chunk *c, struct span id,
               uint32_t *ret_at) WARN_UNUSED;

#endif
