/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Traps of mapping: small pages as engines write them, and all samples that come of them.
 */
#include "enginepage.h"

#include <errno.h>
#include <string.h>

#include "base/attr.h"
#include "base/buf.h"
#include "memfail.h"

struct row {
    const char *name, *page, *want;
};

static const struct row vllm[] = {
    {"old and new name at once: the new one, never both",
     "vllm:gpu_cache_usage_perc{model_name=\"m\",engine=\"0\"} 0.5\n"
     "vllm:kv_cache_usage_perc{model_name=\"m\",engine=\"0\"} 0.25\n"
     "vllm:gpu_prefix_cache_queries_total{model_name=\"m\",engine=\"0\"} 7\n"
     "vllm:prefix_cache_queries_total{model_name=\"m\",engine=\"0\"} 70\n",
     "engine_kv_usage_ratio{engine=\"0\", model=\"m\"} 0.25\n"
     "engine_prefix_queries_total{engine=\"0\", model=\"m\"} 70\n"},
    {"one series per engine",
     "vllm:num_requests_running{model_name=\"m\",engine=\"1\"} 2\n"
     "vllm:num_requests_running{model_name=\"m\",engine=\"0\"} 3\n",
     "engine_running{engine=\"0\", model=\"m\"} 3\n"
     "engine_running{engine=\"1\", model=\"m\"} 2\n"},
    {"processes of one engine: the maximum of a ratio, the sum of what is counted",
     "vllm:kv_cache_usage_perc{model_name=\"m\",engine=\"0\",pid=\"7\"} 0.5\n"
     "vllm:kv_cache_usage_perc{model_name=\"m\",engine=\"0\",pid=\"8\"} 0.75\n"
     "vllm:num_requests_running{model_name=\"m\",engine=\"0\",pid=\"7\"} 2\n"
     "vllm:num_requests_running{model_name=\"m\",engine=\"0\",pid=\"8\"} 3\n",
     "engine_running{engine=\"0\", model=\"m\"} 5\n"
     "engine_kv_usage_ratio{engine=\"0\", model=\"m\"} 0.75\n"},
    {"running and waiting are in flight",
     "vllm:num_requests_running 2\nvllm:num_requests_waiting 40\n",
     "engine_running 2\nengine_waiting 40\nengine_inflight 42\n"},
    {"a prefix cache that is off has no ratio",
     "vllm:gpu_prefix_cache_hit_rate{model_name=\"m\"} -1.0\n", ""},
    {"and one that is on has", "vllm:gpu_prefix_cache_hit_rate{model_name=\"m\"} 0.5\n",
     "engine_prefix_hit_ratio{model=\"m\"} 0.5\n"},
    {"the size of the KV cache is in labels",
     "vllm:cache_config_info{block_size=\"16\",num_gpu_blocks=\"7281\",engine=\"0\"} 1\n",
     "engine_kv_total_tokens{engine=\"0\"} 116496\nengine_kv_total_blocks{engine=\"0\"} 7281\n"},
    {"and is None until it is known",
     "vllm:cache_config_info{block_size=\"16\",num_gpu_blocks=\"None\"} 1\n", ""},
    {"a histogram that is called _total, and a gauge that is called _created",
     "# TYPE vllm:iteration_tokens_total histogram\n"
     "vllm:iteration_tokens_total_sum 9\n"
     "vllm:iteration_tokens_total_bucket{le=\"8.0\"} 1\n"
     "vllm:iteration_tokens_total_bucket{le=\"+Inf\"} 2\n"
     "vllm:iteration_tokens_total_count 2\n"
     "# TYPE vllm:iteration_tokens_total_created gauge\n"
     "vllm:iteration_tokens_total_created 1.7e9\n",
     "engine_iteration_tokens_bucket{le=\"+Inf\"} 2\nengine_iteration_tokens_bucket{le=\"8\"} 1\n"
     "engine_iteration_tokens_count 2\nengine_iteration_tokens_sum 9\n"},
    {"finish reasons, of which there may be more",
     "vllm:request_success_total{finished_reason=\"abort\",model_name=\"m\"} 1\n"
     "vllm:request_success_total{finished_reason=\"repetition\",model_name=\"m\"} 2\n",
     "engine_success_total{model=\"m\", reason=\"abort\"} 1\n"
     "engine_success_total{model=\"m\", reason=\"repetition\"} 2\n"},
    {"prompt tokens from elsewhere than this computation",
     "vllm:prompt_tokens_by_source_total{source=\"local_compute\"} 5\n"
     "vllm:prompt_tokens_by_source_total{source=\"local_cache_hit\"} 3\n"
     "vllm:prompt_tokens_by_source_total{source=\"external_kv_transfer\"} 2\n",
     "engine_cached_tokens_total 5\n"},
    {"what is only declared is not there",
     "# TYPE vllm:num_requests_running gauge\n# TYPE vllm:num_requests_waiting gauge\n"
     "vllm:num_requests_waiting 1\n",
     "engine_waiting 1\n"},
    {"a name whose type is another one",
     "# TYPE vllm:time_to_first_token_seconds gauge\nvllm:time_to_first_token_seconds 1\n"
     "vllm:num_requests_running NaN\nvllm:num_requests_waiting 1\n",
     "engine_waiting 1\n"},
    {"OpenMetrics of the Rust frontend",
     "# TYPE vllm:generation_tokens counter\nvllm:generation_tokens_total{engine=\"0\"} 12\n"
     "# TYPE vllm:num_requests_running gauge\nvllm:num_requests_running{engine=\"0\"} 1\n# EOF\n",
     "engine_running{engine=\"0\"} 1\nengine_generation_tokens_total{engine=\"0\"} 12\n"},
    {"bounds that not all histograms have",
     "# TYPE vllm:time_to_first_token_seconds histogram\n"
     "vllm:time_to_first_token_seconds_bucket{pid=\"1\",le=\"0.1\"} 1\n"
     "vllm:time_to_first_token_seconds_bucket{pid=\"1\",le=\"1\"} 2\n"
     "vllm:time_to_first_token_seconds_bucket{pid=\"1\",le=\"+Inf\"} 3\n"
     "vllm:time_to_first_token_seconds_count{pid=\"1\"} 3\n"
     "vllm:time_to_first_token_seconds_sum{pid=\"1\"} 4\n"
     "vllm:time_to_first_token_seconds_bucket{pid=\"2\",le=\"0.5\"} 1\n"
     "vllm:time_to_first_token_seconds_bucket{pid=\"2\",le=\"1.0\"} 5\n"
     "vllm:time_to_first_token_seconds_bucket{pid=\"2\",le=\"+Inf\"} 5\n"
     "vllm:time_to_first_token_seconds_count{pid=\"2\"} 5\n"
     "vllm:time_to_first_token_seconds_sum{pid=\"2\"} 1\n",
     "engine_ttft_seconds_bucket{le=\"+Inf\"} 8\nengine_ttft_seconds_bucket{le=\"1\"} 7\n"
     "engine_ttft_seconds_count 8\nengine_ttft_seconds_sum 5\n"},
    {"Ray, before vLLM 0.11, with and without _total",
     "ray_vllm:num_requests_running{model_name=\"m\",WorkerId=\"a\"} 3\n"
     "ray_vllm:prompt_tokens{model_name=\"m\",WorkerId=\"a\"} 4\n"
     "ray_vllm:generation_tokens_total{model_name=\"m\",WorkerId=\"a\"} 5\n",
     "engine_running{model=\"m\"} 3\nengine_prompt_tokens_total{model=\"m\"} 4\n"
     "engine_generation_tokens_total{model=\"m\"} 5\n"},
    {"Ray, since, where a replica is an engine when nothing else is",
     "ray_vllm_num_requests_running{model_name=\"m\",ReplicaId=\"r1\"} 3\n"
     "ray_vllm_num_requests_running{model_name=\"m\",ReplicaId=\"r2\"} 1\n",
     "engine_running{engine=\"r1\", model=\"m\"} 3\nengine_running{engine=\"r2\", model=\"m\"} "
     "1\n"},
    {"two engines that say the same: the first counts",
     "vllm:num_requests_running{model_name=\"m\"} 3\n"
     "vllm:num_requests_running{model_name=\"n\"} 4\n"
     "sglang:num_running_reqs{model_name=\"m\"} 5\nsglang:num_running_reqs{model_name=\"o\"} 6\n",
     "engine_running{model=\"m\"} 3\nengine_running{model=\"n\"} 4\n"
     "engine_running{model=\"o\"} 6\n"},
    {"both names of one engine behind one address count once",
     "vllm:num_requests_running 3\nvllm:num_requests_waiting 1\nray_vllm:num_requests_running 3\n",
     "engine_running 3\nengine_waiting 1\nengine_inflight 4\n"},
};

