/* SPDX-License-Identifier: Apache-2.0 */
/*
 * series/reader.h - how series are read, wherever they are: what a query asks of a store.
 *
 * Role:      seam between promql and those who hold series (tsdb, the memory reader of tests).
 * Units:     times are ms since the epoch, may be negative; ranges are inclusive at both ends.
 * Ownership: series and labels live in the arena of the call; samples in the struct samples.
 * Errors:    negative errno; -ECANCELED where whoever reads was told to stop.
 * Threading: as its implementation says; a reader is used by one thread at a time.
 */
#ifndef SERIES_READER_H
#define SERIES_READER_H

#include "series/fhist.h"
#include "series/labels.h"
#include "series/matcher.h"

/* A stale marker is a NaN with these bits; no other NaN has them. */
#define SERIES_STALE_BITS UINT64_C(0x7ff0000000000002)
bool series_is_stale(double v);
double series_stale(void);
bool series_same_bits(double a, double b); /* unlike ==: also NaN and the signs of 0 */

/* What a reader may give where it holds summaries of a gauge only (downsampled tiers). Asked for
 * SERIES_COUNT, it gives 1 for each sample that is no summary; else such a sample is as it is. */
enum series_aspect { SERIES_LAST, SERIES_MIN, SERIES_MAX, SERIES_SUM, SERIES_COUNT, SERIES_MEAN };

/*
 * Samples of one series, ascending in t. Histograms may be among them: h is NULL while all are
 * floats (or stays from before samples_clear); else h[i] != NULL is a histogram, whose v[i] is its
 * sum (so that stale markers read the same in both). Columns count for the arena's budget.
 */
struct samples {
    int64_t *t;
    double *v;
    const struct fhist **h;
    size_t n;
    size_t _cap;
    struct arena arena; /* of the histograms */
};
void samples_init(struct samples *s, struct arena_budget *budget);
void samples_done(struct samples *s);
void samples_clear(struct samples *s); /* memory is kept */
int samples_add(struct samples *s, int64_t t_ms, double v) WARN_UNUSED;
/* h: in s->arena, or outliving s. */
int samples_add_hist(struct samples *s, int64_t t_ms, const struct fhist *h) WARN_UNUSED;

struct series_ref {
    struct labels labels;
    uint64_t id; /* of the reader */
};

struct series_select {
    const struct matcher *matchers;
    size_t n_matchers;
    int64_t from_ms, to_ms; /* series without samples in there may be left out */
};

struct reader;
struct reader_ops {
    /* All series that match, each once, in any order. */
    int (*select)(struct reader *r, const struct series_select *what, struct arena *a,
                  struct series_ref **ret, size_t *ret_n);
    /* Appends the samples of [from_ms, to_ms] to out (empty before). */
    int (*samples)(struct reader *r, uint64_t id, int64_t from_ms, int64_t to_ms,
                   enum series_aspect aspect, struct samples *out);
    /* Coarsest distance of samples that are held for this moment: 0 where they are as scraped. */
    int64_t (*resolution)(struct reader *r, int64_t t_ms);
};
struct reader {
    const struct reader_ops *ops;
};

#endif
