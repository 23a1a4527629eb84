/* SPDX-License-Identifier: Apache-2.0 */
/*
 * base/fnv.h - FNV-1a in 64 bits: for tables in memory and ids that others know (Alertmanager's
 * fingerprints). Whoever chooses the text can make hashes collide.
 *
 * Threading: pure.
 */
#ifndef BASE_FNV_H
#define BASE_FNV_H

#include <stdint.h>

#include "base/span.h"

#define FNV_START UINT64_C(0xcbf29ce484222325)

static inline uint64_t fnv_byte(uint64_t h, unsigned char c)
{
    return (h ^ c) * UINT64_C(0x100000001b3);
}

/* h: FNV_START, or of what came before. */
static inline uint64_t fnv_add(uint64_t h, struct span s)
{
    for (size_t i = 0; i < s.n; i++)
        h = fnv_byte(h, (unsigned char)s.p[i]);
    return h;
}

#endif
