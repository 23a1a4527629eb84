/* SPDX-License-Identifier: Apache-2.0 */
/*
 * store/store_thread.c - turns: take rows in, commit them or put them aside, gather, maintain.
 *
 * Order of rows: as long as blocks are in the spill file, new ones go behind them. They come out
 * again only when the database takes them, and only then are new ones committed directly.
 */
#include <errno.h>
#include <poll.h>
#include <unistd.h>

#include "base/log.h"
#include "base/process.h"
#include "base/stat.h"
#include "store/retake.h"
#include "store/store_private.h"

enum {
    TURN_MS = 250,
    RETRY_MS = 1000,
    MAINTAIN_MS = 100, /* a turn, of what is due */
    LATE_PART = 100,   /* of the interval of samples: later than that is told as it was */
    US_PER_MS = 1000,
};

static bool is_due(mono_t at, mono_t now)
{
    return !mono_is_set(at) || now.ns >= at.ns;
}

static mono_t in_ms(int64_t ms)
{
    return mono_add(clock_mono(), ms * NS_PER_MS);
}

/* --- refusal --- */

static const char *remedy(int error)
{
    switch (error) {
    case -ENOSPC:
        return "free some space, or keep less (requests.keep, requests.max_disk)";
    case -EROFS:
    case -EACCES:
        return "the data directory has to be writable";
    case -EBUSY:
        return "another program has the database locked; end it";
    case -EPROTO:
        return "run that program, or move the file away";
    case -EBADMSG:
        return "the file is damaged, see above";
    default:
        return "look at the disk and the system's log";
    }
}

static enum stat_id stat_of(int error)
{
    switch (error) {
    case -ENOSPC:
        return STAT_STORE_ERRORS_FULL;
    case -EROFS:
    case -EACCES:
        return STAT_STORE_ERRORS_READ_ONLY;
    case -EBUSY:
        return STAT_STORE_ERRORS_BUSY;
    default:
        return STAT_STORE_ERRORS_OTHER;
    }
}

static void note_why(struct store *s, const char *text)
{
    pthread_mutex_lock(&s->lock);
    (void)span_copy(span_cstr(text), s->status.why, sizeof(s->status.why));
    pthread_mutex_unlock(&s->lock);
}

static void note_failure(struct store *s, int error)
{
    struct rows_stats rows;
    rows_stats(s->rows, &rows);
    stat_inc(stat_of(error));
    s->next_try = in_ms(RETRY_MS);
    if (!s->is_failing)
        LOG_ERROR("could not store request rows in \"%s\": %s (%s), keeping them aside; %s", s->dir,
                  err_str(error), rows.last_words, remedy(error));
    s->is_failing = true;
    note_why(s, err_str(error));
}

static void note_success(struct store *s)
{
    if (s->is_failing)
        LOG_INFO("request rows in \"%s\" are stored again", s->dir);
    s->is_failing = false;
    atomic_store_explicit(&s->is_refused, false, memory_order_relaxed);
}

/* --- rows --- */

static bool has_spilled(const struct store *s)
{
    return s->spill && spill_has_blocks(s->spill);
}

static int put_aside(void *ctx, int64_t day, const struct day_block *block)
{
    struct store *s = ctx;
    int r = spill_put(s->spill, day, block);
    if (r == 0)
        stat_add(STAT_STORE_ROWS_SPILLED, block->n_rows);
    return r;
}

/* Pending rows go into the spill file, as far as it takes them. */
static void spill_pending(struct store *s)
{
    int r = s->spill && rows_n_pending(s->rows) > 0 ? rows_take_pending(s->rows, put_aside, s) : 0;
    if (r < 0 && r != -ENOSPC)
        LOG_ERROR("could not write the spill file in \"%s\": %s", s->dir, err_str(r));
    if (r < 0 || !s->spill)
        atomic_store_explicit(&s->is_refused, true, memory_order_relaxed);
}

static void give_up_spilled(struct store *s, uint64_t n_rows)
{
    stat_add(STAT_DROP_STORE_WRITE, (int64_t)n_rows);
    stat_inc(STAT_STORE_DAMAGED);
    LOG_ERROR("the spill file in \"%s\" is damaged, %llu rows are lost", s->dir,
              (unsigned long long)n_rows);
    pthread_mutex_lock(&s->lock);
    s->n_lost += n_rows;
    pthread_mutex_unlock(&s->lock);
}

/* Some blocks of the spill file into the database. 0, or why it refuses. */
static int replay(struct store *s)
{
    uint64_t n_given_up = 0;
    int r = retake_blocks(s->spill, s->rows, false, &n_given_up);
    if (n_given_up > 0)
        give_up_spilled(s, n_given_up);
    return r < 0 ? r : 0;
}

