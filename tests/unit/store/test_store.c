/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The store's thread from outside: rows pushed are on disk in time, a database that refuses costs
 * none, limits count what they cost, and two processes do not meet.
 */
#include "harness.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/stat.h"
#include "fakeclock.h"
#include "faultvfs.h"
#include "sample.h"
#include "store/store.h"
#include "tally.h"
#include "tempdir.h"

enum { N_THREADS = 3, ROWS_A_THREAD = 4000, WAIT_S = 20 };

struct fixture {
    struct tempdir dir;
    struct store *store;
    struct metrics *metrics;
};

static void open_store(struct fixture *f, const struct store_config *more)
{
    struct store_config config = *more;
    struct err err = {0};
    config.dir = f->dir.path;
    if (store_new(&config, &f->store, &err) < 0)
        fail_msg("%s", err.text);
}

static void setup(struct fixture *f)
{
    *f = (struct fixture){0};
    tempdir_make(&f->dir);
}

static void teardown(struct fixture *f)
{
    f->store = store_free(f->store);
    metrics_free(f->metrics);
    tempdir_remove(&f->dir);
    assert_int_equal(mem_live_blocks(), 0);
}

static void push(struct fixture *f, int i)
{
    struct record r;
    record_init(&r);
    snprintf(r.request_id, sizeof(r.request_id), "%032x", (unsigned)i);
    r.started_at = clock_wall();
    store_push(f->store, &r);
}

/* Rows on disk that have this id. */
static size_t has_row(const struct fixture *f, int i)
{
    struct rows_reader *reader = NULL;
    char id[33];
    size_t n = 0;
    snprintf(id, sizeof(id), "%032x", (unsigned)i);
    assert_int_equal(rows_reader_open(f->dir.path, &reader, NULL), 0);
    int r = rows_find(reader, span_cstr(id), tally_row, &n);
    assert_true(r == 0 || r == -ENOENT || r == -EBUSY);
    rows_reader_close(reader);
    return n;
}

static struct store_status status_of(const struct fixture *f)
{
    struct store_status s;
    store_status(f->store, &s);
    return s;
}

#define WAIT_FOR(condition)                                                                        \
    do {                                                                                           \
        mono_t wait_start_ = clock_mono();                                                         \
        while (!(condition)) {                                                                     \
            assert_true(mono_diff(clock_mono(), wait_start_) < WAIT_S * NS_PER_S);                 \
            usleep(5000);                                                                          \
        }                                                                                          \
    } while (0)

static void a_row_is_on_disk_within_a_second(void **state)
{
    (void)state;
    struct fixture f;
    setup(&f);
    open_store(&f, &(struct store_config){0});
    for (int i = 0; i < 3; i++) {
        mono_t start = clock_mono();
        push(&f, i);
        WAIT_FOR(has_row(&f, i) == 1);
        assert_true(mono_diff(clock_mono(), start) < 2 * NS_PER_S); /* on a machine that is busy */
    }
    assert_int_equal(status_of(&f).rows.n_committed, 3);
    teardown(&f);
}

static void *push_many(void *arg)
{
    struct fixture *f = arg;
    for (int i = 0; i < ROWS_A_THREAD; i++)
        push(f, i);
    return NULL;
}

static void rows_of_many_threads_are_there_at_the_end(void **state)
{
    (void)state;
    struct fixture f;
    pthread_t threads[N_THREADS];
    struct store_status before;
    setup(&f);
    open_store(&f, &(struct store_config){0});
    for (size_t i = 0; i < N_THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, push_many, &f), 0);
    store_status(f.store, &before);
    for (size_t i = 0; i < N_THREADS; i++)
        pthread_join(threads[i], NULL);
    f.store = store_free(f.store);
    assert_int_equal(tally_scanned(f.dir.path), N_THREADS * ROWS_A_THREAD);
    teardown(&f);
}

/* Somebody else writes in the day's file and does not end. */
static struct db *lock_day(const struct fixture *f)
{
    struct db *d = NULL;
    char path[DAY_PATH_MAX];
    assert_int_equal(day_path(f->dir.path, day_of(clock_wall().us), ".db", path, sizeof(path)), 0);
    assert_int_equal(db_open(path, &day_schema, DB_WRITE, &d, NULL), 0);
    assert_int_equal(db_begin(d), 0);
    return d;
}

