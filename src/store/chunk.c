/* SPDX-License-Identifier: Apache-2.0 */
#include "store/chunk.h"

#include <errno.h>

#include "base/limits.h"
#include "base/mem.h"
#include "store/bytes.h"

int chunk_room_new(struct chunk_room **ret)
{
    struct chunk_room *room = mem_zalloc(1, sizeof(*room));
    if (!room)
        return -ENOMEM;
    buf_init(&room->block, ROWCODE_BYTES_MAX + MIB);
    int r = column_reader_new(&room->columns);
    if (r == 0)
        r = rowcode_batch_new(ROWCODE_ROWS_MAX, &room->batch);
    if (r < 0) {
        chunk_room_free(room);
        return r;
    }
    *ret = room;
    return 0;
}

struct chunk_room *chunk_room_free(struct chunk_room *room)
{
    if (!room)
        return NULL;
    column_reader_free(room->columns);
    rowcode_batch_free(room->batch);
    buf_done(&room->block);
    mem_free(room);
    return NULL;
}

/* --- sources --- */

static int read_fields(struct chunk_source *s)
{
    sqlite3_stmt *q;
    int r = db_prepare(s->db, "SELECT id, name FROM fields", &q);
    if (r < 0)
        return r;
    for (size_t i = 0; i < DAY_FIELDS_MAX; i++)
        s->own[i] = -1;
    while ((r = db_step(q)) == 1) {
        int64_t id = sqlite3_column_int64(q, 0);
        int own = fields_find(db_column_span(q, 1));
        if (own < 0 || id <= 0 || id >= DAY_FIELDS_MAX)
            continue;
        s->fields[own] = id;
        s->own[id] = (int16_t)own;
    }
    sqlite3_finalize(q);
    return r;
}

static int prepare(struct chunk_source *s)
{
    int r = db_exec(s->db, "BEGIN");
    if (r == 0)
        r = read_fields(s);
    if (r == 0)
        r = db_prepare(s->db, "SELECT body FROM columns WHERE id = ?", &s->_column);
    if (r == 0)
        r = db_prepare(s->db, "SELECT id, body FROM columns WHERE id BETWEEN ? AND ?",
                       &s->_columns);
    if (r == 0)
        r = db_prepare(s->db, "SELECT layout, body FROM tail WHERE row = ?", &s->_block);
    if (r == 0)
        r = db_prepare(s->db, "SELECT body FROM filters WHERE row = ?", &s->_filter);
    return r;
}

int chunk_source_open(const char *dir, int64_t day, struct chunk_room *room,
                      struct chunk_source **ret)
{
    char path[DAY_PATH_MAX];
    struct chunk_source *s = mem_zalloc(1, sizeof(*s));
    if (!s)
        return -ENOMEM;
    s->day = day;
    s->room = room;
    int r = day_path(dir, day, ".db", path, sizeof(path));
    if (r == 0)
        r = db_open(path, &day_schema, DB_READ, &s->db, NULL);
    if (r == 0)
        r = prepare(s);
    if (r < 0) {
        chunk_source_close(s);
        return r;
    }
    *ret = s;
    return 0;
}

struct chunk_source *chunk_source_close(struct chunk_source *s)
{
    if (!s)
        return NULL;
    segment_layouts_done(&s->layouts);
    db_close(s->db); /* with its statements, and what was begun */
    mem_free(s);
    return NULL;
}

void chunk_source_interrupt(struct chunk_source *s)
{
    db_interrupt(s->db);
}

/* --- lists --- */

struct list {
    struct chunk *at;
    size_t n, cap;
};

static int add(struct list *l, const struct chunk *c)
{
    if (l->n == l->cap) {
        size_t cap = l->cap ? 2 * l->cap : 64;
        struct chunk *more = mem_realloc(l->at, cap * sizeof(*more));
        if (!more)
            return -ENOMEM;
        l->at = more;
        l->cap = cap;
    }
    l->at[l->n++] = *c;
    return 0;
}

