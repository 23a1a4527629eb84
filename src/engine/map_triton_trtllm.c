/* SPDX-License-Identifier: Apache-2.0 */
/*
 * engine/map_triton_trtllm.c - the TensorRT-LLM backend of Triton: one family, and the meaning in a
 * label.
 *
 * Trap: when a statistic is missing, the backend moves the later values to the wrong labels. used /
 * max and fraction, which should be the same, tell.
 */
#include "engine/map_private.h"

static const struct engine_name names[] = {
    {"nv_llm_input_token_len", NULL, V(24, 12, 0), ENGINE_NEWEST, OPTIONAL},
    {"nv_llm_output_token_len", NULL, V(24, 12, 0), ENGINE_NEWEST, OPTIONAL},
    {"nv_trt_llm_disaggregated_serving_metrics", NULL, V(23, 11, 0), ENGINE_NEWEST, OPTIONAL},
    {"nv_trt_llm_general_metrics", NULL, V(23, 11, 0), ENGINE_NEWEST, OPTIONAL},
    {"nv_trt_llm_inflight_batcher_metrics", NULL, V(23, 11, 0), ENGINE_NEWEST, OPTIONAL},
    {"nv_trt_llm_kv_cache_block_metrics", NULL, V(23, 11, 0), ENGINE_NEWEST, OPTIONAL},
    {"nv_trt_llm_request_metrics", NULL, V(23, 11, 0), ENGINE_NEWEST, OPTIONAL},
    {"nv_trt_llm_runtime_memory_metrics", NULL, V(23, 11, 0), ENGINE_NEWEST, OPTIONAL},
    {"nv_trt_llm_v1_metrics", NULL, V(23, 11, 0), ENGINE_NEWEST, OPTIONAL},
};

static const struct engine_source sources[] = {
    {.signal = SIGNAL_RUNNING,
     .part = {OF("nv_trt_llm_request_metrics", "request_type=\"scheduled\"")}},
    {.signal = SIGNAL_WAITING,
     .part = {OF("nv_trt_llm_request_metrics", "request_type=\"waiting\"")}},
    {.signal = SIGNAL_WAITING,
     .how = ENGINE_LESS,
     .part = {OF("nv_trt_llm_request_metrics", "request_type=\"active\""),
              OF("nv_trt_llm_request_metrics", "request_type=\"scheduled\"")}},
    {.signal = SIGNAL_INFLIGHT,
     .how = ENGINE_ADD,
     .part = {OF("nv_trt_llm_request_metrics", "request_type=\"scheduled\""),
              OF("nv_trt_llm_request_metrics", "request_type=\"waiting\"")}},
    {.signal = SIGNAL_INFLIGHT,
     .part = {OF("nv_trt_llm_request_metrics", "request_type=\"active\"")}},
    {.signal = SIGNAL_SWAPPED,
     .part = {OF("nv_trt_llm_inflight_batcher_metrics",
                 "inflight_batcher_specific_metric=\"paused_requests\"")},
     .note = "requests paused for lack of KV memory"},
    {.signal = SIGNAL_KV_USAGE,
     .how = ENGINE_RATIO,
     .part = {OF("nv_trt_llm_kv_cache_block_metrics", "kv_cache_block_type=\"used\""),
              OF("nv_trt_llm_kv_cache_block_metrics", "kv_cache_block_type=\"max\""),
              OF("nv_trt_llm_kv_cache_block_metrics", "kv_cache_block_type=\"fraction\"")}},
    {.signal = SIGNAL_KV_USAGE,
     .part = {OF("nv_trt_llm_kv_cache_block_metrics", "kv_cache_block_type=\"fraction\"")}},
    {.signal = SIGNAL_KV_USED_BLOCKS,
     .part = {OF("nv_trt_llm_kv_cache_block_metrics", "kv_cache_block_type=\"used\"")}},
    {.signal = SIGNAL_KV_TOTAL_BLOCKS,
     .part = {OF("nv_trt_llm_kv_cache_block_metrics", "kv_cache_block_type=\"max\"")}},
    {.signal = SIGNAL_PREFIX_HITS,
     .part = {OF("nv_trt_llm_kv_cache_block_metrics", "kv_cache_block_type=\"reused\"")},
     .flags = ENGINE_SOURCE_APPROXIMATE,
     .note = "blocks; of type gauge"},
    {.signal = SIGNAL_REQUEST_PROMPT_TOKENS, .part = {M("nv_llm_input_token_len")}},
    {.signal = SIGNAL_REQUEST_GENERATION_TOKENS, .part = {M("nv_llm_output_token_len")}},
};

static const struct engine_prefix prefixes[] = {
    {.as = "nv_", .in_table = "nv_", .n_min = 1},
    {.as = NULL},
};

static const struct engine_never never[] = {
    {SIGNAL_PREEMPTIONS, "the backend has no such metric"},
    {SIGNAL_PROMPT_TOKENS, "the backend has no such metric"},
    {SIGNAL_GENERATION_TOKENS, "the backend has no such metric"},
    {SIGNAL_CACHED_TOKENS, "the backend has no such metric"},
    {SIGNAL_PREFIX_QUERIES, "the backend has no such metric"},
    {SIGNAL_TTFT, "the backend has no such metric"},
    {SIGNAL_ITL, "the backend has no such metric"},
    {SIGNAL_TPOT, "the backend has no such metric"},
    {SIGNAL_E2E, "the backend has no such metric"},
    {SIGNAL_QUEUE, "the backend has no such metric"},
    {SIGNAL_PREFILL, "the backend has no such metric"},
    {SIGNAL_DECODE, "the backend has no such metric"},
    {SIGNAL_SUCCESS, "the backend has no such metric"},
    {SIGNAL_FAILURE, "the backend has no such metric"},
};

const struct engine_map map_triton_trtllm = {
    .name = "triton-tensorrtllm",
    .title = "Triton TensorRT-LLM backend",
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
    .print_version = map_print_month,
};
