/* SPDX-License-Identifier: Apache-2.0 */
#include "harness.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/rng.h"
#include "base/stat.h"
#include "metrics/hist.h"

/* --- big numbers, just enough to compare v^32 with 2^i * s^32 --- */

enum { LIMBS = 128 };

struct big {
    uint32_t limb[LIMBS]; /* least significant first */
};

static void big_mul(struct big *b, uint64_t factor)
{
    /* Two passes of 32 bits each keep the carry inside 64 bits. */
    struct big low = {{0}}, high = {{0}};
    uint64_t carry_low = 0, carry_high = 0;
    for (int i = 0; i < LIMBS; i++) {
        carry_low += (uint64_t)b->limb[i] * (uint32_t)factor;
        low.limb[i] = (uint32_t)carry_low;
        carry_low >>= 32;
        carry_high += (uint64_t)b->limb[i] * (uint32_t)(factor >> 32);
        high.limb[i] = (uint32_t)carry_high;
        carry_high >>= 32;
    }
    uint64_t carry = 0;
    for (int i = 0; i < LIMBS; i++) {
        carry += (uint64_t)low.limb[i] + (i > 0 ? high.limb[i - 1] : 0);
        b->limb[i] = (uint32_t)carry;
        carry >>= 32;
    }
}

static int big_cmp(const struct big *a, const struct big *b)
{
    for (int i = LIMBS - 1; i >= 0; i--) {
        if (a->limb[i] != b->limb[i])
            return a->limb[i] < b->limb[i] ? -1 : 1;
    }
    return 0;
}

/* Whether v <= 2^(index/32) * scale, exactly. */
static bool is_below(int64_t v, int index, uint64_t scale)
{
    struct big left = {{1}}, right = {{1}};
    for (int i = 0; i < 32; i++) {
        big_mul(&left, (uint64_t)v);
        big_mul(&right, scale);
    }
    for (int i = index < 0 ? -index : index; i > 0; i -= i > 32 ? 32 : i)
        big_mul(index < 0 ? &left : &right, UINT64_C(1) << (i > 32 ? 32 : i));
    return big_cmp(&left, &right) <= 0;
}

static const struct {
    const char *name;
    enum hist_unit unit;
    uint64_t scale;
} units[] = {{"ns", HIST_NS, 1000000000}, {"count", HIST_COUNT, 1}, {"milli", HIST_MILLI, 1000}};

static void test_boundaries_exact(void **state)
{
    (void)state;
    for (size_t u = 0; u < ARRAY_LEN(units); u++) {
        const struct hist_layout *l = hist_layout_get(units[u].unit);
        assert_row(units[u].name, l->upper[l->n_buckets - 1] == INT64_MAX);
        /* The zero threshold lies inside bucket 1 or at its lower end. */
        assert_row(units[u].name, !is_below(l->zero_raw + 1, l->first_index - 1, units[u].scale));
        for (uint32_t k = 1; k + 1 < l->n_buckets; k++) {
            int index = hist_native_index(l, k);
            assert_row(units[u].name, is_below(l->upper[k], index, units[u].scale));
            assert_row(units[u].name, !is_below(l->upper[k] + 1, index, units[u].scale));
        }
    }
}

static void test_bucket_of_boundaries(void **state)
{
    (void)state;
    for (size_t u = 0; u < ARRAY_LEN(units); u++) {
        const struct hist_layout *l = hist_layout_get(units[u].unit);
        assert_int_equal(hist_bucket_of(l, 0), 0);
        for (uint32_t k = 0; k < l->n_buckets; k++) {
            /* Small counts skip buckets: no integer lies in them. */
            bool is_empty = k > 0 && l->upper[k] == l->upper[k - 1];
            if (is_empty)
                continue;
            assert_int_equal(hist_bucket_of(l, l->upper[k]), k);
            if (k > 0)
                assert_int_equal(hist_bucket_of(l, l->upper[k - 1] + 1), k);
        }
    }
}

