/* SPDX-License-Identifier: Apache-2.0 */
/*
 * db/db_exec.c - statements: run, prepared, bound, stepped; what SQLite says as an errno.
 */
#include <errno.h>

#include "db/db.h"

int db_errno(int rc)
{
    static const struct {
        int rc, code;
    } map[] = {
        {SQLITE_OK, 0},
        {SQLITE_ROW, 0},
        {SQLITE_DONE, 0},
        {SQLITE_FULL, -ENOSPC},
        {SQLITE_READONLY, -EROFS},
        {SQLITE_IOERR, -EIO},
        {SQLITE_BUSY, -EBUSY},
        {SQLITE_LOCKED, -EBUSY},
        {SQLITE_PROTOCOL, -EBUSY},
        {SQLITE_CORRUPT, -EBADMSG},
        {SQLITE_NOTADB, -EBADMSG},
        {SQLITE_NOMEM, -ENOMEM},
        {SQLITE_INTERRUPT, -ECANCELED},
        {SQLITE_ABORT, -ECANCELED},
        {SQLITE_ERROR, -EINVAL},
        {SQLITE_MISUSE, -EINVAL},
        {SQLITE_RANGE, -EINVAL},
        {SQLITE_MISMATCH, -EINVAL},
        {SQLITE_TOOBIG, -EMSGSIZE},
        {SQLITE_CONSTRAINT, -EEXIST},
        {SQLITE_PERM, -EACCES},
        {SQLITE_AUTH, -EACCES},
    };
    if (rc == SQLITE_IOERR_NOMEM)
        return -ENOMEM;
    for (size_t i = 0; i < ARRAY_LEN(map); i++)
        if (map[i].rc == (rc & 0xff))
            return map[i].code;
    return -EIO;
}

const char *db_error(const struct db *d)
{
    return sqlite3_errmsg(d->_handle);
}

int db_exec(struct db *d, const char *sql)
{
    return db_errno(sqlite3_exec(d->_handle, sql, NULL, NULL, NULL));
}

int db_begin(struct db *d)
{
    return db_exec(d, "BEGIN IMMEDIATE");
}

int db_commit(struct db *d)
{
    return db_exec(d, "COMMIT");
}

void db_rollback(struct db *d)
{
    if (!sqlite3_get_autocommit(d->_handle)) /* where this fails, SQLite did it itself */
        sqlite3_exec(d->_handle, "ROLLBACK", NULL, NULL, NULL);
}

int db_query_i64(struct db *d, const char *sql, int64_t *ret)
{
    sqlite3_stmt *s = NULL;
    int r = db_prepare(d, sql, &s);
    if (r < 0)
        return r;
    r = db_step(s);
    if (r == 1)
        *ret = sqlite3_column_int64(s, 0);
    sqlite3_finalize(s);
    return r == 1 ? 0 : r == 0 ? -ENOENT : r;
}

int db_prepare(struct db *d, const char *sql, sqlite3_stmt **ret)
{
    sqlite3_stmt *s;
    int rc = sqlite3_prepare_v3(d->_handle, sql, -1, SQLITE_PREPARE_PERSISTENT, &s, NULL);
    if (rc == SQLITE_OK)
        *ret = s;
    return db_errno(rc);
}

int db_step(sqlite3_stmt *s)
{
    int rc = sqlite3_step(s);
    return rc == SQLITE_ROW ? 1 : db_errno(rc);
}

void db_reset(sqlite3_stmt *s)
{
    sqlite3_reset(s);
    sqlite3_clear_bindings(s);
}

struct span db_column_span(sqlite3_stmt *s, int i)
{
    /* In this order: asking for the bytes first may convert them. */
    const void *p = sqlite3_column_blob(s, i);
    return (struct span){p, p ? (size_t)sqlite3_column_bytes(s, i) : 0};
}

int db_bind_span(sqlite3_stmt *s, int i, struct span text)
{
    return db_errno(
        sqlite3_bind_text64(s, i, text.p ? text.p : "", text.n, SQLITE_STATIC, SQLITE_UTF8));
}

int db_bind_blob(sqlite3_stmt *s, int i, struct span blob)
{
    return db_errno(sqlite3_bind_blob64(s, i, blob.p ? blob.p : "", blob.n, SQLITE_STATIC));
}

int db_checkpoint(struct db *d, int64_t *ret_wal_bytes)
{
    enum { FRAME_HEADER_BYTES = 24 };
    int64_t page_bytes = 0;
    int n_frames, n_done;
    int r = db_query_i64(d, "PRAGMA page_size", &page_bytes);
    if (r < 0)
        return r;
    r = db_errno(sqlite3_wal_checkpoint_v2(d->_handle, "main", SQLITE_CHECKPOINT_PASSIVE, &n_frames,
                                           &n_done));
    if (r == 0)
        *ret_wal_bytes =
            n_frames > n_done ? (n_frames - n_done) * (page_bytes + FRAME_HEADER_BYTES) : 0;
    return r;
}

int db_shrink(struct db *d, int n_pages)
{
    int64_t n_free = 0;
    int r = db_query_i64(d, "PRAGMA freelist_count", &n_free);
    if (r < 0 || n_free == 0)
        return r;
    char *sql = sqlite3_mprintf("PRAGMA incremental_vacuum(%d)", n_pages);
    if (!sql)
        return -ENOMEM;
    r = db_exec(d, sql);
    sqlite3_free(sql);
    return r < 0 ? r : n_free > n_pages ? 1 : 0;
}

void db_interrupt(struct db *d)
{
    sqlite3_interrupt(d->_handle);
}

void db_on_progress(struct db *d, int n, int (*is_over)(void *ctx), void *ctx)
{
    sqlite3_progress_handler(d->_handle, is_over ? n : 0, is_over, ctx);
}
