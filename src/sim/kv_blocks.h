/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sim/kv_blocks.h - the blocks of a GPU's memory for KV: which are free, which prefix is in which.
 *
 * Role:      below sim/batching.h. Blocks have no content, only an owner.
 * Kinds:     a block is free, one request's own, shared (a whole block of a prefix; any number of
 *            requests hold it), or lost (a leak has it). A shared block that nobody holds is free
 *            and still found; it stops being cached when it is taken for something else.
 * Order:     the block that has been free longest is taken first. Of a request the last block is
 *            freed first, so that the end of a prefix goes before its beginning.
 * Sharing:   a prefix is known by a number; the cached blocks of one are always its first ones, for
 *            whoever holds a block holds all before it. A block that another request has cached in
 *            the meantime stays the request's own.
 * Memory:    48 bytes a block, all at the start.
 * Threading: one owner; pure.
 */
#ifndef SIM_KV_BLOCKS_H
#define SIM_KV_BLOCKS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/attr.h"

#define KV_BLOCKS_MAX (INT64_C(1) << 26)

struct kv_block;

struct kv_blocks {
    int64_t n, n_free, n_lost;
    struct kv_block *_all;
    int32_t *_heads; /* of the hash table's chains */
    uint32_t _n_heads;
    int32_t _first, _last; /* of the free ones */
    int32_t _lost;
    int64_t _n_to_lose;
    uint32_t _generation; /* of what is found */
};

/* What one request holds. */
struct kv_held {
    int64_t n, n_shared; /* blocks; the shared ones among them are the first */
    int32_t _own;        /* the newest; the chain goes back */
    int32_t _shared;     /* the deepest; the chain goes to the prefix's beginning */
};

/* n: 1 .. KV_BLOCKS_MAX. -ENOMEM. */
int kv_blocks_init(struct kv_blocks *k, int64_t n) WARN_UNUSED;
void kv_blocks_done(struct kv_blocks *k);

void kv_held_init(struct kv_held *h);

/* How many of a prefix's first blocks are cached, at most max; of these *ret_free are free now. */
int64_t kv_blocks_find(const struct kv_blocks *k, uint64_t prefix, int64_t max, int64_t *ret_free);
/* Holds the first n of them, which kv_blocks_find has just found; h holds nothing yet. */
void kv_blocks_share(struct kv_blocks *k, struct kv_held *h, uint64_t prefix, int64_t n);
/*
 * Makes h hold n blocks in all; of its first blocks n_whole are whole blocks of the prefix that can
 * be found by others from now on (0: none). False: there are not enough, and nothing has changed.
 */
bool kv_blocks_grow(struct kv_blocks *k, struct kv_held *h, int64_t n, uint64_t prefix,
                    int64_t n_whole);
void kv_blocks_release(struct kv_blocks *k, struct kv_held *h);

/* So many blocks are gone: as many as are free at once, the others when they are freed. */
void kv_blocks_lose(struct kv_blocks *k, int64_t n);
/* What is cached is not found any more. */
void kv_blocks_forget(struct kv_blocks *k);

/*
 * n_own, n_shared: what all requests hold, a block as often as it is held. NULL: all blocks are
 * accounted for; else what is wrong. Takes time.
 */
const char *kv_blocks_check(const struct kv_blocks *k, int64_t n_own, int64_t n_shared);

#endif