static const struct row sglang[] = {
    {"ranks work on the same requests: the lowest counts",
     "sglang:num_running_reqs{model_name=\"m\",tp_rank=\"10\",pp_rank=\"0\"} 4\n"
     "sglang:num_running_reqs{model_name=\"m\",tp_rank=\"2\",pp_rank=\"0\"} 5\n"
     "sglang:num_running_reqs{model_name=\"m\",tp_rank=\"2\",pp_rank=\"1\"} 6\n",
     "engine_running{model=\"m\"} 5\n"},
    {"data-parallel ranks do not",
     "sglang:num_running_reqs{model_name=\"m\",tp_rank=\"0\",dp_rank=\"0\"} 4\n"
     "sglang:num_running_reqs{model_name=\"m\",tp_rank=\"1\",dp_rank=\"1\"} 5\n",
     "engine_running{engine=\"0\", model=\"m\"} 4\nengine_running{engine=\"1\", model=\"m\"} 5\n"},
    {"cached tokens: the total",
     "sglang:cached_tokens_total{cache_source=\"device\"} 3\n"
     "sglang:cached_tokens_total{cache_source=\"host\"} 2\n"
     "sglang:cached_tokens_total{cache_source=\"total\"} 5\n",
     "engine_cached_tokens_total 5\n"},
    {"or the others added",
     "sglang:cached_tokens_total{cache_source=\"device\"} 3\n"
     "sglang:cached_tokens_total{cache_source=\"host\"} 2\n",
     "engine_cached_tokens_total 5\n"},
    {"or without a label", "sglang:cached_tokens_total 4\n", "engine_cached_tokens_total 4\n"},
    {"tokens at the end of a request come before live ones",
     "sglang:generation_tokens_total 10\nsglang:realtime_tokens_total{mode=\"decode\"} 12\n"
     "sglang:realtime_tokens_total{mode=\"prefill_compute\"} 30\n"
     "sglang:realtime_tokens_total{mode=\"prefill_cache\"} 4\n",
     "engine_prompt_tokens_total 34\nengine_generation_tokens_total 10\n"
     "engine_cached_tokens_total 4\n"},
    {"a gauge that counts, a mean, and three that are no signals",
     "# TYPE sglang:total_retracted_reqs gauge\nsglang:total_retracted_reqs 3\n"
     "# TYPE sglang:avg_request_queue_latency gauge\nsglang:avg_request_queue_latency 0.5\n"
     "sglang:cache_hit_rate 0.9\nsglang:utilization 0.5\nsglang:num_retracted_reqs{pid=\"1\"} 2\n",
     "engine_preemptions_total 3\nengine_queue_seconds_mean 0.5\n"},
    {"one stage of many",
     "# TYPE sglang:per_stage_req_latency_seconds histogram\n"
     "sglang:per_stage_req_latency_seconds_bucket{stage=\"prefill_forward\",le=\"+Inf\"} 3\n"
     "sglang:per_stage_req_latency_seconds_count{stage=\"prefill_forward\"} 3\n"
     "sglang:per_stage_req_latency_seconds_sum{stage=\"prefill_forward\"} 6\n"
     "sglang:per_stage_req_latency_seconds_bucket{stage=\"request_process\",le=\"+Inf\"} 9\n"
     "sglang:per_stage_req_latency_seconds_count{stage=\"request_process\"} 9\n"
     "sglang:per_stage_req_latency_seconds_sum{stage=\"request_process\"} 9\n",
     "engine_prefill_seconds_bucket{le=\"+Inf\"} 3\nengine_prefill_seconds_count 3\n"
     "engine_prefill_seconds_sum 6\n"},
    {"used by total where no ratio is told",
     "sglang:num_used_tokens 25\nsglang:max_total_num_tokens 100\n",
     "engine_kv_usage_ratio 0.25\nengine_kv_used_tokens 25\nengine_kv_total_tokens 100\n"},
    {"nothing by nothing is no ratio", "sglang:num_used_tokens 0\nsglang:max_total_num_tokens 0\n",
     "engine_kv_used_tokens 0\nengine_kv_total_tokens 0\n"},
    {"aborted requests failed", "sglang:num_aborted_requests_total{model_name=\"m\"} 2\n",
     "engine_failure_total{model=\"m\", reason=\"abort\"} 2\n"},
};

