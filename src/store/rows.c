/* SPDX-License-Identifier: Apache-2.0 */
/*
 * store/rows.c - rows come in, and are committed a block at a time.
 *
 * Rows of a day lie in one block until they are committed; around midnight there are two. After any
 * error a day's file is closed, which undoes what was begun, and opened anew for the next try.
 */
#include "store/rows.h"

#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"
#include "store/rows_private.h"
#include "store/segment_private.h"

enum { BLOCK_CAP = ROWCODE_BYTES_MAX + 2 * ROWCODE_ROW_MAX, DIR_MODE = 0750 };

/* --- open and close --- */

static struct rows_pending *free_pending(struct rows_pending *p)
{
    if (p)
        buf_done(&p->bytes);
    mem_free(p);
    return NULL;
}

struct rows *rows_close(struct rows *r)
{
    if (!r)
        return NULL;
    for (size_t i = 0; i < ROWS_DAYS_OPEN; i++)
        day_close(r->days[i]);
    for (size_t i = 0; i < r->n_pending; i++)
        free_pending(r->pending[i]);
    free_pending(r->spare);
    archive_abort(r->archive);
    segment_maker_free(r->maker);
    buf_done(&r->layout);
    mem_free(r->pending);
    mem_free(r->unchecked);
    mem_free(r->archive_dir);
    mem_free(r->dir);
    mem_free(r);
    return NULL;
}

int rows_configure(struct rows *r, const struct rows_config *config)
{
    char *archive_dir = NULL;
    if (config && config->archive_dir) {
        archive_dir = mem_strdup(config->archive_dir);
        if (!archive_dir)
            return -ENOMEM;
    }
    mem_free(r->archive_dir);
    r->archive_dir = archive_dir;
    r->config = config ? *config : (struct rows_config){0};
    r->config.archive_dir = archive_dir;
    if (r->config.keep_us <= 0)
        r->config.keep_us = 30 * DAY_US;
    r->next_look_us = 0;
    return 0;
}

static int init(struct rows *r, const char *dir, const struct rows_config *config)
{
    buf_init(&r->layout, LAYOUT_BYTES_MAX);
    r->dir = mem_strdup(dir);
    int error = r->dir ? rows_configure(r, config) : -ENOMEM;
    if (error == 0)
        error = layout_write(&r->layout);
    if (error == 0)
        error = segment_maker_new(&r->maker);
    if (error == 0 && mkdir(dir, DIR_MODE) < 0 && errno != EEXIST)
        error = -errno;
    if (error == 0 && access(dir, W_OK | X_OK) < 0)
        error = -errno;
    if (error == 0)
        error = day_list(dir, &r->unchecked, &r->n_unchecked);
    return error;
}

int rows_open(const char *dir, const struct rows_config *config, struct rows **ret,
              struct err *reterr)
{
    struct rows *r = mem_zalloc(1, sizeof(*r));
    int error = r ? init(r, dir, config) : -ENOMEM;
    if (error < 0) {
        rows_close(r);
        err_set(reterr, error, "could not open the directory of request rows \"%s\": %s", dir,
                err_str(error));
        if (error != -ENOMEM)
            err_hint(reterr, "it has to be a directory that this user may write; the one above it "
                             "has to be there");
        return error;
    }
    *ret = r;
    return 0;
}

/* --- days --- */

static void use_first(struct rows *r, size_t i)
{
    struct day *d = r->days[i];
    for (; i > 0; i--)
        r->days[i] = r->days[i - 1];
    r->days[0] = d;
}

