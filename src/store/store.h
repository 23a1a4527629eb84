/* SPDX-License-Identifier: Apache-2.0 */
/*
 * store/store.h - the one thread that writes what is kept: request rows and time series.
 *
 * Role:      rows come from the request log's thread (or workers), are encoded at once and wait in
 *            memory; the thread commits them, makes the program's metrics into samples, takes
 *            those of rules and scrapes, and does what is due (segments, retention).
 * Promise:   a pushed row survives kill -9 within 1 s, as long as database or spill file take it.
 * Refusal:   while the database refuses (disk full, read-only, locked, failing) rows go into the
 *            spill file, and from there into the database, in order, once it takes them again.
 *            With that full they wait in memory, and beyond it they are lost, counted as
 *            STAT_DROP_STORE_WRITE; where nothing refused, as STAT_DROP_STORE_QUEUE. Told once,
 *            with a remedy.
 * Directory: DIR/requests-DAY.db, DIR/series.db, DIR/spill, DIR/lock. While another process holds
 *            the lock (a restart without a gap) rows go into a file of this process, which whoever
 *            has the lock takes in once this process has ended (store/aside.h). While the directory
 *            cannot be used everything waits in memory. Removed while in use, it and what was in it
 *            are made again; rows and samples from then on are kept.
 * Start:     fails for want of memory and for paths that cannot be. A disk that refuses is told
 *            and tried again every second: it must not keep a program from serving.
 * Shutdown:  after the log's thread has ended (it pushes), and after the last reader of series was
 *            closed: store_free drains, ends our series with stale markers, commits, closes.
 * Threading: push, write, written, status, configure and reader_open from any thread; push and
 *            write never wait for the disk.
 */
#ifndef STORE_STORE_H
#define STORE_STORE_H

#include "metrics/metrics.h"
#include "series/batch.h"
#include "store/rows.h"
#include "store/spill.h"
#include "tsdb/tsdb.h"

struct store_config {
    const char *dir;
    struct rows_config rows;
    size_t spill_bytes;       /* 0: 64 MiB */
    size_t max_waiting_bytes; /* of rows that wait for the thread; 0: 32 MiB, 100,000 of them */
    struct tsdb_config series;
    const struct metrics *metrics; /* NULL: none of ours; outlives the store */
    struct labels own_labels;      /* of our own series: job, instance; copied */
    int64_t gather_ms;             /* 0: 10 s */
};

struct store;
int store_new(const struct store_config *config, struct store **ret,
              struct err *reterr) WARN_UNUSED;
struct store *store_free(struct store *s); /* NULL is allowed; returns NULL */

/* Takes what it needs of the record; a row that cannot wait is lost and counted. */
void store_push(struct store *s, const struct record *record);

/*
 * Samples of others (rules, scrapes), in order; the batch is the store's if this returns 0. They
 * can be read once store_written has come to *ret_number, which grows from batch to batch; what the
 * database does not take then is counted (STAT_DROP_STORE_SAMPLES). -ENOBUFS: STORE_BATCH_BYTES
 * wait already, since the series are not open.
 */
enum { STORE_BATCH_BYTES = 64 * 1024 * 1024 };
int store_write(struct store *s, struct batch *b, uint64_t *ret_number) WARN_UNUSED;
uint64_t store_written(struct store *s);

/* Reload: periods and budgets of rows and series, and gather_ms; the rest is as at the start. */
int store_configure(struct store *s, const struct store_config *config) WARN_UNUSED;

/* A reader of series (tsdb/tsdb.h). -EBUSY: they are not open yet. */
int store_reader_open(struct store *s, struct reader **ret) WARN_UNUSED;

/* For a status page: of the thread's last turn. */
struct store_status {
    bool is_open;                  /* false: another process has it */
    bool is_failing;               /* the database refuses */
    char why[192];                 /* what it said, "" when it does not */
    uint64_t n_waiting, n_spilled; /* rows in memory, in the spill file */
    uint64_t n_lost;               /* rows, since the start */
    size_t spill_used_bytes, spill_bytes;
    struct rows_stats rows; /* without its last_words */
    struct tsdb_stats series;
    uint64_t n_own_series, n_own_samples;
    int64_t slowest_commit_ns; /* since the start */
};
void store_status(struct store *s, struct store_status *ret);

#endif
