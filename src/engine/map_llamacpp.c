/* SPDX-License-Identifier: Apache-2.0 */
/*
 * engine/map_llamacpp.c - the server of llama.cpp, whose versions are builds: b5441.
 *
 * n_tokens_max is a maximum, although its type is counter. When the names of speculation came is
 * known by date only, so that their build is a cautious guess.
 */
#include <stdio.h>

#include "engine/map_private.h"

static void print_build(engine_version v, char *dst)
{
    (void)snprintf(dst, ENGINE_VERSION_TEXT_MAX, "b%u", (unsigned)((v >> 16) & 0xffff));
}

static const struct engine_name names[] = {
    {"llamacpp:kv_cache_tokens", NULL, V(0, 0, 2259), V(0, 0, 5440), 0},
    {"llamacpp:kv_cache_usage_ratio", NULL, V(0, 0, 2259), V(0, 0, 5440), 0},
    {"llamacpp:n_busy_slots_per_decode", NULL, V(0, 0, 3678), ENGINE_NEWEST, 0},
    {"llamacpp:n_decode_total", NULL, V(0, 0, 3678), ENGINE_NEWEST, 0},
    {"llamacpp:n_past_max", NULL, V(0, 0, 6189), V(0, 0, 6893), 0},
    {"llamacpp:n_tokens_max", NULL, V(0, 0, 6894), ENGINE_NEWEST, 0},
    {"llamacpp:predicted_tokens_seconds", NULL, V(0, 0, 2259), ENGINE_NEWEST, 0},
    {"llamacpp:prompt_seconds_total", NULL, V(0, 0, 2364), ENGINE_NEWEST, 0},
    {"llamacpp:prompt_tokens_cached_total", NULL, V(0, 0, 10424), ENGINE_NEWEST, 0},
    {"llamacpp:prompt_tokens_seconds", NULL, V(0, 0, 2259), ENGINE_NEWEST, 0},
    {"llamacpp:prompt_tokens_total", NULL, V(0, 0, 2259), ENGINE_NEWEST, 0},
    {"llamacpp:requests_deferred", NULL, V(0, 0, 2259), ENGINE_NEWEST, 0},
    {"llamacpp:requests_processing", NULL, V(0, 0, 2259), ENGINE_NEWEST, 0},
    {"llamacpp:spec_decode_num_accepted_tokens_per_pos_total", NULL, V(0, 0, 10300), ENGINE_NEWEST,
     OPTIONAL},
    {"llamacpp:spec_decode_num_accepted_tokens_total", NULL, V(0, 0, 10300), ENGINE_NEWEST,
     OPTIONAL},
    {"llamacpp:spec_decode_num_draft_tokens_total", NULL, V(0, 0, 10300), ENGINE_NEWEST, OPTIONAL},
    {"llamacpp:spec_decode_num_drafts_total", NULL, V(0, 0, 10300), ENGINE_NEWEST, OPTIONAL},
    {"llamacpp:tokens_predicted_seconds_total", NULL, V(0, 0, 2364), ENGINE_NEWEST, 0},
    {"llamacpp:tokens_predicted_total", NULL, V(0, 0, 2259), ENGINE_NEWEST, 0},
};

static const struct engine_source sources[] = {
    {.signal = SIGNAL_RUNNING, .part = {M("llamacpp:requests_processing")}, .note = "busy slots"},
    {.signal = SIGNAL_WAITING, .part = {M("llamacpp:requests_deferred")}},
    {.signal = SIGNAL_INFLIGHT,
     .how = ENGINE_ADD,
     .part = {M("llamacpp:requests_processing"), M("llamacpp:requests_deferred")}},
    {.signal = SIGNAL_KV_USAGE, .part = {M("llamacpp:kv_cache_usage_ratio")}},
    {.signal = SIGNAL_KV_USED_TOKENS, .part = {M("llamacpp:kv_cache_tokens")}},
    {.signal = SIGNAL_PROMPT_TOKENS,
     .part = {M("llamacpp:prompt_tokens_total")},
     .flags = ENGINE_SOURCE_NO_CACHED,
     .note = "without tokens from the cache; 6 significant digits: above a million it moves in "
             "steps of 10 and more"},
    {.signal = SIGNAL_GENERATION_TOKENS,
     .part = {M("llamacpp:tokens_predicted_total")},
     .note = "6 significant digits: above a million it moves in steps of 10 and more"},
    {.signal = SIGNAL_CACHED_TOKENS, .part = {M("llamacpp:prompt_tokens_cached_total")}},
    {.signal = SIGNAL_PREFILL,
     .how = ENGINE_SUM_COUNT,
     .part = {M("llamacpp:prompt_seconds_total")},
     .note = "a sum only"},
    {.signal = SIGNAL_DECODE,
     .how = ENGINE_SUM_COUNT,
     .part = {M("llamacpp:tokens_predicted_seconds_total")},
     .note = "a sum only"},
    {.signal = SIGNAL_PROMPT_THROUGHPUT,
     .part = {M("llamacpp:prompt_tokens_seconds")},
     .note = "a mean since the last scrape by anyone: each scrape begins it anew"},
    {.signal = SIGNAL_GENERATION_THROUGHPUT,
     .part = {M("llamacpp:predicted_tokens_seconds")},
     .note = "a mean since the last scrape by anyone: each scrape begins it anew"},
    {.signal = SIGNAL_SPEC_DRAFT_TOKENS,
     .part = {M("llamacpp:spec_decode_num_draft_tokens_total")}},
    {.signal = SIGNAL_SPEC_ACCEPTED_TOKENS,
     .part = {M("llamacpp:spec_decode_num_accepted_tokens_total")}},
    {.signal = SIGNAL_SPEC_DRAFTS, .part = {M("llamacpp:spec_decode_num_drafts_total")}},
};

static const struct engine_prefix prefixes[] = {
    {.as = "llamacpp:", .in_table = "llamacpp:"},
    {.as = NULL},
};

static const struct engine_never never[] = {
    {SIGNAL_PREEMPTIONS, "it has no such metric"},
    {SIGNAL_PREFIX_QUERIES, "it has no such metric"},
    {SIGNAL_PREFIX_HITS, "prompt_tokens_cached_total comes near, from b10424 on"},
    {SIGNAL_TTFT, "it has no such metric"},
    {SIGNAL_ITL, "tokens_predicted_seconds_total by tokens_predicted_total is its mean"},
    {SIGNAL_TPOT, "tokens_predicted_seconds_total by tokens_predicted_total is its mean"},
    {SIGNAL_E2E, "it has no such metric"},
    {SIGNAL_QUEUE, "it has no such metric"},
    {SIGNAL_SUCCESS, "it has no such metric"},
    {SIGNAL_FAILURE, "it has no such metric"},
};

const struct engine_map map_llamacpp = {
    .name = "llama.cpp",
    .title = "llama.cpp",
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
    .print_version = print_build,
    .when_absent = "the server needs --metrics; a router needs ?model=",
};
