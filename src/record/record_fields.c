/* SPDX-License-Identifier: Apache-2.0 */
/*
 * record/record_fields.c - the one table of a record's fields.
 *
 * The order is the order in the JSON line and in docs/RECORD.md. A new field is one row here.
 */
#include "record/record.h"

const char record_group_stream[] = "Stream";

/* Enum members are read as int; these give the table's functions the type it wants. */
static const char *outcome_at(int i)
{
    return outcome_name((enum outcome)i);
}

static const char *stamp_source_at(int i)
{
    return stamp_source_name((enum stamp_source)i);
}

static const char *usage_source_at(int i)
{
    return usage_source_name((enum usage_source)i);
}

static const char *tpot_status_at(int i)
{
    return tpot_status_name((enum tpot_status)i);
}

_Static_assert(sizeof(enum outcome) == sizeof(int) && sizeof(enum tpot_status) == sizeof(int),
               "the writer reads enum members as int");

#define MEMBER(m) .offset = offsetof(struct record, m), .size = sizeof(((struct record *)0)->m)
/* Behind the key, so that RECORD_KEY_ROOM bytes of it can be read. */
#define BLANKS "                                "
_Static_assert(sizeof(BLANKS) > RECORD_KEY_ROOM, "as many as the room");
#define JSON_KEY(quoted)                                                                           \
    {                                                                                              \
        quoted BLANKS, sizeof(quoted) - 1                                                          \
    }
#define FIELD(key, heading, kind, text)                                                            \
    .name = "" key "", .json_key = JSON_KEY("\"" key "\":"), .group = (heading), .type = (kind),   \
    .help = (text)
#define ROW(key, heading, kind, member, in, text)                                                  \
    {                                                                                              \
        FIELD(key, heading, kind, text), MEMBER(member), .unit = (in)                              \
    }
#define BASE(key, heading, kind, member, in, text)                                                 \
    {                                                                                              \
        FIELD(key, heading, kind, text), MEMBER(member), .unit = (in), .is_base = true             \
    }
#define NAMED(key, heading, kind, member, base, fn, text)                                          \
    {                                                                                              \
        FIELD(key, heading, kind, text), MEMBER(member), .unit = "", .enum_name = (fn),            \
                                                         .is_base = (base)                         \
    }
#define STAGE(key, stage, text)                                                                    \
    ROW("stage_" key "_ms", "Stages", RECORD_DURATION, stage_ns[stage], "ms", text)

/* Of the connection to a peer, at the end of the request. */
#define PATH(key, member, peer)                                                                    \
    ROW(key "_rtt_ms", "Durations", RECORD_DURATION, member.rtt_ns, "ms",                          \
        "Round trip to the " peer                                                                  \
        " as the kernel smooths it, delayed acknowledgements included; absent when the "           \
        "connection was looked at within 100 ms before, and for Unix sockets"),                    \
        ROW(key "_rtt_min_ms", "Durations", RECORD_DURATION, member.rtt_min_ns, "ms",              \
            "The shortest round trip to the " peer " of the last minutes: that of the network"),   \
        ROW(key "_resent", "Durations", RECORD_INT, member.n_resent, "",                           \
            "Segments to the " peer                                                                \
            " that had to be sent again since the look at the connection before; absent: none")

#define ENGINE(key, stage, text)                                                                   \
    ROW("engine_" key "_ms", "Engine", RECORD_DURATION, engine_ns[stage], "ms", text)