static const struct row others[] = {
    {"TGI: reservation, sums of histograms, counters without _total, lines without HELP",
     "# TYPE tgi_request_count counter\ntgi_request_count 9\n\n"
     "# TYPE tgi_batch_current_max_tokens gauge\ntgi_batch_current_max_tokens 50\n"
     "# TYPE tgi_batch_max_total_tokens gauge\ntgi_batch_max_total_tokens 200\n"
     "# TYPE tgi_request_generated_tokens histogram\n"
     "tgi_request_generated_tokens_bucket{le=\"+Inf\"} 2\n"
     "tgi_request_generated_tokens_sum 30\ntgi_request_generated_tokens_count 2\n"
     "# TYPE tgi_request_skipped_tokens summary\ntgi_request_skipped_tokens{quantile=\"1\"} 0\n"
     "tgi_request_skipped_tokens_sum 0\ntgi_request_skipped_tokens_count 3\n",
     "engine_kv_usage_ratio 0.25\nengine_kv_used_tokens 50\nengine_kv_total_tokens 200\n"
     "engine_generation_tokens_total 30\n"
     "engine_request_generation_tokens_bucket{le=\"+Inf\"} 2\n"
     "engine_request_generation_tokens_count 2\nengine_request_generation_tokens_sum 30\n"
     "engine_arrived_total 9\n"},
    {"llama.cpp: sums of seconds, six digits, a maximum of type counter",
     "# TYPE llamacpp:prompt_tokens_total counter\nllamacpp:prompt_tokens_total 1.67837e+06\n"
     "llamacpp:prompt_seconds_total 12.5\n# TYPE llamacpp:n_tokens_max counter\n"
     "llamacpp:n_tokens_max 4000\nllamacpp:requests_processing 1\nllamacpp:requests_deferred 2\n",
     "engine_running 1\nengine_waiting 2\nengine_inflight 3\nengine_prompt_tokens_total 1678370\n"
     "engine_prefill_seconds_sum 12.5\n"},
    {"Triton: microseconds that are sums, milliseconds of a histogram",
     "nv_inference_request_success{model=\"m\",version=\"1\"} 4\n"
     "nv_inference_queue_duration_us{model=\"m\",version=\"1\"} 3000000\n"
     "# TYPE nv_inference_first_response_histogram_ms histogram\n"
     "nv_inference_first_response_histogram_ms_bucket{model=\"m\",version=\"1\",le=\"300\"} 1\n"
     "nv_inference_first_response_histogram_ms_bucket{model=\"m\",version=\"1\",le=\"+Inf\"} 1\n"
     "nv_inference_first_response_histogram_ms_count{model=\"m\",version=\"1\"} 1\n"
     "nv_inference_first_response_histogram_ms_sum{model=\"m\",version=\"1\"} 70\n"
     "nv_gpu_utilization{gpu_uuid=\"G\"} 0.5\nnv_gpu_power_usage{gpu_uuid=\"G\"} 70\n",
     "engine_ttft_seconds_bucket{le=\"+Inf\", model=\"m\"} 1\n"
     "engine_ttft_seconds_bucket{le=\"0.3\", model=\"m\"} 1\n"
     "engine_ttft_seconds_count{model=\"m\"} 1\nengine_ttft_seconds_sum{model=\"m\"} 0.07\n"
     "engine_queue_seconds_count{model=\"m\"} 4\nengine_queue_seconds_sum{model=\"m\"} 3\n"
     "engine_success_total{model=\"m\"} 4\n"
     "gpu_utilization_ratio{uuid=\"G\"} 0.5\ngpu_power_watts{uuid=\"G\"} 70\n"},
    {"Triton's TensorRT-LLM backend: meaning in a label, older ones without waiting",
     "nv_trt_llm_request_metrics{request_type=\"active\",model=\"m\",version=\"1\"} 5\n"
     "nv_trt_llm_request_metrics{request_type=\"scheduled\",model=\"m\",version=\"1\"} 3\n"
     "nv_trt_llm_kv_cache_block_metrics{kv_cache_block_type=\"used\",model=\"m\"} 25\n"
     "nv_trt_llm_kv_cache_block_metrics{kv_cache_block_type=\"max\",model=\"m\"} 100\n"
     "nv_trt_llm_kv_cache_block_metrics{kv_cache_block_type=\"fraction\",model=\"m\"} 0.25\n"
     "nv_trt_llm_inflight_batcher_metrics{inflight_batcher_specific_metric=\"paused_requests\","
     "model=\"m\"} 1\n",
     "engine_running{model=\"m\"} 3\nengine_waiting{model=\"m\"} 2\nengine_inflight{model=\"m\"} "
     "5\n"
     "engine_swapped{model=\"m\"} 1\nengine_kv_usage_ratio{model=\"m\"} 0.25\n"
     "engine_kv_used_blocks{model=\"m\"} 25\nengine_kv_total_blocks{model=\"m\"} 100\n"},
    {"trtllm-serve 1.0, which has no prefix",
     "request_success_total{model_name=\"m\",engine_type=\"trtllm\",finished_reason=\"stop\"} 2\n"
     "# TYPE request_queue_time_seconds histogram\n"
     "request_queue_time_seconds_bucket{model_name=\"m\",le=\"+Inf\"} 1\n"
     "request_queue_time_seconds_count{model_name=\"m\"} 1\n"
     "request_queue_time_seconds_sum{model_name=\"m\"} 3\n",
     "engine_queue_seconds_bucket{le=\"+Inf\", model=\"m\"} 1\n"
     "engine_queue_seconds_count{model=\"m\"} 1\nengine_queue_seconds_sum{model=\"m\"} 3\n"
     "engine_success_total{model=\"m\", reason=\"stop\"} 2\n"},
    {"and with the first prefix that Dynamo gave it",
     "trtllm:request_success_total{model_name=\"m\",finished_reason=\"stop\"} 2\n",
     "engine_success_total{model=\"m\", reason=\"stop\"} 2\n"},
    {"later TensorRT-LLM",
     "trtllm_kv_cache_utilization 0.5\ntrtllm_num_requests_running 2\n"
     "trtllm_kv_cache_used_blocks 4\ntrtllm_kv_cache_max_blocks 8\n",
     "engine_running 2\nengine_kv_usage_ratio 0.5\nengine_kv_used_blocks 4\n"
     "engine_kv_total_blocks 8\n"},
    {"LMDeploy: seconds without a unit in the name",
     "# TYPE lmdeploy:iter_token_latency histogram\n"
     "lmdeploy:iter_token_latency_bucket{model_name=\"m\",engine=\"0\",le=\"+Inf\"} 2\n"
     "lmdeploy:iter_token_latency_count{model_name=\"m\",engine=\"0\"} 2\n"
     "lmdeploy:iter_token_latency_sum{model_name=\"m\",engine=\"0\"} 0.5\n",
     "engine_itl_seconds_bucket{engine=\"0\", le=\"+Inf\", model=\"m\"} 2\n"
     "engine_itl_seconds_count{engine=\"0\", model=\"m\"} 2\n"
     "engine_itl_seconds_sum{engine=\"0\", model=\"m\"} 0.5\n"},
    {"LocalAI: kinds of tokens",
     "localai_tokens_total{user=\"a\",served_model=\"m\",kind=\"prompt\"} 3\n"
     "localai_tokens_total{user=\"b\",served_model=\"m\",kind=\"prompt\"} 4\n"
     "localai_tokens_total{user=\"a\",served_model=\"m\",kind=\"completion\"} 5\n",
     "engine_prompt_tokens_total{model=\"m\"} 7\nengine_generation_tokens_total{model=\"m\"} 5\n"},
    {"a worker of Dynamo: the engine's word counts, percent is a ratio",
     "dynamo_component_gpu_cache_usage_percent{model=\"m\",dp_rank=\"0\"} 0.75\n"
     "dynamo_component_inflight_requests{model=\"m\"} 9\n"
     "vllm:num_requests_running{model_name=\"M\"} 2\nvllm:num_requests_waiting{model_name=\"M\"} "
     "1\n",
     "engine_running{model=\"M\"} 2\nengine_waiting{model=\"M\"} 1\nengine_inflight{model=\"M\"} "
     "3\n"
     "engine_kv_usage_ratio{engine=\"0\", model=\"m\"} 0.75\n"},
    {"a frontend of Dynamo: twins, cached tokens as a sum, outcomes by status",
     "dynamo_frontend_inflight_requests{model=\"m\"} 4\n"
     "dynamo_frontend_active_requests{model=\"m\"} 5\n"
     "# TYPE dynamo_frontend_cached_tokens histogram\n"
     "dynamo_frontend_cached_tokens_bucket{model=\"m\",le=\"+Inf\"} 1\n"
     "dynamo_frontend_cached_tokens_sum{model=\"m\"} 64\n"
     "dynamo_frontend_cached_tokens_count{model=\"m\"} 1\n"
     "dynamo_frontend_requests_total{model=\"m\",status=\"success\",endpoint=\"chat\"} 3\n"
     "dynamo_frontend_requests_total{model=\"m\",status=\"error\",error_type=\"timeout\"} 2\n",
     "engine_inflight{model=\"m\"} 5\nengine_cached_tokens_total{model=\"m\"} 64\n"
     "engine_success_total{model=\"m\"} 3\n"
     "engine_failure_total{model=\"m\", reason=\"timeout\"} 2\n"},
    {"Ray Serve: milliseconds, counters that may have _total",
     "ray_serve_replica_processing_queries{deployment=\"d\",replica=\"r\"} 1\n"
     "ray_serve_deployment_request_counter_total{deployment=\"d\",replica=\"r\"} 3\n"
     "# TYPE ray_serve_deployment_processing_latency_ms histogram\n"
     "ray_serve_deployment_processing_latency_ms_bucket{deployment=\"d\",le=\"700\"} 1\n"
     "ray_serve_deployment_processing_latency_ms_bucket{deployment=\"d\",le=\"+Inf\"} 1\n"
     "ray_serve_deployment_processing_latency_ms_count{deployment=\"d\"} 1\n"
     "ray_serve_deployment_processing_latency_ms_sum{deployment=\"d\"} 600\n",
     "engine_running{engine=\"r\"} 1\nengine_e2e_seconds_bucket{le=\"+Inf\"} 1\n"
     "engine_e2e_seconds_bucket{le=\"0.7\"} 1\nengine_e2e_seconds_count 1\n"
     "engine_e2e_seconds_sum 0.6\nengine_success_total{engine=\"r\"} 3\n"},
    {"kafka: unknown lags are no lags, and the sum is not added",
     "kafka_consumergroup_lag{consumergroup=\"g\",topic=\"t\",partition=\"0\"} -1\n"
     "kafka_consumergroup_lag{consumergroup=\"g\",topic=\"t\",partition=\"1\"} 5\n"
     "# TYPE kafka_consumergroup_lag_sum gauge\n"
     "kafka_consumergroup_lag_sum{consumergroup=\"g\",topic=\"t\"} 4\n",
     "kafka_consumer_lag{consumergroup=\"g\", partition=\"1\", topic=\"t\"} 5\n"},
    {"but used where there is no other",
     "kafka_consumergroup_lag_sum{consumergroup=\"g\",topic=\"t\"} 4\n",
     "kafka_consumer_lag{consumergroup=\"g\", topic=\"t\"} 4\n"},
};

