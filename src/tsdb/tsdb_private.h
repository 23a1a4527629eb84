/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tsdb/tsdb_private.h - the store as the files of this module see it.
 *
 * Locks: the owner changes the index under index_lock (write) and a series' head under its lock;
 * readers hold index_lock (read) while they look at series, and a head's lock while they copy it.
 * The owner reads both without a lock, since nobody else changes them. index_lock is taken before a
 * head's.
 */
#ifndef TSDB_TSDB_PRIVATE_H
#define TSDB_TSDB_PRIVATE_H

#include <pthread.h>

#include "tsdb/disk.h"
#include "tsdb/journal.h"

enum { TSDB_HEAD_LOCKS = 16 };
/* zstd: what is read once, pieces of the running day, compacted chunks. */
enum { TSDB_LEVEL_JOURNAL = 1, TSDB_LEVEL_PIECE = 3, TSDB_LEVEL_CHUNK = 9 };

struct tsdb {
    char path[4096];
    int lock_fd;
    struct tsdb_config config;
    struct disk disk; /* without a database while none can be opened */

    pthread_rwlock_t index_lock;
    struct index index;
    pthread_mutex_t head_locks[TSDB_HEAD_LOCKS];
    struct full_queue queue;

    struct journal journal;                /* what the next commit writes */
    uint64_t seq;                          /* its row */
    uint32_t n_symbols_saved, n_ids_saved; /* numbers below are on disk */
    uint32_t n_kinds_new;

    _Atomic int64_t floors[TSDB_TIERS];      /* disk_floors */
    _Atomic int64_t resolutions[TSDB_TIERS]; /* the configuration's, for readers */
    _Atomic uint64_t generation;             /* of the file: readers open the new one */
    _Atomic uint64_t n_damaged;

    int64_t scanned_ms;     /* when heads were looked at last */
    int64_t forgotten_ms;   /* when series were */
    int64_t budget_ms;      /* when there was nothing to drop for the budget */
    bool has_old_journal;   /* rows that may have become superfluous */
    int64_t compact_cursor; /* key behind the series compacted last, in the slot at work */
    int64_t compact_slot;   /* INT64_MIN: none at work */
    bool is_suspect;        /* damage was met, and the file opened again since */
    bool is_displaced;      /* another file may be at path now */
    int64_t spoiled_slot;   /* the last day that could not be compacted: those up to it are left */
    struct tsdb_stats counts;
};

static inline pthread_mutex_t *tsdb_head_lock(struct tsdb *t, uint32_t id)
{
    return &t->head_locks[id % TSDB_HEAD_LOCKS];
}

/* --- tsdb_save.c --- */

/* New symbols, series and kinds, into the transaction that is open; tsdb_saved_names behind it. */
int tsdb_save_names(struct tsdb *t) WARN_UNUSED;
void tsdb_saved_names(struct tsdb *t);
/* Damage was met: the file is opened again, and where that was done before, set aside; all that is
 * in memory goes into the new one. */
int tsdb_recover(struct tsdb *t) WARN_UNUSED;
/* The file is opened again, as it is; set aside if it can't. */
int tsdb_reopen(struct tsdb *t) WARN_UNUSED;

/* The file is where its samples will be found again: opened, and made anew where somebody has
 * removed it, with all that is in memory. */
int tsdb_keep_place(struct tsdb *t) WARN_UNUSED;

/* --- tsdb.c --- */

/* Takes PATH.lock. -EBUSY: another process has it. */
int tsdb_lock(struct tsdb *t, struct err *reterr) WARN_UNUSED;

/* --- parts of tsdb_maintain: 1: did something, 0: nothing is due, or an error --- */

int seal_step(struct tsdb *t, int64_t now_ms) WARN_UNUSED;
/* All heads and full chunks to disk. */
int seal_all(struct tsdb *t) WARN_UNUSED;
/* One series' pieces of a day into one, and its coarser tiers; within a transaction. */
int compact_series(struct tsdb *t, int64_t slot, uint32_t id) WARN_UNUSED;
int compact_step(struct tsdb *t, int64_t now_ms) WARN_UNUSED;
int retain_step(struct tsdb *t, int64_t now_ms) WARN_UNUSED;
int retain_budget_step(struct tsdb *t, int64_t now_ms) WARN_UNUSED;
int retain_forget_step(struct tsdb *t, int64_t now_ms) WARN_UNUSED;
int retain_shrink_step(struct tsdb *t) WARN_UNUSED;

/* --- downsample.c --- */

/* Appends a day's samples at that distance to out, which is plain or of summaries. */
int downsample_day(struct span day, int64_t resolution_ms, struct tschunk *out) WARN_UNUSED;
/* Appends a chunk's samples of [from_ms, to_ms) to out, which may be of the other form. */
int downsample_carry(struct span chunk, int64_t from_ms, int64_t to_ms,
                     struct tschunk *out) WARN_UNUSED;

#endif
