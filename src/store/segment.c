/* SPDX-License-Identifier: Apache-2.0 */
/*
 * store/segment.c - blocks of the tail -> one batch -> columns, in one transaction.
 *
 * A column in which no row has anything to tell, and which could say so, is left out.
 */
#include "store/segment.h"

#include <errno.h>

#include "base/limits.h"
#include "base/mem.h"
#include "store/segment_private.h"

enum { BLOCKS_BYTES_MAX = 64 * 1024 * 1024, INDEX_BYTES_MAX = 1024 * 1024 };

struct block {
    int64_t layout;
    size_t offset, n_bytes, n_rows;
};

struct segment_maker {
    struct rowcode_batch *batch;
    struct column_writer *columns;
    struct buf bytes; /* of the blocks: texts of the batch are views of it */
    struct buf zones, filter;
    struct block blocks[SEGMENT_ROWS_MAX];
    size_t n_blocks, n_rows;
    int64_t first_row, last_block; /* rows of the tail */
    int64_t from_us, to_us;
    struct segment_layouts layouts;
};

int segment_maker_new(struct segment_maker **ret)
{
    struct segment_maker *m = mem_zalloc(1, sizeof(*m));
    if (!m)
        return -ENOMEM;
    buf_init(&m->bytes, BLOCKS_BYTES_MAX);
    buf_init(&m->zones, INDEX_BYTES_MAX);
    buf_init(&m->filter, INDEX_BYTES_MAX);
    int r = rowcode_batch_new(SEGMENT_ROWS_MAX, &m->batch);
    if (r == 0)
        r = column_writer_new(&m->columns);
    if (r < 0) {
        segment_maker_free(m);
        return r;
    }
    *ret = m;
    return 0;
}

struct segment_maker *segment_maker_free(struct segment_maker *m)
{
    if (!m)
        return NULL;
    rowcode_batch_free(m->batch);
    column_writer_free(m->columns);
    buf_done(&m->bytes);
    buf_done(&m->zones);
    buf_done(&m->filter);
    segment_layouts_done(&m->layouts);
    mem_free(m);
    return NULL;
}

/* --- the tail --- */

/* Takes the block that the statement is at; false in *ret_is_taken where it is for later. */
static int take_block(struct segment_maker *m, sqlite3_stmt *s, bool *ret_is_taken)
{
    int64_t row = sqlite3_column_int64(s, 0);
    int64_t n_rows = sqlite3_column_int64(s, 1);
    struct span body = db_column_span(s, 5);
    *ret_is_taken = false;
    if (m->n_rows >= SEGMENT_ROWS)
        return 0;
    if (n_rows < 1 || n_rows > ROWCODE_ROWS_MAX || segment_check_block(&body) < 0)
        return -EBADMSG;
    if (m->n_rows == 0)
        m->first_row = row;
    else if (row != m->first_row + (int64_t)m->n_rows)
        return 0; /* a gap: rows are found by their place, so the segment ends here */
    if (buf_len(&m->bytes) > 0 && buf_len(&m->bytes) + body.n > BLOCKS_BYTES_MAX / 2)
        return 0;
    m->blocks[m->n_blocks++] = (struct block){.layout = sqlite3_column_int64(s, 4),
                                              .offset = buf_len(&m->bytes),
                                              .n_bytes = body.n,
                                              .n_rows = (size_t)n_rows};
    int64_t from_us = sqlite3_column_int64(s, 2);
    int64_t to_us = sqlite3_column_int64(s, 3);
    m->from_us = m->n_rows == 0 || from_us < m->from_us ? from_us : m->from_us;
    m->to_us = m->n_rows == 0 || to_us > m->to_us ? to_us : m->to_us;
    m->n_rows += (size_t)n_rows;
    m->last_block = row;
    *ret_is_taken = true;
    return body.n > 0 ? buf_append(&m->bytes, body) : 0;
}

static int collect(struct segment_maker *m, struct day *d)
{
    sqlite3_stmt *s;
    bool is_taken = true;
    m->n_blocks = 0;
    m->n_rows = 0;
    buf_clear(&m->bytes);
    int r = db_prepare(
        d->db, "SELECT row, n_rows, from_us, to_us, layout, body FROM tail ORDER BY row", &s);
    if (r < 0)
        return r;
    while (r == 0 && is_taken && (r = db_step(s)) == 1)
        r = take_block(m, s, &is_taken);
    sqlite3_finalize(s);
    return r;
}

static int decode(struct segment_maker *m, struct day *d)
{
    int r = 0;
    rowcode_batch_clear(m->batch);
    for (size_t i = 0; i < m->n_blocks && r == 0; i++) {
        const struct block *b = &m->blocks[i];
        const struct layout *l;
        r = segment_layout(&m->layouts, d->db, b->layout, &l);
        if (r == 0)
            r = rowcode_read(span_of(buf_span(&m->bytes).p + b->offset, b->n_bytes), b->n_rows, l,
                             m->batch);
    }
    segment_layouts_done(&m->layouts); /* the next one may be of another file */
    return r;
}

/* --- the columns --- */

static bool may_be_left_out(const struct record_field *f, const struct column_zone *z)
{
    return z->min > z->max && !fields_is_known(f->type, fields_nothing(f->type));
}

static bool is_empty(const struct span *texts, size_t n)
{
    size_t n_bytes = 0;
    for (size_t i = 0; i < n; i++)
        n_bytes += texts[i].n;
    return n_bytes == 0;
}

