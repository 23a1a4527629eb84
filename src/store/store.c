/* SPDX-License-Identifier: Apache-2.0 */
/*
 * store/store.c - the store as others see it; its thread is in store_thread.c.
 */
#include "store/store.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/process.h"
#include "base/stat.h"
#include "store/store_private.h"

enum { DIR_MODE = 0750, FILE_MODE = 0640, SPILL_RETRY_S = 10 };

/* --- parts --- */

static void path_in(const struct store *s, const char *name, char path[DAY_PATH_MAX])
{
    (void)snprintf(path, DAY_PATH_MAX, "%s/%s", s->dir, name);
}

static int take_lock(struct store *s)
{
    char path[DAY_PATH_MAX];
    path_in(s, "lock", path);
    if (s->lock_fd < 0)
        s->lock_fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, FILE_MODE);
    if (s->lock_fd < 0)
        return -errno;
    if (flock(s->lock_fd, LOCK_EX | LOCK_NB) < 0)
        return errno == EWOULDBLOCK ? -EBUSY : -errno;
    return 0;
}

/* Without a spill file the store works, too; it is tried again. */
static void open_spill(struct store *s)
{
    char path[DAY_PATH_MAX];
    struct err err;
    path_in(s, "spill", path);
    bool was_failing = s->is_spill_failing;
    s->is_spill_failing = spill_open(path, s->config.spill_bytes, &s->spill, &err) < 0;
    s->next_spill = mono_add(clock_mono(), SPILL_RETRY_S * NS_PER_S);
    if (s->is_spill_failing && !was_failing)
        LOG_ERROR("%s; %s", err.text, err.hint);
    else if (was_failing && !s->is_spill_failing)
        LOG_INFO("the spill file \"%s\" is there now", path);
}

static int open_series(struct store *s, struct err *reterr)
{
    char path[DAY_PATH_MAX];
    struct tsdb *series;
    path_in(s, "series.db", path);
    int r = tsdb_open(path, &s->config.series, &series, NULL, reterr);
    if (r < 0)
        return r;
    struct tsdb_stats stats;
    tsdb_stats(series, &stats);
    if (stats.newest_ms > 0)
        age_clock_begin(&s->age_clock, (wall_t){stats.newest_ms * 1000}, clock_mono());
    pthread_mutex_lock(&s->lock);
    s->series = series;
    pthread_mutex_unlock(&s->lock);
    return 0;
}

int store_open_series(struct store *s, struct err *reterr)
{
    int r = s->series ? 0 : open_series(s, reterr);
    if (r == 0 && s->config.metrics && !s->gather &&
        (r = gather_new(s->config.metrics, s->series, s->config.own_labels, s->started_ms,
                        &s->gather)) < 0)
        err_set(reterr, r, "could not set up the history of metrics: %s", err_str(r));
    return r;
}

static int make_dir(const struct store *s, struct err *reterr)
{
    if (mkdir(s->dir, DIR_MODE) < 0 && errno != EEXIST) {
        int r = -errno;
        err_set(reterr, r, "could not make the data directory \"%s\": %s", s->dir, err_str(r));
        err_hint(reterr, "the directory above it has to be there and writable");
        return r;
    }
    return 0;
}

static int lock_dir(struct store *s, struct err *reterr)
{
    int r = take_lock(s);
    if (r < 0) {
        err_set(reterr, r, "could not lock the data directory \"%s\": %s", s->dir,
                r == -EBUSY ? "another process uses it" : err_str(r));
        err_hint(reterr, "it has to be writable, and each process needs one of its own");
    }
    return r;
}

int store_open_parts(struct store *s, struct err *reterr)
{
    int r = make_dir(s, reterr);
    if (r == 0)
        r = lock_dir(s, reterr);
    if (r == 0)
        r = rows_open(s->dir, &s->config.rows, &s->rows, reterr);
    if (r < 0) {
        store_close_parts(s);
        return r;
    }
    open_spill(s);
    s->aside = spill_close(s->aside); /* from now on it is one that was left */
    pthread_mutex_lock(&s->lock);
    s->status.is_open = true;
    pthread_mutex_unlock(&s->lock);
    return 0;
}

int store_keep_place(struct store *s, struct err *reterr)
{
    char path[DAY_PATH_MAX];
    int r = 0;
    path_in(s, "lock", path);
    if (!file_is_at(s->lock_fd, path)) {
        if (s->lock_fd >= 0) {
            LOG_ERROR("the data directory \"%s\" was removed or replaced while in use, making it "
                      "again",
                      s->dir);
            close(s->lock_fd);
            s->lock_fd = -1;
        }
        r = make_dir(s, reterr);
        if (r == 0)
            r = lock_dir(s, reterr);
    }
    path_in(s, "spill", path);
    if (r == 0 && !s->spill && mono_diff(clock_mono(), s->next_spill) >= 0)
        open_spill(s);
    if (r == 0 && s->spill && !spill_has_blocks(s->spill) && !spill_is_at(s->spill, path)) {
        s->spill = spill_close(s->spill);
        open_spill(s);
    }
    return r;
}

void store_close_parts(struct store *s)
{
    struct tsdb *series = s->series;
    s->gather = gather_free(s->gather);
    pthread_mutex_lock(&s->lock);
    s->series = NULL;
    pthread_mutex_unlock(&s->lock);
    tsdb_close(series);
    s->rows = rows_close(s->rows);
    s->spill = spill_close(s->spill);
    aside_left_done(&s->left);
    if (s->lock_fd >= 0)
        close(s->lock_fd);
    s->lock_fd = -1;
}

