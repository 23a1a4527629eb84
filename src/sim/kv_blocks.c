/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sim/kv_blocks.c - blocks are numbers into one array; `next` links what a block is in: the free
 * ones, the lost ones, or a request's own. Cached blocks are in a hash table besides, whether free
 * or held.
 */
#include "sim/kv_blocks.h"

#include <errno.h>

#include "base/check.h"
#include "base/mem.h"

enum { NONE = -1 };

struct kv_block {
    uint64_t prefix;
    uint32_t generation;
    int32_t index; /* in the prefix */
    bool is_cached;
    int32_t n_holders; /* of a shared one */
    int32_t parent;    /* the block before it in the prefix; set while it is held */
    int32_t same_hash;
    int32_t prev, next;
};

/* --- the free ones --- */

static void free_remove(struct kv_blocks *k, int32_t id)
{
    struct kv_block *b = &k->_all[id];

    if (b->prev == NONE)
        k->_first = b->next;
    else
        k->_all[b->prev].next = b->next;
    if (b->next == NONE)
        k->_last = b->prev;
    else
        k->_all[b->next].prev = b->prev;
    k->n_free--;
}

static void free_append(struct kv_blocks *k, int32_t id)
{
    struct kv_block *b = &k->_all[id];

    b->prev = k->_last;
    b->next = NONE;
    if (k->_last == NONE)
        k->_first = id;
    else
        k->_all[k->_last].next = id;
    k->_last = id;
    k->n_free++;
}

/* --- the cached ones --- */

static uint32_t head_of(const struct kv_blocks *k, uint64_t prefix, int64_t index,
                        uint32_t generation)
{
    uint64_t x = prefix * UINT64_C(0x9e3779b97f4a7c15) + (uint64_t)index + generation;

    x ^= x >> 32;
    x *= UINT64_C(0xd6e8feb86659fd93);
    x ^= x >> 32;
    return (uint32_t)x & (k->_n_heads - 1);
}

static int32_t cache_find(const struct kv_blocks *k, uint64_t prefix, int64_t index)
{
    int32_t id = k->_heads[head_of(k, prefix, index, k->_generation)];

    for (; id != NONE; id = k->_all[id].same_hash) {
        const struct kv_block *b = &k->_all[id];

        if (b->prefix == prefix && b->index == index && b->generation == k->_generation)
            return id;
    }
    return NONE;
}

static void cache_add(struct kv_blocks *k, int32_t id, uint64_t prefix, int64_t index)
{
    int32_t *head = &k->_heads[head_of(k, prefix, index, k->_generation)];
    struct kv_block *b = &k->_all[id];

    b->prefix = prefix;
    b->index = (int32_t)index;
    b->generation = k->_generation;
    b->is_cached = true;
    b->same_hash = *head;
    *head = id;
}

static void cache_remove(struct kv_blocks *k, int32_t id)
{
    struct kv_block *b = &k->_all[id];
    int32_t *at = &k->_heads[head_of(k, b->prefix, b->index, b->generation)];

    while (*at != id)
        at = &k->_all[*at].same_hash;
    *at = b->same_hash;
    b->is_cached = false;
}

static int32_t take_oldest(struct kv_blocks *k)
{
    int32_t id = k->_first;

    free_remove(k, id);
    if (k->_all[id].is_cached)
        cache_remove(k, id);
    return id;
}

/* --- losing --- */

static void lost_push(struct kv_blocks *k, int32_t id)
{
    if (k->_all[id].is_cached)
        cache_remove(k, id);
    k->_all[id].next = k->_lost;
    k->_lost = id;
    k->n_lost++;
}

static void give_back(struct kv_blocks *k, int32_t id)
{
    if (k->n_lost < k->_n_to_lose)
        lost_push(k, id);
    else
        free_append(k, id);
}

void kv_blocks_lose(struct kv_blocks *k, int64_t n)
{
    k->_n_to_lose = n;
    while (k->n_lost < n && k->n_free > 0)
        lost_push(k, take_oldest(k));
    while (k->n_lost > n) {
        int32_t id = k->_lost;

        k->_lost = k->_all[id].next;
        k->n_lost--;
        free_append(k, id);
    }
}

void kv_blocks_forget(struct kv_blocks *k)
{
    k->_generation++;
}

/* --- requests --- */

void kv_held_init(struct kv_held *h)
{
    *h = (struct kv_held){._own = NONE, ._shared = NONE};
}

int64_t kv_blocks_find(const struct kv_blocks *k, uint64_t prefix, int64_t max, int64_t *ret_free)
{
    int64_t n = 0;

    *ret_free = 0;
    for (; n < max; n++) {
        int32_t id = cache_find(k, prefix, n);

        if (id == NONE)
            break;
        *ret_free += k->_all[id].n_holders == 0;
    }
    return n;
}

static void hold_shared(struct kv_blocks *k, struct kv_held *h, int32_t id)
{
    k->_all[id].parent = h->_shared;
    k->_all[id].n_holders++;
    h->_shared = id;
    h->n_shared++;
}

