/* SPDX-License-Identifier: Apache-2.0 */
/*
 * scrape/md5.c - RFC 1321, of a text that is there whole.
 */
#include "scrape/md5.h"

#include <endian.h>

enum { BLOCK_BYTES = 64, LENGTH_BYTES = 8, STEPS = 64 };

/* floor(2^32 * |sin(i + 1)|) */
static const uint32_t sines[STEPS] = {
    0xd76aa478, 0xe8c7b756, 0x242070db, 0xc1bdceee, 0xf57c0faf, 0x4787c62a, 0xa8304613, 0xfd469501,
    0x698098d8, 0x8b44f7af, 0xffff5bb1, 0x895cd7be, 0x6b901122, 0xfd987193, 0xa679438e, 0x49b40821,
    0xf61e2562, 0xc040b340, 0x265e5a51, 0xe9b6c7aa, 0xd62f105d, 0x02441453, 0xd8a1e681, 0xe7d3fbc8,
    0x21e1cde6, 0xc33707d6, 0xf4d50d87, 0x455a14ed, 0xa9e3e905, 0xfcefa3f8, 0x676f02d9, 0x8d2a4c8a,
    0xfffa3942, 0x8771f681, 0x6d9d6122, 0xfde5380c, 0xa4beea44, 0x4bdecfa9, 0xf6bb4b60, 0xbebfbc70,
    0x289b7ec6, 0xeaa127fa, 0xd4ef3085, 0x04881d05, 0xd9d4d039, 0xe6db99e5, 0x1fa27cf8, 0xc4ac5665,
    0xf4292244, 0x432aff97, 0xab9423a7, 0xfc93a039, 0x655b59c3, 0x8f0ccc92, 0xffeff47d, 0x85845dd1,
    0x6fa87e4f, 0xfe2ce6e0, 0xa3014314, 0x4e0811a1, 0xf7537e82, 0xbd3af235, 0x2ad7d2bb, 0xeb86d391,
};

/* By round and step modulo 4. */
static const uint8_t turns[4][4] = {
    {7, 12, 17, 22}, {5, 9, 14, 20}, {4, 11, 16, 23}, {6, 10, 15, 21}};

static uint32_t rotate(uint32_t x, int n)
{
    return x << n | x >> (32 - n);
}

static uint32_t mix(int round, uint32_t b, uint32_t c, uint32_t d)
{
    if (round == 0)
        return (b & c) | (~b & d);
    if (round == 1)
        return (b & d) | (c & ~d);
    return round == 2 ? b ^ c ^ d : c ^ (b | ~d);
}

static void take_block(uint32_t state[4], const char *p)
{
    static const int strides[4] = {1, 5, 3, 7}, firsts[4] = {0, 1, 5, 0};
    uint32_t words[BLOCK_BYTES / 4];
    uint32_t a = state[0], b = state[1], c = state[2], d = state[3];

    memcpy(words, p, sizeof(words));
    for (int i = 0; i < STEPS; i++) {
        int round = i / 16;
        uint32_t word = le32toh(words[(firsts[round] + i * strides[round]) % 16]);
        uint32_t sum = a + mix(round, b, c, d) + word + sines[i];
        a = d;
        d = c;
        c = b;
        b += rotate(sum, turns[round][i % 4]);
    }
    state[0] += a;
    state[1] += b;
    state[2] += c;
    state[3] += d;
}

void md5(struct span text, uint8_t ret[MD5_BYTES])
{
    uint32_t state[4] = {0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476};
    char tail[2 * BLOCK_BYTES] = {0};
    uint64_t bits = htole64((uint64_t)text.n * 8);

    while (text.n >= BLOCK_BYTES)
        take_block(state, span_take(&text, BLOCK_BYTES).p);
    if (text.n > 0)
        memcpy(tail, text.p, text.n);
    tail[text.n] = (char)0x80;
    size_t n = text.n + 1 + LENGTH_BYTES <= BLOCK_BYTES ? BLOCK_BYTES : 2 * BLOCK_BYTES;
    memcpy(tail + n - LENGTH_BYTES, &bits, LENGTH_BYTES);
    take_block(state, tail);
    if (n > BLOCK_BYTES)
        take_block(state, tail + BLOCK_BYTES);
    for (int i = 0; i < 4; i++) {
        uint32_t word = htole32(state[i]);
        memcpy(ret + 4 * i, &word, sizeof(word));
    }
}
