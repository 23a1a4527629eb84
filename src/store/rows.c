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

enum { DIR_MODE = 0750 };

/* --- open and close --- */

struct rows *rows_close(struct rows *r)
{
    if (!r)
        return NULL;
    for (size_t i = 0; i < ROWS_DAYS_OPEN; i++)
        day_close(r->days[i]);
    blocks_done(&r->pending);
    archive_abort(r->archive);
    segment_maker_free(r->maker);
    buf_done(&r->layout);
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
    blocks_init(&r->pending, ROWS_PENDING_BYTES);
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

/* One whose file somebody took away is opened anew; only a WAL was lost: closing writes its pages.
 */
static bool is_gone(struct rows *r, const struct day *d)
{
    enum db_place place = db_place(d->db);
    if (place == DB_IN_PLACE)
        return false;
    LOG_ERROR("%s of request rows in \"%s\" was removed while in use%s",
              place == DB_GONE ? "a file" : "the WAL", r->dir,
              place == DB_GONE ? ", and its rows with it; beginning anew" : ", making it again");
    return true;
}

int rows_day(struct rows *r, int64_t number, struct day **ret)
{
    bool was_damaged = false;
    struct err err = {0};
    struct day *d;
    for (size_t i = 0; i < ROWS_DAYS_OPEN; i++) {
        if (!r->days[i] || r->days[i]->number != number)
            continue;
        if (is_gone(r, r->days[i])) {
            rows_close_day(r, number);
            break;
        }
        use_first(r, i);
        *ret = r->days[0];
        return 0;
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

/* --- rows --- */

int rows_append(struct rows *r, const struct record *record)
{
    return blocks_append(&r->pending, record);
}

int rows_move(struct rows *r, struct blocks *from)
{
    return blocks_move(from, &r->pending);
}

size_t rows_n_pending(const struct rows *r)
{
    return r->pending.n_rows;
}

/* Commits the blocks in front that are of one day. */
static int commit_day(struct rows *r)
{
    struct day *d;
    struct blocks *p = &r->pending;
    size_t n = 0;
    size_t n_rows = 0;
    int64_t number = p->at[0]->day;
    int error = rows_day(r, number, &d);
    if (error < 0)
        return error;
    error = day_begin(d);
    for (; error == 0 && n < p->n && p->at[n]->day == number; n++) {
        error = blocks_close(p, p->at[n]);
        struct day_block b = blocks_view(p->at[n], buf_span(&r->layout));
        if (error == 0)
            error = day_put(d, &b);
        n_rows += b.n_rows;
    }
    if (error == 0)
        error = day_commit(d);
    if (error < 0)
        return rows_day_failed(r, d, error);
    r->stats.n_committed += n_rows;
    blocks_drop(p, n);
    return 0;
}

int rows_commit(struct rows *r)
{
    int error = 0;
    bool is_again = false;
    while (r->pending.n > 0 && error == 0) {
        error = commit_day(r);
        /* A damaged file is aside now; and where another process wrote, its rows are counted. */
        if ((error == -EBADMSG || error == -EEXIST) && !is_again) {
            is_again = true;
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
    struct blocks *p = &r->pending;
    size_t n = 0;
    int result = 0;
    while (n < p->n && result == 0) {
        result = blocks_close(p, p->at[n]);
        if (result == 0) {
            struct day_block b = blocks_view(p->at[n], buf_span(&r->layout));
            result = visit(ctx, p->at[n]->day, &b);
        }
        n += result == 0;
    }
    blocks_drop(p, n);
    return result;
}

int rows_put_block(struct rows *r, int64_t day, const struct day_block *block,
                   const struct day_mark *mark)
{
    struct day *d;
    int error = rows_day(r, day, &d);
    if (error < 0)
        return error;
    error = day_has_mark(d, *mark);
    if (error == 1)
        return 0;
    if (error == 0)
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
