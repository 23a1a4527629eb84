/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How long rows are kept: days that go by age or budget, what is archived before, files that are
 * damaged, and files of programs with other fields. test-links: zstd
 */
#include "harness.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#include "base/buf.h"
#include "base/file.h"
#include "base/limits.h"
#include "base/mem.h"
#include "sample.h"
#include "store/bytes.h"
#include "store/rows.h"
#include "store/segment_private.h"
#include "tally.h"
#include "tempdir.h"

enum { ROWS_A_DAY = 300, N_DAYS = 6 };

static const int64_t first_day = 20787; /* 2026-11-30 */

struct fixture {
    struct tempdir dir;
    struct rows *rows;
    struct rng g;
    struct sample sample;
};

static void setup(struct fixture *f, const struct rows_config *config)
{
    *f = (struct fixture){0};
    rng_seed(&f->g, 11);
    tempdir_make(&f->dir);
    assert_int_equal(rows_open(f->dir.path, config, &f->rows, NULL), 0);
}

static void teardown(struct fixture *f)
{
    rows_close(f->rows);
    tempdir_remove(&f->dir);
    assert_int_equal(mem_live_blocks(), 0);
}

static void add_day(struct fixture *f, int64_t day)
{
    for (int i = 0; i < ROWS_A_DAY; i++) {
        sample_fill(&f->sample, &f->g, day * DAY_US + i * US_PER_S);
        assert_int_equal(rows_append(f->rows, &f->sample.r), 0);
        if (i % 50 == 49)
            assert_int_equal(rows_commit(f->rows), 0);
    }
}

static void maintain(struct fixture *f, int64_t now_us)
{
    int more;
    while ((more = rows_maintain(f->rows, (wall_t){now_us})) == 1)
        ;
    assert_int_equal(more, 0);
}

static int days_there(const struct fixture *f)
{
    int64_t *days = NULL;
    size_t n;
    assert_int_equal(day_list(f->dir.path, &days, &n), 0);
    mem_free(days);
    return (int)n;
}

/* --- days that go --- */

static void days_go_when_they_are_old_enough(void **state)
{
    (void)state;
    struct fixture f;
    struct rows_stats stats;
    setup(&f, &(struct rows_config){.keep_us = 3 * DAY_US});
    for (int64_t day = 0; day < N_DAYS; day++) {
        add_day(&f, first_day + day);
        maintain(&f, (first_day + day) * DAY_US + DAY_US / 2);
        /* A day goes once its last moment is three days ago. */
        assert_int_equal(days_there(&f), day < 3 ? day + 1 : 4);
    }
    rows_stats(f.rows, &stats);
    assert_int_equal(stats.n_days_expired, 2);
    assert_int_equal(tally_asked(f.dir.path), 4 * ROWS_A_DAY);
    maintain(&f, (first_day + 5) * DAY_US + 3 * DAY_US - 1);
    assert_int_equal(days_there(&f), 2);
    teardown(&f);
}

static void the_oldest_go_when_the_disk_budget_is_used_up(void **state)
{
    (void)state;
    struct fixture f;
    struct rows_stats stats;
    setup(&f, &(struct rows_config){.max_disk_bytes = 1});
    for (int64_t day = 0; day < 3; day++)
        add_day(&f, first_day + day);
    maintain(&f, (first_day + 2) * DAY_US + DAY_US / 2);
    assert_int_equal(days_there(&f), 1); /* the one that is being written stays */
    assert_int_equal(tally_asked(f.dir.path), ROWS_A_DAY);
    rows_stats(f.rows, &stats);
    assert_int_equal(stats.n_days_over_budget, 2);
    assert_int_equal(rows_configure(f.rows, NULL), 0);
    add_day(&f, first_day + 3);
    maintain(&f, (first_day + 3) * DAY_US + DAY_US / 2);
    assert_int_equal(days_there(&f), 2);
    teardown(&f);
}

