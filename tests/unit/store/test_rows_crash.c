/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows over kill -9 and failing disks: what was acknowledged is there, and nothing is there twice.
 */
#include "harness.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/rng.h"
#include "faultvfs.h"
#include "sample.h"
#include "store/retake.h"
#include "store/rows.h"
#include "store/spill.h"
#include "tempdir.h"

enum { N_KILLS = 200, N_FAULTS = 150, ROWS_MAX = 400000, KILL_WITHIN_US = 25000 };

static const int64_t first_day = 20787;

/* Row i says so in a number, and every thousand rows begin another day. */
static struct record row_of(int64_t i)
{
    struct record r;
    record_init(&r);
    snprintf(r.request_id, sizeof(r.request_id), "%032llx", (unsigned long long)i);
    r.prompt_tokens = i;
    r.started_at.us = (first_day + i / 10000 % 3) * DAY_US + i;
    return r;
}

static int put_aside(void *ctx, int64_t day, const struct day_block *block)
{
    return spill_put(ctx, day, block);
}

static void replay(struct rows *rows, struct spill *spill)
{
    uint64_t n_given_up = 0;
    int r;
    while ((r = retake_blocks(spill, rows, false, &n_given_up)) == 1)
        ;
    if (r < 0 || n_given_up > 0)
        abort();
}

/* Whoever is killed: tells through the pipe what is durable. */
static void write_for_ever(const char *dir, const char *spill_path, int64_t i, int out)
{
    struct rows *rows = NULL;
    struct spill *spill = NULL;
    struct rng g;
    rng_seed(&g, (uint64_t)i + 1);
    if (rows_open(dir, NULL, &rows, NULL) < 0 ||
        spill_open(spill_path, 256 * 1024, &spill, NULL) < 0)
        abort();
    for (;;) {
        replay(rows, spill);
        for (int64_t end = i + 1 + (int64_t)rng_below(&g, 600); i < end; i++) {
            struct record r = row_of(i);
            if (rows_append(rows, &r) < 0)
                abort();
        }
        bool is_refused = rng_below(&g, 4) == 0;
        if ((is_refused ? rows_take_pending(rows, put_aside, spill) : rows_commit(rows)) != 0)
            abort();
        if (write(out, &i, sizeof(i)) != sizeof(i))
            abort();
        while (rows_maintain(rows, (wall_t){first_day * DAY_US + DAY_US / 2}) == 1)
            ;
    }
}

struct seen {
    uint8_t *times;
    int64_t n;
};

static int note(void *ctx, size_t n_rows, const double *const *columns)
{
    struct seen *s = ctx;
    for (size_t i = 0; i < n_rows; i++) {
        int64_t row = (int64_t)columns[0][i];
        assert_in_range(row, 0, ROWS_MAX - 1);
        assert_int_equal(s->times[row], 0);
        s->times[row] = 1;
        s->n++;
    }
    return 0;
}

/* Rows 0 .. n - 1 are there, once each; returns how many there are in all, without a gap. */
static int64_t check_rows(const char *dir, int64_t n)
{
    struct rows_reader *reader = NULL;
    const struct record_field *fields[] = {sample_field("prompt_tokens")};
    struct seen seen = {.times = mem_must(mem_zalloc(ROWS_MAX, 1))};
    assert_int_equal(rows_reader_open(dir, &reader, NULL), 0);
    assert_int_equal(rows_scan(reader, (wall_t){0}, (wall_t){INT64_MAX}, fields, 1, note, &seen),
                     0);
    for (int64_t i = 0; i < seen.n; i++)
        assert_int_equal(seen.times[i], 1);
    assert_true(seen.n >= n);
    rows_reader_close(reader);
    mem_free(seen.times);
    return seen.n;
}

/* What the child told until it died. */
static int64_t last_told(int in, int64_t before)
{
    int64_t told = before;
    int64_t i;
    while (read(in, &i, sizeof(i)) == sizeof(i))
        told = i;
    return told;
}

/* What waits in the spill file goes into the days. */
static void bring_back(const char *dir, const char *spill_path)
{
    struct rows *rows = NULL;
    struct spill *spill = NULL;
    struct spill_stats stats;
    assert_int_equal(spill_open(spill_path, 256 * 1024, &spill, NULL), 0);
    spill_stats(spill, &stats);
    if (stats.n_blocks > 0) {
        assert_int_equal(rows_open(dir, NULL, &rows, NULL), 0);
        replay(rows, spill);
        rows_close(rows);
    }
    spill_close(spill);
}

static void what_was_acknowledged_survives_kill_9(void **state)
{
    (void)state;
    struct tempdir dir;
    struct rng g;
    int64_t n = 0;
    tempdir_make(&dir);
    rng_seed(&g, 5);
    char spill_path[128];
    snprintf(spill_path, sizeof(spill_path), "%s/spill", dir.path);
    for (int k = 0; k < N_KILLS && n < ROWS_MAX - 20000; k++) {
        int fds[2];
        int status;
        assert_int_equal(pipe(fds), 0);
        pid_t pid = fork();
        assert_true(pid >= 0);
        if (pid == 0) {
            close(fds[0]);
            write_for_ever(dir.path, spill_path, n, fds[1]);
        }
        close(fds[1]);
        int64_t told = n;
        /* However slow the machine is: the others may end before anything is told. */
        if (k % 10 == 9)
            assert_int_equal(read(fds[0], &told, sizeof(told)), sizeof(told));
        usleep((useconds_t)rng_below(&g, KILL_WITHIN_US));
        assert_int_equal(kill(pid, SIGKILL), 0);
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
        told = last_told(fds[0], told);
        close(fds[0]);
        bring_back(dir.path, spill_path);
        n = check_rows(dir.path, told);
    }
    assert_true(n > N_KILLS);
    tempdir_remove(&dir);
}

