/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tsdb/compact.c - the pieces of a day become one chunk per series, and the coarser tiers are made.
 *
 * A day is due when it has been over for DUE_MS: by then no head has samples of it. Should one come
 * late, its piece makes the day dirty again, and that series is done once more; the samples of the
 * day in the coarser tiers are replaced then.
 */
#include <errno.h>

#include "base/log.h"
#include "tsdb/tsdb_private.h"

enum { BATCH = 32 };
#define DUE_MS (HEAD_SPAN_MS + INT64_C(30) * 60 * 1000)

struct merge {
    struct tsdb *t;
    struct tschunk chunk;
};

static int merge_samples(struct tschunk *to, struct span body)
{
    return downsample_carry(body, INT64_MIN, INT64_MAX, to);
}

/* What can't be read is left out; what is there twice, too. */
static int merge_piece(void *ctx, int64_t key, struct span body)
{
    struct merge *m = ctx;
    int r = body.p ? merge_samples(&m->chunk, body) : -EBADMSG;
    if (r != -EBADMSG)
        return r;
    m->t->n_damaged++;
    LOG_ERROR("a chunk of series %u in \"%s\" is damaged, leaving it out", place_id(key),
              m->t->path);
    return 0;
}

struct keep {
    struct tsdb *t;
    struct bytes body;
};

static int keep_body(void *ctx, int64_t key, struct span body)
{
    struct keep *k = ctx;
    (void)key;
    if (!body.p) {
        k->t->n_damaged++;
        return 0;
    }
    return bytes_add(&k->body, body.p, body.n);
}

/* The chunk of a coarser tier with this day in it. */
static int replace_day(struct tsdb *t, int tier, int64_t start, struct span before, struct span day,
                       struct tschunk *out)
{
    int64_t end = start + PLACE_DAY_MS;
    int r = before.n ? downsample_carry(before, INT64_MIN, start, out) : 0;
    if (r == 0)
        r = downsample_day(day, t->config.resolution_ms[tier], out);
    if (r == 0 && before.n)
        r = downsample_carry(before, end, INT64_MAX, out);
    return r;
}

static int put_chunk(struct tsdb *t, int64_t key, const struct tschunk *c)
{
    struct bytes body = {0};
    int r = tschunk_write(c, &body);
    if (r == 0)
        r = disk_put_chunk(&t->disk, key, bytes_span(&body), TSDB_LEVEL_CHUNK);
    bytes_done(&body);
    return r;
}

static int put_tier(struct tsdb *t, int tier, const struct series *s, int64_t start,
                    struct span day, bool has_hist)
{
    bool is_summary = !has_hist && (s->kind == TSDB_GAUGE || s->kind == TSDB_UNKNOWN);
    int64_t key = place_key(tier, place_slot(tier, start), s->id, 0);
    struct keep before = {.t = t};
    struct tschunk out;
    int r = tschunk_init(&out, is_summary ? TSCHUNK_SUMMARY : TSCHUNK_PLAIN);
    if (r == 0)
        r = disk_each(&t->disk, key, key, keep_body, &before);
    if (r == 0)
        r = replace_day(t, tier, start, bytes_span(&before.body), day, &out);
    if (r == 0)
        r = put_chunk(t, key, &out);
    bytes_done(&before.body);
    tschunk_done(&out);
    return r;
}

static int put_merged(struct tsdb *t, int64_t slot, uint32_t id, const struct tschunk *c)
{
    struct bytes body = {0};
    int64_t start = place_slot_start(0, slot);
    int64_t range[] = {place_key(0, slot, id, 0), place_key(0, slot, id, PLACE_MAX_PIECE)};
    const struct series *s = index_get(&t->index, id);
    int r = disk_run(&t->disk, DISK_CHUNK_DROP, range, 2);
    if (r < 0 || c->n == 0 || !s) /* pieces of nobody, or nothing readable */
        return r;
    if ((r = tschunk_write(c, &body)) == 0)
        r = disk_put_chunk(&t->disk, range[0], bytes_span(&body), TSDB_LEVEL_CHUNK);
    for (int tier = 1; r == 0 && tier < TSDB_TIERS; tier++)
        r = put_tier(t, tier, s, start, bytes_span(&body), c->hist != NULL);
    bytes_done(&body);
    return r;
}

int compact_series(struct tsdb *t, int64_t slot, uint32_t id)
{
    struct merge m = {.t = t};
    int r = tschunk_init(&m.chunk, TSCHUNK_PLAIN);
    if (r == 0)
        r = disk_each(&t->disk, place_key(0, slot, id, 0), place_key(0, slot, id, PLACE_MAX_PIECE),
                      merge_piece, &m);
    if (r == 0)
        r = put_merged(t, slot, id, &m.chunk);
    tschunk_done(&m.chunk);
    return r;
}

/* Compacts up to BATCH series of the slot; *ret_is_over: there are no more. */
static int compact_batch(struct tsdb *t, int64_t slot, bool *ret_is_over)
{
    int64_t cursor = t->compact_cursor, key;
    int r = db_begin(t->disk.db);
    *ret_is_over = false;
    for (int i = 0; r == 0 && i < BATCH; i++) {
        int64_t range[] = {cursor, place_last_key(0, slot)};
        r = disk_ask(&t->disk, DISK_CHUNK_PIECE, range, 2, &key);
        if (r == -ENOENT) {
            *ret_is_over = true;
            r = disk_run(&t->disk, DISK_DIRTY_DROP, &slot, 1);
            break;
        }
        if (r == 0)
            r = compact_series(t, slot, place_id(key));
        cursor = place_key(0, slot, place_id(key), PLACE_MAX_PIECE) + 1;
    }
    if (r == 0)
        r = db_commit(t->disk.db);
    if (r < 0)
        db_rollback(t->disk.db);
    else
        t->compact_cursor = cursor;
    return r;
}

static int find_slot(struct tsdb *t, int64_t now_ms, int64_t *ret)
{
    int64_t from = t->spoiled_slot == INT64_MIN ? INT64_MIN : t->spoiled_slot + 1;
    int r = disk_ask(&t->disk, DISK_DIRTY_FIRST, &from, 1, ret);
    if (r == 0 && place_slot_start(0, *ret + 1) + DUE_MS > now_ms)
        r = -ENOENT;
    return r;
}

int compact_step(struct tsdb *t, int64_t now_ms)
{
    int64_t slot;
    bool is_over;
    int r = find_slot(t, now_ms, &slot);
    if (r == -ENOENT)
        return 0;
    if (r < 0)
        return r;
    if (slot != t->compact_slot) {
        t->compact_slot = slot;
        t->compact_cursor = place_first_key(0, slot);
    }
    r = compact_batch(t, slot, &is_over);
    if (r == -EBADMSG) {
        LOG_ERROR("could not compact day %lld in \"%s\", which is damaged; it stays as it is",
                  (long long)slot, t->path);
        t->n_damaged++;
        t->spoiled_slot = slot;
        return 1;
    }
    if (r == 0 && is_over)
        t->compact_slot = INT64_MIN;
    return r < 0 ? r : 1;
}
