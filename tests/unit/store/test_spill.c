/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The spill file: what goes in comes out in order and once, over restarts, torn writes and a full
 * file; and through rows.h into the days.
 */
#include "harness.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/rng.h"
#include "store/retake.h"
#include "store/rows.h"
#include "store/spill.h"
#include "tally.h"
#include "tempdir.h"

enum { FILE_BYTES = 256 * 1024 };

struct fixture {
    struct tempdir dir;
    struct spill *spill;
    struct rng g;
    uint64_t n_in, n_out; /* blocks */
};

static void reopen(struct fixture *f)
{
    spill_close(f->spill);
    assert_int_equal(spill_open(tempdir_file(&f->dir, "spill"), FILE_BYTES, &f->spill, NULL), 0);
}

static void setup(struct fixture *f)
{
    *f = (struct fixture){0};
    rng_seed(&f->g, 3);
    tempdir_make(&f->dir);
    reopen(f);
}

static void teardown(struct fixture *f)
{
    spill_close(f->spill);
    tempdir_remove(&f->dir);
    assert_int_equal(mem_live_blocks(), 0);
}

/* Block i: what it holds follows from its number. */
static struct day_block block_of(uint64_t i, char room[2000])
{
    struct rng g;
    rng_seed(&g, i);
    size_t n = 1 + rng_below(&g, 1900);
    for (size_t k = 0; k < n; k++)
        room[k] = (char)rng_below(&g, 256);
    return (struct day_block){.rows = {room, n},
                              .layout = i % 50 < 25 ? SPAN("one layout") : SPAN("and another"),
                              .n_rows = (uint32_t)i + 1,
                              .from_us = (int64_t)i - 5,
                              .to_us = (int64_t)i * 7};
}

static int put(struct fixture *f)
{
    char room[2000];
    struct day_block b = block_of(f->n_in, room);
    int r = spill_put(f->spill, (int64_t)f->n_in - 3, &b);
    f->n_in += r == 0;
    return r;
}

/* The next one is the one that is due. */
static void take(struct fixture *f, struct day_mark *ret_mark)
{
    char room[2000];
    struct day_block want = block_of(f->n_out, room);
    struct day_block got;
    int64_t day;
    assert_int_equal(spill_next(f->spill, &day, &got, ret_mark), 1);
    assert_int_equal(day, (int64_t)f->n_out - 3);
    assert_span_equal("rows", got.rows, want.rows);
    assert_span_equal("layout", got.layout, want.layout);
    assert_int_equal(got.n_rows, want.n_rows);
    assert_true(got.from_us == want.from_us && got.to_us == want.to_us);
}

static uint64_t n_waiting(const struct fixture *f)
{
    struct spill_stats stats;
    spill_stats(f->spill, &stats);
    return stats.n_rows;
}

static void what_goes_in_comes_out_in_order(void **state)
{
    (void)state;
    struct fixture f;
    struct day_mark mark = {0};
    struct day_mark before = {0};
    setup(&f);
    for (int round = 0; round < 2000; round++) {
        if (rng_below(&f.g, 2) == 0) {
            int r = put(&f);
            assert_true(r == 0 || r == -ENOSPC);
        } else if (f.n_out < f.n_in) {
            take(&f, &mark);
            assert_true(mark.epoch > before.epoch ||
                        (mark.epoch == before.epoch && mark.number > before.number));
            before = mark;
            spill_drop(f.spill);
            f.n_out++;
        }
        if (f.n_in == f.n_out)
            assert_int_equal(n_waiting(&f), 0);
    }
    assert_true(f.n_out > 500);
    teardown(&f);
}

/* Blocks that were dropped may come again after a restart, with the marks they had. */
static void it_survives_restarts(void **state)
{
    (void)state;
    struct fixture f;
    struct day_mark first;
    struct day_mark again;
    uint64_t n_rows = 0;
    setup(&f);
    for (int i = 0; i < 60; i++) {
        assert_int_equal(put(&f), 0);
        n_rows += (uint64_t)i + 1;
    }
    take(&f, &first);
    spill_drop(f.spill);
    reopen(&f);
    assert_int_equal(n_waiting(&f), n_rows);
    take(&f, &again);
    assert_true(first.epoch == again.epoch && first.number == again.number);
    for (; f.n_out < f.n_in; f.n_out++) {
        take(&f, &again);
        spill_drop(f.spill);
    }
    reopen(&f);
    assert_int_equal(n_waiting(&f), 0); /* all were dropped: none comes again */
    teardown(&f);
}

static void a_full_file_refuses_and_takes_again_when_it_was_emptied(void **state)
{
    (void)state;
    struct fixture f;
    struct day_mark mark;
    struct stat st;
    setup(&f);
    assert_int_equal(stat(tempdir_file(&f.dir, "spill"), &st), 0);
    assert_true(st.st_blocks * 512 >= FILE_BYTES); /* the room is there already */
    while (put(&f) == 0)
        ;
    assert_int_equal(put(&f), -ENOSPC);
    assert_true(f.n_in > 100);
    for (; f.n_out < f.n_in; f.n_out++) {
        take(&f, &mark);
        spill_drop(f.spill);
    }
    assert_int_equal(put(&f), 0);
    assert_int_equal(stat(tempdir_file(&f.dir, "spill"), &st), 0);
    assert_int_equal(st.st_size, FILE_BYTES);
    teardown(&f);
}

