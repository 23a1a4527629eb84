/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/workload.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "harness.h"
#include "memfail.h"

#define TRACE "../shared/traces/azure-2023-conv.tsv"

static const mono_t never = {INT64_MAX};

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static void test_distribution(void **state)
{
    enum { N = 50000 };
    static struct workload_dist d;
    static double all[N];
    struct rng rng;
    double sum = 0;
    (void)state;
    assert_true(isnan(workload_dist_quantile_ns(&d, 0.5)));
    assert_true(isnan(workload_dist_mean_ns(&d)));
    rng_seed(&rng, 1);
    for (int i = 0; i < N; i++) {
        int64_t ns = llround(rng_lognormal(&rng, 1e8, 2));
        all[i] = (double)ns;
        sum += (double)ns;
        workload_dist_add(&d, ns);
    }
    qsort(all, N, sizeof(all[0]), by_value);
    for (double q = 0.001; q < 1; q += 0.001) {
        double exact = all[(size_t)ceil(q * N) - 1];
        assert_true(fabs(workload_dist_quantile_ns(&d, q) / exact - 1) < 0.005);
    }
    assert_true(fabs(workload_dist_mean_ns(&d) / (sum / N) - 1) < 1e-9);
    assert_true(workload_dist_quantile_ns(&d, 1) <= all[N - 1]);

    d = (struct workload_dist){0};
    workload_dist_add(&d, 0);
    workload_dist_add(&d, INT64_MAX);
    assert_true(workload_dist_quantile_ns(&d, 0.5) < 200);
    assert_int_equal(d.n, 2);
}

static void test_requests(void **state)
{
    enum { N = 50000 };
    struct workload_config c;
    struct workload w;
    static double prompt[N], output[N];
    double gap_ns = 0;
    int n_shared = 0;
    (void)state;
    assert_false(workload_config_of("tic-tac-toe", &c));
    assert_true(workload_config_of("azure-conv", &c));
    c.rate = 4;
    c.prefix_share = 0.3;
    c.n_prefixes = 5;
    c.prefix_tokens = 256;
    workload_init(&w, &c, 1);
    for (int i = 0; i < N; i++) {
        struct batching_request r;
        gap_ns += (double)workload_gap_ns(&w);
        workload_ask(&w, &r);
        prompt[i] = (double)r.n_prompt;
        output[i] = (double)r.n_output;
        n_shared += r.prefix > 0;
        assert_true(r.prefix <= 5 && r.n_prefix == (r.prefix > 0 ? 256 : 0));
    }
    qsort(prompt, N, sizeof(prompt[0]), by_value);
    qsort(output, N, sizeof(output[0]), by_value);
    assert_true(fabs(gap_ns / N / 0.25e9 - 1) < 0.02);
    assert_true(fabs(n_shared / (double)N - 0.3) < 0.01);
    /* p50 and p90 of the trace */
    static const double expect[2][2] = {{1020, 2735}, {129, 424}};
    for (int k = 0; k < 2; k++) {
        size_t at = (size_t)(N * (double[]){0.5, 0.9}[k]);
        assert_true(fabs(prompt[at] / expect[0][k] - 1) < 0.03);
        assert_true(fabs(output[at] / expect[1][k] - 1) < 0.03);
    }
    assert_true(prompt[N - 1] == 8192 && output[N - 1] == 1000 && prompt[0] >= 1);
    w.config.rate = 0;
    assert_int_equal(workload_gap_ns(&w), INT64_MAX);
}

static double deviation_of_logs(const double *v, size_t n)
{
    double sum = 0, squares = 0;
    for (size_t i = 0; i < n; i++) {
        sum += log(v[i]);
        squares += log(v[i]) * log(v[i]);
    }
    return sqrt(squares / (double)n - sum * sum / (double)n / (double)n);
}

/*
 * The excerpt of the trace is a quarter of it: its prompts are those of the whole, its outputs are
 * longer (its median is 217, the whole's 129).
 */
static void test_lengths_beside_the_trace(void **state)
{
    enum { MAX = 5000 };
    static double prompt[MAX], output[MAX];
    struct workload_config c;
    char line[128];
    size_t n = 0;
    FILE *f = fopen(TRACE, "r");
    (void)state;
    if (!f) {
        print_message("no %s beside the project\n", TRACE);
        skip();
    }
    while (fgets(line, sizeof(line), f)) {
        double arrival, in, out;
        if (n < MAX && sscanf(line, "%lf %lf %lf", &arrival, &in, &out) == 3) {
            prompt[n] = in;
            output[n++] = out;
        }
    }
    (void)fclose(f);
    assert_int_equal(n, MAX);
    qsort(prompt, n, sizeof(prompt[0]), by_value);
    qsort(output, n, sizeof(output[0]), by_value);
    assert_true(workload_config_of("azure-conv", &c));
    assert_true(fabs(prompt[n / 2] / c.prompt.median - 1) < 0.1);
    assert_true(prompt[n - 1] < (double)c.prompt.max && prompt[n - 1] > 0.9 * (double)c.prompt.max);
    assert_true(output[n - 1] == (double)c.output.max);
    assert_true(fabs(deviation_of_logs(prompt, n) / c.prompt.sigma - 1) < 0.25);
    assert_true(fabs(deviation_of_logs(output, n) / c.output.sigma - 1) < 0.05);
}

