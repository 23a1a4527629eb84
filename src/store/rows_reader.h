/* SPDX-License-Identifier: Apache-2.0 */
/*
 * store/rows_reader.h - the reader's insides: which day it has open, and whether it shall stop.
 *
 * Damage:    a day or chunk that is damaged is left out of answers, logged and counted.
 * Threading: one owner, but rows_reader_cancel.
 */
#ifndef STORE_ROWS_READER_H
#define STORE_ROWS_READER_H

#include <pthread.h>
#include <stdatomic.h>

#include "store/chunk.h"
#include "store/rows.h"

struct rows_reader {
    char *dir;
    struct chunk_room *room;
    pthread_mutex_t lock; /* of source, for whoever cancels */
    struct chunk_source *source;
    _Atomic bool is_canceled;
    struct arena arena; /* texts of the records at hand */
    int64_t numbers[COLUMN_ROWS_MAX];
    uint8_t keep[COLUMN_ROWS_MAX];
};

/* A call ends: no file stays open. Returns result. */
int rows_reader_end(struct rows_reader *r, int result);

/* Days that may have rows in [from_us, to_us), ascending; to be freed. */
int rows_reader_days(struct rows_reader *r, int64_t from_us, int64_t to_us, int64_t **ret,
                     size_t *ret_n) WARN_UNUSED;
/* Opens that day, unless it is the open one. 1; 0: there is no such day, or it is damaged. */
int rows_reader_day(struct rows_reader *r, int64_t day) WARN_UNUSED;

/* Whether the error is damage that the answer goes on without; logged and counted. */
bool rows_reader_is_damage(struct rows_reader *r, int error);
bool rows_reader_must_stop(struct rows_reader *r);

static inline uint64_t rows_reader_key(int64_t day, int64_t row)
{
    return (uint64_t)day << 40 | (uint64_t)row;
}

#endif