/* One day of several segments that are some 6 MiB: the older ones go. */
static void of_a_day_that_is_too_large_the_oldest_rows_go(void **state)
{
    (void)state;
    struct fixture f;
    struct rows_stats stats;
    setup(&f, NULL);
    for (int i = 0; i < 61; i++)
        add_day(&f, first_day);
    wall_t now = {first_day * DAY_US + DAY_US / 2};
    maintain(&f, now.us);
    struct rows_config config = {.max_disk_bytes = 3 * MIB};
    assert_int_equal(rows_configure(f.rows, &config), 0);
    maintain(&f, now.us);
    rows_stats(f.rows, &stats);
    assert_true(stats.n_rows_over_budget >= 4096);
    size_t n = tally_scanned(f.dir.path);
    assert_int_equal(n, 61 * ROWS_A_DAY - stats.n_rows_over_budget);
    assert_true(n > 4096); /* no more than needed */
    teardown(&f);
}

/* A day that ended is one segment and no tail, and its file is closed. */
static void a_day_that_is_over_is_finished(void **state)
{
    (void)state;
    struct fixture f;
    int64_t n = -1;
    setup(&f, NULL);
    add_day(&f, first_day);
    rows_close(f.rows); /* over midnight nobody was there */
    assert_int_equal(rows_open(f.dir.path, NULL, &f.rows, NULL), 0);
    maintain(&f, (first_day + 1) * DAY_US + DAY_US / 2);
    struct db *d = NULL;
    const char *path = tempdir_file(&f.dir, "requests-2026-11-30.db");
    assert_int_equal(access(tempdir_file(&f.dir, "requests-2026-11-30.db-wal"), F_OK), -1);
    assert_int_equal(db_open(path, &day_schema, DB_READ, &d, NULL), 0);
    assert_int_equal(db_query_i64(d, "SELECT count(*) FROM tail", &n), 0);
    assert_int_equal(n, 0);
    assert_int_equal(db_query_i64(d, "SELECT sum(n_rows) FROM segments", &n), 0);
    assert_int_equal(n, ROWS_A_DAY);
    db_close(d);
    teardown(&f);
}

/* A clock that is wrong by ages costs no row. */
static void rows_of_impossible_days_are_kept(void **state)
{
    (void)state;
    struct fixture f;
    static const int64_t times[] = {-5, 0, INT64_C(-62135596800000000), INT64_C(253402300800000000),
                                    INT64_C(999999999999999999)};
    setup(&f, NULL);
    for (size_t i = 0; i < ARRAY_LEN(times); i++) {
        record_init(&f.sample.r);
        f.sample.r.started_at.us = times[i];
        snprintf(f.sample.r.request_id, sizeof(f.sample.r.request_id), "r%zu", i);
        assert_int_equal(rows_append(f.rows, &f.sample.r), 0);
    }
    assert_int_equal(rows_commit(f.rows), 0);
    struct rows_reader *reader = NULL;
    assert_int_equal(rows_reader_open(f.dir.path, &reader, NULL), 0);
    for (size_t i = 0; i < ARRAY_LEN(times); i++) {
        char id[8];
        size_t n = 0;
        snprintf(id, sizeof(id), "r%zu", i);
        assert_int_equal(rows_find(reader, span_cstr(id), tally_row, &n), 0);
        assert_int_equal(n, 1);
    }
    rows_reader_close(reader);
    teardown(&f);
}

/* --- archive --- */

