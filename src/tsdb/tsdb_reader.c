/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tsdb/tsdb_reader.c - samples from memory and from disk, each once.
 *
 * What is in memory is copied first, then the disk is asked for what is older than that copy: a
 * chunk that is sealed in between is on disk as well, and is left out there. The disk is read in
 * one transaction, so that tiers and their floors belong together.
 */
#include <errno.h>

#include "base/log.h"
#include "tsdb/tsdb_private.h"

struct tsdb_reader {
    struct reader reader;
    struct tsdb *t;
    struct disk disk;
    uint64_t generation; /* of the file that disk has open */
    _Atomic bool is_cancelled;
    pthread_mutex_t lock; /* of disk.db against whoever cancels */
    struct bytes memory;  /* chunks of one series, each behind its size */
};

static const struct reader_ops ops;

static struct tsdb_reader *self(struct reader *r)
{
    return CONTAINER_OF(r, struct tsdb_reader, reader);
}

static bool is_cancelled(const struct tsdb_reader *r)
{
    return atomic_load_explicit(&r->is_cancelled, memory_order_relaxed);
}

/* --- the file --- */

static void close_file(struct tsdb_reader *r)
{
    pthread_mutex_lock(&r->lock);
    struct disk old = r->disk;
    r->disk = (struct disk){0};
    pthread_mutex_unlock(&r->lock);
    disk_done(&old);
}

/* Opens the file, or the one that has replaced it. */
static int open_file(struct tsdb_reader *r)
{
    struct db *db;
    struct disk disk;
    uint64_t generation = atomic_load(&r->t->generation);
    if (r->disk.db && r->generation == generation)
        return 0;
    close_file(r);
    int x = db_open(r->t->path, &disk_schema, DB_READ, &db, NULL);
    if (x < 0)
        return x;
    if ((x = disk_init(&disk, db)) < 0) {
        disk_done(&disk);
        return x;
    }
    pthread_mutex_lock(&r->lock);
    r->disk = disk;
    pthread_mutex_unlock(&r->lock);
    r->generation = generation;
    return 0;
}

/* --- selecting --- */

static int on_select(struct reader *reader, const struct series_select *what, struct arena *a,
                     struct series_ref **ret, size_t *ret_n)
{
    struct tsdb_reader *r = self(reader);
    if (is_cancelled(r))
        return -ECANCELED;
    pthread_rwlock_rdlock(&r->t->index_lock);
    int x = index_select(&r->t->index, what, a, ret, ret_n);
    pthread_rwlock_unlock(&r->t->index_lock);
    return x;
}

/* --- from memory --- */

/* What stands before a copied chunk. */
struct copied {
    size_t n;
};

static int copy_bytes(struct bytes *to, const struct bytes *body)
{
    struct copied head = {body->n};
    int x = bytes_add(to, &head, sizeof(head));
    return x < 0 ? x : bytes_add(to, body->p, body->n);
}

static int copy_chunk(struct bytes *to, const struct tschunk *c)
{
    struct copied head = {0};
    uint32_t at = to->n;
    int x = bytes_add(to, &head, sizeof(head));
    if (x == 0)
        x = tschunk_write(c, to);
    head.n = to->n - at - sizeof(head);
    if (x == 0)
        memcpy(to->p + at, &head, sizeof(head));
    return x;
}

/* Those of [from_ms, to_ms]. *ret_first: what is older is on disk. */
static int copy_head(struct bytes *to, const struct head *h, int64_t from_ms, int64_t to_ms,
                     int64_t *ret_first)
{
    int x = 0;
    *ret_first = INT64_MAX;
    (void)head_first(h, ret_first);
    for (const struct full *f = h->full_first; x == 0 && f; f = f->next)
        if (f->t_last >= from_ms && f->t_first <= to_ms)
            x = copy_bytes(to, &f->body);
    const struct tschunk *c = &h->chunk;
    if (x == 0 && c->n > 0 && c->t_last >= from_ms && c->t_first <= to_ms)
        x = copy_chunk(to, c);
    return x;
}

