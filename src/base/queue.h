/* SPDX-License-Identifier: Apache-2.0 */
/*
 * base/queue.h - bounded queue of owned messages between threads, woken by an eventfd.
 *
 * Ownership: a pushed pointer belongs to the queue, a popped one to the caller. A refused push
 *            leaves the message with the sender, who counts the drop and frees it.
 * Threading: any number of senders, one receiver. Senders never wait for the receiver: the lock
 *            is held for a pointer store only.
 * Limits:    capacity messages, fixed at birth.
 */
#ifndef BASE_QUEUE_H
#define BASE_QUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"

struct queue;

int queue_new(size_t capacity,
              struct queue **ret) WARN_UNUSED; /* -EINVAL, -ENOMEM, -errno of eventfd */

/*
 * Frees the queue; messages still inside go to free_message (may be NULL when empty). No sender may
 * be inside queue_push or come later. Returns NULL.
 */
struct queue *queue_free(struct queue *q, void (*free_message)(void *message));

/* 0, or -ENOBUFS when full, or -EPIPE after queue_close. */
int queue_push(struct queue *q, void *message) WARN_UNUSED;

/* The oldest message, or NULL when empty. */
void *queue_pop(struct queue *q);

/* Takes up to max messages in order into out; returns how many. */
size_t queue_pop_many(struct queue *q, void **out, size_t max);

/* Waits until a message is there, the queue is closed, or timeout_ms passed (-1: no limit). */
void queue_wait(struct queue *q, int timeout_ms);

/* No more pushes; wakes the receiver. queue_is_done: closed and empty. */
void queue_close(struct queue *q);
bool queue_is_done(const struct queue *q);

size_t queue_len(const struct queue *q); /* for gauges: a moment's value */
size_t queue_capacity(const struct queue *q);

/* Readable when there is something, and for good after queue_close; for an event loop, whose turn
 * may find the queue empty now and then. */
int queue_fd(const struct queue *q);

#endif