void kv_blocks_share(struct kv_blocks *k, struct kv_held *h, uint64_t prefix, int64_t n)
{
    ASSERT(h->n == 0);
    for (int64_t i = 0; i < n; i++) {
        int32_t id = cache_find(k, prefix, i);

        if (k->_all[id].n_holders == 0)
            free_remove(k, id);
        hold_shared(k, h, id);
    }
    h->n = n;
}

/*
 * Whether the next block of h can be found by others: nobody else has cached it, and what is before
 * it can be found, too, for all who hold a block hold the same ones before it.
 */
static bool can_share(const struct kv_blocks *k, const struct kv_held *h, uint64_t prefix)
{
    if (h->_shared != NONE && k->_all[h->_shared].generation != k->_generation)
        return false;
    return cache_find(k, prefix, h->n_shared) == NONE;
}

/* A block that was not whole when it was taken is the last of the request's: now it may be. */
static void share_last(struct kv_blocks *k, struct kv_held *h, uint64_t prefix)
{
    int32_t id = h->_own;

    if (!can_share(k, h, prefix))
        return;
    h->_own = NONE;
    cache_add(k, id, prefix, h->n_shared);
    hold_shared(k, h, id);
}

bool kv_blocks_grow(struct kv_blocks *k, struct kv_held *h, int64_t n, uint64_t prefix,
                    int64_t n_whole)
{
    if (n - h->n > k->n_free)
        return false;
    if (h->n_shared < n_whole && h->n == h->n_shared + 1)
        share_last(k, h, prefix);
    for (; h->n < n; h->n++) {
        int32_t id = take_oldest(k);

        if (h->n < n_whole && h->n == h->n_shared && can_share(k, h, prefix)) {
            cache_add(k, id, prefix, h->n);
            hold_shared(k, h, id);
        } else {
            k->_all[id].next = h->_own;
            h->_own = id;
        }
    }
    return true;
}

void kv_blocks_release(struct kv_blocks *k, struct kv_held *h)
{
    for (int32_t id = h->_own, next; id != NONE; id = next) {
        next = k->_all[id].next;
        give_back(k, id);
    }
    for (int32_t id = h->_shared, parent; id != NONE; id = parent) {
        parent = k->_all[id].parent;
        if (--k->_all[id].n_holders == 0)
            give_back(k, id);
    }
    kv_held_init(h);
}

/* --- start and end --- */

int kv_blocks_init(struct kv_blocks *k, int64_t n)
{
    uint32_t n_heads = 1;

    ASSERT(n >= 1 && n <= KV_BLOCKS_MAX);
    while (n_heads < n)
        n_heads *= 2;
    *k = (struct kv_blocks){.n = n, ._n_heads = n_heads, ._first = NONE, ._last = NONE};
    k->_lost = NONE;
    k->_all = mem_zalloc((size_t)n, sizeof(*k->_all));
    k->_heads = mem_alloc(n_heads * sizeof(*k->_heads));
    if (!k->_all || !k->_heads) {
        kv_blocks_done(k);
        return -ENOMEM;
    }
    for (uint32_t i = 0; i < n_heads; i++)
        k->_heads[i] = NONE;
    for (int32_t id = 0; id < n; id++)
        free_append(k, id);
    return 0;
}

void kv_blocks_done(struct kv_blocks *k)
{
    mem_free(k->_all);
    mem_free(k->_heads);
    k->_all = NULL;
    k->_heads = NULL;
}

/* --- accounts --- */

static int64_t chain_length(const struct kv_blocks *k, int32_t id)
{
    int64_t n = 0;

    for (; id != NONE && n <= k->n; id = k->_all[id].next)
        n++;
    return n;
}

static int64_t count_found(const struct kv_blocks *k)
{
    int64_t n = 0;

    for (uint32_t i = 0; i < k->_n_heads; i++)
        for (int32_t id = k->_heads[i]; id != NONE && n <= k->n; id = k->_all[id].same_hash)
            n++;
    return n;
}

const char *kv_blocks_check(const struct kv_blocks *k, int64_t n_own, int64_t n_shared)
{
    int64_t n_cached = 0, n_held = 0, n_holders = 0;

    for (int64_t i = 0; i < k->n; i++) {
        n_cached += k->_all[i].is_cached;
        n_held += k->_all[i].n_holders > 0;
        n_holders += k->_all[i].n_holders;
    }
    if (chain_length(k, k->_first) != k->n_free)
        return "free blocks: the list and its length differ";
    if (chain_length(k, k->_lost) != k->n_lost)
        return "lost blocks: the list and its length differ";
    if (k->n_free + k->n_lost + n_own + n_held != k->n)
        return "blocks: free, lost and held ones are not all there are";
    if (n_holders != n_shared)
        return "shared blocks: their holders and what requests hold differ";
    if (count_found(k) != n_cached)
        return "cached blocks: not all can be found";
    return NULL;
}