/* A row of segments or tail: row, n_rows, from_us, to_us. -EBADMSG. */
static int take_chunk(sqlite3_stmt *q, bool is_tail, struct chunk *ret)
{
    int64_t n = sqlite3_column_int64(q, 1);
    if (n < 1 || n > (is_tail ? (int)ROWCODE_ROWS_MAX : (int)COLUMN_ROWS_MAX))
        return -EBADMSG;
    *ret = (struct chunk){.first_row = sqlite3_column_int64(q, 0),
                          .n_rows = (uint32_t)n,
                          .is_tail = is_tail,
                          .from_us = sqlite3_column_int64(q, 2),
                          .to_us = sqlite3_column_int64(q, 3)};
    return 0;
}

int chunk_list(struct chunk_source *s, int64_t from_us, int64_t to_us,
               bool (*keep)(void *ctx, const struct chunk_source *s, struct chunk *c,
                            struct span zones),
               void *ctx, struct chunk **ret, size_t *ret_n)
{
    static const char *const sql[] = {
        "SELECT row, n_rows, from_us, to_us, zones FROM segments WHERE to_us >= ? AND from_us < ?"
        " ORDER BY row",
        "SELECT row, n_rows, from_us, to_us FROM tail WHERE to_us >= ? AND from_us < ?"
        " ORDER BY row",
    };
    struct list list = {0};
    int r = 0;
    for (size_t i = 0; i < ARRAY_LEN(sql) && r == 0; i++) {
        sqlite3_stmt *q;
        struct chunk c;
        if ((r = db_prepare(s->db, sql[i], &q)) < 0)
            break;
        sqlite3_bind_int64(q, 1, from_us);
        sqlite3_bind_int64(q, 2, to_us);
        while (r == 0 && (r = db_step(q)) == 1) {
            struct span zones = i == 0 ? db_column_span(q, 4) : (struct span){0};
            r = take_chunk(q, i == 1, &c);
            if (r == 0 && (!keep || keep(ctx, s, &c, zones)))
                r = add(&list, &c);
        }
        sqlite3_finalize(q);
    }
    if (r < 0) {
        mem_free(list.at);
        return r;
    }
    *ret = list.at;
    *ret_n = list.n;
    return 0;
}

int chunk_of_row(struct chunk_source *s, int64_t row, struct chunk *ret)
{
    static const char *const sql[] = {
        "SELECT row, n_rows, from_us, to_us FROM segments WHERE row <= ? ORDER BY row DESC LIMIT 1",
        "SELECT row, n_rows, from_us, to_us FROM tail WHERE row <= ? ORDER BY row DESC LIMIT 1",
    };
    for (size_t i = 0; i < ARRAY_LEN(sql); i++) {
        sqlite3_stmt *q;
        int r = db_prepare(s->db, sql[i], &q);
        if (r < 0)
            return r;
        sqlite3_bind_int64(q, 1, row);
        r = db_step(q);
        if (r == 1)
            r = take_chunk(q, i == 1, ret) < 0 ? -EBADMSG : 1;
        sqlite3_finalize(q);
        if (r < 0)
            return r;
        if (r == 1 && row < ret->first_row + (int64_t)ret->n_rows)
            return 0;
    }
    return -ENOENT;
}

/* --- values --- */

int chunk_column(struct chunk_source *s, const struct chunk *c, size_t field, struct column *ret)
{
    if (s->fields[field] == 0)
        return 0;
    sqlite3_bind_int64(s->_column, 1, c->first_row * DAY_FIELDS_MAX + s->fields[field]);
    int r = db_step(s->_column);
    if (r == 1)
        r = column_open(s->room->columns, db_column_span(s->_column, 0), (int)field, ret);
    else if (r == 0)
        r = -ENOENT;
    db_reset(s->_column);
    if (r == -ENOENT || r == -EPROTO)
        return 0;
    if (r == 0 && ret->n_rows != c->n_rows)
        r = -EBADMSG;
    return r < 0 ? r : 1;
}