static const struct row gpus[] = {
    {"DCGM to 4.8: percent, MiB, MHz, mJ, ns; the total is a sum",
     "DCGM_FI_DEV_GPU_UTIL{gpu=\"0\",UUID=\"G\",Hostname=\"h\"} 87\n"
     "DCGM_FI_DEV_FB_USED{gpu=\"0\",UUID=\"G\"} 1\nDCGM_FI_DEV_FB_FREE{gpu=\"0\",UUID=\"G\"} 2\n"
     "DCGM_FI_DEV_FB_RESERVED{gpu=\"0\",UUID=\"G\"} 1\n"
     "DCGM_FI_DEV_SM_CLOCK{gpu=\"0\",UUID=\"G\"} 1980\n"
     "DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION{gpu=\"0\",UUID=\"G\"} 1500\n"
     "DCGM_FI_DEV_POWER_VIOLATION{gpu=\"0\",UUID=\"G\"} 2000000000\n"
     "DCGM_FI_DEV_THERMAL_VIOLATION{gpu=\"0\",UUID=\"G\"} 500000000\n",
     "gpu_utilization_ratio{gpu=\"0\", uuid=\"G\"} 0.87\n"
     "gpu_memory_used_bytes{gpu=\"0\", uuid=\"G\"} 1048576\n"
     "gpu_memory_free_bytes{gpu=\"0\", uuid=\"G\"} 2097152\n"
     "gpu_memory_reserved_bytes{gpu=\"0\", uuid=\"G\"} 1048576\n"
     "gpu_memory_total_bytes{gpu=\"0\", uuid=\"G\"} 4194304\n"
     "gpu_energy_joules_total{gpu=\"0\", uuid=\"G\"} 1.5\n"
     "gpu_sm_clock_hertz{gpu=\"0\", uuid=\"G\"} 1980000000\n"
     "gpu_throttle_seconds_total{gpu=\"0\", reason=\"power\", uuid=\"G\"} 2\n"
     "gpu_throttle_seconds_total{gpu=\"0\", reason=\"thermal\", uuid=\"G\"} 0.5\n"},
    {"DCGM from 4.9: ratios, bytes, hertz, joules, seconds",
     "DCGM_FI_DEV_GPU_UTIL_RATIO{gpu=\"0\"} 0.5\nDCGM_FI_DEV_FB_USED_BYTES{gpu=\"0\"} 100\n"
     "DCGM_FI_DEV_FB_CAPACITY_BYTES{gpu=\"0\"} 200\nDCGM_FI_DEV_SM_CLOCK_HERTZ{gpu=\"0\"} 1e9\n"
     "DCGM_FI_DEV_GPU_ENERGY_JOULES_TOTAL{gpu=\"0\"} 3\n"
     "DCGM_FI_DEV_GPU_THERMAL_THROTTLE_SECONDS_TOTAL{gpu=\"0\"} 4\n",
     "gpu_utilization_ratio{gpu=\"0\"} 0.5\ngpu_memory_used_bytes{gpu=\"0\"} 100\n"
     "gpu_memory_total_bytes{gpu=\"0\"} 200\ngpu_energy_joules_total{gpu=\"0\"} 3\n"
     "gpu_sm_clock_hertz{gpu=\"0\"} 1000000000\n"
     "gpu_throttle_seconds_total{gpu=\"0\", reason=\"thermal\"} 4\n"},
    {"one name, percent with 4.6: by a value above 1",
     "DCGM_FI_DEV_GPU_UTIL_RATIO{gpu=\"0\"} 1\nDCGM_FI_DEV_GPU_UTIL_RATIO{gpu=\"1\"} 37\n",
     "gpu_utilization_ratio{gpu=\"0\"} 0.01\ngpu_utilization_ratio{gpu=\"1\"} 0.37\n"},
    {"or by the version, where other names tell it",
     "DCGM_FI_DEV_GPU_UTIL_RATIO{gpu=\"0\"} 1\nDCGM_FI_DEV_FB_USED{gpu=\"0\"} 1\n",
     "gpu_utilization_ratio{gpu=\"0\"} 0.01\ngpu_memory_used_bytes{gpu=\"0\"} 1048576\n"},
    {"and a ratio with 4.9",
     "DCGM_FI_DEV_GPU_UTIL_RATIO{gpu=\"0\"} 1\n"
     "DCGM_FI_DEV_FB_USED_BYTES{gpu=\"0\"} 1\n",
     "gpu_utilization_ratio{gpu=\"0\"} 1\ngpu_memory_used_bytes{gpu=\"0\"} 1\n"},
    {"blanks of DCGM are no values",
     "DCGM_FI_DEV_FB_USED{gpu=\"0\"} 9223372036854775794\n"
     "DCGM_FI_DEV_POWER_USAGE{gpu=\"0\"} 1.40737488355328e14\n"
     "DCGM_FI_DEV_GPU_TEMP{gpu=\"0\"} 2147483632\nDCGM_FI_DEV_GPU_TEMP{gpu=\"1\"} 40\n",
     "gpu_temperature_celsius{gpu=\"1\"} 40\n"},
    {"MIG instances, and a GPU that several pods share",
     "DCGM_FI_PROF_GR_ENGINE_ACTIVE{gpu=\"0\",UUID=\"G\",GPU_I_PROFILE=\"1g\",GPU_I_ID=\"7\"} 0.5\n"
     "DCGM_FI_PROF_GR_ENGINE_ACTIVE{gpu=\"0\",UUID=\"G\",GPU_I_PROFILE=\"1g\",GPU_I_ID=\"8\"} "
     "0.25\n"
     "DCGM_FI_DEV_FB_USED{gpu=\"1\",UUID=\"H\",pod=\"a\"} 2\n"
     "DCGM_FI_DEV_FB_USED{gpu=\"1\",UUID=\"H\",pod=\"b\"} 2\n",
     "gpu_engine_active_ratio{gpu=\"0\", mig=\"7\", uuid=\"G\"} 0.5\n"
     "gpu_engine_active_ratio{gpu=\"0\", mig=\"8\", uuid=\"G\"} 0.25\n"
     "gpu_memory_used_bytes{gpu=\"1\", uuid=\"H\"} 2097152\n"},
    {"nvidia_gpu_exporter: both names of throttling, microseconds of old",
     "nvidia_smi_clocks_throttle_reasons_active{uuid=\"G\"} 4\n"
     "nvidia_smi_clocks_event_reasons_counters_sw_power_cap_us{uuid=\"G\"} 1500000\n"
     "nvidia_smi_utilization_gpu_ratio{uuid=\"G\"} 1\n",
     "gpu_utilization_ratio{uuid=\"G\"} 1\ngpu_throttle_reasons{uuid=\"G\"} 4\n"
     "gpu_throttle_seconds_total{reason=\"power\", uuid=\"G\"} 1.5\n"},
    {"AMD: percent, MiB, a label that picks the clock, all ones for not available",
     "gpu_gfx_activity{gpu_id=\"0\",card_model=\"c\"} 50\n"
     "gpu_used_vram{gpu_id=\"0\",card_model=\"c\"} 2\n"
     "gpu_package_power{gpu_id=\"0\",card_model=\"c\"} 4294967295\n"
     "gpu_average_package_power{gpu_id=\"0\",card_model=\"c\"} 300\n"
     "gpu_clock{gpu_id=\"0\",clock_type=\"GPU_CLOCK_TYPE_SYSTEM\"} 2100\n"
     "gpu_clock{gpu_id=\"0\",clock_type=\"GPU_CLOCK_TYPE_MEMORY\"} 900\n"
     "gpu_violation_ppt_residency_percentage{gpu_id=\"0\"} 10\n",
     "gpu_utilization_ratio{gpu=\"0\"} 0.5\ngpu_memory_used_bytes{gpu=\"0\"} 2097152\n"
     "gpu_power_watts{gpu=\"0\"} 300\ngpu_sm_clock_hertz{gpu=\"0\"} 2100000000\n"
     "gpu_memory_clock_hertz{gpu=\"0\"} 900000000\n"
     "gpu_throttle_ratio{gpu=\"0\", reason=\"power\"} 0.1\n"},
    {"AMD with a prefix of the user's", "amd_gpu_gfx_activity{gpu_id=\"1\"} 25\n",
     "gpu_utilization_ratio{gpu=\"1\"} 0.25\n"},
    {"names like AMD's of somebody else", "gpu_usage{room=\"a\"} 3\n", ""},
};

