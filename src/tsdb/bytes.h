/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tsdb/bytes.h - bytes that grow.
 *
 * Threading: one owner.
 */
#ifndef TSDB_BYTES_H
#define TSDB_BYTES_H

#include <errno.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/mem.h"
#include "base/span.h"
#include "base/varint.h"

/* Bytes that are appended to: small, since there are two of them in each series' head. */
struct bytes {
    uint8_t *p;
    uint32_t n, cap;
};

/* Room for n more bytes; NULL: there is no memory, or they would be more than 1 GiB. */
static inline uint8_t *bytes_room(struct bytes *b, size_t n)
{
    enum { FIRST_BYTES = 24, MAX_BYTES = 1 << 30 };
    if (LIKELY(n <= b->cap - b->n))
        return b->p + b->n;
    size_t cap = b->cap + b->cap / 4;
    if (cap < b->n + n)
        cap = b->n + n;
    if (cap < FIRST_BYTES)
        cap = FIRST_BYTES;
    if (cap > MAX_BYTES)
        return NULL;
    uint8_t *p = (uint8_t *)mem_realloc(b->p, cap);
    if (!p)
        return NULL;
    b->p = p;
    b->cap = (uint32_t)cap;
    return p + b->n;
}

static inline int bytes_add(struct bytes *b, const void *p, size_t n)
{
    uint8_t *at = bytes_room(b, n);
    if (!at)
        return -ENOMEM;
    if (n > 0)
        memcpy(at, p, n);
    b->n += (uint32_t)n;
    return 0;
}

/* Behind a bytes_room: what was written ends there. */
static inline void bytes_end(struct bytes *b, const uint8_t *end)
{
    b->n = (uint32_t)(end - b->p);
}

static inline struct span bytes_span(const struct bytes *b)
{
    return span_of(b->p, b->n);
}

static inline void bytes_done(struct bytes *b)
{
    mem_free(b->p);
    *b = (struct bytes){0};
}

#endif
