/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tsdb/tsdb.c - birth, appending, statistics.
 */
#include "tsdb/tsdb.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/limits.h"
#include "base/log.h"
#include "tsdb/tsdb_private.h"

void tsdb_configure(struct tsdb *t, const struct tsdb_config *config)
{
    static const int64_t keep[TSDB_TIERS] = {8 * PLACE_DAY_MS, 90 * PLACE_DAY_MS,
                                             400 * PLACE_DAY_MS};
    static const int64_t resolution[TSDB_TIERS] = {0, INT64_C(300) * 1000, INT64_C(3600) * 1000};
    t->config = *config;
    for (int i = 0; i < TSDB_TIERS; i++) {
        if (t->config.keep_ms[i] == 0)
            t->config.keep_ms[i] = keep[i];
        if (t->config.resolution_ms[i] == 0)
            t->config.resolution_ms[i] = resolution[i];
        t->resolutions[i] = t->config.resolution_ms[i];
    }
    if (t->config.max_series == 0)
        t->config.max_series = 1000000;
    if (t->config.max_pending_bytes == 0)
        t->config.max_pending_bytes = 64 * MIB;
}

/* --- appending --- */

int tsdb_series(struct tsdb *t, struct labels labels, enum tsdb_kind kind, uint32_t *ret_id)
{
    struct series *s = index_find(&t->index, labels);
    if (!s) {
        if (t->index.n_series >= t->config.max_series) {
            t->counts.n_refused_series++;
            return -ENOSPC;
        }
        pthread_rwlock_wrlock(&t->index_lock);
        int r = index_add(&t->index, labels, &s);
        pthread_rwlock_unlock(&t->index_lock);
        if (r < 0)
            return r;
        s->kind = (uint8_t)kind;
    } else if (kind != TSDB_UNKNOWN && s->kind != kind) {
        s->kind = (uint8_t)kind;
        t->n_kinds_new += !s->is_kind_new;
        s->is_kind_new = true;
    }
    *ret_id = s->id;
    return 0;
}

static int64_t time_get(const _Atomic int64_t *at)
{
    return atomic_load_explicit(at, memory_order_relaxed);
}

static void time_set(_Atomic int64_t *at, int64_t t_ms)
{
    atomic_store_explicit(at, t_ms, memory_order_relaxed);
}

static void note_time(struct tsdb *t, int64_t t_ms)
{
    if (t_ms > t->counts.newest_ms)
        t->counts.newest_ms = t_ms;
}

static int head_take(struct tsdb *t, struct series *s, int64_t t_ms, double v,
                     const struct fhist *hist)
{
    int r = 0;
    pthread_mutex_t *lock = tsdb_head_lock(t, s->id);
    pthread_mutex_lock(lock);
    if (head_is_full(&s->head, t_ms))
        r = head_cut(&s->head, s->id, &t->queue);
    if (r == 0)
        r = head_append(&s->head, t->seq, t_ms, v, hist);
    if (r == 0) {
        if (time_get(&s->t_first) == INDEX_NEVER)
            time_set(&s->t_first, t_ms);
        time_set(&s->t_last, t_ms);
        note_time(t, t_ms);
    }
    pthread_mutex_unlock(lock);
    return r;
}

static int append(struct tsdb *t, uint32_t id, int64_t t_ms, double v, const struct fhist *hist)
{
    struct series *s = index_get(&t->index, id);
    if (!s)
        return -ENOENT;
    if (t_ms <= time_get(&s->t_last) || t_ms >= PLACE_MAX_T_MS || t_ms < -PLACE_MAX_T_MS) {
        t->counts.n_out_of_order++;
        return -EINVAL;
    }
    if (t->journal.out.n >= t->config.max_pending_bytes) {
        t->counts.n_lost++;
        return -ENOSPC;
    }
    struct journal before = t->journal;
    int r = journal_add(&t->journal, id, t_ms, v, hist);
    if (r == 0 && (r = head_take(t, s, t_ms, v, hist)) < 0 && !hist) {
        t->journal.out.n = before.out.n;
        t->journal.n = before.n;
        t->journal.last_id = before.last_id;
        t->journal.last_t = before.last_t;
    }
    if (r < 0)
        t->counts.n_lost++;
    else
        t->counts.n_appended++;
    return r;
}

int tsdb_append(struct tsdb *t, uint32_t id, int64_t t_ms, double v)
{
    return append(t, id, t_ms, v, NULL);
}

static bool is_side(const struct fhist_side *s)
{
    for (size_t i = 1; i < s->n; i++)
        if (s->at[i].index <= s->at[i - 1].index)
            return false;
    return true;
}

