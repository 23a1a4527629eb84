/* SPDX-License-Identifier: Apache-2.0 */
/*
 * series/batch.h - samples on their way to the store, from one thread to another.
 *
 * Role:      what rules recorded in one evaluation, what a scrape brought: each sample with its
 *            labels, owned by the batch or by a keeper.
 * Keeper:    of label sets that come again and again: batches borrow them instead of having copies.
 *            What its owner lets go of lives until no batch is left that may have it.
 * Errors:    -ENOMEM; -E2BIG: more than BATCH_BYTES_MAX.
 * Threading: one owner at a time; a keeper's owner and those of batches may be different threads.
 */
#ifndef SERIES_BATCH_H
#define SERIES_BATCH_H

#include "series/fhist.h"
#include "series/labels.h"

enum { BATCH_BYTES_MAX = 64 * 1024 * 1024 };

/* In front of what a keeper is given, which is memory of mem_alloc. */
struct keeper_piece {
    struct keeper_piece *next;
};
struct keeper;
int keeper_new(struct keeper **ret) WARN_UNUSED;
/* Its owner goes; batches may stay. NULL is allowed; returns NULL. */
struct keeper *keeper_free(struct keeper *k);
/* The piece is not the owner's any more: freed with the last batch that borrows of k now, or behind
 * it. */
void keeper_let_go(struct keeper *k, struct keeper_piece *piece);
/* Frees what was let go of, if no batch borrows. NULL is allowed. */
void keeper_tidy(struct keeper *k);

struct batch_sample {
    struct labels labels;
    int64_t t_ms;
    double v;
    const struct fhist *h; /* NULL: v is the sample */
};

struct batch {
    struct batch_sample *at;
    size_t n;
    struct batch *next; /* of whoever holds it */
    uint64_t number;    /* the same */
    size_t _cap;
    struct batch_lender *_lenders;
    struct arena_budget _budget;
    struct arena _arena;
};

int batch_new(struct batch **ret) WARN_UNUSED;
struct batch *batch_free(struct batch *b); /* NULL is allowed; returns NULL */
/* Labels and histogram are copied. */
int batch_add(struct batch *b, struct labels labels, int64_t t_ms, double v,
              const struct fhist *h) WARN_UNUSED;
/* Labels of n_bytes that are in k's care. They count as the batch's own: it may be the last to have
 * them. */
int batch_add_kept(struct batch *b, struct keeper *k, struct labels labels, size_t n_bytes,
                   int64_t t_ms, double v) WARN_UNUSED;
size_t batch_bytes(const struct batch *b); /* of memory, about */

#endif
