/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tsdb/varint.h - numbers in 1 to 10 bytes, small ones in few; bytes that grow.
 *
 * Threading: one owner.
 */
#ifndef TSDB_VARINT_H
#define TSDB_VARINT_H

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/mem.h"
#include "base/span.h"

enum { VARINT_MAX_BYTES = 10 };

/* Seven bits a byte, the lowest first. Returns where it ends; VARINT_MAX_BYTES must be there. */
static inline uint8_t *varint_put(uint8_t *at, uint64_t u)
{
    while (u >= 0x80) {
        *at++ = (uint8_t)(u | 0x80);
        u >>= 7;
    }
    *at++ = (uint8_t)u;
    return at;
}

static inline uint64_t varint_zigzag(int64_t n)
{
    return ((uint64_t)n << 1) ^ (n < 0 ? UINT64_MAX : 0);
}

static inline int64_t varint_unzigzag(uint64_t u)
{
    return (int64_t)(u >> 1) ^ -(int64_t)(u & 1);
}

static inline uint8_t *varint_put_signed(uint8_t *at, int64_t n)
{
    return varint_put(at, varint_zigzag(n));
}

/* What is left to read. */
struct varint_in {
    const uint8_t *p, *end;
};

static inline struct varint_in varint_in(struct span s)
{
    const uint8_t *p = (const uint8_t *)s.p;
    return (struct varint_in){p, p + s.n};
}

/* False: the bytes end before the number does, or it has more than 64 bits. */
static inline bool varint_get(struct varint_in *in, uint64_t *ret)
{
    uint64_t u = 0;
    if (LIKELY(in->p < in->end && *in->p < 0x80)) {
        *ret = *in->p++;
        return true;
    }
    for (unsigned shift = 0; shift < 64 && in->p < in->end; shift += 7) {
        uint8_t b = *in->p++;
        if (shift == 63 && b > 1)
            return false;
        u |= (uint64_t)(b & 0x7f) << shift;
        if (b < 0x80) {
            *ret = u;
            return true;
        }
    }
    return false;
}

static inline bool varint_get_signed(struct varint_in *in, int64_t *ret)
{
    uint64_t u;
    if (!varint_get(in, &u))
        return false;
    *ret = varint_unzigzag(u);
    return true;
}

/* Bytes that are appended to: small, since there are two of them in each series' head. */
struct bytes {
    uint8_t *p;
    uint32_t n, cap;
};

/* Room for n more bytes; NULL: there is no memory, or they would be more than 1 GiB. */
static inline uint8_t *bytes_room(struct bytes *b, size_t n)
{
    enum { FIRST_BYTES = 48, MAX_BYTES = 1 << 30 };
    if (LIKELY(n <= b->cap - b->n))
        return b->p + b->n;
    size_t cap = b->cap + b->cap / 2;
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
