/* SPDX-License-Identifier: Apache-2.0 */
/*
 * engine/map_localai.c - LocalAI.
 */
#include "engine/map_private.h"

static const struct engine_name names[] = {
    {"api_call", NULL, V(2, 0, 0), ENGINE_NEWEST, OPTIONAL},
    {"localai_agent_run_seconds", NULL, V(2, 0, 0), ENGINE_NEWEST, OPTIONAL},
    {"localai_agent_runs_total", NULL, V(2, 0, 0), ENGINE_NEWEST, OPTIONAL},
    {"localai_billed_requests_total", NULL, V(2, 0, 0), ENGINE_NEWEST, OPTIONAL},
    {"localai_cost_usd_total", NULL, V(2, 0, 0), ENGINE_NEWEST, OPTIONAL},
    {"localai_pii_events_total", NULL, V(2, 0, 0), ENGINE_NEWEST, OPTIONAL},
    {"localai_tokens_total", NULL, V(2, 0, 0), ENGINE_NEWEST, OPTIONAL},
    {"localai_usage_unrecorded_total", NULL, V(2, 0, 0), ENGINE_NEWEST, OPTIONAL},
};

static const struct engine_source sources[] = {
    {.signal = SIGNAL_PROMPT_TOKENS, .part = {OF("localai_tokens_total", "kind=\"prompt\"")}},
    {.signal = SIGNAL_GENERATION_TOKENS,
     .part = {OF("localai_tokens_total", "kind=\"completion\"")}},
    {.signal = SIGNAL_E2E,
     .part = {M("api_call")},
     .flags = ENGINE_SOURCE_APPROXIMATE,
     .note = "of all calls of its HTTP interface"},
};

static const struct engine_prefix prefixes[] = {
    {.as = "localai_", .in_table = "localai_"},
    {.as = "api_call", .in_table = "api_call", .n_min = 1, .flags = ENGINE_PREFIX_EXACT},
    {.as = NULL},
};

static const enum signal expected[] = {
    SIGNAL_E2E,
    SIGNAL_PROMPT_TOKENS,
    SIGNAL_GENERATION_TOKENS,
};

const struct engine_map map_localai = {
    .name = "localai",
    .title = "LocalAI",
    .rank = ENGINE_RANK_ENGINE,
    .prefixes = prefixes,
    .names = names,
    .n_names = ARRAY_LEN(names),
    .sources = sources,
    .n_sources = ARRAY_LEN(sources),
    .expected = expected,
    .n_expected = ARRAY_LEN(expected),
    .print_version = map_print_release,
};