/* --- birth and end --- */

static void free_store(struct store *s)
{
    store_close_parts(s);
    s->aside = spill_close(s->aside);
    store_drop_batches(s);
    blocks_done(&s->inbox);
    blocks_done(&s->waiting);
    arena_done(&s->labels_arena);
    if (s->bell >= 0)
        close(s->bell);
    pthread_mutex_destroy(&s->lock);
    mem_free(s->archive_dir);
    mem_free(s->dir);
    mem_free(s);
}

/* Periods and the like; the archive's directory is copied. */
static int set_config(struct store *s, const struct store_config *config)
{
    char *archive_dir = NULL;
    if (config->rows.archive_dir && !(archive_dir = mem_strdup(config->rows.archive_dir)))
        return -ENOMEM;
    pthread_mutex_lock(&s->lock);
    mem_free(s->archive_dir);
    s->archive_dir = archive_dir;
    s->config.rows = config->rows;
    s->config.rows.archive_dir = archive_dir;
    s->config.series = config->series;
    s->config.gather_ms = config->gather_ms > 0 ? config->gather_ms : 10000;
    s->is_new_config = true;
    pthread_mutex_unlock(&s->lock);
    return 0;
}

static int init(struct store *s, const struct store_config *config)
{
    size_t max_waiting = config->max_waiting_bytes ? config->max_waiting_bytes : 32 * MIB;
    pthread_mutex_init(&s->lock, NULL);
    arena_init(&s->labels_arena, NULL);
    blocks_init(&s->inbox, max_waiting);
    blocks_init(&s->waiting, max_waiting);
    s->last_batch = &s->first_batch;
    s->lock_fd = -1;
    s->started_ms = clock_wall().us / 1000;
    s->config = (struct store_config){.spill_bytes = config->spill_bytes ? config->spill_bytes
                                                                         : STORE_SPILL_BYTES,
                                      .metrics = config->metrics};
    s->bell = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (s->bell < 0)
        return -errno;
    s->dir = mem_strdup(config->dir);
    if (!s->dir)
        return -ENOMEM;
    int r = labels_copy(&s->labels_arena, config->own_labels, &s->config.own_labels);
    return r < 0 ? r : set_config(s, config);
}

/* Of the path, or no memory; all else may come to pass while the program runs as well, and must not
 * keep it from serving when it is started again. */
static bool is_mistake(int error)
{
    return error == -ENOMEM || error == -ENOENT || error == -ENOTDIR || error == -ENAMETOOLONG ||
           error == -EINVAL || error == -ELOOP;
}

int store_new(const struct store_config *config, struct store **ret, struct err *reterr)
{
    struct store *s = mem_zalloc(1, sizeof(*s));
    if (!s)
        return err_set(reterr, -ENOMEM, "out of memory");
    s->bell = -1;
    int r = init(s, config);
    if (r < 0)
        err_set(reterr, r, "could not set up the store: %s", err_str(r));
    else
        r = store_open_parts(s, reterr);
    if (r == 0)
        r = store_open_series(s, reterr);
    if (r < 0 && !is_mistake(r))
        r = 0; /* the thread tells it, and tries again */
    if (r == 0 && (r = process_start_thread(&s->thread, NULL, store_run, s)) < 0)
        err_set(reterr, r, "could not start the store's thread: %s", err_str(r));
    if (r < 0) {
        free_store(s);
        return r;
    }
    *ret = s;
    return 0;
}

void store_ring(struct store *s)
{
    uint64_t one = 1;
    ssize_t n = write(s->bell, &one, sizeof(one));
    (void)n; /* fails only when it rings already */
}

struct store *store_free(struct store *s)
{
    if (!s)
        return NULL;
    atomic_store_explicit(&s->must_stop, true, memory_order_release);
    store_ring(s);
    pthread_join(s->thread, NULL);
    free_store(s);
    return NULL;
}

/* --- for others --- */

void store_push(struct store *s, const struct record *record)
{
    pthread_mutex_lock(&s->lock);
    int r = blocks_append(&s->inbox, record);
    bool is_many = r == 0 && s->inbox.n_rows % STORE_BELL_ROWS == 0;
    s->n_lost += r < 0;
    pthread_mutex_unlock(&s->lock);
    if (is_many)
        store_ring(s);
    if (r == 0)
        return;
    bool is_refused = atomic_load_explicit(&s->is_refused, memory_order_relaxed);
    stat_inc(r == -ENOMEM ? STAT_DROP_NO_MEMORY
             : is_refused ? STAT_DROP_STORE_WRITE
                          : STAT_DROP_STORE_QUEUE);
}

int store_configure(struct store *s, const struct store_config *config)
{
    int r = set_config(s, config);
    if (r == 0)
        store_ring(s);
    return r;
}

int store_reader_open(struct store *s, struct reader **ret)
{
    pthread_mutex_lock(&s->lock);
    int r = s->series ? tsdb_reader_open(s->series, ret) : -EBUSY;
    pthread_mutex_unlock(&s->lock);
    return r;
}

void store_status(struct store *s, struct store_status *ret)
{
    pthread_mutex_lock(&s->lock);
    *ret = s->status;
    ret->n_waiting += s->inbox.n_rows;
    ret->n_lost = s->n_lost;
    pthread_mutex_unlock(&s->lock);
}
