/* SPDX-License-Identifier: Apache-2.0 */
/*
 * engine/map_trtllm.c - trtllm-serve, and the TensorRT-LLM workers of Dynamo.
 *
 * 1.0 and 1.1 have five names without a prefix, to which Dynamo gave one. What came later is known
 * of one commit after 1.1, here called 1.2.
 */
#include "engine/map_private.h"

static const struct engine_name names[] = {
    {"trtllm_e2e_request_latency_seconds", NULL, V(1, 0, 0), ENGINE_NEWEST, 0},
    {"trtllm_generation_tokens_total", NULL, V(1, 2, 0), ENGINE_NEWEST, 0},
    {"trtllm_kv_cache_free_blocks", NULL, V(1, 2, 0), ENGINE_NEWEST, 0},
    {"trtllm_kv_cache_hit_rate", NULL, V(1, 2, 0), ENGINE_NEWEST, 0},
    {"trtllm_kv_cache_max_blocks", NULL, V(1, 2, 0), ENGINE_NEWEST, 0},
    {"trtllm_kv_cache_used_blocks", NULL, V(1, 2, 0), ENGINE_NEWEST, 0},
    {"trtllm_kv_cache_utilization", NULL, V(1, 2, 0), ENGINE_NEWEST, 0},
    {"trtllm_num_paused_requests", NULL, V(1, 2, 0), ENGINE_NEWEST, 0},
    {"trtllm_num_requests_running", NULL, V(1, 2, 0), ENGINE_NEWEST, 0},
    {"trtllm_num_requests_waiting", NULL, V(1, 2, 0), ENGINE_NEWEST, 0},
    {"trtllm_prompt_cached_tokens_total", NULL, V(1, 2, 0), ENGINE_NEWEST, 0},
    {"trtllm_prompt_tokens_total", NULL, V(1, 2, 0), ENGINE_NEWEST, 0},
    {"trtllm_request_decode_time_seconds", NULL, V(1, 2, 0), ENGINE_NEWEST, 0},
    {"trtllm_request_error_total", NULL, V(1, 2, 0), ENGINE_NEWEST, OPTIONAL},
    {"trtllm_request_inference_time_seconds", NULL, V(1, 2, 0), ENGINE_NEWEST, 0},
    {"trtllm_request_prefill_time_seconds", NULL, V(1, 2, 0), ENGINE_NEWEST, 0},
    {"trtllm_request_queue_time_seconds", NULL, V(1, 0, 0), ENGINE_NEWEST, 0},
    {"trtllm_request_success_total", NULL, V(1, 0, 0), ENGINE_NEWEST, 0},
    {"trtllm_time_per_output_token_seconds", NULL, V(1, 0, 0), ENGINE_NEWEST, 0},
    {"trtllm_time_to_first_token_seconds", NULL, V(1, 0, 0), ENGINE_NEWEST, 0},
};

static const struct engine_source sources[] = {
    {.signal = SIGNAL_RUNNING, .part = {M("trtllm_num_requests_running")}},
    {.signal = SIGNAL_WAITING, .part = {M("trtllm_num_requests_waiting")}},
    {.signal = SIGNAL_INFLIGHT,
     .how = ENGINE_ADD,
     .part = {M("trtllm_num_requests_running"), M("trtllm_num_requests_waiting")}},
    {.signal = SIGNAL_SWAPPED, .part = {M("trtllm_num_paused_requests")}},
    {.signal = SIGNAL_KV_USAGE, .part = {M("trtllm_kv_cache_utilization")}},
    {.signal = SIGNAL_KV_USAGE,
     .how = ENGINE_RATIO,
     .part = {M("trtllm_kv_cache_used_blocks"), M("trtllm_kv_cache_max_blocks")}},
    {.signal = SIGNAL_KV_USED_BLOCKS, .part = {M("trtllm_kv_cache_used_blocks")}},
    {.signal = SIGNAL_KV_TOTAL_BLOCKS, .part = {M("trtllm_kv_cache_max_blocks")}},
    {.signal = SIGNAL_PROMPT_TOKENS, .part = {M("trtllm_prompt_tokens_total")}},
    {.signal = SIGNAL_GENERATION_TOKENS, .part = {M("trtllm_generation_tokens_total")}},
    {.signal = SIGNAL_CACHED_TOKENS, .part = {M("trtllm_prompt_cached_tokens_total")}},
    {.signal = SIGNAL_PREFIX_HIT_RATIO, .part = {M("trtllm_kv_cache_hit_rate")}},
    {.signal = SIGNAL_TTFT, .part = {M("trtllm_time_to_first_token_seconds")}},
    {.signal = SIGNAL_TPOT, .part = {M("trtllm_time_per_output_token_seconds")}},
    {.signal = SIGNAL_E2E, .part = {M("trtllm_e2e_request_latency_seconds")}},
    {.signal = SIGNAL_QUEUE, .part = {M("trtllm_request_queue_time_seconds")}},
    {.signal = SIGNAL_PREFILL, .part = {M("trtllm_request_prefill_time_seconds")}},
    {.signal = SIGNAL_DECODE, .part = {M("trtllm_request_decode_time_seconds")}},
    {.signal = SIGNAL_INFERENCE, .part = {M("trtllm_request_inference_time_seconds")}},
    {.signal = SIGNAL_SUCCESS,
     .part = {M("trtllm_request_success_total")},
     .label_from = "finished_reason"},
    {.signal = SIGNAL_FAILURE,
     .part = {M("trtllm_request_error_total")},
     .label_from = "http_code"},
};

static const struct engine_prefix prefixes[] = {
    {.as = "trtllm_", .in_table = "trtllm_"},
    {.as = "trtllm:", .in_table = "trtllm_"},
    {.as = "",
     .in_table = "trtllm_",
     .n_min = 2,
     .flags = ENGINE_PREFIX_EXACT,
     .since = V(1, 0, 0),
     .until = P(1, 1, 65535, 65535)},
    {.as = NULL},
};

static const struct engine_never never[] = {
    {SIGNAL_PREEMPTIONS, "it has no such metric"},
    {SIGNAL_ITL, "it has no such metric"},
    {SIGNAL_PREFIX_QUERIES, "it has a rate only"},
    {SIGNAL_PREFIX_HITS, "it has a rate only"},
};

const struct engine_map map_trtllm = {
    .name = "trtllm",
    .title = "TensorRT-LLM",
    .rank = ENGINE_RANK_ENGINE,
    .prefixes = prefixes,
    .names = names,
    .n_names = ARRAY_LEN(names),
    .sources = sources,
    .n_sources = ARRAY_LEN(sources),
    .expected = map_expected_of_engine,
    .n_expected = MAP_EXPECTED_OF_ENGINE,
    .never = never,
    .n_never = ARRAY_LEN(never),
    .print_version = map_print_release,
    .when_absent = "return_perf_metrics is off, or this is its /metrics, which is JSON: the page "
                   "is /prometheus/metrics",
};
