/* SPDX-License-Identifier: Apache-2.0 */
#include "store/rows_reader.h"

#include <errno.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/stat.h"

int rows_reader_open(const char *dir, struct rows_reader **ret, struct err *reterr)
{
    struct rows_reader *r = mem_zalloc(1, sizeof(*r));
    int error = r ? 0 : -ENOMEM;
    if (r) {
        pthread_mutex_init(&r->lock, NULL);
        arena_init(&r->arena, NULL);
        r->dir = mem_strdup(dir);
        error = r->dir ? chunk_room_new(&r->room) : -ENOMEM;
    }
    if (error < 0) {
        rows_reader_close(r);
        return err_set(reterr, error, "could not open request rows \"%s\": %s", dir,
                       err_str(error));
    }
    *ret = r;
    return 0;
}

static void set_source(struct rows_reader *r, struct chunk_source *source)
{
    pthread_mutex_lock(&r->lock);
    struct chunk_source *before = r->source;
    r->source = source;
    pthread_mutex_unlock(&r->lock);
    chunk_source_close(before);
}

struct rows_reader *rows_reader_close(struct rows_reader *r)
{
    if (!r)
        return NULL;
    set_source(r, NULL);
    chunk_room_free(r->room);
    arena_done(&r->arena);
    pthread_mutex_destroy(&r->lock);
    mem_free(r->dir);
    mem_free(r);
    return NULL;
}

void rows_reader_cancel(struct rows_reader *r)
{
    atomic_store_explicit(&r->is_canceled, true, memory_order_release);
    pthread_mutex_lock(&r->lock);
    if (r->source)
        chunk_source_interrupt(r->source);
    pthread_mutex_unlock(&r->lock);
}

void rows_reader_resume(struct rows_reader *r)
{
    atomic_store_explicit(&r->is_canceled, false, memory_order_release);
}

bool rows_reader_must_stop(struct rows_reader *r)
{
    return atomic_load_explicit(&r->is_canceled, memory_order_acquire);
}

int rows_reader_end(struct rows_reader *r, int result)
{
    set_source(r, NULL);
    arena_reset(&r->arena);
    return result;
}

bool rows_reader_is_damage(struct rows_reader *r, int error)
{
    if (error != -EBADMSG)
        return false;
    stat_inc(STAT_STORE_DAMAGED);
    LOG_ERROR("request rows in \"%s\" are damaged, answering without them", r->dir);
    return true;
}

int rows_reader_days(struct rows_reader *r, int64_t from_us, int64_t to_us, int64_t **ret,
                     size_t *ret_n)
{
    int64_t *days;
    size_t n;
    size_t n_kept = 0;
    int error = day_list(r->dir, &days, &n);
    if (error < 0)
        return error;
    for (size_t i = 0; i < n; i++) {
        if ((days[i] + 1) * DAY_US > from_us && days[i] * DAY_US < to_us)
            days[n_kept++] = days[i];
    }
    *ret = days;
    *ret_n = n_kept;
    return 0;
}

int rows_reader_day(struct rows_reader *r, int64_t day)
{
    struct chunk_source *source;
    if (r->source && r->source->day == day)
        return 1;
    set_source(r, NULL);
    int error = chunk_source_open(r->dir, day, r->room, &source);
    if (error == -ENOENT || rows_reader_is_damage(r, error))
        return 0;
    /* Of another program; or its making was broken off, which its next writer repairs. */
    if (error == -EPROTO || error == -EROFS) {
        LOG_INFO("request rows of a day in \"%s\" cannot be read: %s, answering without them",
                 r->dir,
                 error == -EPROTO ? "they are of another version" : "they are not whole yet");
        return 0;
    }
    if (error < 0)
        return error;
    set_source(r, source);
    return rows_reader_must_stop(r) ? -ECANCELED : 1;
}

/* --- by id --- */

/* Finds the id in the open day; 1: *ret_at of *ret. */
static int find_in_day(struct rows_reader *r, struct span id, struct chunk *ret, uint32_t *ret_at)
{
    struct chunk *chunks;
    size_t n;
    int result = chunk_list(r->source, INT64_MIN, INT64_MAX, NULL, NULL, &chunks, &n);
    if (result < 0)
        return result;
    for (size_t i = n; i > 0 && result == 0; i--) {
        result = chunk_find(r->source, &chunks[i - 1], id, ret_at);
        if (result == 1)
            *ret = chunks[i - 1];
        else if (rows_reader_is_damage(r, result))
            result = 0;
        if (result == 0 && rows_reader_must_stop(r))
            result = -ECANCELED;
    }
    mem_free(chunks);
    return result;
}

static int visit_one(struct rows_reader *r, const struct chunk *c, uint32_t at,
                     int (*visit)(void *ctx, uint64_t key, const struct record *record), void *ctx)
{
    struct record record;
    struct record *records[] = {&record};
    int error = chunk_records(r->source, c, &at, 1, &r->arena, records);
    if (error < 0)
        return error;
    return visit(ctx, rows_reader_key(r->source->day, c->first_row + at), &record);
}

