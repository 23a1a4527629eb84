/* SPDX-License-Identifier: Apache-2.0 */
#include "store/day.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/num.h"
#include "store/bytes.h"
#include "store/layout.h"

/* Files of rows begin with these bytes at offset 68: "iRow". */
#define APPLICATION_ID 0x69526f77u

static const char *const migrations[] = {
    "CREATE TABLE tail(row INTEGER PRIMARY KEY, n_rows INTEGER NOT NULL, from_us INTEGER NOT NULL,"
    " to_us INTEGER NOT NULL, layout INTEGER NOT NULL, body BLOB NOT NULL);"
    "CREATE TABLE segments(row INTEGER PRIMARY KEY, n_rows INTEGER NOT NULL,"
    " from_us INTEGER NOT NULL, to_us INTEGER NOT NULL, zones BLOB NOT NULL);"
    "CREATE TABLE columns(id INTEGER PRIMARY KEY, body BLOB NOT NULL);"
    "CREATE TABLE filters(row INTEGER PRIMARY KEY, body BLOB NOT NULL);"
    "CREATE TABLE fields(id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);"
    "CREATE TABLE layouts(id INTEGER PRIMARY KEY, body BLOB NOT NULL);"
    "CREATE TABLE marks(name TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;",
};

const struct db_schema day_schema = {
    .name = "request rows",
    .application_id = APPLICATION_ID,
    .migrations = migrations,
    .n_migrations = ARRAY_LEN(migrations),
};

/* --- files --- */

int day_path(const char *dir, int64_t number, const char *ending, char *dst, size_t cap)
{
    time_t t = number * 86400;
    struct tm tm;
    if (!gmtime_r(&t, &tm))
        return -EINVAL;
    int n = snprintf(dst, cap, "%s/requests-%04d-%02d-%02d%s", dir, tm.tm_year + 1900,
                     tm.tm_mon + 1, tm.tm_mday, ending);
    return n < 0 || (size_t)n >= cap ? -ENAMETOOLONG : 0;
}

/* The number of "requests-2026-11-30.db", -1 for other names. */
static int64_t number_of(const char *name)
{
    static const char form[] = "requests-dddd-dd-dd.db";
    struct tm tm = {0};
    for (size_t i = 0; i < sizeof(form); i++) {
        bool is_digit = name[i] >= '0' && name[i] <= '9';
        bool is_number = i > 8 && i < 19 && form[i] == 'd';
        if (is_number ? !is_digit : name[i] != form[i])
            return -1;
    }
    uint64_t year = 0;
    uint64_t month = 0;
    uint64_t day = 0;
    if (num_parse_u64(span_of(name + 9, 4), &year) < 0 ||
        num_parse_u64(span_of(name + 14, 2), &month) < 0 ||
        num_parse_u64(span_of(name + 17, 2), &day) < 0 || year < 1970)
        return -1;
    tm.tm_year = (int)year - 1900;
    tm.tm_mon = (int)month - 1;
    tm.tm_mday = (int)day;
    return timegm(&tm) / 86400;
}

