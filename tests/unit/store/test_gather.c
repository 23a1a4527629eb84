/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The program's metrics as time series: names, labels and values are those of /metrics, histograms
 * are there twice, and what ends is marked.
 */
#include "harness.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/stat.h"
#include "series/matcher.h"
#include "store/gather.h"
#include "tempdir.h"

enum { T0 = 1000000, STARTED = T0 - 60000, CREATED = T0 - 4000 };

static int64_t fake_now_ms;

static int64_t fake_mono(void)
{
    return fake_now_ms * NS_PER_MS;
}

static int64_t fake_real(void)
{
    return fake_now_ms * NS_PER_MS;
}

struct fixture {
    struct tempdir dir;
    struct metrics *metrics;
    struct metrics_shard *shard;
    struct metrics_series_set *set;
    struct tsdb *tsdb;
    struct gather *gather;
};

static void setup_in(struct fixture *f, const struct tempdir *dir)
{
    static const struct label extra[] = {{SPAN_INIT("job"), SPAN_INIT("inferometer")},
                                         {SPAN_INIT("model"), SPAN_INIT("never")}};
    static const struct tsdb_config config = {0};
    static const struct metrics_request request = {.model = "m",
                                                   .endpoint = "chat_completions",
                                                   .upstream = "a",
                                                   .is_stream = true,
                                                   .is_model_proven = true};
    *f = (struct fixture){.dir = *dir};
    assert_int_equal(metrics_new(NULL, &f->metrics), 0);
    assert_int_equal(metrics_shard_new(f->metrics, &f->shard), 0);
    f->set = metrics_shard_resolve(f->shard, &request);
    assert_int_equal(tsdb_open(tempdir_file(&f->dir, "series.db"), &config, &f->tsdb, NULL, NULL),
                     0);
    struct labels labels = {extra, 2};
    assert_int_equal(gather_new(f->metrics, f->tsdb, labels, STARTED, &f->gather), 0);
}

static void setup(struct fixture *f)
{
    struct tempdir dir;
    fake_now_ms = CREATED;
    clock_fake(fake_mono, fake_real);
    tempdir_make(&dir);
    setup_in(f, &dir);
}

static void teardown(struct fixture *f)
{
    gather_free(f->gather);
    tsdb_close(f->tsdb);
    metrics_shard_release(f->shard);
    metrics_free(f->metrics);
    clock_fake(NULL, NULL);
    tempdir_remove(&f->dir);
    assert_int_equal(mem_live_blocks(), 0);
}

static void tick(struct fixture *f, int64_t t_ms)
{
    assert_int_equal(gather_tick(f->gather, t_ms), 0);
    assert_int_equal(tsdb_commit(f->tsdb), 0);
}

/* Samples of the one series of that name, and of that le where it is not NULL; how many series. */
static size_t read_series(struct fixture *f, const char *name, const char *le, struct arena *a,
                          struct samples *out)
{
    struct matcher matchers[3];
    struct reader *reader = NULL;
    struct series_ref *refs = NULL;
    size_t n = 0;
    size_t n_matchers = 0;
    assert_int_equal(
        matcher_init(a, MATCH_EQ, SPAN("__name__"), span_cstr(name), &matchers[n_matchers++], NULL),
        0);
    assert_int_equal(
        matcher_init(a, MATCH_EQ, SPAN("job"), SPAN("inferometer"), &matchers[n_matchers++], NULL),
        0);
    if (le)
        assert_int_equal(
            matcher_init(a, MATCH_EQ, SPAN("le"), span_cstr(le), &matchers[n_matchers++], NULL), 0);
    struct series_select what = {matchers, n_matchers, 0, T0 * 10};
    assert_int_equal(tsdb_reader_open(f->tsdb, &reader), 0);
    assert_int_equal(reader->ops->select(reader, &what, a, &refs, &n), 0);
    samples_clear(out);
    if (n > 0)
        assert_int_equal(reader->ops->samples(reader, refs[0].id, 0, T0 * 10, SERIES_LAST, out), 0);
    tsdb_reader_close(reader);
    for (size_t i = 0; i < n_matchers; i++)
        matcher_done(&matchers[i]);
    return n;
}