static void test_bucket_of_powers(void **state)
{
    (void)state;
    const struct hist_layout *ns = hist_layout_get(HIST_NS);
    const struct hist_layout *count = hist_layout_get(HIST_COUNT);
    /* 1 s is 2^0 s, 2^-9 s is 1953125 ns: on the boundary, so in the bucket below. */
    assert_int_equal(hist_native_index(ns, hist_bucket_of(ns, NS_PER_S)), 0);
    assert_int_equal(hist_native_index(ns, hist_bucket_of(ns, NS_PER_S + 1)), 1);
    assert_int_equal(hist_native_index(ns, hist_bucket_of(ns, 1953125)), -9 * 32);
    assert_int_equal(hist_native_index(ns, hist_bucket_of(ns, 1953126)), -9 * 32 + 1);
    for (int e = 1; e < 62; e++) {
        int64_t v = INT64_C(1) << e;
        assert_int_equal(hist_native_index(count, hist_bucket_of(count, v)), e * 32);
        if (e > 5)
            assert_int_equal(hist_native_index(count, hist_bucket_of(count, v + 1)), e * 32 + 1);
    }
    assert_int_equal(hist_bucket_of(ns, 1000), 0);
    assert_int_equal(hist_bucket_of(ns, 1001), 1);
    assert_int_equal(hist_bucket_of(count, 1), 0);
}

static void test_bucket_of_random(void **state)
{
    (void)state;
    struct rng rng;
    rng_seed(&rng, 7);
    for (size_t u = 0; u < ARRAY_LEN(units); u++) {
        const struct hist_layout *l = hist_layout_get(units[u].unit);
        for (int i = 0; i < 200000; i++) {
            int64_t v = (int64_t)(rng_u64(&rng) >> 1 >> rng_below(&rng, 62));
            uint32_t k = hist_bucket_of(l, v);
            assert_true(v <= l->upper[k]);
            assert_true(k == 0 || v > l->upper[k - 1]);
        }
    }
}

/* --- recording --- */

struct fixture {
    hist_source source;
    struct hist_bounds *bounds;
    struct hist hist;
    struct hist_snapshot *snapshot;
};

static void fixture_init(struct fixture *f, enum hist_unit unit, const int64_t *bounds, size_t n)
{
    assert_int_equal(hist_bounds_new(unit, bounds, n, (wall_t){1}, &f->bounds), 0);
    atomic_init(&f->source, f->bounds);
    hist_init(&f->hist, &f->source);
    f->snapshot = mem_must(mem_alloc(sizeof(*f->snapshot)));
}

static void fixture_done(struct fixture *f)
{
    hist_done(&f->hist);
    hist_bounds_free(f->bounds);
    mem_free(f->snapshot);
}

static const struct hist_snapshot *fixture_read(struct fixture *f)
{
    hist_snapshot_init(f->snapshot, f->bounds);
    hist_snapshot_add(f->snapshot, &f->hist);
    return f->snapshot;
}

static void test_classic_exact(void **state)
{
    (void)state;
    /* 1000000 .. 1000003 ns lie in one exponential bucket. */
    static const int64_t bounds[] = {0,       1000,           5000,     1000000,      1000001,
                                     1000003, 30 * NS_PER_MS, NS_PER_S, 60 * NS_PER_S};
    struct fixture f;
    fixture_init(&f, HIST_NS, bounds, ARRAY_LEN(bounds));
    for (size_t i = 0; i < ARRAY_LEN(bounds); i++) {
        hist_record_n(&f.hist, bounds[i], 10);
        hist_record_n(&f.hist, bounds[i] + 1, 100);
    }
    const struct hist_snapshot *s = fixture_read(&f);
    uint64_t expect[ARRAY_LEN(bounds) + 1] = {0};
    for (size_t i = 0; i < ARRAY_LEN(bounds); i++) {
        for (int more = 0; more < 2; more++) {
            size_t c = 0;
            while (c < ARRAY_LEN(bounds) && bounds[i] + more > bounds[c])
                c++;
            expect[c] += more ? 100 : 10;
        }
    }
    assert_memory_equal(s->classic, expect, sizeof(expect));
    fixture_done(&f);
}

