/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Signals of pages that are scraped again: pages of the simulator under each version's names.
 * test-links: sim
 */
#include <errno.h>

#include "base/attr.h"
#include "pagetest.h"
#include "sim/sim_page.h"
#include "sim/workload.h"

#define L         "instance=\"i:1\", job=\"j\""
#define MODEL     "model=\"org/model-70b\""
#define V1_LABELS "{engine=\"0\", " L ", " MODEL "}"
#define DAY_MS    (INT64_C(24) * 3600 * 1000)

enum { PAGE_MAX = 1 << 20 };

/* --- an engine that works --- */

static struct worked {
    struct workload_run run;
    struct sim_stats stats;
    int64_t n_seen, n_ended;
} worked;

static void watch(void *ctx, const struct batching_request *r, mono_t now)
{
    struct worked *w = ctx;
    struct batching_counts n = batching_counts(w->run.batching);
    sim_stats_token(&w->stats, r, w->n_seen++ % 2 ? SIM_STOP : SIM_LENGTH);
    sim_stats_step(&w->stats, &n, now);
}

static void start_work(void)
{
    struct batching_config c;
    struct workload_config l;
    batching_config_init(&c);
    c.n_blocks = 900;
    assert_true(workload_config_of("azure-conv", &l));
    l.rate = 3;
    if (worked.run.batching)
        workload_run_done(&worked.run);
    memset(&worked, 0, sizeof(worked));
    assert_int_equal(workload_run_init(&worked.run, &c, &l, 1), 0);
    sim_stats_init(&worked.stats);
    worked.run.observe = watch;
    worked.run.ctx = &worked;
}

static void work(int64_t n_more)
{
    worked.n_ended += n_more;
    assert_int_equal(workload_run(&worked.run, (mono_t){INT64_MAX}, worked.n_ended), 0);
    sim_stats_left(&worked.stats);
}

static struct sim_page about(const char *version)
{
    struct sim_page p = {.model = "org/model-70b",
                         .max_model_len = 8192,
                         .block_tokens = 16,
                         .has_prefix_cache = true,
                         .started_at_s = 1753795326.5,
                         .pid = 4711};
    assert_true(sim_version_of(version, &p.version));
    return p;
}

static char *render_as(const struct sim_page *p, const struct batching_counts *n,
                       const struct sim_stats *stats)
{
    static char text[PAGE_MAX];
    struct buf out;
    buf_init(&out, PAGE_MAX - 1);
    assert_int_equal(sim_page_render(p, n, stats, &out), 0);
    memcpy(text, buf_span(&out).p, buf_len(&out));
    text[buf_len(&out)] = '\0';
    buf_done(&out);
    return text;
}

static char *render(const char *version)
{
    struct batching_counts n = batching_counts(worked.run.batching);
    struct sim_page p = about(version);
    return render_as(&p, &n, &worked.stats);
}

/* --- what was told --- */

static bool is_signal(const struct batch_sample *s)
{
    struct span name = labels_name(s->labels);
    return !series_is_stale(s->v) && span_starts_with(name, SPAN("engine_")) &&
           !span_eq(name, SPAN("engine_signal_missing"));
}

/* The same that engine_signals says of the page as a whole, with the target's labels. */
static void assert_signals(const struct pagetest *t, const char *text)
{
    static struct families f;
    struct engine_page page;
    struct signal_sample *at;
    struct arena a;
    size_t n, n_told = 0;
    arena_init(&a, NULL);
    assert_int_equal(families_read(span_cstr(text), TEXT_PROMETHEUS, "p", &f), 0);
    assert_int_equal(engine_recognise(&f, &a, &page), 0);
    assert_int_equal(engine_signals(&f, &page, &a, &at, &n), 0);
    for (size_t i = 0; i < n; i++) {
        struct labels l = at[i].labels;
        size_t k = 0;
        assert_int_equal(labels_with(&a, l, SPAN("instance"), SPAN("i:1"), &l), 0);
        assert_int_equal(labels_with(&a, l, SPAN("job"), SPAN("j"), &l), 0);
        while (k < t->batch->n && !labels_eq(t->batch->at[k].labels, l))
            k++;
        if (k == t->batch->n)
            fail_msg("%.*s is not told", SPAN_ARG(labels_name(l)));
        if (t->batch->at[k].v != at[i].v || t->batch->at[k].t_ms != t->t_ms)
            fail_msg("%.*s is %g, not %g", SPAN_ARG(labels_name(l)), t->batch->at[k].v, at[i].v);
    }
    for (size_t i = 0; i < t->batch->n; i++)
        n_told += is_signal(&t->batch->at[i]);
    assert_int_equal(n_told, n);
    assert_true(n > 20);
    families_done(&f);
    arena_done(&a);
}

