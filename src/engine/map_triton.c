/* SPDX-License-Identifier: Apache-2.0 */
/*
 * engine/map_triton.c - NVIDIA Triton itself, whose versions are months: 23.11.
 *
 * Its vLLM backend shows vLLM's names, its TensorRT-LLM backend those of map_triton_trtllm.c.
 */
#include <stdio.h>

#include "engine/map_private.h"

void map_print_month(engine_version v, char *dst)
{
    (void)snprintf(dst, ENGINE_VERSION_TEXT_MAX, "%02u.%02u", (unsigned)(v >> 48),
                   (unsigned)((v >> 32) & 0xffff));
}

static const struct engine_name names[] = {
    {"nv_energy_consumption", NULL, 0, ENGINE_NEWEST, OPTIONAL},
    {"nv_gpu_memory_total_bytes", NULL, 0, ENGINE_NEWEST, OPTIONAL},
    {"nv_gpu_memory_used_bytes", NULL, 0, ENGINE_NEWEST, OPTIONAL},
    {"nv_gpu_power_limit", NULL, 0, ENGINE_NEWEST, OPTIONAL},
    {"nv_gpu_power_usage", NULL, 0, ENGINE_NEWEST, OPTIONAL},
    {"nv_gpu_utilization", NULL, 0, ENGINE_NEWEST, OPTIONAL},
    {"nv_inference_compute_infer_duration_us", NULL, 0, ENGINE_NEWEST, OPTIONAL},
    {"nv_inference_compute_infer_summary_us", NULL, V(23, 4, 0), ENGINE_NEWEST, OPTIONAL},
    {"nv_inference_compute_input_duration_us", NULL, 0, ENGINE_NEWEST, OPTIONAL},
    {"nv_inference_compute_input_summary_us", NULL, V(23, 4, 0), ENGINE_NEWEST, OPTIONAL},
    {"nv_inference_compute_output_duration_us", NULL, 0, ENGINE_NEWEST, OPTIONAL},
    {"nv_inference_compute_output_summary_us", NULL, V(23, 4, 0), ENGINE_NEWEST, OPTIONAL},
    {"nv_inference_count", NULL, 0, ENGINE_NEWEST, OPTIONAL},
    {"nv_inference_exec_count", NULL, 0, ENGINE_NEWEST, OPTIONAL},
    {"nv_inference_first_response_histogram_ms", NULL, V(24, 12, 0), ENGINE_NEWEST, OPTIONAL},
    {"nv_inference_pending_request_count", NULL, V(23, 11, 0), ENGINE_NEWEST, OPTIONAL},
    {"nv_inference_queue_duration_us", NULL, 0, ENGINE_NEWEST, OPTIONAL},
    {"nv_inference_queue_summary_us", NULL, V(23, 4, 0), ENGINE_NEWEST, OPTIONAL},
    {"nv_inference_request_duration_us", NULL, 0, ENGINE_NEWEST, OPTIONAL},
    {"nv_inference_request_failure", NULL, 0, ENGINE_NEWEST, OPTIONAL},
    {"nv_inference_request_failure", "reason", V(24, 3, 0), ENGINE_NEWEST, OPTIONAL},
    {"nv_inference_request_success", NULL, 0, ENGINE_NEWEST, OPTIONAL},
    {"nv_inference_request_summary_us", NULL, V(23, 4, 0), ENGINE_NEWEST, OPTIONAL},
};

static const struct engine_source sources[] = {
    {.signal = SIGNAL_WAITING,
     .part = {M("nv_inference_pending_request_count")},
     .note = "a backend of language models takes requests at once: what waits in it is not here"},
    {.signal = SIGNAL_TTFT, .part = {M("nv_inference_first_response_histogram_ms")}, .scale = 1e-3},
    {.signal = SIGNAL_E2E,
     .how = ENGINE_SUM_COUNT,
     .part = {M("nv_inference_request_duration_us"), M("nv_inference_request_success")},
     .scale = 1e-6,
     .note = "a sum; mean = its rate by that of nv_inference_request_success"},
    {.signal = SIGNAL_QUEUE,
     .how = ENGINE_SUM_COUNT,
     .part = {M("nv_inference_queue_duration_us"), M("nv_inference_request_success")},
     .scale = 1e-6,
     .note = "a sum; mean = its rate by that of nv_inference_request_success"},
    {.signal = SIGNAL_INFERENCE,
     .how = ENGINE_SUM_COUNT,
     .part = {M("nv_inference_compute_infer_duration_us"), M("nv_inference_request_success")},
     .scale = 1e-6,
     .note = "a sum; mean = its rate by that of nv_inference_request_success"},
    {.signal = SIGNAL_SUCCESS,
     .part = {M("nv_inference_request_success")},
     .note = "without a reason"},
    {.signal = SIGNAL_FAILURE, .part = {M("nv_inference_request_failure")}, .label_from = "reason"},
    {.signal = SIGNAL_GPU_UTIL, .part = {M("nv_gpu_utilization")}},
    {.signal = SIGNAL_GPU_MEM_USED, .part = {M("nv_gpu_memory_used_bytes")}},
    {.signal = SIGNAL_GPU_MEM_TOTAL, .part = {M("nv_gpu_memory_total_bytes")}},
    {.signal = SIGNAL_GPU_POWER, .part = {M("nv_gpu_power_usage")}},
    {.signal = SIGNAL_GPU_POWER_LIMIT, .part = {M("nv_gpu_power_limit")}},
    {.signal = SIGNAL_GPU_ENERGY, .part = {M("nv_energy_consumption")}},
};

static const struct engine_prefix prefixes[] = {
    {.as = "nv_", .in_table = "nv_", .n_min = 1},
    {.as = NULL},
};

static const enum signal expected[] = {
    SIGNAL_WAITING, SIGNAL_E2E, SIGNAL_QUEUE, SIGNAL_SUCCESS, SIGNAL_FAILURE,
};

const struct engine_map map_triton = {
    .name = "triton",
    .title = "Triton",
    .rank = ENGINE_RANK_WRAPPER,
    .prefixes = prefixes,
    .names = names,
    .n_names = ARRAY_LEN(names),
    .sources = sources,
    .n_sources = ARRAY_LEN(sources),
    .expected = expected,
    .n_expected = ARRAY_LEN(expected),
    .print_version = map_print_month,
};
