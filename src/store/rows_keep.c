/* SPDX-License-Identifier: Apache-2.0 */
/*
 * store/rows_keep.c - full tails become segments, days that are over are closed, old days go.
 *
 * A day that goes is archived first, where that is asked for. When archiving fails the day stays
 * and is tried again at the next look, unless the disk is over its budget: then it goes without.
 */
#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"
#include "store/rows_private.h"

enum { LOOK_S = 60, SETTLE_S = 600, SHRINK_PAGES = 4096 };

/* --- segments --- */

/* One segment, if the day has one to make. 1: made one. */
static int seal(struct rows *r, struct day *d, size_t n_least)
{
    if (d->n_tail_rows < n_least)
        return 0;
    int error = segment_make(r->maker, d);
    if (error < 0)
        return rows_day_failed(r, d, error);
    r->stats.n_segments++;
    return 1;
}

static bool is_over(int64_t number, wall_t now)
{
    return now.us >= (number + 1) * DAY_US + SETTLE_S * US_PER_S;
}

/* What is left of a day that is over becomes a segment, and its file is closed. */
static int finish(struct rows *r, struct day *d)
{
    int64_t wal_bytes;
    int more = seal(r, d, 1);
    if (more != 0)
        return more;
    int error = db_checkpoint(d->db, &wal_bytes);
    if (error < 0)
        return rows_day_failed(r, d, error);
    rows_close_day(r, d->number);
    return 1;
}

static int seal_any(struct rows *r, wall_t now)
{
    int result = 0;
    for (size_t i = 0; i < ROWS_DAYS_OPEN && result == 0; i++) {
        struct day *d = r->days[i];
        if (d)
            result = is_over(d->number, now) ? finish(r, d) : seal(r, d, SEGMENT_ROWS);
    }
    return result;
}

/* The days that were there at the start, one by one: some may have ended without us. */
static int check_one(struct rows *r)
{
    struct day *d;
    if (r->n_unchecked == 0)
        return 0;
    int64_t number = r->unchecked[--r->n_unchecked];
    int error = rows_day(r, number, &d);
    return error < 0 ? error : 1;
}

/* --- days that go --- */

static int remove_files(struct rows *r, int64_t number)
{
    static const char *const endings[] = {".db-wal", ".db-shm", ".db"};
    char path[DAY_PATH_MAX];
    rows_close_day(r, number);
    for (size_t i = 0; i < ARRAY_LEN(endings); i++) {
        int error = day_path(r->dir, number, endings[i], path, sizeof(path));
        if (error < 0)
            return error;
        if (unlink(path) < 0 && errno != ENOENT)
            return -errno;
    }
    return 0;
}

static void stop_archive(struct rows *r)
{
    r->archive = archive_abort(r->archive);
}

/* 1: more to do; 0: it is there. */
static int archive_some(struct rows *r, int64_t number)
{
    if (r->has_archived && r->archived_day == number)
        return 0;
    int result = 1;
    if (!r->archive) {
        r->archived_day = number;
        r->has_archived = false;
        result = archive_begin(r->dir, r->archive_dir, number, &r->archive);
        result = result == 0 ? 1 : result;
    } else {
        result = archive_step(r->archive);
        r->has_archived = result == 0;
    }
    if (result <= 0)
        stop_archive(r);
    return result;
}

static void tell_archive_failed(struct rows *r, int64_t number, int error, bool is_pressing)
{
    char name[DAY_PATH_MAX];
    if (day_path(r->archive_dir, number, ".jsonl.zst", name, sizeof(name)) < 0)
        name[0] = '\0';
    if (!r->is_archive_failing || is_pressing)
        LOG_ERROR("could not archive request rows as \"%s\": %s, %s", name, err_str(error),
                  is_pressing ? "removing them without, since the disk budget is used up"
                              : "keeping them, trying again every minute");
    r->is_archive_failing = true;
}