static size_t read_archive(const char *path, char *first_line, size_t cap)
{
    struct buf file;
    size_t n_lines = 0;
    buf_init(&file, 64 * MIB);
    assert_int_equal(file_read(path, 64 * MIB, &file), 0);
    size_t room = 64 * MIB;
    char *text = mem_must(mem_alloc(room));
    ZSTD_DStream *zstd = ZSTD_createDStream();
    ZSTD_inBuffer in = {buf_span(&file).p, buf_len(&file), 0};
    ZSTD_outBuffer out = {text, room, 0};
    assert_int_equal(ZSTD_decompressStream(zstd, &out, &in), 0); /* whole, its checksum right */
    ZSTD_freeDStream(zstd);
    struct span rest = {text, out.pos};
    (void)span_copy(span_of(text, span_find_char(rest, '\n')), first_line, cap);
    while (rest.n > 0) {
        struct span line = span_split(&rest, '\n');
        n_lines += line.p[0] == '{' && line.p[line.n - 1] == '}';
    }
    mem_free(text);
    buf_done(&file);
    return n_lines;
}

static void days_are_archived_before_they_go(void **state)
{
    (void)state;
    struct fixture f;
    static char line[65536];
    struct buf want;
    char archive[128];
    tempdir_make(&f.dir);
    snprintf(archive, sizeof(archive), "%s/archive", f.dir.path);
    struct tempdir unused = f.dir;
    setup(&f, &(struct rows_config){.keep_us = DAY_US, .archive_dir = archive});
    buf_init(&want, MIB);
    struct rng before = f.g;
    add_day(&f, first_day);
    maintain(&f, first_day * DAY_US + DAY_US / 2);
    assert_int_equal(days_there(&f), 1);
    maintain(&f, (first_day + 2) * DAY_US);
    assert_int_equal(days_there(&f), 0);
    char path[256];
    snprintf(path, sizeof(path), "%s/requests-2026-11-30.jsonl.zst", archive);
    assert_int_equal(read_archive(path, line, sizeof(line)), ROWS_A_DAY);
    sample_fill(&f.sample, &before, first_day * DAY_US);
    assert_int_equal(record_to_json(&f.sample.r, &want), 0);
    assert_span_equal("first line", span_cstr(line), buf_span(&want));
    /* Rows of that day that come afterwards go into another archive. */
    add_day(&f, first_day);
    maintain(&f, (first_day + 2) * DAY_US + 120 * US_PER_S);
    snprintf(path, sizeof(path), "%s/requests-2026-11-30.2.jsonl.zst", archive);
    assert_int_equal(read_archive(path, line, sizeof(line)), ROWS_A_DAY);
    buf_done(&want);
    tempdir_remove(&unused);
    teardown(&f);
}

static void a_day_that_cannot_be_archived_stays_unless_the_disk_is_full(void **state)
{
    (void)state;
    struct fixture f;
    setup(&f, &(struct rows_config){.keep_us = DAY_US, .archive_dir = "/proc/nowhere"});
    add_day(&f, first_day);
    add_day(&f, first_day + 1);
    maintain(&f, (first_day + 2) * DAY_US);
    assert_int_equal(days_there(&f), 2);
    struct rows_config config = {.archive_dir = "/proc/nowhere", .max_disk_bytes = 1};
    assert_int_equal(rows_configure(f.rows, &config), 0);
    maintain(&f, (first_day + 2) * DAY_US);
    assert_int_equal(days_there(&f), 1);
    teardown(&f);
}

/* --- damage --- */

static void overwrite(const char *path, off_t at, size_t n)
{
    char noise[4096];
    int fd = open(path, O_WRONLY);
    memset(noise, 0x5a, sizeof(noise));
    assert_true(fd >= 0);
    assert_int_equal(pwrite(fd, noise, n, at), n);
    close(fd);
}

static void a_damaged_day_is_set_aside_and_begun_anew(void **state)
{
    (void)state;
    struct fixture f;
    struct rows_stats stats;
    setup(&f, NULL);
    add_day(&f, first_day);
    rows_close(f.rows);
    overwrite(tempdir_file(&f.dir, "requests-2026-11-30.db"), 0, 4096);
    assert_int_equal(rows_open(f.dir.path, NULL, &f.rows, NULL), 0);
    add_day(&f, first_day);
    rows_stats(f.rows, &stats);
    assert_int_equal(stats.n_days_set_aside, 1);
    assert_true(tempdir_count(&f.dir, "requests-2026-11-30.db.damaged-") >= 1);
    assert_int_equal(tally_asked(f.dir.path), ROWS_A_DAY);
    assert_int_equal(days_there(&f), 1); /* what is aside is no day */
    teardown(&f);
}

