/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wire/scan.h - finds the next byte that matters, a register at a time. Private to wire/.
 *
 * Every parser here spends its time passing over bytes that mean nothing to it. One pass over one
 * set of bytes keeps that linear whatever a peer sends (two memchr calls would not be: a stream of
 * lone CRs makes the search for LF run to the end of the input for each line).
 * Nothing at or behind `end` is ever read.
 */
#ifndef WIRE_SCAN_H
#define WIRE_SCAN_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

enum scan_set {
    SCAN_LINE_END, /* CR or LF */
    SCAN_HEAD,     /* CR, LF or NUL */
    SCAN_STRING,   /* '"', '\\' or a control character */
    SCAN_NO_TEXT,  /* control characters other than tab, DEL */
};

static inline bool scan_is_hit(enum scan_set set, unsigned char c)
{
    switch (set) {
    case SCAN_LINE_END:
        return c == '\n' || c == '\r';
    case SCAN_HEAD:
        return c == '\n' || c == '\r' || c == '\0';
    case SCAN_NO_TEXT:
        return (c < 0x20 && c != '\t') || c == 0x7f;
    case SCAN_STRING:
        break;
    }
    return c < 0x20 || c == '"' || c == '\\';
}

#ifdef __SSE2__

enum { SCAN_BLOCK = 16 };

/* Bit i: byte i of the block is in the set. */
static inline unsigned scan_block(enum scan_set set, const char *p)
{
    __m128i x = _mm_loadu_si128((const __m128i *)(const void *)p);
    __m128i hits;
    if (set == SCAN_STRING) {
        /* x ^ 2 puts the quote next to the control characters, which stay among themselves */
        __m128i y = _mm_xor_si128(x, _mm_set1_epi8(2));
        hits = _mm_or_si128(_mm_cmpeq_epi8(_mm_min_epu8(y, _mm_set1_epi8(0x20)), y),
                            _mm_cmpeq_epi8(x, _mm_set1_epi8('\\')));
    } else if (set == SCAN_NO_TEXT) {
        __m128i control = _mm_cmpeq_epi8(_mm_min_epu8(x, _mm_set1_epi8(0x1f)), x);
        hits = _mm_andnot_si128(_mm_cmpeq_epi8(x, _mm_set1_epi8('\t')), control);
        hits = _mm_or_si128(hits, _mm_cmpeq_epi8(x, _mm_set1_epi8(0x7f)));
    } else {
        hits = _mm_or_si128(_mm_cmpeq_epi8(x, _mm_set1_epi8('\n')),
                            _mm_cmpeq_epi8(x, _mm_set1_epi8('\r')));
        if (set == SCAN_HEAD)
            hits = _mm_or_si128(hits, _mm_cmpeq_epi8(x, _mm_setzero_si128()));
    }
    return (unsigned)_mm_movemask_epi8(hits);
}

static inline unsigned scan_first(unsigned hits)
{
    return (unsigned)__builtin_ctz(hits);
}

#else

enum { SCAN_BLOCK = 8 };

#define SCAN_ONES  UINT64_C(0x0101010101010101)
#define SCAN_HIGHS UINT64_C(0x8080808080808080)

/* Non-zero when some byte of x equals c / is below n (n <= 0x80). */
static inline uint64_t scan_has(uint64_t x, unsigned char c)
{
    uint64_t y = x ^ (SCAN_ONES * c);
    return (y - SCAN_ONES) & ~y & SCAN_HIGHS;
}

static inline uint64_t scan_has_below(uint64_t x, unsigned char n)
{
    return (x - SCAN_ONES * n) & ~x & SCAN_HIGHS;
}

/* Zero when the block holds no byte of the set; the caller looks at the bytes otherwise. */
static inline unsigned scan_block(enum scan_set set, const char *p)
{
    uint64_t x;
    memcpy(&x, p, sizeof(x));
    uint64_t hits;
    if (set == SCAN_STRING)
        hits = scan_has_below(x, 0x20) | scan_has(x, '"') | scan_has(x, '\\');
    else if (set == SCAN_NO_TEXT)
        hits = scan_has_below(x, 0x20) | scan_has(x, 0x7f);
    else
        hits = scan_has(x, '\n') | scan_has(x, '\r');
    if (set == SCAN_HEAD)
        hits |= scan_has(x, 0);
    return hits != 0;
}

#endif

#ifdef __SSE2__
/*
 * Passes over blocks of 64 bytes that hold nothing up to CR, for the sets that lie there: half the
 * work per byte of looking at each block for the very bytes. A tab in a block only ends the haste.
 */
static inline const char *scan_pass_plain(const char *p, const char *end)
{
    const __m128i limit = _mm_set1_epi8('\r');
    while (end - p >= 64) {
        const __m128i *q = (const __m128i *)(const void *)p;
        __m128i low = _mm_min_epu8(_mm_min_epu8(_mm_loadu_si128(q), _mm_loadu_si128(q + 1)),
                                   _mm_min_epu8(_mm_loadu_si128(q + 2), _mm_loadu_si128(q + 3)));
        if (_mm_movemask_epi8(_mm_cmpeq_epi8(_mm_min_epu8(low, limit), low)) != 0)
            break;
        p += 64;
    }
    return p;
}
#endif

/* The first byte of the set in [p, end), or end. */
static inline __attribute__((always_inline)) const char *scan_find(enum scan_set set, const char *p,
                                                                   const char *end)
{
#ifdef __SSE2__
    if (set == SCAN_LINE_END || set == SCAN_HEAD)
        p = scan_pass_plain(p, end);
#endif
    while (end - p >= SCAN_BLOCK) {
        unsigned hits = scan_block(set, p);
        if (hits != 0) {
#ifdef __SSE2__
            return p + scan_first(hits);
#else
            break;
#endif
        }
        p += SCAN_BLOCK;
    }
    while (p < end && !scan_is_hit(set, (unsigned char)*p))
        p++;
    return p;
}

/* Whether c may stand in a token (RFC 9110, 5.6.2): field names, methods. */
static inline bool scan_is_token_char(unsigned char c)
{
    /* bit c % 32 of word c / 32: ! # $ % & ' * + - . 0-9  A-Z ^ _  ` a-z | ~ */
    static const uint32_t map[8] = {0, 0x03ff6cfa, 0xc7fffffe, 0x57ffffff, 0, 0, 0, 0};
    return (map[c >> 5] >> (c & 31)) & 1;
}

#endif
