/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tsdb/seal.c - full chunks go to disk as pieces of their day, and rows of the journal go.
 *
 * A piece and the time of its last sample are written in one transaction: when the journal is
 * replayed, samples up to that time are passed over, so that it does not matter when its rows are
 * deleted.
 */
#include <errno.h>

#include "tsdb/tsdb_private.h"

enum { BATCH = 256 };
/* Heads of series that get no samples any more are full at some time, too. */
#define SCAN_MS       (INT64_C(60) * 1000)
#define IDLE_GRACE_MS (INT64_C(10) * 60 * 1000)

static int cut(struct tsdb *t, struct series *s)
{
    pthread_mutex_t *lock = tsdb_head_lock(t, s->id);
    pthread_mutex_lock(lock);
    int r = head_cut(&s->head, s->id, &t->queue);
    pthread_mutex_unlock(lock);
    return r;
}

static int cut_idle(struct tsdb *t, int64_t now_ms)
{
    int r = 0;
    if (t->scanned_ms != INT64_MIN && now_ms >= t->scanned_ms && now_ms - t->scanned_ms < SCAN_MS)
        return 0;
    for (uint32_t i = 0; r == 0 && i < t->index.n_ids; i++) {
        struct series *s = t->index.by_id[i];
        if (s && s->head.chunk.n > 0 && head_is_full(&s->head, now_ms - IDLE_GRACE_MS) &&
            now_ms - IDLE_GRACE_MS > s->head.chunk.t_first)
            r = cut(t, s);
    }
    t->scanned_ms = now_ms;
    return r;
}

static int next_key(struct tsdb *t, const struct full *f, int64_t *ret)
{
    int64_t slot = place_slot(0, f->t_first), last;
    int64_t range[] = {place_key(0, slot, f->id, 0), place_key(0, slot, f->id, PLACE_MAX_PIECE)};
    int r = disk_ask(&t->disk, DISK_CHUNK_LAST, range, 2, &last);
    if (r == -ENOENT) {
        *ret = place_key(0, slot, f->id, 1);
        return 0;
    }
    if (r == 0 && place_piece(last) == PLACE_MAX_PIECE)
        return -EOVERFLOW;
    *ret = last + 1;
    return r;
}

static int put(struct tsdb *t, const struct full *f)
{
    int64_t key, slot = place_slot(0, f->t_first);
    int64_t sealed[] = {f->id, f->t_first, f->t_last};
    int r = next_key(t, f, &key);
    if (r == -EOVERFLOW && (r = compact_series(t, slot, f->id)) == 0)
        r = next_key(t, f, &key);
    if (r == 0)
        r = disk_put_chunk(&t->disk, key, bytes_span(&f->body), TSDB_LEVEL_PIECE);
    if (r == 0)
        r = disk_run(&t->disk, DISK_SERIES_SEALED, sealed, 3);
    if (r == 0)
        r = disk_run(&t->disk, DISK_DIRTY_PUT, &slot, 1);
    return r;
}

static int put_batch(struct tsdb *t, size_t n)
{
    int r = db_begin(t->disk.db);
    if (r == 0)
        r = tsdb_save_names(t);
    const struct full *f = t->queue.first;
    for (size_t i = 0; r == 0 && i < n; i++, f = f->queue_next)
        r = put(t, f);
    if (r == 0)
        r = db_commit(t->disk.db);
    if (r < 0)
        db_rollback(t->disk.db);
    return r;
}

static int seal_batch(struct tsdb *t)
{
    size_t n = t->queue.n < BATCH ? t->queue.n : BATCH;
    int r = put_batch(t, n);
    if (r < 0)
        return r;
    tsdb_saved_names(t);
    for (size_t i = 0; i < n; i++) {
        const struct full *f = t->queue.first;
        struct series *s = index_get(&t->index, f->id);
        pthread_mutex_t *lock = tsdb_head_lock(t, f->id);
        pthread_mutex_lock(lock);
        atomic_store_explicit(&s->t_sealed, f->t_last, memory_order_relaxed);
        head_drop_first(&s->head, &t->queue);
        pthread_mutex_unlock(lock);
    }
    t->has_old_journal = true;
    return 1;
}

/* Rows before the one that has the oldest sample in memory. */
static int drop_journal(struct tsdb *t)
{
    uint64_t seq = t->seq;
    for (uint32_t i = 0; i < t->index.n_ids; i++) {
        const struct series *s = t->index.by_id[i];
        if (s && s->head.chunk.n > 0 && s->head.first_seq < seq)
            seq = s->head.first_seq;
    }
    int64_t number = (int64_t)seq;
    int r = disk_run(&t->disk, DISK_JOURNAL_DROP, &number, 1);
    if (r == 0)
        t->has_old_journal = false;
    return r;
}

int seal_step(struct tsdb *t, int64_t now_ms)
{
    int r = cut_idle(t, now_ms);
    if (r < 0)
        return r;
    if (t->queue.n > 0)
        return seal_batch(t);
    return t->has_old_journal ? drop_journal(t) : 0;
}

int seal_all(struct tsdb *t)
{
    int r = 0;
    for (uint32_t i = 0; r == 0 && i < t->index.n_ids; i++)
        if (t->index.by_id[i])
            r = cut(t, t->index.by_id[i]);
    while (r >= 0 && t->queue.n > 0)
        r = seal_batch(t);
    return r < 0 ? r : 0;
}
