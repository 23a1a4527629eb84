/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tsdb/disk.c - SQL.
 */
#include "tsdb/disk.h"

#include <inttypes.h>

static const char *const migrations[] = {
    "CREATE TABLE meta(id INTEGER PRIMARY KEY, value INTEGER NOT NULL);"
    "CREATE TABLE symbol(id INTEGER PRIMARY KEY, text BLOB NOT NULL);"
    "CREATE TABLE series(id INTEGER PRIMARY KEY, labels BLOB NOT NULL, kind INTEGER NOT NULL,"
    " first_ms INTEGER, last_ms INTEGER);"
    "CREATE TABLE journal(seq INTEGER PRIMARY KEY, body BLOB NOT NULL);"
    "CREATE TABLE dirty(slot INTEGER PRIMARY KEY);"
    "CREATE TABLE chunk(key INTEGER PRIMARY KEY, body BLOB NOT NULL);",
};

const struct db_schema disk_schema = {
    .name = "time series",
    .application_id = 0x696d7473, /* "imts" */
    .migrations = migrations,
    .n_migrations = ARRAY_LEN(migrations),
};

static const char *const texts[DISK_COUNT_] = {
    [DISK_SYMBOL_PUT] = "INSERT INTO symbol(id, text) VALUES (?1, ?2)",
    [DISK_SYMBOL_DROP] = "DELETE FROM symbol WHERE id = ?1",
    [DISK_SERIES_PUT] = "INSERT INTO series(id, kind, labels) VALUES (?1, ?2, ?3)",
    [DISK_SERIES_KIND] = "UPDATE series SET kind = ?2 WHERE id = ?1",
    [DISK_SERIES_SEALED] =
        "UPDATE series SET first_ms = coalesce(first_ms, ?2), last_ms = ?3 WHERE id = ?1",
    [DISK_SERIES_DROP] = "DELETE FROM series WHERE id = ?1",
    [DISK_JOURNAL_PUT] = "INSERT INTO journal(seq, body) VALUES (?1, ?2)",
    [DISK_JOURNAL_DROP] = "DELETE FROM journal WHERE seq < ?1",
    [DISK_CHUNK_PUT] = "INSERT OR REPLACE INTO chunk(key, body) VALUES (?1, ?2)",
    [DISK_CHUNK_DROP] = "DELETE FROM chunk WHERE key BETWEEN ?1 AND ?2",
    [DISK_CHUNK_GET] = "SELECT key, body FROM chunk WHERE key BETWEEN ?1 AND ?2 ORDER BY key",
    [DISK_CHUNK_FIRST] = "SELECT min(key) FROM chunk WHERE key BETWEEN ?1 AND ?2",
    [DISK_CHUNK_LAST] = "SELECT max(key) FROM chunk WHERE key BETWEEN ?1 AND ?2",
    [DISK_CHUNK_NTH] =
        "SELECT key FROM chunk WHERE key BETWEEN ?1 AND ?2 ORDER BY key LIMIT 1 OFFSET ?3",
    [DISK_CHUNK_PIECE] =
        "SELECT min(key) FROM chunk WHERE key BETWEEN ?1 AND ?2 AND key & 4095 <> 0",
    [DISK_DIRTY_PUT] = "INSERT OR IGNORE INTO dirty(slot) VALUES (?1)",
    [DISK_DIRTY_FIRST] = "SELECT min(slot) FROM dirty WHERE slot >= ?1",
    [DISK_DIRTY_HAS] = "SELECT 1 FROM dirty WHERE slot = ?1",
    [DISK_DIRTY_DROP] = "DELETE FROM dirty WHERE slot = ?1",
    [DISK_META_PUT] = "INSERT OR REPLACE INTO meta(id, value) VALUES (?1, ?2)",
    [DISK_META_GET] = "SELECT value FROM meta WHERE id = ?1",
};
_Static_assert(PLACE_MAX_PIECE == 4095, "DISK_CHUNK_PIECE says so");

int disk_init(struct disk *d, struct db *db)
{
    *d = (struct disk){.db = db};
    return frame_new(&d->frame);
}

