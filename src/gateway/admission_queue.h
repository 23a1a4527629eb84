/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gateway/admission_queue.h - private to admission: those of one class who wait, and who is next.
 *
 * Order:     deficit round-robin over tenants by tokens, first come, first served inside a tenant.
 *            A tenant that begins to wait joins the ring at its end with one quantum. The tenant at
 *            the front is next as long as its deficit covers its first request; else it gets a
 *            quantum and goes to the end. So who is next stays next until it leaves, whoever comes
 *            meanwhile. A tenant of which nobody waits any more is forgotten, its deficit with it.
 * Cost:      push and remove O(1) plus the tenants in one of 64 buckets; next takes one step per
 *            quantum of tokens granted on average, and at most some rounds over all tenants.
 * Threading: under the admission's lock.
 */
#ifndef GATEWAY_ADMISSION_QUEUE_H
#define GATEWAY_ADMISSION_QUEUE_H

#include "gateway/admission.h"

enum {
    /* Tokens a tenant may take before the next one's turn: a few ordinary prompts, or a part of a
     * long one. */
    ADMISSION_QUANTUM = 1024,
    /* What a request weighs at least in the order: it costs something even if its prompt is empty
     * or unknown, and its tenant must not stay in front for ever. */
    ADMISSION_MIN_COST = 32,
    ADMISSION_BUCKETS = 64,
};

struct admission_queue {
    uint32_t n_waiting;
    uint32_t n_tenants;
    struct list _ring; /* each tenant's first ticket */
    struct list _buckets[ADMISSION_BUCKETS];
};

void admission_queue_init(struct admission_queue *q);

/* The first to wait is next. */
void admission_queue_push(struct admission_queue *q, struct admission_ticket *t);

/* Takes t out, wherever it waits. Call admission_queue_next before anybody is pushed again. */
void admission_queue_remove(struct admission_queue *q, struct admission_ticket *t);

/* Whose turn it is; it stays in the queue. NULL: nobody waits. */
struct admission_ticket *admission_queue_next(struct admission_queue *q);

/* Takes out t, whose turn it is, at its tenant's expense. */
void admission_queue_pop(struct admission_queue *q, struct admission_ticket *t);

/* FNV-1a; the seed keeps clients from choosing tenants of one bucket. */
uint64_t admission_queue_hash(struct span tenant, uint64_t seed);

/* What t weighs in the order. */
static inline int64_t admission_queue_cost(const struct admission_ticket *t)
{
    return t->_tokens > ADMISSION_MIN_COST ? t->_tokens : ADMISSION_MIN_COST;
}

#endif
