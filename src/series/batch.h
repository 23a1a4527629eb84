/* SPDX-License-Identifier: Apache-2.0 */
/*
 * series/batch.h - samples on their way to the store, from one thread to another.
 *
 * Role:      what rules recorded in one evaluation, what a scrape brought: each sample with its
 *            labels, owned by the batch.
 * Errors:    -ENOMEM; -E2BIG: more than BATCH_BYTES_MAX.
 * Threading: one owner at a time.
 */
#ifndef SERIES_BATCH_H
#define SERIES_BATCH_H

#include "series/fhist.h"
#include "series/labels.h"

enum { BATCH_BYTES_MAX = 64 * 1024 * 1024 };

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
    struct arena_budget _budget;
    struct arena _arena;
};

int batch_new(struct batch **ret) WARN_UNUSED;
struct batch *batch_free(struct batch *b); /* NULL is allowed; returns NULL */
/* Labels and histogram are copied. */
int batch_add(struct batch *b, struct labels labels, int64_t t_ms, double v,
              const struct fhist *h) WARN_UNUSED;
size_t batch_bytes(const struct batch *b); /* of memory, about */

#endif
