/* SPDX-License-Identifier: Apache-2.0 */
/*
 * engine/map.c - all maps, and names that are written about and do not exist.
 *
 * Engines come before what stands in front of them.
 */
#include "engine/map.h"

#include <stdio.h>

#include "engine/map_private.h"

const struct engine_map *const engine_maps[] = {
    &map_vllm,   &map_sglang,   &map_trtllm,     &map_triton_trtllm, &map_lmdeploy,
    &map_tgi,    &map_llamacpp, &map_localai,    &map_dynamo,        &map_ray_serve,
    &map_triton, &map_dcgm,     &map_nvidia_gpu, &map_amd,           &map_kafka,
};
const size_t engine_maps_n = ARRAY_LEN(engine_maps);

const enum signal map_expected_of_engine[MAP_EXPECTED_OF_ENGINE] = {
    SIGNAL_RUNNING,       SIGNAL_WAITING,
    SIGNAL_KV_USAGE,      SIGNAL_PREEMPTIONS,
    SIGNAL_PROMPT_TOKENS, SIGNAL_GENERATION_TOKENS,
    SIGNAL_CACHED_TOKENS, SIGNAL_PREFIX_QUERIES,
    SIGNAL_PREFIX_HITS,   SIGNAL_TTFT,
    SIGNAL_ITL,           SIGNAL_TPOT,
    SIGNAL_E2E,           SIGNAL_QUEUE,
    SIGNAL_PREFILL,       SIGNAL_DECODE,
    SIGNAL_SUCCESS,
};

#define NEVER_THERE "no version ever had it"
#define PRE_RELEASE "only in the documentation of SGLang 0.3.6, in no released version"

const struct engine_wrong engine_wrongs[] = {
    {"vllm:gpu_cache_usage_ratio", "vllm:kv_cache_usage_perc", NEVER_THERE},
    {"vllm:kv_cache_usage_ratio", "vllm:kv_cache_usage_perc", NEVER_THERE},
    {"vllm:gpu_cache_usage", "vllm:kv_cache_usage_perc", NEVER_THERE},
    {"vllm:time_to_first_token_seconds_histogram", "vllm:time_to_first_token_seconds", NEVER_THERE},
    {"vllm:request_time_to_first_token_seconds", "vllm:time_to_first_token_seconds", NEVER_THERE},
    {"vllm:num_generation_tokens_total", "vllm:generation_tokens_total", NEVER_THERE},
    {"llamacpp:kv_cache_usage_ratio", NULL,
     "removed in b5441 (2025-05-21), and nothing took its place"},
    {"sglang:num_requests_running", "sglang:num_running_reqs", PRE_RELEASE},
    {"sglang:num_requests_waiting", "sglang:num_queue_reqs", PRE_RELEASE},
    {"sglang:queue_req", "sglang:num_queue_reqs", PRE_RELEASE},
    {"sglang:cached_token", "sglang:cached_tokens_total", PRE_RELEASE},
    {"sglang:waiting_request_latency_seconds", "sglang:queue_time_seconds", PRE_RELEASE},
    {"sglang:request_prompt_tokens", "sglang:prompt_tokens_histogram", PRE_RELEASE},
    {"sglang:request_generation_tokens", "sglang:generation_tokens_histogram", PRE_RELEASE},
};
const size_t engine_wrongs_n = ARRAY_LEN(engine_wrongs);

enum { PART_ANY = 0xffff };

void map_print_release(engine_version v, char *dst)
{
    unsigned a = (unsigned)(v >> 48), b = (unsigned)(v >> 32) & PART_ANY;
    unsigned c = (unsigned)(v >> 16) & PART_ANY, post = (unsigned)v & PART_ANY;

    if (b == PART_ANY)
        (void)snprintf(dst, ENGINE_VERSION_TEXT_MAX, "%u.x", a);
    else if (c == PART_ANY)
        (void)snprintf(dst, ENGINE_VERSION_TEXT_MAX, "%u.%u.x", a, b);
    else if (post == 0 || post == PART_ANY)
        (void)snprintf(dst, ENGINE_VERSION_TEXT_MAX, "%u.%u.%u", a, b, c);
    else
        (void)snprintf(dst, ENGINE_VERSION_TEXT_MAX, "%u.%u.%u.post%u", a, b, c, post);
}
