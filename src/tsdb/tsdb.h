/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tsdb/tsdb.h - time series on disk: appended by one thread, read by many.
 *
 * Role:      history of every series: our own metrics, scraped ones, results of rules.
 * Shape:     the newest samples of a series are its head, coded in memory and in the journal; full
 *            heads become chunks (SQLite blobs, zstd), chunks of a day become one. Behind a day the
 *            coarser tiers are made: TSDB_TIERS resolutions, each kept as long as configured.
 *            Counters and histograms keep the last sample of each window and those around resets,
 *            gaps and stale markers; gauges (and what is of no known kind) keep min, max, sum,
 *            count and last. Stale markers are kept in all tiers.
 * Units:     ms since the epoch; bytes.
 * Durability: what tsdb_commit returned 0 for survives the end of the process (kill -9); a loss of
 *            power what the kernel has written back, which takes it half a minute. A torn write is
 *            never read.
 * Errors:    as db/db.h; -EINVAL: a sample that is not newer than the last of its series (counted,
 *            not stored); -ENOENT: the series was forgotten, ask tsdb_series again. While the disk
 *            refuses, heads go on in memory up to max_pending_bytes, then samples are lost
 *            (-ENOSPC) and counted. A file found damaged while running is set aside as at opening,
 *            and what is in memory goes into the new one; a single damaged chunk is left out and
 *            counted.
 * Threading: everything but readers from the one thread that owns it. A reader belongs to one
 *            thread at a time, and sees what was appended before its call.
 * Limits:    series, head memory, disk; beyond max_series a new series is refused (-ENOSPC) and
 *            counted.
 */
#ifndef TSDB_TSDB_H
#define TSDB_TSDB_H

#include "base/err.h"
#include "series/reader.h"

enum { TSDB_TIERS = 3 };

/* What a series is: says how it is downsampled. */
enum tsdb_kind { TSDB_UNKNOWN, TSDB_COUNTER, TSDB_GAUGE, TSDB_HISTOGRAM };

struct tsdb_config {
    int64_t keep_ms[TSDB_TIERS];       /* 0: 8 d raw, 90 d, 400 d */
    int64_t resolution_ms[TSDB_TIERS]; /* 0, and 0: 5 min, 1 h */
    int64_t max_disk_bytes;            /* 0: no budget; beyond it the oldest day goes first */
    uint32_t max_series;               /* 0: 1,000,000 */
    size_t max_pending_bytes;          /* 0: 64 MiB */
};

struct tsdb;

/* Opens or creates path; replays the journal. A damaged file is set aside (db/db.h), logged, and
 * *ret_was_damaged (may be NULL) set. -EBUSY: another process has it open (PATH.lock). */
int tsdb_open(const char *path, const struct tsdb_config *config, struct tsdb **ret,
              bool *ret_was_damaged, struct err *reterr) WARN_UNUSED;
/* Commits what is pending, as far as the disk lets it. After the last reader. Returns NULL. */
struct tsdb *tsdb_close(struct tsdb *t);
/* Reload: retention and budget; from the next tsdb_maintain on. */
void tsdb_configure(struct tsdb *t, const struct tsdb_config *config);

/* The series of these labels, made when it is new. Ids are stable as long as the file lives. */
int tsdb_series(struct tsdb *t, struct labels labels, enum tsdb_kind kind,
                uint32_t *ret_id) WARN_UNUSED;

int tsdb_append(struct tsdb *t, uint32_t id, int64_t t_ms, double v) WARN_UNUSED;
/* h is copied. -EINVAL, too: no histogram (buckets out of order, an unknown schema). */
int tsdb_append_hist(struct tsdb *t, uint32_t id, int64_t t_ms, const struct fhist *h) WARN_UNUSED;

/* Everything appended so far is durable, in one transaction. Once per interval. */
int tsdb_commit(struct tsdb *t) WARN_UNUSED;

/*
 * A bounded part of what is due: sealing full heads, compacting days, downsampling, retention, the
 * disk budget, forgetting series without samples. Returns 1 while more is due, 0, or an error.
 */
int tsdb_maintain(struct tsdb *t, int64_t now_ms) WARN_UNUSED;

struct tsdb_stats {
    uint64_t n_series;
    uint64_t n_appended, n_out_of_order, n_lost, n_expired_chunks, n_budget_chunks;
    uint64_t n_refused_series; /* over max_series */
    uint64_t n_damaged;        /* chunks and journal rows that could not be read */
    uint64_t n_set_aside;      /* files that were damaged, since tsdb_open */
    uint64_t n_failed_commits;
    size_t pending_bytes; /* appended and not committed */
    int64_t disk_bytes;
    int64_t newest_ms; /* the time of the newest sample; INT64_MIN: none */
    int last_error;    /* 0, or why the last commit failed */
};
/* Costs the same however many series there are. */
void tsdb_stats(const struct tsdb *t, struct tsdb_stats *ret);

/* What is in memory, counted up over all series. */
struct tsdb_memory {
    size_t head_bytes, index_bytes;
};
void tsdb_memory(const struct tsdb *t, struct tsdb_memory *ret);

/* Any thread. max_wait: none of its calls waits for the writer longer than a copy of one head. */
int tsdb_reader_open(struct tsdb *t, struct reader **ret) WARN_UNUSED;
struct reader *tsdb_reader_close(struct reader *r);
/* Another thread's: what the reader does ends soon, with -ECANCELED, and so does what it is asked
 * from then on, until its own thread calls tsdb_reader_resume. */
void tsdb_reader_cancel(struct reader *r);
void tsdb_reader_resume(struct reader *r);

#endif
