/* SPDX-License-Identifier: Apache-2.0 */
/*
 * engine/map_tgi.c - HuggingFace TGI.
 *
 * Counters have no _total, durations no unit; names come with their first sample, so that none of
 * them is missed.
 */
#include "engine/map_private.h"

static const struct engine_name names[] = {
    {"tgi_batch_concat", NULL, V(1, 0, 0), ENGINE_NEWEST, OPTIONAL},
    {"tgi_batch_concat_duration", NULL, V(1, 4, 0), ENGINE_NEWEST, OPTIONAL},
    {"tgi_batch_current_max_tokens", NULL, V(1, 0, 0), ENGINE_NEWEST, OPTIONAL},
    {"tgi_batch_current_size", NULL, V(1, 0, 0), ENGINE_NEWEST, OPTIONAL},
    {"tgi_batch_decode_duration", NULL, V(1, 4, 0), ENGINE_NEWEST, OPTIONAL},
    {"tgi_batch_filter_duration", NULL, V(1, 4, 0), ENGINE_NEWEST, OPTIONAL},
    {"tgi_batch_forward_duration", NULL, V(1, 4, 0), ENGINE_NEWEST, OPTIONAL},
    {"tgi_batch_inference_count", NULL, V(1, 0, 0), ENGINE_NEWEST, OPTIONAL},
    {"tgi_batch_inference_duration", NULL, V(1, 0, 0), ENGINE_NEWEST, OPTIONAL},
    {"tgi_batch_inference_failure", NULL, V(1, 0, 0), ENGINE_NEWEST, OPTIONAL},
    {"tgi_batch_inference_success", NULL, V(1, 0, 0), ENGINE_NEWEST, OPTIONAL},
    {"tgi_batch_max_total_tokens", NULL, V(2, 3, 0), ENGINE_NEWEST, OPTIONAL},
    {"tgi_batch_next_size", NULL, V(1, 0, 0), ENGINE_NEWEST, OPTIONAL},
    {"tgi_queue_size", NULL, V(1, 0, 0), ENGINE_NEWEST, OPTIONAL},
    {"tgi_request_count", NULL, V(1, 0, 0), ENGINE_NEWEST, OPTIONAL},
    {"tgi_request_duration", NULL, V(1, 0, 0), ENGINE_NEWEST, OPTIONAL},
    {"tgi_request_failure", NULL, V(1, 0, 0), ENGINE_NEWEST, OPTIONAL},
    {"tgi_request_generated_tokens", NULL, V(1, 0, 0), ENGINE_NEWEST, OPTIONAL},
    {"tgi_request_inference_duration", NULL, V(1, 0, 0), ENGINE_NEWEST, OPTIONAL},
    {"tgi_request_input_length", NULL, V(1, 0, 0), ENGINE_NEWEST, OPTIONAL},
    {"tgi_request_max_new_tokens", NULL, V(1, 0, 0), ENGINE_NEWEST, OPTIONAL},
    {"tgi_request_mean_time_per_token_duration", NULL, V(1, 0, 0), ENGINE_NEWEST, OPTIONAL},
    {"tgi_request_queue_duration", NULL, V(1, 0, 0), ENGINE_NEWEST, OPTIONAL},
    {"tgi_request_skipped_tokens", NULL, V(1, 0, 0), ENGINE_NEWEST, OPTIONAL},
    {"tgi_request_skipped_tokens", "le", V(1, 0, 0), P(2, 2, 65535, 65535), OPTIONAL},
    {"tgi_request_skipped_tokens", "quantile", V(2, 3, 0), ENGINE_NEWEST, OPTIONAL},
    {"tgi_request_success", NULL, V(1, 0, 0), ENGINE_NEWEST, OPTIONAL},
    {"tgi_request_validation_duration", NULL, V(1, 0, 0), ENGINE_NEWEST, OPTIONAL},
};

static const struct engine_source sources[] = {
    {.signal = SIGNAL_RUNNING, .part = {M("tgi_batch_current_size")}},
    {.signal = SIGNAL_WAITING, .part = {M("tgi_queue_size")}},
    {.signal = SIGNAL_INFLIGHT,
     .how = ENGINE_ADD,
     .part = {M("tgi_batch_current_size"), M("tgi_queue_size")}},
    {.signal = SIGNAL_KV_USAGE,
     .how = ENGINE_RATIO,
     .part = {M("tgi_batch_current_max_tokens"), M("tgi_batch_max_total_tokens")},
     .flags = ENGINE_SOURCE_APPROXIMATE,
     .note = "what the batch has reserved for the worst case, not what it uses"},
    {.signal = SIGNAL_KV_USED_TOKENS,
     .part = {M("tgi_batch_current_max_tokens")},
     .flags = ENGINE_SOURCE_APPROXIMATE,
     .note = "reserved for the worst case, not in use"},
    {.signal = SIGNAL_KV_TOTAL_TOKENS, .part = {M("tgi_batch_max_total_tokens")}},
    {.signal = SIGNAL_PROMPT_TOKENS,
     .how = ENGINE_HIST_SUM,
     .part = {M("tgi_request_input_length")},
     .flags = ENGINE_SOURCE_AT_FINISH,
     .note = "counted when a request ends"},
    {.signal = SIGNAL_GENERATION_TOKENS,
     .how = ENGINE_HIST_SUM,
     .part = {M("tgi_request_generated_tokens")},
     .flags = ENGINE_SOURCE_AT_FINISH,
     .note = "counted when a request ends"},
    {.signal = SIGNAL_TPOT,
     .part = {M("tgi_request_mean_time_per_token_duration")},
     .flags = ENGINE_SOURCE_APPROXIMATE,
     .note = "inference time by generated tokens: prefill is in it"},
    {.signal = SIGNAL_E2E, .part = {M("tgi_request_duration")}},
    {.signal = SIGNAL_QUEUE, .part = {M("tgi_request_queue_duration")}},
    {.signal = SIGNAL_INFERENCE, .part = {M("tgi_request_inference_duration")}},
    {.signal = SIGNAL_REQUEST_PROMPT_TOKENS, .part = {M("tgi_request_input_length")}},
    {.signal = SIGNAL_REQUEST_GENERATION_TOKENS, .part = {M("tgi_request_generated_tokens")}},
    {.signal = SIGNAL_SUCCESS, .part = {M("tgi_request_success")}, .note = "without a reason"},
    {.signal = SIGNAL_FAILURE, .part = {M("tgi_request_failure")}, .label_from = "err"},
    {.signal = SIGNAL_ARRIVED, .part = {M("tgi_request_count")}},
};

static const struct engine_prefix prefixes[] = {
    {.as = "tgi_", .in_table = "tgi_"},
    {.as = NULL},
};

static const struct engine_never never[] = {
    {SIGNAL_TTFT,
     "queue time and tgi_batch_inference_duration{method=\"prefill\"} together come near"},
    {SIGNAL_ITL, "it has no such metric"},
    {SIGNAL_PREEMPTIONS, "it reserves for the worst case and does not preempt"},
    {SIGNAL_CACHED_TOKENS, "it has no such metric"},
    {SIGNAL_PREFIX_QUERIES, "it has no such metric"},
    {SIGNAL_PREFIX_HITS, "it has no such metric"},
    {SIGNAL_PREFILL,
     "tgi_batch_inference_duration{method=\"prefill\"} is by batch, not by request"},
    {SIGNAL_DECODE, "tgi_batch_inference_duration{method=\"decode\"} is by batch, not by request"},
};

const struct engine_map map_tgi = {
    .name = "tgi",
    .title = "TGI",
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
};
