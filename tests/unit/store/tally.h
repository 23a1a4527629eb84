/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tally.h - how many rows a directory has, as whoever asks finds them.
 */
#ifndef TALLY_H
#define TALLY_H

#include "harness.h"
#include "sample.h"
#include "store/rows.h"

/* Of rows_ask and rows_find: counts into a size_t. */
static inline int tally_row(void *ctx, uint64_t key, const struct record *r)
{
    (void)key;
    (void)r;
    ++*(size_t *)ctx;
    return 0;
}

static inline int tally_columns(void *ctx, size_t n_rows, const double *const *columns)
{
    (void)columns;
    *(size_t *)ctx += n_rows;
    return 0;
}

/* By a question, whose limit they must not exceed. */
static inline size_t tally_asked(const char *dir)
{
    struct rows_reader *reader = NULL;
    size_t n = 0;
    struct rows_question q = {.to = {INT64_MAX}, .limit = ROWS_LIMIT_MAX};
    assert_int_equal(rows_reader_open(dir, &reader, NULL), 0);
    assert_int_equal(rows_ask(reader, &q, tally_row, &n), 0);
    rows_reader_close(reader);
    return n;
}

/* By a scan, which has no limit. */
static inline size_t tally_scanned(const char *dir)
{
    struct rows_reader *reader = NULL;
    const struct record_field *fields[] = {sample_field("status")};
    size_t n = 0;
    assert_int_equal(rows_reader_open(dir, &reader, NULL), 0);
    assert_int_equal(
        rows_scan(reader, (wall_t){0}, (wall_t){INT64_MAX}, fields, 1, tally_columns, &n), 0);
    rows_reader_close(reader);
    return n;
}

#endif