/* The sample at t_ms of a series of one name, which is the only one; NaN: it has none there. */
static double value_of(struct fixture *f, const char *name, const char *le, int64_t t_ms)
{
    double v = (double)NAN;
    struct arena a;
    struct samples s;
    arena_init(&a, NULL);
    samples_init(&s, NULL);
    assert_row(name, read_series(f, name, le, &a, &s) == 1);
    for (size_t i = 0; i < s.n; i++)
        v = s.t[i] == t_ms ? s.v[i] : v;
    samples_done(&s);
    arena_done(&a);
    return v;
}

static void counters_gauges_and_classic_histograms(void **state)
{
    (void)state;
    struct fixture f;
    setup(&f);
    stat_set(STAT_RECORDS_MADE, 5);
    metrics_record_ttft(f.set, 100 * NS_PER_MS, "r1");
    metrics_record_ttft(f.set, 30 * NS_PER_S, "r2");
    tick(&f, T0);
    stat_set(STAT_RECORDS_MADE, 9);
    metrics_record_ttft(f.set, 200 * NS_PER_MS, "r3");
    tick(&f, T0 + 10000);
    assert_true(value_of(&f, "inferometer_records_total", NULL, T0) == 5);
    assert_true(value_of(&f, "inferometer_records_total", NULL, T0 + 10000) == 9);
    assert_true(value_of(&f, "llm_ttft_seconds_count", NULL, T0) == 2);
    assert_true(value_of(&f, "llm_ttft_seconds_count", NULL, T0 + 10000) == 3);
    assert_true(fabs(value_of(&f, "llm_ttft_seconds_sum", NULL, T0 + 10000) - 30.3) < 1e-9);
    assert_true(value_of(&f, "llm_ttft_seconds_bucket", "+Inf", T0 + 10000) == 3);
    assert_true(value_of(&f, "llm_ttft_seconds_bucket", "1.0", T0 + 10000) ==
                2); /* as OpenMetrics has it */
    assert_true(value_of(&f, "inferometer_build_info", NULL, T0 + 10000) == 1);
    teardown(&f);
}

static void native_histograms_have_the_familys_name(void **state)
{
    (void)state;
    struct fixture f;
    struct arena a;
    struct samples s;
    setup(&f);
    arena_init(&a, NULL);
    samples_init(&s, NULL);
    metrics_record_ttft(f.set, 100, "zero"); /* below the threshold of 1 us */
    for (int i = 1; i <= 100; i++)
        metrics_record_ttft(f.set, i * 10 * NS_PER_MS, "r");
    tick(&f, T0);
    assert_int_equal(read_series(&f, "llm_ttft_seconds", NULL, &a, &s), 1);
    assert_int_equal(s.n, 2);
    assert_non_null(s.h[0]);
    assert_true(s.t[0] == CREATED && s.h[0]->count == 0 && s.h[0]->zero_threshold == 1e-6);
    const struct fhist *h = s.h[1];
    assert_non_null(h);
    assert_int_equal(h->schema, 5);
    assert_true(h->count == 101 && h->zero_count == 1 && h->zero_threshold == 1e-6);
    assert_true(fabs(h->sum - 50.5) < 1e-6);
    double n = h->zero_count;
    for (size_t i = 0; i < h->positive.n; i++)
        n += h->positive.at[i].count;
    assert_true(n == h->count);
    assert_true(fabs(fhist_quantile(h, 0.5, NULL) - 0.5) < 0.5 * 0.025);
    samples_done(&s);
    arena_done(&a);
    teardown(&f);
}

