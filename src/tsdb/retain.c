/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tsdb/retain.c - what is old goes: by age, by the disk budget, and series with nothing left.
 *
 * A slot goes in bounded parts, of which the first moves the tier's floor: from then on readers
 * take that time from the coarser tier.
 */
#include <errno.h>

#include "base/log.h"
#include "tsdb/tsdb_private.h"

enum { DROP_ROWS = 500, SHRINK_PAGES = 1024, RESERVE_PAGES = 64 };
/* How often these are looked at. */
#define FORGET_MS (INT64_C(3600) * 1000)
#define BUDGET_MS (INT64_C(600) * 1000)

static bool is_soon(int64_t last_ms, int64_t now_ms, int64_t every_ms)
{
    return last_ms != INT64_MIN && now_ms >= last_ms && now_ms - last_ms < every_ms;
}

/* The oldest slot of a tier; -ENOENT. */
static int oldest_slot(struct tsdb *t, int tier, int64_t *ret)
{
    int64_t key, lowest = -(INT64_C(1) << (PLACE_SLOT_BITS - 1));
    int64_t range[] = {place_first_key(tier, lowest), place_last_key(tier, -lowest - 1)};
    int r = disk_ask(&t->disk, DISK_CHUNK_FIRST, range, 2, &key);
    if (r == 0)
        *ret = place_key_slot(key);
    return r;
}

static int drop_rows(struct tsdb *t, int tier, int64_t slot, int64_t *ret_n)
{
    int64_t nth[] = {place_first_key(tier, slot), place_last_key(tier, slot), DROP_ROWS};
    int64_t last;
    int r = disk_ask(&t->disk, DISK_CHUNK_NTH, nth, 3, &last);
    if (r == -ENOENT)
        last = nth[1];
    else if (r < 0)
        return r;
    int64_t range[] = {nth[0], last};
    r = disk_run(&t->disk, DISK_CHUNK_DROP, range, 2);
    if (r == 0)
        *ret_n = sqlite3_changes64(t->disk.db->_handle);
    if (r == 0 && last == nth[1] && tier == 0)
        r = disk_run(&t->disk, DISK_DIRTY_DROP, &slot, 1);
    return r;
}

/* A part of the slot, in one transaction. */
static int drop_part(struct tsdb *t, int tier, int64_t slot, uint64_t *count)
{
    int64_t n = 0, floor = place_slot_start(tier, slot + 1);
    int64_t meta[] = {tier, floor > t->floors[tier] ? floor : t->floors[tier]};
    int r = db_begin(t->disk.db);
    if (r == 0)
        r = disk_run(&t->disk, DISK_META_PUT, meta, 2);
    if (r == 0)
        r = drop_rows(t, tier, slot, &n);
    if (r == 0)
        r = db_commit(t->disk.db);
    if (r < 0) {
        db_rollback(t->disk.db);
        return r;
    }
    t->floors[tier] = meta[1];
    *count += (uint64_t)n;
    return 1;
}

int retain_step(struct tsdb *t, int64_t now_ms)
{
    for (int tier = 0; tier < TSDB_TIERS; tier++) {
        int64_t slot = 0;
        int r = oldest_slot(t, tier, &slot);
        if (r == -ENOENT)
            continue;
        if (r < 0)
            return r;
        if (place_slot_start(tier, slot + 1) <= now_ms - t->config.keep_ms[tier])
            return drop_part(t, tier, slot, &t->counts.n_expired_chunks);
    }
    return 0;
}

/* The slot whose last moment is the oldest, of those that are over. */
static int oldest_of_all(struct tsdb *t, int64_t now_ms, int *ret_tier, int64_t *ret_slot)
{
    int64_t best = now_ms;
    int r = -ENOENT;
    for (int tier = 0; tier < TSDB_TIERS; tier++) {
        int64_t slot = 0;
        int x = oldest_slot(t, tier, &slot);
        if (x < 0 && x != -ENOENT)
            return x;
        if (x == -ENOENT || place_slot_start(tier, slot + 1) > best)
            continue;
        best = place_slot_start(tier, slot + 1);
        *ret_tier = tier;
        *ret_slot = slot;
        r = 0;
    }
    return r;
}

