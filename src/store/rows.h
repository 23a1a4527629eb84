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
 * Limits:    bytes on disk, days kept; the oldest day goes first, whole; of a day that alone is
 *            more than the budget, the oldest segments go. ROWS_PENDING_BYTES wait for a commit.
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

enum { ROWS_PENDING_BYTES = 64 * 1024 * 1024, ROWS_LIMIT_MAX = 10000 };

struct rows;
/* Makes dir where it is not there. */
int rows_open(const char *dir, const struct rows_config *config, struct rows **ret,
              struct err *reterr) WARN_UNUSED;
/* What is pending is lost: commit first. NULL is allowed; returns NULL. */
struct rows *rows_close(struct rows *r);
/* Reload; from the next rows_maintain on. -ENOMEM: as before. */
int rows_configure(struct rows *r, const struct rows_config *config) WARN_UNUSED;

/* Takes the row into the pending tail; the record is copied. -ENOBUFS: too much is pending. */
int rows_append(struct rows *r, const struct record *record) WARN_UNUSED;
/* The same for rows that were encoded before; they are ours then. -ENOBUFS and -ENOMEM: they are
 * not. */
struct blocks;
int rows_move(struct rows *r, struct blocks *from) WARN_UNUSED;
/* Everything appended is durable. On an error the rows stay pending: call again. */
int rows_commit(struct rows *r) WARN_UNUSED;
size_t rows_n_pending(const struct rows *r);
/* A bounded part of what is due (segments of full tails, sealing days, retention, budget). 1: more.
 */
int rows_maintain(struct rows *r, wall_t now) WARN_UNUSED;

/*
 * Pending rows that shall wait elsewhere while the database refuses: block by block, in order. What
 * visit returned 0 for is no longer pending. Returns what visit returned, or 0.
 */
struct day_block;
int rows_take_pending(struct rows *r,
                      int (*visit)(void *ctx, int64_t day, const struct day_block *block),
                      void *ctx) WARN_UNUSED;
/* Such a block comes back, and is durable; once only, whatever happens in between: mark (epoch,
 * number) grows from block to block, and what is not behind the last one is there already. */
struct day_mark;
int rows_put_block(struct rows *r, int64_t day, const struct day_block *block,
                   const struct day_mark *mark) WARN_UNUSED;

struct rows_stats {
    uint64_t n_committed; /* rows, since rows_open */
    uint64_t n_segments;  /* made */
    uint64_t n_days_expired, n_days_over_budget, n_days_set_aside;
    uint64_t n_rows_over_budget; /* of a day that alone is more than the budget */
    int64_t disk_bytes;          /* as of the last look of rows_maintain, once a minute */
    size_t n_days;               /* the same */
    int last_error;              /* of the last commit; 0: it went well */
    const char *last_words;      /* what SQLite said to it; valid until the next call */
};
void rows_stats(const struct rows *r, struct rows_stats *ret);

/* --- reading --- */

/*
 * What a field has to be. Numbers compare as in docs/RECORD.md (ns, tokens, us); an unknown one is
 * only ever ROWS_NE and ROWS_UNKNOWN. Texts compare by bytes, the unknown one is empty. Of an
 * enumeration, text is the name of the value (ROWS_EQ, ROWS_NE); of flags, that of one flag, which
 * is set (ROWS_EQ) or not (ROWS_NE); of labels, "name=value" of one that is there or not.
 */
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
    /* NULL: by time; else by that number, and rows without it are left out. */
    const struct record_field *order;
    bool is_descending;
    size_t limit; /* 1 .. 10,000 */
    /* Paging: the key of the last row seen, 0 from the start; with order, that number of it, too.
     */
    uint64_t after;
    double after_number;
};

struct rows_reader;
int rows_reader_open(const char *dir, struct rows_reader **ret, struct err *reterr) WARN_UNUSED;
struct rows_reader *rows_reader_close(struct rows_reader *r);
/* Another thread's: the call under way ends soon, with -ECANCELED, and so do those from then on,
 * until its own thread calls rows_reader_resume. */
void rows_reader_cancel(struct rows_reader *r);
void rows_reader_resume(struct rows_reader *r);

/* Visits the rows in order, those of equal rank as they came (is_descending: newest first); record
 * and its texts are valid during the visit. A visit that returns nonzero ends it. Returns that, 0
 * or an error. */
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
