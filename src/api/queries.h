/* SPDX-License-Identifier: Apache-2.0 */
/*
 * api/queries.h - private to api/: calls that need the store, away from the listener's loop.
 *
 * Role:      a question is put to the pool with all that it needs; what becomes of it comes back on
 *            the loop. Who asked may leave at any time: the evaluation then ends early.
 * Limits:    QUERIES_AT_ONCE run, QUERIES_WAITING wait, of queries and of work; api_query_limits of
 *            time each, waiting included (QUERIES_TIMEOUT_NS where they say nothing);
 *            QUERIES_MEMORY_MAX for a call besides what promql allows.
 * Threading: the loop's thread.
 */
#ifndef API_QUERIES_H
#define API_QUERIES_H

#include "api/prom.h"
#include "base/limits.h"

enum { QUERIES_AT_ONCE = 2, QUERIES_WAITING = 32 };
#define QUERIES_TIMEOUT_NS (120 * NS_PER_S)
#define QUERIES_MEMORY_MAX (256 * MIB)
#define QUERIES_ANSWER_MAX (64 * MIB)
/* Of all answers that clients have not read yet; beyond it there is room for one only. */
#define QUERIES_UNREAD_MAX (128 * MIB)

struct queries;
struct query;

/* What is asked; everything is copied. */
struct query_request {
    void (*handle)(struct prom_call *c);
    struct span method; /* static */
    struct span path, query, form, content;
    bool is_work; /* waits for others, as receivers of alerts: on threads of its own */
    /* The answer: *body is the callee's from then on; type: static, NULL: JSON. Not after
     * query_leave. */
    void (*on_answer)(void *owner, int status, const char *type, struct buf *body);
    void *owner;
};

int queries_new(struct loop *l, const struct api_sources *sources,
                struct queries **ret) WARN_UNUSED;
struct queries *queries_free(struct queries *q);

/* -EAGAIN: too many wait already; -ENOMEM and others. */
int queries_start(struct queries *q, const struct query_request *r, struct query **ret) WARN_UNUSED;
/* Nobody waits for it any more; query is gone for the caller. */
void queries_leave(struct query *query);

/* The same at once, on this thread: for what needs no store. JSON only. */
void queries_run_here(const struct api_sources *sources, const struct query_request *r,
                      struct buf *body, int *ret_status);

/* The answer where queries_start said no. */
void queries_refuse(int error, struct buf *body, int *ret_status);

#endif