static int commit(struct store *s)
{
    mono_t start = clock_mono();
    int r = rows_commit(s->rows);
    int64_t ns = mono_diff(clock_mono(), start);
    stat_inc(STAT_STORE_COMMITS);
    stat_add(STAT_STORE_COMMIT_US, ns / NS_PER_US);
    s->slowest_commit_ns = ns > s->slowest_commit_ns ? ns : s->slowest_commit_ns;
    return r;
}

/* What other processes left behind. 0, or why the database refuses. */
static int take_in_left(struct store *s)
{
    if (!s->left.spill && !is_due(s->next_left, clock_mono()))
        return 0;
    int r = aside_take_in(&s->left, s->dir, s->rows);
    if (s->left.n_given_up > 0)
        give_up_spilled(s, s->left.n_given_up);
    s->left.n_given_up = 0;
    if (r == 0)
        s->next_left = in_ms(RETRY_MS);
    return r < 0 ? r : 0;
}

static void write_rows(struct store *s)
{
    int r = 0;
    bool may_try = is_due(s->next_try, clock_mono()) || !s->is_failing;
    if (may_try && has_spilled(s))
        r = replay(s);
    if (may_try && r == 0 && !has_spilled(s) && rows_n_pending(s->rows) > 0)
        r = commit(s);
    if (may_try && r == 0)
        r = take_in_left(s);
    if (r < 0)
        note_failure(s, r);
    else if (may_try)
        note_success(s);
    if (!may_try || r < 0 || has_spilled(s))
        spill_pending(s);
}

/* --- series --- */

static void note_series(struct store *s, int error)
{
    if (error < 0 && !s->is_series_failing)
        LOG_ERROR("could not store samples in \"%s\": %s, keeping them in memory; %s", s->dir,
                  err_str(error), remedy(error));
    else if (error == 0 && s->is_series_failing)
        LOG_INFO("samples in \"%s\" are stored again", s->dir);
    if (error < 0) {
        stat_inc(stat_of(error));
        note_why(s, err_str(error));
    }
    s->is_series_failing = error < 0;
}

/* The series are open, or tried again. */
static bool has_series(struct store *s)
{
    struct err err = {0};
    if (s->series && (s->gather || !s->config.metrics))
        return true;
    if (!is_due(s->next_series, clock_mono()))
        return false;
    s->next_series = in_ms(RETRY_MS);
    int r = store_open_series(s, &err);
    if (r < 0 && !s->is_series_failing)
        LOG_ERROR("%s; %s; trying again", err.text, remedy(r));
    else if (r == 0 && s->is_series_failing)
        LOG_INFO("the time series in \"%s\" are open", s->dir);
    if (r < 0) {
        stat_inc(stat_of(r));
        note_why(s, err.text);
    }
    s->is_series_failing = r < 0;
    return r == 0;
}

static int64_t now_ms(void)
{
    return clock_wall().us / 1000;
}

/* Samples are only taken in order: while the clock is behind the newest there are none. */
static void note_order(struct store *s)
{
    enum { SLACK_MS = 1000 };
    int64_t behind_ms = s->status.series.newest_ms - now_ms(); /* of this thread's last turn */
    bool is_behind = s->status.series.newest_ms > 0 && behind_ms > SLACK_MS;
    if (is_behind && !s->is_behind)
        LOG_WARN("the clock was set back: no samples of time series are taken until it has passed "
                 "the newest one again, in %lld s",
                 (long long)behind_ms / 1000);
    else if (!is_behind && s->is_behind)
        LOG_INFO("samples of time series are taken again");
    s->is_behind = is_behind;
}

/*
 * Samples that are a little late have the time at which they were due: steady distances take no
 * room on disk. The wall clock is asked anew each time, since it may be set.
 */
static void gather(struct store *s)
{
    mono_t now = clock_mono();
    if (!has_series(s) || !is_due(s->next_gather, now))
        return;
    int64_t interval_ns = s->config.gather_ms * NS_PER_MS;
    int64_t late_ns = mono_is_set(s->next_gather) ? mono_diff(now, s->next_gather) : INT64_MAX;
    int64_t t_us = clock_wall().us;
    if (late_ns <= interval_ns / LATE_PART)
        t_us -= late_ns / NS_PER_US;
    s->next_gather = mono_add(late_ns > interval_ns ? now : s->next_gather, interval_ns);
    note_order(s);
    process_sample();
    int r = s->gather ? gather_tick(s->gather, (t_us + US_PER_MS / 2) / US_PER_MS) : 0;
    if (r < 0)
        stat_inc(STAT_DROP_NO_MEMORY);
    note_series(s, tsdb_commit(s->series));
}

static void take_samples(struct store *s)
{
    int r = has_series(s) ? store_take_batches(s) : 0;
    if (r != 0)
        note_series(s, r < 0 ? r : 0);
}

/* --- turns --- */