/* Damage inside of a segment: the answer goes on without its rows. */
static void questions_go_on_without_what_is_damaged(void **state)
{
    (void)state;
    struct fixture f;
    struct db *d = NULL;
    setup(&f, NULL);
    add_day(&f, first_day);
    add_day(&f, first_day + 1);
    maintain(&f, (first_day + 1) * DAY_US + DAY_US / 2);
    rows_close(f.rows);
    f.rows = NULL;
    const char *path = tempdir_file(&f.dir, "requests-2026-11-30.db");
    assert_int_equal(db_open(path, &day_schema, DB_WRITE, &d, NULL), 0);
    assert_int_equal(db_exec(d, "UPDATE columns SET body = zeroblob(40) WHERE id % 1024 ="
                                " (SELECT id FROM fields WHERE name = 'total_ms')"),
                     0);
    db_close(d);
    assert_int_equal(tally_asked(f.dir.path), ROWS_A_DAY);
    teardown(&f);
}

/* Rows with a status of at least 1. */
static size_t count_answered(const struct fixture *f)
{
    struct rows_reader *reader = NULL;
    struct rows_condition condition = {
        .field = sample_field("status"), .test = ROWS_GE, .number = 1};
    struct rows_question q = {
        .to = {INT64_MAX}, .conditions = &condition, .n_conditions = 1, .limit = ROWS_LIMIT_MAX};
    size_t n = 0;
    assert_int_equal(rows_reader_open(f->dir.path, &reader, NULL), 0);
    assert_int_equal(rows_ask(reader, &q, tally_row, &n), 0);
    rows_reader_close(reader);
    return n;
}

/* Zones that say that every number is 0 in all rows; their checksum does not fit any more. */
static void spoil_zones(struct db *d)
{
    enum { VALUES_BYTES = 2 * sizeof(double), CHECKSUM_BYTES = 8 };
    sqlite3_stmt *get, *put;
    char zones[8192];
    size_t n_spoilt = 0;
    assert_int_equal(db_prepare(d, "SELECT row, zones FROM segments", &get), 0);
    assert_int_equal(db_prepare(d, "UPDATE segments SET zones = ? WHERE row = ?", &put), 0);
    while (db_step(get) == 1) {
        struct span all = db_column_span(get, 1);
        assert_in_range(all.n, VALUES_BYTES + CHECKSUM_BYTES, sizeof(zones));
        memcpy(zones, all.p, all.n);
        struct bytes b = bytes_of(span_of(all.p, all.n - CHECKSUM_BYTES));
        while (bytes_left(&b) > 0) {
            bytes_varint(&b); /* the field */
            struct span values = bytes_take(&b, VALUES_BYTES);
            assert_int_equal(values.n, VALUES_BYTES);
            memset(zones + (values.p - all.p), 0, VALUES_BYTES);
        }
        assert_int_equal(db_bind_blob(put, 1, span_of(zones, all.n)), 0);
        assert_int_equal(sqlite3_bind_int64(put, 2, sqlite3_column_int64(get, 0)), SQLITE_OK);
        assert_int_equal(db_step(put), 0);
        db_reset(put);
        n_spoilt++;
    }
    assert_true(n_spoilt > 0);
    sqlite3_finalize(get);
    sqlite3_finalize(put);
}