/* *ret_sealed: the last sample on disk. 0 also where the series is not there any more. */
static int copy_memory(struct tsdb_reader *r, uint64_t id, int64_t from_ms, int64_t to_ms,
                       int64_t *ret_first, int64_t *ret_sealed)
{
    int x = 0;
    struct tsdb *t = r->t;
    r->memory.n = 0;
    *ret_first = INT64_MAX;
    *ret_sealed = INDEX_NEVER;
    pthread_rwlock_rdlock(&t->index_lock);
    struct series *s = index_get(&t->index, id);
    if (s) {
        pthread_mutex_t *lock = tsdb_head_lock(t, s->id);
        pthread_mutex_lock(lock);
        x = copy_head(&r->memory, &s->head, from_ms, to_ms, ret_first);
        *ret_sealed = atomic_load_explicit(&s->t_sealed, memory_order_relaxed);
        pthread_mutex_unlock(lock);
    }
    pthread_rwlock_unlock(&t->index_lock);
    return x;
}

/* --- from disk --- */

struct reading {
    struct tsdb_reader *r;
    int64_t from_ms, to_ms; /* of the tier at work */
    enum series_aspect aspect;
    struct samples *out;
};

/* An answer without what can't be read is better than none: it is said, and counted. */
static int report_damage(struct tsdb_reader *r)
{
    atomic_fetch_add_explicit(&r->t->n_damaged, 1, memory_order_relaxed);
    LOG_ERROR("samples in \"%s\" are damaged, reading without them", r->t->path);
    return 0;
}

static int read_chunk(void *ctx, int64_t key, struct span body)
{
    struct reading *g = ctx;
    (void)key;
    if (is_cancelled(g->r))
        return -ECANCELED;
    int x = body.p ? tschunk_read(body, g->from_ms, g->to_ms, g->aspect, g->out) : -EBADMSG;
    return x == -EBADMSG ? report_damage(g->r) : x;
}

/* Those slots of a tier that there are. */
static int slots_of(struct disk *d, int tier, int64_t *first, int64_t *last)
{
    enum { FIRST, LAST };
    int64_t lowest = -(INT64_C(1) << (PLACE_SLOT_BITS - 1)), key;
    int64_t range[] = {place_first_key(tier, lowest), place_last_key(tier, -lowest - 1)};
    int x = disk_ask(d, DISK_CHUNK_FIRST, range, 2, &key);
    if (x < 0)
        return x;
    if (*first < place_key_slot(key))
        *first = place_key_slot(key);
    if ((x = disk_ask(d, DISK_CHUNK_LAST, range, 2, &key)) < 0)
        return x;
    if (*last > place_key_slot(key))
        *last = place_key_slot(key);
    return 0;
}

static int read_tier(struct reading *g, int tier, uint32_t id)
{
    int x = 0;
    if (g->from_ms > g->to_ms)
        return 0;
    int64_t slot = place_slot(tier, g->from_ms), last = place_slot(tier, g->to_ms);
    if (last - slot > 1) {
        x = slots_of(&g->r->disk, tier, &slot, &last);
        if (x == -ENOENT)
            return 0;
    }
    for (; x == 0 && slot <= last; slot++) {
        x = disk_each(&g->r->disk, place_key(tier, slot, id, 0),
                      place_key(tier, slot, id, PLACE_MAX_PIECE), read_chunk, g);
        if (x == -EBADMSG)
            x = report_damage(g->r);
    }
    return x;
}

