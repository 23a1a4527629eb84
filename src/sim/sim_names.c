/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sim/sim_names.c - one row per name and range of versions in which nothing about it changes.
 */
#include "sim/sim_names.h"

#include <limits.h>
#include <string.h>

#include "base/attr.h"
#include "base/num.h"

#define BOUNDS(name, is_cut, ...)                                                                  \
    static const double name##_v[] = {__VA_ARGS__};                                                \
    static const struct sim_bounds name = {name##_v, ARRAY_LEN(name##_v), is_cut}

#define TTFT_OLD                                                                                   \
    0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10
#define GAP_OLD  0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75, 1, 2.5
#define LONG_OLD 0.3, 0.5, 0.8, 1, 1.5, 2, 2.5, 5, 10, 15, 20, 30, 40, 50, 60

BOUNDS(ttft_old, false, TTFT_OLD);
BOUNDS(ttft_new, false, TTFT_OLD, 20, 40, 80, 160, 640, 2560);
BOUNDS(gap_old, false, GAP_OLD);
BOUNDS(gap_new, false, GAP_OLD, 5, 7.5, 10, 20, 40, 80);
BOUNDS(long_old, false, LONG_OLD);
BOUNDS(long_new, false, LONG_OLD, 120, 240, 480, 960, 1920, 7680);
BOUNDS(one_two_five, true, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1e3, 2e3, 5e3, 1e4, 2e4, 5e4, 1e5,
       2e5, 5e5, 1e6);
BOUNDS(choices, false, 1, 2, 5, 10, 20);
/* Sizes of batches that are captured as graphs; those of the default configuration. */
BOUNDS(iteration_old, false, 1, 2, 4, 8, 16, 24, 32, 40, 48, 56, 64, 72, 80, 88, 96, 104, 112, 120,
       128, 136, 144, 152, 160, 168, 176, 184, 192, 200, 208, 216, 224, 232, 240, 248, 256);
BOUNDS(iteration_first, false, 1, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8096);
BOUNDS(iteration_new, false, 1, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384);
BOUNDS(sglang_ttft, false, 0.1, 0.2, 0.4, 0.6, 0.8, 1, 2, 4, 6, 8, 10, 20, 40, 60, 80, 100, 200,
       400);
BOUNDS(sglang_gap, false, 0.002, 0.004, 0.006, 0.008, 0.01, 0.015, 0.02, 0.025, 0.03, 0.035, 0.04,
       0.06, 0.08, 0.1, 0.2, 0.4, 0.6, 0.8, 1, 2, 4, 6, 8);
BOUNDS(sglang_e2e, false, 0.1, 0.2, 0.4, 0.6, 0.8, 1, 2, 4, 6, 8, 10, 20, 40, 60, 80, 100, 200, 400,
       600, 1200, 1800, 2400);
BOUNDS(sglang_queue, false, 0, 0.1, 0.2, 0.5, 1, 2, 3, 4, 5, 10, 15, 20, 30, 40, 50, 60, 70, 80, 90,
       100, 200, 300, 400, 500, 600, 700, 800, 900, 1000, 1200, 1400, 1600, 1800, 2000, 2500, 3000);

static const char *const reasons[] = {"stop", "length", "abort", NULL};
static const char *const reasons_new[] = {"stop", "length", "abort", "error", NULL};
static const char *const sleep_states[] = {"awake", "weights_offloaded", "discard_all", NULL};
static const char *const modes[] = {"prefill_compute", "prefill_cache", "decode", NULL};

/* Versions: the first of V1, the last of V0, the newest. */
enum { FIRST = 604, V0_LAST = 799, V1_FIRST = 800, NOW = INT_MAX };

#define VLLM(since, until, name, type, scope, ...)                                                 \
    {                                                                                              \
        SIM_VLLM, since, until, "vllm:" name, SIM_##type, SIM_SCOPE_##scope, __VA_ARGS__           \
    }
#define VLLM_GAUGE(since, until, name, value, help)                                                \
    VLLM(since, until, name, GAUGE, MODEL, SIM_##value, NULL, NULL, NULL, help)
#define VLLM_COUNTER(since, until, name, value, help)                                              \
    VLLM(since, until, name, COUNTER, MODEL, SIM_##value, NULL, NULL, NULL, help)
#define VLLM_HIST(since, until, name, signal, bounds, help)                                        \
    VLLM(since, until, name, HISTOGRAM, MODEL, SIM_##signal, &(bounds), NULL, NULL, help)
#define SGLANG(name, type, scope, what, bounds, label, values, help)                               \
    {                                                                                              \
        SIM_SGLANG, 507, 507, "sglang:" name, SIM_##type, SIM_SCOPE_##scope, SIM_##what, bounds,   \
            label, values, help                                                                    \
    }
#define SGLANG_GAUGE(name, value, help) SGLANG(name, GAUGE, RANKS, value, NULL, NULL, NULL, help)
#define SGLANG_COUNTER(name, scope, value, help)                                                   \
    SGLANG(name, COUNTER, scope, value, NULL, NULL, NULL, help)

const struct sim_name sim_names[] = {
    VLLM(FIRST, NOW, "cache_config_info", GAUGE, CONFIG, SIM_ONE, NULL, NULL, NULL,
         "Configuration of the KV cache"),
    VLLM_GAUGE(FIRST, NOW, "num_requests_running", RUNNING, "Requests in the batch"),
    VLLM_GAUGE(FIRST, NOW, "num_requests_waiting", WAITING, "Requests in the queue"),
    VLLM_GAUGE(FIRST, V0_LAST, "num_requests_swapped", ZERO, "Requests swapped out"),
    VLLM(1101, NOW, "engine_sleep_state", GAUGE, MODEL, SIM_AWAKE, NULL, "sleep_state",
         sleep_states, "Whether the engine sleeps, and how"),
    VLLM_GAUGE(FIRST, 1002, "gpu_cache_usage_perc", KV_USAGE, "KV cache in use, 0 to 1"),
    VLLM_GAUGE(902, NOW, "kv_cache_usage_perc", KV_USAGE, "KV cache in use, 0 to 1"),
    VLLM_GAUGE(FIRST, V0_LAST, "cpu_cache_usage_perc", ZERO, "KV cache of the CPU, 0 to 1"),
    VLLM_GAUGE(FIRST, V0_LAST, "cpu_prefix_cache_hit_rate", OFF, "Prefix cache hits of the CPU"),
    VLLM_GAUGE(FIRST, V0_LAST, "gpu_prefix_cache_hit_rate", HIT_RATIO, "Prefix cache hits"),
    VLLM_COUNTER(V1_FIRST, 899, "gpu_prefix_cache_queries_total", QUERY_BLOCKS,
                 "Blocks looked for in the prefix cache"),
    VLLM_COUNTER(V1_FIRST, 899, "gpu_prefix_cache_hits_total", HIT_BLOCKS,
                 "Blocks found in the prefix cache"),
    VLLM_COUNTER(900, 1002, "gpu_prefix_cache_queries_total", QUERY_TOKENS,
                 "Tokens looked for in the prefix cache"),
    VLLM_COUNTER(900, 1002, "gpu_prefix_cache_hits_total", HIT_TOKENS,
                 "Tokens found in the prefix cache"),
    VLLM_COUNTER(902, NOW, "prefix_cache_queries_total", QUERY_TOKENS,
                 "Tokens looked for in the prefix cache"),
    VLLM_COUNTER(902, NOW, "prefix_cache_hits_total", HIT_TOKENS,
                 "Tokens found in the prefix cache"),
    VLLM_GAUGE(FIRST, 699, "avg_prompt_throughput_toks_per_s", PROMPT_RATE, "Prompt tokens/s"),
    VLLM_GAUGE(FIRST, 699, "avg_generation_throughput_toks_per_s", OUTPUT_RATE, "Output tokens/s"),
    VLLM_COUNTER(FIRST, NOW, "num_preemptions_total", PREEMPTIONS, "Preemptions"),
    VLLM_COUNTER(FIRST, NOW, "prompt_tokens_total", PROMPT_TOTAL, "Prompt tokens"),
    VLLM_COUNTER(FIRST, NOW, "generation_tokens_total", OUTPUT_TOTAL, "Output tokens"),
    VLLM_COUNTER(FIRST, V0_LAST, "tokens_total", BOTH_TOTAL, "Prompt and output tokens"),
    VLLM(FIRST, 1299, "request_success_total", COUNTER, MODEL, SIM_FINISHED_STOP, NULL,
         "finished_reason", reasons, "Requests that ended"),
    VLLM(1300, NOW, "request_success_total", COUNTER, MODEL, SIM_FINISHED_STOP, NULL,
         "finished_reason", reasons_new, "Requests that ended"),
    VLLM_HIST(FIRST, 604, "iteration_tokens_total", ITERATION_TOKENS, iteration_first,
              "Tokens of an iteration"),
    VLLM_HIST(605, 804, "iteration_tokens_total", ITERATION_TOKENS, iteration_old,
              "Tokens of an iteration"),
    VLLM_HIST(805, NOW, "iteration_tokens_total", ITERATION_TOKENS, iteration_new,
              "Tokens of an iteration"),
    VLLM_HIST(FIRST, 803, "time_to_first_token_seconds", TTFT, ttft_old, "Time to first token"),
    VLLM_HIST(804, NOW, "time_to_first_token_seconds", TTFT, ttft_new, "Time to first token"),
    VLLM_HIST(FIRST, 803, "time_per_output_token_seconds", ITL, gap_old, "Time between tokens"),
    VLLM_HIST(804, 1101, "time_per_output_token_seconds", ITL, gap_new, "Time between tokens"),
    VLLM_HIST(1002, NOW, "inter_token_latency_seconds", ITL, gap_new, "Time between tokens"),
    VLLM_HIST(1100, NOW, "request_time_per_output_token_seconds", TPOT, gap_new,
              "Mean time between the tokens of a request"),
    VLLM_HIST(FIRST, 803, "e2e_request_latency_seconds", E2E, long_old, "Time of a request"),
    VLLM_HIST(804, NOW, "e2e_request_latency_seconds", E2E, long_new, "Time of a request"),
    VLLM_HIST(FIRST, V0_LAST, "time_in_queue_requests", QUEUE, long_old, "Time in the queue"),
    VLLM_HIST(FIRST, 803, "request_queue_time_seconds", QUEUE, long_old, "Time in the queue"),
    VLLM_HIST(804, NOW, "request_queue_time_seconds", QUEUE, long_new, "Time in the queue"),
    VLLM_HIST(FIRST, 803, "request_inference_time_seconds", INFERENCE, long_old,
              "Time in the batch"),
    VLLM_HIST(804, NOW, "request_inference_time_seconds", INFERENCE, long_new, "Time in the batch"),
    VLLM_HIST(FIRST, 803, "request_prefill_time_seconds", PREFILL, long_old, "Time of the prompt"),
    VLLM_HIST(804, NOW, "request_prefill_time_seconds", PREFILL, long_new, "Time of the prompt"),
    VLLM_HIST(FIRST, 803, "request_decode_time_seconds", DECODE, long_old, "Time of the output"),
    VLLM_HIST(804, NOW, "request_decode_time_seconds", DECODE, long_new, "Time of the output"),
    VLLM_HIST(FIRST, NOW, "request_prompt_tokens", PROMPT_TOKENS, one_two_five, "Prompt tokens"),
    VLLM_HIST(FIRST, NOW, "request_generation_tokens", OUTPUT_TOKENS, one_two_five,
              "Output tokens"),
    VLLM_HIST(FIRST, NOW, "request_max_num_generation_tokens", MAX_TOKENS, one_two_five,
              "Most output tokens asked for"),
    VLLM_HIST(FIRST, NOW, "request_params_max_tokens", MAX_TOKENS, one_two_five,
              "Parameter max_tokens"),
    VLLM_HIST(FIRST, NOW, "request_params_n", CHOICES, choices, "Parameter n"),
    VLLM_HIST(1300, NOW, "request_prefill_kv_computed_tokens", COMPUTED_TOKENS, one_two_five,
              "Prompt tokens that were not cached"),

    SGLANG_GAUGE("num_running_reqs", RUNNING, "Requests in the batch"),
    SGLANG_GAUGE("num_queue_reqs", WAITING, "Requests in the queue"),
    SGLANG_GAUGE("num_grammar_queue_reqs", ZERO, "Requests that wait for a grammar"),
    SGLANG_GAUGE("num_used_tokens", KV_USED_TOKENS, "KV tokens in use"),
    SGLANG_GAUGE("max_total_num_tokens", KV_TOTAL_TOKENS, "KV tokens in all"),
    SGLANG_GAUGE("token_usage", KV_USAGE, "KV cache in use, 0 to 1"),
    SGLANG_GAUGE("swa_token_usage", ZERO, "KV cache of sliding windows in use"),
    SGLANG_GAUGE("gen_throughput", OUTPUT_RATE, "Output tokens/s"),
    SGLANG_GAUGE("cache_hit_rate", ZERO, "Prefix cache hits of the last prefill"),
    SGLANG_GAUGE("spec_accept_length", ZERO, "Accepted draft tokens"),
    SGLANG_GAUGE("utilization", ZERO, "Of the running requests allowed by an objective"),
    SGLANG("num_retracted_reqs", GAUGE, PID, LAST_PREEMPTIONS, NULL, NULL, NULL,
           "Retractions since the last report"),
    SGLANG_COUNTER("num_retracted_requests_total", RANKS, PREEMPTIONS, "Retractions"),
    SGLANG("realtime_tokens_total", COUNTER, RANKS, LIVE_COMPUTED, NULL, "mode", modes,
           "Tokens as they are processed"),
    SGLANG("queue_time_seconds", HISTOGRAM, RANKS, QUEUE, &sglang_queue, NULL, NULL,
           "Time in the queue"),
    SGLANG_COUNTER("prompt_tokens_total", MODEL, FINISHED_PROMPT, "Prompt tokens"),
    SGLANG_COUNTER("generation_tokens_total", MODEL, FINISHED_OUTPUT, "Output tokens"),
    SGLANG_COUNTER("cached_tokens_total", MODEL, FINISHED_CACHED, "Cached prompt tokens"),
    SGLANG_COUNTER("num_requests_total", MODEL, FINISHED_ALL, "Requests"),
    SGLANG_COUNTER("num_aborted_requests_total", MODEL, FINISHED_ABORT, "Requests given up"),
    SGLANG("time_to_first_token_seconds", HISTOGRAM, MODEL, TTFT, &sglang_ttft, NULL, NULL,
           "Time to first token"),
    SGLANG("inter_token_latency_seconds", HISTOGRAM, MODEL, ITL, &sglang_gap, NULL, NULL,
           "Time between tokens"),
    SGLANG("e2e_request_latency_seconds", HISTOGRAM, MODEL, E2E, &sglang_e2e, NULL, NULL,
           "Time of a request"),
};
const size_t sim_names_n = ARRAY_LEN(sim_names);

/* --- versions --- */

bool sim_version_is_v0(struct sim_version v)
{
    return v.kind == SIM_VLLM && v.number <= V0_LAST;
}

bool sim_version_is_v1(struct sim_version v)
{
    return v.kind == SIM_VLLM && v.number > V0_LAST;
}

bool sim_name_is_in(const struct sim_name *n, struct sim_version v)
{
    return n->kind == v.kind && n->since <= v.number && v.number <= n->until;
}

/* Of each minor version that we know. */
static const struct sim_version last_releases[] = {
    {SIM_VLLM, 606},  {SIM_VLLM, 703},  {SIM_VLLM, 805},  {SIM_VLLM, 902},   {SIM_VLLM, 1002},
    {SIM_VLLM, 1101}, {SIM_VLLM, 1200}, {SIM_VLLM, 1300}, {SIM_SGLANG, 507},
};

static const struct {
    const char *prefix;
    int first;
} kinds[] = {
    [SIM_VLLM] = {"vllm-", FIRST},
    [SIM_SGLANG] = {"sglang-", 507},
};

enum { NO_PATCH = 99 };

/* "0.10.2", "0.10": 1002, 1099; -1: neither. */
static int number_of(struct span text)
{
    uint64_t parts[3] = {0, 0, NO_PATCH};
    size_t n = 0;

    for (;;) {
        const char *dot = memchr(text.p, '.', text.n);
        struct span part = {text.p, dot ? (size_t)(dot - text.p) : text.n};

        if (n == ARRAY_LEN(parts) || num_parse_u64(part, &parts[n++]) < 0 || parts[n - 1] > 99)
            return -1;
        if (!dot)
            return n < 2 ? -1 : (int)(parts[0] * 10000 + parts[1] * 100 + parts[2]);
        text = (struct span){dot + 1, text.n - part.n - 1};
    }
}

static bool resolve(enum sim_kind kind, int number, struct sim_version *ret)
{
    for (size_t i = 0; i < ARRAY_LEN(last_releases); i++) {
        struct sim_version last = last_releases[i];

        if (last.kind != kind || last.number / 100 != number / 100)
            continue;
        if (number % 100 == NO_PATCH)
            number = last.number;
        if (number < kinds[kind].first || number > last.number)
            return false;
        *ret = (struct sim_version){kind, number};
        return true;
    }
    return false;
}

bool sim_version_of(const char *name, struct sim_version *ret)
{
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
        size_t n = strlen(kinds[i].prefix);

        if (strncmp(name, kinds[i].prefix, n) == 0)
            return resolve((enum sim_kind)i, number_of((struct span){name + n, strlen(name + n)}),
                           ret);
    }
    return false;
}