static int compare(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a;
    int64_t y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static int list_from(DIR *dir, int64_t **days, size_t *n)
{
    size_t cap = 0;
    for (struct dirent *e; (e = readdir(dir)) != NULL;) {
        int64_t number = number_of(e->d_name);
        if (number < 0)
            continue;
        if (*n == cap) {
            cap = cap ? 2 * cap : 64;
            int64_t *more = mem_realloc(*days, cap * sizeof(*more));
            if (!more)
                return -ENOMEM;
            *days = more;
        }
        (*days)[(*n)++] = number;
    }
    return 0;
}

int day_list(const char *dir, int64_t **ret, size_t *ret_n)
{
    int64_t *days = NULL;
    size_t n = 0;
    DIR *d = opendir(dir);
    if (!d && errno != ENOENT)
        return -errno;
    int r = d ? list_from(d, &days, &n) : 0;
    if (d)
        closedir(d);
    if (r < 0) {
        mem_free(days);
        return r;
    }
    if (n > 0)
        qsort(days, n, sizeof(*days), compare);
    *ret = days;
    *ret_n = n;
    return 0;
}

/* --- opening --- */

static int query(struct day *d, const char *sql, int64_t *ret)
{
    int r = db_query_i64(d->db, sql, ret);
    if (r != -ENOENT)
        return r;
    *ret = 0;
    return 0;
}

static int read_state(struct day *d)
{
    int64_t tail_end = 1;
    int64_t segments_end = 1;
    int64_t n_tail = 0;
    int64_t epoch = 0;
    int64_t number = 0;
    int r = query(d, "SELECT max(row) + n_rows FROM tail", &tail_end);
    if (r == 0)
        r = query(d, "SELECT max(row) + n_rows FROM segments", &segments_end);
    if (r == 0)
        r = query(d, "SELECT coalesce(sum(n_rows), 0) FROM tail", &n_tail);
    if (r == 0)
        r = query(d, "SELECT value FROM marks WHERE name = 'spill_epoch'", &epoch);
    if (r == 0)
        r = query(d, "SELECT value FROM marks WHERE name = 'spill_number'", &number);
    if (r < 0)
        return r;
    int64_t end = tail_end > segments_end ? tail_end : segments_end;
    d->next_row = end > 0 ? end : 1;
    d->n_tail_rows = (size_t)n_tail;
    d->mark = (struct day_mark){.epoch = (uint64_t)epoch, .number = (uint64_t)number};
    return 0;
}

static int insert_name(struct day *d, struct span name)
{
    sqlite3_stmt *s;
    int r = db_prepare(d->db, "INSERT INTO fields(name) VALUES(?)", &s);
    if (r < 0)
        return r;
    r = db_bind_span(s, 1, name);
    if (r == 0)
        r = db_step(s);
    sqlite3_finalize(s);
    return r;
}

static int read_fields(struct day *d)
{
    sqlite3_stmt *s;
    int r = db_prepare(d->db, "SELECT id, name FROM fields", &s);
    if (r < 0)
        return r;
    memset(d->fields, 0, sizeof(d->fields));
    while ((r = db_step(s)) == 1) {
        int own = fields_find(db_column_span(s, 1));
        int64_t id = sqlite3_column_int64(s, 0);
        if (own >= 0 && id > 0 && id < DAY_FIELDS_MAX)
            d->fields[own] = id;
    }
    sqlite3_finalize(s);
    return r;
}

/* Names that the file does not know yet get their numbers. */
static int add_fields(struct day *d)
{
    bool is_complete = true;
    int r = read_fields(d);
    for (size_t i = 0; i < record_n_fields; i++)
        is_complete = is_complete && d->fields[i] != 0;
    if (r < 0 || is_complete)
        return r;
    if ((r = db_begin(d->db)) < 0)
        return r;
    for (size_t i = 0; i < record_n_fields && r == 0; i++) {
        if (d->fields[i] == 0)
            r = insert_name(d, span_cstr(record_fields[i].name));
    }
    if (r == 0)
        r = db_commit(d->db);
    if (r < 0) {
        db_rollback(d->db);
        return r;
    }
    return read_fields(d);
}

static int open_file(struct day *d, const char *path, bool *ret_was_damaged, struct err *reterr)
{
    int r = db_open_or_replace(path, &day_schema, &d->db, ret_was_damaged, reterr);
    if (r < 0)
        return r;
    r = read_state(d);
    if (r == 0)
        r = add_fields(d);
    if (r == 0)
        r = db_prepare(d->db, "INSERT INTO tail VALUES(?, ?, ?, ?, ?, ?)", &d->_insert_tail);
    if (r < 0) {
        err_set(reterr, r, "could not read request rows \"%s\": %s", path, db_error(d->db));
        d->db = db_close(d->db);
    }
    return r;
}

/* Damage behind the first page shows only when the file is read. */
static int open_day(struct day *d, const char *dir, bool *ret_was_damaged, struct err *reterr)
{
    char path[DAY_PATH_MAX], aside[DAY_PATH_MAX + 64];
    struct err why = {0};
    int r = day_path(dir, d->number, ".db", path, sizeof(path));
    if (r < 0)
        return err_set(reterr, r, "\"%s\" is too long a path for request rows", dir);
    r = open_file(d, path, ret_was_damaged, &why);
    if (r == -EBADMSG && (r = db_set_aside(path, aside, sizeof(aside))) == 0) {
        LOG_ERROR("%s; moved it to \"%s\", beginning a new one", why.text, aside);
        r = open_file(d, path, ret_was_damaged, &why);
        *ret_was_damaged = true;
    }
    if (r < 0 && reterr)
        *reterr = why;
    return r;
}

int day_open(const char *dir, int64_t number, struct day **ret, bool *ret_was_damaged,
             struct err *reterr)
{
    struct day *d = mem_zalloc(1, sizeof(*d));
    if (!d)
        return err_set(reterr, -ENOMEM, "out of memory");
    d->number = number;
    buf_init(&d->own_layout_bytes, LAYOUT_BYTES_MAX);
    int r = open_day(d, dir, ret_was_damaged, reterr);
    if (r < 0) {
        day_close(d);
        return r;
    }
    *ret = d;
    return 0;
}

struct day *day_close(struct day *d)
{
    if (!d)
        return NULL;
    buf_done(&d->own_layout_bytes);
    if (d->db) {
        sqlite3_finalize(d->_insert_tail);
        db_close(d->db);
    }
    mem_free(d);
    return NULL;
}

/* --- the tail --- */

/* The id of that layout in this file; it is added where it is new. */
static int layout_id(struct day *d, struct span bytes, int64_t *ret)
{
    sqlite3_stmt *s;
    int r = db_prepare(d->db, "SELECT id FROM layouts WHERE body = ?", &s);
    if (r < 0)
        return r;
    r = db_bind_blob(s, 1, bytes);
    if (r == 0 && (r = db_step(s)) == 1)
        *ret = sqlite3_column_int64(s, 0);
    sqlite3_finalize(s);
    if (r != 0)
        return r < 0 ? r : 0;
    if ((r = db_prepare(d->db, "INSERT INTO layouts(body) VALUES(?)", &s)) < 0)
        return r;
    r = db_bind_blob(s, 1, bytes);
    if (r == 0)
        r = db_step(s);
    *ret = sqlite3_last_insert_rowid(d->db->_handle);
    sqlite3_finalize(s);
    return r;
}

static int use_layout(struct day *d, struct span bytes)
{
    if (d->own_layout > 0 && span_eq(buf_span(&d->own_layout_bytes), bytes))
        return 0;
    int64_t id = 0;
    int r = layout_id(d, bytes, &id);
    if (r < 0)
        return r;
    d->own_layout = 0;
    buf_clear(&d->own_layout_bytes);
    r = buf_append(&d->own_layout_bytes, bytes);
    if (r == 0)
        d->own_layout = id;
    return r;
}

int day_begin(struct day *d)
{
    return db_begin(d->db);
}

int day_put(struct day *d, const struct day_block *b)
{
    sqlite3_stmt *s = d->_insert_tail;
    int r = use_layout(d, b->layout);
    if (r < 0)
        return r;
    sqlite3_bind_int64(s, 1, d->next_row);
    sqlite3_bind_int64(s, 2, b->n_rows);
    sqlite3_bind_int64(s, 3, b->from_us);
    sqlite3_bind_int64(s, 4, b->to_us);
    sqlite3_bind_int64(s, 5, d->own_layout);
    r = db_bind_blob(s, 6, b->rows);
    if (r == 0)
        r = db_step(s);
    db_reset(s);
    if (r < 0)
        return r;
    d->next_row += b->n_rows;
    d->n_tail_rows += b->n_rows;
    return 0;
}

/* The number is kept under this name; those of others under one of each. */
static void mark_name(struct day_mark mark, char dst[40])
{
    if (mark.is_of_other)
        (void)snprintf(dst, 40, "other_%llu", (unsigned long long)mark.epoch);
    else
        (void)snprintf(dst, 40, "spill_number");
}

static int set_mark(struct day *d, const char *name, uint64_t value)
{
    sqlite3_stmt *s;
    int r = db_prepare(d->db, "INSERT OR REPLACE INTO marks VALUES(?, ?)", &s);
    if (r < 0)
        return r;
    r = db_bind_span(s, 1, span_cstr(name));
    sqlite3_bind_int64(s, 2, (int64_t)value);
    if (r == 0)
        r = db_step(s);
    sqlite3_finalize(s);
    return r;
}

int day_set_mark(struct day *d, struct day_mark mark)
{
    char name[40];
    mark_name(mark, name);
    int r = mark.is_of_other ? 0 : set_mark(d, "spill_epoch", mark.epoch);
    if (r == 0)
        r = set_mark(d, name, mark.number);
    if (r == 0 && !mark.is_of_other)
        d->mark = mark;
    return r;
}

int day_has_mark(struct day *d, struct day_mark mark)
{
    char name[40];
    char sql[96];
    int64_t last = 0;
    if (!mark.is_of_other)
        return mark.epoch == d->mark.epoch && mark.number <= d->mark.number;
    mark_name(mark, name);
    (void)snprintf(sql, sizeof(sql), "SELECT value FROM marks WHERE name = '%s'", name);
    int r = query(d, sql, &last);
    return r < 0 ? r : mark.number <= (uint64_t)last;
}

int day_commit(struct day *d)
{
    return db_commit(d->db);
}