/* Over all series of that name, without those that end. */
static double sum_of(const struct pagetest *t, const char *name)
{
    double sum = 0;
    for (size_t i = 0; i < t->batch->n; i++)
        if (is_signal(&t->batch->at[i]) &&
            span_eq(labels_name(t->batch->at[i].labels), span_cstr(name)))
            sum += t->batch->at[i].v;
    return sum;
}

static size_t count_missing(const struct pagetest *t, const char *cause)
{
    size_t n = 0;
    for (size_t i = 0; i < t->batch->n; i++)
        n += !series_is_stale(t->batch->at[i].v) &&
             span_eq(labels_name(t->batch->at[i].labels), SPAN("engine_signal_missing")) &&
             (!cause ||
              span_eq(labels_get(t->batch->at[i].labels, SPAN("cause")), span_cstr(cause)));
    return n;
}

static const char *const versions[] = {"vllm-0.6", "vllm-0.8", "vllm-0.10", "vllm-0.13",
                                       "sglang-0.5.7"};

/* Only values change: nothing is recognised anew, and all are right. */
static void test_scraped_again(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(versions); i++) {
        struct pagetest t;
        start_work();
        work(100);
        pagetest_init(&t, "");
        for (int k = 0; k < 4; k++) {
            const char *text = render(versions[i]);
            pagetest_read(&t, text);
            assert_signals(&t, text);
            assert_int_equal(count_missing(&t, "drifted"), 0);
            work(30);
        }
        const struct engine_page *page = metricpage_engine(t.page);
        assert_int_equal(page->n_engines, 1);
        pagetest_done(&t);
    }
}

/* An upgrade between two scrapes: no gap, no double count; a name that only changed is no drift. */
static void test_upgrade(void **state)
{
    static const char *const names[] = {"engine_running",
                                        "engine_waiting",
                                        "engine_kv_usage_ratio",
                                        "engine_preemptions_total",
                                        "engine_prompt_tokens_total",
                                        "engine_generation_tokens_total",
                                        "engine_e2e_seconds_count",
                                        "engine_ttft_seconds_sum",
                                        "engine_itl_seconds_count",
                                        "engine_queue_seconds_count"};
    (void)state;
    start_work();
    work(100);
    for (size_t from = 0; from < 4; from++)
        for (size_t to = 0; to < 4; to++) {
            struct pagetest t;
            double before[ARRAY_LEN(names)];
            pagetest_init(&t, "");
            pagetest_read(&t, render(versions[from]));
            for (size_t i = 0; i < ARRAY_LEN(names); i++)
                before[i] = sum_of(&t, names[i]);
            const char *text = render(versions[to]);
            pagetest_read(&t, text);
            assert_signals(&t, text);
            for (size_t i = 0; i < ARRAY_LEN(names); i++)
                if (before[i] != sum_of(&t, names[i]))
                    fail_msg("%s to %s: %s was %g and is %g", versions[from], versions[to],
                             names[i], before[i], sum_of(&t, names[i]));
            assert_true(before[2] > 0 && before[5] > 0);
            static const char *const kept[] = {"running",      "waiting",
                                               "kv_usage",     "itl_seconds",
                                               "ttft_seconds", "generation_tokens_total"};
            for (size_t i = 0; i < ARRAY_LEN(kept); i++) {
                char series[200];
                (void)snprintf(series, sizeof(series),
                               "engine_signal_missing{cause=\"drifted\", " L ", signal=\"%s\"}",
                               kept[i]);
                assert_none(&t, series);
            }
            pagetest_done(&t);
        }
}

/* text without the lines of one family. */
static void remove_family(char *text, const char *name)
{
    char *to = text;
    for (char *line = text; *line;) {
        char *end = strchr(line, '\n') + 1;
        bool is_it = strstr(line, name) && strstr(line, name) < end;
        if (!is_it) {
            memmove(to, line, (size_t)(end - line));
            to += end - line;
        }
        line = end;
    }
    *to = '\0';
}

#define DRIFTED "engine_signal_missing{cause=\"drifted\", " L ", signal=\"kv_usage\"}"
#define KV      "engine_kv_usage_ratio" V1_LABELS