int rows_day(struct rows *r, int64_t number, struct day **ret)
{
    bool was_damaged = false;
    struct err err = {0};
    struct day *d;
    for (size_t i = 0; i < ROWS_DAYS_OPEN; i++) {
        if (r->days[i] && r->days[i]->number == number) {
            use_first(r, i);
            *ret = r->days[0];
            return 0;
        }
    }
    int error = day_open(r->dir, number, &d, &was_damaged, &err);
    r->stats.n_days_set_aside += was_damaged;
    if (error < 0) {
        (void)span_copy(span_cstr(err.text), r->last_words, sizeof(r->last_words));
        return error;
    }
    day_close(r->days[ROWS_DAYS_OPEN - 1]);
    r->days[ROWS_DAYS_OPEN - 1] = d;
    use_first(r, ROWS_DAYS_OPEN - 1);
    *ret = d;
    return 0;
}

void rows_close_day(struct rows *r, int64_t number)
{
    for (size_t i = 0; i < ROWS_DAYS_OPEN; i++) {
        if (r->days[i] && r->days[i]->number == number)
            r->days[i] = day_close(r->days[i]);
    }
}

int rows_day_failed(struct rows *r, struct day *d, int error)
{
    char path[DAY_PATH_MAX];
    char aside[DAY_PATH_MAX + 64];
    int64_t number = d->number;
    (void)span_copy(span_cstr(db_error(d->db)), r->last_words, sizeof(r->last_words));
    rows_close_day(r, number);
    if (error != -EBADMSG || day_path(r->dir, number, ".db", path, sizeof(path)) < 0)
        return error;
    int moved = db_set_aside(path, aside, sizeof(aside));
    if (moved < 0) {
        LOG_ERROR("request rows \"%s\" are damaged and could not be set aside: %s", path,
                  err_str(moved));
        return error;
    }
    r->stats.n_days_set_aside++;
    LOG_ERROR("request rows \"%s\" are damaged, now \"%s\", beginning anew", path, aside);
    return error;
}

/* --- appending --- */

/* A block of that day that takes one more row; NULL: none. The last two are looked at. */
static struct rows_pending *open_block(struct rows *r, int64_t day)
{
    for (size_t i = r->n_pending; i > 0 && i + 2 > r->n_pending; i--) {
        struct rows_pending *p = r->pending[i - 1];
        if (p->day == day && !p->is_closed && p->writer.n_rows < ROWCODE_ROWS_MAX &&
            buf_len(&p->bytes) < ROWCODE_BYTES_MAX)
            return p;
    }
    return NULL;
}

static struct rows_pending *new_block(struct rows *r, int64_t day)
{
    if (r->n_pending == r->cap_pending) {
        size_t cap = r->cap_pending ? 2 * r->cap_pending : 16;
        struct rows_pending **more = mem_realloc(r->pending, cap * sizeof(struct rows_pending *));
        if (!more)
            return NULL;
        r->pending = more;
        r->cap_pending = cap;
    }
    struct rows_pending *p = r->spare ? r->spare : mem_alloc(sizeof(*p));
    if (!p)
        return NULL;
    if (p != r->spare)
        buf_init(&p->bytes, BLOCK_CAP);
    r->spare = NULL;
    buf_clear(&p->bytes);
    rowcode_begin(&p->writer);
    p->day = day;
    p->is_closed = false;
    r->pending[r->n_pending++] = p;
    return p;
}

int rows_append(struct rows *r, const struct record *record)
{
    int64_t end_us = fields_end_us(record->started_at.us, record->total_ns);
    int64_t day = day_of(end_us);
    if (r->n_pending_bytes >= ROWS_PENDING_BYTES)
        return -ENOBUFS;
    struct rows_pending *p = open_block(r, day);
    if (!p)
        p = new_block(r, day);
    if (!p)
        return -ENOMEM;
    size_t n_before = buf_len(&p->bytes);
    int error = rowcode_put(&p->writer, record, &p->bytes);
    if (error < 0)
        return error;
    bool is_first = p->writer.n_rows == 1;
    p->from_us = is_first || end_us < p->from_us ? end_us : p->from_us;
    p->to_us = is_first || end_us > p->to_us ? end_us : p->to_us;
    r->n_pending_bytes += buf_len(&p->bytes) - n_before;
    r->n_pending_rows++;
    return 0;
}