/* What may be passed over is told by zones; those that are damaged hide nothing. */
static void damaged_zones_hide_no_row(void **state)
{
    (void)state;
    struct fixture f;
    struct db *d = NULL;
    setup(&f, NULL);
    add_day(&f, first_day);
    add_day(&f, first_day + 1);
    maintain(&f, (first_day + 1) * DAY_US + DAY_US / 2);
    rows_close(f.rows);
    f.rows = NULL;
    size_t n_answered = count_answered(&f);
    assert_true(n_answered > ROWS_A_DAY);
    const char *path = tempdir_file(&f.dir, "requests-2026-11-30.db");
    assert_int_equal(db_open(path, &day_schema, DB_WRITE, &d, NULL), 0);
    spoil_zones(d);
    db_close(d);
    assert_int_equal(count_answered(&f), n_answered);
    teardown(&f);
}

/* --- other programs --- */

static char *put_text(char *at, const char *text)
{
    return bytes_put_span(bytes_put_varint(at, strlen(text)), span_cstr(text));
}

/* A layout as another program might have it: started_at, request_id, a field that this one has not,
 * outcomes in another order with one more, flags likewise. */
static size_t foreign_layout(char *to)
{
    char *at = bytes_put_varint(to, 1);
    at = bytes_put_varint(at, 6);
    *at++ = 'w';
    at = bytes_put_varint(put_text(at, "started_at"), 0);
    *at++ = 's';
    at = bytes_put_varint(put_text(at, "request_id"), 0);
    *at++ = 'i';
    at = bytes_put_varint(put_text(at, "of_another_time"), 0);
    *at++ = 'e';
    at = bytes_put_varint(put_text(at, "outcome"), 3);
    at = put_text(put_text(put_text(at, "eaten_by_a_dog"), "http_error"), "ok");
    *at++ = 'f';
    at = bytes_put_varint(put_text(at, "flags"), 2);
    at = put_text(put_text(at, "upside_down"), "slow");
    *at++ = 's'; /* a text here, a duration with us */
    at = bytes_put_varint(put_text(at, "ttft_ms"), 0);
    return (size_t)(at - to);
}

/* Rows r0, r1, r2 with outcomes 0, 1, 2. */
static size_t foreign_rows(char *to)
{
    char *at = to;
    for (int i = 0; i < 3; i++) {
        char id[8];
        snprintf(id, sizeof(id), "r%d", i);
        *at++ = (char)(i == 0 ? 0x37 : 0x3f); /* a bit per field that is told */
        at = bytes_put_varint(at, varint_zigzag(i == 0 ? first_day * DAY_US : 1000));
        at = bytes_put_span(bytes_put_varint(at, ROWCODE_SLOTS + 2), span_cstr(id));
        at = bytes_put_varint(at, varint_zigzag(77));
        if (i > 0)
            at = bytes_put_varint(at, varint_zigzag(i));
        at = bytes_put_varint(at, varint_zigzag(3)); /* both flags */
        at = bytes_put_span(bytes_put_varint(at, ROWCODE_SLOTS + 4), SPAN("soon"));
    }
    return (size_t)(at - to);
}

struct foreign {
    int n;
};

static int check_foreign(void *ctx, uint64_t key, const struct record *r)
{
    static const int outcomes[] = {-1, OUTCOME_HTTP_ERROR, OUTCOME_OK};
    struct foreign *f = ctx;
    char id[16];
    (void)key;
    snprintf(id, sizeof(id), "r%d", f->n);
    assert_string_equal(r->request_id, id);
    assert_int_equal((int)r->outcome, outcomes[f->n]);
    assert_int_equal(r->flags, RECORD_SLOW);
    assert_int_equal(r->ttft_ns, -1);
    assert_int_equal(r->prompt_tokens, -1);
    assert_string_equal(r->endpoint, "");
    assert_int_equal(r->started_at.us, first_day * DAY_US + f->n * 1000);
    f->n++;
    return 0;
}

