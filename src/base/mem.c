/* SPDX-License-Identifier: Apache-2.0 */
/*
 * base/mem.c - counted allocation.
 *
 * The counters are striped: each thread adds to the stripe it was given at its first allocation,
 * so that workers do not pass one cache line around. With more threads than stripes some share
 * one, which is slower and still right, because every counter is an atomic.
 */
#include "base/mem.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/check.h"

enum { N_STRIPES = 16, CACHE_LINE_BYTES = 64 };

struct stripe {
    _Alignas(CACHE_LINE_BYTES) _Atomic int64_t n_live;
    struct {
        _Atomic uint64_t n_allocs;
        _Atomic uint64_t n_bytes;
    } module[MEM_MODULES_MAX];
};

static struct stripe stripes[N_STRIPES];
static _Atomic unsigned n_threads;
static _Thread_local struct stripe *own_stripe;

/* Fault hook: 0 = off, n = the n-th allocation from now on fails and stays failing (1). */
static _Thread_local uint64_t fail_countdown;

static struct stripe *stripe_get(void)
{
    if (UNLIKELY(own_stripe == NULL)) {
        unsigned i = atomic_fetch_add_explicit(&n_threads, 1, memory_order_relaxed);
        own_stripe = &stripes[i % N_STRIPES];
    }
    return own_stripe;
}

static bool is_failing_now(void)
{
    if (LIKELY(fail_countdown == 0))
        return false;
    if (fail_countdown == 1)
        return true;
    fail_countdown--;
    return false;
}

static void add_count(int module, size_t n_bytes, int n_new_blocks)
{
    struct stripe *s = stripe_get();
    int i = module >= 0 && module < MEM_MODULES_MAX ? module : 0;
    atomic_fetch_add_explicit(&s->module[i].n_allocs, 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&s->module[i].n_bytes, n_bytes, memory_order_relaxed);
    atomic_fetch_add_explicit(&s->n_live, n_new_blocks, memory_order_relaxed);
}

void *mem_alloc_at(int module, size_t n)
{
    if (is_failing_now())
        return NULL;
    void *p = malloc(n > 0 ? n : 1); /* malloc(0) may be NULL, which would read as a failure */
    if (p)
        add_count(module, n, 1);
    return p;
}

void *mem_zalloc_at(int module, size_t count, size_t size)
{
    size_t n;
    if (__builtin_mul_overflow(count, size, &n) || is_failing_now())
        return NULL;
    void *p = calloc(1, n > 0 ? n : 1);
    if (p)
        add_count(module, n, 1);
    return p;
}

void *mem_realloc_at(int module, void *p, size_t n)
{
    if (is_failing_now())
        return NULL;
    void *q = realloc(p, n > 0 ? n : 1); /* realloc(p, 0) would free p */
    if (q)
        add_count(module, n, p ? 0 : 1);
    return q;
}

char *mem_strndup_at(int module, const char *s, size_t n)
{
    size_t len = s ? strnlen(s, n) : 0;
    char *copy = mem_alloc_at(module, len + 1);
    if (!copy)
        return NULL;
    if (len > 0)
        memcpy(copy, s, len);
    copy[len] = '\0';
    return copy;
}

void mem_free(void *p)
{
    if (!p)
        return;
    atomic_fetch_sub_explicit(&stripe_get()->n_live, 1, memory_order_relaxed);
    free(p);
}

void *mem_must(void *p)
{
    if (p)
        return p;
    /* Not printf: it may allocate. */
    static const char text[] = "inferometer: out of memory\n";
    ssize_t n = write(STDERR_FILENO, text, sizeof(text) - 1);
    (void)n;
    exit(1);
}

struct mem_count mem_count_get(int module)
{
    struct mem_count sum = {0};
    if (module < 0 || module >= MEM_MODULES_MAX)
        return sum;
    for (int i = 0; i < N_STRIPES; i++) {
        sum.n_allocs +=
            atomic_load_explicit(&stripes[i].module[module].n_allocs, memory_order_relaxed);
        sum.n_bytes +=
            atomic_load_explicit(&stripes[i].module[module].n_bytes, memory_order_relaxed);
    }
    return sum;
}

struct mem_count mem_count_total(void)
{
    struct mem_count sum = {0};
    for (int module = 0; module < MEM_MODULES_MAX; module++) {
        struct mem_count one = mem_count_get(module);
        sum.n_allocs += one.n_allocs;
        sum.n_bytes += one.n_bytes;
    }
    return sum;
}

int64_t mem_live_blocks(void)
{
    int64_t n = 0;
    for (int i = 0; i < N_STRIPES; i++)
        n += atomic_load_explicit(&stripes[i].n_live, memory_order_relaxed);
    return n;
}

void mem_fail_from(uint64_t n)
{
    ASSERT(n > 0);
    fail_countdown = n;
}

void mem_fail_off(void)
{
    fail_countdown = 0;
}
