/* SPDX-License-Identifier: Apache-2.0 */
/*
 * timing/timeline.h - when what of one answer arrived, small enough to be kept beside its row.
 *
 * Role:      arrivals of output in, a list of (offset, events, tokens) out, for the waterfall of
 *            one request. Filled while the answer streams, kept at the end for slow, failed and
 *            sampled requests only. Pure: no I/O, clock, logging, globals.
 * Form:      per entry three varints: microseconds since the entry before (the first one: since the
 *            beginning), output events, tokens (0: not told). Events that share an arrival are one
 *            entry.
 * Memory:    the caller's room of TIMELINE_BYTES; nothing is allocated. A full room is thinned:
 *            neighbours are merged in pairs (later offset, sums of the counts), and from then on
 *            each entry stands for `stride` arrivals.
 * Exactness: 1 us per entry, and no drift: offsets are rounded from the beginning, not from each
 *            other. The last arrival is always exact.
 * Threading: one owner.
 */
#ifndef TIMING_TIMELINE_H
#define TIMING_TIMELINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/clock.h"
#include "base/span.h"

enum { TIMELINE_BYTES = 2048 };

struct timeline_entry {
    int64_t offset_us; /* since the beginning */
    uint64_t n_events;
    uint64_t n_tokens; /* 0: not told */
};

struct timeline {
    char *_room; /* TIMELINE_BYTES of the caller's; NULL: none, and nothing is kept */
    size_t _n;
    int64_t _written_us;           /* offset of the last entry in the room */
    struct timeline_entry _latest; /* not yet in the room */
    uint32_t _n_latest;            /* arrivals that it stands for; 0: there is none */
    uint32_t stride;               /* arrivals per entry: 1, 2, 4, ... */
};

/* room: TIMELINE_BYTES, or NULL when there is none to be had. */
void timeline_init(struct timeline *t, char *room);

/* An output event that arrived ns after the beginning (negative: 0); n_tokens < 0: not told.
 * is_same_arrival: with the event before it. */
void timeline_add(struct timeline *t, int64_t ns, bool is_same_arrival, int64_t n_tokens);

/* What is kept, after the last event; valid while the room lives. Further events may follow. */
struct span timeline_bytes(struct timeline *t);

/* Walks bytes from the front; *ret starts as {0}. false: the end, or malformed. */
bool timeline_next(struct span *bytes, struct timeline_entry *ret);

#endif
