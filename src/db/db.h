/* SPDX-License-Identifier: Apache-2.0 */
/*
 * db/db.h - SQLite as we use it: opened, migrated, checked, set aside when damaged.
 *
 * Role:      the only door to SQLite. Schemas belong to those who store; here is how a file of
 *            such a schema is opened and how statements are run.
 * Settings:  WAL, synchronous=NORMAL for the writer, busy_timeout, mmap off, foreign keys off,
 *            incremental vacuum in files made here; readers are read-only connections with
 *            query_only. Files are nothing to others (0640, and their bits taken from older ones).
 * Memory:    SQLite's too comes from base/mem.h, and at most 512 KiB of pages a connection.
 * Errors:    negative errno: -ENOSPC (disk or quota full), -EROFS, -EIO, -EBUSY (locked beyond the
 *            timeout), -EBADMSG (damaged), -ENOMEM, -EPROTO (a schema newer than this program
 *            knows, or a database of something else), -ECANCELED (interrupted), -EINVAL (SQL that
 *            does not compile). db_error tells SQLite's words.
 * Threading: a connection belongs to one thread at a time; db_interrupt from any.
 */
#ifndef DB_DB_H
#define DB_DB_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/span.h"

/* One step of a schema: from version i to i + 1 (the i-th of the list). SQL, several statements. */
struct db_schema {
    const char *name; /* of what is stored, for messages: "request rows" */
    uint32_t application_id;
    const char *const *migrations;
    size_t n_migrations; /* = the version of this program */
};

struct db {
    sqlite3 *_handle;
    char _path[4096];
};

enum db_mode { DB_WRITE, DB_READ };

/* Once, before anything else of SQLite's is called; db_open does it. */
void db_init(void);

/*
 * Opens or creates path, migrates it in one transaction. DB_READ: must exist and have
 * its tables (-ENOENT), nothing is changed, -EPROTO when its version is another. A file that is
 * damaged or no database: -EBADMSG, untouched.
 */
int db_open(const char *path, const struct db_schema *schema, enum db_mode mode, struct db **ret,
            struct err *reterr) WARN_UNUSED;
struct db *db_close(struct db *d); /* NULL is allowed; returns NULL */

/*
 * Moves a damaged file (with -wal and -shm) to "path.damaged-20261130T0102" and the like, never
 * over an existing one. ret_aside (may be NULL, cap bytes): where to.
 */
int db_set_aside(const char *path, char *ret_aside, size_t cap) WARN_UNUSED;

/* db_open for writing; where the file is damaged: set aside, logged, and a fresh one opened.
 * *ret_was_damaged tells. */
int db_open_or_replace(const char *path, const struct db_schema *schema, struct db **ret,
                       bool *ret_was_damaged, struct err *reterr) WARN_UNUSED;

/* Whether the file is still where it was opened: what is written to one that somebody removed or
 * replaced goes nowhere. A file without its WAL is whole again when it is checkpointed and closed.
 */
enum db_place { DB_IN_PLACE, DB_WAL_GONE, DB_GONE };
enum db_place db_place(const struct db *d);

/* SQLite's result code (extended or not) as a negative errno; 0 for OK, ROW, DONE. */
int db_errno(int rc);
const char *db_error(const struct db *d);

int db_exec(struct db *d, const char *sql) WARN_UNUSED;
int db_begin(struct db *d) WARN_UNUSED; /* immediate */
int db_commit(struct db *d) WARN_UNUSED;
void db_rollback(struct db *d); /* also where SQLite did it already, or nothing was begun */
/* One integer of one row; -ENOENT: no row. */
int db_query_i64(struct db *d, const char *sql, int64_t *ret) WARN_UNUSED;

/* A prepared statement: kept and used again. step: 1 = a row, 0 = done, else negative errno. */
int db_prepare(struct db *d, const char *sql, sqlite3_stmt **ret) WARN_UNUSED;
int db_step(sqlite3_stmt *s) WARN_UNUSED;
void db_reset(sqlite3_stmt *s);                     /* and clears its bindings */
struct span db_column_span(sqlite3_stmt *s, int i); /* text or blob, valid to the next step */
int db_bind_span(sqlite3_stmt *s, int i, struct span text) WARN_UNUSED; /* borrowed until reset */
int db_bind_blob(sqlite3_stmt *s, int i, struct span blob) WARN_UNUSED; /* borrowed until reset */

/* WAL back into the file, as far as readers let it; bytes of the WAL that are left. */
int db_checkpoint(struct db *d, int64_t *ret_wal_bytes) WARN_UNUSED;
/* Bytes on disk of the file with its WAL. */
int64_t db_size(const char *path);
/* Gives up to n_pages free pages back to the file system; 1 while more are left, else 0. */
int db_shrink(struct db *d, int n_pages) WARN_UNUSED;

/* Ends what a statement of this connection does, with -ECANCELED. Any thread. */
void db_interrupt(struct db *d);
/* Called every n virtual machine steps; nonzero ends the statement with -ECANCELED. NULL: off. */
void db_on_progress(struct db *d, int n, int (*is_over)(void *ctx), void *ctx);

#endif
