/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tsdb/tschunk.h - samples of one series in a row of bytes: appended to, and read again.
 *
 * Role:      what a series' head is made of, and what frames on disk contain. A chunk has one
 *            column of values, or TSCHUNK_SUMMARY of them: last, min, max, sum, count of a gauge.
 * Shape:     README.md. Times are kept as differences of differences; values as tsdb/tscolumn.h and
 *            tsdb/histrec.h say.
 * Errors:    -ENOMEM; -EINVAL: not newer than the last sample; reading: -EBADMSG for bytes that no
 *            chunk wrote. After an error of appending the chunk is as before.
 * Threading: one owner; pure.
 */
#ifndef TSDB_TSCHUNK_H
#define TSDB_TSCHUNK_H

#include "series/reader.h"
#include "tsdb/histrec.h"

enum { TSCHUNK_PLAIN = 1, TSCHUNK_SUMMARY = 5 };
/* Columns of a summary. */
enum { TSCHUNK_LAST, TSCHUNK_MIN, TSCHUNK_MAX, TSCHUNK_SUM, TSCHUNK_COUNT };

/* Bytes with the zeros at their end as a number: a steady interval and a value that stays the same
 * are zeros, which most series of most ticks are. */
struct tschunk_stream {
    struct bytes out;
    uint32_t n_zeros;
};
struct tschunk_column {
    struct tschunk_stream stream;
    struct tscolumn state;
};

struct tschunk {
    uint32_t n;
    uint32_t n_columns;
    int64_t t_first, t_last, t_step;
    struct tschunk_stream t;
    struct tschunk_column *columns;
    struct histrec *hist; /* once there was one */
};

int tschunk_init(struct tschunk *c, uint32_t n_columns) WARN_UNUSED;
void tschunk_done(struct tschunk *c);
/* Memory of what was appended. */
size_t tschunk_bytes(const struct tschunk *c);

int tschunk_append(struct tschunk *c, int64_t t_ms, double v) WARN_UNUSED;
int tschunk_append_hist(struct tschunk *c, int64_t t_ms, const struct fhist *h) WARN_UNUSED;
/* All TSCHUNK_SUMMARY columns of a window. */
int tschunk_append_summary(struct tschunk *c, int64_t t_ms, const double *values) WARN_UNUSED;

/* Appends the chunk's bytes to out. */
int tschunk_write(const struct tschunk *c, struct bytes *out) WARN_UNUSED;

/* Walks over a chunk's bytes, which are borrowed. */
struct tschunk_walk {
    uint64_t n, n_left;
    uint32_t n_columns;
    int64_t t_first, t_last;
    /* The sample: values[0] only in a plain chunk; hist NULL: a float. Until the next call. */
    int64_t t;
    double values[TSCHUNK_SUMMARY];
    const struct fhist *hist;
    int64_t _t_step;
    struct varint_in _t, _columns[TSCHUNK_SUMMARY];
    struct tscolumn _states[TSCHUNK_SUMMARY];
    struct histrec _hist;
};
int tschunk_walk_begin(struct tschunk_walk *w, struct span bytes) WARN_UNUSED;
/* 1: a sample; 0: no more. */
int tschunk_walk_next(struct tschunk_walk *w) WARN_UNUSED;
void tschunk_walk_end(struct tschunk_walk *w);

/* Appends those of [from_ms, to_ms] to out. Of a plain chunk every aspect but the count is the
 * value. */
int tschunk_read(struct span bytes, int64_t from_ms, int64_t to_ms, enum series_aspect aspect,
                 struct samples *out) WARN_UNUSED;

#endif
