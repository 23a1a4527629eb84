/* SPDX-License-Identifier: Apache-2.0 */
/*
 * engine/map_vllm.c - vLLM, also behind Ray, which changes the front of its names.
 */
#include <stdio.h>

#include "engine/map_private.h"

static const struct engine_source sources[] = {
    {.signal = SIGNAL_RUNNING, .part = {M("vllm:num_requests_running")}},
    {.signal = SIGNAL_WAITING, .part = {M("vllm:num_requests_waiting")}},
    {.signal = SIGNAL_INFLIGHT,
     .how = ENGINE_ADD,
     .part = {M("vllm:num_requests_running"), M("vllm:num_requests_waiting")}},
    {.signal = SIGNAL_SWAPPED, .part = {M("vllm:num_requests_swapped")}},
    {.signal = SIGNAL_KV_USAGE,
     .part = {M("vllm:kv_cache_usage_perc")},
     .note = "0 to 1, although it is called perc"},
    {.signal = SIGNAL_KV_USAGE,
     .part = {M("vllm:gpu_cache_usage_perc")},
     .note = "0 to 1, although it is called perc"},
    {.signal = SIGNAL_KV_TOTAL_TOKENS,
     .how = ENGINE_FACTORS,
     .part = {M("vllm:cache_config_info")},
     .factors = {"num_gpu_blocks", "block_size"}},
    {.signal = SIGNAL_KV_TOTAL_BLOCKS,
     .how = ENGINE_FACTORS,
     .part = {M("vllm:cache_config_info")},
     .factors = {"num_gpu_blocks"}},
    {.signal = SIGNAL_PREEMPTIONS, .part = {M("vllm:num_preemptions_total")}},
    {.signal = SIGNAL_PROMPT_TOKENS,
     .part = {M("vllm:prompt_tokens_total")},
     .note = "counted when prefill ends; with tokens from the cache"},
    {.signal = SIGNAL_GENERATION_TOKENS, .part = {M("vllm:generation_tokens_total")}},
    {.signal = SIGNAL_CACHED_TOKENS, .part = {M("vllm:prompt_tokens_cached_total")}},
    {.signal = SIGNAL_CACHED_TOKENS,
     .part = {OF("vllm:prompt_tokens_by_source_total", "source!=\"local_compute\"")}},
    {.signal = SIGNAL_CACHED_TOKENS,
     .part = {M("vllm:prefix_cache_hits_total")},
     .flags = ENGINE_SOURCE_APPROXIMATE,
     .note = "hits of the prefix cache of this engine only"},
    {.signal = SIGNAL_PREFIX_QUERIES, .part = {M("vllm:prefix_cache_queries_total")}},
    {.signal = SIGNAL_PREFIX_QUERIES,
     .part = {M("vllm:gpu_prefix_cache_queries_total")},
     .note = "blocks up to 0.8.5, tokens from 0.9.0 on: use the ratio"},
    {.signal = SIGNAL_PREFIX_HITS, .part = {M("vllm:prefix_cache_hits_total")}},
    {.signal = SIGNAL_PREFIX_HITS,
     .part = {M("vllm:gpu_prefix_cache_hits_total")},
     .note = "blocks up to 0.8.5, tokens from 0.9.0 on: use the ratio"},
    {.signal = SIGNAL_PREFIX_HIT_RATIO,
     .part = {M("vllm:gpu_prefix_cache_hit_rate")},
     .flags = ENGINE_SOURCE_MINUS_ONE},
    {.signal = SIGNAL_TTFT, .part = {M("vllm:time_to_first_token_seconds")}},
    {.signal = SIGNAL_ITL,
     .part = {M("vllm:inter_token_latency_seconds")},
     .note = "one sample per output of the engine, which may be several tokens"},
    {.signal = SIGNAL_ITL,
     .part = {M("vllm:time_per_output_token_seconds")},
     .note = "the old name of inter_token_latency_seconds: one sample per output"},
    {.signal = SIGNAL_TPOT,
     .part = {M("vllm:request_time_per_output_token_seconds")},
     .note = "0 for requests of one token, which pulls the mean down"},
    {.signal = SIGNAL_E2E, .part = {M("vllm:e2e_request_latency_seconds")}},
    {.signal = SIGNAL_QUEUE,
     .part = {M("vllm:request_queue_time_seconds")},
     .note =
         "lowest bound 0.3 s: take means of shorter waits; waits after a preemption are not in it"},
    {.signal = SIGNAL_QUEUE,
     .part = {M("vllm:time_in_queue_requests")},
     .note = "lowest bound 0.3 s: take means of shorter waits"},
    {.signal = SIGNAL_PREFILL, .part = {M("vllm:request_prefill_time_seconds")}},
    {.signal = SIGNAL_DECODE,
     .part = {M("vllm:request_decode_time_seconds")},
     .note = "with the time in which it was preempted"},
    {.signal = SIGNAL_INFERENCE, .part = {M("vllm:request_inference_time_seconds")}},
    {.signal = SIGNAL_REQUEST_PROMPT_TOKENS, .part = {M("vllm:request_prompt_tokens")}},
    {.signal = SIGNAL_REQUEST_GENERATION_TOKENS, .part = {M("vllm:request_generation_tokens")}},
    {.signal = SIGNAL_ITERATION_TOKENS, .part = {M("vllm:iteration_tokens_total")}},
    {.signal = SIGNAL_SUCCESS,
     .part = {M("vllm:request_success_total")},
     .label_from = "finished_reason",
     .note = "aborted requests are in it, with reason \"abort\""},
    {.signal = SIGNAL_FAILURE,
     .part = {M("vllm:admission_rejections_total")},
     .label_from = "reason"},
    {.signal = SIGNAL_PROMPT_THROUGHPUT, .part = {M("vllm:avg_prompt_throughput_toks_per_s")}},
    {.signal = SIGNAL_GENERATION_THROUGHPUT,
     .part = {M("vllm:avg_generation_throughput_toks_per_s")}},
    {.signal = SIGNAL_SPEC_DRAFT_TOKENS, .part = {M("vllm:spec_decode_num_draft_tokens_total")}},
    {.signal = SIGNAL_SPEC_ACCEPTED_TOKENS,
     .part = {M("vllm:spec_decode_num_accepted_tokens_total")}},
    {.signal = SIGNAL_SPEC_DRAFTS, .part = {M("vllm:spec_decode_num_drafts_total")}},
    {.signal = SIGNAL_SLEEP_STATE,
     .part = {M("vllm:engine_sleep_state")},
     .label_from = "sleep_state"},
};

