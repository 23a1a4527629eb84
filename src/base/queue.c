/* SPDX-License-Identifier: Apache-2.0 */
/*
 * base/queue.c - bounded ring of pointers under a mutex, with an eventfd as the bell.
 *
 * The bell is rung outside the lock and only when it is not ringing yet (is_rung), so a burst of
 * pushes costs one system call. The receiver silences it only when it finds the ring empty, and
 * then looks again: a sender that pushed in between saw is_rung set and did not ring.
 * Invariant: whenever messages wait, is_rung is set and the eventfd is or is about to be readable.
 * The other way round does not hold: one bell too many is allowed and costs an empty look.
 */
#include "base/queue.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "base/check.h"
#include "base/mem.h"

struct queue {
    pthread_mutex_t lock;
    void **ring;
    size_t capacity;
    size_t head;            /* index of the oldest message */
    _Atomic size_t n;       /* written under the lock, read anywhere */
    _Atomic bool is_closed; /* written under the lock, read anywhere */
    bool is_rung;           /* the eventfd has been, or is being, written */
    int fd;
};

int queue_new(size_t capacity, struct queue **ret)
{
    if (capacity == 0)
        return -EINVAL;
    struct queue *q = mem_zalloc(1, sizeof(*q));
    if (!q)
        return -ENOMEM;
    q->ring = mem_zalloc(capacity, sizeof(*q->ring));
    if (!q->ring) {
        mem_free(q);
        return -ENOMEM;
    }
    q->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (q->fd < 0) {
        int r = -errno;
        mem_free(q->ring);
        mem_free(q);
        return r;
    }
    q->capacity = capacity;
    pthread_mutex_init(&q->lock, NULL);
    *ret = q;
    return 0;
}

struct queue *queue_free(struct queue *q, void (*free_message)(void *message))
{
    if (!q)
        return NULL;
    void *message;
    while ((message = queue_pop(q)) != NULL) {
        if (!NEVER(free_message == NULL))
            free_message(message);
    }
    close(q->fd);
    pthread_mutex_destroy(&q->lock);
    mem_free(q->ring);
    mem_free(q);
    return NULL;
}

/* Nothing to wake the receiver for. */
static bool is_idle(const struct queue *q)
{
    return queue_len(q) == 0 && !atomic_load_explicit(&q->is_closed, memory_order_acquire);
}

static void ring_bell(struct queue *q)
{
    uint64_t one = 1;
    /* Fails only when the counter is about to overflow, and then the fd is readable anyway. */
    ssize_t n = write(q->fd, &one, sizeof(one));
    (void)n;
}

static void silence_bell(struct queue *q)
{
    uint64_t count;
    ssize_t n = read(q->fd, &count, sizeof(count)); /* EAGAIN: it was silent already */
    (void)n;
}

int queue_push(struct queue *q, void *message)
{
    int r = 0;
    bool must_ring = false;
    ASSERT(message != NULL);
    pthread_mutex_lock(&q->lock);
    size_t n = atomic_load_explicit(&q->n, memory_order_relaxed);
    if (atomic_load_explicit(&q->is_closed, memory_order_relaxed)) {
        r = -EPIPE;
    } else if (n == q->capacity) {
        r = -ENOBUFS;
    } else {
        size_t tail = q->head + n;
        q->ring[tail < q->capacity ? tail : tail - q->capacity] = message;
        atomic_store_explicit(&q->n, n + 1, memory_order_relaxed);
        must_ring = !q->is_rung;
        q->is_rung = true;
    }
    pthread_mutex_unlock(&q->lock);
    if (must_ring)
        ring_bell(q);
    return r;
}

/*
 * Silences the bell when nothing waits; afterwards the invariant holds again. is_rung is no
 * reason to skip the read: a sender may ring late, for a message that has been taken already.
 */
static void silence_if_empty(struct queue *q)
{
    /* A closed queue keeps ringing, so that an event loop sees the end without a message. */
    if (!is_idle(q))
        return;
    silence_bell(q);
    pthread_mutex_lock(&q->lock);
    bool must_ring = !is_idle(q);
    q->is_rung = must_ring;
    pthread_mutex_unlock(&q->lock);
    if (must_ring)
        ring_bell(q);
}

static size_t take(struct queue *q, void **out, size_t max)
{
    pthread_mutex_lock(&q->lock);
    size_t n = atomic_load_explicit(&q->n, memory_order_relaxed);
    size_t n_taken = n < max ? n : max;
    for (size_t i = 0; i < n_taken; i++) {
        out[i] = q->ring[q->head];
        q->head = q->head + 1 < q->capacity ? q->head + 1 : 0;
    }
    if (n_taken == n)
        q->head = 0; /* the same few pages again, not a tour of the whole ring */
    atomic_store_explicit(&q->n, n - n_taken, memory_order_relaxed);
    pthread_mutex_unlock(&q->lock);
    return n_taken;
}

size_t queue_pop_many(struct queue *q, void **out, size_t max)
{
    size_t n = take(q, out, max);
    if (n > 0 || max == 0)
        return n;
    silence_if_empty(q);
    return take(q, out, max); /* what was pushed in between */
}

void *queue_pop(struct queue *q)
{
    void *message;
    return queue_pop_many(q, &message, 1) == 1 ? message : NULL;
}

/* Not clock_mono: how long a thread sleeps must not depend on a test's fake clock. */
static int64_t now_ms(void)
{
    struct timespec ts;
    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

void queue_wait(struct queue *q, int timeout_ms)
{
    int64_t deadline_ms = timeout_ms < 0 ? 0 : now_ms() + timeout_ms;
    struct pollfd pfd = {.fd = q->fd, .events = POLLIN};
    while (is_idle(q)) {
        int64_t left_ms = timeout_ms < 0 ? -1 : deadline_ms - now_ms();
        if (timeout_ms >= 0 && left_ms < 0)
            return;
        if (poll(&pfd, 1, (int)left_ms) == 0)
            return;
        /* Rung, perhaps for a message that is gone already; or interrupted by a signal. */
        silence_if_empty(q);
    }
}

void queue_close(struct queue *q)
{
    pthread_mutex_lock(&q->lock);
    atomic_store_explicit(&q->is_closed, true, memory_order_release);
    q->is_rung = true;
    pthread_mutex_unlock(&q->lock);
    ring_bell(q);
}

bool queue_is_done(const struct queue *q)
{
    /* Closed first: from then on n only falls. */
    return atomic_load_explicit(&q->is_closed, memory_order_acquire) && queue_len(q) == 0;
}

size_t queue_len(const struct queue *q)
{
    return atomic_load_explicit(&q->n, memory_order_relaxed);
}

size_t queue_capacity(const struct queue *q)
{
    return q->capacity;
}

int queue_fd(const struct queue *q)
{
    return q->fd;
}
