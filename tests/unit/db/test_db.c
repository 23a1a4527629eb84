/* SPDX-License-Identifier: Apache-2.0 */
#include "db/db.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "faultvfs.h"
#include "harness.h"
#include "memfail.h"
#include "tempdir.h"

static const char *const steps[] = {
    "CREATE TABLE a(x INTEGER PRIMARY KEY, y TEXT); INSERT INTO a VALUES (1, 'one')",
    "ALTER TABLE a ADD COLUMN z INTEGER DEFAULT 7",
    "CREATE TABLE b(p BLOB); INSERT INTO b SELECT y FROM a",
};
static const struct db_schema schema_v3 = {"tests", 0x696e7431, steps, 3};

static struct tempdir dir;
static const char *path;

static int setup(void **state)
{
    (void)state;
    tempdir_make(&dir);
    static char name[128];
    snprintf(name, sizeof(name), "%s", tempdir_file(&dir, "t.db"));
    path = name;
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    tempdir_remove(&dir);
    return 0;
}

static struct db *must_open(const struct db_schema *schema, enum db_mode mode)
{
    struct db *d = NULL;
    struct err err = {0};
    if (db_open(path, schema, mode, &d, &err) != 0)
        fail_msg("%s", err.text);
    return d;
}

static int64_t ask(struct db *d, const char *sql)
{
    int64_t n = -1;
    assert_int_equal(db_query_i64(d, sql, &n), 0);
    return n;
}

static void must(struct db *d, const char *sql)
{
    if (db_exec(d, sql) != 0)
        fail_msg("%s: %s", sql, db_error(d));
}

static void fill(struct db *d, int n_rows)
{
    char sql[200];
    snprintf(sql, sizeof(sql),
             "WITH RECURSIVE n(i) AS (SELECT 10 UNION ALL SELECT i + 1 FROM n WHERE i < %d) "
             "INSERT INTO a(x, y) SELECT i, printf('%%.200c', 'y') FROM n",
             n_rows + 9);
    must(d, sql);
}

static void test_settings(void **state)
{
    (void)state;
    struct db *d = must_open(&schema_v3, DB_WRITE);
    sqlite3_stmt *s;
    assert_int_equal(db_prepare(d, "PRAGMA journal_mode", &s), 0);
    assert_int_equal(db_step(s), 1);
    assert_span_equal("mode", db_column_span(s, 0), SPAN("wal"));
    sqlite3_finalize(s);
    assert_int_equal(ask(d, "PRAGMA synchronous"), 1);
    assert_int_equal(ask(d, "PRAGMA auto_vacuum"), 2);
    assert_int_equal(ask(d, "PRAGMA user_version"), 3);
    assert_int_equal(ask(d, "PRAGMA application_id"), 0x696e7431);
    assert_int_equal(ask(d, "PRAGMA busy_timeout"), 2000);
    struct db *r = must_open(&schema_v3, DB_READ);
    assert_int_equal(db_exec(r, "INSERT INTO a(x) VALUES (99)"), -EROFS);
    assert_int_equal(ask(r, "SELECT count(*) FROM a"), 1);
    db_close(r);
    db_close(d);
    assert_null(db_close(NULL));
}

static void test_every_older_version_is_migrated(void **state)
{
    (void)state;
    for (size_t v = 1; v <= 3; v++) {
        struct db_schema old = schema_v3;
        old.n_migrations = v;
        db_close(must_open(&old, DB_WRITE));
        struct db *d = must_open(&schema_v3, DB_WRITE);
        assert_int_equal(ask(d, "PRAGMA user_version"), 3);
        assert_int_equal(ask(d, "SELECT z FROM a"), 7);
        assert_int_equal(ask(d, "SELECT count(*) FROM b"), 1);
        db_close(d);
        unlink(path);
    }
}

