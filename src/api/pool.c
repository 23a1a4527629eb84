/* SPDX-License-Identifier: Apache-2.0 */
/*
 * api/pool.c - threads for what takes long.
 *
 * One lock guards the three lists. Finished jobs come back in one message per batch: whoever puts
 * the first one into an empty list posts it.
 */
#include "api/pool.h"

#include <errno.h>
#include <pthread.h>
#include <time.h>

#include "base/limits.h"
#include "base/mem.h"
#include "base/process.h"

enum { THREADS_MAX = 8, STACK_BYTES = 8 * MIB };

struct pool {
    struct loop *loop;
    size_t n_threads, n_started;
    size_t max_waiting;
    pthread_t threads[THREADS_MAX];
    pthread_mutex_t lock;
    pthread_cond_t has_work;
    /* Under the lock. */
    struct list waiting, running, finished;
    size_t n_waiting;
    bool is_stopping;
};

static void take_finished(void *arg)
{
    struct pool *p = arg;
    pthread_mutex_lock(&p->lock);
    while (!list_is_empty(&p->finished)) {
        struct pool_job *j = CONTAINER_OF(p->finished.next, struct pool_job, _link);
        list_remove(&j->_link);
        pthread_mutex_unlock(&p->lock);
        j->done(j);
        pthread_mutex_lock(&p->lock);
    }
    pthread_mutex_unlock(&p->lock);
}

/* Tells the loop, even where memory is short just now; a pool that stops has no need to. */
static void post(struct pool *p)
{
    const struct timespec pause = {.tv_nsec = 10 * NS_PER_MS};
    while (loop_post(p->loop, take_finished, p) < 0) {
        pthread_mutex_lock(&p->lock);
        bool is_stopping = p->is_stopping;
        pthread_mutex_unlock(&p->lock);
        if (is_stopping)
            return;
        (void)nanosleep(&pause, NULL);
    }
}

static void work(struct pool *p, struct pool_job *j)
{
    list_remove(&j->_link);
    p->n_waiting--;
    list_push_back(&p->running, &j->_link);
    pthread_mutex_unlock(&p->lock);
    if (!atomic_load(&j->is_cancelled))
        j->run(j);
    pthread_mutex_lock(&p->lock);
    bool is_first = list_is_empty(&p->finished);
    list_remove(&j->_link);
    list_push_back(&p->finished, &j->_link);
    pthread_mutex_unlock(&p->lock);
    if (is_first)
        post(p);
    pthread_mutex_lock(&p->lock);
}

static void *thread_main(void *arg)
{
    struct pool *p = arg;
    process_name_thread("query");
    pthread_mutex_lock(&p->lock);
    while (!p->is_stopping) {
        if (list_is_empty(&p->waiting))
            pthread_cond_wait(&p->has_work, &p->lock);
        else
            work(p, CONTAINER_OF(p->waiting.next, struct pool_job, _link));
    }
    pthread_mutex_unlock(&p->lock);
    return NULL;
}

static int start_threads(struct pool *p)
{
    pthread_attr_t attr;
    int r = 0;
    if (p->n_started == p->n_threads)
        return 0;
    pthread_attr_init(&attr);
    pthread_attr_setstacksize(&attr, STACK_BYTES);
    while (r == 0 && p->n_started < p->n_threads) {
        r = process_start_thread(&p->threads[p->n_started], &attr, thread_main, p);
        p->n_started += r == 0;
    }
    pthread_attr_destroy(&attr);
    return p->n_started > 0 ? 0 : r;
}

int pool_new(struct loop *l, size_t n_threads, size_t max_waiting, struct pool **ret)
{
    if (n_threads == 0 || n_threads > THREADS_MAX)
        return -EINVAL;
    struct pool *p = mem_zalloc(1, sizeof(*p));
    if (!p)
        return -ENOMEM;
    p->loop = l;
    p->n_threads = n_threads;
    p->max_waiting = max_waiting;
    list_init(&p->waiting);
    list_init(&p->running);
    list_init(&p->finished);
    pthread_mutex_init(&p->lock, NULL);
    pthread_cond_init(&p->has_work, NULL);
    *ret = p;
    return 0;
}

static void cancel_all(struct list *jobs)
{
    for (struct list *i = jobs->next; i != jobs; i = i->next) {
        struct pool_job *j = CONTAINER_OF(i, struct pool_job, _link);
        atomic_store(&j->is_cancelled, true);
        if (j->interrupt)
            j->interrupt(j);
    }
}

struct pool *pool_free(struct pool *p)
{
    if (!p)
        return NULL;
    pthread_mutex_lock(&p->lock);
    p->is_stopping = true;
    cancel_all(&p->waiting);
    cancel_all(&p->running);
    while (!list_is_empty(&p->waiting)) {
        struct list *i = p->waiting.next;
        list_remove(i);
        list_push_back(&p->finished, i);
    }
    pthread_cond_broadcast(&p->has_work);
    pthread_mutex_unlock(&p->lock);
    for (size_t i = 0; i < p->n_started; i++)
        pthread_join(p->threads[i], NULL);
    take_finished(p);
    pthread_cond_destroy(&p->has_work);
    pthread_mutex_destroy(&p->lock);
    mem_free(p);
    return NULL;
}

int pool_submit(struct pool *p, struct pool_job *j)
{
    int r = start_threads(p);
    if (r < 0)
        return r;
    pthread_mutex_lock(&p->lock);
    if (p->n_waiting >= p->max_waiting) {
        r = -EAGAIN;
    } else {
        list_init(&j->_link);
        list_push_back(&p->waiting, &j->_link);
        p->n_waiting++;
        pthread_cond_signal(&p->has_work);
    }
    pthread_mutex_unlock(&p->lock);
    return r;
}

void pool_cancel(struct pool *p, struct pool_job *j)
{
    atomic_store(&j->is_cancelled, true);
    pthread_mutex_lock(&p->lock);
    bool was_waiting = false;
    for (const struct list *i = p->waiting.next; i != &p->waiting && !was_waiting; i = i->next)
        was_waiting = i == &j->_link;
    if (was_waiting) {
        list_remove(&j->_link);
        p->n_waiting--;
    }
    pthread_mutex_unlock(&p->lock);
    if (was_waiting)
        j->done(j);
    else if (j->interrupt)
        j->interrupt(j);
}