static struct batching_config engine(void)
{
    struct batching_config c;
    batching_config_init(&c);
    return c;
}

static struct workload_config load(double rate)
{
    struct workload_config c;
    assert_true(workload_config_of("azure-conv", &c));
    c.rate = rate;
    return c;
}

static void test_run_repeats(void **state)
{
    struct batching_config c = engine();
    struct workload_config l = load(2);
    mono_t ends[3];
    (void)state;
    for (uint64_t i = 0; i < 3; i++) {
        struct workload_run w;
        assert_int_equal(workload_run_init(&w, &c, &l, i == 2), 0);
        assert_int_equal(workload_run(&w, never, 500), 0);
        assert_int_equal(w.stats->n_finished, 500);
        assert_int_equal(w.stats->ttft.n, 500);
        ends[i] = w.now;
        workload_run_done(&w);
    }
    assert_int_equal(ends[0].ns, ends[1].ns);
    assert_true(ends[0].ns != ends[2].ns);
}

static void test_until(void **state)
{
    struct batching_config c = engine();
    struct workload_config l = load(1);
    struct workload_run w;
    (void)state;
    assert_int_equal(workload_run_init(&w, &c, &l, 1), 0);
    assert_int_equal(workload_run(&w, (mono_t){100 * NS_PER_S}, INT64_MAX / 2), 0);
    assert_int_equal(w.now.ns, 100 * NS_PER_S);
    assert_true(w.stats->n_arrived > 60 && w.stats->n_arrived < 140);
    l.rate = 0;
    workload_run_configure(&w, &l);
    assert_int_equal(workload_run(&w, never, INT64_MAX / 2), 0); /* until nobody is here */
    assert_int_equal(w.stats->n_finished, w.stats->n_arrived);
    assert_false(mono_is_set(batching_next(w.batching)));
    assert_int_equal(workload_run(&w, (mono_t){900 * NS_PER_S}, 1), 0);
    assert_int_equal(w.now.ns, 900 * NS_PER_S);
    workload_run_forget(&w);
    assert_int_equal(w.stats->n_finished, 0);
    workload_run_done(&w);
}

struct watched {
    int64_t n_tokens, n_finished, n_first;
};

static void watch(void *ctx, const struct batching_request *r, mono_t now)
{
    struct watched *seen = ctx;
    assert_int_equal(r->t_last.ns, now.ns);
    seen->n_tokens += r->n_new;
    seen->n_first += r->n_done == 1;
    seen->n_finished += r->state == BATCHING_FINISHED;
}

static void test_observer_and_figures(void **state)
{
    struct batching_config c = engine();
    struct workload_config l = load(0.01); /* each request is alone */
    struct watched seen = {0};
    struct workload_run w;
    (void)state;
    c.cost.sigma = 0;
    c.cost.stall_rate = 0;
    l.prompt = (struct workload_length){.median = 1000, .min = 1, .max = 9999};
    l.output = (struct workload_length){.median = 11, .min = 1, .max = 9999};
    assert_int_equal(workload_run_init(&w, &c, &l, 1), 0);
    w.observe = watch;
    w.ctx = &seen;
    assert_int_equal(workload_run(&w, never, 20), 0);
    assert_int_equal(seen.n_tokens, 220);
    assert_int_equal(seen.n_first, 20);
    assert_int_equal(seen.n_finished, 20);
    /* 15.7 + 1000 * 0.0742 ms; then 29.9 + 0.199 + 1005.5 * 1.79e-4 ms on average */
    assert_true(fabs(workload_dist_mean_ns(&w.stats->ttft) / 89.9e6 - 1) < 1e-3);
    assert_true(fabs(workload_dist_mean_ns(&w.stats->tpot) / 30.279e6 - 1) < 1e-3);
    assert_true(fabs(workload_dist_mean_ns(&w.stats->itl) / 30.279e6 - 1) < 1e-3);
    assert_true(fabs(workload_dist_mean_ns(&w.stats->e2e) / 392.69e6 - 1) < 1e-3);
    assert_int_equal(w.stats->queue.max_ns, 0);
    assert_int_equal(w.stats->itl.n, 200);
    assert_int_equal(w.stats->n_attained, 20);
    workload_run_done(&w);
}

