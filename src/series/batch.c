/* SPDX-License-Identifier: Apache-2.0 */
#include "series/batch.h"

#include <errno.h>
#include <stdatomic.h>

#include "base/mem.h"

/* --- keepers --- */

/* Only the owner makes n_refs grow: when it is 1, nobody else can have any of it. */
struct keeper {
    atomic_size_t n_refs; /* the owner, and each batch that borrows */
    struct keeper_piece *let_go;
};

int keeper_new(struct keeper **ret)
{
    struct keeper *k = mem_zalloc(1, sizeof(*k));
    if (!k)
        return -ENOMEM;
    atomic_init(&k->n_refs, 1);
    *ret = k;
    return 0;
}

static void free_pieces(struct keeper *k)
{
    while (k->let_go) {
        struct keeper_piece *piece = k->let_go;
        k->let_go = piece->next;
        mem_free(piece);
    }
}

struct keeper *keeper_free(struct keeper *k)
{
    if (k && atomic_fetch_sub_explicit(&k->n_refs, 1, memory_order_acq_rel) == 1) {
        free_pieces(k);
        mem_free(k);
    }
    return NULL;
}

void keeper_let_go(struct keeper *k, struct keeper_piece *piece)
{
    piece->next = k->let_go;
    k->let_go = piece;
}

void keeper_tidy(struct keeper *k)
{
    if (k && k->let_go && atomic_load_explicit(&k->n_refs, memory_order_acquire) == 1)
        free_pieces(k);
}

/* --- batches --- */

struct batch_lender {
    struct batch_lender *next;
    struct keeper *keeper;
};

int batch_new(struct batch **ret)
{
    struct batch *b = mem_zalloc(1, sizeof(*b));
    if (!b)
        return -ENOMEM;
    b->_budget.max_bytes = BATCH_BYTES_MAX;
    arena_init(&b->_arena, &b->_budget);
    *ret = b;
    return 0;
}

struct batch *batch_free(struct batch *b)
{
    if (!b)
        return NULL;
    for (struct batch_lender *l = b->_lenders; l; l = l->next)
        (void)keeper_free(l->keeper);
    arena_done(&b->_arena);
    mem_free(b);
    return NULL;
}

static int no_memory(const struct batch *b)
{
    return b->_budget.is_exceeded ? -E2BIG : -ENOMEM;
}

/* Room for one sample more. */
static int grow(struct batch *b)
{
    struct batch_sample *at = arena_grow(&b->_arena, b->at, b->n, 1, &b->_cap, sizeof(*at));
    if (!at)
        return no_memory(b);
    b->at = at;
    return 0;
}

int batch_add(struct batch *b, struct labels labels, int64_t t_ms, double v, const struct fhist *h)
{
    struct batch_sample sample = {.t_ms = t_ms, .v = v};
    struct fhist *copy = NULL;
    int r = grow(b);
    if (r < 0)
        return r;
    r = labels_copy(&b->_arena, labels, &sample.labels);
    if (r == 0 && h)
        r = fhist_copy(&b->_arena, h, &copy);
    if (r < 0)
        return r == -ENOMEM ? no_memory(b) : r;
    sample.h = copy;
    b->at[b->n++] = sample;
    return 0;
}

/* Mostly it is the one of the sample before. */
static int borrow(struct batch *b, struct keeper *k)
{
    if (b->_lenders && b->_lenders->keeper == k)
        return 0;
    struct batch_lender *l = arena_alloc(&b->_arena, sizeof(*l));
    if (!l)
        return no_memory(b);
    *l = (struct batch_lender){b->_lenders, k};
    b->_lenders = l;
    (void)atomic_fetch_add_explicit(&k->n_refs, 1, memory_order_relaxed);
    return 0;
}

int batch_add_kept(struct batch *b, struct keeper *k, struct labels labels, size_t n_bytes,
                   int64_t t_ms, double v)
{
    int r = borrow(b, k);
    if (r == 0)
        r = grow(b);
    if (r < 0)
        return r;
    if (!arena_budget_take(&b->_budget, n_bytes))
        return no_memory(b);
    b->at[b->n++] = (struct batch_sample){.labels = labels, .t_ms = t_ms, .v = v};
    return 0;
}

size_t batch_bytes(const struct batch *b)
{
    return sizeof(*b) + b->_budget.n_bytes;
}