static int64_t min_of(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t max_of(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* The coarsest first, each tier up to where the next finer one begins. */
static int read_tiers(struct reading *g, uint32_t id)
{
    int64_t floors[TSDB_TIERS], from_ms = g->from_ms, to_ms = g->to_ms;
    int x = disk_floors(&g->r->disk, floors);
    for (int tier = TSDB_TIERS - 1; x == 0 && tier >= 0; tier--) {
        int64_t begin = floors[tier], end = INT64_MAX;
        for (int finer = 0; finer < tier; finer++)
            end = min_of(end, floors[finer]);
        if (end == INT64_MIN)
            continue;
        g->from_ms = max_of(from_ms, begin);
        g->to_ms = tier == 0 ? to_ms : min_of(to_ms, end - 1);
        x = read_tier(g, tier, id);
    }
    return x;
}

static int read_disk(struct tsdb_reader *r, uint64_t id, int64_t from_ms, int64_t to_ms,
                     enum series_aspect aspect, struct samples *out)
{
    struct reading g = {r, max_of(from_ms, -PLACE_MAX_T_MS), min_of(to_ms, PLACE_MAX_T_MS - 1),
                        aspect, out};
    int x = open_file(r);
    if (x == 0)
        x = db_exec(r->disk.db, "BEGIN");
    if (x < 0)
        return x;
    x = read_tiers(&g, (uint32_t)id);
    db_rollback(r->disk.db);
    return x;
}

static int read_memory(struct tsdb_reader *r, int64_t from_ms, int64_t to_ms,
                       enum series_aspect aspect, struct samples *out)
{
    struct span rest = bytes_span(&r->memory);
    int x = 0;
    while (x == 0 && rest.n > 0) {
        struct copied head;
        memcpy(&head, span_take(&rest, sizeof(head)).p, sizeof(head));
        x = tschunk_read(span_take(&rest, head.n), from_ms, to_ms, aspect, out);
    }
    return x;
}

static int on_samples(struct reader *reader, uint64_t id, int64_t from_ms, int64_t to_ms,
                      enum series_aspect aspect, struct samples *out)
{
    struct tsdb_reader *r = self(reader);
    int64_t first, sealed;
    if (is_cancelled(r))
        return -ECANCELED;
    int x = copy_memory(r, id, from_ms, to_ms, &first, &sealed);
    int64_t disk_to = min_of(to_ms, first == INT64_MIN ? first : first - 1);
    if (x == 0 && from_ms <= disk_to && from_ms <= sealed)
        x = read_disk(r, id, from_ms, disk_to, aspect, out);
    if (x == 0)
        x = read_memory(r, from_ms, to_ms, aspect, out);
    return x;
}

static int64_t on_resolution(struct reader *reader, int64_t t_ms)
{
    const struct tsdb *t = self(reader)->t;
    for (int tier = 0; tier < TSDB_TIERS - 1; tier++)
        if (t_ms >= atomic_load_explicit(&t->floors[tier], memory_order_relaxed))
            return tier == 0 ? 0 : t->resolutions[tier];
    return t->resolutions[TSDB_TIERS - 1];
}

static const struct reader_ops ops = {on_select, on_samples, on_resolution};

/* --- birth --- */

int tsdb_reader_open(struct tsdb *t, struct reader **ret)
{
    struct tsdb_reader *r = mem_zalloc(1, sizeof(*r));
    if (!r)
        return -ENOMEM;
    r->reader.ops = &ops;
    r->t = t;
    pthread_mutex_init(&r->lock, NULL);
    *ret = &r->reader;
    return 0;
}

struct reader *tsdb_reader_close(struct reader *reader)
{
    if (!reader)
        return NULL;
    struct tsdb_reader *r = self(reader);
    disk_done(&r->disk);
    bytes_done(&r->memory);
    pthread_mutex_destroy(&r->lock);
    mem_free(r);
    return NULL;
}

void tsdb_reader_cancel(struct reader *reader)
{
    struct tsdb_reader *r = self(reader);
    atomic_store(&r->is_cancelled, true);
    pthread_mutex_lock(&r->lock);
    if (r->disk.db)
        db_interrupt(r->disk.db);
    pthread_mutex_unlock(&r->lock);
}

void tsdb_reader_resume(struct reader *reader)
{
    atomic_store(&self(reader)->is_cancelled, false);
}