static void check_foreign_rows(const struct fixture *f)
{
    struct rows_reader *reader = NULL;
    struct foreign all = {0};
    struct foreign unknown = {0};
    struct rows_condition c = {sample_field("outcome"), ROWS_UNKNOWN, {0}, 0};
    struct rows_question q = {.to = {INT64_MAX}, .limit = 10};
    assert_int_equal(rows_reader_open(f->dir.path, &reader, NULL), 0);
    assert_int_equal(rows_ask(reader, &q, check_foreign, &all), 0);
    assert_int_equal(all.n, 3);
    q.conditions = &c;
    q.n_conditions = 1;
    assert_int_equal(rows_ask(reader, &q, check_foreign, &unknown), 0);
    assert_int_equal(unknown.n, 1);
    c = (struct rows_condition){sample_field("ttft_ms"), ROWS_KNOWN, {0}, 0};
    size_t n = 0;
    assert_int_equal(rows_ask(reader, &q, tally_row, &n), 0);
    assert_int_equal(n, 0);
    rows_reader_close(reader);
}

static void rows_of_other_programs_are_read(void **state)
{
    (void)state;
    struct fixture f;
    char layout[512];
    char rows[512];
    struct buf block;
    struct day_mark mark = {.epoch = 1, .number = 1};
    setup(&f, NULL);
    buf_init(&block, KIB);
    assert_int_equal(buf_append(&block, span_of(rows, foreign_rows(rows))), 0);
    assert_int_equal(segment_put_checksum(&block), 0);
    struct day_block b = {.rows = buf_span(&block),
                          .layout = span_of(layout, foreign_layout(layout)),
                          .n_rows = 3,
                          .from_us = first_day * DAY_US,
                          .to_us = first_day * DAY_US + 2000};
    assert_int_equal(rows_put_block(f.rows, first_day, &b, &mark), 0);
    check_foreign_rows(&f); /* in the tail */
    maintain(&f, (first_day + 2) * DAY_US);
    check_foreign_rows(&f); /* in columns */
    buf_done(&block);
    teardown(&f);
}

/* A file whose columns lack a field, and have one that nobody knows. */
static void columns_of_other_programs_are_read(void **state)
{
    (void)state;
    struct fixture f;
    struct db *d = NULL;
    size_t n = 0;
    struct rows_reader *reader = NULL;
    setup(&f, NULL);
    add_day(&f, first_day);
    maintain(&f, (first_day + 2) * DAY_US);
    const char *path = tempdir_file(&f.dir, "requests-2026-11-30.db");
    assert_int_equal(db_open(path, &day_schema, DB_WRITE, &d, NULL), 0);
    assert_int_equal(
        db_exec(d, "UPDATE fields SET name = 'gone_since' WHERE name = 'completion_tokens'"), 0);
    db_close(d);
    assert_int_equal(tally_asked(f.dir.path), ROWS_A_DAY);
    struct rows_condition c = {sample_field("completion_tokens"), ROWS_UNKNOWN, {0}, 0};
    struct rows_question q = {
        .to = {INT64_MAX}, .limit = ROWS_LIMIT_MAX, .conditions = &c, .n_conditions = 1};
    assert_int_equal(rows_reader_open(f.dir.path, &reader, NULL), 0);
    assert_int_equal(rows_ask(reader, &q, tally_row, &n), 0);
    assert_int_equal(n, ROWS_A_DAY);
    rows_reader_close(reader);
    teardown(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(days_go_when_they_are_old_enough),
        cmocka_unit_test(the_oldest_go_when_the_disk_budget_is_used_up),
        cmocka_unit_test(of_a_day_that_is_too_large_the_oldest_rows_go),
        cmocka_unit_test(a_day_that_is_over_is_finished),
        cmocka_unit_test(rows_of_impossible_days_are_kept),
        cmocka_unit_test(days_are_archived_before_they_go),
        cmocka_unit_test(a_day_that_cannot_be_archived_stays_unless_the_disk_is_full),
        cmocka_unit_test(a_damaged_day_is_set_aside_and_begun_anew),
        cmocka_unit_test(questions_go_on_without_what_is_damaged),
        cmocka_unit_test(damaged_zones_hide_no_row),
        cmocka_unit_test(rows_of_other_programs_are_read),
        cmocka_unit_test(columns_of_other_programs_are_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
