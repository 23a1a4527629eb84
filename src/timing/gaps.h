/* SPDX-License-Identifier: Apache-2.0 */
/*
 * timing/gaps.h - sparse exponential histogram of the gaps of one request, at most 512 bytes.
 *
 * Layout:    buckets (2^((i-1)/2^schema), 2^(i/2^schema)] in ns, starting at schema 5 (2.2 %);
 *            when more than GAPS_SLOTS distinct buckets are needed the schema is lowered by one
 *            (exact merge of neighbours), so the error grows before the memory does.
 * Units:     ns; gaps below 1 us count as 1 us in their bucket.
 * Bounds:    quantiles return the bucket's geometric middle, off by at most half a bucket, and
 *            never more than the largest gap. n_gaps, sum_ns and max_ns are exact.
 * Limits:    a bucket that holds more than 65,535 gaps takes further slots; a histogram that is
 *            full of such slots (5 million gaps) stops counting but keeps the three exact figures.
 */
#ifndef TIMING_GAPS_H
#define TIMING_GAPS_H

#include <stddef.h>
#include <stdint.h>

enum { GAPS_SLOTS = 80 };

struct gaps {
    uint8_t _schema;
    uint8_t _n;
    uint32_t n_gaps;
    int64_t max_ns;
    int64_t sum_ns;
    /* Parallel, sorted by index. An entry whose count is full is followed by a twin. */
    uint16_t _index[GAPS_SLOTS];
    uint16_t _n_gaps[GAPS_SLOTS];
    uint16_t _n_events[GAPS_SLOTS]; /* output events that arrived behind those gaps */
};

void gaps_init(struct gaps *g);

/* One gap (ns >= 0); n_events output events that carry tokens arrived at its end. */
void gaps_add(struct gaps *g, int64_t gap_ns, uint32_t n_events);

/* More output events joined the arrival whose gap (of gap_ns) was added last. */
void gaps_add_events(struct gaps *g, int64_t gap_ns, uint32_t n_events);

/* Adds everything that is in other; the result has the coarser of both schemas, or a lower one. */
void gaps_merge(struct gaps *g, const struct gaps *other);

/* The q-quantile (0..1) of the gaps in ns, or -1 when there are none. */
int64_t gaps_quantile(const struct gaps *g, double q);

/* The upper end of the bucket that holds it: what is larger is surely above the quantile. */
int64_t gaps_quantile_upper(const struct gaps *g, double q);

/* Gaps whose bucket lies wholly above threshold_ns. */
uint32_t gaps_count_above(const struct gaps *g, int64_t threshold_ns);

/* Walks the distinct buckets in ascending order: middle of the bucket in ns, gaps and events. */
struct gaps_bucket {
    int64_t middle_ns;
    uint32_t n_gaps;
    uint32_t n_events;
};
size_t gaps_len(const struct gaps *g);
struct gaps_bucket gaps_at(const struct gaps *g, size_t i);

#endif
