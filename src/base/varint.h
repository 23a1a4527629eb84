/* SPDX-License-Identifier: Apache-2.0 */
/*
 * base/varint.h - numbers in 1 to 10 bytes, small ones in few.
 *
 * Threading: pure.
 */
#ifndef BASE_VARINT_H
#define BASE_VARINT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/attr.h"
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

#endif
