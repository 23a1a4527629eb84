/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Real pages beside the project, each against what the reference says about it: engines, versions,
 * and every signal with the family that it comes from and its value (of histograms the count).
 * Skipped when they are not there.
 */
#include "enginepage.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/attr.h"
#include "corpus.h"

enum { ROWS_MAX = 24, ENGINES_MAX = 2 };

struct expected {
    const char *file;
    struct {
        const char *name, *edition, *since, *until;
        bool is_mixed;
    } engines[ENGINES_MAX];
    struct {
        enum signal signal;
        const char *from; /* first family */
        double v;         /* of all its samples together */
    } rows[ROWS_MAX];
};

#define MIB 1048576.0

static const struct expected dumps[] = {
    {"amd-device-metrics-exporter-1.x-1.prom",
     {{"amd-device-metrics-exporter", NULL, "1.0.0", "1.2.0", false}},
     {
         {SIGNAL_GPU_UTIL, "gpu_usage", 0},
         {SIGNAL_GPU_MEM_TOTAL, "gpu_total_memory", 68702e6},
         {SIGNAL_GPU_POWER, "gpu_average_package_power", 41},
     }},
    {"dcgm-exporter-3.x-1.prom",
     {{"dcgm-exporter", NULL, "3.3.0", "4.8.x", false}},
     {
         {SIGNAL_GPU_UTIL, "DCGM_FI_DEV_GPU_UTIL", 0},
         {SIGNAL_GPU_ENGINE_ACTIVE, "DCGM_FI_PROF_GR_ENGINE_ACTIVE", 0},
         {SIGNAL_GPU_SM_ACTIVE, "DCGM_FI_PROF_SM_ACTIVE", 0},
         {SIGNAL_GPU_TENSOR_ACTIVE, "DCGM_FI_PROF_PIPE_TENSOR_ACTIVE", 0},
         {SIGNAL_GPU_DRAM_ACTIVE, "DCGM_FI_PROF_DRAM_ACTIVE", 0},
         {SIGNAL_GPU_MEM_USED, "DCGM_FI_DEV_FB_USED", 0},
         {SIGNAL_GPU_MEM_FREE, "DCGM_FI_DEV_FB_FREE", 15109 * MIB},
         {SIGNAL_GPU_MEM_RESERVED, "DCGM_FI_DEV_FB_RESERVED", 15109 * MIB},
         {SIGNAL_GPU_MEM_TOTAL, "DCGM_FI_DEV_FB_TOTAL", 15109 * MIB},
         {SIGNAL_GPU_POWER, "DCGM_FI_DEV_POWER_USAGE", 8.969},
         {SIGNAL_GPU_POWER_LIMIT, "DCGM_FI_DEV_POWER_MGMT_LIMIT", 70},
         {SIGNAL_GPU_ENERGY, "DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION", 128996.013},
         {SIGNAL_GPU_TEMP, "DCGM_FI_DEV_GPU_TEMP", 25},
         {SIGNAL_GPU_MEM_TEMP, "DCGM_FI_DEV_MEMORY_TEMP", 0},
         {SIGNAL_GPU_SM_CLOCK, "DCGM_FI_DEV_SM_CLOCK", 300e6},
         {SIGNAL_GPU_MEM_CLOCK, "DCGM_FI_DEV_MEM_CLOCK", 405e6},
         {SIGNAL_GPU_THROTTLE_REASONS, "DCGM_FI_DEV_CLOCK_THROTTLE_REASONS", 1},
         {SIGNAL_GPU_XID_LAST, "DCGM_FI_DEV_XID_ERRORS", 0},
     }},
    {"dynamo-frontend-0.8-1.prom",
     {{"dynamo", NULL, "0.8.0", "", false}},
     {
         {SIGNAL_WAITING, "dynamo_frontend_queued_requests", 0},
         {SIGNAL_INFLIGHT, "dynamo_frontend_inflight_requests", 0},
         {SIGNAL_GENERATION_TOKENS, "dynamo_frontend_output_tokens_total", 300},
         {SIGNAL_TTFT, "dynamo_frontend_time_to_first_token_seconds", 1},
         {SIGNAL_ITL, "dynamo_frontend_inter_token_latency_seconds", 299},
         {SIGNAL_E2E, "dynamo_frontend_request_duration_seconds", 1},
         {SIGNAL_REQUEST_PROMPT_TOKENS, "dynamo_frontend_input_sequence_tokens", 1},
         {SIGNAL_REQUEST_GENERATION_TOKENS, "dynamo_frontend_output_sequence_tokens", 1},
         {SIGNAL_SUCCESS, "dynamo_frontend_requests_total", 1},
     }},
    {"kafka_exporter-1.9-1.prom",
     {{"kafka_exporter", NULL, "1.0.0", "", false}},
     {{SIGNAL_CONSUMER_LAG, "kafka_consumergroup_lag", 1}}},
    {"nvidia_gpu_exporter-h200-driver590-1.prom",
     {{"nvidia_gpu_exporter", NULL, "1.0.0", "", false}},
     {
         {SIGNAL_GPU_UTIL, "nvidia_smi_utilization_gpu_ratio", 1},
         {SIGNAL_GPU_MEM_USED, "nvidia_smi_memory_used_bytes", 33934016512},
         {SIGNAL_GPU_MEM_FREE, "nvidia_smi_memory_free_bytes", 116178026496},
         {SIGNAL_GPU_MEM_RESERVED, "nvidia_smi_memory_reserved_bytes", 643825664},
         {SIGNAL_GPU_MEM_TOTAL, "nvidia_smi_memory_total_bytes", 150754820096},
         {SIGNAL_GPU_POWER, "nvidia_smi_power_draw_watts", 627.4},
         {SIGNAL_GPU_POWER_LIMIT, "nvidia_smi_enforced_power_limit_watts", 700},
         {SIGNAL_GPU_TEMP, "nvidia_smi_temperature_gpu", 52},
         {SIGNAL_GPU_MEM_TEMP, "nvidia_smi_temperature_memory", 40},
         {SIGNAL_GPU_SM_CLOCK, "nvidia_smi_clocks_current_sm_clock_hz", 1.98e9},
         {SIGNAL_GPU_MEM_CLOCK, "nvidia_smi_clocks_current_memory_clock_hz", 3.201e9},
         {SIGNAL_GPU_THROTTLE_REASONS, "nvidia_smi_clocks_event_reasons_active", 0},
         {SIGNAL_GPU_THROTTLE_SECONDS,
          "nvidia_smi_clocks_event_reasons_counters_sw_power_cap_seconds", 0},
         {SIGNAL_GPU_THROTTLE_SECONDS,
          "nvidia_smi_clocks_event_reasons_counters_sw_thermal_slowdown_seconds", 0},
         {SIGNAL_GPU_THROTTLE_SECONDS,
          "nvidia_smi_clocks_event_reasons_counters_hw_thermal_slowdown_seconds", 0},
         {SIGNAL_GPU_THROTTLE_SECONDS,
          "nvidia_smi_clocks_event_reasons_counters_hw_power_brake_slowdown_seconds", 0},
         {SIGNAL_GPU_THROTTLE_SECONDS,
          "nvidia_smi_clocks_event_reasons_counters_sync_boost_seconds", 0},
     }},
    /* Of a pre-release that no tag has: its cache_hit_rate is no signal. */
    {"sglang-0.3.5-pre-1.prom",
     {{"sglang", NULL, "0.3.5", "0.3.5", false}},
     {
         {SIGNAL_RUNNING, "sglang:num_requests_running", 0},
         {SIGNAL_WAITING, "sglang:num_requests_waiting", 0},
         {SIGNAL_INFLIGHT, "sglang:num_requests_running", 0},
         {SIGNAL_KV_USAGE, "sglang:token_usage", 0.01},
         {SIGNAL_KV_TOTAL_TOKENS, "sglang:max_total_num_tokens", 161721},
         {SIGNAL_PROMPT_TOKENS, "sglang:prompt_tokens_total", 506780},
         {SIGNAL_GENERATION_TOKENS, "sglang:generation_tokens_total", 424549},
         {SIGNAL_TTFT, "sglang:time_to_first_token_seconds", 2124},
         {SIGNAL_TPOT, "sglang:time_per_output_token_seconds", 422425},
         {SIGNAL_E2E, "sglang:e2e_request_latency_seconds", 2104},
         {SIGNAL_QUEUE, "sglang:waiting_request_latency_seconds", 2104},
         {SIGNAL_REQUEST_PROMPT_TOKENS, "sglang:request_prompt_tokens", 2104},
         {SIGNAL_REQUEST_GENERATION_TOKENS, "sglang:request_generation_tokens", 2104},
         {SIGNAL_GENERATION_THROUGHPUT, "sglang:gen_throughput", 0},
     }},
    /* From the documentation, to which two families of 0.5.13 were added later. */
    {"sglang-0.4.0-1.prom",
     {{"sglang", NULL, "0.3.5.post1", "0.4.1.post5", true}},
     {
         {SIGNAL_RUNNING, "sglang:num_running_reqs", 162},
         {SIGNAL_WAITING, "sglang:num_queue_reqs", 2826},
         {SIGNAL_INFLIGHT, "sglang:num_running_reqs", 2988},
         {SIGNAL_KV_USAGE, "sglang:token_usage", 0.28},
         {SIGNAL_KV_USED_TOKENS, "sglang:num_used_tokens", 123859},
         {SIGNAL_PROMPT_TOKENS, "sglang:prompt_tokens_total", 8128902},
         {SIGNAL_GENERATION_TOKENS, "sglang:generation_tokens_total", 7557572},
         {SIGNAL_TTFT, "sglang:time_to_first_token_seconds", 11008},
         {SIGNAL_TPOT, "sglang:time_per_output_token_seconds", 7400757},
         {SIGNAL_E2E, "sglang:e2e_request_latency_seconds", 11228},
         {SIGNAL_GENERATION_THROUGHPUT, "sglang:gen_throughput", 86.50814177726902},
     }},
    {"tgi-3.x-1.prom",
     {{"tgi", NULL, "2.3.0", "", false}},
     {
         {SIGNAL_RUNNING, "tgi_batch_current_size", 0},
         {SIGNAL_WAITING, "tgi_queue_size", 0},
         {SIGNAL_INFLIGHT, "tgi_batch_current_size", 0},
         {SIGNAL_KV_USED_TOKENS, "tgi_batch_current_max_tokens", 0},
         {SIGNAL_PROMPT_TOKENS, "tgi_request_input_length", 662},
         {SIGNAL_INFERENCE, "tgi_request_inference_duration", 109},
         {SIGNAL_REQUEST_PROMPT_TOKENS, "tgi_request_input_length", 109},
         {SIGNAL_SUCCESS, "tgi_request_success", 109},
         {SIGNAL_FAILURE, "tgi_request_failure", 2},
         {SIGNAL_ARRIVED, "tgi_request_count", 111},
     }},
    {"triton-trtllm-23.11-1.prom",
     {{"triton-tensorrtllm", NULL, "23.11", "", false}},
     {
         {SIGNAL_RUNNING, "nv_trt_llm_request_metrics", 1},
         {SIGNAL_WAITING, "nv_trt_llm_request_metrics", 1},
         {SIGNAL_INFLIGHT, "nv_trt_llm_request_metrics", 2},
         {SIGNAL_KV_USAGE, "nv_trt_llm_kv_cache_block_metrics", 1.0 / 6239},
         {SIGNAL_KV_USED_BLOCKS, "nv_trt_llm_kv_cache_block_metrics", 1},
         {SIGNAL_KV_TOTAL_BLOCKS, "nv_trt_llm_kv_cache_block_metrics", 6239},
     }},
    {"trtllm-1.x-1.prom",
     {{"trtllm", NULL, "1.0.0", "1.1.x", false}, {"dynamo", NULL, "0.4.0", "0.8.x", false}},
     {
         {SIGNAL_TTFT, "trtllm_time_to_first_token_seconds", 2},
         {SIGNAL_TPOT, "trtllm_time_per_output_token_seconds", 2},
         {SIGNAL_E2E, "trtllm_e2e_request_latency_seconds", 2},
         {SIGNAL_QUEUE, "trtllm_request_queue_time_seconds", 2},
         {SIGNAL_SUCCESS, "trtllm_request_success_total", 2},
         {SIGNAL_INFLIGHT, "dynamo_component_inflight_requests", 0},
         {SIGNAL_KV_USAGE, "dynamo_component_kvstats_gpu_cache_usage_percent", 0},
         {SIGNAL_KV_USED_BLOCKS, "dynamo_component_kvstats_active_blocks", 0},
         {SIGNAL_KV_TOTAL_BLOCKS, "dynamo_component_kvstats_total_blocks", 0},
         {SIGNAL_PREFIX_HIT_RATIO, "dynamo_component_kvstats_gpu_prefix_cache_hit_rate", 0},
     }},
    /* Both generations of names at once: the new one counts where it is there. */
    {"vllm-0.10.0-1.prom",
     {{"vllm", "V1", "0.9.2", "0.11.1", false}},
     {
         {SIGNAL_KV_USAGE, "vllm:kv_cache_usage_perc", 9.75010481363281e-06},
         {SIGNAL_PREFIX_QUERIES, "vllm:prefix_cache_queries_total", 32},
         {SIGNAL_PREFIX_HITS, "vllm:gpu_prefix_cache_hits_total", 0},
     }},
    {"vllm-0.5.0-1.prom",
     {{"vllm", "V0", "0.4.3", "0.5.2", false}},
     {
         {SIGNAL_RUNNING, "vllm:num_requests_running", 0},
         {SIGNAL_WAITING, "vllm:num_requests_waiting", 0},
         {SIGNAL_INFLIGHT, "vllm:num_requests_running", 0},
         {SIGNAL_SWAPPED, "vllm:num_requests_swapped", 0},
         {SIGNAL_KV_USAGE, "vllm:gpu_cache_usage_perc", 0},
         {SIGNAL_KV_TOTAL_TOKENS, "vllm:cache_config_info", 7281 * 16},
         {SIGNAL_KV_TOTAL_BLOCKS, "vllm:cache_config_info", 7281},
         {SIGNAL_PREEMPTIONS, "vllm:num_preemptions_total", 0},
         {SIGNAL_PROMPT_TOKENS, "vllm:prompt_tokens_total", 5},
         {SIGNAL_GENERATION_TOKENS, "vllm:generation_tokens_total", 7},
         {SIGNAL_TTFT, "vllm:time_to_first_token_seconds", 1},
         {SIGNAL_ITL, "vllm:time_per_output_token_seconds", 6},
         {SIGNAL_E2E, "vllm:e2e_request_latency_seconds", 1},
         {SIGNAL_REQUEST_PROMPT_TOKENS, "vllm:request_prompt_tokens", 1},
         {SIGNAL_REQUEST_GENERATION_TOKENS, "vllm:request_generation_tokens", 1},
         {SIGNAL_SUCCESS, "vllm:request_success_total", 1},
         {SIGNAL_PROMPT_THROUGHPUT, "vllm:avg_prompt_throughput_toks_per_s", 0},
         {SIGNAL_GENERATION_THROUGHPUT, "vllm:avg_generation_throughput_toks_per_s", 0},
     }},
    /* Four families are an excerpt, which excludes nothing. */
    {"vllm-0.8.1-1.prom",
     {{"vllm", NULL, "0.3.3", "0.11.0", false}},
     {
         {SIGNAL_RUNNING, "vllm:num_requests_running", 0},
         {SIGNAL_WAITING, "vllm:num_requests_waiting", 0},
         {SIGNAL_INFLIGHT, "vllm:num_requests_running", 0},
         {SIGNAL_KV_USAGE, "vllm:gpu_cache_usage_perc", 0},
     }},
};

