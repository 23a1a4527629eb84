/* SPDX-License-Identifier: Apache-2.0 */
/*
 * store/column_private.h - what writing and reading of columns share: numbers in few bits.
 *
 * Threading: pure.
 */
#ifndef STORE_COLUMN_PRIVATE_H
#define STORE_COLUMN_PRIVATE_H

#include "store/bytes.h"
#include "store/column.h"

enum {
    COLUMN_SLACK = 16,    /* readable behind packed numbers, and writable */
    COLUMN_HEX_MAX = 512, /* digits of a text that is stored by their halves */
};

static inline size_t column_packed_bytes(size_t n, unsigned width)
{
    return (n * width + 7) / 8;
}

/* Bits that v needs. */
static inline unsigned column_bits(uint64_t v)
{
    return v == 0 ? 0 : 64 - (unsigned)__builtin_clzll(v);
}

static inline uint64_t column_unpack(const char *p, size_t i, unsigned width)
{
    size_t bit = i * width;
    unsigned shift = bit % 8;
    if (width == 0)
        return 0;
    uint64_t v = bytes_word(p + bit / 8) >> shift;
    if (shift + width > 64)
        v |= (uint64_t)(unsigned char)p[bit / 8 + 8] << (64 - shift);
    return width == 64 ? v : v & ((UINT64_C(1) << width) - 1);
}

/* Into zeroed room, in ascending i. */
static inline void column_pack(char *p, size_t i, unsigned width, uint64_t v)
{
    size_t bit = i * width;
    unsigned shift = bit % 8;
    if (width == 0)
        return;
    uint64_t word = bytes_word(p + bit / 8) | v << shift;
    memcpy(p + bit / 8, &word, sizeof(word));
    if (shift + width > 64)
        p[bit / 8 + 8] = (char)(v >> (64 - shift));
}

#endif
