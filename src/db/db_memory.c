/* SPDX-License-Identifier: Apache-2.0 */
/*
 * db/db_memory.c - SQLite's memory through base/mem.h: counted, and failing when a test wants it.
 *
 * SQLite asks for the size of a block, which the C library knows of what mem_alloc returns.
 */
#include <malloc.h>
#include <pthread.h>

#include "base/mem.h"
#include "db/db.h"

static void *take(int n)
{
    return mem_alloc((size_t)n);
}

static void *resize(void *p, int n)
{
    return mem_realloc(p, (size_t)n);
}

static int size_of(void *p)
{
    return p ? (int)malloc_usable_size(p) : 0;
}

static int round_up(int n)
{
    return (n + 7) & ~7;
}

static int start(void *ctx)
{
    (void)ctx;
    return SQLITE_OK;
}

static void stop(void *ctx)
{
    (void)ctx;
}

static void init(void)
{
    static const sqlite3_mem_methods methods = {
        .xMalloc = take,
        .xFree = mem_free,
        .xRealloc = resize,
        .xSize = size_of,
        .xRoundup = round_up,
        .xInit = start,
        .xShutdown = stop,
    };
    /* Refused where somebody has used SQLite before: then its memory is just not counted. */
    sqlite3_config(SQLITE_CONFIG_MALLOC, &methods);
    sqlite3_config(SQLITE_CONFIG_URI, 0);       /* "file:x?y" is the name of a file */
    sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0); /* else every allocation takes a lock */
    sqlite3_initialize();
}

void db_init(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, init);
}
