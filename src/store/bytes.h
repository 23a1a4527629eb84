/* SPDX-License-Identifier: Apache-2.0 */
/*
 * store/bytes.h - numbers in bytes on disk: varints (base/varint.h), little-endian words, and a
 * checksum.
 *
 * Role:      what rows, columns and the spill file are written with. Reading never leaves the
 *            bytes: what is not there reads as 0 and sets is_short.
 * Threading: pure.
 */
#ifndef STORE_BYTES_H
#define STORE_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/span.h"
#include "base/varint.h"

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "words are stored as they are in memory");

/* Writes v at `at`, which has room for VARINT_MAX_BYTES; returns where it ends. */
static inline char *bytes_put_varint(char *at, uint64_t v)
{
    return (char *)varint_put((uint8_t *)at, v);
}

static inline char *bytes_put_u64(char *at, uint64_t v)
{
    memcpy(at, &v, sizeof(v));
    return at + sizeof(v);
}

static inline char *bytes_put_span(char *at, struct span s)
{
    if (s.n > 0)
        memcpy(at, s.p, s.n);
    return at + s.n;
}

/* A reader. */
struct bytes {
    const char *at, *end;
    bool is_short; /* something was not there */
};

static inline struct bytes bytes_of(struct span s)
{
    return (struct bytes){.at = s.p, .end = s.p + s.n};
}

static inline size_t bytes_left(const struct bytes *b)
{
    return (size_t)(b->end - b->at);
}

static inline uint64_t bytes_varint(struct bytes *b)
{
    uint64_t v;
    struct varint_in in = varint_in(span_of(b->at, bytes_left(b)));
    bool is_there = varint_get(&in, &v);
    b->at = (const char *)in.p;
    if (is_there)
        return v;
    b->is_short = true;
    return 0;
}

/* A varint that is at most max; beyond it the bytes count as broken. */
static inline uint64_t bytes_varint_to(struct bytes *b, uint64_t max)
{
    uint64_t v = bytes_varint(b);
    if (v <= max)
        return v;
    b->is_short = true;
    return 0;
}

static inline struct span bytes_take(struct bytes *b, uint64_t n)
{
    if (n > bytes_left(b)) {
        b->is_short = true;
        return (struct span){0};
    }
    struct span s = {b->at, (size_t)n};
    b->at += n;
    return s;
}

static inline uint64_t bytes_word(const char *p)
{
    uint64_t v;
    memcpy(&v, p, sizeof(v));
    return v;
}

static inline uint64_t bytes_u64(struct bytes *b)
{
    struct span s = bytes_take(b, sizeof(uint64_t));
    return s.n > 0 ? bytes_word(s.p) : 0;
}

static inline uint64_t bytes_mix(uint64_t a, uint64_t b)
{
    __extension__ unsigned __int128 m = (__extension__(unsigned __int128) a) * b;
    return (uint64_t)m ^ (uint64_t)(m >> 64);
}

/* A checksum and hash; the same on every machine, not for secrets. */
static inline uint64_t bytes_hash(struct span s)
{
    uint64_t h = UINT64_C(0x9e3779b97f4a7c15) ^ s.n;
    for (; s.n >= 8; s.p += 8, s.n -= 8)
        h = bytes_mix(h ^ bytes_word(s.p), UINT64_C(0xd6e8feb86659fd93));
    uint64_t last = 0;
    for (size_t i = 0; i < s.n; i++)
        last |= (uint64_t)(unsigned char)s.p[i] << (8 * i);
    return bytes_mix(h ^ last, UINT64_C(0xa0761d6478bd642f)) ^ h >> 32;
}

#endif
