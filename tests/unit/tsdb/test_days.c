/* SPDX-License-Identifier: Apache-2.0 */
/*
 * 100 days at one sample a minute: what is kept how long, and what the coarser tiers still say.
 *
 * Stated errors. A counter's increase between two moments at which both have a sample is exact, in
 * every tier and over their seams, resets included; between any others it is that between the
 * nearest kept samples, so it is off by what happens within one resolution at either end. The same
 * holds for each bucket of a histogram, and so for quantiles. A gauge's least, greatest, sum and
 * count over whole windows are exact.
 */
#include <errno.h>
#include <math.h>
#include <sys/stat.h>

#include "db/db.h"
#include "faultvfs.h"
#include "rig.h"

enum { N_DAYS = 100, PER_DAY = 24 * 60, N = N_DAYS * PER_DAY };
enum { RAW_DAYS = 8, FINE_DAYS = 40, N_BUDGET = 60 };

static struct {
    double counter[N], gauge[N];
    bool is_stale[N];
} raw;

static struct samples got;

static int64_t time_of(size_t i)
{
    return RIG_START_MS + (int64_t)i * RIG_MIN_MS;
}

static size_t index_of(int64_t t_ms)
{
    return (size_t)((t_ms - RIG_START_MS) / RIG_MIN_MS);
}

static void make(struct rng *r)
{
    for (size_t i = 0; i < N; i++) {
        double before = i > 0 && rng_below(r, 3000) > 0 ? raw.counter[i - 1] : 0; /* restarts */
        raw.counter[i] = before + (double)rng_below(r, 100);
        raw.gauge[i] = rng_normal(r) * 10 + sin((double)i / 500) * 50;
        raw.is_stale[i] = rng_below(r, 5000) == 0;
    }
}

static void append_hist(struct rig *g, uint32_t id, size_t i)
{
    /* Three buckets that share what the counter counts, so that they are reset with it. */
    struct fhist_bucket buckets[3] = {{-4, floor(raw.counter[i] / 2)},
                                      {3, floor(raw.counter[i] / 3)},
                                      {9, floor(raw.counter[i] / 6)}};
    struct fhist h = {.schema = 2, .zero_threshold = 1e-9, .positive = {buckets, 3}};
    h.count = buckets[0].count + buckets[1].count + buckets[2].count;
    h.sum = raw.counter[i] * 1.5;
    assert_int_equal(tsdb_append_hist(g->t, id, time_of(i), &h), 0);
}

static void live(struct rig *g)
{
    uint32_t counter = rig_series(g, "counter", "a", TSDB_COUNTER);
    uint32_t gauge = rig_series(g, "gauge", "a", TSDB_GAUGE);
    uint32_t hist = rig_series(g, "hist", "a", TSDB_HISTOGRAM);
    uint32_t gone = rig_series(g, "gone", "a", TSDB_GAUGE);
    for (size_t i = 0; i < N; i++) {
        double stale = series_stale();
        assert_int_equal(
            tsdb_append(g->t, counter, time_of(i), raw.is_stale[i] ? stale : raw.counter[i]), 0);
        assert_int_equal(
            tsdb_append(g->t, gauge, time_of(i), raw.is_stale[i] ? stale : raw.gauge[i]), 0);
        append_hist(g, hist, i);
        if (i < PER_DAY)
            assert_int_equal(tsdb_append(g->t, gone, time_of(i), 1), 0);
        if (i % 15 == 0) {
            assert_int_equal(tsdb_commit(g->t), 0);
            rig_maintain(g, time_of(i));
        }
        if (i % (20 * PER_DAY) == 1000) { /* a restart now and then; ids stay */
            rig_close(g);
            rig_open(g);
        }
    }
    assert_int_equal(tsdb_commit(g->t), 0);
    rig_maintain(g, time_of(N));
}

/* --- what is there --- */

