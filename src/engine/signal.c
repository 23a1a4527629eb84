/* SPDX-License-Identifier: Apache-2.0 */
/*
 * engine/signal.c - the table of signals.
 */
#include "engine/signal.h"

#include "base/attr.h"

const struct signal_info signal_table[SIGNAL_COUNT_] = {
    [SIGNAL_RUNNING] = {"running", "engine_running", METRIC_GAUGE, "requests", SIGNAL_SUM, NULL,
                        "Requests in the running batch."},
    [SIGNAL_WAITING] = {"waiting", "engine_waiting", METRIC_GAUGE, "requests", SIGNAL_SUM, NULL,
                        "Requests that wait to be scheduled."},
    [SIGNAL_INFLIGHT] = {"inflight", "engine_inflight", METRIC_GAUGE, "requests", SIGNAL_SUM, NULL,
                         "Requests that were taken and are not finished: running and waiting."},
    [SIGNAL_SWAPPED] = {"swapped", "engine_swapped", METRIC_GAUGE, "requests", SIGNAL_SUM, NULL,
                        "Requests that were put aside for lack of KV memory."},
    [SIGNAL_KV_USAGE] =
        {"kv_usage", "engine_kv_usage_ratio", METRIC_GAUGE, "ratio", SIGNAL_MAX, NULL,
         "Part of the KV cache in use, 0 to 1. What can be evicted counts as free."},
    [SIGNAL_KV_USED_TOKENS] = {"kv_used_tokens", "engine_kv_used_tokens", METRIC_GAUGE, "tokens",
                               SIGNAL_SUM, NULL, "Tokens in the KV cache."},
    [SIGNAL_KV_TOTAL_TOKENS] = {"kv_total_tokens", "engine_kv_total_tokens", METRIC_GAUGE, "tokens",
                                SIGNAL_SUM, NULL, "Tokens that the KV cache has room for."},
    [SIGNAL_KV_USED_BLOCKS] = {"kv_used_blocks", "engine_kv_used_blocks", METRIC_GAUGE, "blocks",
                               SIGNAL_SUM, NULL, "Blocks of the KV cache in use."},
    [SIGNAL_KV_TOTAL_BLOCKS] = {"kv_total_blocks", "engine_kv_total_blocks", METRIC_GAUGE, "blocks",
                                SIGNAL_SUM, NULL, "Blocks of the KV cache."},
    [SIGNAL_PREEMPTIONS] =
        {"preemptions_total", "engine_preemptions_total", METRIC_COUNTER, "events", SIGNAL_SUM,
         NULL, "Running requests that were taken out of the batch for lack of KV memory."},
    [SIGNAL_PROMPT_TOKENS] = {"prompt_tokens_total", "engine_prompt_tokens_total", METRIC_COUNTER,
                              "tokens", SIGNAL_SUM, NULL, "Prompt tokens processed."},
    [SIGNAL_GENERATION_TOKENS] = {"generation_tokens_total", "engine_generation_tokens_total",
                                  METRIC_COUNTER, "tokens", SIGNAL_SUM, NULL, "Tokens generated."},
    [SIGNAL_CACHED_TOKENS] = {"cached_tokens_total", "engine_cached_tokens_total", METRIC_COUNTER,
                              "tokens", SIGNAL_SUM, NULL, "Prompt tokens that came from a cache."},
    [SIGNAL_PREFIX_QUERIES] =
        {"prefix_queries_total", "engine_prefix_queries_total", METRIC_COUNTER, "tokens",
         SIGNAL_SUM, NULL,
         "Prompt tokens looked up in the prefix cache; blocks with vLLM up to 0.8.5."},
    [SIGNAL_PREFIX_HITS] = {"prefix_hits_total", "engine_prefix_hits_total", METRIC_COUNTER,
                            "tokens", SIGNAL_SUM, NULL, "Those that were there, in the same unit."},
    [SIGNAL_PREFIX_HIT_RATIO] =
        {"prefix_hit_ratio", "engine_prefix_hit_ratio", METRIC_GAUGE, "ratio", SIGNAL_MAX, NULL,
         "Part of the lookups that hit, where an engine tells no counters."},
    [SIGNAL_TTFT] = {"ttft_seconds", "engine_ttft_seconds", METRIC_HISTOGRAM, "seconds", SIGNAL_SUM,
                     NULL, "Time to the first token, as the engine sees it."},
    [SIGNAL_ITL] = {"itl_seconds", "engine_itl_seconds", METRIC_HISTOGRAM, "seconds", SIGNAL_SUM,
                    NULL, "Time between tokens, or between outputs of several tokens."},
    [SIGNAL_TPOT] = {"tpot_seconds", "engine_tpot_seconds", METRIC_HISTOGRAM, "seconds", SIGNAL_SUM,
                     NULL, "Time per output token, one sample per request."},
    [SIGNAL_E2E] = {"e2e_seconds", "engine_e2e_seconds", METRIC_HISTOGRAM, "seconds", SIGNAL_SUM,
                    NULL, "Arrival to end of a request."},
    [SIGNAL_QUEUE] = {"queue_time_seconds", "engine_queue_seconds", METRIC_HISTOGRAM, "seconds",
                      SIGNAL_SUM, NULL, "Time until a request was first scheduled."},
    [SIGNAL_PREFILL] = {"prefill_time_seconds", "engine_prefill_seconds", METRIC_HISTOGRAM,
                        "seconds", SIGNAL_SUM, NULL, "First scheduled to first token."},
    [SIGNAL_DECODE] = {"decode_time_seconds", "engine_decode_seconds", METRIC_HISTOGRAM, "seconds",
                       SIGNAL_SUM, NULL, "First token to last token."},
    [SIGNAL_INFERENCE] = {"inference_time_seconds", "engine_inference_seconds", METRIC_HISTOGRAM,
                          "seconds", SIGNAL_SUM, NULL, "First scheduled to last token."},
    [SIGNAL_REQUEST_PROMPT_TOKENS] = {"request_prompt_tokens", "engine_request_prompt_tokens",
                                      METRIC_HISTOGRAM, "tokens", SIGNAL_SUM, NULL,
                                      "Prompt tokens of a request."},
    [SIGNAL_REQUEST_GENERATION_TOKENS] = {"request_generation_tokens",
                                          "engine_request_generation_tokens", METRIC_HISTOGRAM,
                                          "tokens", SIGNAL_SUM, NULL,
                                          "Generated tokens of a request."},
    [SIGNAL_ITERATION_TOKENS] = {"iteration_tokens", "engine_iteration_tokens", METRIC_HISTOGRAM,
                                 "tokens", SIGNAL_SUM, NULL, "Tokens of one engine step."},
    [SIGNAL_SUCCESS] =
        {"success_total", "engine_success_total", METRIC_COUNTER, "requests", SIGNAL_SUM, "reason",
         "Requests that came to their end. With vLLM also those with reason \"abort\"."},
    [SIGNAL_FAILURE] = {"failure_total", "engine_failure_total", METRIC_COUNTER, "requests",
                        SIGNAL_SUM, "reason", "Requests that failed or were refused."},
    [SIGNAL_ARRIVED] = {"arrived_total", "engine_arrived_total", METRIC_COUNTER, "requests",
                        SIGNAL_SUM, NULL, "Requests that came in."},
    [SIGNAL_PROMPT_THROUGHPUT] = {"prompt_throughput", "engine_prompt_tokens_per_second",
                                  METRIC_GAUGE, "tokens/s", SIGNAL_SUM, NULL,
                                  "Prompt tokens per second over the engine's own window."},
    [SIGNAL_GENERATION_THROUGHPUT] =
        {"generation_throughput", "engine_generation_tokens_per_second", METRIC_GAUGE, "tokens/s",
         SIGNAL_SUM, NULL, "Generated tokens per second over the engine's own window."},
    [SIGNAL_SPEC_DRAFT_TOKENS] = {"spec_draft_tokens_total", "engine_spec_draft_tokens_total",
                                  METRIC_COUNTER, "tokens", SIGNAL_SUM, NULL,
                                  "Tokens proposed by speculative decoding."},
    [SIGNAL_SPEC_ACCEPTED_TOKENS] = {"spec_accepted_tokens_total",
                                     "engine_spec_accepted_tokens_total", METRIC_COUNTER, "tokens",
                                     SIGNAL_SUM, NULL, "Proposed tokens that were kept."},
    [SIGNAL_SPEC_DRAFTS] = {"spec_drafts_total", "engine_spec_drafts_total", METRIC_COUNTER,
                            "drafts", SIGNAL_SUM, NULL, "Proposals of speculative decoding."},
    [SIGNAL_SLEEP_STATE] = {"engine_sleep_state", "engine_sleep_state", METRIC_GAUGE, "",
                            SIGNAL_MAX, "state", "1 for the sleep state that the engine is in."},
    [SIGNAL_GPU_UTIL] = {"gpu_util", "gpu_utilization_ratio", METRIC_GAUGE, "ratio", SIGNAL_MAX,
                         NULL, "Part of the time in which some kernel ran."},
    [SIGNAL_GPU_ENGINE_ACTIVE] = {"gpu_engine_active", "gpu_engine_active_ratio", METRIC_GAUGE,
                                  "ratio", SIGNAL_MAX, NULL,
                                  "Part of the time in which the graphics or compute engine was "
                                  "busy; the utilization of a MIG instance."},
    [SIGNAL_GPU_SM_ACTIVE] = {"gpu_sm_active", "gpu_sm_active_ratio", METRIC_GAUGE, "ratio",
                              SIGNAL_MAX, NULL,
                              "Part of the time in which an SM had a warp, mean over the SMs."},
    [SIGNAL_GPU_TENSOR_ACTIVE] = {"gpu_tensor_active", "gpu_tensor_active_ratio", METRIC_GAUGE,
                                  "ratio", SIGNAL_MAX, NULL,
                                  "Part of the time in which tensor cores were busy."},
    [SIGNAL_GPU_DRAM_ACTIVE] = {"gpu_dram_active", "gpu_dram_active_ratio", METRIC_GAUGE, "ratio",
                                SIGNAL_MAX, NULL,
                                "Part of the time in which the memory interface was busy."},
    [SIGNAL_GPU_MEM_USED] = {"gpu_mem_used", "gpu_memory_used_bytes", METRIC_GAUGE, "bytes",
                             SIGNAL_MAX, NULL, "GPU memory in use."},
    [SIGNAL_GPU_MEM_FREE] = {"gpu_mem_free", "gpu_memory_free_bytes", METRIC_GAUGE, "bytes",
                             SIGNAL_MAX, NULL, "GPU memory that is free."},
    [SIGNAL_GPU_MEM_RESERVED] = {"gpu_mem_reserved", "gpu_memory_reserved_bytes", METRIC_GAUGE,
                                 "bytes", SIGNAL_MAX, NULL,
                                 "GPU memory that driver and firmware keep."},
    [SIGNAL_GPU_MEM_TOTAL] = {"gpu_mem_total", "gpu_memory_total_bytes", METRIC_GAUGE, "bytes",
                              SIGNAL_MAX, NULL, "GPU memory."},
    [SIGNAL_GPU_POWER] = {"gpu_power", "gpu_power_watts", METRIC_GAUGE, "watts", SIGNAL_MAX, NULL,
                          "Power drawn."},
    [SIGNAL_GPU_POWER_LIMIT] = {"gpu_power_limit", "gpu_power_limit_watts", METRIC_GAUGE, "watts",
                                SIGNAL_MAX, NULL, "Power that may be drawn."},
    [SIGNAL_GPU_ENERGY] = {"gpu_energy_total", "gpu_energy_joules_total", METRIC_COUNTER, "joules",
                           SIGNAL_MAX, NULL, "Energy used."},
    [SIGNAL_GPU_TEMP] = {"gpu_temp", "gpu_temperature_celsius", METRIC_GAUGE, "celsius", SIGNAL_MAX,
                         NULL, "Temperature of the GPU."},
    [SIGNAL_GPU_MEM_TEMP] = {"gpu_mem_temp", "gpu_memory_temperature_celsius", METRIC_GAUGE,
                             "celsius", SIGNAL_MAX, NULL, "Temperature of its memory."},
    [SIGNAL_GPU_SM_CLOCK] = {"gpu_sm_clock", "gpu_sm_clock_hertz", METRIC_GAUGE, "hertz",
                             SIGNAL_MAX, NULL, "Clock of the SMs."},
    [SIGNAL_GPU_MEM_CLOCK] = {"gpu_mem_clock", "gpu_memory_clock_hertz", METRIC_GAUGE, "hertz",
                              SIGNAL_MAX, NULL, "Clock of the memory."},
    [SIGNAL_GPU_THROTTLE_REASONS] =
        {"gpu_throttle_reasons", "gpu_throttle_reasons", METRIC_GAUGE, "", SIGNAL_MAX, NULL,
         "Why clocks are lowered, as bits of NVML: 0x1 idle, 0x2 application clocks, 0x4 power "
         "cap, 0x8 hardware slowdown, 0x10 sync boost, 0x20 software thermal, 0x40 hardware "
         "thermal, 0x80 power brake, 0x100 display. 0x1 alone is no throttling."},
    [SIGNAL_GPU_THROTTLE_SECONDS] = {"gpu_throttle_seconds_total", "gpu_throttle_seconds_total",
                                     METRIC_COUNTER, "seconds", SIGNAL_MAX, "reason",
                                     "Time in which clocks were lowered."},
    [SIGNAL_GPU_THROTTLE_RATIO] = {"gpu_throttle_ratio", "gpu_throttle_ratio", METRIC_GAUGE,
                                   "ratio", SIGNAL_MAX, "reason",
                                   "Part of the time in which clocks were lowered."},
    [SIGNAL_GPU_XID_LAST] = {"gpu_xid_last", "gpu_xid_last", METRIC_GAUGE, "", SIGNAL_MAX, NULL,
                             "The last XID error code; 0: none."},
    [SIGNAL_CONSUMER_LAG] = {"consumer_lag", "kafka_consumer_lag", METRIC_GAUGE, "messages",
                             SIGNAL_SUM, NULL, "Messages that a consumer group has not read yet."},
};

