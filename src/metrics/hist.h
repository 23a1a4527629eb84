/* SPDX-License-Identifier: Apache-2.0 */
/*
 * metrics/hist.h - the distribution of one series: an exponential histogram and exact classic
 * counts, written together.
 *
 * Layout:    Prometheus native, schema 5: bucket i holds (2^((i-1)/32), 2^(i/32)] of the exported
 *            unit, a zero bucket holds [0, zero threshold]. Values are recorded as raw integers
 *            (ns, counts, thousandths), and every boundary is compared exactly, in integers: a
 *            value on a boundary falls into the bucket below it.
 * Errors:    a quantile read from the exponential buckets is off by at most 2.2 %; merging is
 *            exact; classic counts are exact for their bounds.
 * Memory:    about 800 bytes, plus pages of 64 buckets (512 bytes) where values fall, plus 800
 *            bytes when exemplars are used. A sample for which no page can be had is lost whole and
 *            counted (STAT_DROP_NO_MEMORY).
 * Threading: one writer, without locks; any number of readers at any time (hist_snapshot_add).
 */
#ifndef METRICS_HIST_H
#define METRICS_HIST_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/clock.h"

enum {
    HIST_SCHEMA = 5,
    HIST_PAGE_BUCKETS = 64,
    HIST_PAGES = 32,
    HIST_BUCKETS = HIST_PAGES * HIST_PAGE_BUCKETS,
    HIST_BOUNDS_MAX = 40,      /* classic bounds of a family, +Inf not counted */
    HIST_EXEMPLARS = 8,        /* kept per series; neighbouring classic buckets do not share one */
    HIST_EXEMPLAR_ID_MAX = 64, /* bytes; OpenMetrics allows 128 for all labels of an exemplar */
};

__extension__ typedef unsigned __int128 hist_sum_t;

/* What a raw value is, and so the zero threshold: 1 us, 1, 0.001. */
enum hist_unit { HIST_NS, HIST_COUNT, HIST_MILLI, HIST_UNIT_COUNT_ };

/* Boundaries of one unit. Bucket 0 is the zero bucket, bucket k > 0 is native index first_index + k
 * - 1. */
struct hist_layout {
    double per_unit;  /* raw values in one exported unit: 1e9, 1, 1e3 */
    int64_t zero_raw; /* zero threshold, inclusive */
    int first_index;
    uint32_t n_buckets;
    int16_t guess[64];           /* lowest bucket of each 64th of an octave, less 32 per octave */
    int64_t upper[HIST_BUCKETS]; /* largest raw value of each bucket */
};
const struct hist_layout *hist_layout_get(enum hist_unit unit);

/* The bucket of raw >= 0. Exposed for tests; record uses it inline. */
uint32_t hist_bucket_of(const struct hist_layout *layout, int64_t raw);

/*
 * One generation of a family's classic bounds, immutable. A histogram whose data belongs to another
 * generation than its family's current one counts as empty, and starts anew at its next sample.
 */
struct hist_bounds {
    const struct hist_layout *layout;
    wall_t created_at;
    size_t n;
    int64_t upper[HIST_BOUNDS_MAX + 1]; /* raw, ascending, inclusive; [n] = INT64_MAX */
    uint8_t first[HIST_BUCKETS];        /* lowest classic bucket that a bucket can belong to */
};

/* values: raw, >= 0, strictly ascending, at most HIST_BOUNDS_MAX. -EINVAL, -ENOMEM. */
int hist_bounds_new(enum hist_unit unit, const int64_t *values, size_t n, wall_t created_at,
                    struct hist_bounds **ret) WARN_UNUSED;
struct hist_bounds *hist_bounds_free(struct hist_bounds *b);

/* The current generation of a family: what histograms look at for every sample. */
typedef _Atomic(const struct hist_bounds *) hist_source;

struct hist_page;
struct hist_exemplar_slot;

struct hist {
    hist_source *_source;
    _Atomic(const struct hist_bounds *) _bounds; /* of the data held */
    _Atomic uint32_t _seq;                       /* odd while data is restarted or a sum carried */
    _Atomic uint64_t _sum, _sum_parts;           /* raw sum = _sum + _sum_parts * 2^62 */
    _Atomic(struct hist_page *) _pages[HIST_PAGES];
    _Atomic uint64_t _classic[HIST_BOUNDS_MAX + 1];
    _Atomic(struct hist_exemplar_slot *) _exemplars;
};

/* source outlives h and is never NULL inside. */
void hist_init(struct hist *h, hist_source *source);
void hist_done(struct hist *h);

/* The writer. raw < 0 counts as 0. n: that many samples of the same value. */
void hist_record(struct hist *h, int64_t raw);
void hist_record_n(struct hist *h, int64_t raw, uint64_t n);

/* One sample with its exemplar; id: at most HIST_EXEMPLAR_ID_MAX bytes are kept, "" or NULL: none.
 */
void hist_record_exemplar(struct hist *h, int64_t raw, const char *id, wall_t at);

/* --- reading --- */
struct hist_exemplar {
    int64_t raw;
    wall_t at; /* 0: none */
    char id[HIST_EXEMPLAR_ID_MAX + 1];
};

/* Histograms of one series as read and merged; about 40 KiB, so keep it on the heap. */
struct hist_snapshot {
    const struct hist_bounds *bounds;
    uint64_t n; /* samples: the sum of the buckets as read; the same for both arrays */
    hist_sum_t sum_raw;
    uint64_t classic[HIST_BOUNDS_MAX + 1]; /* not cumulative */
    uint32_t first, end;                   /* buckets outside [first, end) are 0 */
    uint64_t buckets[HIST_BUCKETS];
    struct hist_exemplar exemplars[HIST_BOUNDS_MAX + 1]; /* per classic bucket, the newest */
    uint64_t _scratch[HIST_BUCKETS];
};

/* Empties s for histograms of this generation. */
void hist_snapshot_init(struct hist_snapshot *s, const struct hist_bounds *bounds);

/* Adds h as of this moment; nothing when its data is of another generation. Any thread. */
void hist_snapshot_add(struct hist_snapshot *s, const struct hist *h);

/* The sum in exported units (seconds, tokens). */
double hist_snapshot_sum(const struct hist_snapshot *s);

/* Native index of bucket k > 0 and its upper boundary in exported units. */
int hist_native_index(const struct hist_layout *layout, uint32_t k);
double hist_raw_to_unit(const struct hist_layout *layout, int64_t raw);

/*
 * The q-quantile (0..1) in raw units, interpolated exponentially inside its bucket (linearly in the
 * zero bucket), off by at most 2.2 %; -1: no data.
 */
double hist_snapshot_quantile(const struct hist_snapshot *s, double q);

#endif