/* The column of field i; an empty span: it is left out. */
static int make_column(struct segment_maker *m, struct day *d, size_t i, struct span *ret)
{
    const struct record_field *f = &record_fields[i];
    const struct rowcode_batch *b = m->batch;
    struct column_zone zone;
    *ret = (struct span){0};
    if (b->texts[i])
        return is_empty(b->texts[i], b->n_rows)
                   ? 0
                   : column_write_texts(m->columns, f, b->texts[i], b->n_rows, ret);
    int r = column_write_numbers(m->columns, f, b->numbers[i], b->n_rows, ret, &zone);
    if (r == 0)
        r = segment_put_zone(&m->zones, d->fields[i], &zone);
    if (r == 0 && may_be_left_out(f, &zone))
        *ret = (struct span){0};
    return r;
}

static int write_columns(struct segment_maker *m, struct day *d)
{
    sqlite3_stmt *s;
    int r = db_prepare(d->db, "INSERT INTO columns VALUES(?, ?)", &s);
    if (r < 0)
        return r;
    buf_clear(&m->zones);
    for (size_t i = 0; i < record_n_fields && r == 0; i++) {
        struct span body;
        if (!m->batch->is_there[i])
            continue;
        r = make_column(m, d, i, &body);
        if (r < 0 || body.n == 0)
            continue;
        sqlite3_bind_int64(s, 1, m->first_row * DAY_FIELDS_MAX + d->fields[i]);
        r = db_bind_blob(s, 2, body);
        if (r == 0)
            r = db_step(s);
        db_reset(s);
    }
    sqlite3_finalize(s);
    return r < 0 ? r : segment_put_checksum(&m->zones);
}

static int write_row(struct segment_maker *m, struct day *d)
{
    sqlite3_stmt *s;
    int r = db_prepare(d->db, "INSERT INTO segments VALUES(?, ?, ?, ?, ?)", &s);
    if (r < 0)
        return r;
    sqlite3_bind_int64(s, 1, m->first_row);
    sqlite3_bind_int64(s, 2, (int64_t)m->n_rows);
    sqlite3_bind_int64(s, 3, m->from_us);
    sqlite3_bind_int64(s, 4, m->to_us);
    r = db_bind_blob(s, 5, buf_span(&m->zones));
    if (r == 0)
        r = db_step(s);
    sqlite3_finalize(s);
    return r;
}

static int write_filter(struct segment_maker *m, struct day *d)
{
    sqlite3_stmt *s = NULL;
    int r = segment_make_filter(m->batch->texts[fields_request_id()], m->n_rows, &m->filter);
    if (r == 0)
        r = db_prepare(d->db, "INSERT INTO filters VALUES(?, ?)", &s);
    if (r < 0)
        return r;
    sqlite3_bind_int64(s, 1, m->first_row);
    r = db_bind_blob(s, 2, buf_span(&m->filter));
    if (r == 0)
        r = db_step(s);
    sqlite3_finalize(s);
    return r;
}

static int delete_tail(struct segment_maker *m, struct day *d)
{
    sqlite3_stmt *s;
    int r = db_prepare(d->db, "DELETE FROM tail WHERE row <= ?", &s);
    if (r < 0)
        return r;
    sqlite3_bind_int64(s, 1, m->last_block);
    r = db_step(s);
    sqlite3_finalize(s);
    return r;
}

int segment_make(struct segment_maker *m, struct day *d)
{
    int r = day_begin(d);
    if (r == 0)
        r = collect(m, d);
    if (r == 0 && m->n_rows == 0) {
        d->n_tail_rows = 0;
        return day_commit(d);
    }
    if (r == 0)
        r = decode(m, d);
    if (r == 0)
        r = write_columns(m, d);
    if (r == 0)
        r = write_row(m, d);
    if (r == 0)
        r = write_filter(m, d);
    if (r == 0)
        r = delete_tail(m, d);
    if (r == 0)
        r = day_commit(d);
    if (r == 0)
        d->n_tail_rows -= m->n_rows < d->n_tail_rows ? m->n_rows : d->n_tail_rows;
    return r;
}

/* --- the oldest one goes --- */

static int delete_segment(struct day *d, int64_t row)
{
    static const char *const sql[] = {
        "DELETE FROM columns WHERE id BETWEEN ?1 * 1024 AND ?1 * 1024 + 1023",
        "DELETE FROM filters WHERE row = ?1",
        "DELETE FROM segments WHERE row = ?1",
    };
    int r = 0;
    _Static_assert(DAY_FIELDS_MAX == 1024, "as the statement has it");
    for (size_t i = 0; i < ARRAY_LEN(sql) && r == 0; i++) {
        sqlite3_stmt *s;
        if ((r = db_prepare(d->db, sql[i], &s)) < 0)
            break;
        sqlite3_bind_int64(s, 1, row);
        r = db_step(s);
        sqlite3_finalize(s);
    }
    return r;
}

int segment_drop_oldest(struct day *d, int64_t *ret_n_rows)
{
    int64_t row = 0;
    int64_t n_rows = 0;
    int r = day_begin(d);
    if (r == 0)
        r = db_query_i64(d->db, "SELECT row FROM segments ORDER BY row LIMIT 1", &row);
    if (r == 0)
        r = db_query_i64(d->db, "SELECT n_rows FROM segments ORDER BY row LIMIT 1", &n_rows);
    if (r == 0)
        r = delete_segment(d, row);
    if (r == -ENOENT)
        r = 0;
    if (r == 0)
        r = day_commit(d);
    if (r == 0)
        *ret_n_rows = n_rows;
    return r;
}
