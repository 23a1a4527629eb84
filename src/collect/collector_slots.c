/* SPDX-License-Identifier: Apache-2.0 */
/*
 * collect/collector_slots.c - places of targets, found by what a target is.
 */
#include <errno.h>

#include "base/mem.h"
#include "collect/collector_private.h"

enum { BUCKETS_MIN = 64 };

static void free_slot(struct slot *s)
{
    s->target = target_free(s->target);
    s->next = target_free(s->next);
    s->file = scrape_file_unref(s->file);
    s->next_file = scrape_file_unref(s->next_file);
    mem_free(s);
}

static struct slot **bucket_of(const struct collector *c, uint64_t hash)
{
    return &c->slot_buckets[hash & (c->cap_slots - 1)];
}

void collector_slot_free(struct collector *c, struct slot *s)
{
    struct slot **at = bucket_of(c, s->hash);

    while (*at != s)
        at = &(*at)->follower;
    *at = s->follower;
    free_slot(s);
}

void collector_slots_free(struct collector *c)
{
    for (size_t i = 0; i < c->n_slots; i++)
        free_slot(c->slots[i]);
    mem_free(c->slots);
    mem_free(c->slot_buckets);
}

static struct target *newest(const struct slot *s)
{
    return s->next ? s->next : s->target;
}

struct slot *collector_slot_find(const struct collector *c, const struct target *t, uint64_t hash)
{
    struct slot *s = c->cap_slots > 0 ? *bucket_of(c, hash) : NULL;

    while (s && (s->hash != hash || !target_is_same(newest(s), t)))
        s = s->follower;
    return s;
}

void collector_slot_put(struct slot *s, struct target *t, struct scrape_file *file)
{
    bool is_moved = target_interval_ms(newest(s)) != target_interval_ms(t);

    s->next = target_free(s->next);
    s->next_file = scrape_file_unref(s->next_file);
    if (s->is_busy) {
        s->next = t;
        s->next_file = scrape_file_ref(file);
    } else {
        target_take(t, s->target);
        s->target = target_free(s->target);
        s->file = scrape_file_unref(s->file);
        s->target = t;
        s->file = scrape_file_ref(file);
    }
    if (is_moved)
        collector_scrape_set_due(s);
}

/* Room for one more. */
static int grow(struct collector *c)
{
    size_t cap = c->cap_slots > 0 ? 2 * c->cap_slots : BUCKETS_MIN;

    if (c->n_slots < c->cap_slots)
        return 0;
    struct slot **slots = mem_realloc(c->slots, cap * sizeof(struct slot *));
    if (!slots)
        return -ENOMEM;
    c->slots = slots;
    struct slot **buckets = mem_zalloc(cap, sizeof(struct slot *));
    if (!buckets)
        return -ENOMEM;
    mem_free(c->slot_buckets);
    c->slot_buckets = buckets;
    c->cap_slots = cap;
    for (size_t i = 0; i < c->n_slots; i++) {
        struct slot **first = bucket_of(c, slots[i]->hash);
        slots[i]->follower = *first;
        *first = slots[i];
    }
    return 0;
}

int collector_slot_add(struct collector *c, struct target *t, uint64_t hash, struct pool *pool)
{
    struct slot *s = grow(c) == 0 ? mem_zalloc(1, sizeof(*s)) : NULL;

    if (!s)
        return -ENOMEM;
    struct slot **first = bucket_of(c, hash);
    *s = (struct slot){.target = t,
                       .file = scrape_file_ref(pool->file),
                       .pool = pool,
                       .follower = *first,
                       .hash = hash,
                       .is_claimed = true,
                       .is_wanted = c->is_turning};
    *first = s;
    collector_scrape_set_due(s);
    c->slots[c->n_slots++] = s;
    return 0;
}
