/* SPDX-License-Identifier: Apache-2.0 */
/*
 * metrics/family.c - the table itself, and the values of the enumerated labels.
 *
 * Default bounds: latencies from 1 ms to 1 h, roughly 1-2-5, with every threshold of the SLO
 * presets (0.03, 0.05, 0.2, 0.5, 1, 3, 5, 30 s), because a threshold that is a bound is counted
 * exactly. Label sets and recording times follow docs/DEFINITIONS.md ("When, with which labels").
 */
#include "metrics/family.h"

#include <string.h>

#include "record/record.h"
#include "slo/slo.h"

/* --- classic bounds --- */

#define US(x) ((x)*NS_PER_US)
#define MS(x) ((x)*NS_PER_MS)
#define S(x)  ((x)*NS_PER_S)

static const int64_t latency_bounds[] = {
    MS(1),   MS(2),   MS(5),  MS(10),   MS(20), MS(30),  MS(50),  MS(100), MS(200),
    MS(300), MS(500), S(1),   MS(1500), S(2),   S(3),    S(5),    S(10),   S(20),
    S(30),   S(60),   S(120), S(300),   S(600), S(1800), S(3600),
};
static const int64_t gap_bounds[] = {
    MS(1),  MS(2),  MS(3),  MS(5),  US(7500), MS(10),  MS(15),  MS(20),  MS(25),
    MS(30), MS(40), MS(50), MS(75), MS(100),  MS(150), MS(200), MS(300), MS(500),
    S(1),   S(2),   S(3),   S(5),   S(10),    S(30),   S(60),
};
static const int64_t overhead_bounds[] = {
    US(5), US(10), US(20), US(50), US(100), US(200), US(500), MS(1), MS(2),
    MS(5), MS(10), MS(20), MS(50), MS(100), MS(200), MS(500), S(1),
};
static const int64_t stage_bounds[] = {
    US(10),  US(100), MS(1),   MS(2),  MS(5),  MS(10), MS(20),  MS(50),
    MS(100), MS(200), MS(500), S(1),   S(2),   S(3),   S(5),    S(10),
    S(20),   S(30),   S(60),   S(120), S(300), S(600), S(1800), S(3600),
};
static const int64_t path_bounds[] = {
    US(20), US(50), US(100), US(200), US(500), MS(1),   MS(2),   MS(5), MS(10), MS(20), MS(30),
    MS(50), MS(75), MS(100), MS(150), MS(200), MS(300), MS(500), S(1),  S(2),   S(5),
};
/* The first bound 0 tells requests without a cache hit apart. */
static const int64_t cached_bounds[] = {
    0,    1,    2,    5,     10,    20,    50,     100,    200,    500,
    1000, 2000, 5000, 10000, 20000, 50000, 100000, 200000, 500000, 1000000,
};
#define TOKEN_BOUNDS   (cached_bounds + 1)
#define N_TOKEN_BOUNDS (ARRAY_LEN(cached_bounds) - 1)
/* Thousandths of a token. */
static const int64_t per_event_bounds[] = {
    250,  500,   750,   1000,  1250,  1500,  2000,   3000,   4000,    5000,
    8000, 10000, 16000, 20000, 32000, 50000, 100000, 200000, 1000000,
};

#define LATENCY                                                                                    \
    .type = FAMILY_HISTOGRAM, .unit = "seconds", .hist_unit = HIST_NS,                             \
    .default_bounds = latency_bounds, .n_default_bounds = ARRAY_LEN(latency_bounds)
#define GAP                                                                                        \
    .type = FAMILY_HISTOGRAM, .unit = "seconds", .hist_unit = HIST_NS,                             \
    .default_bounds = gap_bounds, .n_default_bounds = ARRAY_LEN(gap_bounds)
#define PATH                                                                                       \
    .type = FAMILY_HISTOGRAM, .unit = "seconds", .hist_unit = HIST_NS,                             \
    .default_bounds = path_bounds, .n_default_bounds = ARRAY_LEN(path_bounds)