static void while_the_database_refuses_rows_wait_in_the_spill_file(void **state)
{
    (void)state;
    struct fixture f;
    int64_t n_errors = stat_sum(STAT_STORE_ERRORS_BUSY);
    setup(&f);
    open_store(&f, &(struct store_config){0});
    push(&f, 0);
    WAIT_FOR(status_of(&f).rows.n_committed == 1);
    struct db *d = lock_day(&f);
    for (int i = 1; i < 50; i++)
        push(&f, i);
    WAIT_FOR(status_of(&f).n_spilled > 0);
    assert_true(status_of(&f).is_failing && status_of(&f).why[0] != '\0');
    f.store = store_free(f.store); /* and the program ends meanwhile */
    db_rollback(d);
    db_close(d);
    assert_int_equal(tally_scanned(f.dir.path), 1);
    open_store(&f, &(struct store_config){0});
    WAIT_FOR(status_of(&f).n_spilled == 0 && status_of(&f).rows.n_committed == 49);
    assert_int_equal(tally_scanned(f.dir.path), 50);
    assert_false(status_of(&f).is_failing);
    assert_true(stat_sum(STAT_STORE_ERRORS_BUSY) > n_errors);
    for (int i = 0; i < 50; i += 7)
        assert_int_equal(has_row(&f, i), 1);
    teardown(&f);
}

/* Nothing takes the rows: what does not fit is lost, counted, and the store goes on afterwards. */
static size_t count_ids(const struct fixture *f, int from, int to)
{
    size_t n = 0;
    for (int i = from; i < to; i++)
        n += has_row(f, i);
    return n;
}

/* Of three processes with one directory the second one ends first, without ever having had it. */
static void rows_of_who_waits_in_vain_are_taken_in(void **state)
{
    (void)state;
    struct fixture f;
    setup(&f);
    open_store(&f, &(struct store_config){.spill_bytes = SPILL_BYTES_MIN});
    struct fixture second = f;
    struct fixture third = f;
    open_store(&second, &(struct store_config){.spill_bytes = SPILL_BYTES_MIN});
    open_store(&third, &(struct store_config){.spill_bytes = SPILL_BYTES_MIN});
    assert_false(status_of(&second).is_open);
    for (int i = 0; i < 300; i++)
        push(i % 3 == 0 ? &f : i % 3 == 1 ? &second : &third, i);
    /* Aside within a second: a kill would not lose it. */
    WAIT_FOR(status_of(&second).n_spilled == 100 && status_of(&third).n_spilled == 100);
    assert_int_equal(tempdir_count(&f.dir, "spill-"), 2);
    usleep(1300 * 1000); /* a try to get the directory later they are still their own */
    assert_int_equal(tally_scanned(f.dir.path), 100);
    push(&second, 300);
    second.store = store_free(second.store);
    WAIT_FOR(tally_scanned(f.dir.path) == 201);
    assert_int_equal(tempdir_count(&f.dir, "spill-"), 1);
    f.store = store_free(f.store);
    WAIT_FOR(status_of(&third).is_open && status_of(&third).n_waiting == 0);
    WAIT_FOR(tally_scanned(f.dir.path) == 301);
    assert_int_equal(count_ids(&f, 0, 301), 301);
    assert_int_equal(tempdir_count(&f.dir, "spill-"), 0);
    assert_int_equal(status_of(&third).n_lost, 0);
    f.store = third.store;
    teardown(&f);
}

static void what_finds_no_place_is_counted(void **state)
{
    (void)state;
    struct fixture f;
    setup(&f);
    int64_t n_before = stat_sum(STAT_DROP_STORE_QUEUE) + stat_sum(STAT_DROP_STORE_WRITE);
    char path[128];
    snprintf(path, sizeof(path), "%s/lock", f.dir.path);
    int fd = open(path, O_RDWR | O_CREAT, 0600);
    assert_int_equal(flock(fd, LOCK_EX), 0); /* as another process would hold it */
    open_store(&f, &(struct store_config){.max_waiting_bytes = 10000});
    for (int i = 0; i < 2000; i++)
        push(&f, i);
    uint64_t n_lost = status_of(&f).n_lost;
    assert_false(status_of(&f).is_open);
    assert_true(n_lost > 1000 && n_lost < 2000);
    assert_int_equal(stat_sum(STAT_DROP_STORE_QUEUE) + stat_sum(STAT_DROP_STORE_WRITE),
                     n_before + (int64_t)n_lost);
    close(fd);
    WAIT_FOR(status_of(&f).rows.n_committed == 2000 - n_lost);
    assert_true(status_of(&f).is_open);
    assert_int_equal(tally_scanned(f.dir.path), 2000 - n_lost);
    teardown(&f);
}

