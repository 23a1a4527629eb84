/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Readers beside the writer: each sample once and right, whatever the writer does meanwhile; and
 * being told to stop.
 */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>

#include "db/db.h"
#include "rig.h"

enum { N_SERIES = 8, N_READERS = 3, N_STEPS = 8 * 24 * 20 };
#define STEP_MS (3 * RIG_MIN_MS)

static const char *const names[N_SERIES] = {"r0", "r1", "r2", "r3", "r4", "r5", "r6", "r7"};

static struct shared {
    struct rig rig;
    _Atomic int64_t told_ms; /* appended up to here */
    _Atomic bool is_over;
    _Atomic uint64_t n_reads;
} shared;

static double value_at(int64_t t_ms)
{
    return (double)((t_ms - RIG_START_MS) / STEP_MS);
}

/* cmocka's asserts belong to the main thread. */
static bool is_right(const struct samples *s, int64_t from_ms, int64_t told_ms)
{
    int64_t want = from_ms;
    for (size_t i = 0; i < s->n; i++, want += STEP_MS)
        if (s->t[i] != want || s->v[i] != value_at(want))
            return false;
    return want > told_ms;
}

static bool read_once(struct reader *reader, struct rng *r, struct samples *out)
{
    struct arena a;
    struct matcher m;
    struct series_ref *refs = NULL;
    size_t n = 0;
    int64_t told = atomic_load(&shared.told_ms);
    int64_t n_steps = (told - RIG_START_MS) / STEP_MS;
    int64_t from = RIG_START_MS + (int64_t)rng_below(r, (uint64_t)n_steps + 1) * STEP_MS;
    arena_init(&a, NULL);
    const char *name = names[rng_below(r, N_SERIES)];
    bool ok = matcher_init(&a, MATCH_EQ, SPAN("__name__"), span_cstr(name), &m, NULL) == 0;
    struct series_select what = {&m, 1, from, INT64_MAX};
    samples_clear(out);
    ok = ok && reader->ops->select(reader, &what, &a, &refs, &n) == 0 && n == 1 &&
         reader->ops->samples(reader, refs[0].id, from, INT64_MAX, SERIES_LAST, out) == 0 &&
         is_right(out, from, told);
    matcher_done(&m);
    arena_done(&a);
    return ok;
}

static void *read_on(void *arg)
{
    struct reader *reader = NULL;
    struct samples out;
    struct rng r;
    bool ok = tsdb_reader_open(shared.rig.t, &reader) == 0;
    rng_seed(&r, (uint64_t)(uintptr_t)arg);
    samples_init(&out, NULL);
    while (ok && !atomic_load(&shared.is_over)) {
        ok = read_once(reader, &r, &out);
        atomic_fetch_add(&shared.n_reads, 1);
    }
    samples_done(&out);
    tsdb_reader_close(reader);
    return ok ? arg : NULL;
}

static void write_step(struct rig *g, const uint32_t *ids, int64_t t_ms)
{
    char name[32];
    for (int j = 0; j < N_SERIES; j++)
        assert_int_equal(tsdb_append(g->t, ids[j], t_ms, value_at(t_ms)), 0);
    atomic_store(&shared.told_ms, t_ms);
    snprintf(name, sizeof(name), "passer-by-%lld", (long long)(t_ms % 1009));
    uint32_t id = rig_series(g, name, "x", TSDB_GAUGE);
    int r = tsdb_append(g->t, id, t_ms, 1);
    assert_true(r == 0);
    assert_int_equal(tsdb_commit(g->t), 0);
    rig_maintain(g, t_ms);
}

static void test_beside_the_writer(void **state)
{
    (void)state;
    pthread_t threads[N_READERS];
    uint32_t ids[N_SERIES];
    struct rig *g = &shared.rig;
    rig_init(g);
    g->config.keep_ms[0] = 1000 * RIG_DAY_MS;
    rig_open(g);
    for (int j = 0; j < N_SERIES; j++)
        ids[j] = rig_series(g, names[j], "x", TSDB_COUNTER);
    write_step(g, ids, RIG_START_MS);
    for (uintptr_t i = 0; i < N_READERS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, read_on, (void *)(i + 1)), 0);
    for (int i = 1; i < N_STEPS || atomic_load(&shared.n_reads) < 200; i++)
        write_step(g, ids, RIG_START_MS + i * STEP_MS);
    atomic_store(&shared.is_over, true);
    for (uintptr_t i = 0; i < N_READERS; i++) {
        void *result = NULL;
        assert_int_equal(pthread_join(threads[i], &result), 0);
        assert_non_null(result);
    }
    rig_done(g);
}

/* --- being told to stop --- */

static void *cancel_later(void *arg)
{
    while (atomic_load(&shared.n_reads) < 3)
        ;
    tsdb_reader_cancel(arg);
    return NULL;
}

static void test_cancel(void **state)
{
    (void)state;
    struct rig g;
    struct samples out;
    pthread_t thread;
    rig_init(&g);
    rig_open(&g);
    samples_init(&out, NULL);
    uint32_t id = rig_series(&g, "a", "x", TSDB_COUNTER);
    for (int i = 0; i < 5000; i++)
        assert_int_equal(tsdb_append(g.t, id, RIG_START_MS + i * RIG_MIN_MS, i), 0);
    assert_int_equal(tsdb_commit(g.t), 0);
    rig_maintain(&g, RIG_START_MS + 6 * RIG_DAY_MS);
    shared.n_reads = 0;
    assert_int_equal(pthread_create(&thread, NULL, cancel_later, g.reader), 0);
    int r = 0;
    while (r == 0) {
        samples_clear(&out);
        r = g.reader->ops->samples(g.reader, id, INT64_MIN, INT64_MAX, SERIES_LAST, &out);
        assert_true(r < 0 || out.n == 5000);
        atomic_fetch_add(&shared.n_reads, 1);
    }
    assert_int_equal(r, -ECANCELED);
    pthread_join(thread, NULL);
    struct series_ref *refs;
    size_t n;
    struct arena a;
    arena_init(&a, NULL);
    struct series_select what = {NULL, 0, INT64_MIN, INT64_MAX};
    assert_int_equal(g.reader->ops->select(g.reader, &what, &a, &refs, &n), -ECANCELED);
    tsdb_reader_resume(g.reader);
    assert_int_equal(g.reader->ops->select(g.reader, &what, &a, &refs, &n), 0);
    assert_int_equal(n, 1);
    samples_clear(&out);
    assert_int_equal(g.reader->ops->samples(g.reader, id, INT64_MIN, INT64_MAX, SERIES_LAST, &out),
                     0);
    assert_int_equal(out.n, 5000);
    arena_done(&a);
    samples_done(&out);
    rig_done(&g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_beside_the_writer),
        cmocka_unit_test(test_cancel),
    };
    db_init();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