#define TOKENS_OF_A_REQUEST                                                                        \
    .type = FAMILY_HISTOGRAM, .unit = "tokens", .hist_unit = HIST_COUNT,                           \
    .default_bounds = TOKEN_BOUNDS, .n_default_bounds = N_TOKEN_BOUNDS

/* --- values of enumerated labels --- */

static const char *outcome_value(int i)
{
    return outcome_name((enum outcome)i);
}

static const char *no_first_token_value(int i)
{
    return no_first_token_name((enum no_first_token)i);
}

static const char *tpot_value(int i)
{
    return tpot_status_name((enum tpot_status)i);
}

static const char *objective_value(int i)
{
    return slo_objective_name((enum slo_objective)i);
}

static const char *stage_value(int i)
{
    return stage_name((enum stage)i);
}

static const char *engine_stage_value(int i)
{
    return engine_stage_name((enum engine_stage)i);
}

static const char *token_type_value(int i)
{
    static const char *const names[TOKEN_TYPE_COUNT_] = {
        [TOKEN_PROMPT] = "prompt",       [TOKEN_COMPLETION] = "completion",
        [TOKEN_CACHED] = "cached",       [TOKEN_CACHE_WRITE] = "cache_write",
        [TOKEN_REASONING] = "reasoning",
    };
    return names[i];
}

static const char *phase_value(int i)
{
    return i == OVERHEAD_REQUEST ? "request" : "event";
}

static const char *rtt_value(int i)
{
    return i == RTT_SMOOTHED ? "smoothed" : "min";
}

static const char *probe_step_value(int i)
{
    static const char *const names[PROBE_STEP_COUNT_] = {
        [PROBE_STEP_DNS] = "dns", [PROBE_STEP_TCP] = "tcp", [PROBE_STEP_TLS] = "tls"};
    return names[i];
}

static const char *probe_failure_value(int i)
{
    static const char *const names[PROBE_FAILURE_COUNT_] = {
        [PROBE_FAILURE_DNS] = "dns",       [PROBE_FAILURE_CONNECT] = "connect",
        [PROBE_FAILURE_TLS] = "tls",       [PROBE_FAILURE_TIMEOUT] = "timeout",
        [PROBE_FAILURE_STATUS] = "status", [PROBE_FAILURE_OTHER] = "other",
    };
    return names[i];
}

static const char *class_value(int i)
{
    return i == ADMISSION_METRIC_INTERACTIVE ? "interactive" : "batch";
}

static const char *rejection_value(int i)
{
    return i == ADMISSION_METRIC_FULL ? "queue_full" : "queue_timeout";
}

static const char *event_kind_value(int i)
{
    return i == STREAM_EVENT_OUTPUT ? "output" : "other";
}

static const char *version_value(int i)
{
    (void)i; /* there is one */
    return PROJECT_VERSION;
}

/* Codes that mean something of their own in front of an engine; the others by class. */
static const int status_codes[] = {200, 400, 401, 403, 404, 408, 413,
                                   429, 499, 500, 502, 503, 504, 529};
static const char *const status_names[] = {
    "200", "400", "401", "403", "404",  "408", "413", "429", "499", "500",
    "502", "503", "504", "529", "none", "1xx", "2xx", "3xx", "4xx", "5xx",
};

static const char *status_value(int i)
{
    return status_names[i];
}

int family_status_index(int status)
{
    int n_codes = (int)ARRAY_LEN(status_codes);
    for (int i = 0; i < n_codes; i++) {
        if (status_codes[i] == status)
            return i;
    }
    return status >= 100 && status < 600 ? n_codes + status / 100 : n_codes;
}

static const struct {
    int64_t upper_tokens;
    const char *name;
} prompt_bands[] = {
    {256, "le256"},   {1024, "le1k"},   {4096, "le4k"},     {8192, "le8k"},
    {16384, "le16k"}, {32768, "le32k"}, {131072, "le128k"}, {INT64_MAX, "gt128k"},
};