static void check_engines(const struct expected *x, const struct enginepage *p)
{
    size_t n = 0;

    for (; n < ENGINES_MAX && x->engines[n].name; n++) {
        char text[ENGINE_VERSION_TEXT_MAX];
        const struct engine_found *e = &p->page.engines[n];

        assert_row(x->file, n < p->page.n_engines);
        assert_string_equal(e->map->name, x->engines[n].name);
        assert_string_equal(enginepage_version(e, e->since, text), x->engines[n].since);
        assert_string_equal(enginepage_version(e, e->until, text), x->engines[n].until);
        assert_span_equal(x->file, span_cstr(e->edition), span_cstr(x->engines[n].edition));
        assert_row(x->file, e->is_mixed == x->engines[n].is_mixed);
    }
    assert_int_equal(p->page.n_engines, n);
}

static double value_of(const struct enginepage *p, const struct signal_found *s)
{
    double v = 0;

    for (size_t i = 0; i < p->n_values; i++)
        if (p->values[i].from == s)
            v += p->values[i].shape == SIGNAL_HISTOGRAM ? p->values[i].count : p->values[i].v;
    return v;
}

static void check_signals(const struct expected *x, const struct enginepage *p)
{
    size_t n = 0;

    for (; n < ROWS_MAX && x->rows[n].from; n++) {
        size_t n_found = 0;

        for (size_t i = 0; i < p->page.n_signals; i++) {
            const struct signal_found *s = &p->page.signals[i];

            if (s->signal != x->rows[n].signal ||
                !span_eq(s->metric[0], span_cstr(x->rows[n].from)))
                continue;
            n_found++;
            assert_row(x->rows[n].from,
                       fabs(value_of(p, s) - x->rows[n].v) <= 1e-12 * fabs(x->rows[n].v));
        }
        if (n_found != 1)
            fail_msg("%s: %s as %s is there %zu times", x->file, x->rows[n].from,
                     signal_table[x->rows[n].signal].name, n_found);
    }
    if (p->page.n_signals != n)
        fail_msg("%s: %zu signals, %zu are expected", x->file, p->page.n_signals, n);
}

static size_t n_checked;

static void visit(void *ctx, const char *path, struct span content)
{
    const char *file = strrchr(path, '/') + 1;
    struct enginepage p;
    (void)ctx;

    enginepage_read(&p, content);
    assert_row(file, p.page.n_engines > 0);
    for (size_t i = 0; i < ARRAY_LEN(dumps); i++) {
        if (strcmp(dumps[i].file, file) != 0)
            continue;
        check_engines(&dumps[i], &p);
        check_signals(&dumps[i], &p);
        n_checked++;
    }
    enginepage_done(&p);
}

static void test_dumps(void **state)
{
    (void)state;
    if (corpus_each("reference/metrics-dumps", ".prom", visit, NULL) == 0)
        exit(HARNESS_SKIPPED);
    assert_true(n_checked > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_dumps)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