/* When a tier's first sample has to be: days are dropped whole, slots of coarser tiers too. */
static void check_ages(struct rig *g)
{
    int64_t now = time_of(N);
    rig_read(g->reader, "counter", INT64_MIN, INT64_MAX, SERIES_LAST, &got);
    int64_t raw_from = now - RAW_DAYS * RIG_DAY_MS, fine_from = now - FINE_DAYS * RIG_DAY_MS;
    size_t n_raw = 0;
    for (size_t i = 1; i < got.n; i++) {
        int64_t step = got.t[i] - got.t[i - 1];
        assert_true(step > 0);
        if (got.t[i - 1] >= raw_from) {
            assert_true(step == RIG_MIN_MS);
            n_raw++;
        } else if (got.t[i - 1] >= fine_from) {
            assert_true(step <= 2 * 5 * RIG_MIN_MS);
        } else {
            assert_true(step <= 2 * RIG_HOUR_MS);
        }
    }
    assert_int_equal(n_raw, RAW_DAYS * PER_DAY - 1);
    assert_true(got.t[0] == time_of(0)); /* 400 days are not over */
    assert_true(got.n < N / 4);
    struct reader *reader = g->reader;
    assert_true(reader->ops->resolution(reader, raw_from) == 0);
    assert_true(reader->ops->resolution(reader, raw_from - 2 * RIG_DAY_MS) == 5 * RIG_MIN_MS);
    assert_true(reader->ops->resolution(reader, fine_from - 10 * RIG_DAY_MS) == RIG_HOUR_MS);
}

/* --- counters --- */

static double step_up(double now, double before)
{
    return now < before ? now : now - before;
}

static bool is_marker(double v)
{
    return series_is_stale(v);
}

/* As PromQL's increase without extrapolation: markers are passed over. */
static double increase_kept(size_t from, size_t to)
{
    double sum = 0, before = got.v[from];
    for (size_t i = from + 1; i <= to; i++) {
        if (is_marker(got.v[i]))
            continue;
        sum += step_up(got.v[i], before);
        before = got.v[i];
    }
    return sum;
}

static double increase_raw(int64_t from_ms, int64_t to_ms)
{
    double sum = 0, before = raw.counter[index_of(from_ms)];
    for (size_t i = index_of(from_ms) + 1; i <= index_of(to_ms); i++) {
        if (raw.is_stale[i])
            continue;
        sum += step_up(raw.counter[i], before);
        before = raw.counter[i];
    }
    return sum;
}

static size_t pick(struct rng *r)
{
    size_t i;
    do
        i = rng_below(r, got.n);
    while (is_marker(got.v[i]));
    return i;
}

static void check_counter(struct rig *g, struct rng *r)
{
    size_t n_markers = 0, n_raw_markers = 0;
    rig_read(g->reader, "counter", INT64_MIN, INT64_MAX, SERIES_LAST, &got);
    for (size_t i = 0; i < got.n; i++) {
        n_markers += is_marker(got.v[i]);
        if (!is_marker(got.v[i]))
            assert_true(got.v[i] == raw.counter[index_of(got.t[i])]);
    }
    for (size_t i = 0; i < N; i++)
        n_raw_markers += raw.is_stale[i];
    assert_int_equal(n_markers, n_raw_markers);
    for (int i = 0; i < 200; i++) {
        size_t a = pick(r), b = pick(r);
        size_t from = a < b ? a : b, to = a < b ? b : a;
        assert_true(increase_kept(from, to) == increase_raw(got.t[from], got.t[to]));
    }
}

/* --- histograms --- */

static double bucket_of(const struct fhist *h, int32_t index)
{
    for (size_t i = 0; i < h->positive.n; i++)
        if (h->positive.at[i].index == index)
            return h->positive.at[i].count;
    return 0;
}

static double raw_bucket(size_t i, double share)
{
    return floor(raw.counter[i] / share);
}

