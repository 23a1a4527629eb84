/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tsdb/disk_load.c - the index as it was when the program ended.
 */
#include "tsdb/disk.h"

static int load_symbols(struct disk *d, struct index *x)
{
    sqlite3_stmt *s;
    int r = db_prepare(d->db, "SELECT id, text FROM symbol ORDER BY id", &s);
    if (r < 0)
        return r;
    while ((r = db_step(s)) == 1) {
        int64_t id = sqlite3_column_int64(s, 0);
        if (id <= 0 || id >= UINT32_MAX)
            r = -EBADMSG;
        else
            r = symbols_load(&x->symbols, (uint32_t)id, db_column_span(s, 1));
        if (r < 0)
            break;
    }
    sqlite3_finalize(s);
    return r;
}

static int64_t column_time(sqlite3_stmt *s, int i)
{
    return sqlite3_column_type(s, i) == SQLITE_NULL ? INDEX_NEVER : sqlite3_column_int64(s, i);
}

enum { PAIRS_WORDS = 2 * 4096 }; /* a series' labels: symbols of name and value in turn */

/* A row: id, kind, first_ms, last_ms, labels. */
static int load_one(struct index *x, sqlite3_stmt *s, uint32_t *pairs)
{
    struct varint_in in = varint_in(db_column_span(s, 4));
    int64_t id = sqlite3_column_int64(s, 0), kind = sqlite3_column_int64(s, 1);
    uint32_t n = 0;
    if (id < 0 || id > PLACE_MAX_ID || kind < TSDB_UNKNOWN || kind > TSDB_HISTOGRAM)
        return -EBADMSG;
    for (uint64_t u; in.p < in.end; n++) {
        if (n == PAIRS_WORDS || !varint_get(&in, &u) || u > UINT32_MAX ||
            !symbols_has(&x->symbols, (uint32_t)u))
            return -EBADMSG;
        pairs[n] = (uint32_t)u;
    }
    struct series *series = NULL;
    int r = n % 2 ? -EBADMSG : index_load(x, (uint32_t)id, pairs, n / 2, &series);
    if (r < 0)
        return r;
    series->kind = (uint8_t)kind;
    series->t_first = column_time(s, 2);
    series->t_last = series->t_sealed = column_time(s, 3);
    return 0;
}

static int load_series(struct disk *d, struct index *x)
{
    sqlite3_stmt *s;
    uint32_t *pairs = mem_zalloc(PAIRS_WORDS, sizeof(*pairs));
    if (!pairs)
        return -ENOMEM;
    int r =
        db_prepare(d->db, "SELECT id, kind, first_ms, last_ms, labels FROM series ORDER BY id", &s);
    if (r == 0) {
        while ((r = db_step(s)) == 1)
            if ((r = load_one(x, s, pairs)) < 0)
                break;
        sqlite3_finalize(s);
    }
    mem_free(pairs);
    return r;
}

int disk_load_index(struct disk *d, struct index *x)
{
    int r = load_symbols(d, x);
    return r < 0 ? r : load_series(d, x);
}