static const struct engine_prefix prefixes[] = {
    {.as = "vllm:", .in_table = "vllm:"},
    {.as = "ray_vllm:",
     .in_table = "vllm:",
     .flags = ENGINE_PREFIX_NO_TOTAL,
     .since = 0,
     .until = P(0, 10, 65535, 65535)},
    {.as = "ray_vllm_",
     .in_table = "vllm:",
     .flags = ENGINE_PREFIX_NO_TOTAL,
     .since = V(0, 11, 0),
     .until = ENGINE_NEWEST},
    {.as = NULL},
};

/* One release has a name of its own kind. */
static void print_version(engine_version v, char *dst)
{
    if (v == P(0, 9, 0, 1))
        (void)snprintf(dst, ENGINE_VERSION_TEXT_MAX, "0.9.0.1");
    else
        map_print_release(v, dst);
}

static const engine_version posts[] = {
    P(0, 6, 3, 1), P(0, 6, 4, 1), P(0, 6, 6, 1), P(0, 8, 5, 1), P(0, 9, 0, 1), 0,
};

const struct engine_map map_vllm = {
    .name = "vllm",
    .title = "vLLM",
    .rank = ENGINE_RANK_ENGINE,
    .prefixes = prefixes,
    .names = map_vllm_names,
    .n_names = MAP_VLLM_NAMES,
    .sources = sources,
    .n_sources = ARRAY_LEN(sources),
    .expected = map_expected_of_engine,
    .n_expected = MAP_EXPECTED_OF_ENGINE,
    .posts = posts,
    .print_version = print_version,
    .when_absent = "the server runs with --disable-log-stats, or it is a 0.5.4 with its frontend "
                   "in a process of its own",
};