/* Increases of each bucket are exact, so is every quantile of an increase. */
static void check_hist(struct rig *g, struct rng *r)
{
    static const struct {
        int32_t index;
        double share;
    } buckets[] = {{-4, 2}, {3, 3}, {9, 6}};
    rig_read(g->reader, "hist", INT64_MIN, INT64_MAX, SERIES_LAST, &got);
    assert_true(got.h && got.n < N / 4);
    for (int i = 0; i < 50; i++) {
        size_t a = rng_below(r, got.n), b = rng_below(r, got.n);
        size_t from = a < b ? a : b, to = a < b ? b : a;
        for (size_t k = 0; k < ARRAY_LEN(buckets); k++) {
            double kept = 0, want = 0;
            for (size_t j = from + 1; j <= to; j++)
                kept += fhist_is_reset(got.h[j], got.h[j - 1])
                            ? bucket_of(got.h[j], buckets[k].index)
                            : bucket_of(got.h[j], buckets[k].index) -
                                  bucket_of(got.h[j - 1], buckets[k].index);
            for (size_t j = index_of(got.t[from]) + 1; j <= index_of(got.t[to]); j++)
                want += raw.counter[j] < raw.counter[j - 1]
                            ? raw_bucket(j, buckets[k].share)
                            : raw_bucket(j, buckets[k].share) - raw_bucket(j - 1, buckets[k].share);
            assert_true(kept == want);
        }
    }
}

/* --- gauges --- */

struct summary {
    double least, greatest, sum, count, last;
};

static struct summary summary_raw(size_t from, size_t to)
{
    struct summary s = {.least = (double)INFINITY, .greatest = -(double)INFINITY};
    for (size_t i = from; i < to; i++) {
        if (raw.is_stale[i])
            continue;
        s.least = fmin(s.least, raw.gauge[i]);
        s.greatest = fmax(s.greatest, raw.gauge[i]);
        s.sum += raw.gauge[i];
        s.count++;
        s.last = raw.gauge[i];
    }
    return s;
}

static double fold(struct rig *g, int64_t from_ms, int64_t to_ms, enum series_aspect aspect)
{
    double v = aspect == SERIES_MIN   ? (double)INFINITY
               : aspect == SERIES_MAX ? -(double)INFINITY
                                      : 0;
    rig_read(g->reader, "gauge", from_ms, to_ms - 1, aspect, &got);
    for (size_t i = 0; i < got.n; i++) {
        if (is_marker(got.v[i]))
            continue;
        if (aspect == SERIES_MIN)
            v = fmin(v, got.v[i]);
        else if (aspect == SERIES_MAX)
            v = fmax(v, got.v[i]);
        else if (aspect == SERIES_LAST)
            v = got.v[i];
        else
            v += got.v[i];
    }
    return v;
}

static void check_gauge(struct rig *g, struct rng *r)
{
    for (int i = 0; i < 100; i++) {
        size_t a = rng_below(r, N / 60 - 1), n = 1 + rng_below(r, i % 2 ? 30 : N / 60 - 1 - a);
        if (a + n > N / 60)
            n = N / 60 - a;
        int64_t from = time_of(a * 60), to = time_of((a + n) * 60);
        struct summary want = summary_raw(a * 60, (a + n) * 60);
        assert_true(fold(g, from, to, SERIES_MIN) == want.least);
        assert_true(fold(g, from, to, SERIES_MAX) == want.greatest);
        assert_true(fold(g, from, to, SERIES_COUNT) == want.count);
        assert_true(fold(g, from, to, SERIES_LAST) == want.last);
        assert_true(fabs(fold(g, from, to, SERIES_SUM) - want.sum) < 1e-6);
        rig_read(g->reader, "gauge", from, to - 1, SERIES_MEAN, &got);
        for (size_t j = 0; j < got.n; j++)
            assert_true(is_marker(got.v[j]) ||
                        (got.v[j] >= want.least && got.v[j] <= want.greatest));
    }
}