static int find(struct rows_reader *r, struct span id,
                int (*visit)(void *ctx, uint64_t key, const struct record *record), void *ctx)
{
    int64_t *days;
    size_t n;
    struct chunk c = {.first_row = 0};
    uint32_t at = 0;
    int result = rows_reader_days(r, INT64_MIN, INT64_MAX, &days, &n);
    if (result < 0)
        return result;
    for (size_t i = n; i > 0 && result == 0; i--) {
        result = rows_reader_day(r, days[i - 1]);
        if (result == 1)
            result = find_in_day(r, id, &c, &at);
        if (rows_reader_is_damage(r, result))
            result = 0;
    }
    mem_free(days);
    if (result == 0)
        return -ENOENT;
    return result < 0 ? result : visit_one(r, &c, at, visit, ctx);
}

int rows_find(struct rows_reader *r, struct span request_id,
              int (*visit)(void *ctx, uint64_t key, const struct record *record), void *ctx)
{
    if (request_id.n == 0)
        return -ENOENT;
    return rows_reader_end(r, find(r, request_id, visit, ctx));
}

/* --- whole columns --- */

enum { SCAN_FIELDS_MAX = 64 };

struct scan {
    struct rows_reader *r;
    int64_t from_us, to_us;
    const struct record_field *const *fields;
    size_t n_fields;
    double *columns[SCAN_FIELDS_MAX];
    int (*visit)(void *ctx, size_t n_rows, const double *const *columns);
    void *ctx;
};

/* Which rows of a chunk are in the range; returns how many. */
static int keep_range(struct scan *s, const struct chunk *c)
{
    const int64_t *ends;
    int n = 0;
    memset(s->r->keep, 1, c->n_rows);
    if (c->from_us >= s->from_us && c->to_us < s->to_us)
        return (int)c->n_rows;
    int error = chunk_ends(s->r->source, c, &ends);
    if (error < 0)
        return error;
    for (size_t i = 0; i < c->n_rows; i++)
        n += s->r->keep[i] = ends[i] >= s->from_us && ends[i] < s->to_us;
    return n;
}

static int scan_chunk(struct scan *s, const struct chunk *c)
{
    int n_kept = keep_range(s, c);
    if (n_kept <= 0)
        return n_kept;
    for (size_t k = 0; k < s->n_fields; k++) {
        size_t field = (size_t)(s->fields[k] - record_fields);
        size_t n = 0;
        int has = chunk_numbers(s->r->source, c, field, s->r->numbers);
        if (has < 0)
            return has;
        for (size_t i = 0; i < c->n_rows; i++) {
            double v = fields_value(s->fields[k]->type, s->r->numbers[i]);
            if (s->r->keep[i])
                s->columns[k][n++] = has ? v : (double)NAN;
        }
    }
    return s->visit(s->ctx, (size_t)n_kept, (const double *const *)s->columns);
}

static int scan_day(struct scan *s)
{
    struct chunk *chunks;
    size_t n;
    int result = chunk_list(s->r->source, s->from_us, s->to_us, NULL, NULL, &chunks, &n);
    if (result < 0)
        return result;
    for (size_t i = 0; i < n && result == 0; i++) {
        result = rows_reader_must_stop(s->r) ? -ECANCELED : scan_chunk(s, &chunks[i]);
        if (rows_reader_is_damage(s->r, result))
            result = 0;
    }
    mem_free(chunks);
    return result;
}

static int scan_days(struct scan *s)
{
    int64_t *days;
    size_t n;
    int result = rows_reader_days(s->r, s->from_us, s->to_us, &days, &n);
    if (result < 0)
        return result;
    for (size_t i = 0; i < n && result == 0; i++) {
        result = rows_reader_day(s->r, days[i]);
        if (result == 1)
            result = scan_day(s);
        if (rows_reader_is_damage(s->r, result))
            result = 0;
    }
    mem_free(days);
    return result;
}

int rows_scan(struct rows_reader *r, wall_t from, wall_t to,
              const struct record_field *const *fields, size_t n_fields,
              int (*visit)(void *ctx, size_t n_rows, const double *const *columns), void *ctx)
{
    struct scan s = {.r = r,
                     .from_us = from.us,
                     .to_us = to.us,
                     .fields = fields,
                     .n_fields = n_fields,
                     .visit = visit,
                     .ctx = ctx};
    if (n_fields == 0 || n_fields > SCAN_FIELDS_MAX)
        return -EINVAL;
    for (size_t i = 0; i < n_fields; i++) {
        if (fields_is_text(fields[i]->type))
            return -EINVAL;
    }
    double *memory = mem_alloc(n_fields * COLUMN_ROWS_MAX * sizeof(*memory));
    if (!memory)
        return -ENOMEM;
    for (size_t i = 0; i < n_fields; i++)
        s.columns[i] = memory + i * COLUMN_ROWS_MAX;
    int result = rows_reader_end(r, scan_days(&s));
    mem_free(memory);
    return result;
}