int retain_budget_step(struct tsdb *t, int64_t now_ms)
{
    int64_t slot = 0, left;
    int tier = 0;
    if (t->config.max_disk_bytes == 0 || db_size(t->path) <= t->config.max_disk_bytes ||
        is_soon(t->budget_ms, now_ms, BUDGET_MS))
        return 0;
    /* First what is free already. */
    int r = db_shrink(t->disk.db, SHRINK_PAGES);
    if (r == 0)
        r = db_checkpoint(t->disk.db, &left);
    if (r != 0 || db_size(t->path) <= t->config.max_disk_bytes)
        return r;
    r = oldest_of_all(t, now_ms, &tier, &slot);
    if (r == -ENOENT) {
        LOG_WARN("\"%s\" is over its budget of disk with samples of today alone", t->path);
        t->budget_ms = now_ms;
        return 0;
    }
    return r < 0 ? r : drop_part(t, tier, slot, &t->counts.n_budget_chunks);
}

/* --- series --- */

struct forgetting {
    struct tsdb *t;
    int64_t floor_ms; /* nothing older is there */
};

static bool is_dead(void *ctx, const struct series *s)
{
    const struct forgetting *f = ctx;
    int64_t t_ms;
    return !head_first(&s->head, &t_ms) && s->t_last < f->floor_ms && s->t_last != INDEX_NEVER &&
           s->id < f->t->n_ids_saved;
}

/* On disk first: labels must not have two numbers there. */
static int drop_series(struct forgetting *f)
{
    struct tsdb *t = f->t;
    int r = db_begin(t->disk.db);
    for (uint32_t i = 0; r == 0 && i < t->index.n_ids; i++) {
        int64_t id = i;
        if (t->index.by_id[i] && is_dead(f, t->index.by_id[i]))
            r = disk_run(&t->disk, DISK_SERIES_DROP, &id, 1);
    }
    if (r == 0)
        r = db_commit(t->disk.db);
    if (r < 0) {
        db_rollback(t->disk.db);
        return r;
    }
    pthread_rwlock_wrlock(&t->index_lock);
    index_forget(&t->index, is_dead, f);
    pthread_rwlock_unlock(&t->index_lock);
    return 0;
}

static bool has_dead(struct forgetting *f)
{
    for (uint32_t i = 0; i < f->t->index.n_ids; i++)
        if (f->t->index.by_id[i] && is_dead(f, f->t->index.by_id[i]))
            return true;
    return false;
}

int retain_forget_step(struct tsdb *t, int64_t now_ms)
{
    struct forgetting f = {.t = t, .floor_ms = INT64_MAX};
    if (is_soon(t->forgotten_ms, now_ms, FORGET_MS))
        return 0;
    for (int tier = 0; tier < TSDB_TIERS; tier++) {
        int64_t slot = 0;
        int r = oldest_slot(t, tier, &slot);
        if (r < 0 && r != -ENOENT)
            return r;
        if (r == 0 && place_slot_start(tier, slot) < f.floor_ms)
            f.floor_ms = place_slot_start(tier, slot);
    }
    t->forgotten_ms = now_ms;
    return has_dead(&f) ? drop_series(&f) : 0;
}

/* --- space --- */

/* An eighth of the file may be free: tomorrow's day will want it. */
int retain_shrink_step(struct tsdb *t)
{
    int64_t n_free = 0, n_pages = 0, left;
    int r = db_query_i64(t->disk.db, "PRAGMA freelist_count", &n_free);
    if (r == 0)
        r = db_query_i64(t->disk.db, "PRAGMA page_count", &n_pages);
    if (r < 0 || n_free <= RESERVE_PAGES || n_free <= n_pages / 8)
        return r;
    r = db_shrink(t->disk.db, SHRINK_PAGES);
    if (r == 0) /* the file is cut when the pages are copied into it */
        r = db_checkpoint(t->disk.db, &left);
    return r < 0 ? r : 1;
}
