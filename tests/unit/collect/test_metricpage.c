/* SPDX-License-Identifier: Apache-2.0 */
#include "collect/metricpage.h"

#include <errno.h>

#include "base/attr.h"
#include "base/mem.h"
#include "base/rng.h"
#include "memfail.h"
#include "pagetest.h"

#define L "instance=\"i:1\", job=\"j\""

static void test_samples(void **state)
{
    struct pagetest t;
    (void)state;
    pagetest_init(&t, "");
    pagetest_read(&t, "# TYPE a counter\na{x=\"1\"} 5\na{x=\"2\",e=\"\"} 6\nb NaN\nc +Inf\n");
    assert_int_equal(t.batch->n, 4);
    assert_value(&t, "a{" L ", x=\"1\"}", 5);
    assert_value(&t, "a{" L ", x=\"2\"}", 6);
    assert_value(&t, "c{" L "}", (double)INFINITY);
    assert_true(isnan(pagetest_need(&t, "b{" L "}")->v));
    assert_false(series_is_stale(pagetest_need(&t, "b{" L "}")->v));
    assert_int_equal(pagetest_need(&t, "b{" L "}")->t_ms, t.t_ms);
    assert_int_equal(t.counts.n_samples, 4);
    assert_int_equal(t.counts.n_kept, 4);
    assert_int_equal(t.counts.n_added, 4);
    pagetest_read(&t, "c 1\na{x=\"1\"} 7\n");
    assert_int_equal(t.batch->n, 4);
    assert_value(&t, "a{" L ", x=\"1\"}", 7);
    assert_value(&t, "c{" L "}", 1);
    assert_stale(&t, "a{" L ", x=\"2\"}");
    assert_stale(&t, "b{" L "}");
    assert_int_equal(pagetest_need(&t, "b{" L "}")->t_ms, t.t_ms);
    assert_int_equal(t.counts.n_added, 0);
    pagetest_read(&t, "c 1\na{x=\"1\"} 7\nb 1\n");
    assert_int_equal(t.batch->n, 3);
    assert_int_equal(t.counts.n_added, 1);
    pagetest_read(&t, "");
    assert_int_equal(t.batch->n, 3);
    assert_stale(&t, "c{" L "}");
    pagetest_done(&t);
}

static void test_labels_of_the_target(void **state)
{
    struct pagetest t;
    (void)state;
    pagetest_init(&t, "");
    pagetest_read(&t, "a{job=\"mine\",instance=\"\"} 1\n"
                      "b{job=\"mine\",exported_job=\"other\"} 2\n");
    assert_value(&t, "a{exported_job=\"mine\", " L "}", 1);
    assert_value(&t, "b{exported_exported_job=\"mine\", exported_job=\"other\", " L "}", 2);
    pagetest_done(&t);
    pagetest_init(&t, "  honor_labels: true\n");
    pagetest_read(&t, "a{job=\"mine\"} 1\n"
                      "b{ x=\"a\\\"job=,\" , instance = \"\",y=\"1\"} 2\n"
                      "c{job=\"\"} 3\n"
                      "d{xjob=\"\"} 4\n");
    assert_value(&t, "a{instance=\"i:1\", job=\"mine\"}", 1);
    assert_value(&t, "b{job=\"j\", x=\"a\\\"job=,\", y=\"1\"}", 2);
    assert_value(&t, "c{instance=\"i:1\"}", 3);
    assert_value(&t, "d{" L "}", 4);
    pagetest_done(&t);
}

