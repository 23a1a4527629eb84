/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tsdb/tsdb_save.c - commits, and what is done when the file is damaged while running.
 *
 * Numbers of symbols and series only grow, so what is new is what is beyond the last one saved.
 */
#include <errno.h>
#include <unistd.h>

#include "base/log.h"
#include "tsdb/tsdb_private.h"

static int save_symbols(struct tsdb *t)
{
    const struct symbols *symbols = &t->index.symbols;
    int r = 0;
    for (uint32_t i = t->n_symbols_saved; r == 0 && i < symbols->n; i++) {
        int64_t id = i;
        if (symbols_has(symbols, i))
            r = disk_run_blob(&t->disk, DISK_SYMBOL_PUT, &id, 1, symbols_text(symbols, i));
    }
    return r;
}

static int save_kinds(struct tsdb *t)
{
    int r = 0;
    for (uint32_t i = 0; r == 0 && t->n_kinds_new > 0 && i < t->n_ids_saved; i++) {
        const struct series *s = t->index.by_id[i];
        int64_t numbers[] = {i, s ? s->kind : 0};
        if (s && s->is_kind_new)
            r = disk_run(&t->disk, DISK_SERIES_KIND, numbers, 2);
    }
    return r;
}

int tsdb_save_names(struct tsdb *t)
{
    int r = save_symbols(t);
    for (uint32_t i = t->n_ids_saved; r == 0 && i < t->index.n_ids; i++)
        if (t->index.by_id[i])
            r = disk_put_series(&t->disk, t->index.by_id[i]);
    return r < 0 ? r : save_kinds(t);
}

void tsdb_saved_names(struct tsdb *t)
{
    for (uint32_t i = 0; t->n_kinds_new > 0 && i < t->index.n_ids; i++)
        if (t->index.by_id[i])
            t->index.by_id[i]->is_kind_new = false;
    t->n_kinds_new = 0;
    t->n_symbols_saved = t->index.symbols.n;
    t->n_ids_saved = t->index.n_ids;
}

static bool has_news(const struct tsdb *t)
{
    return t->journal.n > 0 || t->n_kinds_new > 0 || t->n_ids_saved < t->index.n_ids ||
           t->n_symbols_saved < t->index.symbols.n;
}

static int save_journal(struct tsdb *t)
{
    struct span row;
    int64_t seq = (int64_t)t->seq;
    if (t->journal.n == 0)
        return 0;
    int r = frame_seal(t->disk.frame, bytes_span(&t->journal.out), TSDB_LEVEL_JOURNAL, &row);
    return r < 0 ? r : disk_run_blob(&t->disk, DISK_JOURNAL_PUT, &seq, 1, row);
}

static int save(struct tsdb *t)
{
    if (!t->disk.db)
        return -EIO;
    int r = db_begin(t->disk.db);
    if (r == 0)
        r = tsdb_save_names(t);
    if (r == 0)
        r = save_journal(t);
    if (r == 0)
        r = db_commit(t->disk.db);
    if (r < 0) {
        db_rollback(t->disk.db);
        return r;
    }
    tsdb_saved_names(t);
    if (t->journal.n > 0)
        t->seq++;
    journal_clear(&t->journal);
    return 0;
}

/* --- damage --- */

/* Nothing in memory is on disk any more. */
static void forget_disk(struct tsdb *t)
{
    for (uint32_t i = 0; i < t->index.n_ids; i++)
        if (t->index.by_id[i])
            t->index.by_id[i]->t_sealed = INDEX_NEVER;
    for (int i = 0; i < TSDB_TIERS; i++)
        t->floors[i] = INT64_MIN;
    t->n_symbols_saved = t->n_ids_saved = 0;
    t->compact_slot = t->spoiled_slot = INT64_MIN;
    t->counts.n_set_aside++;
}

int tsdb_reopen(struct tsdb *t)
{
    struct db *db;
    struct err err = {0};
    bool was_damaged = false;
    disk_done(&t->disk);
    int r = db_open_or_replace(t->path, &disk_schema, &db, &was_damaged, &err);
    if (r < 0) {
        LOG_ERROR("%s", err.text);
        return r;
    }
    t->generation++;
    if (was_damaged)
        forget_disk(t);
    if ((r = disk_init(&t->disk, db)) < 0)
        disk_done(&t->disk);
    return r;
}

/* A second look: what was read wrongly once may be right in the file. */
static int try_again(struct tsdb *t)
{
    int64_t n;
    int r = tsdb_reopen(t);
    static const char *const tables[] = {"SELECT count(*) FROM journal",
                                         "SELECT count(*) FROM series",
                                         "SELECT count(*) FROM symbol"};
    for (size_t i = 0; r == 0 && i < ARRAY_LEN(tables); i++)
        r = db_query_i64(t->disk.db, tables[i], &n);
    if (r == 0)
        r = save(t);
    return r < 0 ? r : seal_all(t);
}

int tsdb_recover(struct tsdb *t)
{
    char aside[sizeof(t->path) + 64];
    int r = -EBADMSG;
    if (!t->is_suspect) {
        t->is_suspect = true;
        if ((r = try_again(t)) != -EBADMSG)
            return r;
    }
    disk_done(&t->disk);
    if ((r = db_set_aside(t->path, aside, sizeof(aside))) < 0)
        return r;
    LOG_ERROR("the database of time series \"%s\" is damaged; moved it to \"%s\", beginning a new "
              "one",
              t->path, aside);
    forget_disk(t);
    t->is_suspect = false;
    r = tsdb_reopen(t);
    return r < 0 ? r : seal_all(t);
}

/* --- commits --- */

/* Somebody removed or replaced the file: a new one, with all that is in memory. What has taken its
 * place has other numbers of series, and goes aside. */
static int begin_anew(struct tsdb *t)
{
    char aside[sizeof(t->path) + 64];
    struct err err = {0};
    disk_done(&t->disk);
    t->is_displaced = true;
    if (t->lock_fd >= 0)
        close(t->lock_fd);
    int r = tsdb_lock(t, &err);
    if (r < 0) {
        LOG_ERROR("%s", err.text);
        return r;
    }
    r = db_set_aside(t->path, aside, sizeof(aside));
    if (r < 0 && r != -ENOENT)
        return r;
    forget_disk(t);
    t->is_displaced = false;
    LOG_ERROR("the database of time series \"%s\" was %s while in use, beginning a new one%s%s",
              t->path, r == 0 ? "replaced" : "removed", r == 0 ? "; what was there is now " : "",
              r == 0 ? aside : "");
    r = tsdb_reopen(t);
    return r < 0 ? r : seal_all(t);
}

int tsdb_keep_place(struct tsdb *t)
{
    int64_t n_left;
    if (t->is_displaced)
        return begin_anew(t);
    if (!t->disk.db)
        return tsdb_reopen(t);
    switch (db_place(t->disk.db)) {
    case DB_GONE:
        return begin_anew(t);
    case DB_WAL_GONE:
        LOG_ERROR("the WAL of \"%s\" was removed while in use, making it again", t->path);
        return db_checkpoint(t->disk.db, &n_left) < 0 ? -EIO : tsdb_reopen(t);
    default:
        return 0;
    }
}

int tsdb_commit(struct tsdb *t)
{
    if (!has_news(t))
        return 0;
    int r = tsdb_keep_place(t);
    if (r == 0)
        r = save(t);
    if (r == -EBADMSG && (r = tsdb_recover(t)) == 0)
        r = save(t);
    t->counts.last_error = r;
    t->counts.n_failed_commits += r < 0;
    return r;
}