/* A call that may fail, once or from then on; afterwards the disk is well again. */
static void a_failing_disk_costs_no_row(void **state)
{
    (void)state;
    struct tempdir dir;
    struct rng g;
    struct rows *rows = NULL;
    int64_t n = 0;
    int n_failed = 0;
    wall_t now = {first_day * DAY_US + DAY_US / 2};
    tempdir_make(&dir);
    rng_seed(&g, 9);
    faultvfs_install();
    assert_int_equal(rows_open(dir.path, NULL, &rows, NULL), 0);
    for (int k = 0; k < N_FAULTS; k++) {
        enum faultvfs_kind kind = rng_below(&g, 2) == 0 ? FAULTVFS_FULL : FAULTVFS_IOERR;
        for (int64_t end = n + 1 + (int64_t)rng_below(&g, 700); n < end; n++) {
            struct record r = row_of(n);
            assert_int_equal(rows_append(rows, &r), 0);
        }
        faultvfs_fail(kind, 1 + rng_below(&g, k % 2 == 0 ? 12 : 120), rng_below(&g, 2) == 0);
        int r = rows_commit(rows);
        for (int i = 0; i < 3 && r >= 0; i++)
            r = rows_maintain(rows, now);
        n_failed += r < 0;
        assert_true(r >= 0 || r == -ENOSPC || r == -EIO);
        faultvfs_heal();
        assert_int_equal(rows_commit(rows), 0);
    }
    int more;
    while ((more = rows_maintain(rows, now)) == 1)
        ;
    assert_int_equal(more, 0);
    assert_true(n_failed > N_FAULTS / 4);
    assert_int_equal(check_rows(dir.path, n), n);
    rows_close(rows);
    faultvfs_remove();
    tempdir_remove(&dir);
}

/* Pages that read as something else: whatever happens is an error or a file set aside. */
static void wrong_pages_are_no_rows(void **state)
{
    (void)state;
    struct tempdir dir;
    struct rng g;
    struct rows *rows = NULL;
    struct rows_stats stats;
    wall_t now = {first_day * DAY_US + DAY_US / 2};
    int64_t n = 0;
    tempdir_make(&dir);
    rng_seed(&g, 10);
    faultvfs_install();
    assert_int_equal(rows_open(dir.path, NULL, &rows, NULL), 0);
    for (int k = 0; k < 40; k++) {
        for (int64_t end = n + 900; n < end; n++) {
            struct record r = row_of(n % 9000);
            assert_int_equal(rows_append(rows, &r), 0);
        }
        assert_int_equal(rows_commit(rows), 0);
        rows_close(rows);
        assert_int_equal(rows_open(dir.path, NULL, &rows, NULL), 0);
        faultvfs_fail(FAULTVFS_CORRUPT, 1 + rng_below(&g, 30), true);
        for (int i = 0, r = 1; i < 5 && r == 1; i++)
            r = rows_maintain(rows, now);
        struct record r = row_of(0);
        assert_int_equal(rows_append(rows, &r), 0);
        (void)(rows_commit(rows) == 0); /* as it may be */
        faultvfs_heal();
        assert_int_equal(rows_commit(rows), 0);
    }
    rows_stats(rows, &stats);
    rows_close(rows);
    assert_true(tempdir_count(&dir, "requests-2026-11-30.db.damaged-") > 0);
    faultvfs_remove();
    tempdir_remove(&dir);
}

/* Wherever a file was damaged while nothing ran: it goes aside, and rows go into a new one. */
static void a_file_damaged_anywhere_makes_room(void **state)
{
    (void)state;
    enum { PAGE = 4096 };
    struct tempdir dir;
    struct rows *rows = NULL;
    char path[DAY_PATH_MAX], page[PAGE];
    int64_t n_pages = 2;
    memset(page, 0xa5, sizeof(page));
    for (int64_t k = 0; k < n_pages; k++) {
        tempdir_make(&dir);
        assert_int_equal(rows_open(dir.path, NULL, &rows, NULL), 0);
        for (int64_t n = 0; n < 300; n++) {
            struct record r = row_of(n);
            assert_int_equal(rows_append(rows, &r), 0);
            assert_int_equal(n % 20 == 0 ? rows_commit(rows) : 0, 0);
        }
        assert_int_equal(rows_commit(rows), 0);
        rows_close(rows);
        assert_int_equal(day_path(dir.path, first_day, ".db", path, sizeof(path)), 0);
        n_pages = db_size(path) / PAGE;
        int fd = open(path, O_RDWR);
        assert_int_equal(pwrite(fd, page, PAGE, k * PAGE), PAGE);
        close(fd);
        assert_int_equal(rows_open(dir.path, NULL, &rows, NULL), 0);
        struct record r = row_of(0);
        assert_int_equal(rows_append(rows, &r), 0);
        assert_int_equal(rows_commit(rows), 0);
        rows_close(rows);
        tempdir_remove(&dir);
    }
    assert_true(n_pages > 8);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_acknowledged_survives_kill_9),
        cmocka_unit_test(a_failing_disk_costs_no_row),
        cmocka_unit_test(wrong_pages_are_no_rows),
        cmocka_unit_test(a_file_damaged_anywhere_makes_room),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
