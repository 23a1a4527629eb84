/* SPDX-License-Identifier: Apache-2.0 */
/*
 * io/loop.c - epoll with nanosecond timeouts, a task list for "later in this turn", and a mailbox
 * that other threads post into. The mailbox rings an eventfd only when it was empty, so a burst of
 * posts is one wake-up.
 */
#include "io/loop.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/check.h"
#include "base/limits.h"
#include "base/mem.h"

#define FAR_TIMER_NS (100 * NS_PER_MS)

enum { EVENTS_PER_TURN = 256 };

struct post {
    struct post *next;
    void (*fn)(void *arg);
    void *arg;
};

struct loop {
    int epoll_fd;
    struct watch bell;
    struct timer_wheel timers;
    struct list tasks;
    mono_t now;
    struct stamp_mapper stamps;
    atomic_bool is_stopped;
    bool has_no_pwait2; /* kernels before 5.11: timeouts in whole ms */
    struct epoll_event events[EVENTS_PER_TURN];
    int n_events;         /* of the current turn; entries are cleared when their watch goes */
    pthread_mutex_t lock; /* guards the posts */
    struct post *first, **last;
    char read_buffer[LIMIT_READ_BYTES];
    char write_buffer[LIMIT_WRITE_BYTES];
    char stage_buffer[LIMIT_RECORD_BYTES];
};

static void bell_ring(struct loop *l)
{
    uint64_t one = 1;
    ssize_t n = write(l->bell.fd, &one, sizeof(one));
    (void)n; /* full means rung already */
}

/* The eventfd only wakes; the posts are run in every turn. */
static void bell_on_ready(struct watch *w, uint32_t events)
{
    uint64_t n;
    ssize_t got = read(w->fd, &n, sizeof(n));
    (void)got;
    (void)events;
}

int loop_new(struct loop **ret)
{
    struct loop *l = mem_zalloc(1, sizeof(*l));
    int r;

    if (!l)
        return -ENOMEM;
    l->bell.on_ready = bell_on_ready;
    l->bell.fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    l->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    l->last = &l->first;
    l->now = clock_mono();
    list_init(&l->tasks);
    timer_wheel_init(&l->timers, l->now);
    if (l->bell.fd < 0 || l->epoll_fd < 0) {
        r = -errno;
        goto fail;
    }
    r = loop_watch(l, &l->bell, EPOLLIN);
    if (r < 0)
        goto fail;
    pthread_mutex_init(&l->lock, NULL);
    *ret = l;
    return 0;
fail:
    if (l->bell.fd >= 0)
        close(l->bell.fd);
    if (l->epoll_fd >= 0)
        close(l->epoll_fd);
    mem_free(l);
    return r;
}

struct loop *loop_free(struct loop *l)
{
    if (!l)
        return NULL;
    while (l->first) {
        struct post *p = l->first;
        l->first = p->next;
        mem_free(p);
    }
    pthread_mutex_destroy(&l->lock);
    close(l->bell.fd);
    close(l->epoll_fd);
    mem_free(l);
    return NULL;
}

int loop_watch(struct loop *l, struct watch *w, uint32_t epoll_events)
{
    struct epoll_event e = {.events = epoll_events, .data.ptr = w};
    return epoll_ctl(l->epoll_fd, EPOLL_CTL_ADD, w->fd, &e) < 0 ? -errno : 0;
}

int loop_rewatch(struct loop *l, struct watch *w, uint32_t epoll_events)
{
    struct epoll_event e = {.events = epoll_events, .data.ptr = w};
    return epoll_ctl(l->epoll_fd, EPOLL_CTL_MOD, w->fd, &e) < 0 ? -errno : 0;
}

void loop_unwatch(struct loop *l, struct watch *w)
{
    if (w->fd < 0)
        return;
    (void)epoll_ctl(l->epoll_fd, EPOLL_CTL_DEL, w->fd, NULL); /* gone already is fine */
    for (int i = 0; i < l->n_events; i++)
        if (l->events[i].data.ptr == w)
            l->events[i].data.ptr = NULL;
}

void task_init(struct task *t, void (*run)(struct task *t))
{
    list_init(&t->_link);
    t->run = run;
}

void loop_defer(struct loop *l, struct task *t)
{
    if (list_is_empty(&t->_link))
        list_push_back(&l->tasks, &t->_link);
}

void task_cancel(struct task *t)
{
    list_remove(&t->_link);
}