/* --- retention --- */

/* Without its WAL, which stays. */
static int64_t file_bytes(const struct rig *g)
{
    struct stat st;
    assert_int_equal(stat(g->path, &st), 0);
    return st.st_size;
}

static void check_forgotten(struct rig *g)
{
    rig_read(g->reader, "gone", INT64_MIN, INT64_MAX, SERIES_LAST, &got);
    assert_true(got.n > 0); /* in the coarsest tier */
    int64_t later = time_of(N) + 360 * RIG_DAY_MS;
    struct tsdb_stats before = rig_stats(g);
    int64_t bytes_before = file_bytes(g);
    rig_maintain(g, later);
    struct tsdb_stats s = rig_stats(g);
    assert_int_equal(s.n_series, 3);
    assert_true(s.n_expired_chunks > before.n_expired_chunks);
    assert_true(file_bytes(g) < bytes_before / 2);
    rig_read(g->reader, "counter", INT64_MIN, INT64_MAX, SERIES_LAST, &got);
    assert_true(got.n > 0 && got.t[0] >= later - 464 * RIG_DAY_MS); /* slots have 64 days */
    rig_close(g); /* texts that nobody needs any more go now */
    rig_open(g);
    uint32_t id = rig_series(g, "gone", "a", TSDB_GAUGE);
    assert_int_equal(tsdb_append(g->t, id, later, 5), 0);
    rig_read(g->reader, "gone", INT64_MIN, INT64_MAX, SERIES_LAST, &got);
    assert_int_equal(got.n, 1);
    rig_close(g);
    rig_open(g);
    rig_read(g->reader, "gone", INT64_MIN, INT64_MAX, SERIES_LAST, &got);
    assert_int_equal(got.n, 1);
    assert_int_equal(rig_stats(g).n_series, 4);
}

static void test_hundred_days(void **state)
{
    (void)state;
    struct rig g;
    struct rng r;
    rng_seed(&r, 11);
    rig_init(&g);
    g.config.keep_ms[0] = RAW_DAYS * RIG_DAY_MS;
    g.config.keep_ms[1] = FINE_DAYS * RIG_DAY_MS;
    rig_open(&g);
    samples_init(&got, NULL);
    make(&r);
    live(&g);
    check_ages(&g);
    check_counter(&g, &r);
    check_hist(&g, &r);
    check_gauge(&g, &r);
    rig_close(&g);
    rig_open(&g);
    check_ages(&g);
    check_gauge(&g, &r);
    check_forgotten(&g);
    assert_int_equal(rig_stats(&g).n_damaged, 0);
    assert_int_equal(rig_stats(&g).n_lost, 0);
    samples_done(&got);
    rig_done(&g);
}

/* A late sample makes its day be compacted once more. */
static void test_late_samples(void **state)
{
    (void)state;
    struct rig g;
    rig_init(&g);
    g.config.keep_ms[0] = 2 * RIG_DAY_MS;
    rig_open(&g);
    samples_init(&got, NULL);
    uint32_t id = rig_series(&g, "late", "a", TSDB_COUNTER);
    uint32_t other = rig_series(&g, "other", "a", TSDB_COUNTER);
    for (int i = 0; i < 60; i++)
        assert_int_equal(tsdb_append(g.t, id, time_of(i), i), 0);
    assert_int_equal(tsdb_append(g.t, other, time_of(3 * PER_DAY), 1), 0);
    assert_int_equal(tsdb_commit(g.t), 0);
    g.config.keep_ms[0] = 1000 * RIG_DAY_MS;
    tsdb_configure(g.t, &g.config);
    rig_maintain(&g, time_of(3 * PER_DAY));
    for (int i = 60; i < 120; i++)
        assert_int_equal(tsdb_append(g.t, id, time_of(i), i), 0);
    assert_int_equal(tsdb_commit(g.t), 0);
    rig_maintain(&g, time_of(3 * PER_DAY) + RIG_HOUR_MS);
    rig_read(g.reader, "late", INT64_MIN, INT64_MAX, SERIES_LAST, &got);
    assert_int_equal(got.n, 120);
    g.config.keep_ms[0] = 2 * RIG_DAY_MS;
    tsdb_configure(g.t, &g.config);
    rig_maintain(&g, time_of(4 * PER_DAY));
    rig_read(g.reader, "late", INT64_MIN, INT64_MAX, SERIES_LAST, &got);
    assert_int_equal(got.n, 25); /* 24 windows of 5 min, and the first sample */
    assert_true(got.v[24] == 119);
    samples_done(&got);
    rig_done(&g);
}