static void series_are_gathered_and_read(void **state)
{
    (void)state;
    struct fixture f;
    struct reader *reader = NULL;
    setup(&f);
    assert_int_equal(metrics_new(NULL, &f.metrics), 0);
    open_store(&f, &(struct store_config){.metrics = f.metrics, .gather_ms = 20});
    WAIT_FOR(status_of(&f).n_own_samples > 1000);
    assert_int_equal(store_reader_open(f.store, &reader), 0);
    tsdb_reader_close(reader);
    assert_true(status_of(&f).series.n_series >= status_of(&f).n_own_series);
    struct store_config slower = {.gather_ms = 3600000};
    assert_int_equal(store_configure(f.store, &slower), 0);
    teardown(&f);
}

/* How many of the series of a closed store end with a stale marker, and how many do not. */
static void count_ends(const struct fixture *f, size_t *ret_ended, size_t *ret_open)
{
    struct tsdb_config config = {0};
    struct series_select all = {.from_ms = 0, .to_ms = INT64_MAX / 2};
    struct series_ref *refs = NULL;
    struct reader *reader = NULL;
    struct tsdb *t = NULL;
    struct samples samples;
    struct arena a;
    struct err err = {0};
    size_t n = 0;
    *ret_ended = *ret_open = 0;
    arena_init(&a, NULL);
    samples_init(&samples, NULL);
    assert_int_equal(tsdb_open(tempdir_file(&f->dir, "series.db"), &config, &t, NULL, &err), 0);
    assert_int_equal(tsdb_reader_open(t, &reader), 0);
    assert_int_equal(reader->ops->select(reader, &all, &a, &refs, &n), 0);
    for (size_t i = 0; i < n; i++) {
        samples_clear(&samples);
        assert_int_equal(
            reader->ops->samples(reader, refs[i].id, 0, all.to_ms, SERIES_LAST, &samples), 0);
        bool is_ended = samples.n > 0 && series_is_stale(samples.v[samples.n - 1]);
        ++*(is_ended ? ret_ended : ret_open);
    }
    tsdb_reader_close(reader);
    tsdb_close(t);
    samples_done(&samples);
    arena_done(&a);
}

static void series_end_with_the_program(void **state)
{
    (void)state;
    struct fixture f;
    size_t n_ended, n_open;
    setup(&f);
    assert_int_equal(metrics_new(NULL, &f.metrics), 0);
    open_store(&f, &(struct store_config){.metrics = f.metrics, .gather_ms = 20});
    WAIT_FOR(status_of(&f).n_own_samples > 200);
    f.store = store_free(f.store);
    count_ends(&f, &n_ended, &n_open);
    assert_true(n_ended > 20);
    assert_int_equal(n_open, 0);
    teardown(&f);
}

/* What the disk does at the start it could do at any time: the program serves meanwhile. */
static void a_disk_that_refuses_at_the_start_is_waited_for(void **state)
{
    (void)state;
    static const enum faultvfs_kind kinds[] = {FAULTVFS_FULL, FAULTVFS_IOERR};
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
        struct fixture f;
        setup(&f);
        faultvfs_install();
        faultvfs_fail(kinds[i], 1, true);
        assert_int_equal(metrics_new(NULL, &f.metrics), 0);
        open_store(&f, &(struct store_config){.metrics = f.metrics, .gather_ms = 20});
        push(&f, 0);
        WAIT_FOR(status_of(&f).is_failing && status_of(&f).why[0] != '\0');
        faultvfs_heal();
        WAIT_FOR(status_of(&f).rows.n_committed == 1 && status_of(&f).n_own_samples > 0);
        WAIT_FOR(!status_of(&f).is_failing);
        assert_int_equal(has_row(&f, 0), 1);
        teardown(&f);
        faultvfs_remove();
    }
}

