/* SPDX-License-Identifier: Apache-2.0 */
/*
 * api/pool.h - private to api/: a few threads for what takes long, in front of a loop.
 *
 * Role:      queries run here, so that /metrics and /healthz answer meanwhile.
 * Threading: threads start with the first job. pool_* is for the loop's thread; run() is called on
 *            one of the pool's threads, done() on the loop's.
 * Limits:    n_threads run, max_waiting wait; more are refused (-EAGAIN).
 * Ownership: a job belongs to the pool from pool_submit until done().
 */
#ifndef API_POOL_H
#define API_POOL_H

#include <stdatomic.h>
#include <stdbool.h>

#include "base/attr.h"
#include "base/list.h"
#include "io/loop.h"

struct pool;
struct pool_job {
    void (*run)(struct pool_job *j);
    void (*done)(struct pool_job *j); /* also where run was never called */
    /* On the loop's thread, behind is_cancelled, while run may be under way; NULL: looking at
     * is_cancelled is enough. */
    void (*interrupt)(struct pool_job *j);
    atomic_bool is_cancelled; /* run looks at it, and ends early */
    struct list _link;
};

int pool_new(struct loop *l, size_t n_threads, size_t max_waiting, struct pool **ret) WARN_UNUSED;

/* Cancels all jobs, joins the threads, calls done for what is left. The loop must not turn again.
 * Returns NULL. */
struct pool *pool_free(struct pool *p);

/* -EAGAIN: too many wait; other negative errno: no thread could be started. */
int pool_submit(struct pool *p, struct pool_job *j) WARN_UNUSED;

/* A job that waits is done at once, without run; one that runs is told. */
void pool_cancel(struct pool *p, struct pool_job *j);

#endif