int tsdb_append_hist(struct tsdb *t, uint32_t id, int64_t t_ms, const struct fhist *h)
{
    bool has_schema = (h->schema >= FHIST_SCHEMA_MIN && h->schema <= FHIST_SCHEMA_MAX) ||
                      h->schema == FHIST_CUSTOM;
    if (!has_schema || !is_side(&h->positive) || !is_side(&h->negative))
        return -EINVAL;
    return append(t, id, t_ms, h->sum, h);
}

/* --- birth --- */

struct replay {
    struct tsdb *t;
    uint64_t seq;
};

/* What is in a chunk already, or of a series that was forgotten, is passed over. */
static int replay_one(void *ctx, uint32_t id, int64_t t_ms, double v, const struct fhist *hist)
{
    struct replay *p = ctx;
    struct series *s = index_get(&p->t->index, id);
    if (!s || t_ms <= time_get(&s->t_last) || t_ms >= PLACE_MAX_T_MS)
        return 0;
    p->t->seq = p->seq;
    return head_take(p->t, s, t_ms, v, hist);
}

static int replay_row(struct tsdb *t, uint64_t seq, struct span blob)
{
    struct replay p = {t, seq};
    struct span row;
    int r = frame_open(t->disk.frame, blob, &row);
    if (r == 0)
        r = journal_replay(row, replay_one, &p);
    if (r == -EBADMSG) {
        t->n_damaged++;
        LOG_ERROR("a row of the journal in \"%s\" is damaged, leaving it out", t->path);
        return 0;
    }
    return r;
}

static int replay(struct tsdb *t)
{
    sqlite3_stmt *s;
    uint64_t seq = 0;
    int r = db_prepare(t->disk.db, "SELECT seq, body FROM journal ORDER BY seq", &s);
    if (r < 0)
        return r;
    while ((r = db_step(s)) == 1) {
        seq = (uint64_t)sqlite3_column_int64(s, 0);
        if ((r = replay_row(t, seq, db_column_span(s, 1))) < 0)
            break;
    }
    sqlite3_finalize(s);
    t->seq = seq + 1;
    t->has_old_journal = true;
    return r;
}

/* Texts that only forgotten series had. On disk first: a text must not have two numbers there. */
static int drop_symbols(struct tsdb *t)
{
    struct symbols *symbols = &t->index.symbols;
    int r = db_begin(t->disk.db);
    for (int64_t i = 1; r == 0 && i < symbols->n; i++)
        if (symbols_is_unused(symbols, (uint32_t)i))
            r = disk_run(&t->disk, DISK_SYMBOL_DROP, &i, 1);
    if (r == 0)
        r = db_commit(t->disk.db);
    if (r < 0) {
        db_rollback(t->disk.db);
        return r == -EBADMSG ? r : 0; /* the next time, then */
    }
    for (uint32_t i = 1; i < symbols->n; i++)
        if (symbols_is_unused(symbols, i))
            symbols_drop(symbols, i);
    return 0;
}

static int load(struct tsdb *t)
{
    int64_t floors[TSDB_TIERS];
    int r = disk_load_index(&t->disk, &t->index);
    t->counts.newest_ms = INT64_MIN; /* of a file that could not be loaded */
    for (uint32_t i = 0; r == 0 && i < t->index.n_ids; i++)
        if (t->index.by_id[i])
            note_time(t, time_get(&t->index.by_id[i]->t_last));
    if (r < 0 || (r = replay(t)) < 0 || (r = disk_floors(&t->disk, floors)) < 0)
        return r;
    for (int i = 0; i < TSDB_TIERS; i++)
        t->floors[i] = floors[i];
    tsdb_saved_names(t);
    return drop_symbols(t);
}

static int open_and_load(struct tsdb *t, bool *ret_was_damaged, struct err *reterr)
{
    struct db *db;
    int r = db_open_or_replace(t->path, &disk_schema, &db, ret_was_damaged, reterr);
    if (r < 0)
        return r;
    if ((r = disk_init(&t->disk, db)) == 0)
        r = load(t);
    if (r == 0)
        return 0;
    err_set(reterr, r, "could not read \"%s\": %s", t->path,
            r == -EBADMSG ? "it is damaged" : db_error(t->disk.db));
    disk_done(&t->disk);
    index_done(&t->index);
    t->queue = (struct full_queue){0};
    return r;
}

/* Damage beyond the first pages shows while loading only. */
static int open_file(struct tsdb *t, bool *ret_was_damaged, struct err *reterr)
{
    char aside[sizeof(t->path) + 64];
    struct err why = {0};
    int r = open_and_load(t, ret_was_damaged, &why);
    if (r == -EBADMSG && (r = db_set_aside(t->path, aside, sizeof(aside))) == 0) {
        LOG_ERROR("%s; moved it to \"%s\", beginning a new one", why.text, aside);
        r = open_and_load(t, ret_was_damaged, &why);
        *ret_was_damaged = true;
    }
    if (r < 0 && reterr)
        *reterr = why;
    return r;
}