static void test_failed_migration_leaves_the_file(void **state)
{
    (void)state;
    const char *const broken[] = {steps[0], "CREATE TABLE c(x); NONSENSE"};
    struct db_schema old = schema_v3, bad = {"tests", 0x696e7431, broken, 2};
    old.n_migrations = 1;
    struct db *d = NULL;
    struct err err = {0};
    db_close(must_open(&old, DB_WRITE));
    assert_int_equal(db_open(path, &bad, DB_WRITE, &d, &err), -EINVAL);
    assert_null(d);
    d = must_open(&old, DB_WRITE);
    assert_int_equal(ask(d, "PRAGMA user_version"), 1);
    assert_int_equal(ask(d, "SELECT count(*) FROM sqlite_schema WHERE name='c'"), 0);
    db_close(d);
}

/* What a reader sees of a file that another process is making. */
static void test_empty_files_are_not_there_yet(void **state)
{
    (void)state;
    struct db_schema none = {.name = "nothing", .application_id = 7};
    struct db *d = NULL;
    struct err err = {0};
    int fd = open(path, O_WRONLY | O_CREAT, 0600);
    assert_true(fd >= 0);
    close(fd);
    assert_int_equal(db_open(path, &schema_v3, DB_READ, &d, &err), -ENOENT);
    db_close(must_open(&none, DB_WRITE)); /* a header and no table */
    assert_int_equal(db_open(path, &schema_v3, DB_READ, &d, &err), -ENOENT);
    assert_non_null(strstr(err.text, "is empty"));
    db_close(must_open(&schema_v3, DB_WRITE));
    db_close(must_open(&schema_v3, DB_READ));
}

static void test_other_versions_are_refused(void **state)
{
    (void)state;
    struct db_schema old = schema_v3, other = schema_v3;
    old.n_migrations = 2;
    other.application_id = 42;
    struct db *d = NULL;
    struct err err = {0};
    assert_int_equal(db_open(path, &schema_v3, DB_READ, &d, &err), -ENOENT);
    db_close(must_open(&schema_v3, DB_WRITE));
    assert_int_equal(db_open(path, &old, DB_WRITE, &d, &err), -EPROTO);
    assert_non_null(strstr(err.text, "version 3, this program knows 2"));
    assert_true(err.hint[0] != '\0');
    assert_int_equal(db_open(path, &old, DB_READ, &d, &err), -EPROTO);
    assert_int_equal(db_open(path, &other, DB_WRITE, &d, &err), -EPROTO);
    bool was_damaged;
    assert_int_equal(db_open_or_replace(path, &old, &d, &was_damaged, &err), -EPROTO);
    assert_int_equal(tempdir_count(&dir, "t.db.damaged"), 0);
    unlink(path);
    db_close(must_open(&old, DB_WRITE));
    assert_int_equal(db_open(path, &schema_v3, DB_READ, &d, &err), -EPROTO); /* not migrated */
    assert_null(d);
}

static void test_strange_paths(void **state)
{
    (void)state;
    struct db *d = NULL;
    struct err err = {0};
    char longest[5000];
    memset(longest, 'a', sizeof(longest) - 1);
    longest[sizeof(longest) - 1] = '\0';
    assert_int_equal(db_open("", &schema_v3, DB_WRITE, &d, &err), -EINVAL);
    assert_int_equal(db_open(longest, &schema_v3, DB_WRITE, &d, &err), -ENAMETOOLONG);
    assert_int_equal(db_open(tempdir_file(&dir, "no/t.db"), &schema_v3, DB_WRITE, &d, &err),
                     -ENOENT);
    assert_int_equal(db_open(dir.path, &schema_v3, DB_WRITE, &d, &err), -EISDIR);
}

static mode_t mode_of(const char *name)
{
    struct stat st;
    assert_int_equal(stat(name, &st), 0);
    return st.st_mode & 0777;
}

