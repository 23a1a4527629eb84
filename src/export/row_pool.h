/* SPDX-License-Identifier: Apache-2.0 */
/*
 * export/row_pool.h - copies of records on their way to the log's thread, in memory that is used
 * again.
 *
 * Role:      a worker copies a row, the log's thread gives it back, thousands of times a second. To
 *            the allocator such blocks are large ones, and two threads would meet at its lock for
 *            each.
 * Memory:    about 2 KiB per copy, more only for long timelines and labels. ROW_POOL_SPARE_MAX
 *            stay when they are given back.
 * Threading: copy and give from any thread.
 */
#ifndef EXPORT_ROW_POOL_H
#define EXPORT_ROW_POOL_H

#include <pthread.h>
#include <stddef.h>

#include "base/attr.h"
#include "record/record.h"

enum { ROW_POOL_SPARE_MAX = 512 };

struct row;

struct row_pool {
    pthread_mutex_t _lock;
    struct row *_spare; /* the last one given first: its memory is the warmest */
    size_t _n_spare;
};

void row_pool_init(struct row_pool *pool);
void row_pool_done(struct row_pool *pool); /* after the last copy was given back */

/* A copy of r and of what it borrows; NULL without memory. row_pool_give frees it. */
struct record *row_pool_copy(struct row_pool *pool, const struct record *r) WARN_UNUSED;

/* Begins to fetch a copy that another thread made, which takes as long as writing its line. */
void row_pool_prefetch(const void *copy);

/* Takes back n pointers that row_pool_copy returned. */
void row_pool_give(struct row_pool *pool, void *const *copies, size_t n);

#endif
