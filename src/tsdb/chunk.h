/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tsdb/chunk.h - samples of one series in a row of bytes: appended to, and read again.
 *
 * Role:      what a series' head is made of, and what frames on disk contain. A chunk has one
 *            column of values, or CHUNK_SUMMARY of them: last, min, max, sum, count of a gauge.
 * Shape:     README.md. Times are kept as differences of differences; values as tsdb/column.h and
 *            tsdb/histrec.h say.
 * Errors:    -ENOMEM; -EINVAL: not newer than the last sample; reading: -EBADMSG for bytes that no
 *            chunk wrote. After an error of appending the chunk is as before.
 * Threading: one owner; pure.
 */
#ifndef TSDB_CHUNK_H
#define TSDB_CHUNK_H

#include "series/reader.h"
#include "tsdb/histrec.h"

enum { CHUNK_PLAIN = 1, CHUNK_SUMMARY = 5 };
/* Columns of a summary. */
enum { CHUNK_LAST, CHUNK_MIN, CHUNK_MAX, CHUNK_SUM, CHUNK_COUNT };

struct chunk_column {
    struct bytes out;
    struct column state;
};

struct chunk {
    uint32_t n;
    uint32_t n_columns;
    int64_t t_first, t_last, t_step;
    struct bytes t;
    struct chunk_column *columns;
    struct histrec *hist; /* once there was one */
};

int chunk_init(struct chunk *c, uint32_t n_columns) WARN_UNUSED;
void chunk_done(struct chunk *c);
/* Memory of what was appended. */
size_t chunk_bytes(const struct chunk *c);

int chunk_append(struct chunk *c, int64_t t_ms, double v) WARN_UNUSED;
int chunk_append_hist(struct chunk *c, int64_t t_ms, const struct fhist *h) WARN_UNUSED;
/* All CHUNK_SUMMARY columns of a window. */
int chunk_append_summary(struct chunk *c, int64_t t_ms, const double *values) WARN_UNUSED;

/* Appends the chunk's bytes to out. */
int chunk_write(const struct chunk *c, struct bytes *out) WARN_UNUSED;

/* Walks over a chunk's bytes, which are borrowed. */
struct chunk_walk {
    uint64_t n, n_left;
    uint32_t n_columns;
    int64_t t_first, t_last;
    /* The sample: values[0] only in a plain chunk; hist NULL: a float. Until the next call. */
    int64_t t;
    double values[CHUNK_SUMMARY];
    const struct fhist *hist;
    int64_t _t_step;
    struct varint_in _t, _columns[CHUNK_SUMMARY];
    struct column _states[CHUNK_SUMMARY];
    struct histrec _hist;
};
int chunk_walk_begin(struct chunk_walk *w, struct span bytes) WARN_UNUSED;
/* 1: a sample; 0: no more. */
int chunk_walk_next(struct chunk_walk *w) WARN_UNUSED;
void chunk_walk_end(struct chunk_walk *w);

/* Appends those of [from_ms, to_ms] to out. Of a plain chunk every aspect but the count is the
 * value. */
int chunk_read(struct span bytes, int64_t from_ms, int64_t to_ms, enum series_aspect aspect,
               struct samples *out) WARN_UNUSED;

#endif