/* Two writers would each seal what both have read from the journal. */
int tsdb_lock(struct tsdb *t, struct err *reterr)
{
    char name[sizeof(t->path) + 8];
    (void)snprintf(name, sizeof(name), "%s.lock", t->path);
    t->lock_fd = open(name, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (t->lock_fd < 0)
        return err_set(reterr, -errno, "could not open \"%s\": %s", name, err_str(-errno));
    if (flock(t->lock_fd, LOCK_EX | LOCK_NB) == 0)
        return 0;
    int r = errno == EWOULDBLOCK ? -EBUSY : -errno;
    err_set(reterr, r, "could not lock \"%s\": %s", name, err_str(r));
    if (r == -EBUSY)
        err_hint(reterr, "another process writes to it");
    return r;
}

static void tsdb_free(struct tsdb *t)
{
    disk_done(&t->disk);
    index_done(&t->index);
    journal_done(&t->journal);
    pthread_rwlock_destroy(&t->index_lock);
    for (int i = 0; i < TSDB_HEAD_LOCKS; i++)
        pthread_mutex_destroy(&t->head_locks[i]);
    if (t->lock_fd >= 0)
        close(t->lock_fd);
    mem_free(t);
}

int tsdb_open(const char *path, const struct tsdb_config *config, struct tsdb **ret,
              bool *ret_was_damaged, struct err *reterr)
{
    struct tsdb *t = mem_zalloc(1, sizeof(*t));
    if (!t)
        return err_set(reterr, -ENOMEM, "out of memory");
    pthread_rwlockattr_t attr;
    pthread_rwlockattr_init(&attr);
    pthread_rwlockattr_setkind_np(&attr, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
    pthread_rwlock_init(&t->index_lock, &attr);
    pthread_rwlockattr_destroy(&attr);
    for (int i = 0; i < TSDB_HEAD_LOCKS; i++)
        pthread_mutex_init(&t->head_locks[i], NULL);
    index_init(&t->index);
    tsdb_configure(t, config);
    t->compact_slot = t->spoiled_slot = t->scanned_ms = INT64_MIN;
    t->forgotten_ms = t->budget_ms = t->counts.newest_ms = INT64_MIN;
    t->lock_fd = -1;
    bool was_damaged = false;
    size_t n = span_copy(span_cstr(path), t->path, sizeof(t->path));
    int r = path[n] == '\0' ? tsdb_lock(t, reterr)
                            : err_set(reterr, -ENAMETOOLONG, "the path is too long");
    if (r == 0)
        r = open_file(t, &was_damaged, reterr);
    if (r < 0) {
        tsdb_free(t);
        return r;
    }
    if (ret_was_damaged)
        *ret_was_damaged = was_damaged;
    *ret = t;
    return 0;
}

struct tsdb *tsdb_close(struct tsdb *t)
{
    if (!t)
        return NULL;
    int r = tsdb_commit(t);
    if (r < 0)
        LOG_ERROR("samples of the last moments could not be written to \"%s\": %s", t->path,
                  err_str(r));
    tsdb_free(t);
    return NULL;
}

/* --- upkeep --- */

static int drop_more(struct tsdb *t, int64_t now_ms)
{
    int r = retain_step(t, now_ms);
    if (r == 0)
        r = retain_budget_step(t, now_ms);
    if (r == 0)
        r = retain_forget_step(t, now_ms);
    return r == 0 ? retain_shrink_step(t) : r;
}

static int maintain(struct tsdb *t, int64_t now_ms)
{
    int r = tsdb_keep_place(t);
    if (r == 0)
        r = seal_step(t, now_ms);
    if (r == 0)
        r = compact_step(t, now_ms);
    if (r > 0 || r == -EBADMSG)
        return r;
    /* What goes makes room for what could not be written. */
    int x = t->disk.db ? drop_more(t, now_ms) : 0;
    return r < 0 ? r : x;
}

int tsdb_maintain(struct tsdb *t, int64_t now_ms)
{
    int r = maintain(t, now_ms);
    if (r == -EBADMSG)
        return tsdb_recover(t);
    if (r == 0)
        t->is_suspect = false;
    return r;
}

void tsdb_stats(const struct tsdb *t, struct tsdb_stats *ret)
{
    *ret = t->counts;
    ret->n_series = t->index.n_series;
    ret->pending_bytes = t->journal.out.n;
    ret->n_damaged = t->n_damaged;
    ret->disk_bytes = db_size(t->path);
}

void tsdb_memory(const struct tsdb *t, struct tsdb_memory *ret)
{
    *ret = (struct tsdb_memory){.index_bytes = index_bytes(&t->index)};
    for (uint32_t i = 0; i < t->index.n_ids; i++)
        if (t->index.by_id[i])
            ret->head_bytes += head_bytes(&t->index.by_id[i]->head);
}
