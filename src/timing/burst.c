/* SPDX-License-Identifier: Apache-2.0 */
/*
 * timing/burst.c - see burst.h. A burst is judged when the next one begins, so the last is never
 * among the full ones.
 */
#include "timing/burst.h"

#include <string.h>

enum {
    SPREAD_PERCENT = 12,
    /* A hop that takes a chunked body apart has bytes of its framing in the buffer, too: about 3 %
     * of events of 200 bytes. */
    FRAMING_PARTS = 16,
};

void burst_init(struct burst *b)
{
    memset(b, 0, sizeof(*b));
    b->_n_left_out = 1;
}

static void close_burst(struct burst *b)
{
    if (b->_n_left_out > 0) {
        b->_n_left_out = (uint8_t)(b->_n_left_out - (b->_n_events > 0));
    } else {
        b->_min_bytes =
            b->_n_full == 0 || b->_n_bytes < b->_min_bytes ? b->_n_bytes : b->_min_bytes;
        b->_max_bytes = b->_n_bytes > b->_max_bytes ? b->_n_bytes : b->_max_bytes;
        b->_sum_bytes += b->_n_bytes;
        b->_sum_events += b->_n_events;
        b->_n_cut += b->_is_inside_event;
        b->_n_full++;
    }
    b->_n_bytes = 0;
    b->_n_events = 0;
}

void burst_add(struct burst *b, mono_t at, uint64_t n_bytes, uint32_t n_events,
               bool is_inside_event)
{
    if (mono_is_set(b->_t_last) && mono_diff(at, b->_t_last) >= BURST_GAP_NS)
        close_burst(b);
    b->_t_last = at;
    b->_n_bytes += n_bytes;
    b->_n_events += n_events;
    b->_is_inside_event = is_inside_event;
}

void burst_pause(struct burst *b)
{
    b->_n_left_out = 2;
}

/* The usual size of a buffer that sizes around `bytes` come from, else `bytes` itself. */
static uint64_t usual(uint64_t bytes, uint64_t event_bytes)
{
    uint64_t slack = bytes / FRAMING_PARTS > event_bytes ? bytes / FRAMING_PARTS : event_bytes;
    for (uint64_t size = 1024; size <= UINT64_C(64) * 1024; size *= 2) {
        uint64_t off = bytes > size ? bytes - size : size - bytes;
        if (off <= slack)
            return size;
    }
    return bytes;
}

uint32_t burst_buffer_bytes(const struct burst *b)
{
    if (b->_n_full < BURST_MIN || b->_sum_events < (uint64_t)BURST_EVENTS_MIN * b->_n_full)
        return 0;
    if (UINT64_C(3) * b->_n_cut < UINT64_C(2) * b->_n_full)
        return 0;
    uint64_t mean = b->_sum_bytes / b->_n_full;
    if (mean < BURST_BYTES_MIN)
        return 0;
    uint64_t event_bytes = b->_sum_bytes / b->_sum_events;
    uint64_t spread = mean * SPREAD_PERCENT / 100;
    if (spread < 2 * event_bytes)
        spread = 2 * event_bytes;
    if (b->_max_bytes - b->_min_bytes > spread)
        return 0;
    uint64_t bytes = usual(mean, event_bytes);
    return bytes < UINT32_MAX ? (uint32_t)bytes : UINT32_MAX;
}
