/* SPDX-License-Identifier: Apache-2.0 */
/*
 * store/day.h - the file of one UTC day: its name, its schema, and the writer's hold on it.
 *
 * Schema:    tail       blocks of rows as they came (store/rowcode.h), each by the number of its
 *                       first row; a checksum of 8 bytes is behind the block
 *            segments   rows that are in columns: first row, how many, from and to when they ended,
 *                       zones of the numbers (store/segment.h)
 *            columns    id = first row of the segment * DAY_FIELDS_MAX + number of the field
 *            filters    which request ids a segment may have
 *            fields     number of a field's name
 *            layouts    what the blocks in the tail have (store/layout.h)
 *            marks      single numbers: the last block of the spill file, and of files that other
 *                       processes left, that came here
 *            Rows are numbered from 1 in the order in which they came.
 * Errors:    as db/db.h.
 * Threading: one owner.
 */
#ifndef STORE_DAY_H
#define STORE_DAY_H

#include "db/db.h"
#include "store/fields.h"

enum { DAY_PATH_MAX = 4096, DAY_FIELDS_MAX = 1024 };

/* 9999-12-31: names have four digits for the year. */
#define DAY_MAX INT64_C(2932896)
#define DAY_US  (INT64_C(86400) * US_PER_S)

extern const struct db_schema day_schema;

/* Days since the epoch. */
static inline int64_t day_of(int64_t us)
{
    return us >= 0 ? us / DAY_US : -((-us + DAY_US - 1) / DAY_US);
}

/* "DIR/requests-2026-11-30.db", and with another ending. -ENAMETOOLONG. */
int day_path(const char *dir, int64_t number, const char *ending, char *dst,
             size_t cap) WARN_UNUSED;
/* Numbers of the days that have a file in dir, ascending; to be freed. A dir that is not there has
 * none. */
int day_list(const char *dir, int64_t **ret, size_t *ret_n) WARN_UNUSED;

/* Which block of the spill file: its epoch grows with each emptying, its number with each block.
 * is_of_other: of the file of another process (store/aside.h), which has an epoch of its own. */
struct day_mark {
    uint64_t epoch, number;
    bool is_of_other;
};

struct day {
    int64_t number;
    struct db *db;
    int64_t next_row; /* that the next one gets */
    size_t n_tail_rows;
    struct day_mark mark; /* everything up to it is here */
    int64_t own_layout;   /* id of the layout whose blocks came last */
    struct buf own_layout_bytes;
    int64_t fields[FIELDS_MAX]; /* number of each of our fields' names */
    sqlite3_stmt *_insert_tail;
};

/* A damaged file is set aside, logged, and *ret_was_damaged is set. */
int day_open(const char *dir, int64_t number, struct day **ret, bool *ret_was_damaged,
             struct err *reterr) WARN_UNUSED;
struct day *day_close(struct day *d);

/* A block of rows, all of that layout. */
struct day_block {
    struct span rows;
    struct span layout;
    uint32_t n_rows;
    int64_t from_us, to_us; /* when they ended, inclusive */
};

/* A transaction; after an error in it the day has to be closed, which undoes it. */
int day_begin(struct day *d) WARN_UNUSED;
/* Into the tail. */
int day_put(struct day *d, const struct day_block *b) WARN_UNUSED;
int day_set_mark(struct day *d, struct day_mark mark) WARN_UNUSED;
/* 1: that block is here already; 0: it is not. */
int day_has_mark(struct day *d, struct day_mark mark) WARN_UNUSED;
int day_commit(struct day *d) WARN_UNUSED;

#endif
