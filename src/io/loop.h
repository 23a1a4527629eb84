/* SPDX-License-Identifier: Apache-2.0 */
/*
 * io/loop.h - one thread's event loop: epoll, timers, tasks, wake-ups from other threads.
 *
 * Threading: everything but loop_post and loop_stop belongs to the loop's thread.
 * Order of a turn: fd events, posts, tasks, timers. A turn never begins inside another one.
 */
#ifndef IO_LOOP_H
#define IO_LOOP_H

#include <stdbool.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/clock.h"
#include "base/list.h"
#include "io/stamp.h"
#include "io/timer.h"

struct loop;

/* Interest in one descriptor, embedded in its owner. */
struct watch {
    int fd; /* -1: not watched */
    void (*on_ready)(struct watch *w, uint32_t epoll_events);
};

/* Work for later in this turn (or the next one), embedded in its owner. Posting twice is one run.
 */
struct task {
    struct list _link;
    void (*run)(struct task *t);
};

int loop_new(struct loop **ret) WARN_UNUSED; /* -ENOMEM, -errno */
struct loop *loop_free(struct loop *l);

/* Runs until loop_stop. */
void loop_run(struct loop *l);

/* Makes loop_run return after the current turn. Any thread; async-signal-safe. */
void loop_stop(struct loop *l);

/* One turn: waits at most max_wait_ns (-1: until something happens). For tests. */
void loop_turn(struct loop *l, int64_t max_wait_ns);

/* Time at the start of this turn: for timers only, never for measurements. */
mono_t loop_now(const struct loop *l);

/* epoll_events as for epoll_ctl (EPOLLET for edge triggering). 0 or -errno. */
int loop_watch(struct loop *l, struct watch *w, uint32_t epoll_events) WARN_UNUSED;
int loop_rewatch(struct loop *l, struct watch *w, uint32_t epoll_events) WARN_UNUSED;
void loop_unwatch(struct loop *l, struct watch *w); /* before closing the fd; idempotent */

void task_init(struct task *t, void (*run)(struct task *t));
void loop_defer(struct loop *l, struct task *t);
void task_cancel(struct task *t);

void loop_timer_start(struct loop *l, struct timer *t, int64_t delay_ns);
void loop_timer_stop(struct loop *l, struct timer *t);

/*
 * From any thread: fn(arg) runs on the loop's thread in a later turn, in order of posting.
 * -ENOMEM. What is still posted when the loop is freed is dropped after calling nothing: owners
 * stop their senders first.
 */
int loop_post(struct loop *l, void (*fn)(void *arg), void *arg) WARN_UNUSED;

/* The read buffer shared by all sockets of this loop (LIMIT_READ_BYTES). */
char *loop_read_buffer(struct loop *l);
/* The same for what is on its way out through TLS: LIMIT_WRITE_BYTES of it encrypted, and
 * LIMIT_RECORD_BYTES that are to be. Not kept between two calls of a socket. */
char *loop_write_buffer(struct loop *l);
char *loop_stage_buffer(struct loop *l);
struct stamp_mapper *loop_stamps(struct loop *l);

#endif
