/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench/micro_promql.c - milliseconds of a query over a day of classic histograms in memory: 500
 * series, a sample each 15 s. Prints one line per case: the median of the rounds.
 *
 *   build/release/bench_micro_promql
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/rng.h"
#include "promql/query.h"
#include "series/memory.h"

enum { N_MODELS = 10, N_INSTANCES = 5, N_BUCKETS = 10, APART_MS = 15000, DAY_MS = 86400000 };
enum { N_ROUNDS = 7 };

static void fill_series(struct memory *m, int model, int instance, int bucket, struct rng *rng)
{
    char le[16], model_name[16], instance_name[16];
    struct label pairs[] = {
        {SPAN(LABEL_NAME), SPAN("x_bucket")},
        {SPAN("instance"), {instance_name, 0}},
        {SPAN("le"), {le, 0}},
        {SPAN("model"), {model_name, 0}},
    };
    struct labels l = {pairs, ARRAY_LEN(pairs)};
    double count = 0;
    pairs[1].value.n = (size_t)snprintf(instance_name, sizeof(instance_name), "i%d", instance);
    pairs[3].value.n = (size_t)snprintf(model_name, sizeof(model_name), "m%d", model);
    pairs[2].value.n = bucket + 1 == N_BUCKETS
                           ? (size_t)snprintf(le, sizeof(le), "+Inf")
                           : (size_t)snprintf(le, sizeof(le), "%d", 1 << bucket);
    for (int64_t t = -600000; t <= DAY_MS; t += APART_MS) {
        count += (double)(rng_below(rng, 3) + (uint64_t)bucket);
        if (rng_below(rng, 2000) == 0)
            count = 0;
        if (memory_append(m, l, t, count, NULL) < 0)
            exit(1);
    }
}

static struct memory *fill(void)
{
    struct memory *m;
    struct rng rng;
    rng_seed(&rng, 1);
    if (memory_new(&m) < 0)
        exit(1);
    for (int i = 0; i < N_MODELS * N_INSTANCES * N_BUCKETS; i++)
        fill_series(m, i % N_MODELS, i / N_MODELS % N_INSTANCES, i / N_MODELS / N_INSTANCES, &rng);
    return m;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void measure(struct memory *m, const char *query, int64_t step_ms)
{
    const struct promql_options o = {.end_ms = DAY_MS, .step_ms = step_ms};
    struct promql_error error;
    struct promql_expr *e;
    double ms[N_ROUNDS];
    size_t n_bytes = 0;
    if (promql_parse(span_cstr(query), &e, &error) < 0) {
        (void)fprintf(stderr, "%s: %s\n", query, error.text);
        exit(1);
    }
    for (int i = 0; i < N_ROUNDS; i++) {
        struct promql_result result;
        mono_t start = clock_mono();
        if (promql_query(e, memory_reader(m), &o, &result, &error) < 0) {
            (void)fprintf(stderr, "%s: %s\n", query, error.text);
            exit(1);
        }
        ms[i] = (double)mono_diff(clock_mono(), start) / 1e6;
        n_bytes = result._budget.n_peak;
        promql_result_done(&result);
    }
    (void)promql_free_expr(e);
    qsort(ms, N_ROUNDS, sizeof(ms[0]), compare);
    printf("step %3" PRId64 " s: %8.1f ms (min %.1f, max %.1f), %.1f MiB  %s\n", step_ms / 1000,
           ms[N_ROUNDS / 2], ms[0], ms[N_ROUNDS - 1], (double)n_bytes / 1048576, query);
}

int main(void)
{
    static const char *const queries[] = {
        "histogram_quantile(0.99, sum by (le, model) (rate(x_bucket[5m])))",
        "x_bucket",
        "sum by (model) (x_bucket)",
        "max_over_time(x_bucket[5m])",
        "topk(3, rate(x_bucket[5m]))",
        "sum(rate(x_bucket[5m])) / count(x_bucket)",
    };
    struct memory *m = fill();
    for (size_t i = 0; i < ARRAY_LEN(queries); i++) {
        measure(m, queries[i], 60000);
        measure(m, queries[i], 15000);
    }
    (void)memory_free(m);
    return 0;
}