static const char *prompt_band_value(int i)
{
    return prompt_bands[i].name;
}

int family_prompt_band(int64_t prompt_tokens)
{
    int i = 0;
    while (prompt_tokens > prompt_bands[i].upper_tokens)
        i++;
    return i;
}

enum { CACHED_UNKNOWN, CACHED_NONE, CACHED_LT_HALF, CACHED_GE_HALF, CACHED_BAND_COUNT_ };

static const char *cached_band_value(int i)
{
    static const char *const names[CACHED_BAND_COUNT_] = {
        [CACHED_UNKNOWN] = "unknown",
        [CACHED_NONE] = "none",
        [CACHED_LT_HALF] = "lt_half",
        [CACHED_GE_HALF] = "ge_half",
    };
    return names[i];
}

int family_cached_band(int64_t prompt_tokens, int64_t cached_tokens)
{
    if (cached_tokens < 0)
        return CACHED_UNKNOWN;
    if (cached_tokens == 0)
        return CACHED_NONE;
    return cached_tokens >= prompt_tokens - cached_tokens ? CACHED_GE_HALF : CACHED_LT_HALF;
}

/* --- the table --- */

#define AT_ONCE  "the instant it happens"
#define AT_END   "at the end of the request"
#define AT_PATH  "at the end of a request, every 100 ms at most of one connection"
#define AT_PROBE "every `probe.interval`"
#define AT_JUDGING                                                                                 \
    "at the end of the request; 0 from the start for what the SLO's `match` names, else from the " \
    "first request on"
#define AT_LOOK "once a second"

