/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The program's metrics as time series: names, labels and values are those of /metrics, histograms
 * are there twice, and what ends is marked.
 */
#include "harness.h"

#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "base/stat.h"
#include "series/matcher.h"
#include "store/gather.h"
#include "tempdir.h"

enum { T0 = 1000000 };

struct fixture {
    struct tempdir dir;
    struct metrics *metrics;
    struct metrics_shard *shard;
    struct metrics_series_set *set;
    struct tsdb *tsdb;
    struct gather *gather;
};

static void setup(struct fixture *f)
{
    static const struct label extra[] = {{SPAN_INIT("job"), SPAN_INIT("inferometer")},
                                         {SPAN_INIT("model"), SPAN_INIT("never")}};
    static const struct tsdb_config config = {0};
    static const struct metrics_request request = {.model = "m",
                                                   .endpoint = "chat_completions",
                                                   .upstream = "a",
                                                   .is_stream = true,
                                                   .is_model_proven = true};
    *f = (struct fixture){0};
    tempdir_make(&f->dir);
    assert_int_equal(metrics_new(NULL, &f->metrics), 0);
    assert_int_equal(metrics_shard_new(f->metrics, &f->shard), 0);
    f->set = metrics_shard_resolve(f->shard, &request);
    assert_int_equal(tsdb_open(tempdir_file(&f->dir, "series.db"), &config, &f->tsdb, NULL, NULL),
                     0);
    struct labels labels = {extra, 2};
    assert_int_equal(gather_new(f->metrics, f->tsdb, labels, &f->gather), 0);
}

static void teardown(struct fixture *f)
{
    gather_free(f->gather);
    tsdb_close(f->tsdb);
    metrics_shard_release(f->shard);
    metrics_free(f->metrics);
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

/* The i-th sample of a series of one name, which is the only one. */
static double value_of(struct fixture *f, const char *name, const char *le, size_t i)
{
    struct arena a;
    struct samples s;
    arena_init(&a, NULL);
    samples_init(&s, NULL);
    assert_row(name, read_series(f, name, le, &a, &s) == 1);
    assert_row(name, i < s.n);
    double v = s.v[i];
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
    assert_true(value_of(&f, "inferometer_records_total", NULL, 0) == 5);
    assert_true(value_of(&f, "inferometer_records_total", NULL, 1) == 9);
    assert_true(value_of(&f, "llm_ttft_seconds_count", NULL, 0) == 2);
    assert_true(value_of(&f, "llm_ttft_seconds_count", NULL, 1) == 3);
    assert_true(fabs(value_of(&f, "llm_ttft_seconds_sum", NULL, 1) - 30.3) < 1e-9);
    assert_true(value_of(&f, "llm_ttft_seconds_bucket", "+Inf", 1) == 3);
    assert_true(value_of(&f, "llm_ttft_seconds_bucket", "1", 1) == 2); /* as text/plain has it */
    assert_true(value_of(&f, "inferometer_build_info", NULL, 1) == 1);
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
    assert_int_equal(s.n, 1);
    const struct fhist *h = s.h[0];
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
    assert_int_equal(metrics_set_bounds(f.metrics, &change, 1), 0);
    metrics_record_ttft(f.set, NS_PER_MS, "r");
    metrics_record_ttft(f.set, NS_PER_MS, "r");
    tick(&f, T0 + 10000);
    assert_true(series_is_stale(value_of(&f, "llm_ttft_seconds_bucket", "0.5", 1)));
    assert_true(value_of(&f, "llm_ttft_seconds_bucket", "1", 1) == 2);
    assert_true(value_of(&f, "llm_ttft_seconds_bucket", "77", 0) == 2);
    assert_true(value_of(&f, "llm_ttft_seconds_bucket", "+Inf", 1) == 2);
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
    assert_true(series_is_stale(value_of(&f, "llm_ttft_seconds_count", NULL, 1)));
    assert_true(series_is_stale(value_of(&f, "inferometer_records_total", NULL, 1)));
    gather_stats(f.gather, &stats);
    assert_int_equal(stats.n_series, 0);
    tick(&f, T0 + 10000); /* and comes back */
    assert_true(value_of(&f, "llm_ttft_seconds_count", NULL, 2) == 1);
    teardown(&f);
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
    assert_true(value_of(&f, "llm_ttft_seconds_count", NULL, 0) == 1);
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
        cmocka_unit_test(a_tick_that_is_not_later_is_counted),
        cmocka_unit_test(without_memory_a_tick_fails_and_the_next_does_not),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