static void flip(const struct fixture *f, off_t at)
{
    char c = 0;
    int fd = open(tempdir_file(&f->dir, "spill"), O_RDWR);
    assert_true(fd >= 0 && pread(fd, &c, 1, at) == 1);
    c = (char)(c ^ 0x40);
    assert_int_equal(pwrite(fd, &c, 1, at), 1);
    close(fd);
}

/* Damage anywhere: what is before it comes out, nothing wrong does. */
static void a_damaged_byte_ends_it(void **state)
{
    (void)state;
    struct fixture f;
    struct day_mark mark;
    for (off_t at = 0; at < 6000; at += 97) {
        setup(&f);
        while (f.n_in < 8)
            assert_int_equal(put(&f), 0);
        struct spill_stats stats;
        spill_stats(f.spill, &stats);
        flip(&f, at);
        reopen(&f);
        uint64_t n = n_waiting(&f);
        bool is_beside = at < 4096 || at >= (off_t)(4096 + stats.n_bytes);
        assert_true(n <= 36 && (!is_beside || n == 36));
        while (n_waiting(&f) > 0) {
            take(&f, &mark);
            spill_drop(f.spill);
            f.n_out++;
        }
        teardown(&f);
    }
}

/* --- into the days --- */

static int put_aside(void *ctx, int64_t day, const struct day_block *block)
{
    return spill_put(ctx, day, block);
}

/* Nothing is written over: damaged at the beginning, or never one, it goes aside. */
static void what_is_none_goes_aside(void **state)
{
    (void)state;
    struct fixture f;
    static char other[8192];
    setup(&f);
    assert_int_equal(put(&f), 0);
    flip(&f, 0);
    flip(&f, 4096 + 50); /* in the first block */
    reopen(&f);
    assert_int_equal(n_waiting(&f), 0);
    assert_int_equal(tempdir_count(&f.dir, "spill.damaged-"), 1);
    f.n_in = f.n_out = 0;
    assert_int_equal(put(&f), 0);
    flip(&f, 4096 + 50); /* its first page is whole */
    reopen(&f);
    assert_int_equal(tempdir_count(&f.dir, "spill.damaged-"), 2);
    reopen(&f);
    f.spill = spill_close(f.spill);
    memset(other, 'x', sizeof(other));
    int fd = open(tempdir_file(&f.dir, "spill"), O_WRONLY | O_TRUNC);
    assert_int_equal(write(fd, other, sizeof(other)), sizeof(other));
    close(fd);
    reopen(&f);
    assert_int_equal(tempdir_count(&f.dir, "spill.damaged-"), 3);
    teardown(&f);
}

/* Rows of two days go aside and come back, half of them twice: each is there once. */
static void rows_come_back_once(void **state)
{
    (void)state;
    struct fixture f;
    struct rows *rows = NULL;
    struct day_block block;
    struct day_mark mark;
    int64_t day;
    uint64_t n_given_up = 0;
    int more;
    setup(&f);
    assert_int_equal(rows_open(f.dir.path, NULL, &rows, NULL), 0);
    for (int i = 0; i < 400; i++) {
        struct record r;
        record_init(&r);
        r.started_at.us = (20787 + i / 200) * DAY_US + i;
        assert_int_equal(rows_append(rows, &r), 0);
        if (i % 20 == 19)
            assert_int_equal(rows_take_pending(rows, put_aside, f.spill), 0);
    }
    assert_int_equal(rows_n_pending(rows), 0);
    assert_int_equal(n_waiting(&f), 400);
    for (int i = 0; i < 12; i++) {
        assert_int_equal(spill_next(f.spill, &day, &block, &mark), 1);
        assert_int_equal(rows_put_block(rows, day, &block, &mark), 0);
        spill_drop(f.spill);
    }
    assert_int_equal(tally_asked(f.dir.path), 240);
    rows_close(rows); /* the process ends here: nobody told the spill file */
    reopen(&f);
    assert_int_equal(n_waiting(&f), 400);
    assert_int_equal(rows_open(f.dir.path, NULL, &rows, NULL), 0);
    while ((more = retake_blocks(f.spill, rows, false, &n_given_up)) == 1)
        ;
    assert_int_equal(more, 0);
    assert_int_equal(n_given_up, 0);
    assert_int_equal(tally_asked(f.dir.path), 400);
    assert_int_equal(n_waiting(&f), 0);
    rows_close(rows);
    teardown(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_goes_in_comes_out_in_order),
        cmocka_unit_test(it_survives_restarts),
        cmocka_unit_test(a_full_file_refuses_and_takes_again_when_it_was_emptied),
        cmocka_unit_test(a_damaged_byte_ends_it),
        cmocka_unit_test(what_is_none_goes_aside),
        cmocka_unit_test(rows_come_back_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