static void take_config(struct store *s)
{
    pthread_mutex_lock(&s->lock);
    bool is_new = s->is_new_config;
    s->is_new_config = false;
    if (is_new && rows_configure(s->rows, &s->config.rows) < 0)
        s->is_new_config = true; /* no memory now */
    if (is_new && s->series)
        tsdb_configure(s->series, &s->config.series);
    pthread_mutex_unlock(&s->lock);
    if (is_new)
        s->next_gather = MONO_NONE;
}

static void take_rows(struct store *s)
{
    int r = rows_move(s->rows, &s->waiting);
    pthread_mutex_lock(&s->lock);
    if (r == 0)
        r = rows_move(s->rows, &s->inbox);
    pthread_mutex_unlock(&s->lock);
    if (r == -ENOBUFS)
        atomic_store_explicit(&s->is_refused, true, memory_order_relaxed);
}

static void note_maintenance(struct store *s, int error)
{
    if (error < 0 && !s->is_maintenance_failing)
        LOG_ERROR("could not tidy up the store in \"%s\": %s, trying again; %s", s->dir,
                  err_str(error), remedy(error));
    if (error < 0) {
        stat_inc(stat_of(error));
        s->next_maintenance = in_ms(RETRY_MS);
    }
    s->is_maintenance_failing = error < 0;
}

/* The time by which things are old. */
static wall_t time_of_age(struct store *s)
{
    int64_t leap_us;
    wall_t now = age_clock_go(&s->age_clock, clock_wall(), clock_mono(), &leap_us);
    if (leap_us > 0)
        LOG_WARN("the clock is %lld min ahead of what is stored (it was set, or nothing ran): for "
                 "a day nothing goes for its age",
                 (long long)(leap_us / US_PER_S / 60));
    return now;
}

/* What is due, for a while; whether more is. */
static bool maintain(struct store *s)
{
    mono_t end = in_ms(MAINTAIN_MS);
    int rows = 1;
    int series = s->series ? 1 : 0;
    wall_t now = time_of_age(s);
    if (!is_due(s->next_maintenance, clock_mono()))
        return false;
    while ((rows == 1 || series == 1) && !is_due(end, clock_mono())) {
        rows = rows == 1 ? rows_maintain(s->rows, now) : rows;
        series = series == 1 ? tsdb_maintain(s->series, now.us / 1000) : series;
    }
    note_maintenance(s, rows < 0 ? rows : series);
    return rows == 1 || series == 1;
}

static void count_rows(struct store *s, const struct rows_stats *now)
{
    const struct rows_stats *seen = &s->seen;
    stat_add(STAT_STORE_ROWS, (int64_t)(now->n_committed - seen->n_committed));
    stat_add(STAT_STORE_DAYS_EXPIRED, (int64_t)(now->n_days_expired - seen->n_days_expired));
    stat_add(STAT_STORE_DAYS_OVER_BUDGET,
             (int64_t)(now->n_days_over_budget - seen->n_days_over_budget));
    stat_add(STAT_STORE_DAMAGED, (int64_t)(now->n_days_set_aside - seen->n_days_set_aside));
    s->seen = *now;
}

static void count_samples(struct store *s, struct store_status *status)
{
    struct gather_stats now = {0};
    if (s->gather)
        gather_stats(s->gather, &now);
    stat_add(STAT_STORE_SAMPLES, (int64_t)(now.n_samples - s->seen_gather.n_samples));
    stat_add(STAT_DROP_STORE_SAMPLES, (int64_t)(now.n_lost - s->seen_gather.n_lost));
    s->seen_gather = now;
    status->n_own_series = now.n_series;
    status->n_own_samples = now.n_samples;
}

static void tell_status(struct store *s)
{
    struct store_status status = {.is_open = true,
                                  .is_failing = s->is_failing || s->is_series_failing,
                                  .n_waiting = rows_n_pending(s->rows),
                                  .slowest_commit_ns = s->slowest_commit_ns};
    struct spill_stats spill = {0};
    if (s->spill)
        spill_stats(s->spill, &spill);
    rows_stats(s->rows, &status.rows);
    status.rows.last_words = NULL;
    if (s->series)
        tsdb_stats(s->series, &status.series);
    count_rows(s, &status.rows);
    count_samples(s, &status);
    status.n_spilled = spill.n_rows;
    status.spill_used_bytes = spill.n_bytes;
    status.spill_bytes = spill.cap_bytes;
    stat_set(STAT_STORE_ROWS_QUEUED, (int64_t)status.n_waiting);
    stat_set(STAT_STORE_SPILL_BYTES, (int64_t)spill.n_bytes);
    stat_set(STAT_STORE_DISK_BYTES, status.rows.disk_bytes);
    pthread_mutex_lock(&s->lock);
    if (status.is_failing)
        memcpy(status.why, s->status.why, sizeof(status.why));
    s->status = status;
    pthread_mutex_unlock(&s->lock);
}

