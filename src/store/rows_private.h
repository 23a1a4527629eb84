/* SPDX-License-Identifier: Apache-2.0 */
/*
 * store/rows_private.h - the writer's insides, for the files that are one module: rows.c takes rows
 * in, rows_keep.c makes segments and lets days go.
 *
 * Threading: one owner.
 */
#ifndef STORE_ROWS_PRIVATE_H
#define STORE_ROWS_PRIVATE_H

#include "store/archive.h"
#include "store/blocks.h"
#include "store/day.h"
#include "store/rows.h"
#include "store/segment.h"

enum { ROWS_DAYS_OPEN = 2 };

struct rows {
    char *dir, *archive_dir;
    struct rows_config config; /* archive_dir: ours */
    struct buf layout;
    struct day *days[ROWS_DAYS_OPEN]; /* the one used last is in front */
    struct blocks pending;
    struct segment_maker *maker;
    struct rows_stats stats;
    char last_words[160];
    /* what is left to do */
    int64_t *unchecked; /* days of former runs whose tail may be full */
    size_t n_unchecked;
    int64_t next_look_us;
    struct archive *archive; /* of the day that goes */
    int64_t archived_day;
    bool has_archived, is_archive_failing;
};

/* The open day of that number, opened if need be. */
int rows_day(struct rows *r, int64_t number, struct day **ret) WARN_UNUSED;
/* After an error of an open day, which is closed; a damaged file goes aside. Returns error. */
int rows_day_failed(struct rows *r, struct day *d, int error);
void rows_close_day(struct rows *r, int64_t number);

#endif