static void print_samples(const struct enginepage *p, struct buf *out)
{
    struct signal_sample *samples;
    struct arena a;
    size_t n;

    arena_init(&a, NULL);
    assert_int_equal(engine_signals(&p->families, &p->page, &a, &samples, &n), 0);
    for (size_t i = 0; i < n; i++) {
        assert_int_equal(labels_print(samples[i].labels, out), 0);
        assert_int_equal(buf_printf(out, " %.15g\n", samples[i].v), 0);
        assert_true(samples[i].from != NULL);
    }
    arena_done(&a);
}

static void check_row(const struct row *row)
{
    struct enginepage p;
    struct buf out;

    buf_init(&out, 1 << 20);
    enginepage_read(&p, span_cstr(row->page));
    print_samples(&p, &out);
    assert_span_equal(row->name, buf_span(&out), span_cstr(row->want));
    enginepage_done(&p);
    buf_done(&out);
}

#define TEST(name)                                                                                 \
    static void test_##name(void **state)                                                          \
    {                                                                                              \
        (void)state;                                                                               \
        for (size_t i = 0; i < ARRAY_LEN(name); i++)                                               \
            check_row(&name[i]);                                                                   \
    }

TEST(vllm)
TEST(sglang)
TEST(others)
TEST(gpus)