static void test_times(void **state)
{
    struct pagetest t;
    (void)state;
    pagetest_init(&t, "");
    pagetest_read(&t, "a 1 123456\nb 2\n");
    assert_int_equal(pagetest_need(&t, "a{" L "}")->t_ms, 123456);
    pagetest_read(&t, "");
    assert_int_equal(t.batch->n, 1); /* a has its own time, and no end */
    assert_stale(&t, "b{" L "}");
    pagetest_done(&t);
    /* One from the future would keep out all later ones. */
    pagetest_init(&t, "");
    pagetest_read(&t, "a 1 9000000\nb 2\nc 1\nd 1\ne 1\nf 1\ng 1\nh 1\ni 1\nj 1\n");
    assert_null(pagetest_find(&t, "a{" L "}"));
    assert_value(&t, "b{" L "}", 2);
    assert_int_equal((int)metricpage_n_mistakes(t.page), 1);
    pagetest_read(&t, "a 1 1060000\nb 2\n");
    assert_int_equal(pagetest_need(&t, "a{" L "}")->t_ms, 1060000);
    pagetest_done(&t);
    pagetest_init(&t, "  honor_timestamps: false\n");
    pagetest_read(&t, "a 1 123456\n");
    assert_int_equal(pagetest_need(&t, "a{" L "}")->t_ms, t.t_ms);
    pagetest_read(&t, "");
    assert_stale(&t, "a{" L "}");
    pagetest_done(&t);
}

/* The later one counts, however it is written. */
static void test_twice(void **state)
{
    struct pagetest t;
    (void)state;
    pagetest_init(&t, "");
    for (int i = 0; i < 2; i++) {
        pagetest_read(&t,
                      "a{x=\"1\",y=\"2\"} 1\nb 1\na{x=\"1\",y=\"2\"} 2\na{y=\"2\",x=\"1\"} 3\n");
        assert_value(&t, "a{" L ", x=\"1\", y=\"2\"}", 3);
        assert_int_equal(t.batch->n, 2);
    }
    pagetest_read(&t, "a{y=\"2\",x=\"1\"} 4\nb 1\n"); /* still there */
    assert_int_equal(t.batch->n, 2);
    assert_value(&t, "a{" L ", x=\"1\", y=\"2\"}", 4);
    pagetest_done(&t);
}

static void test_relabelling(void **state)
{
    struct pagetest t;
    (void)state;
    pagetest_init(&t, "  metric_relabel_configs:\n"
                      "  - {action: drop, source_labels: [__name__], regex: go_.*}\n"
                      "  - {source_labels: [__name__], regex: old_(.*), target_label: __name__,\n"
                      "     replacement: 'new_$1'}\n"
                      "  - {action: labeldrop, regex: pod}\n"
                      "  - {action: labeldrop, regex: __name__, }\n");
    assert_int_equal(pagetest_read_as(&t, SPAN("go_x 1\nold_a{pod=\"p\"} 2\n"), TEXT_PROMETHEUS),
                     -EINVAL);
    assert_non_null(strstr(t.words, "without a name"));
    assert_int_equal(t.batch->n, 0);
    pagetest_done(&t);
    pagetest_init(&t, "  metric_relabel_configs:\n"
                      "  - {action: drop, source_labels: [__name__], regex: go_.*}\n"
                      "  - {source_labels: [__name__], regex: old_(.*), target_label: __name__,\n"
                      "     replacement: 'new_$1'}\n"
                      "  - {action: labeldrop, regex: pod}\n");
    for (int i = 0; i < 3; i++) {
        pagetest_read(&t, "go_x 1\nold_a{pod=\"p\"} 2\nb{pod=\"p\"} 3\nb{pod=\"q\"} 4\n");
        assert_int_equal(t.batch->n, 2);
        assert_value(&t, "new_a{" L "}", 2);
        assert_value(&t, "b{" L "}", 4);
        assert_int_equal(t.counts.n_samples, 4);
        assert_int_equal(t.counts.n_kept, 3);
    }
    pagetest_read(&t, "b{pod=\"q\"} 5\n"); /* one of the two is still there */
    assert_int_equal(t.batch->n, 2);
    assert_value(&t, "b{" L "}", 5);
    assert_stale(&t, "new_a{" L "}");
    pagetest_done(&t);
}