/*
 * Another simulator of the same scheduler with the same coefficients (facts 5.7): p50 within 10 %,
 * p99 within 25 %; at 5 requests/s the queue has no end.
 */
static void test_beside_another_simulator(void **state)
{
    static const struct {
        double rate, ttft_p50, ttft_p99, tpot_p50, tpot_p99;
    } rows[] = {{1, 127, 775, 36, 53}, {3, 212, 1148, 70, 113}};
    struct batching_config c = engine();
    struct workload_config l = load(5);
    struct workload_run w;
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        l.rate = rows[i].rate;
        assert_int_equal(workload_run_init(&w, &c, &l, 1), 0);
        assert_int_equal(workload_run(&w, never, 20000), 0);
        const struct workload_stats *s = w.stats;
        const double off[] = {
            workload_dist_quantile_ns(&s->ttft, 0.5) / 1e6 / rows[i].ttft_p50 - 1,
            workload_dist_quantile_ns(&s->tpot, 0.5) / 1e6 / rows[i].tpot_p50 - 1,
            workload_dist_quantile_ns(&s->ttft, 0.99) / 1e6 / rows[i].ttft_p99 - 1,
            workload_dist_quantile_ns(&s->tpot, 0.99) / 1e6 / rows[i].tpot_p99 - 1,
        };
        for (size_t k = 0; k < ARRAY_LEN(off); k++)
            assert_true(fabs(off[k]) < (k < 2 ? 0.10 : 0.25));
        assert_true((double)s->n_attained >= 0.999 * (double)s->n_finished);
        workload_run_done(&w);
    }
    l.rate = 5;
    int64_t n_before = 0;
    assert_int_equal(workload_run_init(&w, &c, &l, 1), 0);
    for (int i = 0; i < 4; i++) {
        assert_int_equal(workload_run(&w, never, 3000), 0);
        struct batching_counts n = batching_counts(w.batching);
        assert_true(n.n_waiting > n_before);
        n_before = n.n_waiting;
    }
    workload_run_done(&w);
}

static void test_prefixes_hit(void **state)
{
    struct batching_config c = engine();
    struct workload_config l = load(1);
    struct workload_run w;
    (void)state;
    l.prefix_share = 1;
    l.n_prefixes = 2;
    l.prefix_tokens = 512;
    l.prompt = (struct workload_length){.median = 1024, .min = 1, .max = 9999};
    assert_int_equal(workload_run_init(&w, &c, &l, 1), 0);
    assert_int_equal(workload_run(&w, never, 300), 0);
    struct batching_counts n = batching_counts(w.batching);
    assert_true(fabs((double)n.n_cache_hits / (double)n.n_cache_queries - 0.5) < 0.02);
    workload_run_done(&w);
}

/* A request that is longer than the memory is refused, and the others go on. */
static void test_small_memory(void **state)
{
    struct batching_config c = engine();
    struct workload_config l = load(2);
    struct workload_run w;
    (void)state;
    c.n_blocks = 250; /* 4,000 tokens */
    assert_int_equal(workload_run_init(&w, &c, &l, 1), 0);
    assert_int_equal(workload_run(&w, never, 400), 0);
    assert_true(w.stats->n_refused > 0);
    assert_true(batching_counts(w.batching).n_preemptions > 10);
    assert_null(batching_check(w.batching));
    workload_run_done(&w);
}

static int attempt(void *ctx)
{
    struct batching_config c = engine();
    struct workload_config l = load(50);
    struct workload_run w;
    int r;
    (void)ctx;
    c.n_blocks = 1000;
    r = workload_run_init(&w, &c, &l, 1);
    if (r < 0)
        return r;
    r = workload_run(&w, (mono_t){4 * NS_PER_S}, 1000);
    workload_run_done(&w);
    return r;
}

static void test_no_memory(void **state)
{
    (void)state;
    assert_true(memfail_each(attempt, NULL) > 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_distribution),
        cmocka_unit_test(test_requests),
        cmocka_unit_test(test_lengths_beside_the_trace),
        cmocka_unit_test(test_run_repeats),
        cmocka_unit_test(test_until),
        cmocka_unit_test(test_observer_and_figures),
        cmocka_unit_test(test_beside_another_simulator),
        cmocka_unit_test(test_prefixes_hit),
        cmocka_unit_test(test_small_memory),
        cmocka_unit_test(test_no_memory),
    };
    return cmocka_run_group_tests_name("sim/workload", tests, NULL, NULL);
}