/* A series' own label is not covered by one of the configuration. */
static void own_labels_win(void **state)
{
    (void)state;
    struct fixture f;
    struct arena a;
    struct reader *reader = NULL;
    struct series_ref *refs = NULL;
    struct matcher m;
    size_t n = 0;
    setup(&f);
    arena_init(&a, NULL);
    metrics_record_ttft(f.set, 1, "r");
    tick(&f, T0);
    assert_int_equal(
        matcher_init(&a, MATCH_EQ, SPAN("__name__"), SPAN("llm_ttft_seconds"), &m, NULL), 0);
    struct series_select what = {&m, 1, 0, T0 * 10};
    assert_int_equal(tsdb_reader_open(f.tsdb, &reader), 0);
    assert_int_equal(reader->ops->select(reader, &what, &a, &refs, &n), 0);
    assert_int_equal(n, 1);
    assert_span_equal("model", labels_get(refs[0].labels, SPAN("model")), SPAN("m"));
    assert_span_equal("job", labels_get(refs[0].labels, SPAN("job")), SPAN("inferometer"));
    assert_span_equal("upstream", labels_get(refs[0].labels, SPAN("upstream")), SPAN("a"));
    tsdb_reader_close(reader);
    matcher_done(&m);
    arena_done(&a);
    teardown(&f);
}

static void other_bounds_end_the_buckets_that_are_gone(void **state)
{
    (void)state;
    struct fixture f;
    static const int64_t bounds[] = {NS_PER_S, 77 * NS_PER_S};
    const struct metrics_bounds change = {METRIC_TTFT, bounds, 2};
    setup(&f);
    metrics_record_ttft(f.set, NS_PER_MS, "r");
    tick(&f, T0);
    fake_now_ms = T0 + 6000;
    assert_int_equal(metrics_set_bounds(f.metrics, &change, 1), 0);
    metrics_record_ttft(f.set, NS_PER_MS, "r");
    metrics_record_ttft(f.set, NS_PER_MS, "r");
    tick(&f, T0 + 10000);
    assert_true(series_is_stale(value_of(&f, "llm_ttft_seconds_bucket", "0.5", T0 + 10000)));
    assert_true(value_of(&f, "llm_ttft_seconds_bucket", "1.0", T0 + 10000) == 2);
    assert_true(value_of(&f, "llm_ttft_seconds_bucket", "77.0", T0 + 10000) == 2);
    assert_true(value_of(&f, "llm_ttft_seconds_bucket", "77.0", T0 + 6000) == 0);
    assert_true(value_of(&f, "llm_ttft_seconds_count", NULL, T0 + 6000) == 0); /* it begins anew */
    assert_true(value_of(&f, "llm_ttft_seconds_bucket", "+Inf", T0 + 10000) == 2);
    teardown(&f);
}

static void at_the_end_everything_is_marked(void **state)
{
    (void)state;
    struct fixture f;
    struct gather_stats stats;
    setup(&f);
    metrics_record_ttft(f.set, NS_PER_MS, "r");
    tick(&f, T0);
    gather_stats(f.gather, &stats);
    assert_true(stats.n_samples >= stats.n_series && stats.n_series > 100 && stats.n_lost == 0);
    gather_end(f.gather, T0 + 5000);
    assert_true(series_is_stale(value_of(&f, "llm_ttft_seconds_count", NULL, T0 + 5000)));
    assert_true(series_is_stale(value_of(&f, "inferometer_records_total", NULL, T0 + 5000)));
    gather_stats(f.gather, &stats);
    assert_int_equal(stats.n_series, 0);
    tick(&f, T0 + 10000); /* and comes back */
    assert_true(value_of(&f, "llm_ttft_seconds_count", NULL, T0 + 10000) == 1);
    teardown(&f);
}

/* A program may end in the millisecond of its last sample, or behind a clock that was set back. */
static void the_end_comes_behind_the_last_sample(void **state)
{
    (void)state;
    for (int back_ms = 0; back_ms <= 60 * 1000; back_ms += 60 * 1000) {
        struct fixture f;
        struct gather_stats stats;
        setup(&f);
        metrics_record_ttft(f.set, NS_PER_MS, "r");
        tick(&f, T0);
        gather_end(f.gather, T0 - back_ms);
        assert_true(series_is_stale(value_of(&f, "llm_ttft_seconds_count", NULL, T0 + 1)));
        gather_stats(f.gather, &stats);
        assert_int_equal(stats.n_lost, 0);
        teardown(&f);
    }
}