enum signal_kind signal_kind_of(enum signal s)
{
    if (s < SIGNAL_GPU_UTIL)
        return SIGNAL_OF_ENGINE;
    return s < SIGNAL_CONSUMER_LAG ? SIGNAL_OF_GPU : SIGNAL_OF_KAFKA;
}

int signal_to_markdown(struct buf *out)
{
    static const char *const labels[] = {
        [SIGNAL_OF_ENGINE] = "model, engine",
        [SIGNAL_OF_GPU] = "gpu, uuid, mig",
        [SIGNAL_OF_KAFKA] = "consumergroup, topic, partition",
    };
    int r = buf_printf(out, "\n## Engines, GPUs and queues that are scraped\n\n"
                            "From the table in src/engine/signal.c: what was scraped, under names "
                            "that do not\ndepend on engine and version. What an engine does not "
                            "tell is missing, not 0.\nLabels are there where the engine has "
                            "them, besides those of the target. Signals\nwhose engine tells a "
                            "mean only are called `NAME_mean`.\n\n"
                            "| metric | signal | type | unit | labels | what it is |\n"
                            "|---|---|---|---|---|---|\n");

    for (int i = 0; i < SIGNAL_COUNT_ && r == 0; i++) {
        const struct signal_info *s = &signal_table[i];

        r = buf_printf(out, "| `%s` | `%s` | %s | %s | %s%s%s | %s |\n", s->series, s->name,
                       metric_type_name(s->type), s->unit, labels[signal_kind_of((enum signal)i)],
                       s->label ? ", " : "", s->label ? s->label : "", s->help);
    }
    return r;
}