static void test_limits(void **state)
{
    static const struct {
        const char *keys, *good, *bad, *words;
    } rows[] = {
        {"  sample_limit: 2\n", "a 1\nb 1\n", "a 1\nb 1\nc 1\n", "2 samples"},
        {"  sample_limit: 1\n"
         "  metric_relabel_configs: [{action: drop, source_labels: [__name__], regex: b}]\n",
         "a 1\nb 1\n", "a 1\nc 1\n", "1 samples"},
        {"  label_limit: 4\n", "a{x=\"1\"} 1\n", "a{x=\"1\",y=\"2\"} 1\n", "labels of a series: 5"},
        {"  label_name_length_limit: 8\n", "a{xx=\"1\"} 1\n", "a{x23456789a=\"1\"} 1\n",
         "label's name: 10"},
        {"  label_value_length_limit: 3\n", "a{x=\"123\"} 1\n", "a{x=\"1234\"} 1\n",
         "label's value: 4"},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct pagetest t;
        pagetest_init(&t, rows[i].keys);
        pagetest_read(&t, rows[i].good);
        size_t n = t.batch->n;
        assert_row(rows[i].keys,
                   pagetest_read_as(&t, span_cstr(rows[i].bad), TEXT_PROMETHEUS) == -E2BIG);
        assert_row(rows[i].keys, t.batch->n == 0);
        if (!strstr(t.words, rows[i].words))
            fail_msg("%s: %s", rows[i].keys, t.words);
        /* What was there is still there, until it is told to be gone. */
        assert_int_equal(metricpage_gone(t.page, t.t_ms, t.batch), 0);
        assert_row(rows[i].keys, t.batch->n == n);
        pagetest_read(&t, rows[i].good);
        assert_row(rows[i].keys, t.batch->n == n && t.counts.n_added == 0);
        pagetest_done(&t);
    }
}

static void test_mistakes(void **state)
{
    static const char ten[] = "a 1\nb 1\nc 1\nd 1\ne 1\nf 1\ng 1\nh 1\ni 1\n";
    static const struct {
        const char *body, *words;
    } bad[] = {
        {"<html>\n<body>no</body>\n</html>\n", "HTML"},
        {"{\"a\": 1}", "JSON"},
        {"a 1\nb 1\nc x\n", "line 3, column 3: the value is not a number"},
        {"a 1\nb{x=\"1\",x=\"2\"} 1\n", "1 of 2 lines"},
    };
    struct pagetest t;
    char text[200];
    (void)state;
    pagetest_init(&t, "");
    (void)snprintf(text, sizeof(text), "%sb{x=\"1\",x=\"2\"} 1\n", ten);
    for (int i = 0; i < 2; i++) {
        pagetest_read(&t, text);
        assert_int_equal(t.batch->n, 9);
        assert_int_equal(metricpage_n_mistakes(t.page), 1);
        assert_int_equal(metricpage_mistakes(t.page)->items[0].line, 10);
        assert_int_equal(t.counts.n_samples, 9);
    }
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        assert_row(bad[i].body,
                   pagetest_read_as(&t, span_cstr(bad[i].body), TEXT_PROMETHEUS) == -EBADMSG);
        assert_row(bad[i].body, t.batch->n == 0);
        if (!strstr(t.words, bad[i].words))
            fail_msg("%s: %s", bad[i].body, t.words);
    }
    assert_int_equal(pagetest_read_as(&t, SPAN("a 1\n# EOF\n"), TEXT_OPENMETRICS), 0);
    assert_null(metricpage_mistakes(t.page));
    assert_int_equal(pagetest_read_as(&t, SPAN("a 1\n"), TEXT_OPENMETRICS), -EBADMSG);
    assert_non_null(strstr(t.words, "cut"));
    pagetest_done(&t);
}

static void test_another_job(void **state)
{
    struct scrape_file *f =
        pagetest_file("  metric_relabel_configs:\n"
                      "  - {target_label: zone, replacement: eu}\n"
                      "  - {action: drop, source_labels: [__name__], regex: b}\n");
    struct pagetest t;
    (void)state;
    pagetest_init(&t, "");
    pagetest_read(&t, "a 1\nb 2\n");
    metricpage_rejob(t.page, &f->jobs[0]);
    pagetest_read(&t, "a 1\nb 2\n");
    assert_int_equal(t.batch->n, 3);
    assert_value(&t, "a{" L ", zone=\"eu\"}", 1);
    assert_stale(&t, "a{" L "}");
    assert_stale(&t, "b{" L "}");
    metricpage_rejob(t.page, &t.file->jobs[0]);
    scrape_file_unref(f);
    assert_int_equal(metricpage_gone(t.page, t.t_ms, t.batch), 0);
    assert_int_equal(t.batch->n, 4);
    pagetest_done(&t);
}

