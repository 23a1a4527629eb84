/* SPDX-License-Identifier: Apache-2.0 */
#include "export/rows.h"

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

void rows_init(struct rows *rows)
{
    *rows = (struct rows){0};
    pthread_mutex_init(&rows->_lock, NULL);
}

/* The first spare one, or NULL. */
static struct row *take_spare(struct rows *rows)
{
    pthread_mutex_lock(&rows->_lock);
    struct row *row = rows->_spare;
    if (row) {
        rows->_spare = row->next;
        rows->_n_spare--;
    }
    pthread_mutex_unlock(&rows->_lock);
    return row;
}

void rows_done(struct rows *rows)
{
    struct row *row;
    while ((row = take_spare(rows)) != NULL)
        mem_free(row);
    pthread_mutex_destroy(&rows->_lock);
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

struct record *rows_copy(struct rows *rows, const struct record *r)
{
    size_t need = r->timeline.n + r->labels.n;
    struct row *row = need <= ROOM_BYTES ? take_spare(rows) : NULL;
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

void rows_prefetch(const void *copy)
{
    for (size_t i = 0; i < sizeof(struct record); i += CACHE_LINE_BYTES)
        __builtin_prefetch((const char *)copy + i);
}

void rows_give(struct rows *rows, void *const *copies, size_t n)
{
    struct row *surplus = NULL;
    pthread_mutex_lock(&rows->_lock);
    for (size_t i = 0; i < n; i++) {
        struct row *row = CONTAINER_OF(copies[i], struct row, record);
        bool is_kept = row->room == ROOM_BYTES && rows->_n_spare < ROWS_SPARE_MAX;
        struct row **list = is_kept ? &rows->_spare : &surplus;
        row->next = *list;
        *list = row;
        rows->_n_spare += is_kept;
    }
    pthread_mutex_unlock(&rows->_lock);
    while (surplus) {
        struct row *next = surplus->next;
        mem_free(surplus);
        surplus = next;
    }
}