static void test_classic_random(void **state)
{
    (void)state;
    struct rng rng;
    rng_seed(&rng, 11);
    for (int round = 0; round < 50; round++) {
        int64_t bounds[HIST_BOUNDS_MAX];
        uint64_t expect[HIST_BOUNDS_MAX + 1] = {0};
        int64_t b = 0;
        for (size_t i = 0; i < ARRAY_LEN(bounds); i++)
            bounds[i] = b += 1 + (int64_t)rng_below(&rng, (uint64_t)b / 2 + 10);
        struct fixture f;
        fixture_init(&f, units[round % 3].unit, bounds, ARRAY_LEN(bounds));
        for (int i = 0; i < 2000; i++) {
            int64_t v = (int64_t)rng_below(&rng, (uint64_t)b * 2) >> rng_below(&rng, 20);
            size_t c = 0;
            while (c < ARRAY_LEN(bounds) && v > bounds[c])
                c++;
            expect[c]++;
            hist_record(&f.hist, v);
        }
        assert_memory_equal(fixture_read(&f)->classic, expect, sizeof(expect));
        fixture_done(&f);
    }
}

static void test_bounds_refused(void **state)
{
    (void)state;
    int64_t many[HIST_BOUNDS_MAX + 1];
    for (size_t i = 0; i < ARRAY_LEN(many); i++)
        many[i] = (int64_t)i;
    static const int64_t equal[] = {1, 1}, falling[] = {2, 1}, negative[] = {-1, 1};
    struct hist_bounds *b = NULL;
    assert_int_equal(hist_bounds_new(HIST_NS, equal, 2, (wall_t){1}, &b), -EINVAL);
    assert_int_equal(hist_bounds_new(HIST_NS, falling, 2, (wall_t){1}, &b), -EINVAL);
    assert_int_equal(hist_bounds_new(HIST_NS, negative, 2, (wall_t){1}, &b), -EINVAL);
    assert_int_equal(hist_bounds_new(HIST_NS, many, ARRAY_LEN(many), (wall_t){1}, &b), -EINVAL);
    assert_null(b);
    assert_int_equal(hist_bounds_new(HIST_NS, NULL, 0, (wall_t){1}, &b), 0);
    hist_bounds_free(b);
}

static void test_extremes(void **state)
{
    (void)state;
    static const int64_t bounds[] = {NS_PER_S};
    struct fixture f;
    fixture_init(&f, HIST_NS, bounds, 1);
    hist_record(&f.hist, -5);
    hist_record(&f.hist, 0);
    hist_record(&f.hist, 1000);
    hist_record(&f.hist, INT64_MAX);
    hist_record_n(&f.hist, 5, 0);
    const struct hist_snapshot *s = fixture_read(&f);
    assert_int_equal(s->n, 4);
    assert_int_equal(s->buckets[0], 3);
    assert_int_equal(s->buckets[f.bounds->layout->n_buckets - 1], 1);
    assert_int_equal(s->classic[0], 3);
    assert_int_equal(s->classic[1], 1);
    fixture_done(&f);
}

static void test_sum_carries(void **state)
{
    (void)state;
    struct fixture f;
    fixture_init(&f, HIST_NS, NULL, 0);
    hist_sum_t want = 0;
    static const struct {
        int64_t raw;
        uint64_t n;
    } rows[] = {{INT64_MAX, 3},
                {INT64_MAX / 2, 1},
                {1, UINT64_C(1) << 62},
                {3600 * NS_PER_S, 1000000000},
                {7, 1},
                {INT64_MAX, UINT32_MAX}};
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        hist_record_n(&f.hist, rows[i].raw, rows[i].n);
        want += (hist_sum_t)rows[i].raw * rows[i].n;
        assert_true(fixture_read(&f)->sum_raw == want);
    }
    double seconds = hist_snapshot_sum(f.snapshot);
    assert_true(fabs(seconds / ((double)want / 1e9) - 1) < 1e-12);
    fixture_done(&f);
}

