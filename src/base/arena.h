/* SPDX-License-Identifier: Apache-2.0 */
/*
 * base/arena.h - memory that is given back all at once, and never more than was allowed.
 *
 * Role:      a query's values, a parsed expression, a series' samples: many small pieces that die
 *            together.
 * Units:     bytes.
 * Memory:    blocks that double from 4 KiB up to 1 MiB; a larger request has a block of its own.
 *            A budget may be shared by several arenas; it counts what was taken from the allocator.
 * Errors:    NULL: the budget is used up (its is_exceeded tells) or there is no memory.
 * Threading: one owner; arenas of one budget belong to the same thread.
 */
#ifndef BASE_ARENA_H
#define BASE_ARENA_H

#include <stdbool.h>
#include <stddef.h>

#include "base/attr.h"
#include "base/span.h"

struct arena_budget {
    size_t max_bytes; /* 0: no limit */
    size_t n_bytes;   /* in use now */
    size_t n_peak;
    bool is_exceeded; /* a request was refused because of max_bytes; stays so */
};

/* Takes n bytes of a budget, for memory that is not an arena's but of the same query; false:
 * refused. b NULL: always granted. */
bool arena_budget_take(struct arena_budget *b, size_t n) WARN_UNUSED;
void arena_budget_give(struct arena_budget *b, size_t n);

struct arena_block;

struct arena {
    struct arena_block *_last;
    char *_at, *_end;
    struct arena_budget *_budget;
};

/* budget may be NULL; else it outlives the arena. Takes no memory yet. */
void arena_init(struct arena *a, struct arena_budget *budget);
void arena_done(struct arena *a);  /* frees all; a is as after arena_init */
void arena_reset(struct arena *a); /* everything in it is void; one block is kept */

/* Aligned for any type, not zeroed. n == 0 gives a pointer that may not be read. */
void *arena_alloc(struct arena *a, size_t n) WARN_UNUSED;
/* count * size bytes, zeroed; NULL on overflow, too. */
void *arena_zalloc(struct arena *a, size_t count, size_t size) WARN_UNUSED;
/* The same without zeroing. */
void *arena_array(struct arena *a, size_t count, size_t size) WARN_UNUSED;
/*
 * Room behind the first n of an array at (NULL with a *cap of 0: none yet) for n_more: at itself,
 * or a copy of those n twice as large or larger; the old one stays until arena_reset. NULL on
 * overflow, too; *cap is as before then.
 */
void *arena_grow(struct arena *a, void *at, size_t n, size_t n_more, size_t *cap,
                 size_t size) WARN_UNUSED;
/* A copy of s, followed by a NUL that does not count; .p is NULL without memory. */
struct span arena_dup(struct arena *a, struct span s) WARN_UNUSED;

#endif
