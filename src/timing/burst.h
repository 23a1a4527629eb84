/* SPDX-License-Identifier: Apache-2.0 */
/*
 * timing/burst.h - finds a hop between engine and gateway that holds a stream back until a buffer
 * is full (nginx with proxy_buffering on), and the size of that buffer.
 *
 * Role:      reads of one answer in, the size of a buffer or 0 out. Pure: no clock, no I/O.
 * Model:     reads less than BURST_GAP_NS apart are one burst. A buffer that is filled to its last
 *            byte gives bursts of one size *that end inside an event*. This is what tells it from
 *            everything that also comes in bursts but in whole events: an engine that sends several
 *            tokens per step, speculative decoding, several choices, a worker of ours that was late
 *            (it finds whole events waiting).
 * Rule:      at least BURST_MIN full bursts (the first may share its buffer with the head, the last
 *            is what was left), BURST_EVENTS_MIN output events each on average, of sizes that
 *            differ by at most two events or 12 %, and two of three end inside an event.
 * Cannot tell: a buffer that the answer does not fill five times; one that fills in less than
 *            BURST_GAP_NS; one that is flushed by time, or holds whole events only (it looks like
 *            an engine that sends several at once); two buffers in a row from one. A path whose
 *            window is smaller than what the engine sends in a round trip, and a sender that waits
 *            for full TCP segments (no TCP_NODELAY), hold bytes back just so, and are reported: as
 *            a buffer of the window's or the segment's size.
 * Memory:    fixed, below 100 bytes; no allocation.
 * Threading: one owner.
 */
#ifndef TIMING_BURST_H
#define TIMING_BURST_H

#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"

#define BURST_GAP_NS (2 * NS_PER_MS)
enum { BURST_MIN = 3, BURST_EVENTS_MIN = 4, BURST_BYTES_MIN = 512 }; /* no buffer is smaller */

struct burst {
    /* The burst under way. */
    mono_t _t_last; /* not set: none yet */
    uint64_t _n_bytes;
    uint32_t _n_events;
    bool _is_inside_event;
    uint8_t _n_left_out; /* bursts with output that are not to be counted: this one and the next */
    /* Full ones. */
    uint32_t _n_full;
    uint32_t _n_cut; /* of them, ended inside an event */
    uint64_t _min_bytes, _max_bytes, _sum_bytes;
    uint64_t _sum_events;
};

void burst_init(struct burst *b);

/* A read, or a part of one (then with the same stamp): its bytes as they came over the network, the
 * output events that ended in it, and whether it ends inside an event. */
void burst_add(struct burst *b, mono_t at, uint64_t n_bytes, uint32_t n_events,
               bool is_inside_event);

/* Reading stops for a slow client: what comes next has waited, whoever held it back. */
void burst_pause(struct burst *b);

/* The size of the buffer: one of the usual sizes where it is close to one; 0: no buffer seen. */
uint32_t burst_buffer_bytes(const struct burst *b);

#endif