static void a_directory_that_refuses_at_the_start_is_waited_for(void **state)
{
    (void)state;
    struct fixture f;
    char path[128];
    setup(&f);
    snprintf(path, sizeof(path), "%s/lock", f.dir.path);
    assert_int_equal(mkdir(path, 0700), 0); /* root may do all else */
    open_store(&f, &(struct store_config){0});
    push(&f, 0);
    WAIT_FOR(status_of(&f).is_failing && strstr(status_of(&f).why, "lock"));
    assert_false(status_of(&f).is_open);
    assert_int_equal(rmdir(path), 0);
    WAIT_FOR(status_of(&f).rows.n_committed == 1);
    assert_true(status_of(&f).is_open && !status_of(&f).is_failing);
    teardown(&f);
}

static void a_spill_file_that_cannot_be_made_is_tried_again(void **state)
{
    (void)state;
    struct fixture f;
    char path[128];
    setup(&f);
    snprintf(path, sizeof(path), "%s/spill", f.dir.path);
    assert_int_equal(mkdir(path, 0700), 0);
    fakeclock_install(clock_mono().ns, clock_wall().us * NS_PER_US);
    open_store(&f, &(struct store_config){0});
    assert_int_equal(status_of(&f).spill_bytes, 0);
    assert_int_equal(rmdir(path), 0);
    fakeclock_advance(15 * NS_PER_S); /* longer than it waits before it tries again */
    WAIT_FOR(status_of(&f).spill_bytes > 0);
    teardown(&f);
    fakeclock_remove();
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *at)
{
    (void)st;
    (void)type;
    (void)at;
    return remove(path);
}

/* What was there is lost, and what comes from then on is not. */
static void a_directory_removed_while_in_use_is_made_again(void **state)
{
    (void)state;
    struct fixture f;
    char lock[128];
    setup(&f);
    snprintf(lock, sizeof(lock), "%s/lock", f.dir.path);
    assert_int_equal(metrics_new(NULL, &f.metrics), 0);
    struct store_config config = {.metrics = f.metrics, .gather_ms = 20};
    open_store(&f, &config);
    push(&f, 0);
    WAIT_FOR(status_of(&f).rows.n_committed == 1 && status_of(&f).n_own_samples > 0);
    assert_int_equal(nftw(f.dir.path, remove_one, 8, FTW_DEPTH | FTW_PHYS), 0);
    WAIT_FOR(access(lock, F_OK) == 0);
    push(&f, 1);
    WAIT_FOR(status_of(&f).rows.n_committed == 2);
    assert_int_equal(has_row(&f, 1), 1);
    uint64_t n_series = status_of(&f).series.n_series;
    f.store = store_free(f.store);
    assert_int_equal(tempdir_count(&f.dir, "spill"), 1);
    open_store(&f, &config);
    assert_int_equal(has_row(&f, 1), 1);
    WAIT_FOR(status_of(&f).series.n_series >= n_series);
    teardown(&f);
}

/* Only databases go: what is in memory goes into new ones. */
static void databases_removed_while_in_use_are_made_again(void **state)
{
    (void)state;
    static const char *const endings[] = {"", "-wal", "-shm"};
    struct fixture f;
    char path[DAY_PATH_MAX + 8];
    for (size_t n = 1; n <= ARRAY_LEN(endings); n++) { /* the WAL alone, with -shm, all */
        setup(&f);
        assert_int_equal(metrics_new(NULL, &f.metrics), 0);
        struct store_config config = {.metrics = f.metrics, .gather_ms = 20};
        open_store(&f, &config);
        push(&f, 0);
        WAIT_FOR(status_of(&f).rows.n_committed == 1 && status_of(&f).n_own_samples > 0);
        int64_t day = day_of(clock_wall().us);
        for (size_t i = 0; i < n; i++) {
            const char *ending = endings[(i + 1) % ARRAY_LEN(endings)];
            snprintf(path, sizeof(path), "%s/series.db%s", f.dir.path, ending);
            assert_int_equal(unlink(path), 0);
            snprintf(path, sizeof(path), ".db%s", ending);
            char name[DAY_PATH_MAX];
            assert_int_equal(day_path(f.dir.path, day, path, name, sizeof(name)), 0);
            assert_int_equal(unlink(name), 0);
        }
        push(&f, 1);
        WAIT_FOR(status_of(&f).rows.n_committed == 2);
        uint64_t n_samples = status_of(&f).n_own_samples;
        WAIT_FOR(status_of(&f).n_own_samples > n_samples);
        f.store = store_free(f.store);
        assert_int_equal(has_row(&f, 1), 1);
        assert_int_equal(has_row(&f, 0), n == ARRAY_LEN(endings) ? 0 : 1);
        assert_int_equal(tempdir_count(&f.dir, "series.db.damaged-"), 0);
        open_store(&f, &(struct store_config){0});
        WAIT_FOR(status_of(&f).series.n_series > 0);
        teardown(&f);
    }
}

