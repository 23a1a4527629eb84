/* SPDX-License-Identifier: Apache-2.0 */
/*
 * store/store_private.h - the store's insides: what others touch under the lock, and what is the
 * thread's own.
 *
 * Threading: as said at each part.
 */
#ifndef STORE_STORE_PRIVATE_H
#define STORE_STORE_PRIVATE_H

#include <pthread.h>
#include <stdatomic.h>

#include "base/limits.h"
#include "store/age_clock.h"
#include "store/aside.h"
#include "store/blocks.h"
#include "store/gather.h"
#include "store/store.h"

enum { STORE_BELL_ROWS = 2000, STORE_SPILL_BYTES = 64 * MIB };

struct store {
    pthread_t thread;
    int bell;
    _Atomic bool must_stop;
    _Atomic bool is_refused;    /* rows are lost because of the disk */
    _Atomic uint64_t n_written; /* number of the last batch that can be read */

    pthread_mutex_t lock; /* of the following */
    struct blocks inbox;
    struct batch *first_batch, **last_batch;
    size_t n_batch_bytes;
    uint64_t n_batches;         /* number of the last one that came */
    struct store_config config; /* its texts are ours */
    char *archive_dir;
    bool is_new_config;
    struct store_status status;
    uint64_t n_lost;

    /* the thread's own, and until it runs the maker's; series is set under the lock */
    char *dir;
    struct arena labels_arena;
    int lock_fd;
    int64_t started_ms; /* wall clock; the program's counters were 0 then */
    struct rows *rows;
    struct spill *spill;
    struct blocks waiting;  /* rows, and the file that they go into, while another process */
    struct spill *aside;    /* has the directory */
    struct aside_left left; /* by others */
    struct tsdb *series;
    struct gather *gather;
    mono_t next_open, next_series, next_spill, next_try, next_gather, next_maintenance, next_left;
    bool is_failing, is_series_failing, is_maintenance_failing, is_aside_failing, is_spill_failing;
    struct age_clock age_clock;
    bool is_behind;         /* the clock, behind the newest samples */
    bool is_waiting;        /* nothing is open, and that was told */
    bool is_elsewhere;      /* because another process has it */
    struct rows_stats seen; /* what was counted in base/stat.h */
    struct gather_stats seen_gather;
    int64_t slowest_commit_ns;
};

/* Opens all but the series. 0; -EBUSY: another process holds the lock; other errors. */
int store_open_parts(struct store *s, struct err *reterr) WARN_UNUSED;
/* And these, and what gathers them: rows are kept without. */
int store_open_series(struct store *s, struct err *reterr) WARN_UNUSED;
/* Directory, lock and spill file are where they were opened, or made again. Errors: nothing can be
 * written just now. */
int store_keep_place(struct store *s, struct err *reterr) WARN_UNUSED;
void store_close_parts(struct store *s);

/* Batches that came, into the series, which are open. 1; 0: none came; an error of tsdb_commit. */
int store_take_batches(struct store *s) WARN_UNUSED;
void store_drop_batches(struct store *s); /* those that nothing will take */

void store_ring(struct store *s); /* the thread's next turn comes now */

/* The thread. */
void *store_run(void *store);

#endif
