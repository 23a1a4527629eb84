/* SPDX-License-Identifier: Apache-2.0 */
/*
 * base/mem.h - the only door to the allocator: counted per module, with a fault hook for tests.
 *
 * Units:     bytes.
 * Errors:    NULL (mem_alloc family). Callers on the byte path treat it as an event: the one
 *            exchange fails or is not observed any more; start-up code may use mem_must.
 * Threading: any thread. Counters are relaxed atomics, per module (MODULE_ID from the build).
 */
#ifndef BASE_MEM_H
#define BASE_MEM_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/attr.h"

enum { MEM_MODULES_MAX = 48 };

/* What one module has asked for since start. */
struct mem_count {
    uint64_t n_allocs; /* successful allocations, reallocations included */
    uint64_t n_bytes;  /* bytes asked for by them */
};

void *mem_alloc_at(int module, size_t n) WARN_UNUSED;
void *mem_zalloc_at(int module, size_t count,
                    size_t size) WARN_UNUSED;                    /* zeroed, overflow checked */
void *mem_realloc_at(int module, void *p, size_t n) WARN_UNUSED; /* NULL: p is untouched */
char *mem_strndup_at(int module, const char *s, size_t n) WARN_UNUSED;

#define mem_alloc(n)          mem_alloc_at(MODULE_ID, n)
#define mem_zalloc(count, sz) mem_zalloc_at(MODULE_ID, count, sz)
#define mem_realloc(p, n)     mem_realloc_at(MODULE_ID, p, n)
#define mem_strndup(s, n)     mem_strndup_at(MODULE_ID, s, n)
#define mem_strdup(s)         mem_strndup_at(MODULE_ID, s, strlen(s))

/* Frees p; NULL is allowed. */
void mem_free(void *p);

/* Returns p, or prints "out of memory" and exits 1 when p is NULL. Start-up only. */
void *mem_must(void *p);

/* The counters of one module (0 .. MEM_MODULES_MAX - 1), and the sum over all. */
struct mem_count mem_count_get(int module);
struct mem_count mem_count_total(void);

/* Blocks handed out and not freed yet, over the whole process (leak checks in tests). */
int64_t mem_live_blocks(void);

/*
 * Tests: the n-th allocation from now on (1 = the next one) and every later one returns NULL until
 * mem_fail_off. Only allocations of the calling thread fail.
 */
void mem_fail_from(uint64_t n);
void mem_fail_off(void);

#endif