/* What increase() is over all samples of a series: a smaller value than before counts whole. */
static double increase_of(struct fixture *f, const char *name, const char *le)
{
    struct arena a;
    struct samples s;
    double sum = 0;
    bool is_first = true;
    double before = 0;
    arena_init(&a, NULL);
    samples_init(&s, NULL);
    assert_row(name, read_series(f, name, le, &a, &s) == 1);
    for (size_t i = 0; i < s.n; i++) {
        if (series_is_stale(s.v[i]))
            continue;
        double v = s.h && s.h[i] ? s.h[i]->count : s.v[i];
        if (!is_first)
            sum += v < before ? v : v - before;
        before = v;
        is_first = false;
    }
    samples_done(&s);
    arena_done(&a);
    return sum;
}

static void assert_increase(struct fixture *f, double n)
{
    static const struct {
        const char *name, *le;
    } rows[] = {{"llm_ttft_seconds", NULL},
                {"llm_ttft_seconds_count", NULL},
                {"llm_ttft_seconds_bucket", "1.0"},
                {"llm_ttft_seconds_bucket", "+Inf"}};
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        assert_row(rows[i].name, increase_of(f, rows[i].name, rows[i].le) == n);
}

static void record(struct fixture *f, int n)
{
    for (int i = 0; i < n; i++)
        metrics_record_ttft(f->set, NS_PER_MS, "r");
}

static void what_came_before_the_first_tick_is_an_increase(void **state)
{
    (void)state;
    struct fixture f;
    setup(&f);
    stat_set(STAT_RECORDS_MADE, 7);
    record(&f, 10);
    tick(&f, T0);
    assert_increase(&f, 10);
    assert_true(value_of(&f, "llm_ttft_seconds_count", NULL, CREATED) == 0);
    assert_true(value_of(&f, "inferometer_records_total", NULL, STARTED) == 0);
    assert_true(isnan(value_of(&f, "inferometer_build_info", NULL, STARTED))); /* a gauge */
    record(&f, 3);
    tick(&f, T0 + 10000);
    assert_increase(&f, 13);
    gather_end(f.gather, T0 + 20000);
    tick(&f, T0 + 30000); /* back with what it had: no zero, or all would count again */
    assert_increase(&f, 13);
    teardown(&f);
}

/* The zero lies between the tick before and this one, whatever the clock says of its time. */
static void zeros_lie_between_ticks(void **state)
{
    static const struct {
        const char *name;
        int64_t created_ms, expect_ms;
    } rows[] = {{"before the tick before", T0 - 500, T0 + 1},
                {"at it", T0, T0 + 1},
                {"between", T0 + 700, T0 + 700},
                {"at this one", T0 + 10000, T0 + 9999},
                {"after it", T0 + 10002, T0 + 9999}};
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct fixture f;
        setup(&f);
        tick(&f, T0);
        fake_now_ms = rows[i].created_ms;
        record(&f, 1);
        tick(&f, T0 + 10000);
        assert_row(rows[i].name,
                   value_of(&f, "llm_ttft_seconds_sum", NULL, rows[i].expect_ms) == 0);
        assert_increase(&f, 1);
        teardown(&f);
    }
}

static void without_a_moment_between_ticks_there_is_no_zero(void **state)
{
    (void)state;
    struct fixture f;
    struct gather_stats stats;
    setup(&f);
    tick(&f, T0);
    record(&f, 1);
    tick(&f, T0 + 1);
    assert_true(value_of(&f, "llm_ttft_seconds_count", NULL, T0 + 1) == 1);
    gather_stats(f.gather, &stats);
    assert_int_equal(stats.n_lost, 0);
    teardown(&f);
}

/* The program once more, on the same data. */
static void restart(struct fixture *f)
{
    struct tempdir dir = f->dir;
    struct fixture next;
    gather_free(f->gather);
    tsdb_close(f->tsdb);
    metrics_shard_release(f->shard);
    metrics_free(f->metrics);
    setup_in(&next, &dir);
    *f = next;
}

