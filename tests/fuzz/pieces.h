/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz/pieces.h - cuts a fuzz input into the parts a socket might deliver, and compares results.
 *
 * The first byte of an input chooses the division of the rest: 0 = whole, else parts of
 * pseudo-random lengths up to a size that it sets as well. Every part is copied to an allocation of
 * exactly its size and freed before the next one, so that the address sanitizer sees a read past
 * its end and any pointer that was kept into it.
 */
#ifndef FUZZ_PIECES_H
#define FUZZ_PIECES_H

#include <stdint.h>

#include "base/mem.h"
#include "base/rng.h"
#include "base/span.h"
#include "fuzz.h"

#define FUZZ_CHECK(x) ((x) ? (void)0 : __builtin_trap())

/* Takes the first byte off, as what chooses; 0 when there is none. */
static inline uint8_t pieces_choice(const uint8_t *data, size_t size, struct span *ret_rest)
{
    *ret_rest = size > 0 ? span_of(data + 1, size - 1) : span_of("", 0);
    return size > 0 ? data[0] : 0;
}

/* Calls feed with each part of input; false from it ends the feeding. */
static inline void pieces_each(struct span input, uint8_t choice,
                               bool (*feed)(void *ctx, struct span part), void *ctx)
{
    struct rng rng;
    rng_seed(&rng, choice);
    uint64_t max = choice == 0 ? SIZE_MAX : UINT64_C(1) << (choice % 8);
    bool is_going = true;
    while (is_going && input.n > 0) {
        uint64_t n = max == SIZE_MAX ? input.n : 1 + rng_below(&rng, max);
        struct span part = span_take(&input, n < input.n ? (size_t)n : input.n);
        char *copy = mem_must(mem_alloc(part.n));
        memcpy(copy, part.p, part.n);
        is_going = feed(ctx, span_of(copy, part.n));
        mem_free(copy);
    }
}

/* Whether s lies within outer, so that it may be read. */
static inline bool pieces_is_within(struct span s, struct span outer)
{
    return s.n == 0 || (s.p >= outer.p && s.p + s.n <= outer.p + outer.n);
}

/* A running hash over what was delivered (FNV-1a); reads every byte of s. */
static inline uint64_t pieces_hash(uint64_t hash, struct span s)
{
    for (size_t i = 0; i < s.n; i++)
        hash = (hash ^ (unsigned char)s.p[i]) * UINT64_C(0x100000001b3);
    return hash;
}

static inline uint64_t pieces_hash_number(uint64_t hash, uint64_t n)
{
    return pieces_hash(hash, span_of(&n, sizeof(n)));
}

#endif
