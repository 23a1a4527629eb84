/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench/micro_slo.c - what three SLOs cost a finished request: matching, judging, counting. Prints
 * nanoseconds per request, the median of the rounds; under valgrind --tool=callgrind, instructions.
 *
 *   build/release/bench_micro_slo [REQUESTS]
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/num.h"
#include "metrics/metrics.h"

enum { N_SLOS = 3, N_ROUNDS = 15 };

static struct slo slos[N_SLOS];
static uint32_t ids[N_SLOS];
static unsigned judged[N_SLOS];

static struct record finished(void)
{
    struct record r;

    record_init(&r);
    r.dialect = "openai-chat";
    r.endpoint = "chat_completions";
    r.is_stream = true;
    r.outcome = OUTCOME_OK;
    r.status = r.upstream_status = 200;
    r.t_request = (mono_t){NS_PER_S};
    r.t_first_token = (mono_t){2 * NS_PER_S};
    r.t_delivered = (mono_t){9 * NS_PER_S};
    r.ttft_ns = NS_PER_S;
    r.queue_ns = NS_PER_MS;
    r.engine_ns[ENGINE_QUEUE] = NS_PER_MS;
    r.timing.tpot_status = TPOT_OK;
    r.timing.tpot_ns = 20 * NS_PER_MS;
    return r;
}

static void judge(struct metrics_series_set *set, const struct record *r)
{
    enum slo_verdict verdicts[SLO_OBJECTIVE_COUNT_];

    for (int i = 0; i < N_SLOS; i++) {
        if (!slo_is_for(&slos[i], r, "qwen2.5-72b"))
            continue;
        slo_judge(&slos[i], r, verdicts);
        metrics_record_slo(set, ids[i], judged[i], verdicts);
    }
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

int main(int argc, char **argv)
{
    static const char *const models[] = {"llama-3.1-8b", "qwen*"};
    uint64_t n = 1000000;
    struct metrics_request request = {
        .model = "qwen2.5-72b", .endpoint = "chat", .upstream = "u", .is_model_proven = true};
    struct record r = finished();
    struct metrics *m;
    struct metrics_shard *shard;
    double ns[N_ROUNDS];

    if (argc > 1 && (num_parse_u64(span_cstr(argv[1]), &n) < 0 || n == 0))
        return 2;
    if (metrics_new(NULL, &m) < 0 || metrics_shard_new(m, &shard) < 0)
        return 1;
    for (int i = 0; i < N_SLOS; i++) {
        slos[i] = (struct slo){.name = slo_presets[i].name,
                               .matches = {{SLO_LABEL_MODEL, "model", models, 2}},
                               .n_matches = 1};
        memcpy(slos[i].targets, slo_presets[i].targets, sizeof(slos[i].targets));
        ids[i] = metrics_slo_id(m, slos[i].name);
        judged[i] = slo_judged(&slos[i]);
    }
    struct metrics_series_set *set = metrics_shard_resolve(shard, &request);
    for (int round = 0; round < N_ROUNDS; round++) {
        mono_t start = clock_mono();

        for (uint64_t i = 0; i < n; i++)
            judge(set, &r);
        ns[round] = (double)mono_diff(clock_mono(), start) / (double)n;
    }
    qsort(ns, N_ROUNDS, sizeof(ns[0]), compare);
    printf("3 SLOs, a request that is in all    %6.2f ns (min %.2f, max %.2f)\n", ns[N_ROUNDS / 2],
           ns[0], ns[N_ROUNDS - 1]);
    metrics_free(m);
    return 0;
}
