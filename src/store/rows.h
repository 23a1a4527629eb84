/* SPDX-License-Identifier: Apache-2.0 */
/*
 * store/rows.h - the rows of requests on disk: kept in columns, a file per day.
 *
 * Role:      the record of each request, with its timeline, for lists, look-ups and diagnosis.
 * Shape:     DIR/requests-2026-11-30.db (SQLite, UTC days by the time a request ended). New rows
 *            are in the file's tail, row by row; full tails become segments, in which each field of
 *            the record is a column of its own, compressed, so that a question reads only the
 *            columns it asks for. Fields are found by name: files of older programs lack some, and
 *            those read as unknown.
 * Units:     wall_t (us) for times; bytes.
 * Durability: what rows_commit returned 0 for survives the end of the process (kill -9).
 * Errors:    as db/db.h. A damaged file is set aside and a fresh one begun.
 * Threading: struct rows belongs to the writer; struct rows_reader to one thread at a time, and
 *            sees what was committed before its call.
 * Limits:    bytes on disk, days kept; the oldest day goes first, whole.
 */
#ifndef STORE_ROWS_H
#define STORE_ROWS_H

#include "base/err.h"
#include "record/record.h"

struct rows_config {
    int64_t keep_us;        /* 0: 30 d */
    int64_t max_disk_bytes; /* 0: no budget */
    /* Days that go are written to archive_dir as requests-DAY.jsonl.zst first. NULL: not. */
    const char *archive_dir;
};

struct rows;
int rows_open(const char *dir, const struct rows_config *config, struct rows **ret,
              struct err *reterr) WARN_UNUSED;
struct rows *rows_close(struct rows *r);

/* Takes the row into the pending tail; the record is copied. */
int rows_append(struct rows *r, const struct record *record) WARN_UNUSED;
/* Everything appended is durable. On an error the rows stay pending: call again. */
int rows_commit(struct rows *r) WARN_UNUSED;
size_t rows_n_pending(const struct rows *r);
/* A bounded part of what is due (segments of full tails, sealing days, retention, budget). 1: more.
 */
int rows_maintain(struct rows *r, wall_t now) WARN_UNUSED;

/* --- reading --- */

/* What a field has to be. Numbers compare as in docs/RECORD.md (ns, tokens, us), texts exactly. */
enum rows_test { ROWS_EQ, ROWS_NE, ROWS_LT, ROWS_LE, ROWS_GT, ROWS_GE, ROWS_KNOWN, ROWS_UNKNOWN };
struct rows_condition {
    const struct record_field *field;
    enum rows_test test;
    struct span text;
    double number;
};

struct rows_question {
    wall_t from, to;                         /* of the end of the request; [from, to) */
    const struct rows_condition *conditions; /* all must hold */
    size_t n_conditions;
    const struct record_field *order; /* NULL: by time; else by that number */
    bool is_descending;
    size_t limit;   /* 1 .. 10,000 */
    uint64_t after; /* paging: the key of the last row seen, 0 from the start; by time only */
};

struct rows_reader;
int rows_reader_open(const char *dir, struct rows_reader **ret, struct err *reterr) WARN_UNUSED;
struct rows_reader *rows_reader_close(struct rows_reader *r);
/* Another thread's: what the reader does ends soon, with -ECANCELED. */
void rows_reader_cancel(struct rows_reader *r);

/* Visits the rows in order; record and its texts are valid during the visit. A visit that returns
 * nonzero ends it. Returns that, 0 or an error. */
int rows_ask(struct rows_reader *r, const struct rows_question *q,
             int (*visit)(void *ctx, uint64_t key, const struct record *record),
             void *ctx) WARN_UNUSED;

/*
 * Columns of all rows in a time range, segment by segment, for sums and quantiles: values of
 * numeric fields as doubles (unknown: NaN). Arrays are valid during the visit.
 */
int rows_scan(struct rows_reader *r, wall_t from, wall_t to,
              const struct record_field *const *fields, size_t n_fields,
              int (*visit)(void *ctx, size_t n_rows, const double *const *columns),
              void *ctx) WARN_UNUSED;

/* By its request id; -ENOENT. */
int rows_find(struct rows_reader *r, struct span request_id,
              int (*visit)(void *ctx, uint64_t key, const struct record *record),
              void *ctx) WARN_UNUSED;

#endif