static void test_others_cannot_read(void **state)
{
    (void)state;
    char wal[140];
    snprintf(wal, sizeof(wal), "%s-wal", path);
    mode_t mask = umask(0);
    struct db *d = must_open(&schema_v3, DB_WRITE);
    must(d, "INSERT INTO a(y) VALUES('x')");
    assert_int_equal(mode_of(path), 0640);
    assert_int_equal(mode_of(wal), 0640);
    db_close(d);
    assert_int_equal(chmod(path, 0644), 0); /* as files were once */
    d = must_open(&schema_v3, DB_WRITE);
    must(d, "INSERT INTO a(y) VALUES('x')");
    assert_int_equal(mode_of(path), 0640);
    assert_int_equal(mode_of(wal), 0640);
    db_close(d);
    umask(mask);
}

static void test_a_path_is_no_uri(void **state)
{
    (void)state;
    struct db *d = NULL;
    char before[4096];
    assert_non_null(getcwd(before, sizeof(before)));
    assert_int_equal(chdir(dir.path), 0);
    assert_int_equal(db_open("file:t?mode=memory", &schema_v3, DB_WRITE, &d, NULL), 0);
    assert_int_equal(access("file:t?mode=memory", R_OK), 0);
    db_close(d);
    assert_int_equal(chdir(before), 0);
}

static void write_bytes(off_t at, const char *p, size_t n)
{
    int fd = open(path, O_WRONLY | O_CREAT, 0644);
    assert_int_equal(pwrite(fd, p, n, at), (ssize_t)n);
    close(fd);
}

static void make_big(void)
{
    struct db *d = must_open(&schema_v3, DB_WRITE);
    fill(d, 500);
    db_close(d);
}

static void damage_text(void)
{
    write_bytes(0,
                "this is a text, and it is longer than a header of SQLite's has to be: "
                "well beyond a hundred bytes of it, so that it is looked at.",
                130);
}

static void damage_header(void)
{
    make_big();
    write_bytes(0, "SQLitf", 6);
}

static void damage_schema(void)
{
    make_big();
    char junk[2000];
    memset(junk, 0x77, sizeof(junk));
    write_bytes(100, junk, sizeof(junk));
}

static void damage_truncated(void)
{
    make_big();
    assert_int_equal(truncate(path, 4096 * 3), 0);
}

static void damage_cut_short(void)
{
    make_big();
    assert_int_equal(truncate(path, 77), 0);
}

static const struct {
    const char *name;
    void (*make)(void);
} damages[] = {
    {"text", damage_text},           {"header", damage_header},       {"schema", damage_schema},
    {"truncated", damage_truncated}, {"cut short", damage_cut_short},
};

static struct span slurp(const char *name, char *to, size_t cap)
{
    FILE *f = fopen(name, "rb");
    assert_non_null(f);
    size_t n = fread(to, 1, cap, f);
    fclose(f);
    return span_of(to, n);
}

static void test_damaged_files_go_aside(void **state)
{
    (void)state;
    static char before[1 << 20], after[1 << 20];
    for (size_t i = 0; i < ARRAY_LEN(damages); i++) {
        struct db *d = NULL;
        struct err err = {0};
        bool was_damaged = false;
        char aside[256];
        damages[i].make();
        struct span want = slurp(path, before, sizeof(before));
        assert_row(damages[i].name, db_open(path, &schema_v3, DB_WRITE, &d, &err) == -EBADMSG);
        assert_row(damages[i].name, db_open(path, &schema_v3, DB_READ, &d, &err) == -EBADMSG);
        assert_span_equal(damages[i].name, slurp(path, after, sizeof(after)), want);
        assert_row(damages[i].name,
                   db_open_or_replace(path, &schema_v3, &d, &was_damaged, &err) == 0);
        assert_row(damages[i].name, was_damaged);
        assert_int_equal(ask(d, "SELECT count(*) FROM a"), 1);
        db_close(d);
        snprintf(aside, sizeof(aside), "%s.damaged-20270115T0800", path);
        assert_span_equal(damages[i].name, slurp(aside, after, sizeof(after)), want);
        tempdir_remove(&dir);
        setup(NULL);
    }
}

