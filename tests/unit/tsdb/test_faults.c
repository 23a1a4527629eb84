/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The disk refuses, lies, or breaks, at every call: no crash, counted, and afterwards things go on.
 */
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "db/db.h"
#include "faultvfs.h"
#include "memfail.h"
#include "rig.h"
#include "tsdb/tsdb_private.h"

enum { N_SERIES = 5 };
static const char *const names[N_SERIES] = {"a", "b", "c", "d", "e"};

static struct samples got;

static int setup(void **state)
{
    (void)state;
    db_init();
    faultvfs_install();
    samples_init(&got, NULL);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    faultvfs_remove();
    samples_done(&got);
    return 0;
}

/* A step: a sample of each series, committed and maintained. Counts samples that were refused. */
static int step(struct rig *g, int64_t t_ms, int *n_refused)
{
    for (int i = 0; i < N_SERIES; i++) {
        struct label pairs[2];
        uint32_t id;
        int r = tsdb_series(g->t, rig_labels(pairs, names[i], "x"), TSDB_COUNTER, &id);
        if (r == 0)
            r = tsdb_append(g->t, id, t_ms, (double)(t_ms / 1000 % 1000000));
        *n_refused += r < 0;
    }
    int r = tsdb_commit(g->t), n = 0, x;
    while ((x = tsdb_maintain(g->t, t_ms)) == 1)
        assert_true(++n < 10000);
    return r < 0 ? r : x;
}

static size_t count(struct rig *g, int i, int64_t from_ms)
{
    rig_read(g->reader, names[i], from_ms, INT64_MAX, SERIES_LAST, &got);
    for (size_t j = 0; j < got.n; j++)
        assert_true(got.v[j] == (double)(got.t[j] / 1000 % 1000000));
    return got.n;
}

/* Three days of four hours' steps in which the n-th call of that kind fails, and later ones if
 * is_lasting for a while; then two more days without faults. */
static bool live_through(enum faultvfs_kind kind, uint64_t n, bool is_lasting)
{
    struct rig g;
    int n_refused = 0, n_errors = 0;
    enum { STEPS = 18, HEALTHY = 12 };
    rig_init(&g);
    rig_open(&g);
    for (int i = 0; i < 4; i++)
        assert_int_equal(step(&g, RIG_START_MS - (10 - i) * RIG_MIN_MS, &n_refused), 0);
    faultvfs_fail(kind, n, is_lasting);
    for (int i = 0; i < STEPS; i++)
        n_errors += step(&g, RIG_START_MS + i * 4 * RIG_HOUR_MS, &n_refused) < 0;
    bool was_hit = faultvfs_n_failed() > 0;
    faultvfs_heal();
    int64_t healed = RIG_START_MS + STEPS * 4 * RIG_HOUR_MS;
    for (int i = 0; i < HEALTHY; i++)
        assert_int_equal(step(&g, healed + i * 4 * RIG_HOUR_MS, &n_refused), 0);
    struct tsdb_stats s = rig_stats(&g);
    assert_int_equal(s.last_error, 0);
    assert_int_equal(n_refused, 0);
    assert_true(!is_lasting || !was_hit || kind == FAULTVFS_CORRUPT || n_errors > 0);
    /* All but what went with a file that was set aside. */
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < N_SERIES; i++) {
            assert_int_equal(count(&g, i, healed), HEALTHY);
            if (s.n_set_aside == 0 && s.n_damaged == 0 && !g.was_damaged)
                assert_int_equal(count(&g, i, INT64_MIN), 4 + STEPS + HEALTHY);
        }
        rig_close(&g);
        rig_open(&g);
    }
    assert_int_equal(tempdir_count(&g.dir, "series.db.damaged") > 0, s.n_set_aside > 0);
    rig_done(&g);
    return was_hit;
}

static void test_one_call_fails(void **state)
{
    (void)state;
    for (int kind = 0; kind < FAULTVFS_COUNT_; kind++)
        for (uint64_t n = 1; live_through(kind, n, false); n += 1 + n / 2)
            assert_true(n < 1000000);
}

static void test_all_calls_fail_for_a_while(void **state)
{
    (void)state;
    for (int kind = 0; kind < FAULTVFS_COUNT_; kind++) {
        if (kind == FAULTVFS_BUSY)
            continue; /* waits for its timeout each time */
        for (uint64_t n = 1; live_through(kind, n, true); n += 1 + n)
            assert_true(n < 1000000);
    }
}

static void test_pending_has_an_end(void **state)
{
    (void)state;
    struct rig g;
    rig_init(&g);
    g.config.max_pending_bytes = 1000;
    rig_open(&g);
    uint32_t id = rig_series(&g, "a", "x", TSDB_GAUGE);
    faultvfs_fail(FAULTVFS_FULL, 1, true);
    int r = 0, n = 0;
    for (; r == 0 && n < 10000; n++) {
        r = tsdb_append(g.t, id, RIG_START_MS + n, n);
        assert_int_equal(n % 10 == 0 ? tsdb_commit(g.t) : -ENOSPC, -ENOSPC);
    }
    assert_int_equal(r, -ENOSPC);
    assert_true(n > 100);
    struct tsdb_stats s = rig_stats(&g);
    assert_int_equal(s.n_lost, 1);
    assert_int_equal(s.last_error, -ENOSPC);
    assert_true(s.n_failed_commits > 0 && s.pending_bytes >= 1000);
    faultvfs_heal();
    assert_int_equal(tsdb_commit(g.t), 0);
    assert_int_equal(tsdb_append(g.t, id, RIG_START_MS + 10000, 1), 0);
    assert_int_equal(rig_stats(&g).last_error, 0);
    rig_read(g.reader, "a", INT64_MIN, INT64_MAX, SERIES_LAST, &got);
    assert_int_equal(got.n, (size_t)n); /* n - 1 before, one behind */
    rig_done(&g);
}

