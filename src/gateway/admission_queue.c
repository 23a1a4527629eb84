/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gateway/admission_queue.c - see admission_queue.h.
 *
 * A tenant needs no memory of its own: the first of its tickets that waits leads, and carries the
 * tenant's place in the ring, its deficit, its bucket and the list of those behind it. When it
 * goes, the one behind it takes all that over in place.
 */
#include "gateway/admission_queue.h"

#include "base/fnv.h"

void admission_queue_init(struct admission_queue *q)
{
    *q = (struct admission_queue){.n_waiting = 0};
    list_init(&q->_ring);
    for (int i = 0; i < ADMISSION_BUCKETS; i++)
        list_init(&q->_buckets[i]);
}

uint64_t admission_queue_hash(struct span tenant, uint64_t seed)
{
    uint64_t h = fnv_add(FNV_START ^ seed, tenant);

    return h ^ (h >> 32);
}

static struct list *bucket_of(struct admission_queue *q, const struct admission_ticket *t)
{
    return &q->_buckets[t->_hash % ADMISSION_BUCKETS];
}

static bool is_same_tenant(const struct admission_ticket *a, const struct admission_ticket *b)
{
    return a->_hash == b->_hash &&
           span_eq(span_of(a->_tenant, a->_n_tenant), span_of(b->_tenant, b->_n_tenant));
}

/* The first of t's tenant; NULL: none waits. */
static struct admission_ticket *leader_of(struct admission_queue *q,
                                          const struct admission_ticket *t)
{
    struct list *bucket = bucket_of(q, t);

    for (struct list *l = bucket->next; l != bucket; l = l->next) {
        struct admission_ticket *leader = CONTAINER_OF(l, struct admission_ticket, _chain);
        if (is_same_tenant(leader, t))
            return leader;
    }
    return NULL;
}

/* heir, the first behind t, takes over what is known of their tenant. */
static void lead_on(struct admission_ticket *t, struct admission_ticket *heir)
{
    list_remove(&heir->_link);
    list_insert_before(&t->_link, &heir->_link);
    list_insert_before(&t->_chain, &heir->_chain);
    /* heir's list head in t's place */
    list_insert_before(&t->_behind, &heir->_behind);
    list_remove(&t->_behind);
    heir->_deficit = t->_deficit;
    heir->_leads = true;
}

void admission_queue_remove(struct admission_queue *q, struct admission_ticket *t)
{
    q->n_waiting--;
    if (t->_leads && !list_is_empty(&t->_behind))
        lead_on(t, CONTAINER_OF(t->_behind.next, struct admission_ticket, _link));
    else if (t->_leads)
        q->n_tenants--;
    t->_leads = false;
    list_remove(&t->_link);
    list_remove(&t->_chain);
}

static struct admission_ticket *front_of(struct admission_queue *q)
{
    return CONTAINER_OF(q->_ring.next, struct admission_ticket, _link);
}

/* Rounds in which no tenant could go are gone through at once. */
static void rounds_skip(struct admission_queue *q)
{
    int64_t n_min = INT64_MAX;

    for (struct list *l = q->_ring.next; l != &q->_ring; l = l->next) {
        struct admission_ticket *t = CONTAINER_OF(l, struct admission_ticket, _link);
        int64_t lacks = admission_queue_cost(t) - t->_deficit;
        int64_t n = lacks <= 0 ? 0 : (lacks + ADMISSION_QUANTUM - 1) / ADMISSION_QUANTUM;
        if (n < n_min)
            n_min = n;
    }
    for (struct list *l = q->_ring.next; n_min > 0 && l != &q->_ring; l = l->next)
        CONTAINER_OF(l, struct admission_ticket, _link)->_deficit += n_min * ADMISSION_QUANTUM;
}

struct admission_ticket *admission_queue_next(struct admission_queue *q)
{
    if (q->n_waiting == 0)
        return NULL;
    for (uint32_t n = 1;; n++) {
        struct admission_ticket *t = front_of(q);
        if (t->_deficit >= admission_queue_cost(t))
            return t;
        t->_deficit += ADMISSION_QUANTUM;
        list_remove(&t->_link);
        list_push_back(&q->_ring, &t->_link);
        if (n % q->n_tenants == 0)
            rounds_skip(q);
    }
}

void admission_queue_push(struct admission_queue *q, struct admission_ticket *t)
{
    struct admission_ticket *leader = leader_of(q, t);

    q->n_waiting++;
    if (leader) {
        list_push_back(&leader->_behind, &t->_link);
        return;
    }
    t->_leads = true;
    t->_deficit = ADMISSION_QUANTUM;
    list_push_back(bucket_of(q, t), &t->_chain);
    list_push_back(&q->_ring, &t->_link);
    q->n_tenants++;
    if (q->n_tenants == 1)
        (void)admission_queue_next(q); /* settles that it is next, before others come */
}

void admission_queue_pop(struct admission_queue *q, struct admission_ticket *t)
{
    t->_deficit -= admission_queue_cost(t);
    admission_queue_remove(q, t);
}