static void test_aside_is_never_over_another(void **state)
{
    (void)state;
    char aside[256];
    for (int i = 0; i < 3; i++) {
        write_bytes(0, "x", 1);
        assert_int_equal(db_set_aside(path, aside, sizeof(aside)), 0);
    }
    assert_int_equal(tempdir_count(&dir, "t.db.damaged-20270115T0800"), 3);
    assert_non_null(strstr(aside, "T0800-3"));
    assert_int_equal(db_set_aside(path, NULL, 0), -ENOENT);
    /* A WAL that lies there is enough to make a name taken; ours goes along. */
    FILE *f = fopen(tempdir_file(&dir, "t.db.damaged-20270115T0800-4-wal"), "w");
    fclose(f);
    write_bytes(0, "x", 1);
    f = fopen(tempdir_file(&dir, "t.db-wal"), "w");
    fclose(f);
    assert_int_equal(db_set_aside(path, aside, sizeof(aside)), 0);
    assert_non_null(strstr(aside, "T0800-5"));
    assert_int_equal(access(tempdir_file(&dir, "t.db.damaged-20270115T0800-5-wal"), F_OK), 0);
    assert_int_equal(access(tempdir_file(&dir, "t.db-wal"), F_OK), -1);
}

static void test_damaged_page(void **state)
{
    (void)state;
    make_big();
    char junk[4096];
    memset(junk, 0x55, sizeof(junk));
    write_bytes(4096 * 8, junk, sizeof(junk));
    struct db *d = must_open(&schema_v3, DB_WRITE); /* not looked at yet */
    int64_t n;
    assert_int_equal(db_query_i64(d, "SELECT sum(length(y)) FROM a", &n), -EBADMSG);
    assert_non_null(strstr(db_error(d), "malformed"));
    db_close(d);
}

static void test_locked(void **state)
{
    (void)state;
    struct db *d = must_open(&schema_v3, DB_WRITE), *e = must_open(&schema_v3, DB_WRITE);
    must(e, "PRAGMA busy_timeout=10");
    assert_int_equal(db_begin(d), 0);
    assert_int_equal(db_begin(e), -EBUSY);
    struct db *r = must_open(&schema_v3, DB_READ); /* readers do not mind */
    assert_int_equal(ask(r, "SELECT count(*) FROM a"), 1);
    db_rollback(d);
    db_rollback(d);
    assert_int_equal(db_begin(e), 0);
    assert_int_equal(db_commit(e), 0);
    db_close(r);
    db_close(e);
    db_close(d);
}

static void test_read_only_file(void **state)
{
    (void)state;
    if (geteuid() == 0) /* root may write everywhere */
        skip();
    db_close(must_open(&schema_v3, DB_WRITE));
    chmod(path, 0444);
    struct db *d = NULL;
    struct err err = {0};
    assert_int_equal(db_open(path, &schema_v3, DB_WRITE, &d, &err), -EROFS);
    assert_non_null(strstr(err.hint, "writable"));
}

static void test_disk_full(void **state)
{
    (void)state;
    faultvfs_install();
    struct db *d = must_open(&schema_v3, DB_WRITE);
    faultvfs_fail(FAULTVFS_FULL, 1, true);
    assert_int_equal(db_begin(d), 0);
    must(d, "INSERT INTO a(x) VALUES (50)");
    assert_int_equal(db_commit(d), -ENOSPC);
    db_rollback(d);
    assert_int_equal(ask(d, "SELECT count(*) FROM a"), 1);
    faultvfs_heal();
    must(d, "INSERT INTO a(x) VALUES (50)");
    assert_int_equal(ask(d, "SELECT count(*) FROM a"), 2);
    db_close(d);
    faultvfs_remove();
}

