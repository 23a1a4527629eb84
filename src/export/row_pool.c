/* SPDX-License-Identifier: Apache-2.0 */
#include "export/row_pool.h"

#include "base/mem.h"

/* Behind each row: a short timeline and a few labels fit. What needs more has its own size, and is
 * not kept. */
enum { ROOM_BYTES = 256, CACHE_LINE_BYTES = 64 };

struct row {
    struct row *next; /* while it is spare */
    size_t room;      /* bytes of borrowed */
    struct record record;
    char borrowed[];
};

void row_pool_init(struct row_pool *pool)
{
    *pool = (struct row_pool){0};
    pthread_mutex_init(&pool->_lock, NULL);
}

/* The first spare one, or NULL. */
static struct row *take_spare(struct row_pool *pool)
{
    pthread_mutex_lock(&pool->_lock);
    struct row *row = pool->_spare;
    if (row) {
        pool->_spare = row->next;
        pool->_n_spare--;
    }
    pthread_mutex_unlock(&pool->_lock);
    return row;
}

void row_pool_done(struct row_pool *pool)
{
    struct row *row;
    while ((row = take_spare(pool)) != NULL)
        mem_free(row);
    pthread_mutex_destroy(&pool->_lock);
}

static struct row *new_row(size_t room)
{
    struct row *row = mem_alloc(sizeof(*row) + room);
    if (row)
        row->room = room;
    return row;
}

/* Copies what a row borrows to *at and moves *at behind it. */
static const char *take_along(char **at, struct span bytes)
{
    char *start = *at;
    if (bytes.n > 0)
        memcpy(start, bytes.p, bytes.n);
    *at += bytes.n;
    return start;
}

struct record *row_pool_copy(struct row_pool *pool, const struct record *r)
{
    size_t need = r->timeline.n + r->labels.n;
    struct row *row = need <= ROOM_BYTES ? take_spare(pool) : NULL;
    if (!row)
        row = new_row(need <= ROOM_BYTES ? ROOM_BYTES : need);
    if (!row)
        return NULL;
    char *at = row->borrowed;
    row->record = *r;
    row->record.timeline.p = take_along(&at, r->timeline);
    row->record.labels.p = take_along(&at, r->labels);
    return &row->record;
}

void row_pool_prefetch(const void *copy)
{
    for (size_t i = 0; i < sizeof(struct record); i += CACHE_LINE_BYTES)
        __builtin_prefetch((const char *)copy + i);
}

void row_pool_give(struct row_pool *pool, void *const *copies, size_t n)
{
    struct row *surplus = NULL;
    pthread_mutex_lock(&pool->_lock);
    for (size_t i = 0; i < n; i++) {
        struct row *row = CONTAINER_OF(copies[i], struct row, record);
        bool is_kept = row->room == ROOM_BYTES && pool->_n_spare < ROW_POOL_SPARE_MAX;
        struct row **list = is_kept ? &pool->_spare : &surplus;
        row->next = *list;
        *list = row;
        pool->_n_spare += is_kept;
    }
    pthread_mutex_unlock(&pool->_lock);
    while (surplus) {
        struct row *next = surplus->next;
        mem_free(surplus);
        surplus = next;
    }
}
