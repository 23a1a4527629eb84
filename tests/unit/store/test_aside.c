/* SPDX-License-Identifier: Apache-2.0 */
/*
 * store/aside: rows that a process left in a file of its own come into the database once, whatever
 * happens in between, and only when that process has ended.
 */
#include "store/aside.h"

#include <errno.h>
#include <glob.h>
#include <stdio.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/limits.h"
#include "base/mem.h"
#include "fakeclock.h"
#include "harness.h"
#include "memfail.h"
#include "sample.h"
#include "tally.h"
#include "tempdir.h"

enum { N_ROWS = 2000 };

static const int64_t first_day = 20787; /* 2026-11-30 */

struct fixture {
    struct tempdir dir;
    struct rows *rows;
    struct aside_left left;
};

static void setup(struct fixture *f)
{
    *f = (struct fixture){0};
    tempdir_make(&f->dir);
    assert_int_equal(rows_open(f->dir.path, NULL, &f->rows, NULL), 0);
}

static void teardown(struct fixture *f)
{
    aside_left_done(&f->left);
    rows_close(f->rows);
    tempdir_remove(&f->dir);
    assert_int_equal(mem_live_blocks(), 0);
}

/* Rows of two days, as a process that waits puts them aside; it has not ended. */
static struct spill *leave(struct fixture *f, uint64_t seed)
{
    struct spill *spill = NULL;
    struct blocks blocks;
    struct rng g;
    rng_seed(&g, seed);
    blocks_init(&blocks, 64 * MIB);
    for (int i = 0; i < N_ROWS; i++) {
        struct sample s;
        sample_fill(&s, &g, (first_day + i % 2) * DAY_US + i);
        assert_int_equal(blocks_append(&blocks, &s.r), 0);
        if (i % 500 == 499)
            assert_int_equal(aside_put(f->dir.path, 16 * MIB, &blocks, &spill), 0);
    }
    assert_int_equal(blocks.n, 0);
    blocks_done(&blocks);
    return spill;
}

static void take_in_all(struct fixture *f)
{
    int r;
    while ((r = aside_take_in(&f->left, f->dir.path, f->rows)) == 1)
        ;
    assert_int_equal(r, 0);
}

static void only_what_was_left_is_taken_in(void **state)
{
    (void)state;
    struct fixture f;
    setup(&f);
    struct spill *first = leave(&f, 1);
    struct spill *second = leave(&f, 2);
    take_in_all(&f);
    assert_int_equal(tally_scanned(f.dir.path), 0);
    spill_close(second);
    take_in_all(&f);
    assert_int_equal(tally_scanned(f.dir.path), N_ROWS);
    assert_int_equal(tempdir_count(&f.dir, "spill-"), 1);
    spill_close(first);
    take_in_all(&f);
    assert_int_equal(tally_scanned(f.dir.path), 2 * N_ROWS);
    assert_int_equal(tempdir_count(&f.dir, "spill-"), 0);
    teardown(&f);
}

static void copy(const char *from, const char *to)
{
    static char bytes[64 * 1024];
    FILE *in = fopen(from, "rb");
    FILE *out = fopen(to, "wb");
    assert_non_null(in);
    assert_non_null(out);
    for (size_t n; (n = fread(bytes, 1, sizeof(bytes), in)) > 0;)
        assert_int_equal(fwrite(bytes, 1, n, out), n);
    (void)fclose(in);
    (void)fclose(out);
}

/* Two processes may begin their files in the same microsecond: blocks of one are none of the other.
 */
static void files_of_one_moment_are_told_apart(void **state)
{
    (void)state;
    struct fixture f;
    glob_t found = {0};
    setup(&f);
    fakeclock_install(NS_PER_S, first_day * DAY_US * NS_PER_US);
    struct spill *first = leave(&f, 1);
    assert_int_equal(glob(tempdir_file(&f.dir, "spill-*"), 0, NULL, &found), 0);
    assert_int_equal(rename(found.gl_pathv[0], tempdir_file(&f.dir, "spill-1-1")), 0);
    globfree(&found);
    struct spill *second = leave(&f, 2);
    fakeclock_remove();
    spill_close(first);
    take_in_all(&f);
    assert_int_equal(tally_scanned(f.dir.path), N_ROWS);
    spill_close(second);
    take_in_all(&f);
    assert_int_equal(tally_scanned(f.dir.path), 2 * N_ROWS);
    teardown(&f);
}

/* Killed behind the last commit, before the file was removed; between them, another was taken in.
 */
static void a_file_that_comes_back_is_known(void **state)
{
    (void)state;
    struct fixture f;
    glob_t found;
    setup(&f);
    spill_close(leave(&f, 1));
    assert_int_equal(glob(tempdir_file(&f.dir, "spill-*"), 0, NULL, &found), 0);
    copy(found.gl_pathv[0], tempdir_file(&f.dir, "kept"));
    take_in_all(&f);
    spill_close(leave(&f, 2));
    take_in_all(&f);
    assert_int_equal(tally_scanned(f.dir.path), 2 * N_ROWS);
    copy(tempdir_file(&f.dir, "kept"), found.gl_pathv[0]);
    globfree(&found);
    rows_close(f.rows);
    assert_int_equal(rows_open(f.dir.path, NULL, &f.rows, NULL), 0);
    take_in_all(&f);
    assert_int_equal(tally_scanned(f.dir.path), 2 * N_ROWS);
    assert_int_equal(tempdir_count(&f.dir, "spill-"), 0);
    teardown(&f);
}

static void a_file_that_cannot_be_read_is_given_up(void **state)
{
    (void)state;
    struct fixture f;
    glob_t found;
    setup(&f);
    spill_close(leave(&f, 1));
    assert_int_equal(glob(tempdir_file(&f.dir, "spill-*"), 0, NULL, &found), 0);
    assert_int_equal(spill_open(found.gl_pathv[0], 0, &f.left.spill, NULL), 0);
    (void)snprintf(f.left.path, sizeof(f.left.path), "%s", found.gl_pathv[0]);
    assert_int_equal(truncate(found.gl_pathv[0], 100 * 1024), 0); /* now it is being read */
    take_in_all(&f);
    assert_true(tally_scanned(f.dir.path) > 0 && tally_scanned(f.dir.path) < N_ROWS);
    assert_int_equal(f.left.n_given_up, N_ROWS - tally_scanned(f.dir.path));
    assert_int_equal(tempdir_count(&f.dir, "spill-"), 0);
    globfree(&found);
    teardown(&f);
}

static int attempt(void *ctx)
{
    (void)ctx;
    struct fixture f;
    struct spill *spill = NULL;
    struct blocks blocks;
    struct record r;
    record_init(&r);
    r.started_at.us = first_day * DAY_US;
    tempdir_make(&f.dir);
    blocks_init(&blocks, MIB);
    int result = blocks_append(&blocks, &r);
    if (result == 0) {
        result = aside_put(f.dir.path, 0, &blocks, &spill);
        assert_int_equal(blocks.n_rows, result < 0);
    }
    spill_close(spill);
    blocks_done(&blocks);
    tempdir_remove(&f.dir);
    return result;
}

static void without_memory_rows_stay(void **state)
{
    (void)state;
    assert_true(memfail_each(attempt, NULL) >= 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_what_was_left_is_taken_in),
        cmocka_unit_test(files_of_one_moment_are_told_apart),
        cmocka_unit_test(a_file_that_comes_back_is_known),
        cmocka_unit_test(a_file_that_cannot_be_read_is_given_up),
        cmocka_unit_test(without_memory_rows_stay),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