size_t rows_n_pending(const struct rows *r)
{
    return r->n_pending_rows;
}

/* --- committing --- */

/* The first n blocks are done with. */
static void drop_blocks(struct rows *r, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct rows_pending *p = r->pending[i];
        r->n_pending_rows -= p->writer.n_rows;
        r->n_pending_bytes -= buf_len(&p->bytes);
        free_pending(r->spare);
        r->spare = p;
    }
    r->n_pending -= n;
    memmove(r->pending, r->pending + n, r->n_pending * sizeof(struct rows_pending *));
}

/* With its checksum, and no more rows. */
static int close_block(struct rows *r, struct rows_pending *p)
{
    if (p->is_closed)
        return 0;
    size_t n_before = buf_len(&p->bytes);
    int error = segment_put_checksum(&p->bytes);
    if (error < 0)
        return error;
    r->n_pending_bytes += buf_len(&p->bytes) - n_before;
    p->is_closed = true;
    return 0;
}

static struct day_block block_of(const struct rows *r, const struct rows_pending *p)
{
    return (struct day_block){.rows = buf_span(&p->bytes),
                              .layout = buf_span(&r->layout),
                              .n_rows = p->writer.n_rows,
                              .from_us = p->from_us,
                              .to_us = p->to_us};
}

/* Commits the blocks in front that are of one day. */
static int commit_day(struct rows *r)
{
    struct day *d;
    size_t n = 0;
    size_t n_rows = 0;
    int64_t number = r->pending[0]->day;
    int error = rows_day(r, number, &d);
    if (error < 0)
        return error;
    error = day_begin(d);
    for (; error == 0 && n < r->n_pending && r->pending[n]->day == number; n++) {
        error = close_block(r, r->pending[n]);
        if (error < 0)
            break;
        struct day_block b = block_of(r, r->pending[n]);
        error = day_put(d, &b);
        n_rows += b.n_rows;
    }
    if (error == 0)
        error = day_commit(d);
    if (error < 0)
        return rows_day_failed(r, d, error);
    r->stats.n_committed += n_rows;
    drop_blocks(r, n);
    return 0;
}

int rows_commit(struct rows *r)
{
    int error = 0;
    bool was_damaged = false;
    while (r->n_pending > 0 && error == 0) {
        error = commit_day(r);
        if (error == -EBADMSG && !was_damaged) {
            was_damaged = true; /* the damaged file is aside now */
            error = 0;
        }
    }
    r->stats.last_error = error;
    return error;
}

int rows_take_pending(struct rows *r,
                      int (*visit)(void *ctx, int64_t day, const struct day_block *block),
                      void *ctx)
{
    size_t n = 0;
    int result = 0;
    for (; n < r->n_pending && result == 0; n++) {
        result = close_block(r, r->pending[n]);
        if (result == 0) {
            struct day_block b = block_of(r, r->pending[n]);
            result = visit(ctx, r->pending[n]->day, &b);
        }
        if (result != 0)
            break;
    }
    drop_blocks(r, n);
    return result;
}

int rows_put_block(struct rows *r, int64_t day, const struct day_block *block,
                   const struct day_mark *mark)
{
    struct day *d;
    int error = rows_day(r, day, &d);
    if (error < 0)
        return error;
    if (mark->epoch == d->mark.epoch && mark->number <= d->mark.number)
        return 0;
    error = day_begin(d);
    if (error == 0)
        error = day_put(d, block);
    if (error == 0)
        error = day_set_mark(d, *mark);
    if (error == 0)
        error = day_commit(d);
    if (error < 0)
        return rows_day_failed(r, d, error);
    r->stats.n_committed += block->n_rows;
    return 0;
}

void rows_stats(const struct rows *r, struct rows_stats *ret)
{
    *ret = r->stats;
    ret->last_words = r->last_words;
}
