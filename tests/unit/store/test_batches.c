/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Samples of rules and scrapes through the store's thread: in order, readable once it says so, kept
 * over a start, and counted where there is no place for them.
 */
#include "harness.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/stat.h"
#include "memfail.h"
#include "store/store.h"
#include "tempdir.h"

enum { WAIT_S = 20 };

static const struct label pairs[] = {{SPAN_INIT(LABEL_NAME), SPAN_INIT("job:x:rate5m")},
                                     {SPAN_INIT("model"), SPAN_INIT("m")}};
static const struct labels labels = {pairs, 2};

static struct store *open_store(const struct tempdir *dir)
{
    struct store *s = NULL;
    struct err err = {0};
    struct store_config config = {.dir = dir->path};
    if (store_new(&config, &s, &err) < 0)
        fail_msg("%s", err.text);
    return s;
}

static struct batch *batch_of(int64_t t_ms, double v)
{
    struct batch *b = NULL;
    assert_int_equal(batch_new(&b), 0);
    assert_int_equal(batch_add(b, labels, t_ms, v, NULL), 0);
    return b;
}

static void wait_written(struct store *s, uint64_t number)
{
    mono_t end = mono_add(clock_mono(), WAIT_S * NS_PER_S);
    while (store_written(s) < number) {
        assert_true(mono_diff(clock_mono(), end) < 0);
        usleep(1000);
    }
}

/* Values of the series, in order. */
static size_t read_values(struct store *s, double *ret, size_t cap)
{
    struct series_select all = {.to_ms = INT64_MAX / 2};
    struct series_ref *refs = NULL;
    struct reader *reader = NULL;
    struct samples samples;
    struct arena a;
    size_t n = 0;
    arena_init(&a, NULL);
    samples_init(&samples, NULL);
    assert_int_equal(store_reader_open(s, &reader), 0);
    assert_int_equal(reader->ops->select(reader, &all, &a, &refs, &n), 0);
    assert_int_equal(n, 1);
    assert_true(labels_eq(refs[0].labels, labels));
    assert_int_equal(
        reader->ops->samples(reader, refs[0].id, 0, INT64_MAX / 2, SERIES_LAST, &samples), 0);
    assert_true(samples.n <= cap);
    memcpy(ret, samples.v, samples.n * sizeof(*ret));
    n = samples.n;
    tsdb_reader_close(reader);
    samples_done(&samples);
    arena_done(&a);
    return n;
}

static void batches_are_read_once_they_are_written(void **state)
{
    (void)state;
    struct tempdir dir;
    double v[8];
    uint64_t number = 0, before = 0;
    tempdir_make(&dir);
    struct store *s = open_store(&dir);
    int64_t t0 = clock_wall().us / 1000;
    for (int i = 0; i < 5; i++) {
        assert_int_equal(store_write(s, batch_of(t0 + i * 1000, i), &number), 0);
        assert_true(number > before);
        before = number;
    }
    wait_written(s, number);
    assert_int_equal(read_values(s, v, 8), 5);
    for (int i = 0; i < 5; i++)
        assert_true(v[i] == i);
    /* What comes too late is counted, and holds nothing up. */
    int64_t n_lost = stat_sum(STAT_DROP_STORE_SAMPLES);
    assert_int_equal(store_write(s, batch_of(t0, 7), &number), 0);
    wait_written(s, number);
    assert_int_equal(stat_sum(STAT_DROP_STORE_SAMPLES), n_lost + 1);
    /* The last one is taken at the end. */
    assert_int_equal(store_write(s, batch_of(t0 + 9000, 9), &number), 0);
    store_free(s);
    s = open_store(&dir);
    assert_int_equal(read_values(s, v, 8), 6);
    assert_true(v[5] == 9);
    store_free(s);
    tempdir_remove(&dir);
    assert_int_equal(mem_live_blocks(), 0);
}

/* While another process has the directory they wait, as many as there is room for. */
static void batches_wait_for_the_directory(void **state)
{
    (void)state;
    struct tempdir dir;
    double v[8];
    uint64_t number = 0;
    tempdir_make(&dir);
    int fd = open(tempdir_file(&dir, "lock"), O_RDWR | O_CREAT, 0600);
    assert_int_equal(flock(fd, LOCK_EX), 0);
    struct store *s = open_store(&dir);
    int64_t t0 = clock_wall().us / 1000;
    assert_int_equal(store_write(s, batch_of(t0, 1), &number), 0);
    /* About a third of what may wait, at times that the series has behind it. */
    int n_taken = 0;
    int r = 0;
    for (; r == 0 && n_taken < 8; n_taken += r == 0) {
        struct batch *large = batch_of(t0, 2);
        while (batch_bytes(large) < STORE_BATCH_BYTES / 3)
            assert_int_equal(batch_add(large, labels, t0, 0, NULL), 0);
        r = store_write(s, large, &number);
        if (r < 0)
            batch_free(large);
    }
    assert_int_equal(r, -ENOBUFS);
    assert_in_range(n_taken, 1, 3);
    assert_int_equal(store_written(s), 0);
    close(fd);
    wait_written(s, number);
    assert_int_equal(read_values(s, v, 8), 1);
    store_free(s);
    /* Nothing will take it: it is counted. */
    fd = open(tempdir_file(&dir, "lock"), O_RDWR | O_CREAT, 0600);
    assert_int_equal(flock(fd, LOCK_EX), 0);
    s = open_store(&dir);
    int64_t n_lost = stat_sum(STAT_DROP_STORE_SAMPLES);
    assert_int_equal(store_write(s, batch_of(t0 + 3000, 3), &number), 0);
    store_free(s);
    assert_int_equal(stat_sum(STAT_DROP_STORE_SAMPLES), n_lost + 1);
    close(fd);
    tempdir_remove(&dir);
    assert_int_equal(mem_live_blocks(), 0);
}

static int fill(void *ctx)
{
    (void)ctx;
    struct batch *b = NULL;
    int r = batch_new(&b);
    for (int i = 0; i < 200 && r == 0; i++)
        r = batch_add(b, labels, i, i, NULL);
    batch_free(b);
    return r;
}

static void a_batch_without_memory(void **state)
{
    (void)state;
    assert_true(memfail_each(fill, NULL) > 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(batches_are_read_once_they_are_written),
        cmocka_unit_test(batches_wait_for_the_directory),
        cmocka_unit_test(a_batch_without_memory),
    };
    return cmocka_run_group_tests_name("store/store_batches", tests, NULL, NULL);
}