/* Whatever fails: an error, no crash, and afterwards everything or nothing of it is there. */
static void test_faults_at_every_call(void **state)
{
    (void)state;
    faultvfs_install();
    for (int kind = 0; kind < FAULTVFS_COUNT_; kind++) {
        for (uint64_t n = 1;; n++) {
            struct db *d = NULL;
            struct err err = {0};
            unlink(path);
            unlink(tempdir_file(&dir, "t.db-wal"));
            unlink(tempdir_file(&dir, "t.db-shm"));
            make_big();
            faultvfs_fail(kind, n, kind == FAULTVFS_FULL);
            int r = db_open(path, &schema_v3, DB_WRITE, &d, &err);
            if (r == 0) {
                must(d, "PRAGMA busy_timeout=0");
                r = db_begin(d);
                if (r == 0)
                    r = db_exec(d, "UPDATE a SET z = 8");
                if (r == 0)
                    r = db_commit(d);
                db_rollback(d);
            }
            bool was_hit = faultvfs_n_failed() > 0;
            faultvfs_heal();
            db_close(d);
            d = must_open(&schema_v3, DB_WRITE);
            int64_t n_rows = ask(d, "SELECT count(*) FROM a WHERE z = 8");
            assert_true(n_rows == 0 || n_rows == 501);
            assert_true(r != 0 || n_rows == 501);
            db_close(d);
            if (!was_hit)
                break;
            assert_true(n < 2000);
        }
    }
    faultvfs_remove();
}

static int attempt(void *ctx)
{
    (void)ctx;
    struct db *d = NULL;
    struct err err = {0};
    bool was_damaged = false;
    unlink(path);
    unlink(tempdir_file(&dir, "t.db-wal"));
    unlink(tempdir_file(&dir, "t.db-shm"));
    int r = db_open_or_replace(path, &schema_v3, &d, &was_damaged, &err);
    if (r < 0) {
        assert_null(d);
        return r;
    }
    int64_t left;
    r = db_begin(d);
    if (r == 0)
        r = db_exec(d, "INSERT INTO a(x) VALUES (60)");
    if (r == 0)
        r = db_commit(d);
    db_rollback(d);
    if (r == 0)
        r = db_checkpoint(d, &left);
    db_close(d);
    return r;
}

static void test_failing_allocations(void **state)
{
    (void)state;
    db_init();
    attempt(NULL); /* what SQLite allocates once for all */
    assert_true(memfail_each(attempt, NULL) > 20);
}

static void test_statements(void **state)
{
    (void)state;
    struct db *d = must_open(&schema_v3, DB_WRITE);
    sqlite3_stmt *s;
    assert_int_equal(db_prepare(d, "NONSENSE", &s), -EINVAL);
    assert_int_equal(db_prepare(d, "INSERT INTO b(p) VALUES (?), (?)", &s), 0);
    assert_int_equal(db_bind_blob(s, 1, span_of("a\0b", 3)), 0);
    assert_int_equal(db_bind_span(s, 2, (struct span){NULL, 0}), 0);
    assert_int_equal(db_step(s), 0);
    db_reset(s);
    assert_int_equal(db_prepare(d, "SELECT p FROM b WHERE rowid > 1", &s), 0);
    assert_int_equal(db_step(s), 1);
    assert_span_equal("blob", db_column_span(s, 0), span_of("a\0b", 3));
    assert_int_equal(db_step(s), 1);
    assert_span_equal("empty", db_column_span(s, 0), SPAN(""));
    assert_int_equal(db_step(s), 0);
    db_reset(s);
    int64_t n;
    assert_int_equal(db_query_i64(d, "SELECT x FROM a WHERE x = 1000", &n), -ENOENT);
    assert_int_equal(db_exec(d, "INSERT INTO a(x) VALUES (1)"), -EEXIST);
    db_close(d); /* with statements left */
}

static int is_over(void *ctx)
{
    return --*(int *)ctx < 0;
}

static void test_interrupt(void **state)
{
    (void)state;
    struct db *d = must_open(&schema_v3, DB_WRITE);
    int n_left = 3;
    int64_t n;
    fill(d, 500);
    db_on_progress(d, 100, is_over, &n_left);
    assert_int_equal(db_query_i64(d, "SELECT count(*) FROM a, a AS b, a AS c", &n), -ECANCELED);
    db_on_progress(d, 100, NULL, NULL);
    assert_int_equal(ask(d, "SELECT count(*) FROM a"), 501);
    db_interrupt(d); /* nothing runs: nothing happens */
    assert_int_equal(ask(d, "SELECT count(*) FROM a"), 501);
    db_close(d);
}

