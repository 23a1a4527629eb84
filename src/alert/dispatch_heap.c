/* SPDX-License-Identifier: Apache-2.0 */
/*
 * alert/dispatch_heap.c - groups by when they are due.
 */
#include <errno.h>

#include "alert/dispatch_impl.h"
#include "base/mem.h"

static bool is_before(const struct dispatch_set *x, const struct dispatch_set *y)
{
    return x->due_ms != y->due_ms ? x->due_ms < y->due_ms : x->order < y->order;
}

static void heap_set(struct dispatch_board *b, size_t at, struct dispatch_set *set)
{
    b->heap[at] = set;
    set->heap_at = at;
}

void dispatch_heap_restore(struct dispatch_board *b, struct dispatch_set *set)
{
    size_t at = set->heap_at;
    for (; at > 0 && is_before(set, b->heap[(at - 1) / 2]); at = (at - 1) / 2)
        heap_set(b, at, b->heap[(at - 1) / 2]);
    for (;;) {
        size_t child = 2 * at + 1;
        if (child + 1 < b->n_heap && is_before(b->heap[child + 1], b->heap[child]))
            child++;
        if (child >= b->n_heap || !is_before(b->heap[child], set))
            break;
        heap_set(b, at, b->heap[child]);
        at = child;
    }
    heap_set(b, at, set);
}

void dispatch_heap_remove(struct dispatch_board *b, struct dispatch_set *set)
{
    struct dispatch_set *last = b->heap[--b->n_heap];
    if (last == set)
        return;
    heap_set(b, set->heap_at, last);
    dispatch_heap_restore(b, last);
}

int dispatch_heap_reserve(struct dispatch_board *b)
{
    if (b->n_heap < b->heap_cap)
        return 0;
    size_t cap = b->heap_cap ? 2 * b->heap_cap : 16;
    struct dispatch_set **heap = mem_realloc(b->heap, cap * sizeof(struct dispatch_set *));
    if (!heap)
        return -ENOMEM;
    b->heap = heap;
    b->heap_cap = cap;
    return 0;
}

void dispatch_heap_add(struct dispatch_board *b, struct dispatch_set *set)
{
    heap_set(b, b->n_heap++, set);
}