/* The bytes are copied: a statement that is not reset would hold its cursor. */
static int copy_block(struct chunk_source *s, struct span body, const struct layout **ret,
                      int64_t layout)
{
    int r = segment_check_block(&body);
    if (r == 0 && body.n > 0)
        r = buf_append(&s->room->block, body);
    return r < 0 ? r : segment_layout(&s->layouts, s->db, layout, ret);
}

int chunk_load_block(struct chunk_source *s, const struct chunk *c)
{
    const struct layout *layout = NULL;
    if (s->loaded_block == c->first_row)
        return 0;
    s->loaded_block = 0;
    buf_clear(&s->room->block);
    rowcode_batch_clear(s->room->batch);
    sqlite3_bind_int64(s->_block, 1, c->first_row);
    int r = db_step(s->_block);
    if (r == 1)
        r = copy_block(s, db_column_span(s->_block, 1), &layout,
                       sqlite3_column_int64(s->_block, 0));
    else if (r == 0)
        r = -ENOENT;
    db_reset(s->_block);
    if (r == 0)
        r = rowcode_read(buf_span(&s->room->block), c->n_rows, layout, s->room->batch);
    if (r == 0)
        s->loaded_block = c->first_row;
    return r;
}

int chunk_numbers(struct chunk_source *s, const struct chunk *c, size_t field, int64_t *out)
{
    struct column column;
    int r;
    if (c->is_tail) {
        if ((r = chunk_load_block(s, c)) < 0)
            return r;
        memcpy(out, s->room->batch->numbers[field], c->n_rows * sizeof(*out));
        return s->room->batch->is_there[field];
    }
    r = chunk_column(s, c, field, &column);
    if (r == 1)
        column_numbers(&column, out);
    int64_t missing = fields_missing(record_fields[field].type);
    for (size_t i = 0; r == 0 && i < c->n_rows; i++)
        out[i] = missing;
    return r;
}

int chunk_ends(struct chunk_source *s, const struct chunk *c, const int64_t **ret)
{
    int64_t *ends = s->room->numbers;
    int r = chunk_numbers(s, c, (size_t)fields_started_at(), ends);
    if (r >= 0)
        r = chunk_numbers(s, c, (size_t)fields_total(), s->room->totals);
    if (r < 0)
        return r;
    for (size_t i = 0; i < c->n_rows; i++)
        ends[i] = fields_end_us(ends[i], s->room->totals[i]);
    *ret = ends;
    return 0;
}

/* --- whole records --- */

static struct span keep_text(void *ctx, struct span text)
{
    return arena_dup(ctx, text);
}

static int set_text(const struct record_field *f, struct span text, struct arena *arena,
                    struct record *r)
{
    if (f->type != RECORD_STR && text.n > 0) {
        text = arena_dup(arena, text);
        if (!text.p)
            return -ENOMEM;
    } else if (f->type == RECORD_CSTR) {
        text.p = "";
    }
    fields_set_text(f, r, text);
    return 0;
}

static int records_of_block(struct chunk_source *s, const struct chunk *c, const uint32_t *at,
                            size_t n, struct arena *arena, struct record *const *records)
{
    int r = chunk_load_block(s, c);
    for (size_t i = 0; i < n && r == 0; i++) {
        r = rowcode_record(s->room->batch, at[i], keep_text, arena, records[i]);
        struct span *borrowed[] = {&records[i]->labels, &records[i]->timeline};
        for (size_t k = 0; k < ARRAY_LEN(borrowed) && r == 0; k++) {
            if (borrowed[k]->n > 0)
                *borrowed[k] = arena_dup(arena, *borrowed[k]);
            if (borrowed[k]->n > 0 && !borrowed[k]->p)
                r = -ENOMEM;
        }
    }
    return r;
}

