/* SPDX-License-Identifier: Apache-2.0 */
#include "series/batch.h"

#include <errno.h>

#include "base/mem.h"

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
    arena_done(&b->_arena);
    mem_free(b);
    return NULL;
}

static int no_memory(const struct batch *b)
{
    return b->_budget.is_exceeded ? -E2BIG : -ENOMEM;
}

int batch_add(struct batch *b, struct labels labels, int64_t t_ms, double v, const struct fhist *h)
{
    struct batch_sample sample = {.t_ms = t_ms, .v = v};
    struct fhist *copy = NULL;
    struct batch_sample *at = arena_grow(&b->_arena, b->at, b->n, 1, &b->_cap, sizeof(*at));
    if (!at)
        return no_memory(b);
    b->at = at;
    int r = labels_copy(&b->_arena, labels, &sample.labels);
    if (r == 0 && h)
        r = fhist_copy(&b->_arena, h, &copy);
    if (r < 0)
        return r == -ENOMEM ? no_memory(b) : r;
    sample.h = copy;
    b->at[b->n++] = sample;
    return 0;
}

size_t batch_bytes(const struct batch *b)
{
    return sizeof(*b) + b->_budget.n_bytes;
}