/* Neighbours among the samples of our first series that are that far apart. */
static size_t count_distances(const struct fixture *f, int64_t wanted_ms)
{
    struct reader *reader = NULL;
    struct arena a;
    struct samples samples;
    struct series_ref *refs;
    size_t n_refs, n = 0;
    struct series_select all = {.from_ms = INT64_MIN, .to_ms = INT64_MAX};
    if (store_reader_open(f->store, &reader) < 0)
        return 0; /* not yet */
    arena_init(&a, NULL);
    samples_init(&samples, NULL);
    assert_int_equal(reader->ops->select(reader, &all, &a, &refs, &n_refs), 0);
    if (n_refs > 0)
        assert_int_equal(
            reader->ops->samples(reader, refs[0].id, INT64_MIN, INT64_MAX, SERIES_LAST, &samples),
            0);
    for (size_t i = 1; i < samples.n; i++)
        n += samples.t[i] - samples.t[i - 1] == wanted_ms;
    samples_done(&samples);
    arena_done(&a);
    tsdb_reader_close(reader);
    return n;
}

/* Not at the distances of the thread's turns. */
static void samples_are_taken_at_steady_distances(void **state)
{
    (void)state;
    struct fixture f;
    setup(&f);
    assert_int_equal(metrics_new(NULL, &f.metrics), 0);
    open_store(&f, &(struct store_config){.metrics = f.metrics, .gather_ms = 400});
    WAIT_FOR(count_distances(&f, 400) >= 2);
    teardown(&f);
}

static void a_directory_that_cannot_be_made_is_told(void **state)
{
    (void)state;
    struct store *s = NULL;
    struct err err = {0};
    assert_int_equal(store_new(&(struct store_config){.dir = "/proc/nowhere/store"}, &s, &err),
                     -ENOENT);
    assert_non_null(strstr(err.text, "/proc/nowhere/store"));
    assert_true(err.hint[0] != '\0');
    assert_int_equal(mem_live_blocks(), 0);
}

/* All of the first allocations, fewer later on: SQLite makes a thousand. */
static void without_memory_it_does_not_begin(void **state)
{
    (void)state;
    struct fixture f;
    int r = -ENOMEM;
    int n_failed = 0;
    setup(&f);
    assert_int_equal(metrics_new(NULL, &f.metrics), 0);
    int64_t n_blocks = mem_live_blocks();
    struct store_config config = {.dir = f.dir.path, .metrics = f.metrics};
    for (uint64_t n = 1; r != 0; n += 1 + n / 6) {
        mem_fail_from(n);
        r = store_new(&config, &f.store, NULL);
        mem_fail_off();
        n_failed += r != 0;
        assert_true(r == 0 || (f.store == NULL && mem_live_blocks() == n_blocks));
    }
    assert_true(n_failed > 20);
    teardown(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_row_is_on_disk_within_a_second),
        cmocka_unit_test(rows_of_many_threads_are_there_at_the_end),
        cmocka_unit_test(while_the_database_refuses_rows_wait_in_the_spill_file),
        cmocka_unit_test(rows_of_who_waits_in_vain_are_taken_in),
        cmocka_unit_test(what_finds_no_place_is_counted),
        cmocka_unit_test(series_are_gathered_and_read),
        cmocka_unit_test(series_end_with_the_program),
        cmocka_unit_test(a_disk_that_refuses_at_the_start_is_waited_for),
        cmocka_unit_test(a_directory_that_refuses_at_the_start_is_waited_for),
        cmocka_unit_test(a_spill_file_that_cannot_be_made_is_tried_again),
        cmocka_unit_test(a_directory_removed_while_in_use_is_made_again),
        cmocka_unit_test(databases_removed_while_in_use_are_made_again),
        cmocka_unit_test(samples_are_taken_at_steady_distances),
        cmocka_unit_test(a_directory_that_cannot_be_made_is_told),
        cmocka_unit_test(without_memory_it_does_not_begin),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
