/* SPDX-License-Identifier: Apache-2.0 */
/*
 * base/arena.c - blocks in a list, the newest first; pieces are cut off the front of the newest.
 *
 * Under AddressSanitizer whatever was not handed out is poisoned and a gap follows each piece, so
 * that running over a piece's end and using it after arena_reset are found there as anywhere else.
 */
#include "base/arena.h"

#include <stdint.h>

#include "base/check.h"
#include "base/limits.h"
#include "base/mem.h"

#ifdef __has_feature
#if __has_feature(address_sanitizer)
#define ARENA_HAS_ASAN 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(ARENA_HAS_ASAN)
#include <sanitizer/asan_interface.h>
enum { GAP_BYTES = 16 };
#else
#define ASAN_POISON_MEMORY_REGION(p, n)   ((void)(p), (void)(n))
#define ASAN_UNPOISON_MEMORY_REGION(p, n) ((void)(p), (void)(n))
enum { GAP_BYTES = 0 };
#endif

enum { ALIGN_BYTES = _Alignof(max_align_t) };

#define BLOCK_MIN_BYTES (KIB / 2) /* many hold one rule, one expression, one template */
#define BLOCK_MAX_BYTES (1 * MIB)

struct arena_block {
    struct arena_block *older;
    size_t n_bytes; /* with this head */
    _Alignas(ALIGN_BYTES) char data[];
};

bool arena_budget_take(struct arena_budget *b, size_t n)
{
    if (!b)
        return true;
    if (b->max_bytes > 0 && (b->n_bytes > b->max_bytes || n > b->max_bytes - b->n_bytes)) {
        b->is_exceeded = true;
        return false;
    }
    b->n_bytes += n;
    if (b->n_bytes > b->n_peak)
        b->n_peak = b->n_bytes;
    return true;
}

void arena_budget_give(struct arena_budget *b, size_t n)
{
    if (!b)
        return;
    ASSERT(b->n_bytes >= n);
    b->n_bytes -= n;
}

void arena_init(struct arena *a, struct arena_budget *budget)
{
    *a = (struct arena){._budget = budget};
}

static void block_free(struct arena *a, struct arena_block *block)
{
    arena_budget_give(a->_budget, block->n_bytes);
    ASAN_UNPOISON_MEMORY_REGION(block->data, block->n_bytes - sizeof(*block));
    mem_free(block);
}

static void free_chain(struct arena *a, struct arena_block *block)
{
    while (block) {
        struct arena_block *older = block->older;
        block_free(a, block);
        block = older;
    }
}

void arena_done(struct arena *a)
{
    free_chain(a, a->_last);
    arena_init(a, a->_budget);
}

void arena_reset(struct arena *a)
{
    struct arena_block *kept = a->_last;

    if (!kept)
        return;
    free_chain(a, kept->older);
    kept->older = NULL;
    a->_at = kept->data;
    a->_end = (char *)kept + kept->n_bytes;
    ASAN_POISON_MEMORY_REGION(a->_at, (size_t)(a->_end - a->_at));
}

static struct arena_block *block_new(struct arena *a, size_t n_bytes)
{
    struct arena_block *block;

    if (!arena_budget_take(a->_budget, n_bytes))
        return NULL;
    block = mem_alloc(n_bytes);
    if (!block) {
        arena_budget_give(a->_budget, n_bytes);
        return NULL;
    }
    *block = (struct arena_block){.n_bytes = n_bytes};
    ASAN_POISON_MEMORY_REGION(block->data, n_bytes - sizeof(*block));
    return block;
}

/* Twice the block before; as little as is needed when the budget has no room for that. */
static size_t next_block_bytes(const struct arena *a, size_t n_needed)
{
    const struct arena_budget *b = a->_budget;
    size_t n = a->_last ? 2 * a->_last->n_bytes : BLOCK_MIN_BYTES;

    n = n > BLOCK_MAX_BYTES ? BLOCK_MAX_BYTES : n;
    n = n < n_needed ? n_needed : n;
    if (b && b->max_bytes > 0 && (b->n_bytes >= b->max_bytes || n > b->max_bytes - b->n_bytes))
        return n_needed;
    return n;
}

/* A block of its own, behind the newest one, which goes on being used. */
static void *alloc_large(struct arena *a, size_t n_needed)
{
    struct arena_block *block = block_new(a, n_needed);

    if (!block)
        return NULL;
    block->older = a->_last->older;
    a->_last->older = block;
    return block->data;
}

static void *alloc_slowly(struct arena *a, size_t n)
{
    struct arena_block *block;
    size_t n_needed;

    if (__builtin_add_overflow(n, sizeof(*block), &n_needed) || n_needed > PTRDIFF_MAX)
        return NULL;
    if (n_needed > BLOCK_MAX_BYTES / 2 && a->_last)
        return alloc_large(a, n_needed);
    block = block_new(a, next_block_bytes(a, n_needed));
    if (!block)
        return NULL;
    block->older = a->_last;
    a->_last = block;
    a->_at = block->data + n;
    a->_end = (char *)block + block->n_bytes;
    return block->data;
}

void *arena_alloc(struct arena *a, size_t n)
{
    void *p;
    size_t n_taken;

    if (__builtin_add_overflow(n, ALIGN_BYTES - 1 + GAP_BYTES, &n_taken))
        return NULL;
    n_taken &= ~((size_t)ALIGN_BYTES - 1);
    if (LIKELY(n_taken <= (size_t)(a->_end - a->_at) && a->_at)) {
        p = a->_at;
        a->_at += n_taken;
    } else {
        p = alloc_slowly(a, n_taken);
    }
    if (p)
        ASAN_UNPOISON_MEMORY_REGION(p, n);
    return p;
}

void *arena_array(struct arena *a, size_t count, size_t size)
{
    size_t n;
    return __builtin_mul_overflow(count, size, &n) ? NULL : arena_alloc(a, n);
}

void *arena_zalloc(struct arena *a, size_t count, size_t size)
{
    void *p = arena_array(a, count, size);
    if (p && count * size > 0)
        memset(p, 0, count * size);
    return p;
}

void *arena_grow(struct arena *a, void *at, size_t n, size_t n_more, size_t *cap, size_t size)
{
    enum { CAP_MIN = 8 };
    size_t n_needed;

    if (at && n_more <= *cap - n)
        return at;
    if (__builtin_add_overflow(n, n_more, &n_needed))
        return NULL;
    size_t wider = *cap > SIZE_MAX / 2 ? SIZE_MAX : 2 * *cap;
    wider = wider < CAP_MIN ? CAP_MIN : wider;
    wider = wider < n_needed ? n_needed : wider;
    void *copy = arena_array(a, wider, size);
    if (!copy)
        return NULL;
    if (at)
        memcpy(copy, at, n * size);
    *cap = wider;
    return copy;
}

struct span arena_dup(struct arena *a, struct span s)
{
    char *p = s.n < SIZE_MAX ? arena_alloc(a, s.n + 1) : NULL;

    if (!p)
        return (struct span){NULL, 0};
    if (s.n > 0)
        memcpy(p, s.p, s.n);
    p[s.n] = '\0';
    return span_of(p, s.n);
}