/* A page that ends anywhere is a page. */
static void test_prefixes(void **state)
{
    static const struct row *const rows[] = {&vllm[14], &sglang[7], &others[2], &gpus[6]};
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        for (size_t n = 0; n < strlen(rows[i]->page); n++) {
            struct engine_page page;
            struct signal_sample *samples;
            struct families f;
            struct arena a;
            size_t n_samples;

            assert_int_equal(families_read(span_of(rows[i]->page, n), TEXT_PROMETHEUS, "page", &f),
                             0);
            arena_init(&a, NULL);
            assert_int_equal(engine_recognise(&f, &a, &page), 0);
            assert_int_equal(engine_signals(&f, &page, &a, &samples, &n_samples), 0);
            arena_done(&a);
            families_done(&f);
        }
}

/* --- without memory --- */

static int attempt(void *ctx)
{
    struct span text = span_cstr(((const struct row *)ctx)->page);
    struct engine_page page;
    struct signal_sample *samples = NULL;
    struct families f;
    struct arena a;
    size_t n = 0;
    int r = families_read(text, TEXT_PROMETHEUS, "page", &f);

    if (r < 0)
        return r;
    arena_init(&a, NULL);
    r = engine_recognise(&f, &a, &page);
    if (r == 0)
        r = engine_signals(&f, &page, &a, &samples, &n);
    assert_true(r == -ENOMEM || (r == 0 && n > 0));
    arena_done(&a);
    families_done(&f);
    return r;
}

static void test_memory(void **state)
{
    (void)state;
    assert_true(memfail_each(attempt, (void *)(uintptr_t)&sglang[0]) > 0);
    assert_true(memfail_each(attempt, (void *)(uintptr_t)&vllm[14]) > 0);
    assert_true(memfail_each(attempt, (void *)(uintptr_t)&others[2]) > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_vllm), cmocka_unit_test(test_sglang),   cmocka_unit_test(test_others),
        cmocka_unit_test(test_gpus), cmocka_unit_test(test_prefixes), cmocka_unit_test(test_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