const struct record_field record_fields[] = {
    BASE("started_at", "Identity", RECORD_WALL, started_at, "",
         "Wall time of the request's first byte, UTC"),
    BASE("request_id", "Identity", RECORD_STR, request_id, "",
         "The gateway's id, returned to the client as X-Request-Id"),
    ROW("client_request_id", "Identity", RECORD_STR, client_request_id, "",
        "The X-Request-Id that the client sent (64 characters of A-Z a-z 0-9 . _ - at most)"),
    ROW("trace_id", "Identity", RECORD_STR, trace_id, "", "Trace id of a valid traceparent header"),
    ROW("key_id", "Identity", RECORD_STR, key_id, "",
        "Id of the gateway key that the request showed, also where it was refused"),
    ROW("tenant", "Identity", RECORD_STR, tenant, "", "Whose key that is"),
    ROW("labels", "Identity", RECORD_LABELS, labels, "",
        "Business labels that the configuration names and this request has a value for"),
    BASE("endpoint", "Identity", RECORD_CSTR, endpoint, "",
         "Name of the route in the fixed route list, or other"),
    ROW("dialect", "Identity", RECORD_CSTR, dialect, "", "API dialect the answer was read with"),
    BASE("method", "Identity", RECORD_STR, method, "", "HTTP method"),
    BASE("upstream", "Identity", RECORD_STR, upstream, "", "Name of the upstream"),
    BASE("model", "Identity", RECORD_STR, model_requested, "", "Model that the client asked for"),
    ROW("model_version", "Identity", RECORD_STR, model_version, "",
        "Version of the model or deployment, as the upstream's configuration tells"),
    ROW("model_upstream", "Identity", RECORD_STR, model_upstream, "",
        "Model as sent to the upstream"),
    ROW("engine_fingerprint", "Identity", RECORD_STR, engine_fingerprint, "",
        "system_fingerprint of the answer: changes with the engine's configuration"),
    ROW("model_response", "Identity", RECORD_STR, model_response, "",
        "Model that the answer names"),

    NAMED("outcome", "Result", RECORD_ENUM, outcome, true, outcome_at, "Exactly one per request"),
    ROW("outcome_reason", "Result", RECORD_STR, outcome_reason, "",
        "Detail of the outcome: refused, first_byte, an error type; never an error's text"),
    BASE("status", "Result", RECORD_INT, status, "", "HTTP status sent to the client"),
    ROW("upstream_status", "Result", RECORD_INT, upstream_status, "",
        "HTTP status of the upstream"),
    BASE("is_stream", "Result", RECORD_BOOL, is_stream, "", "The answer is a stream"),
    ROW("finish_reason", "Result", RECORD_STR, finish_reason, "", "Why the model stopped"),
    ROW("unobserved", "Result", RECORD_STR, unobserved, "",
        "Why the answer was not measured: content_coded, too_large, no_memory, malformed"),
    BASE("n_attempts", "Result", RECORD_U32, n_attempts, "", "Tries at the upstream"),
    NAMED("flags", "Result", RECORD_FLAGS, flags, true, record_flag_name,
          "What has to be known to read the numbers"),

    BASE("total_ms", "Durations", RECORD_DURATION, total_ns, "ms", "t_delivered - t_accept"),
    BASE("ttft_ms", "Durations", RECORD_DURATION, ttft_ns, "ms",
         "Time to first token: t_first_token - t_request; streams only"),
    ROW("ttfa_ms", "Durations", RECORD_DURATION, ttfa_ns, "ms",
        "Time to first answer token (not reasoning): t_first_answer - t_request"),
    ROW("upstream_ttft_ms", "Durations", RECORD_DURATION, upstream_ttft_ns, "ms",
        "t_first_token - t_sent: what the upstream is answerable for"),
    BASE("e2e_ms", "Durations", RECORD_DURATION, e2e_ns, "ms",
         "t_end_event (streams) or t_done - t_request"),
    ROW("backlog_ms", "Durations", RECORD_DURATION, backlog_ns, "ms",
        "In a queue in front of the gateway: from the client's X-Enqueue-Time to started_at, by "
        "two "
        "wall clocks"),
    ROW("queue_ms", "Durations", RECORD_DURATION, queue_ns, "ms",
        "The gateway's own queue: t_admitted - t_routed"),
    ROW("ttfb_ms", "Durations", RECORD_DURATION, ttfb_ns, "ms", "t_first_byte - t_request"),
    ROW("ttfe_ms", "Durations", RECORD_DURATION, ttfe_ns, "ms", "t_first_event - t_request"),
    ROW("overhead_ms", "Durations", RECORD_DURATION, overhead_request_ns, "ms",
        "The gateway's own cost: (t_routed - t_request) + (t_sent - max(t_admitted, t_connected, "
        "t_request))"),
    ROW("connect_dns_ms", "Durations", RECORD_DURATION, connect_dns_ns, "ms",
        "Name resolution, when done for this request"),
    ROW("connect_tcp_ms", "Durations", RECORD_DURATION, connect_tcp_ns, "ms",
        "TCP handshake, when done for this request; through a proxy, up to its answer"),
    ROW("connect_tls_ms", "Durations", RECORD_DURATION, connect_tls_ns, "ms",
        "TLS handshake, when done for this request"),
    BASE("client_blocked_ms", "Durations", RECORD_DURATION, client_blocked_ns, "ms",
         "Time in which bytes waited because the client did not read"),
    PATH("client", client_path, "client"),
    PATH("upstream", upstream_path, "upstream"),
    NAMED("stamp_source", "Durations", RECORD_ENUM, stamp_source, true, stamp_source_at,
          "Where receive stamps came from: kernel, clock, mixed"),

    STAGE("receive", STAGE_RECEIVE, "First to last byte of the request"),
    STAGE("auth", STAGE_AUTH, "Whose key it is; absent where the gateway asks for none"),
    STAGE("route", STAGE_ROUTE, "Planning: rights and limits of the key, model, upstream, edits"),
    STAGE("queue", STAGE_QUEUE, "Waiting for admission"),
    STAGE("retry", STAGE_RETRY, "Earlier attempts and back-off"),
    STAGE("connect", STAGE_CONNECT, "DNS, TCP, TLS; absent on a reused connection"),
    STAGE("send", STAGE_SEND, "Sending the request upstream"),
    STAGE("wait", STAGE_WAIT, "From the request's last byte to the answer's head"),
    STAGE("first_event", STAGE_FIRST_EVENT, "From the head to the first stream event of any kind"),
    STAGE("first_token", STAGE_FIRST_TOKEN, "From the first event to the first output"),
    STAGE("reasoning", STAGE_REASONING, "From the first output to the first answer output"),
    STAGE("answer", STAGE_ANSWER, "To the last output; non-streams: from head to end of body"),
    STAGE("tail", STAGE_TAIL, "From the last output to the end of the answer"),
    STAGE("delivery", STAGE_DELIVERY, "Until the client had the last byte"),

    ENGINE("queue", ENGINE_QUEUE, "Waiting until the engine scheduled the request, as it tells"),
    ENGINE("load", ENGINE_LOAD, "Loading the model, as the engine tells"),
    ENGINE("prefill", ENGINE_PREFILL,
           "From scheduling to the first token, as the engine tells (vLLM's time_to_first_token_ms "
           "is this)"),
    ENGINE("decode", ENGINE_DECODE, "From the first token to the last, as the engine tells"),
    ENGINE("total", ENGINE_TOTAL, "The whole request, as the engine tells"),
    ENGINE(
        "unattributed", ENGINE_UNATTRIBUTED,
        "upstream_ttft - (engine queue + prefill): network, HTTP, tokenising; where both are told"),

    ROW("tpot_ms", record_group_stream, RECORD_DURATION, timing.tpot_ns, "ms",
        "Time per output token after the first one"),
    NAMED("tpot_status", record_group_stream, RECORD_ENUM, timing.tpot_status, false,
          tpot_status_at, "ok, or why there is no TPOT sample"),
    ROW("jitter_ms", record_group_stream, RECORD_DURATION, timing.jitter_ns, "ms",
        "p95 - p50 of the gaps"),
    ROW("icl_p50_ms", record_group_stream, RECORD_DURATION, timing.gap_p50_ns, "ms", "Median gap"),
    ROW("icl_p95_ms", record_group_stream, RECORD_DURATION, timing.gap_p95_ns, "ms",
        "95th percentile gap"),
    ROW("icl_max_ms", record_group_stream, RECORD_DURATION, timing.gap_max_ns, "ms",
        "Longest gap, exact"),
    ROW("tokens_per_event", record_group_stream, RECORD_DOUBLE, timing.tokens_per_event, "tokens",
        "Completion tokens that streamed per output event"),
    ROW("n_stalls", record_group_stream, RECORD_U32, timing.n_stalls, "",
        "Gaps over max(1 s, 10 x the median gap)"),
    ROW("stall_max_ms", record_group_stream, RECORD_DURATION, timing.stall_max_ns, "ms",
        "Longest of them"),
    ROW("n_events", record_group_stream, RECORD_U32, n_events, "", "Stream events of any kind"),
    ROW("n_output_events", record_group_stream, RECORD_U32, n_output_events, "",
        "Events with output"),
    ROW("n_content_events", record_group_stream, RECORD_U32, n_content_events, "",
        "Events with output, tool names and opaque reasoning left out"),
    ROW("n_arrivals", record_group_stream, RECORD_U32, n_arrivals, "", "Reads that brought output"),
    ROW("n_coalesced", record_group_stream, RECORD_U32, n_coalesced, "",
        "Output events that shared a read with an earlier one"),
    NAMED("output_kinds", record_group_stream, RECORD_FLAGS, output_kinds, false,
          record_output_kind_name, "Kinds of output seen"),
    ROW("buffer_bytes", record_group_stream, RECORD_INT, buffer_bytes, "bytes",
        "With buffered_hop: likely size of the buffer before the gateway that held the stream "
        "back"),

    NAMED("usage_source", "Tokens", RECORD_ENUM, usage_source, true, usage_source_at,
          "engine, estimated, or none"),
    BASE("prompt_tokens", "Tokens", RECORD_I64, prompt_tokens, "tokens",
         "Total input, cached tokens included"),
    BASE("completion_tokens", "Tokens", RECORD_I64, completion_tokens, "tokens",
         "Total output, reasoning included"),
    ROW("cached_tokens", "Tokens", RECORD_I64, cached_tokens, "tokens",
        "Part of prompt_tokens read from a cache"),
    ROW("cache_write_tokens", "Tokens", RECORD_I64, cache_write_tokens, "tokens",
        "Part of prompt_tokens written to a cache"),
    ROW("reasoning_tokens", "Tokens", RECORD_I64, reasoning_tokens, "tokens",
        "Part of completion_tokens"),
    ROW("raw_prompt_tokens", "Tokens", RECORD_RAW_I64, raw_prompt_tokens, "tokens", "As reported"),
    ROW("raw_completion_tokens", "Tokens", RECORD_RAW_I64, raw_completion_tokens, "tokens",
        "As reported"),
    ROW("raw_cached_tokens", "Tokens", RECORD_RAW_I64, raw_cached_tokens, "tokens", "As reported"),
    ROW("raw_cache_write_tokens", "Tokens", RECORD_RAW_I64, raw_cache_write_tokens, "tokens",
        "As reported"),
    ROW("raw_reasoning_tokens", "Tokens", RECORD_RAW_I64, raw_reasoning_tokens, "tokens",
        "As reported"),
    ROW("max_tokens", "Tokens", RECORD_I64, max_tokens, "tokens", "Limit that the client set"),

    ROW("timeline_from_ns", record_group_stream, RECORD_I64, timeline_from_ns, "ns",
        "CLOCK_MONOTONIC of the gateway's machine at t_request, to lay the timeline beside stamps "
        "of "
        "other programs"),
    ROW("timeline", record_group_stream, RECORD_TIMELINE, timeline, "",
        "When output arrived: [ms since t_request, output events, tokens where told else 0] for "
        "each "
        "arrival; kept for slow, failed and sampled streams"),

    BASE("request_bytes", "Sizes", RECORD_U64, request_bytes, "bytes", "Request body"),
    BASE("response_bytes", "Sizes", RECORD_U64, response_bytes, "bytes", "Answer body as received"),
};
const size_t record_n_fields = ARRAY_LEN(record_fields);
