/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tsdb/place.h - where a chunk lies on disk: its key says tier, time, series and number.
 *
 * Shape:     a slot is the time that one chunk covers once it is compacted: a UTC day of raw
 *            samples, 8 and 64 days of the coarser tiers. Keys sort by tier, slot, series, number:
 *            what goes together when it is old lies together, and a series' chunks of a slot too.
 *            Number 0 is the compacted chunk, others are pieces that came since.
 * Threading: pure.
 */
#ifndef TSDB_PLACE_H
#define TSDB_PLACE_H

#include <stdbool.h>
#include <stdint.h>

#include "tsdb/tsdb.h"

enum { PLACE_ID_BITS = 30, PLACE_PIECE_BITS = 12, PLACE_SLOT_BITS = 19 };
enum { PLACE_MAX_ID = (1 << PLACE_ID_BITS) - 1, PLACE_MAX_PIECE = (1 << PLACE_PIECE_BITS) - 1 };
#define PLACE_DAY_MS (INT64_C(24) * 3600 * 1000)
/* Samples are before that, and after its negative: some 700 years around the epoch. */
#define PLACE_MAX_T_MS ((INT64_C(1) << (PLACE_SLOT_BITS - 1)) * PLACE_DAY_MS)

static inline int64_t place_slot_ms(int tier)
{
    static const int64_t days[TSDB_TIERS] = {1, 8, 64};
    return days[tier] * PLACE_DAY_MS;
}

static inline int64_t place_slot(int tier, int64_t t_ms)
{
    int64_t width = place_slot_ms(tier);
    return t_ms / width - (t_ms % width < 0);
}

static inline int64_t place_slot_start(int tier, int64_t slot)
{
    return slot * place_slot_ms(tier);
}

static inline int64_t place_key(int tier, int64_t slot, uint32_t id, uint32_t piece)
{
    int64_t biased = slot + (INT64_C(1) << (PLACE_SLOT_BITS - 1));
    return (((int64_t)tier << PLACE_SLOT_BITS | biased) << PLACE_ID_BITS | id) << PLACE_PIECE_BITS |
           piece;
}

static inline uint32_t place_piece(int64_t key)
{
    return (uint32_t)(key & PLACE_MAX_PIECE);
}

static inline uint32_t place_id(int64_t key)
{
    return (uint32_t)(key >> PLACE_PIECE_BITS & PLACE_MAX_ID);
}

static inline int64_t place_key_slot(int64_t key)
{
    int64_t biased =
        key >> (PLACE_PIECE_BITS + PLACE_ID_BITS) & ((INT64_C(1) << PLACE_SLOT_BITS) - 1);
    return biased - (INT64_C(1) << (PLACE_SLOT_BITS - 1));
}

/* First and last key that a slot may have. */
static inline int64_t place_first_key(int tier, int64_t slot)
{
    return place_key(tier, slot, 0, 0);
}

static inline int64_t place_last_key(int tier, int64_t slot)
{
    return place_key(tier, slot, PLACE_MAX_ID, PLACE_MAX_PIECE);
}

#endif
