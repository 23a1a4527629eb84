/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench/micro_record.c - nanoseconds per sample recorded into one series, exponential and classic
 * counts together. Prints one line per case: the median of the rounds.
 *
 *   build/release/bench_micro_record
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/rng.h"
#include "metrics/metrics.h"

enum { N_VALUES = 1 << 14, N_REPEATS = 64, N_ROUNDS = 15 };

static int64_t values[N_VALUES];

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;
    return (x > y) - (x < y);
}

static void report(const char *name, void (*round)(void *ctx), void *ctx)
{
    double ns[N_ROUNDS];
    for (int i = 0; i < N_ROUNDS; i++) {
        mono_t start = clock_mono();
        round(ctx);
        ns[i] = (double)mono_diff(clock_mono(), start) / ((double)N_VALUES * N_REPEATS);
    }
    qsort(ns, N_ROUNDS, sizeof(ns[0]), compare);
    printf("%-34s %6.2f ns (min %.2f, max %.2f)\n", name, ns[N_ROUNDS / 2], ns[0],
           ns[N_ROUNDS - 1]);
}

static void round_hist(void *ctx)
{
    for (int k = 0; k < N_REPEATS; k++) {
        for (int i = 0; i < N_VALUES; i++)
            hist_record(ctx, values[i]);
    }
}

static void round_gap(void *ctx)
{
    for (int k = 0; k < N_REPEATS; k++) {
        for (int i = 0; i < N_VALUES; i++)
            metrics_record_gap(ctx, values[i]);
    }
}

static void round_ttft(void *ctx)
{
    for (int k = 0; k < N_REPEATS; k++) {
        for (int i = 0; i < N_VALUES; i++)
            metrics_record_ttft(ctx, values[i], "0123456789abcdef0123456789abcdef");
    }
}

static void round_resolve(void *ctx)
{
    static const struct metrics_request request = {
        .model = "meta-llama/Llama-3.1-70B-Instruct",
        .endpoint = "chat_completions",
        .upstream = "pool-a",
        .is_stream = true,
        .is_model_proven = true,
    };
    for (int k = 0; k < N_REPEATS; k++) {
        for (int i = 0; i < N_VALUES; i++)
            (void)metrics_shard_resolve(ctx, &request); /* timed for the look-up alone */
    }
}

/* The same label set each time; with two business labels. */
static void round_resolve_business(void *ctx)
{
    static const char *const business[] = {"acme-corporation", "gold"};
    static const struct metrics_request request = {
        .model = "meta-llama/Llama-3.1-70B-Instruct",
        .endpoint = "chat_completions",
        .upstream = "pool-a",
        .version = "2026-01",
        .is_stream = true,
        .is_model_proven = true,
        .business = business,
    };
    for (int k = 0; k < N_REPEATS; k++) {
        for (int i = 0; i < N_VALUES; i++)
            (void)metrics_shard_resolve(ctx, &request); /* timed for the look-up alone */
    }
}

/* Another tenant than before each time: looked up in the tables. */
static void round_resolve_changing(void *ctx)
{
    static const char *const tenants[] = {"acme", "globex", "initech", "umbrella"};
    const char *business[] = {NULL, "gold"};
    struct metrics_request request = {
        .model = "meta-llama/Llama-3.1-70B-Instruct",
        .endpoint = "chat_completions",
        .upstream = "pool-a",
        .is_stream = true,
        .is_model_proven = true,
        .business = business,
    };
    for (int k = 0; k < N_REPEATS; k++) {
        for (int i = 0; i < N_VALUES; i++) {
            business[0] = tenants[i % 4];
            (void)metrics_shard_resolve(ctx, &request); /* timed for the look-up alone */
        }
    }
}

static void fill(double median_ns, double sigma)
{
    struct rng rng;
    rng_seed(&rng, 42);
    for (int i = 0; i < N_VALUES; i++)
        values[i] = (int64_t)rng_lognormal(&rng, median_ns, sigma);
}

static void bench_hist(const char *name, double median_ns, double sigma)
{
    const struct family *f = &family_table[METRIC_TTFT];
    struct hist_bounds *bounds = NULL;
    if (hist_bounds_new(HIST_NS, f->default_bounds, f->n_default_bounds, clock_wall(), &bounds) < 0)
        exit(1);
    hist_source source;
    atomic_init(&source, bounds);
    struct hist hist;
    hist_init(&hist, &source);
    fill(median_ns, sigma);
    report(name, round_hist, &hist);
    hist_done(&hist);
    hist_bounds_free(bounds);
}

int main(void)
{
    struct metrics *m = NULL;
    struct metrics_shard *shard = NULL;
    if (metrics_new(NULL, &m) < 0 || metrics_shard_new(m, &shard) < 0)
        return 1;
    struct metrics_request request = {.model = "m",
                                      .endpoint = "chat_completions",
                                      .upstream = "a",
                                      .is_stream = true,
                                      .is_model_proven = true};
    struct metrics_series_set *set = metrics_shard_resolve(shard, &request);
    bench_hist("hist_record, one value", 0.2e9, 0);
    bench_hist("hist_record, lognormal sigma 0.8", 0.2e9, 0.8);
    bench_hist("hist_record, lognormal sigma 2", 0.2e9, 2);
    fill(0.02e9, 0.5);
    report("metrics_record_gap", round_gap, set);
    report("metrics_record_ttft with exemplar", round_ttft, set);
    report("metrics_shard_resolve, known", round_resolve, shard);
    metrics_shard_release(shard);
    metrics_free(m);
    static const struct metrics_business business[] = {{"tenant", 0}, {"tier", 0}};
    const struct metrics_config config = {.business = business, .n_business = 2};
    if (metrics_new(&config, &m) < 0 || metrics_shard_new(m, &shard) < 0)
        return 1;
    report("the same, two business labels", round_resolve_business, shard);
    report("the same, another tenant each", round_resolve_changing, shard);
    metrics_shard_release(shard);
    metrics_free(m);
    return 0;
}