static void test_disk_budget(void **state)
{
    (void)state;
    struct rig g;
    struct rng r;
    rng_seed(&r, 2);
    rig_init(&g);
    g.config.max_disk_bytes = 16 << 20;
    rig_open(&g);
    samples_init(&got, NULL);
    uint32_t ids[N_BUDGET];
    char names[N_BUDGET][8];
    for (int i = 0; i < N_BUDGET; i++) {
        snprintf(names[i], sizeof(names[i]), "b%d", i);
        ids[i] = rig_series(&g, names[i], "a", TSDB_GAUGE);
    }
    for (size_t i = 0; i < 30 * PER_DAY; i++) {
        for (int j = 0; j < N_BUDGET; j++)
            assert_int_equal(tsdb_append(g.t, ids[j], time_of(i), rng_unit(&r)), 0);
        if (i % 20 > 0)
            continue;
        assert_int_equal(tsdb_commit(g.t), 0);
        rig_maintain(&g, time_of(i));
        assert_true(rig_stats(&g).disk_bytes < 22 << 20); /* with the WAL */
    }
    assert_true(rig_stats(&g).n_budget_chunks > 0);
    rig_read(g.reader, "b3", INT64_MIN, INT64_MAX, SERIES_LAST, &got);
    assert_true(got.t[got.n - 1] == time_of(30 * PER_DAY - 1));
    assert_true(got.t[0] < time_of(29 * PER_DAY));
    samples_done(&got);
    rig_done(&g);
}

/* The newest sample's time is known of what comes, of chunks on disk, and of the journal. */
static void test_newest(void **state)
{
    (void)state;
    struct rig g;
    rig_init(&g);
    rig_open(&g);
    assert_int_equal(rig_stats(&g).newest_ms, INT64_MIN);
    uint32_t a = rig_series(&g, "a", "a", TSDB_GAUGE);
    uint32_t b = rig_series(&g, "b", "a", TSDB_GAUGE);
    assert_int_equal(tsdb_append(g.t, a, time_of(20), 1), 0);
    assert_int_equal(tsdb_append(g.t, b, time_of(10), 1), 0);
    assert_int_equal(tsdb_append(g.t, b, time_of(9), 1), -EINVAL);
    assert_true(rig_stats(&g).newest_ms == time_of(20));
    assert_int_equal(tsdb_commit(g.t), 0);
    rig_maintain(&g, time_of(2 * PER_DAY)); /* both are in chunks, and the journal is empty */
    rig_close(&g);
    rig_open(&g);
    assert_true(rig_stats(&g).newest_ms == time_of(20));
    assert_int_equal(tsdb_append(g.t, b, time_of(3 * PER_DAY), 1), 0);
    rig_close(&g);
    rig_open(&g);
    assert_true(rig_stats(&g).newest_ms == time_of(3 * PER_DAY));
    rig_done(&g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_hundred_days),
        cmocka_unit_test(test_late_samples),
        cmocka_unit_test(test_disk_budget),
        cmocka_unit_test(test_newest),
    };
    db_init();
    faultvfs_install(); /* for its speed */
    return cmocka_run_group_tests(tests, NULL, NULL);
}