const struct family family_table[METRIC_COUNT_] = {
    [METRIC_BACKLOG] =
        {
            .name = "llm_backlog_seconds",
            .help = "Time a request waited in a queue in front of the gateway, as its "
                    "X-Enqueue-Time tells; needs synchronised clocks.",
            .scope = SCOPE_REQUEST,
            .recorded = AT_END,
            LATENCY,
        },
    [METRIC_QUEUE] =
        {
            .name = "llm_queue_seconds",
            .help = "Time a request waited in the gateway's own admission queue.",
            .scope = SCOPE_REQUEST,
            .recorded = AT_ONCE,
            LATENCY,
        },
    [METRIC_TTFT] =
        {
            .name = "llm_ttft_seconds",
            .help = "Time to first token: from the last byte of the request to the first output "
                    "event of the stream.",
            .scope = SCOPE_REQUEST,
            .recorded = AT_ONCE,
            LATENCY,
        },
    [METRIC_TTFA] =
        {
            .name = "llm_ttfa_seconds",
            .help = "Time to first answer token: as time to first token, reasoning not counted.",
            .scope = SCOPE_REQUEST,
            .recorded = AT_ONCE,
            LATENCY,
        },
    [METRIC_UPSTREAM_TTFT] =
        {
            .name = "llm_upstream_ttft_seconds",
            .help = "Time from sending the request upstream to the first token; earlier attempts "
                    "not counted.",
            .scope = SCOPE_REQUEST,
            .recorded = AT_END,
            LATENCY,
        },
    [METRIC_CONNECT] =
        {
            .name = "llm_connect_seconds",
            .help = "Time to a usable new upstream connection: name, TCP and TLS; reused "
                    "connections not counted.",
            .scope = SCOPE_BACKEND,
            .recorded = AT_END,
            LATENCY,
        },
    [METRIC_UPSTREAM_RTT] =
        {
            .name = "llm_upstream_rtt_seconds",
            .help = "Round trip to the upstream on connections with traffic, as the kernel knows "
                    "it: smoothed (with delayed acknowledgements), and the shortest of the last "
                    "minutes.",
            .scope = SCOPE_UPSTREAM,
            .enums = {{"kind", RTT_KIND_COUNT_, rtt_value}},
            .recorded = AT_PATH,
            PATH,
        },
    [METRIC_UPSTREAM_RESENT] =
        {
            .name = "llm_upstream_resent_total",
            .help = "TCP segments to the upstream that had to be sent again.",
            .unit = "",
            .type = FAMILY_COUNTER,
            .scope = SCOPE_UPSTREAM,
            .recorded = AT_PATH,
        },
    [METRIC_CLIENT_RTT] =
        {
            .name = "inferometer_client_rtt_seconds",
            .help = "Round trip to clients, as the kernel knows it: smoothed (with delayed "
                    "acknowledgements), and the shortest of the last minutes.",
            .scope = SCOPE_PROCESS,
            .enums = {{"kind", RTT_KIND_COUNT_, rtt_value}},
            .recorded = AT_PATH,
            PATH,
        },
    [METRIC_CLIENT_RESENT] =
        {
            .name = "inferometer_client_resent_total",
            .help = "TCP segments to clients that had to be sent again.",
            .unit = "",
            .type = FAMILY_COUNTER,
            .scope = SCOPE_PROCESS,
            .recorded = AT_PATH,
        },
    [METRIC_PROBE_CONNECT] =
        {
            .name = "llm_probe_connect_seconds",
            .help = "Steps to a new connection that was made to look how long they take: name, "
                    "TCP, TLS.",
            .scope = SCOPE_UPSTREAM,
            .enums = {{"step", PROBE_STEP_COUNT_, probe_step_value}},
            .recorded = AT_PROBE,
            PATH,
        },
    [METRIC_TOKENIZE] =
        {
            .name = "llm_tokenize_seconds",
            .help = "Time that the upstream's /tokenize took for a fixed text of some 300 bytes, "
                    "one round trip included.",
            .scope = SCOPE_UPSTREAM,
            .recorded = AT_PROBE,
            PATH,
        },
    [METRIC_PROBE_FAILURES] =
        {
            .name = "llm_probe_failures_total",
            .help = "Probes that came to nothing, by reason.",
            .unit = "",
            .type = FAMILY_COUNTER,
            .scope = SCOPE_UPSTREAM,
            .enums = {{"reason", PROBE_FAILURE_COUNT_, probe_failure_value}},
            .recorded = "every `probe.interval`; 0 from the start",
        },
    [METRIC_ICL] =
        {
            .name = "llm_icl_seconds",
            .help = "Inter-chunk latency: gap between consecutive arrivals of output events.",
            .scope = SCOPE_BACKEND,
            .recorded = "per gap, the instant it happens",
            GAP,
        },
    [METRIC_ITL] =
        {
            .name = "llm_itl_seconds",
            .help = "Inter-token latency: gaps weighted by the tokens that arrived behind them.",
            .scope = SCOPE_FINISHED,
            .recorded = AT_END,
            GAP,
        },
    [METRIC_TPOT] =
        {
            .name = "llm_tpot_seconds",
            .help = "Time per output token of a request, the first token not counted.",
            .scope = SCOPE_FINISHED,
            .recorded = AT_END,
            GAP,
        },
    [METRIC_JITTER] =
        {
            .name = "llm_jitter_seconds",
            .help = "Unsteadiness of a stream: p95 less p50 of its gaps.",
            .scope = SCOPE_FINISHED,
            .recorded = AT_END,
            GAP,
        },
    [METRIC_E2E] =
        {
            .name = "llm_e2e_seconds",
            .help = "Time from the last byte of the request to the end of the answer.",
            .scope = SCOPE_FINISHED,
            .enums = {{"outcome", OUTCOME_COUNT_, outcome_value}},
            .recorded = AT_END,
            LATENCY,
        },
    [METRIC_TTFT_BY_PROMPT] =
        {
            .name = "llm_ttft_by_prompt_seconds",
            .help = "Time to first token by size of the prompt and share of it found in the "
                    "engine's cache.",
            .scope = SCOPE_MODEL,
            .enums = {{"prompt_band", ARRAY_LEN(prompt_bands), prompt_band_value},
                      {"cached_band", CACHED_BAND_COUNT_, cached_band_value}},
            .recorded = AT_END,
            LATENCY,
        },
    [METRIC_PROMPT_TOKENS] =
        {
            .name = "llm_prompt_tokens",
            .help = "Prompt tokens of a request, cached ones included, as the engine reported.",
            .scope = SCOPE_FINISHED,
            .recorded = AT_END,
            TOKENS_OF_A_REQUEST,
        },
    [METRIC_COMPLETION_TOKENS] =
        {
            .name = "llm_completion_tokens",
            .help = "Completion tokens of a request, reasoning included, as the engine reported.",
            .scope = SCOPE_FINISHED,
            .recorded = AT_END,
            TOKENS_OF_A_REQUEST,
        },
    [METRIC_CACHED_TOKENS] =
        {
            .name = "llm_cached_tokens",
            .help = "Prompt tokens of a request that the engine read from its cache.",
            .unit = "tokens",
            .type = FAMILY_HISTOGRAM,
            .scope = SCOPE_FINISHED,
            .recorded = AT_END,
            .hist_unit = HIST_COUNT,
            .default_bounds = cached_bounds,
            .n_default_bounds = ARRAY_LEN(cached_bounds),
        },
    [METRIC_TOKENS_PER_EVENT] =
        {
            .name = "llm_tokens_per_event",
            .help = "Completion tokens per output event of a stream.",
            .unit = "",
            .type = FAMILY_HISTOGRAM,
            .scope = SCOPE_FINISHED,
            .recorded = AT_END,
            .hist_unit = HIST_MILLI,
            .default_bounds = per_event_bounds,
            .n_default_bounds = ARRAY_LEN(per_event_bounds),
        },
    [METRIC_TOKENS] =
        {
            .name = "llm_tokens_total",
            .help = "Tokens as engines reported them; cached and cache_write are parts of prompt, "
                    "reasoning of completion.",
            .unit = "tokens",
            .type = FAMILY_COUNTER,
            .scope = SCOPE_FINISHED,
            .enums = {{"type", TOKEN_TYPE_COUNT_, token_type_value}},
            .recorded = AT_END,
        },
    [METRIC_ESTIMATED_TOKENS] =
        {
            .name = "llm_estimated_tokens_total",
            .help =
                "Completion tokens of streams that broke off uncounted, estimated; never part of "
                "llm_tokens_total.",
            .unit = "tokens",
            .type = FAMILY_COUNTER,
            .scope = SCOPE_FINISHED,
            .enums = {{"type", TOKEN_TYPE_COUNT_, token_type_value}},
            .recorded = AT_END,
        },
    [METRIC_COMPLETION_TOKENS_MAX] =
        {
            .name = "llm_completion_tokens_max",
            .help = "Largest number of completion tokens of one request in the last one to two "
                    "minutes, estimates included.",
            .unit = "",
            .type = FAMILY_GAUGE,
            .scope = SCOPE_FINISHED,
            .recorded = "at the end of the request; absent when there was none",
            .is_max = true,
        },
    [METRIC_REQUESTS] =
        {
            .name = "llm_requests_total",
            .help = "Requests by outcome; every request has exactly one.",
            .unit = "",
            .type = FAMILY_COUNTER,
            .scope = SCOPE_FINISHED,
            .enums = {{"outcome", OUTCOME_COUNT_, outcome_value}},
            .recorded = AT_END,
        },
    [METRIC_SLO] =
        {
            .name = "llm_slo_total",
            .help = "Requests that count for an objective of an SLO (docs/DEFINITIONS.md, "
                    "\"Objectives\").",
            .unit = "",
            .type = FAMILY_COUNTER,
            .scope = SCOPE_SLO,
            .enums = {{"objective", SLO_OBJECTIVE_COUNT_, objective_value}},
            .recorded = AT_JUDGING,
        },
    [METRIC_SLO_GOOD] =
        {
            .name = "llm_slo_good_total",
            .help = "Those of llm_slo_total that met the objective.",
            .unit = "",
            .type = FAMILY_COUNTER,
            .scope = SCOPE_SLO,
            .enums = {{"objective", SLO_OBJECTIVE_COUNT_, objective_value}},
            .recorded = AT_JUDGING,
        },
    [METRIC_HTTP_RESPONSES] =
        {
            .name = "llm_http_responses_total",
            .help = "Answers by HTTP status sent to the client, less common ones by class.",
            .unit = "",
            .type = FAMILY_COUNTER,
            .scope = SCOPE_REQUEST,
            .enums = {{"status", ARRAY_LEN(status_names), status_value}},
            .recorded = AT_END,
        },
    [METRIC_ATTEMPTS] =
        {
            .name = "llm_attempts_total",
            .help = "Tries to have a request answered upstream, counted for the upstream of the "
                    "last one.",
            .unit = "",
            .type = FAMILY_COUNTER,
            .scope = SCOPE_BACKEND,
            .recorded = AT_END,
        },
    [METRIC_INFLIGHT] =
        {
            .name = "llm_inflight_requests",
            .help = "Requests that were planned and are not finished.",
            .unit = "",
            .type = FAMILY_GAUGE,
            .scope = SCOPE_REQUEST,
            .recorded = AT_ONCE,
        },
    [METRIC_NO_FIRST_TOKEN] =
        {
            .name = "llm_no_first_token_total",
            .help = "Streams that ended without a first token, by reason.",
            .unit = "",
            .type = FAMILY_COUNTER,
            .scope = SCOPE_REQUEST,
            .enums = {{"reason", NO_FIRST_TOKEN_COUNT_, no_first_token_value}},
            .recorded = "at the end of the request; every reason is 0 from the first stream on",
        },
    [METRIC_TPOT_UNMEASURABLE] =
        {
            .name = "llm_tpot_unmeasurable_total",
            .help = "Streams with a first token and no time per output token, by reason.",
            .unit = "",
            .type = FAMILY_COUNTER,
            .scope = SCOPE_FINISHED,
            .enums = {{"reason", TPOT_STATUS_COUNT_, tpot_value}},
            .recorded = AT_END,
        },
    [METRIC_STALLS] =
        {
            .name = "llm_stalls_total",
            .help = "Gaps over 1 s and over ten times the stream's median gap.",
            .unit = "",
            .type = FAMILY_COUNTER,
            .scope = SCOPE_FINISHED,
            .recorded = AT_END,
        },
    [METRIC_BUFFERED_STREAMS] =
        {
            .name = "llm_buffered_streams_total",
            .help = "Streams that something between the engine and the gateway held back until a "
                    "buffer was full.",
            .unit = "",
            .type = FAMILY_COUNTER,
            .scope = SCOPE_BACKEND,
            .recorded = "at the end of the request; 0 from the first stream on",
        },
    [METRIC_RUNAWAY_STREAMS] =
        {
            .name = "llm_runaway_streams_total",
            .help = "Streams that went past the configured number of completion tokens or seconds.",
            .unit = "",
            .type = FAMILY_COUNTER,
            .scope = SCOPE_REQUEST,
            .recorded = "within a second of passing the limit",
        },
    [METRIC_STREAM_EVENTS] =
        {
            .name = "llm_stream_events_total",
            .help = "Stream events received, those that carry output and others.",
            .unit = "",
            .type = FAMILY_COUNTER,
            .scope = SCOPE_FINISHED,
            .enums = {{"kind", STREAM_EVENT_KIND_COUNT_, event_kind_value}},
            .recorded = AT_END,
        },
    [METRIC_OVERHEAD] =
        {
            .name = "inferometer_overhead_seconds",
            .help = "Time the gateway itself added to a request before sending it, and to an event "
                    "before passing it on.",
            .unit = "seconds",
            .type = FAMILY_HISTOGRAM,
            .scope = SCOPE_PROCESS,
            .enums = {{"phase", OVERHEAD_PHASE_COUNT_, phase_value}},
            .recorded = "request: at its end; event: the instant it was passed on",
            .hist_unit = HIST_NS,
            .default_bounds = overhead_bounds,
            .n_default_bounds = ARRAY_LEN(overhead_bounds),
        },
    [METRIC_STAGE] =
        {
            .name = "inferometer_stage_seconds",
            .help = "Time in each stage of a request, over all models; the stages of a request add "
                    "up to its whole time.",
            .unit = "seconds",
            .type = FAMILY_HISTOGRAM,
            .scope = SCOPE_PROCESS,
            .enums = {{"stage", STAGE_COUNT_, stage_value}},
            .recorded = AT_END,
            .hist_unit = HIST_NS,
            .default_bounds = stage_bounds,
            .n_default_bounds = ARRAY_LEN(stage_bounds),
        },
    [METRIC_ENGINE_STAGE] =
        {
            .name = "llm_engine_stage_seconds",
            .help = "What engines tell about their own time for a request: queue, load, prefill, "
                    "decode, total; unattributed is what is left of upstream TTFT.",
            .unit = "seconds",
            .type = FAMILY_HISTOGRAM,
            .scope = SCOPE_BACKEND,
            .enums = {{"stage", ENGINE_STAGE_COUNT_, engine_stage_value}},
            .recorded = AT_END,
            .hist_unit = HIST_NS,
            .default_bounds = stage_bounds,
            .n_default_bounds = ARRAY_LEN(stage_bounds),
        },
    [METRIC_UPSTREAM_SILENT] =
        {
            .name = "llm_upstream_silent_seconds",
            .help = "How long requests have waited for this upstream without output of any answer; "
                    "0 while none waits.",
            .unit = "seconds",
            .type = FAMILY_GAUGE,
            .scope = SCOPE_UPSTREAM,
            .recorded = "once a second, in whole seconds",
        },
    [METRIC_ADMISSION_INFLIGHT] =
        {
            .name = "inferometer_admission_inflight",
            .help = "Requests that were let through to this upstream and are not finished.",
            .unit = "",
            .type = FAMILY_GAUGE,
            .scope = SCOPE_UPSTREAM,
            .recorded = AT_LOOK,
        },
    [METRIC_ADMISSION_TOKENS] =
        {
            .name = "inferometer_admission_tokens",
            .help = "Estimated tokens of the requests that were let through to this upstream and "
                    "are not finished.",
            .unit = "tokens",
            .type = FAMILY_GAUGE,
            .scope = SCOPE_UPSTREAM,
            .recorded = AT_LOOK,
        },
    [METRIC_ADMISSION_WAITING] =
        {
            .name = "inferometer_admission_waiting",
            .help = "Requests that wait in the gateway until this upstream's limits let them "
                    "through.",
            .unit = "",
            .type = FAMILY_GAUGE,
            .scope = SCOPE_UPSTREAM,
            .enums = {{"class", ADMISSION_METRIC_CLASS_COUNT_, class_value}},
            .recorded = AT_LOOK,
        },
    [METRIC_ADMISSION_REJECTED] =
        {
            .name = "inferometer_admission_rejected_total",
            .help = "Requests that this upstream's limits turned away: refused with 429, unless "
                    "another upstream took them.",
            .unit = "",
            .type = FAMILY_COUNTER,
            .scope = SCOPE_UPSTREAM,
            .enums = {{"class", ADMISSION_METRIC_CLASS_COUNT_, class_value},
                      {"reason", ADMISSION_METRIC_REASON_COUNT_, rejection_value}},
            .recorded = "once a second; 0 from the start on",
        },
    [METRIC_BREAKER_OPEN] =
        {
            .name = "inferometer_breaker_open",
            .help = "1 while the upstream fails and others are asked first.",
            .unit = "",
            .type = FAMILY_GAUGE,
            .scope = SCOPE_UPSTREAM,
            .recorded = "once a second",
        },
    [METRIC_BREAKER_OPENINGS] =
        {
            .name = "inferometer_breaker_openings_total",
            .help = "Times that the upstream was found to fail.",
            .unit = "",
            .type = FAMILY_COUNTER,
            .scope = SCOPE_UPSTREAM,
            .recorded = "once a second",
        },
    [METRIC_SERIES] =
        {
            .name = "inferometer_series",
            .help = "Series that count against the series limit.",
            .unit = "",
            .type = FAMILY_GAUGE,
            .scope = SCOPE_PROCESS,
            .recorded = "when read",
            .is_computed = true,
        },
    [METRIC_BUILD_INFO] =
        {
            .name = "inferometer_build_info",
            .help = "Always 1; the version of the program is its label.",
            .unit = "",
            .type = FAMILY_GAUGE,
            .scope = SCOPE_PROCESS,
            .enums = {{"version", 1, version_value}},
            .recorded = "when read",
            .is_computed = true,
        },
};