/* Series and names that come and go do not stay in memory. */
static void test_forgets(void **state)
{
    struct pagetest t;
    int64_t n_blocks = 0;
    (void)state;
    pagetest_init(&t, "");
    for (int i = 0; i < 200; i++) {
        char text[100];
        (void)snprintf(text, sizeof(text), "a{id=\"%d\"} 1\nb%d 1\nc%d 1\n", i, i % 3, i);
        pagetest_read(&t, text);
        t.batch = batch_free(t.batch);
        if (i == 50)
            n_blocks = mem_live_blocks();
    }
    assert_true(mem_live_blocks() <= n_blocks + 80); /* of 600 series that were there */
    pagetest_done(&t);
}

/* Nor do those of pages that are refused, be there never another one. */
static void test_forgets_refused(void **state)
{
    struct pagetest t;
    int64_t n_blocks = mem_live_blocks();
    (void)state;
    pagetest_init(&t, "  sample_limit: 100\n");
    pagetest_read(&t, "a 1\nb 2\n");
    for (int i = 0; i < 100; i++) {
        char text[8192];
        size_t n = 0;
        for (int k = 0; k < 101; k++)
            n += (size_t)snprintf(text + n, sizeof(text) - n, "a{id=\"%d\"} 1\nb%d 1\n",
                                  101 * i + k, 101 * i + k);
        assert_int_equal(pagetest_read_as(&t, span_of(text, n), TEXT_PROMETHEUS), -E2BIG);
        assert_int_equal(metricpage_gone(t.page, t.t_ms, t.batch), 0);
        assert_int_equal(t.batch->n, i == 0 ? 2 : 0); /* a and b end */
    }
    assert_true(mem_live_blocks() - n_blocks <= 8000); /* of 30,000 for 10,000 series */
    pagetest_read(&t, "b 1\n");
    assert_value(&t, "b{" L "}", 1);
    pagetest_done(&t);
}

/* --- a page that is remembered says the same as one that is read for the first time --- */

static size_t put_random_page(struct rng *rng, char *dst, size_t cap)
{
    static const char *const series[] = {
        "a",
        "a{x=\"1\"}",
        "a {x=\"2\"}",
        "a{x=\"1\",job=\"q\"}",
        "ab",
        "ab{x=\"\"}",
        "c_bucket{le=\"1\"}",
        "c_bucket{le=\"+Inf\"}",
        "c_sum",
        "c_count",
        "vllm:num_requests_running{model_name=\"m\"}",
        "vllm:num_requests_running{model_name=\"n\"}",
        "vllm:num_requests_waiting{model_name=\"m\"}",
        "vllm:kv_cache_usage_perc{model_name=\"m\"}",
        "vllm:gpu_cache_usage_perc{model_name=\"m\"}",
        "vllm:e2e_request_latency_seconds_bucket{le=\"1\",model_name=\"m\"}",
        "vllm:e2e_request_latency_seconds_bucket{le=\"+Inf\",model_name=\"m\"}",
        "vllm:e2e_request_latency_seconds_sum{model_name=\"m\"}",
        "vllm:e2e_request_latency_seconds_count{model_name=\"m\"}",
    };
    size_t n = 0;
    bool is_shuffled = rng_below(rng, 4) == 0;

    n += (size_t)snprintf(
        dst, cap, "# TYPE c histogram\n# TYPE vllm:e2e_request_latency_seconds histogram\n");
    for (size_t i = 0; i < ARRAY_LEN(series); i++) {
        const char *s = series[is_shuffled ? rng_below(rng, ARRAY_LEN(series)) : i];
        if (rng_below(rng, 10) > 0)
            n += (size_t)snprintf(dst + n, cap - n, "%s%s %u%s\n", rng_below(rng, 12) ? "" : " ", s,
                                  (unsigned)rng_below(rng, 50), rng_below(rng, 30) ? "" : " 77");
    }
    return n;
}