/* A restart is a reset, although the first value that is seen may be larger than the last one. */
static void after_a_restart_counting_begins_anew(void **state)
{
    static const bool is_clean[] = {true, false};
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(is_clean); i++) {
        struct fixture f;
        setup(&f);
        record(&f, 10);
        tick(&f, T0);
        if (is_clean[i])
            gather_end(f.gather, T0 + 5000);
        fake_now_ms = T0 + 6000;
        restart(&f);
        int64_t end_ms = is_clean[i] ? T0 + 5000 : T0 + 1;
        assert_true(series_is_stale(value_of(&f, "llm_ttft_seconds_count", NULL, end_ms)));
        assert_true(series_is_stale(value_of(&f, "llm_ttft_seconds", NULL, end_ms)));
        assert_true(series_is_stale(value_of(&f, "inferometer_build_info", NULL, end_ms)));
        record(&f, 20);
        tick(&f, T0 + 10000);
        assert_true(value_of(&f, "llm_ttft_seconds_count", NULL, T0 + 6000) == 0);
        assert_increase(&f, 30);
        teardown(&f);
    }
}

/* A clock that went back: samples are lost and counted, nothing else. */
static void a_tick_that_is_not_later_is_counted(void **state)
{
    (void)state;
    struct fixture f;
    struct gather_stats stats;
    setup(&f);
    tick(&f, T0);
    tick(&f, T0 - 1000);
    gather_stats(f.gather, &stats);
    assert_int_equal(stats.n_lost, stats.n_series);
    teardown(&f);
}

/* Then the series of a killed run are seen for a while more, and nothing else is wrong. */
static void without_memory_to_end_them_leftovers_stay(void **state)
{
    (void)state;
    struct fixture f;
    struct gather *other = NULL;
    static const struct label extra[] = {{SPAN_INIT("job"), SPAN_INIT("inferometer")}};
    int r = -ENOMEM;
    setup(&f);
    record(&f, 10);
    tick(&f, T0);
    for (uint64_t n = 1; r < 0; n++) {
        mem_fail_from(n);
        r = gather_new(f.metrics, f.tsdb, (struct labels){extra, 1}, STARTED, &other);
        mem_fail_off();
        assert_true(r == 0 || (r == -ENOMEM && !other));
    }
    assert_true(isnan(value_of(&f, "llm_ttft_seconds_count", NULL, T0 + 1)));
    gather_free(other);
    restart(&f);
    assert_true(series_is_stale(value_of(&f, "llm_ttft_seconds_count", NULL, T0 + 1)));
    teardown(&f);
}

static void without_memory_a_tick_fails_and_the_next_does_not(void **state)
{
    (void)state;
    struct fixture f;
    int r = -1;
    setup(&f);
    metrics_record_ttft(f.set, NS_PER_MS, "r");
    int64_t t = T0;
    for (uint64_t n = 1; r != 0; n += 1 + n / 8, t += 1000) {
        mem_fail_from(n);
        r = gather_tick(f.gather, t);
        mem_fail_off();
    }
    tick(&f, t);
    assert_true(value_of(&f, "llm_ttft_seconds_count", NULL, t) == 1);
    teardown(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counters_gauges_and_classic_histograms),
        cmocka_unit_test(native_histograms_have_the_familys_name),
        cmocka_unit_test(own_labels_win),
        cmocka_unit_test(other_bounds_end_the_buckets_that_are_gone),
        cmocka_unit_test(at_the_end_everything_is_marked),
        cmocka_unit_test(the_end_comes_behind_the_last_sample),
        cmocka_unit_test(what_came_before_the_first_tick_is_an_increase),
        cmocka_unit_test(zeros_lie_between_ticks),
        cmocka_unit_test(without_a_moment_between_ticks_there_is_no_zero),
        cmocka_unit_test(after_a_restart_counting_begins_anew),
        cmocka_unit_test(a_tick_that_is_not_later_is_counted),
        cmocka_unit_test(without_memory_to_end_them_leftovers_stay),
        cmocka_unit_test(without_memory_a_tick_fails_and_the_next_does_not),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
