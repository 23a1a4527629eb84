/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tsdb/disk.h - the tables of the database, and the statements on them.
 *
 * Role:      all SQL of this module.
 * Errors:    as db/db.h.
 * Threading: as a connection.
 */
#ifndef TSDB_DISK_H
#define TSDB_DISK_H

#include "db/db.h"
#include "tsdb/frame.h"
#include "tsdb/index.h"
#include "tsdb/place.h"

extern const struct db_schema disk_schema;

enum disk_statement {
    DISK_SYMBOL_PUT,
    DISK_SYMBOL_DROP,
    DISK_SERIES_PUT,
    DISK_SERIES_KIND,
    DISK_SERIES_SEALED,
    DISK_SERIES_DROP,
    DISK_JOURNAL_PUT,
    DISK_JOURNAL_DROP,
    DISK_CHUNK_PUT,
    DISK_CHUNK_DROP,
    DISK_CHUNK_GET,
    DISK_CHUNK_FIRST,
    DISK_CHUNK_LAST,
    DISK_CHUNK_NTH,
    DISK_CHUNK_PIECE,
    DISK_DIRTY_PUT,
    DISK_DIRTY_FIRST,
    DISK_DIRTY_HAS,
    DISK_DIRTY_DROP,
    DISK_META_PUT,
    DISK_META_GET,
    DISK_COUNT_
};

struct disk {
    struct db *db;
    sqlite3_stmt *statements[DISK_COUNT_]; /* made when first used */
    struct frame *frame;
};

/* The database is the disk's from then on, also after an error. */
int disk_init(struct disk *d, struct db *db) WARN_UNUSED;
void disk_done(struct disk *d);

/* Runs a statement with numbers, and a blob behind them. */
int disk_run(struct disk *d, enum disk_statement which, const int64_t *numbers, int n) WARN_UNUSED;
int disk_run_blob(struct disk *d, enum disk_statement which, const int64_t *numbers, int n,
                  struct span blob) WARN_UNUSED;
/* One number of one row; -ENOENT: none (or NULL). */
int disk_ask(struct disk *d, enum disk_statement which, const int64_t *numbers, int n,
             int64_t *ret) WARN_UNUSED;

/* Where the samples of a tier begin: those before are in coarser tiers only. */
int disk_floors(struct disk *d, int64_t floors[TSDB_TIERS]) WARN_UNUSED;

/* Calls visit for each chunk of keys first .. last, in order; body valid during it. A damaged one
 * comes with body.p NULL. */
int disk_each(struct disk *d, int64_t first, int64_t last,
              int (*visit)(void *ctx, int64_t key, struct span body), void *ctx) WARN_UNUSED;

int disk_put_chunk(struct disk *d, int64_t key, struct span body, int level) WARN_UNUSED;
int disk_put_series(struct disk *d, const struct series *s) WARN_UNUSED;
int disk_load_index(struct disk *d, struct index *x) WARN_UNUSED;

#endif