/* 1: more to do or done; 0: the day stays for now. */
static int let_go(struct rows *r, int64_t number, bool is_pressing)
{
    if (r->archive_dir) {
        int result = archive_some(r, number);
        if (result == 1)
            return 1;
        if (result < 0)
            tell_archive_failed(r, number, result, is_pressing);
        if (result < 0 && !is_pressing)
            return 0;
        r->is_archive_failing = r->is_archive_failing && result < 0;
    }
    int error = remove_files(r, number);
    r->has_archived = false;
    if (error < 0)
        return error;
    if (is_pressing)
        r->stats.n_days_over_budget++;
    else
        r->stats.n_days_expired++;
    return 1;
}

static int64_t size_of_day(const struct rows *r, int64_t number)
{
    char path[DAY_PATH_MAX];
    return day_path(r->dir, number, ".db", path, sizeof(path)) < 0 ? 0 : db_size(path);
}

/* Bytes of the file that hold something. */
static int used_bytes(struct day *d, int64_t *ret)
{
    int64_t n_pages = 0;
    int64_t n_free = 0;
    int64_t page_bytes = 0;
    int error = db_query_i64(d->db, "PRAGMA page_count", &n_pages);
    if (error == 0)
        error = db_query_i64(d->db, "PRAGMA freelist_count", &n_free);
    if (error == 0)
        error = db_query_i64(d->db, "PRAGMA page_size", &page_bytes);
    if (error == 0)
        *ret = (n_pages - n_free) * page_bytes;
    return error;
}

/* One day alone is more than the budget: its oldest segment goes, and its pages back to the file
 * system. 1: one went; 0: there is none, or no need. */
static int let_segment_go(struct rows *r, int64_t number)
{
    struct day *d;
    int64_t n_bytes = 0;
    int64_t n_rows = 0;
    int error = rows_day(r, number, &d);
    if (error < 0)
        return error;
    error = used_bytes(d, &n_bytes);
    if (error == 0 && n_bytes <= r->config.max_disk_bytes)
        return 0;
    if (error == 0)
        error = segment_drop_oldest(d, &n_rows);
    while (error == 0 && n_rows > 0 && (error = db_shrink(d->db, SHRINK_PAGES)) == 1)
        error = 0;
    if (error < 0)
        return rows_day_failed(r, d, error);
    if (n_rows > 0 && r->stats.n_rows_over_budget == 0)
        LOG_WARN("the request rows of one day are more than requests.max_disk, its oldest go");
    r->stats.n_rows_over_budget += (uint64_t)n_rows;
    return n_rows > 0;
}

static int let_oldest_go(struct rows *r, const int64_t *days, size_t n, wall_t now)
{
    int64_t n_bytes = 0;
    for (size_t i = 0; i < n; i++)
        n_bytes += size_of_day(r, days[i]);
    r->stats.disk_bytes = n_bytes;
    r->stats.n_days = n;
    if (n > 0 && (days[0] + 1) * DAY_US + r->config.keep_us <= now.us)
        return let_go(r, days[0], false);
    bool is_over_budget = r->config.max_disk_bytes > 0 && n_bytes > r->config.max_disk_bytes;
    if (!is_over_budget || n == 0)
        return 0;
    return n > 1 ? let_go(r, days[0], true) : let_segment_go(r, days[0]);
}

static int look(struct rows *r, wall_t now)
{
    int64_t *days;
    size_t n;
    if (now.us < r->next_look_us)
        return 0;
    int result = day_list(r->dir, &days, &n);
    if (result < 0)
        return result;
    result = let_oldest_go(r, days, n, now);
    mem_free(days);
    if (result == 0)
        r->next_look_us = now.us + LOOK_S * US_PER_S;
    return result;
}

int rows_maintain(struct rows *r, wall_t now)
{
    int result = seal_any(r, now);
    if (result == 0)
        result = check_one(r);
    return result != 0 ? result : look(r, now);
}