static void test_remembers_right(void **state)
{
    struct rng rng;
    struct pagetest t;
    char text[4096];
    (void)state;
    rng_seed(&rng, 7);
    pagetest_init(&t, "");
    for (int i = 0; i < 600; i++) {
        struct pagetest once;
        size_t n = put_random_page(&rng, text, sizeof(text)), n_same = 0, n_stale = 0;
        int r = pagetest_read_as(&t, span_of(text, n), TEXT_PROMETHEUS);
        pagetest_init(&once, "");
        once.t_ms = t.t_ms - PAGETEST_STEP_MS;
        assert_int_equal(r, 0);
        assert_int_equal(pagetest_read_as(&once, span_of(text, n), TEXT_PROMETHEUS), 0);
        for (size_t k = 0; k < t.batch->n; k++)
            n_stale += series_is_stale(t.batch->at[k].v);
        for (size_t k = 0; k < once.batch->n; k++) {
            const struct batch_sample *s = &once.batch->at[k];
            if (span_eq(labels_name(s->labels), SPAN("engine_signal_missing")))
                continue; /* it remembers */
            size_t m = 0;
            while (m < t.batch->n && !labels_eq(t.batch->at[m].labels, s->labels))
                m++;
            if (m == t.batch->n || t.batch->at[m].v != s->v || t.batch->at[m].t_ms != s->t_ms)
                fail_msg("%.*s", (int)n, text);
            n_same++;
        }
        size_t n_missing = 0;
        for (size_t k = 0; k < t.batch->n; k++)
            n_missing += !series_is_stale(t.batch->at[k].v) &&
                         span_eq(labels_name(t.batch->at[k].labels), SPAN("engine_signal_missing"));
        assert_int_equal(t.batch->n, n_same + n_stale + n_missing);
        pagetest_done(&once);
    }
    pagetest_done(&t);
}

static int read_twice(void *ctx)
{
    static const char page[] =
        "a{x=\"1\"} 1\nvllm:num_requests_running{model_name=\"m\"} 3\n"
        "vllm:num_requests_waiting{model_name=\"m\"} 1\nb{job=\"x\"} 1\nz{z z\n";
    const struct scrape_job *j = ctx;
    const struct label label = {SPAN_INIT("job"), SPAN_INIT("j")};
    struct metricpage *p = NULL;
    struct batch *b = NULL;
    struct metricpage_counts counts;
    const char *words;
    int r = batch_new(&b);

    if (r == 0)
        r = metricpage_new(j, (struct labels){&label, 1}, &p);
    for (int i = 0; i < 2 && r == 0; i++) {
        size_t n = b->n;
        r = metricpage_read(p, span_of(page, sizeof(page) - (i == 0 ? 6 : 1)), TEXT_PROMETHEUS, i,
                            b, &counts, &words);
        if (r == -EBADMSG)
            r = 0;
        if (r < 0)
            assert_int_equal(b->n, n);
    }
    if (r == 0)
        r = metricpage_gone(p, 5, b);
    metricpage_free(p);
    batch_free(b);
    return r;
}

static void test_no_memory(void **state)
{
    struct scrape_file *f =
        pagetest_file("  metric_relabel_configs: [{target_label: z, replacement: eu}]\n");
    (void)state;
    struct scrape_job j = f->jobs[0];
    assert_int_equal(read_twice(&j), 0); /* patterns keep memory of their last match */
    assert_true(memfail_each(read_twice, &j) > 20);
    scrape_file_unref(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_samples),         cmocka_unit_test(test_labels_of_the_target),
        cmocka_unit_test(test_times),           cmocka_unit_test(test_twice),
        cmocka_unit_test(test_relabelling),     cmocka_unit_test(test_limits),
        cmocka_unit_test(test_mistakes),        cmocka_unit_test(test_another_job),
        cmocka_unit_test(test_forgets),         cmocka_unit_test(test_forgets_refused),
        cmocka_unit_test(test_remembers_right), cmocka_unit_test(test_no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