void disk_done(struct disk *d)
{
    d->db = db_close(d->db); /* ends the statements */
    d->frame = frame_free(d->frame);
    *d = (struct disk){0};
}

static int begin(struct disk *d, enum disk_statement which, const int64_t *numbers, int n,
                 sqlite3_stmt **ret)
{
    if (!d->statements[which]) {
        int r = db_prepare(d->db, texts[which], &d->statements[which]);
        if (r < 0)
            return r;
    }
    sqlite3_stmt *s = d->statements[which];
    for (int i = 0; i < n; i++)
        sqlite3_bind_int64(s, i + 1, numbers[i]);
    *ret = s;
    return 0;
}

int disk_run(struct disk *d, enum disk_statement which, const int64_t *numbers, int n)
{
    sqlite3_stmt *s;
    int r = begin(d, which, numbers, n, &s);
    if (r < 0)
        return r;
    r = db_step(s);
    db_reset(s);
    return r < 0 ? r : 0;
}

int disk_run_blob(struct disk *d, enum disk_statement which, const int64_t *numbers, int n,
                  struct span blob)
{
    sqlite3_stmt *s;
    int r = begin(d, which, numbers, n, &s);
    if (r < 0)
        return r;
    if ((r = db_bind_blob(s, n + 1, blob)) == 0)
        r = db_step(s);
    db_reset(s);
    return r < 0 ? r : 0;
}

int disk_ask(struct disk *d, enum disk_statement which, const int64_t *numbers, int n, int64_t *ret)
{
    sqlite3_stmt *s;
    int r = begin(d, which, numbers, n, &s);
    if (r < 0)
        return r;
    r = db_step(s);
    bool is_there = r == 1 && sqlite3_column_type(s, 0) != SQLITE_NULL;
    if (is_there)
        *ret = sqlite3_column_int64(s, 0);
    db_reset(s);
    return r < 0 ? r : is_there ? 0 : -ENOENT;
}

int disk_floors(struct disk *d, int64_t floors[TSDB_TIERS])
{
    for (int64_t tier = 0; tier < TSDB_TIERS; tier++) {
        floors[tier] = INT64_MIN;
        int r = disk_ask(d, DISK_META_GET, &tier, 1, &floors[tier]);
        if (r < 0 && r != -ENOENT)
            return r;
    }
    return 0;
}

int disk_each(struct disk *d, int64_t first, int64_t last,
              int (*visit)(void *ctx, int64_t key, struct span body), void *ctx)
{
    sqlite3_stmt *s;
    int64_t numbers[] = {first, last};
    int r = begin(d, DISK_CHUNK_GET, numbers, 2, &s);
    if (r < 0)
        return r;
    while ((r = db_step(s)) == 1) {
        struct span body = {0};
        int64_t key = sqlite3_column_int64(s, 0);
        r = frame_open(d->frame, db_column_span(s, 1), &body);
        if (r == -EBADMSG)
            body = (struct span){0};
        if (r == 0 || r == -EBADMSG)
            r = visit(ctx, key, body);
        if (r < 0)
            break;
    }
    db_reset(s);
    return r < 0 ? r : 0;
}

int disk_put_chunk(struct disk *d, int64_t key, struct span body, int level)
{
    struct span frame;
    int r = frame_seal(d->frame, body, level, &frame);
    return r < 0 ? r : disk_run_blob(d, DISK_CHUNK_PUT, &key, 1, frame);
}

int disk_put_series(struct disk *d, const struct series *s)
{
    struct bytes blob = {0};
    uint8_t *at = bytes_room(&blob, (size_t)2 * VARINT_MAX_BYTES * s->n_pairs);
    if (!at && s->n_pairs > 0)
        return -ENOMEM;
    for (uint32_t i = 0; i < 2 * s->n_pairs; i++)
        at = varint_put(at, s->pairs[i]);
    if (s->n_pairs > 0)
        bytes_end(&blob, at);
    int64_t numbers[] = {s->id, s->kind};
    int r = disk_run_blob(d, DISK_SERIES_PUT, numbers, 2, bytes_span(&blob));
    bytes_done(&blob);
    return r;
}