/* One column of the rows. */
static int fill_field(const struct column *column, size_t field, const uint32_t *at, size_t n,
                      struct arena *arena, struct record *const *records)
{
    const struct record_field *f = &record_fields[field];
    int r = 0;
    for (size_t i = 0; i < n && r == 0; i++) {
        if (column->form == COLUMN_PACKED)
            fields_set_number(f, records[i], column_number(column, at[i]));
        else
            r = set_text(f, column_text(column, at[i]), arena, records[i]);
    }
    return r;
}

static void forget_enumerations(struct record *r)
{
    for (size_t i = 0; i < record_n_fields; i++) {
        if (record_fields[i].type == RECORD_ENUM)
            fields_set_number(&record_fields[i], r, fields_missing(RECORD_ENUM));
    }
}

static int records_of_segment(struct chunk_source *s, const struct chunk *c, const uint32_t *at,
                              size_t n, struct arena *arena, struct record *const *records)
{
    int64_t first_id = c->first_row * DAY_FIELDS_MAX;
    int r = 0;
    for (size_t i = 0; i < n; i++) {
        record_init(records[i]);
        forget_enumerations(records[i]);
    }
    sqlite3_bind_int64(s->_columns, 1, first_id);
    sqlite3_bind_int64(s->_columns, 2, first_id + DAY_FIELDS_MAX - 1);
    while (r == 0 && (r = db_step(s->_columns)) == 1) {
        struct column column;
        int own = s->own[sqlite3_column_int64(s->_columns, 0) % DAY_FIELDS_MAX];
        r = 0;
        if (own < 0)
            continue;
        r = column_open(s->room->columns, db_column_span(s->_columns, 1), own, &column);
        if (r == 0 && column.n_rows != c->n_rows)
            r = -EBADMSG;
        if (r == 0)
            r = fill_field(&column, (size_t)own, at, n, arena, records);
        else if (r == -EPROTO)
            r = 0;
    }
    db_reset(s->_columns);
    return r;
}

int chunk_records(struct chunk_source *s, const struct chunk *c, const uint32_t *at, size_t n,
                  struct arena *arena, struct record *const *records)
{
    return c->is_tail ? records_of_block(s, c, at, n, arena, records)
                      : records_of_segment(s, c, at, n, arena, records);
}

/* --- by id --- */

static int may_have(struct chunk_source *s, const struct chunk *c, struct span id)
{
    sqlite3_bind_int64(s->_filter, 1, c->first_row);
    int r = db_step(s->_filter);
    if (r >= 0)
        r = r == 0 || segment_may_have(db_column_span(s->_filter, 0), id);
    db_reset(s->_filter);
    return r;
}

static int find_in_block(struct chunk_source *s, const struct chunk *c, struct span id,
                         uint32_t *ret_at)
{
    const struct span *ids = s->room->batch->texts[fields_request_id()];
    int r = chunk_load_block(s, c);
    for (uint32_t i = 0; r == 0 && i < c->n_rows; i++) {
        if (span_eq(ids[i], id)) {
            *ret_at = i;
            return 1;
        }
    }
    return r;
}

int chunk_find(struct chunk_source *s, const struct chunk *c, struct span id, uint32_t *ret_at)
{
    struct column column = {.bitmap = NULL};
    size_t k = 0;
    if (c->is_tail)
        return find_in_block(s, c, id, ret_at);
    int r = may_have(s, c, id);
    if (r == 1)
        r = chunk_column(s, c, (size_t)fields_request_id(), &column);
    if (r != 1)
        return r;
    for (uint32_t i = 0; i < c->n_rows; i++) {
        if (!column_has(&column, i))
            continue;
        if (span_eq(column_text_at(&column, column_text_index(&column, k++)), id)) {
            *ret_at = i;
            return 1;
        }
    }
    return 0;
}
