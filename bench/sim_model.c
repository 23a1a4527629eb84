/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The simulated engine without its server, beside the outputs of another simulator of the same
 * scheduler with the same coefficients (Llama-2-70B on eight H100, conversations of the Azure
 * trace), and how many times faster than real time it runs.
 *
 *   sim_model [REQUESTS [SEED]]
 *
 * Ends with 1 when at the default budget a p50 is off by more than 10 % or a p99 by more than 25 %.
 * With 512 tokens the engine is near saturation: what one run says of its p99 depends on the seed.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "sim/workload.h"

enum { WARM_UP_REQUESTS = 500 };

enum figure { TTFT_P50, TTFT_P99, TPOT_P50, TPOT_P99, ITL_P99, ATTAINED, FIGURE_COUNT_ };

static const struct {
    const char *name;
    double limit; /* relative */
} figures[FIGURE_COUNT_] = {
    [TTFT_P50] = {"TTFT p50 ms", 0.10}, [TTFT_P99] = {"TTFT p99 ms", 0.25},
    [TPOT_P50] = {"TPOT p50 ms", 0.10}, [TPOT_P99] = {"TPOT p99 ms", 0.25},
    [ITL_P99] = {"ITL p99 ms", 0.25},   [ATTAINED] = {"attained %", 0.10},
};

static const struct {
    double rate;
    int64_t token_budget;
    bool is_goal;                 /* the others are shown */
    double expect[FIGURE_COUNT_]; /* 0: the reference says nothing */
} rows[] = {
    {1, 2048, true, {[TTFT_P50] = 127, [TTFT_P99] = 775, [TPOT_P50] = 36, [TPOT_P99] = 53}},
    {3,
     2048,
     true,
     {[TTFT_P50] = 212,
      [TTFT_P99] = 1148,
      [TPOT_P50] = 70,
      [TPOT_P99] = 113,
      [ITL_P99] = 206,
      [ATTAINED] = 100}},
    {3, 512, false, {[TTFT_P99] = 4184, [ITL_P99] = 93, [ATTAINED] = 85.6}},
    {3, 8192, false, {[ITL_P99] = 369}},
};

static double cpu_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static void must(int r)
{
    if (r >= 0)
        return;
    fprintf(stderr, "sim_model: out of memory\n");
    exit(2);
}

static void start(struct workload_run *w, double rate, int64_t token_budget, uint64_t seed)
{
    struct batching_config engine;
    struct workload_config load;

    batching_config_init(&engine);
    engine.token_budget = token_budget;
    if (!workload_config_of("azure-conv", &load))
        abort();
    load.rate = rate;
    must(workload_run_init(w, &engine, &load, seed));
}

static double ms(double ns)
{
    return ns / (double)NS_PER_MS;
}

static void read_figures(const struct workload_stats *s, double *ret)
{
    ret[TTFT_P50] = ms(workload_dist_quantile_ns(&s->ttft, 0.5));
    ret[TTFT_P99] = ms(workload_dist_quantile_ns(&s->ttft, 0.99));
    ret[TPOT_P50] = ms(workload_dist_quantile_ns(&s->tpot, 0.5));
    ret[TPOT_P99] = ms(workload_dist_quantile_ns(&s->tpot, 0.99));
    ret[ITL_P99] = ms(workload_dist_quantile_ns(&s->itl, 0.99));
    ret[ATTAINED] = 100.0 * (double)s->n_attained / (double)s->n_finished;
}

/* Returns how many figures are out of their limits. */
static int compare(const double *got, const double *expect)
{
    int n_off = 0;

    for (int i = 0; i < FIGURE_COUNT_; i++) {
        double off = got[i] / expect[i] - 1;
        bool is_off = fabs(off) > figures[i].limit;

        if (expect[i] > 0)
            printf("    %-12s %8.1f  reference %7.1f  %+5.1f %% (limit %.0f %%)%s\n",
                   figures[i].name, got[i], expect[i], 100 * off, 100 * figures[i].limit,
                   is_off ? "  OFF" : "");
        else
            printf("    %-12s %8.1f\n", figures[i].name, got[i]);
        n_off += expect[i] > 0 && is_off;
    }
    return n_off;
}

static int run_row(size_t i, int64_t n_requests, uint64_t seed)
{
    struct workload_run w;
    double got[FIGURE_COUNT_], spent_s;
    mono_t t_begin;
    int n_off;

    start(&w, rows[i].rate, rows[i].token_budget, seed);
    must(workload_run(&w, (mono_t){INT64_MAX}, WARM_UP_REQUESTS));
    workload_run_forget(&w);
    t_begin = w.now;
    spent_s = cpu_s();
    must(workload_run(&w, (mono_t){INT64_MAX}, n_requests));
    spent_s = cpu_s() - spent_s;
    read_figures(w.stats, got);
    printf("%g requests/s, budget %lld tokens: %lld requests, %.0f times real time\n", rows[i].rate,
           (long long)rows[i].token_budget, (long long)w.stats->n_finished,
           (double)mono_diff(w.now, t_begin) / (double)NS_PER_S / spent_s);
    n_off = compare(got, rows[i].expect);
    workload_run_done(&w);
    return rows[i].is_goal ? n_off : 0;
}

/* More than the engine can do: the queue grows as long as one looks. */
static void run_overload(int64_t n_requests, uint64_t seed)
{
    struct workload_run w;
    struct batching_counts c;

    start(&w, 5, 2048, seed);
    printf("5 requests/s, budget 2048 tokens: the reference's queue diverges at TPOT 270 ms\n");
    for (int i = 1; i <= 4; i++) {
        workload_run_forget(&w);
        must(workload_run(&w, (mono_t){INT64_MAX}, n_requests / 4));
        c = batching_counts(w.batching);
        printf("    after %6.0f s: %3lld run, %6lld wait, TTFT p50 %.1f s, TPOT p50 %.0f ms\n",
               (double)w.now.ns / (double)NS_PER_S, (long long)c.n_running, (long long)c.n_waiting,
               ms(workload_dist_quantile_ns(&w.stats->ttft, 0.5)) / 1e3,
               ms(workload_dist_quantile_ns(&w.stats->tpot, 0.5)));
    }
    workload_run_done(&w);
}

int main(int argc, char **argv)
{
    int64_t n_requests = argc > 1 ? atoll(argv[1]) : 100000;
    uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
    int n_off = 0;

    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        n_off += run_row(i, n_requests, seed);
    run_overload(n_requests, seed);
    return n_off > 0;
}