static void overwrite(const char *path, off_t at, size_t n)
{
    char junk[4096];
    memset(junk, 0x5a, sizeof(junk));
    int fd = open(path, O_WRONLY);
    assert_true(fd >= 0);
    for (size_t i = 0; i < n; i += sizeof(junk))
        assert_int_equal(pwrite(fd, junk, sizeof(junk), at + (off_t)i), sizeof(junk));
    close(fd);
}

/* Under a running store: the file is set aside, and what is in memory goes into the new one. */
static void test_damaged_while_running(void **state)
{
    (void)state;
    struct rig g;
    int n_refused = 0, n_good = 0;
    int64_t left = 1;
    rig_init(&g);
    rig_open(&g);
    for (int i = 0; i < 60; i++)
        assert_int_equal(step(&g, RIG_START_MS + i * RIG_HOUR_MS, &n_refused), 0);
    assert_int_equal(db_checkpoint(g.t->disk.db, &left), 0);
    assert_int_equal(left, 0);
    overwrite(g.path, 0, 4096 * 20);
    sqlite3_db_release_memory(g.t->disk.db->_handle); /* or it would not look at the file again */
    for (int i = 60; i < 120; i++)
        n_good += step(&g, RIG_START_MS + i * RIG_HOUR_MS, &n_refused) == 0;
    assert_true(n_good > 55);
    assert_int_equal(n_refused, 0);
    assert_int_equal(rig_stats(&g).last_error, 0);
    assert_int_equal(rig_stats(&g).n_set_aside, 1);
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < N_SERIES; i++)
            assert_true(count(&g, i, RIG_START_MS + 60 * RIG_HOUR_MS) == 60);
        rig_close(&g);
        rig_open(&g);
        assert_false(g.was_damaged);
    }
    assert_int_equal(tempdir_count(&g.dir, "series.db.damaged") > 0, 1);
    rig_done(&g);
}

static void test_damaged_when_opened(void **state)
{
    (void)state;
    struct rig g;
    int n_refused = 0;
    rig_init(&g);
    rig_open(&g);
    for (int i = 0; i < 60; i++)
        assert_int_equal(step(&g, RIG_START_MS + i * RIG_HOUR_MS, &n_refused), 0);
    for (off_t page = 0; page < 8; page++) {
        rig_close(&g);
        overwrite(g.path, page * 4096, 4096);
        rig_open(&g);
        int64_t t_ms = RIG_START_MS + (60 + page) * RIG_HOUR_MS;
        for (int i = 0; i < 5; i++) /* the second time it meets damage it gives up the file */
            (void)!step(&g, t_ms + i * RIG_MIN_MS, &n_refused);
        assert_int_equal(step(&g, t_ms + 10 * RIG_MIN_MS, &n_refused), 0);
        assert_true(count(&g, 0, t_ms) == 6);
    }
    assert_true(tempdir_count(&g.dir, "series.db.damaged") > 0);
    rig_done(&g);
}

/* Everything once, with an allocation failing. */
static int attempt(void *ctx)
{
    struct rig *g = ctx;
    struct err err = {0};
    struct fhist_bucket buckets[2] = {{1, 2}, {4, 5}};
    struct fhist h = {.schema = 1, .count = 7, .sum = 3, .positive = {buckets, 2}};
    int64_t t_ms = RIG_START_MS;
    rig_init(g);
    int r = tsdb_open(g->path, &g->config, &g->t, NULL, &err);
    if (r == 0)
        r = tsdb_reader_open(g->t, &g->reader);
    for (int i = 0; r == 0 && i < 9; i++, t_ms += 6 * RIG_HOUR_MS) {
        struct label pairs[2];
        uint32_t id;
        r = tsdb_series(g->t, rig_labels(pairs, names[i % 4], "x"), TSDB_UNKNOWN, &id);
        if (r == 0)
            r = i % 4 ? tsdb_append(g->t, id, t_ms, i) : tsdb_append_hist(g->t, id, t_ms, &h);
        if (r == 0)
            r = tsdb_commit(g->t);
        while (r == 0 && (r = tsdb_maintain(g->t, t_ms)) == 1)
            r = 0;
    }
    if (r == 0) {
        struct samples out;
        struct arena a;
        struct series_ref *refs;
        size_t n;
        struct series_select what = {NULL, 0, INT64_MIN, INT64_MAX};
        arena_init(&a, NULL);
        samples_init(&out, NULL);
        r = g->reader->ops->select(g->reader, &what, &a, &refs, &n);
        for (size_t i = 0; r == 0 && i < n; i++) {
            samples_clear(&out);
            r = g->reader->ops->samples(g->reader, refs[i].id, INT64_MIN, INT64_MAX, SERIES_LAST,
                                        &out);
        }
        samples_done(&out);
        arena_done(&a);
    }
    g->reader = tsdb_reader_close(g->reader);
    g->t = tsdb_close(g->t);
    tempdir_remove(&g->dir);
    return r;
}

static void test_failing_allocations(void **state)
{
    (void)state;
    struct rig g;
    assert_int_equal(attempt(&g), 0);
    assert_true(memfail_each(attempt, &g) > 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_one_call_fails, setup, teardown),
        cmocka_unit_test_setup_teardown(test_all_calls_fail_for_a_while, setup, teardown),
        cmocka_unit_test_setup_teardown(test_pending_has_an_end, setup, teardown),
        cmocka_unit_test_setup_teardown(test_damaged_while_running, setup, teardown),
        cmocka_unit_test_setup_teardown(test_damaged_when_opened, setup, teardown),
        cmocka_unit_test_setup_teardown(test_failing_allocations, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