static void test_drift(void **state)
{
    struct pagetest t;
    (void)state;
    start_work();
    work(100);
    pagetest_init(&t, "");
    pagetest_read(&t, render("vllm-0.13"));
    assert_none(&t, DRIFTED);
    assert_true(pagetest_need(&t, KV)->v > 0);
    char *text = render("vllm-0.13");
    remove_family(text, "vllm:kv_cache_usage_perc");
    for (int i = 0; i < 3; i++) {
        pagetest_read(&t, text);
        assert_value(&t, DRIFTED, 1);
        assert_int_equal(count_missing(&t, "drifted"), 1);
        if (i == 0)
            assert_stale(&t, KV);
        else
            assert_none(&t, KV);
    }
    /* The page being away changes nothing. */
    assert_int_equal(metricpage_gone(t.page, t.t_ms, t.batch), 0);
    pagetest_read(&t, text);
    assert_value(&t, DRIFTED, 1);
    t.t_ms += DAY_MS - 10 * PAGETEST_STEP_MS;
    pagetest_read(&t, text);
    assert_value(&t, DRIFTED, 1);
    t.t_ms += 20 * PAGETEST_STEP_MS;
    pagetest_read(&t, text);
    assert_stale(&t, DRIFTED);
    assert_value(&t, "engine_signal_missing{cause=\"absent\", " L ", signal=\"kv_usage\"}", 1);
    pagetest_read(&t, render("vllm-0.13"));
    assert_stale(&t, "engine_signal_missing{cause=\"absent\", " L ", signal=\"kv_usage\"}");
    assert_true(pagetest_need(&t, KV)->v > 0);
    text = render("vllm-0.13");
    remove_family(text, "vllm:kv_cache_usage_perc");
    pagetest_read(&t, text);
    assert_value(&t, DRIFTED, 1);
    pagetest_read(&t, render("vllm-0.13")); /* and back */
    assert_stale(&t, DRIFTED);
    assert_true(pagetest_need(&t, KV)->v > 0);
    pagetest_done(&t);
}

/* What comes with a first event is not there behind a restart, which is no drift. */
static void test_restart(void **state)
{
    struct pagetest t;
    struct batching_counts none = {.n_blocks = 900, .n_blocks_free = 900};
    struct sim_stats fresh;
    (void)state;
    sim_stats_init(&fresh);
    start_work();
    work(100);
    for (size_t i = 0; i < ARRAY_LEN(versions); i++) {
        struct sim_page p = about(versions[i]);
        pagetest_init(&t, "");
        pagetest_read(&t, render(versions[i]));
        p.started_at_s += 1000;
        p.pid++;
        pagetest_read(&t, render_as(&p, &none, &fresh));
        if (count_missing(&t, "drifted") != 0) {
            pagetest_print(&t);
            fail_msg("%s", versions[i]);
        }
        pagetest_done(&t);
    }
}

/* A page that loses its engine: all that it told has gone. */
static void test_no_engine_any_more(void **state)
{
    struct pagetest t;
    (void)state;
    start_work();
    work(100);
    pagetest_init(&t, "");
    pagetest_read(&t, render("vllm-0.13"));
    pagetest_read(&t, "# TYPE python_info gauge\npython_info 1\n");
    assert_value(&t, DRIFTED, 1);
    assert_stale(&t, KV);
    assert_int_equal(metricpage_engine(t.page)->n_engines, 0);
    pagetest_done(&t);
}

/* What is not there yet is missing, and found as soon as it comes. */
static void test_data_that_comes(void **state)
{
    static const char head[] = "# TYPE vllm:num_requests_running gauge\n"
                               "vllm:num_requests_running{model_name=\"m\"} 1\n"
                               "# TYPE vllm:num_requests_waiting gauge\n"
                               "vllm:num_requests_waiting{model_name=\"m\"} 1\n"
                               "# TYPE vllm:gpu_cache_usage_perc gauge\n"
                               "vllm:gpu_cache_usage_perc{model_name=\"m\"} ";
    char text[1000];
    struct pagetest t;
    (void)state;
    pagetest_init(&t, "");
    (void)snprintf(text, sizeof(text), "%sNaN\n", head);
    pagetest_read(&t, text);
    assert_value(&t, "engine_signal_missing{cause=\"no_data\", " L ", signal=\"kv_usage\"}", 1);
    (void)snprintf(text, sizeof(text), "%s0.5\n", head);
    for (int i = 0; i < 10; i++)
        pagetest_read(&t, text);
    assert_value(&t, "engine_kv_usage_ratio{" L ", model=\"m\"}", 0.5);
    (void)snprintf(text, sizeof(text), "%sNaN\n", head); /* at once */
    pagetest_read(&t, text);
    assert_stale(&t, "engine_kv_usage_ratio{" L ", model=\"m\"}");
    assert_value(&t, "engine_signal_missing{cause=\"no_data\", " L ", signal=\"kv_usage\"}", 1);
    pagetest_done(&t);
}

/* Signals are of the page as it is, whatever relabelling leaves of it, with the target's labels. */
static void test_relabelled(void **state)
{
    struct pagetest t;
    (void)state;
    start_work();
    work(100);
    pagetest_init(&t, "  metric_relabel_configs:\n"
                      "  - {action: drop, source_labels: [__name__], regex: 'vllm:.*'}\n");
    const char *text = render("vllm-0.13");
    pagetest_read(&t, text);
    assert_signals(&t, text);
    pagetest_done(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_scraped_again),
        cmocka_unit_test(test_upgrade),
        cmocka_unit_test(test_drift),
        cmocka_unit_test(test_restart),
        cmocka_unit_test(test_no_engine_any_more),
        cmocka_unit_test(test_data_that_comes),
        cmocka_unit_test(test_relabelled),
    };
    int r = cmocka_run_group_tests(tests, NULL, NULL);
    workload_run_done(&worked.run);
    return r;
}