const char *family_type_name(enum family_type type)
{
    static const char *const names[] = {
        [FAMILY_COUNTER] = "counter", [FAMILY_GAUGE] = "gauge", [FAMILY_HISTOGRAM] = "histogram"};
    return names[type];
}

size_t family_scope_labels(enum family_scope scope, const char *ret[FAMILY_SCOPE_LABELS_MAX])
{
    static const char *const names[SCOPE_COUNT_][FAMILY_SCOPE_LABELS_MAX] = {
        [SCOPE_PROCESS] = {NULL},
        [SCOPE_MODEL] = {"model"},
        [SCOPE_UPSTREAM] = {"upstream"},
        [SCOPE_BACKEND] = {"model", "upstream", "version"},
        [SCOPE_REQUEST] = {"model", "endpoint", "upstream", "version"},
        [SCOPE_FINISHED] = {"model", "endpoint", "upstream", "version", "stream"},
        [SCOPE_SLO] = {"model", "upstream", "slo"},
    };
    size_t n = 0;
    while (n < FAMILY_SCOPE_LABELS_MAX && names[scope][n]) {
        ret[n] = names[scope][n];
        n++;
    }
    return n;
}

bool family_has_business(enum family_scope scope)
{
    return scope == SCOPE_REQUEST || scope == SCOPE_FINISHED;
}

static bool has_label(const struct family *f, const char *name)
{
    const char *scope[FAMILY_SCOPE_LABELS_MAX];
    size_t n = family_scope_labels(f->scope, scope);
    for (size_t i = 0; i < n; i++) {
        if (strcmp(scope[i], name) == 0)
            return true;
    }
    for (int i = 0; i < FAMILY_ENUMS_MAX; i++) {
        if (f->enums[i].label && strcmp(f->enums[i].label, name) == 0)
            return true;
    }
    return false;
}

bool family_is_label(const char *name)
{
    bool is_one = strcmp(name, "le") == 0 || strcmp(name, "quantile") == 0;
    for (int m = 0; m < METRIC_COUNT_ && !is_one; m++)
        is_one = has_label(&family_table[m], name);
    return is_one;
}

int family_n_slots(enum metric m)
{
    int n = 1;
    for (int i = 0; i < FAMILY_ENUMS_MAX; i++)
        n *= family_table[m].enums[i].label ? family_table[m].enums[i].n : 1;
    return n;
}

enum metric family_find(const char *name)
{
    int m = 0;
    while (m < METRIC_COUNT_ && strcmp(family_table[m].name, name) != 0)
        m++;
    return (enum metric)m;
}