/* While another process has the directory: rows survive our end all the same. */
static void put_rows_aside(struct store *s)
{
    struct spill_stats spill = {0};
    pthread_mutex_lock(&s->lock);
    int r = blocks_move(&s->inbox, &s->waiting);
    pthread_mutex_unlock(&s->lock);
    if (r == 0 || r == -ENOBUFS)
        r = aside_put(s->dir, s->config.spill_bytes, &s->waiting, &s->aside);
    if (r < 0 && !s->is_aside_failing)
        LOG_ERROR("could not put request rows aside in \"%s\": %s, keeping them in memory; %s",
                  s->dir, err_str(r), remedy(r));
    s->is_aside_failing = r < 0;
    if (s->aside)
        spill_stats(s->aside, &spill);
    pthread_mutex_lock(&s->lock);
    s->status.n_waiting = s->waiting.n_rows;
    s->status.n_spilled = spill.n_rows;
    pthread_mutex_unlock(&s->lock);
}

static void note_waiting(struct store *s, int error, const struct err *err)
{
    if (!s->is_waiting && error == -EBUSY)
        LOG_INFO("another process uses the data directory \"%s\", waiting for it", s->dir);
    else if (!s->is_waiting)
        LOG_ERROR("%s; %s; trying again", err->text, remedy(error));
    if (error != -EBUSY)
        stat_inc(stat_of(error));
    s->is_waiting = true;
    s->is_elsewhere = error == -EBUSY;
    s->next_open = in_ms(RETRY_MS);
    note_why(s, err->text);
    pthread_mutex_lock(&s->lock);
    s->status.is_open = false;
    s->status.is_failing = error != -EBUSY;
    pthread_mutex_unlock(&s->lock);
}

/* false: nothing can be written, since another process has the directory, or the disk refuses. */
static bool open_if_free(struct store *s)
{
    struct err err = {0};
    if ((!s->rows || s->is_waiting) && !is_due(s->next_open, clock_mono()))
        return false;
    int r = s->rows ? store_keep_place(s, &err) : store_open_parts(s, &err);
    if (r < 0)
        note_waiting(s, r, &err);
    else if (s->is_waiting)
        LOG_INFO("the data directory \"%s\" is ours now", s->dir);
    s->is_waiting = r < 0;
    return r == 0;
}

/* Whether the next turn should come at once. */
static bool turn(struct store *s)
{
    if (!open_if_free(s)) {
        if (s->is_elsewhere)
            put_rows_aside(s);
        return false;
    }
    take_config(s);
    take_rows(s);
    write_rows(s);
    gather(s);
    take_samples(s);
    bool is_more = maintain(s);
    tell_status(s);
    return is_more || ((has_spilled(s) || s->left.spill) && !s->is_failing);
}

static void end_series(struct store *s)
{
    if (!has_series(s))
        return;
    if (s->gather)
        gather_end(s->gather, now_ms());
    note_series(s, tsdb_commit(s->series));
}

static void finish(struct store *s)
{
    size_t n_left;
    s->next_open = s->next_series = s->next_try = MONO_NONE; /* a last try */
    if (open_if_free(s)) {
        take_rows(s);
        write_rows(s);
        take_samples(s);
        end_series(s);
        tell_status(s);
    } else if (s->is_elsewhere) {
        put_rows_aside(s);
    }
    n_left = (s->rows ? rows_n_pending(s->rows) : 0) + s->inbox.n_rows + s->waiting.n_rows;
    if (n_left == 0)
        return;
    stat_add(STAT_DROP_STORE_WRITE, (int64_t)n_left);
    LOG_ERROR("%zu request rows could not be stored in \"%s\" and are lost", n_left, s->dir);
}

/* Until the next turn, unless the bell rings. */
static int patience_ms(const struct store *s)
{
    int64_t ms = TURN_MS;
    if (mono_is_set(s->next_gather))
        ms = mono_diff(s->next_gather, clock_mono()) / NS_PER_MS + 1;
    return ms < 0 ? 0 : ms < TURN_MS ? (int)ms : TURN_MS;
}

void *store_run(void *store)
{
    struct store *s = store;
    bool is_more = false;
    process_name_thread("store");
    while (!atomic_load_explicit(&s->must_stop, memory_order_acquire)) {
        struct pollfd pfd = {.fd = s->bell, .events = POLLIN};
        uint64_t count;
        if (poll(&pfd, 1, is_more ? 0 : patience_ms(s)) > 0 &&
            read(s->bell, &count, sizeof(count)) < 0)
            LOG_WARN("could not read the bell of the store: %s", err_str(-errno));
        is_more = turn(s);
    }
    finish(s);
    return NULL;
}
