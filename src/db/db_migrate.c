/* SPDX-License-Identifier: Apache-2.0 */
/*
 * db/db_migrate.c - from the version a file has to that of this program, in one transaction.
 *
 * The version is SQLite's user_version, whose file it is its application_id. A file with tables but
 * another application_id belongs to somebody else and is left alone.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include "db/db_private.h"

static int refuse(struct err *reterr, const struct db *d, const struct db_schema *schema,
                  int64_t version)
{
    err_set(reterr, -EPROTO,
            "the database of %s \"%s\" has version %" PRId64 ", this program knows %zu",
            schema->name, d->_path, version, schema->n_migrations);
    err_hint(reterr, version > (int64_t)schema->n_migrations
                         ? "a newer program wrote it; use that one, or another file"
                         : "let the program that writes it open it once");
    return -EPROTO;
}

/* What is there; *ret_is_new: nothing yet. */
static int look(struct db *d, const struct db_schema *schema, int64_t *ret_version,
                bool *ret_is_new, struct err *reterr)
{
    int64_t id, n_tables;
    int r;
    if ((r = db_query_i64(d, "PRAGMA application_id", &id)) < 0 ||
        (r = db_query_i64(d, "PRAGMA user_version", ret_version)) < 0 ||
        (r = db_query_i64(d, "SELECT count(*) FROM sqlite_schema", &n_tables)) < 0)
        return r;
    *ret_is_new = n_tables == 0 && *ret_version == 0;
    if (*ret_is_new || (uint32_t)id == schema->application_id)
        return 0;
    err_set(reterr, -EPROTO, "\"%s\" is a database, but none of %s", d->_path, schema->name);
    err_hint(reterr, "name another file");
    return -EPROTO;
}

/* All of it at one moment: another process may be making the tables. */
static int look_once(struct db *d, const struct db_schema *schema, int64_t *ret_version,
                     bool *ret_is_new, struct err *reterr)
{
    int r = db_exec(d, "BEGIN");
    if (r < 0)
        return r;
    r = look(d, schema, ret_version, ret_is_new, reterr);
    db_rollback(d);
    return r;
}

static int apply(struct db *d, const struct db_schema *schema, int64_t from)
{
    char sql[96];
    int r = 0;
    for (size_t i = (size_t)from; r == 0 && i < schema->n_migrations; i++)
        r = db_exec(d, schema->migrations[i]);
    if (r < 0)
        return r;
    (void)snprintf(sql, sizeof(sql), "PRAGMA application_id=%" PRId32 "; PRAGMA user_version=%zu",
                   (int32_t)schema->application_id, schema->n_migrations);
    return db_exec(d, sql);
}

static int migrate(struct db *d, const struct db_schema *schema, struct err *reterr)
{
    int64_t version;
    bool is_new;
    int r = db_begin(d);
    if (r < 0)
        return r;
    /* Looked at again: somebody else may have migrated it meanwhile. */
    if ((r = look(d, schema, &version, &is_new, reterr)) == 0) {
        if (version < 0 || version > (int64_t)schema->n_migrations)
            r = refuse(reterr, d, schema, version);
        else if (is_new || version < (int64_t)schema->n_migrations)
            r = apply(d, schema, version);
    }
    if (r == 0)
        r = db_commit(d);
    if (r < 0)
        db_rollback(d);
    return r;
}

int db_migrate(struct db *d, const struct db_schema *schema, enum db_mode mode, struct err *reterr)
{
    int64_t version;
    bool is_new;
    int r = look_once(d, schema, &version, &is_new, reterr);
    if (r < 0)
        return r;
    if (is_new && mode == DB_READ)
        return err_set(reterr, -ENOENT, "the database of %s \"%s\" is empty", schema->name,
                       d->_path);
    bool is_current = version == (int64_t)schema->n_migrations && !is_new;
    if (is_current)
        return 0;
    if (mode == DB_READ || version < 0 || version > (int64_t)schema->n_migrations)
        return refuse(reterr, d, schema, version);
    /* Before the first table is made. */
    if (is_new && (r = db_exec(d, "PRAGMA auto_vacuum=INCREMENTAL; PRAGMA journal_mode=WAL")) < 0)
        return r;
    return migrate(d, schema, reterr);
}