static int compare_i64(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static void test_quantile_error(void **state)
{
    (void)state;
    enum { N = 50000 };
    static int64_t values[N];
    static const double sigmas[] = {0.1, 0.8, 2.0};
    static const double quantiles[] = {0.01, 0.25, 0.5, 0.9, 0.95, 0.99, 0.999, 1};
    struct rng rng;
    rng_seed(&rng, 3);
    for (size_t i = 0; i < ARRAY_LEN(sigmas); i++) {
        struct fixture f;
        fixture_init(&f, HIST_NS, NULL, 0);
        for (int k = 0; k < N; k++) {
            values[k] = (int64_t)rng_lognormal(&rng, 0.2e9, sigmas[i]);
            hist_record(&f.hist, values[k]);
        }
        qsort(values, N, sizeof(values[0]), compare_i64);
        const struct hist_snapshot *s = fixture_read(&f);
        for (size_t q = 0; q < ARRAY_LEN(quantiles); q++) {
            double exact = (double)values[(int)ceil(quantiles[q] * N) - 1];
            double got = hist_snapshot_quantile(s, quantiles[q]);
            assert_true(fabs(got / exact - 1) <= 0.022);
        }
        fixture_done(&f);
    }
}

static void test_quantile_no_data(void **state)
{
    (void)state;
    struct fixture f;
    fixture_init(&f, HIST_NS, NULL, 0);
    assert_true(hist_snapshot_quantile(fixture_read(&f), 0.5) < 0);
    hist_record(&f.hist, 500);
    assert_true(hist_snapshot_quantile(fixture_read(&f), 1) <= 1000);
    fixture_done(&f);
}

static void test_merge_is_union(void **state)
{
    (void)state;
    static const int64_t bounds[] = {NS_PER_MS, NS_PER_S};
    struct fixture parts[3], all;
    struct rng rng;
    rng_seed(&rng, 5);
    fixture_init(&all, HIST_NS, bounds, 2);
    hist_snapshot_init(all.snapshot, all.bounds);
    for (int i = 0; i < 3; i++) {
        hist_init(&parts[i].hist, &all.source);
        for (int k = 0; k < 10000; k++) {
            int64_t v = (int64_t)rng_lognormal(&rng, 1e7 * (i + 1), 3);
            hist_record(&parts[i].hist, v);
            hist_record(&all.hist, v);
        }
        hist_snapshot_add(all.snapshot, &parts[i].hist);
    }
    struct hist_snapshot *merged = all.snapshot;
    all.snapshot = mem_must(mem_alloc(sizeof(*all.snapshot)));
    const struct hist_snapshot *whole = fixture_read(&all);
    assert_int_equal(merged->n, 30000);
    assert_int_equal(merged->n, whole->n);
    assert_true(merged->sum_raw == whole->sum_raw);
    assert_memory_equal(merged->buckets, whole->buckets, sizeof(whole->buckets));
    assert_memory_equal(merged->classic, whole->classic, 3 * sizeof(whole->classic[0]));
    for (int i = 0; i < 3; i++)
        hist_done(&parts[i].hist);
    mem_free(merged);
    fixture_done(&all);
}

static void test_restart(void **state)
{
    (void)state;
    static const int64_t old_bounds[] = {NS_PER_MS}, new_bounds[] = {NS_PER_S, 2 * NS_PER_S};
    struct fixture f;
    fixture_init(&f, HIST_NS, old_bounds, 1);
    hist_record_exemplar(&f.hist, NS_PER_S, "old", (wall_t){1});
    struct hist_bounds *newer = NULL;
    assert_int_equal(hist_bounds_new(HIST_NS, new_bounds, 2, (wall_t){2}, &newer), 0);
    atomic_store(&f.source, newer);
    hist_snapshot_init(f.snapshot, newer);
    hist_snapshot_add(f.snapshot, &f.hist);
    assert_int_equal(f.snapshot->n, 0); /* at once, before the writer noticed */
    hist_record(&f.hist, 3 * NS_PER_S);
    hist_snapshot_init(f.snapshot, newer);
    hist_snapshot_add(f.snapshot, &f.hist);
    assert_int_equal(f.snapshot->n, 1);
    assert_int_equal(f.snapshot->classic[2], 1);
    assert_true(f.snapshot->sum_raw == 3 * NS_PER_S);
    for (int i = 0; i <= 2; i++)
        assert_int_equal(f.snapshot->exemplars[i].at.us, 0);
    fixture_done(&f);
    hist_bounds_free(newer);
}

static void test_exemplars(void **state)
{
    (void)state;
    static const int64_t bounds[] = {NS_PER_MS, NS_PER_S};
    char longest[100];
    memset(longest, 'x', sizeof(longest) - 1);
    longest[sizeof(longest) - 1] = '\0';
    struct fixture f;
    fixture_init(&f, HIST_NS, bounds, 2);
    hist_record_exemplar(&f.hist, 5, "first", (wall_t){10});
    hist_record_exemplar(&f.hist, 6, "second", (wall_t){11});
    hist_record_exemplar(&f.hist, NS_PER_S + 1, longest, (wall_t){12});
    hist_record_exemplar(&f.hist, 7, "", (wall_t){13});
    hist_record_exemplar(&f.hist, 8, NULL, (wall_t){14});
    const struct hist_snapshot *s = fixture_read(&f);
    assert_int_equal(s->n, 5);
    assert_string_equal(s->exemplars[0].id, "second");
    assert_int_equal(s->exemplars[0].raw, 6);
    assert_int_equal(s->exemplars[0].at.us, 11);
    assert_int_equal(s->exemplars[1].at.us, 0);
    assert_int_equal(strlen(s->exemplars[2].id), HIST_EXEMPLAR_ID_MAX);
    fixture_done(&f);
}

/* A reader that meets samples half recorded: where their bucket ends, nothing counted lower. */
static void test_half_recorded(void **state)
{
    (void)state;
    static const int64_t bounds[] = {NS_PER_MS, NS_PER_S, 10 * NS_PER_S};
    struct fixture f;
    fixture_init(&f, HIST_NS, bounds, 3);
    hist_record(&f.hist, 10);
    hist_record(&f.hist, NS_PER_S - 1);  /* its bucket ends on the bound */
    hist_record(&f.hist, 10 * NS_PER_S); /* its bucket ends above the bound */
    hist_record(&f.hist, 20 * NS_PER_S);
    atomic_store(&f.hist._classic[1], 0);
    atomic_store(&f.hist._classic[2], 0);
    const struct hist_snapshot *s = fixture_read(&f);
    static const uint64_t want[] = {1, 1, 0, 2};
    assert_int_equal(s->n, 4);
    assert_memory_equal(s->classic, want, sizeof(want));
    fixture_done(&f);
}

static void test_no_memory(void **state)
{
    (void)state;
    struct fixture f;
    fixture_init(&f, HIST_NS, NULL, 0);
    int64_t n_lost = stat_sum(STAT_DROP_NO_MEMORY);
    mem_fail_from(1);
    hist_record(&f.hist, NS_PER_S);
    mem_fail_off();
    assert_int_equal(stat_sum(STAT_DROP_NO_MEMORY), n_lost + 1);
    assert_int_equal(fixture_read(&f)->n, 0);
    assert_true(f.snapshot->sum_raw == 0);
    mem_fail_from(2); /* the page, then the exemplars */
    hist_record_exemplar(&f.hist, NS_PER_S, "id", (wall_t){1});
    mem_fail_off();
    assert_int_equal(fixture_read(&f)->n, 1);
    fixture_done(&f);
}

/* --- threads --- */

enum { WRITES = 400000, RELOADS = 200 };

struct race {
    struct fixture f;
    _Atomic bool is_done;
};

static void *write_many(void *arg)
{
    struct race *race = arg;
    struct rng rng;
    rng_seed(&rng, 1);
    for (int i = 0; i < WRITES; i++) {
        int64_t v = (int64_t)rng_below(&rng, 10 * NS_PER_S);
        if (i % 16 == 0)
            hist_record_exemplar(&race->f.hist, v, "0123456789", (wall_t){i + 1});
        else
            hist_record_n(&race->f.hist, v, i % 100 == 0 ? UINT64_C(1) << 40 : 1);
    }
    atomic_store(&race->is_done, true);
    return NULL;
}

static void check_snapshot(const struct hist_snapshot *s)
{
    uint64_t n_classic = 0, n_buckets = 0;
    for (size_t i = 0; i <= s->bounds->n; i++) {
        n_classic += s->classic[i];
        if (s->exemplars[i].at.us != 0)
            assert_string_equal(s->exemplars[i].id, "0123456789");
    }
    for (uint32_t k = s->first; k < s->end; k++)
        n_buckets += s->buckets[k];
    assert_int_equal(n_classic, s->n);
    assert_int_equal(n_buckets, s->n);
}

static void test_reader_and_writer(void **state)
{
    (void)state;
    static const int64_t bounds[] = {NS_PER_S, 2 * NS_PER_S, 5 * NS_PER_S};
    static struct race race;
    fixture_init(&race.f, HIST_NS, bounds, 3);
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, write_many, &race), 0);
    uint64_t cumulative[4] = {0};
    hist_sum_t sum = 0;
    while (!atomic_load(&race.is_done)) {
        const struct hist_snapshot *s = fixture_read(&race.f);
        uint64_t n = 0;
        check_snapshot(s);
        assert_true(s->sum_raw >= sum);
        sum = s->sum_raw;
        for (int i = 0; i < 4; i++) {
            n += s->classic[i];
            assert_true(n >= cumulative[i]);
            cumulative[i] = n;
        }
    }
    pthread_join(thread, NULL);
    assert_int_equal(fixture_read(&race.f)->n,
                     WRITES + (WRITES / 100 - WRITES / 400) * ((UINT64_C(1) << 40) - 1));
    fixture_done(&race.f);
}

