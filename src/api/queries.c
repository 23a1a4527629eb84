/* SPDX-License-Identifier: Apache-2.0 */
/*
 * api/queries.c - calls that need the store, on the threads of a pool.
 */
#include "api/queries.h"

#include <errno.h>
#include <pthread.h>

#include "api/pool.h"
#include "base/err.h"
#include "base/mem.h"

struct queries {
    struct loop *loop;
    struct pool *pool, *work; /* threads start with the first job */
    const struct api_sources *sources;
};

struct query {
    struct pool_job job;
    struct queries *queries;
    struct pool *pool;
    struct query_request request; /* texts are behind this struct */
    bool is_left;                 /* on the loop's thread */
    struct timer timer;           /* at the deadline */
    pthread_mutex_t lock;
    struct rows_reader *rows; /* under the lock: at work now, to be cancelled */
    mono_t deadline;
    struct api_query_limits limits;
    int status;
    const char *type;
    struct buf body;
    char texts[];
};

static bool is_left(void *ctx)
{
    struct query *q = ctx;
    return atomic_load_explicit(&q->job.is_cancelled, memory_order_relaxed);
}

static void hold(void *ctx, struct rows_reader *rows)
{
    struct query *q = ctx;
    pthread_mutex_lock(&q->lock);
    q->rows = rows;
    /* Whoever came before there was something to cancel. */
    if (rows && (is_left(q) || mono_diff(clock_mono(), q->deadline) >= 0))
        rows_reader_cancel(rows);
    pthread_mutex_unlock(&q->lock);
}

static void interrupt(struct pool_job *j)
{
    struct query *q = CONTAINER_OF(j, struct query, job);
    pthread_mutex_lock(&q->lock);
    if (q->rows)
        rows_reader_cancel(q->rows);
    pthread_mutex_unlock(&q->lock);
}

static void on_late(struct timer *t)
{
    interrupt(&CONTAINER_OF(t, struct query, timer)->job);
}

static void run(struct pool_job *j)
{
    struct query *q = CONTAINER_OF(j, struct query, job);
    struct arena_budget budget = {.max_bytes = QUERIES_MEMORY_MAX};
    struct arena arena;
    struct prom_call c;
    arena_init(&arena, &budget);
    prom_init(&c, q->queries->sources, &arena, &q->body);
    c.budget = &budget;
    c.method = q->request.method;
    c.path = q->request.path;
    c.content = q->request.content;
    c.deadline = q->deadline;
    c.limits = q->limits;
    c.is_left = is_left;
    c.hold = hold;
    c.ctx = q;
    if (prom_is_over(&c) == -ETIMEDOUT)
        prom_fail(&c, PROM_TIMEOUT, "query timed out in query queue");
    else
        prom_run(&c, q->request.handle, q->request.query, q->request.form);
    q->status = c.status;
    q->type = c.content_type;
    arena_done(&arena);
}

static void query_free(struct query *q)
{
    loop_timer_stop(q->queries->loop, &q->timer);
    pthread_mutex_destroy(&q->lock);
    buf_done(&q->body);
    mem_free(q);
}

static void done(struct pool_job *j)
{
    struct query *q = CONTAINER_OF(j, struct query, job);
    if (!q->is_left)
        q->request.on_answer(q->request.owner, q->status ? q->status : 503, q->type, &q->body);
    query_free(q);
}

void queries_run_here(const struct api_sources *sources, const struct query_request *r,
                      struct buf *body, int *ret_status)
{
    struct arena_budget budget = {.max_bytes = QUERIES_MEMORY_MAX};
    struct arena arena;
    struct prom_call c;
    arena_init(&arena, &budget);
    prom_init(&c, sources, &arena, body);
    c.budget = &budget;
    c.method = r->method;
    c.path = r->path;
    c.content = r->content;
    prom_run(&c, r->handle, r->query, r->form);
    *ret_status = c.status;
    arena_done(&arena);
}

int queries_new(struct loop *l, const struct api_sources *sources, struct queries **ret)
{
    struct queries *q = mem_zalloc(1, sizeof(*q));
    if (!q)
        return -ENOMEM;
    q->loop = l;
    q->sources = sources;
    int r = pool_new(l, QUERIES_AT_ONCE, QUERIES_WAITING, &q->pool);
    if (r == 0)
        r = pool_new(l, QUERIES_AT_ONCE, QUERIES_WAITING, &q->work);
    if (r < 0) {
        queries_free(q);
        return r;
    }
    *ret = q;
    return 0;
}

struct queries *queries_free(struct queries *q)
{
    if (!q)
        return NULL;
    pool_free(q->work);
    pool_free(q->pool);
    mem_free(q);
    return NULL;
}

static struct span copy_to(char **at, struct span s)
{
    struct span copy = {*at, s.n};
    if (s.n > 0)
        memcpy(*at, s.p, s.n);
    *at += s.n;
    return copy;
}

int queries_start(struct queries *q, const struct query_request *r, struct query **ret)
{
    struct query *query =
        mem_zalloc(1, sizeof(*query) + r->path.n + r->query.n + r->form.n + r->content.n);
    if (!query)
        return -ENOMEM;
    char *at = query->texts;
    query->job.run = run;
    query->job.done = done;
    query->job.interrupt = interrupt;
    query->queries = q;
    query->pool = r->is_work ? q->work : q->pool;
    pthread_mutex_init(&query->lock, NULL);
    timer_init(&query->timer, on_late);
    query->request = *r;
    query->request.path = copy_to(&at, r->path);
    query->request.query = copy_to(&at, r->query);
    query->request.form = copy_to(&at, r->form);
    query->request.content = copy_to(&at, r->content);
    if (q->sources->query_limits)
        q->sources->query_limits(q->sources->arg, &query->limits);
    if (query->limits.timeout_ns == 0)
        query->limits.timeout_ns = QUERIES_TIMEOUT_NS;
    query->deadline = mono_add(clock_mono(), query->limits.timeout_ns);
    buf_init(&query->body, QUERIES_ANSWER_MAX);
    int e = pool_submit(query->pool, &query->job);
    if (e < 0) {
        query_free(query);
        return e;
    }
    loop_timer_start(q->loop, &query->timer, mono_diff(query->deadline, loop_now(q->loop)));
    *ret = query;
    return 0;
}

void queries_refuse(int error, struct buf *body, int *ret_status)
{
    struct prom_call c;
    prom_init(&c, NULL, NULL, body);
    if (error == -EAGAIN)
        prom_fail(&c, PROM_UNAVAILABLE, "%d queries run and %d wait already; ask again later",
                  QUERIES_AT_ONCE, QUERIES_WAITING);
    else if (error == -ENOBUFS)
        prom_fail(&c, PROM_UNAVAILABLE,
                  "clients have not read %zu MiB of answers yet; ask again later, or for less",
                  QUERIES_UNREAD_MAX / MIB);
    else
        prom_fail(&c, PROM_UNAVAILABLE, "the query cannot be run: %s", err_str(error));
    *ret_status = c.status;
}

void queries_leave(struct query *query)
{
    query->is_left = true;
    pool_cancel(query->pool, &query->job);
}