static void test_space_comes_back(void **state)
{
    (void)state;
    struct db *d = must_open(&schema_v3, DB_WRITE);
    int64_t left = 99;
    fill(d, 20000);
    assert_int_equal(db_checkpoint(d, &left), 0);
    assert_int_equal(left, 0);
    int64_t before = db_size(path);
    must(d, "DELETE FROM a");
    int r = 1, n_turns = 0;
    while ((r = db_shrink(d, 100)) == 1)
        n_turns++;
    assert_int_equal(r, 0);
    assert_true(n_turns > 5);
    assert_int_equal(db_checkpoint(d, &left), 0);
    db_close(d);
    assert_true(db_size(path) < before / 50);
}

static void test_codes(void **state)
{
    (void)state;
    static const int table[][2] = {
        {SQLITE_OK, 0},
        {SQLITE_ROW, 0},
        {SQLITE_DONE, 0},
        {SQLITE_FULL, -ENOSPC},
        {SQLITE_READONLY_DBMOVED, -EROFS},
        {SQLITE_IOERR_WRITE, -EIO},
        {SQLITE_IOERR_NOMEM, -ENOMEM},
        {SQLITE_BUSY_SNAPSHOT, -EBUSY},
        {SQLITE_CORRUPT_INDEX, -EBADMSG},
        {SQLITE_NOTADB, -EBADMSG},
        {SQLITE_NOMEM, -ENOMEM},
        {SQLITE_INTERRUPT, -ECANCELED},
        {SQLITE_CANTOPEN, -EIO},
    };
    for (size_t i = 0; i < ARRAY_LEN(table); i++)
        assert_int_equal(db_errno(table[i][0]), table[i][1]);
}

static int64_t fixed_mono(void)
{
    return 1;
}

static int64_t fixed_real(void)
{
    return INT64_C(1800000000) * NS_PER_S;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_settings, setup, teardown),
        cmocka_unit_test_setup_teardown(test_every_older_version_is_migrated, setup, teardown),
        cmocka_unit_test_setup_teardown(test_failed_migration_leaves_the_file, setup, teardown),
        cmocka_unit_test_setup_teardown(test_empty_files_are_not_there_yet, setup, teardown),
        cmocka_unit_test_setup_teardown(test_other_versions_are_refused, setup, teardown),
        cmocka_unit_test_setup_teardown(test_strange_paths, setup, teardown),
        cmocka_unit_test_setup_teardown(test_others_cannot_read, setup, teardown),
        cmocka_unit_test_setup_teardown(test_a_path_is_no_uri, setup, teardown),
        cmocka_unit_test_setup_teardown(test_damaged_files_go_aside, setup, teardown),
        cmocka_unit_test_setup_teardown(test_aside_is_never_over_another, setup, teardown),
        cmocka_unit_test_setup_teardown(test_damaged_page, setup, teardown),
        cmocka_unit_test_setup_teardown(test_locked, setup, teardown),
        cmocka_unit_test_setup_teardown(test_read_only_file, setup, teardown),
        cmocka_unit_test_setup_teardown(test_disk_full, setup, teardown),
        cmocka_unit_test_setup_teardown(test_faults_at_every_call, setup, teardown),
        cmocka_unit_test_setup_teardown(test_failing_allocations, setup, teardown),
        cmocka_unit_test_setup_teardown(test_statements, setup, teardown),
        cmocka_unit_test_setup_teardown(test_interrupt, setup, teardown),
        cmocka_unit_test_setup_teardown(test_space_comes_back, setup, teardown),
        cmocka_unit_test(test_codes),
    };
    clock_fake(fixed_mono, fixed_real);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