static void test_reload_while_writing(void **state)
{
    (void)state;
    static const int64_t values[] = {NS_PER_S, 2 * NS_PER_S, 5 * NS_PER_S};
    static struct race race;
    struct hist_bounds *generations[RELOADS];
    fixture_init(&race.f, HIST_NS, values, 3);
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, write_many, &race), 0);
    for (int i = 0; i < RELOADS; i++) {
        size_t n = 1 + (size_t)i % 3;
        assert_int_equal(hist_bounds_new(HIST_NS, values, n, (wall_t){i}, &generations[i]), 0);
        atomic_store(&race.f.source, generations[i]);
        for (int k = 0; k < 5; k++) {
            hist_snapshot_init(race.f.snapshot, generations[i]);
            hist_snapshot_add(race.f.snapshot, &race.f.hist);
            check_snapshot(race.f.snapshot);
        }
    }
    pthread_join(thread, NULL);
    fixture_done(&race.f);
    for (int i = 0; i < RELOADS; i++)
        hist_bounds_free(generations[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_boundaries_exact),  cmocka_unit_test(test_bucket_of_boundaries),
        cmocka_unit_test(test_bucket_of_powers),  cmocka_unit_test(test_bucket_of_random),
        cmocka_unit_test(test_classic_exact),     cmocka_unit_test(test_classic_random),
        cmocka_unit_test(test_bounds_refused),    cmocka_unit_test(test_extremes),
        cmocka_unit_test(test_sum_carries),       cmocka_unit_test(test_quantile_error),
        cmocka_unit_test(test_quantile_no_data),  cmocka_unit_test(test_merge_is_union),
        cmocka_unit_test(test_restart),           cmocka_unit_test(test_exemplars),
        cmocka_unit_test(test_half_recorded),     cmocka_unit_test(test_no_memory),
        cmocka_unit_test(test_reader_and_writer), cmocka_unit_test(test_reload_while_writing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