void loop_timer_start(struct loop *l, struct timer *t, int64_t delay_ns)
{
    timer_start(&l->timers, t, l->now, delay_ns);
}

void loop_timer_stop(struct loop *l, struct timer *t)
{
    timer_stop(&l->timers, t);
}

int loop_post(struct loop *l, void (*fn)(void *arg), void *arg)
{
    struct post *p = mem_alloc(sizeof(*p));
    bool was_empty;

    if (!p)
        return -ENOMEM;
    *p = (struct post){.fn = fn, .arg = arg};
    pthread_mutex_lock(&l->lock);
    was_empty = l->first == NULL;
    *l->last = p;
    l->last = &p->next;
    pthread_mutex_unlock(&l->lock);
    if (was_empty)
        bell_ring(l);
    return 0;
}

static void posts_run(struct loop *l)
{
    struct post *p;

    pthread_mutex_lock(&l->lock);
    p = l->first;
    l->first = NULL;
    l->last = &l->first;
    pthread_mutex_unlock(&l->lock);
    while (p) {
        struct post *next = p->next;
        p->fn(p->arg);
        mem_free(p);
        p = next;
    }
}

/* Tasks deferred while tasks run wait for the next turn, so that none can starve the sockets. */
static void tasks_run(struct loop *l)
{
    struct list now;

    if (list_is_empty(&l->tasks))
        return;
    now = l->tasks;
    now.next->prev = &now;
    now.prev->next = &now;
    list_init(&l->tasks);
    while (!list_is_empty(&now)) {
        struct task *t = CONTAINER_OF(now.next, struct task, _link);
        list_remove(&t->_link);
        t->run(t);
    }
}

/* ns to wait in this turn; -1: no limit. */
static int64_t wait_ns(const struct loop *l, int64_t max_wait_ns)
{
    int64_t ns;

    if (!list_is_empty(&l->tasks))
        return 0;
    ns = timer_next_ns(&l->timers, l->now);
    if (ns >= 0 && ns < FAR_TIMER_NS) /* what this turn took would make it late */
        ns = timer_next_ns(&l->timers, clock_mono());
    if (ns < 0 || (max_wait_ns >= 0 && max_wait_ns < ns))
        return max_wait_ns;
    return ns;
}

static int events_wait(struct loop *l, int64_t ns)
{
    struct timespec ts = {.tv_sec = ns / NS_PER_S, .tv_nsec = ns % NS_PER_S};

    if (!l->has_no_pwait2) {
        int n = epoll_pwait2(l->epoll_fd, l->events, EVENTS_PER_TURN, ns < 0 ? NULL : &ts, NULL);
        if (n >= 0 || (errno != ENOSYS && errno != EPERM)) /* EPERM: container filters */
            return n;
        l->has_no_pwait2 = true;
    }
    return epoll_wait(l->epoll_fd, l->events, EVENTS_PER_TURN,
                      ns < 0 ? -1 : (int)((ns + NS_PER_MS - 1) / NS_PER_MS));
}

void loop_turn(struct loop *l, int64_t max_wait_ns)
{
    int n = events_wait(l, wait_ns(l, max_wait_ns));
    bool may_read =
        n > 0 || !list_is_empty(&l->tasks); /* tasks read too, even after a long sleep */

    l->now = may_read ? stamp_sync(&l->stamps) : clock_mono();
    l->n_events = n > 0 ? n : 0;
    for (int i = 0; i < l->n_events; i++) {
        struct watch *w = l->events[i].data.ptr;
        if (w)
            w->on_ready(w, l->events[i].events);
    }
    l->n_events = 0;
    posts_run(l);
    tasks_run(l);
    timer_advance(&l->timers, l->now);
}

void loop_run(struct loop *l)
{
    while (!atomic_load_explicit(&l->is_stopped, memory_order_acquire))
        loop_turn(l, -1);
    atomic_store_explicit(&l->is_stopped, false, memory_order_relaxed);
}

void loop_stop(struct loop *l)
{
    atomic_store_explicit(&l->is_stopped, true, memory_order_release);
    bell_ring(l);
}

mono_t loop_now(const struct loop *l)
{
    return l->now;
}

char *loop_read_buffer(struct loop *l)
{
    return l->read_buffer;
}

char *loop_write_buffer(struct loop *l)
{
    return l->write_buffer;
}

char *loop_stage_buffer(struct loop *l)
{
    return l->stage_buffer;
}

struct stamp_mapper *loop_stamps(struct loop *l)
{
    return &l->stamps;
}
