/* SPDX-License-Identifier: Apache-2.0 */
/*
 * record/record.c - names, and everything that follows from the stamps.
 *
 * Why one chain: stages must add up to the whole, to the nanosecond, whatever stamps exist and in
 * whatever order they came. So the stamps become one ascending chain of stage ends (a later stamp
 * that is earlier is clamped), and each stage is the step to its end.
 */
#include "record/record.h"

#include <string.h>

static const char *name_at(const char *const *names, int n, int i)
{
    return i >= 0 && i < n ? names[i] : "unknown";
}

const char *outcome_name(enum outcome o)
{
    static const char *const names[OUTCOME_COUNT_] = {
        [OUTCOME_OK] = "ok",
        [OUTCOME_HTTP_ERROR] = "http_error",
        [OUTCOME_CONNECT_FAILED] = "connect_failed",
        [OUTCOME_BAD_RESPONSE] = "bad_response",
        [OUTCOME_STREAM_ERROR] = "stream_error",
        [OUTCOME_TRUNCATED] = "truncated",
        [OUTCOME_UPSTREAM_CUT] = "upstream_cut",
        [OUTCOME_CLIENT_GONE_BEFORE_FIRST] = "client_gone_before_first",
        [OUTCOME_CLIENT_GONE_AFTER_FIRST] = "client_gone_after_first",
        [OUTCOME_STALLED] = "stalled",
        [OUTCOME_TIMEOUT] = "timeout",
        [OUTCOME_CUT_BY_GATEWAY] = "cut_by_gateway",
        [OUTCOME_REJECTED] = "rejected",
        [OUTCOME_UNAUTHORIZED] = "unauthorized",
        [OUTCOME_FORBIDDEN] = "forbidden",
        [OUTCOME_BAD_REQUEST] = "bad_request",
        [OUTCOME_INTERNAL] = "internal",
    };
    return name_at(names, OUTCOME_COUNT_, (int)o);
}

const char *no_first_token_name(enum no_first_token r)
{
    static const char *const names[NO_FIRST_TOKEN_COUNT_] = {
        [NO_FIRST_TOKEN_CANCELED] = "canceled",     [NO_FIRST_TOKEN_TIMEOUT] = "timeout",
        [NO_FIRST_TOKEN_ERROR] = "error",           [NO_FIRST_TOKEN_NO_OUTPUT] = "no_output",
        [NO_FIRST_TOKEN_UNOBSERVED] = "unobserved",
    };
    return name_at(names, NO_FIRST_TOKEN_COUNT_, (int)r);
}

const char *stage_name(enum stage s)
{
    static const char *const names[STAGE_COUNT_] = {
        [STAGE_RECEIVE] = "receive",
        [STAGE_AUTH] = "auth",
        [STAGE_ROUTE] = "route",
        [STAGE_QUEUE] = "queue",
        [STAGE_RETRY] = "retry",
        [STAGE_CONNECT] = "connect",
        [STAGE_SEND] = "send",
        [STAGE_WAIT] = "wait",
        [STAGE_FIRST_EVENT] = "first_event",
        [STAGE_FIRST_TOKEN] = "first_token",
        [STAGE_REASONING] = "reasoning",
        [STAGE_ANSWER] = "answer",
        [STAGE_TAIL] = "tail",
        [STAGE_DELIVERY] = "delivery",
    };
    return name_at(names, STAGE_COUNT_, (int)s);
}

const char *engine_stage_name(enum engine_stage s)
{
    static const char *const names[ENGINE_STAGE_COUNT_] = {
        [ENGINE_QUEUE] = "queue",     [ENGINE_LOAD] = "load",
        [ENGINE_PREFILL] = "prefill", [ENGINE_DECODE] = "decode",
        [ENGINE_TOTAL] = "total",     [ENGINE_UNATTRIBUTED] = "unattributed",
    };
    return name_at(names, ENGINE_STAGE_COUNT_, (int)s);
}

const char *stamp_source_name(enum stamp_source s)
{
    static const char *const names[] = {"none", "kernel", "clock", "mixed"};
    return name_at(names, (int)ARRAY_LEN(names), (int)s);
}

const char *usage_source_name(enum usage_source s)
{
    static const char *const names[] = {"none", "engine", "estimated"};
    return name_at(names, (int)ARRAY_LEN(names), (int)s);
}

const char *record_flag_name(int bit)
{
    static const char *const names[RECORD_FLAG_BITS] = {
        "coalesced",
        "early_response",
        "client_limited",
        "multi_choice",
        "window_exceeded",
        "usage_injected",
        "usage_anomaly",
        "stalled",
        "is_retry",
        "pipelined",
        "model_mismatch",
        "clock_stepped",
        "http_1_0",
        "reasoning_hidden",
        "estimated",
        "engine_times_odd",
        "slow",
        "timeline_thinned",
        "buffered_hop",
        "runaway",
    };
    return name_at(names, RECORD_FLAG_BITS, bit);
}

const char *record_output_kind_name(int bit)
{
    static const char *const names[] = {
        "text",  "reasoning", "reasoning_opaque",  "tool_name", "tool_args", "refusal",
        "audio", "image",     "reasoning_summary",
    };
    return name_at(names, (int)ARRAY_LEN(names), bit);
}

static void clear_derived(struct record *r)
{
    for (int i = 0; i < STAGE_COUNT_; i++)
        r->stage_ns[i] = -1;
    r->queue_ns = r->ttfb_ns = r->ttfe_ns = r->ttft_ns = r->ttfa_ns = -1;
    r->upstream_ttft_ns = r->e2e_ns = r->total_ns = r->overhead_request_ns = -1;
    r->engine_ns[ENGINE_UNATTRIBUTED] = -1;
}

void record_init(struct record *r)
{
    memset(r, 0, sizeof(*r));
    r->endpoint = "";
    r->dialect = "";
    r->connect_dns_ns = r->connect_tcp_ns = r->connect_tls_ns = -1;
    r->client_path = r->upstream_path = (struct record_path){-1, -1, 0};
    r->timeline_from_ns = -1;
    r->backlog_ns = -1;
    r->prompt_tokens = r->completion_tokens = r->cached_tokens = -1;
    r->cache_write_tokens = r->reasoning_tokens = r->max_tokens = -1;
    r->raw_prompt_tokens = r->raw_completion_tokens = r->raw_cached_tokens = RECORD_UNTOLD;
    r->raw_cache_write_tokens = r->raw_reasoning_tokens = RECORD_UNTOLD;
    for (int i = 0; i < ENGINE_STAGE_COUNT_; i++)
        r->engine_ns[i] = -1;
    timing_summary_init(&r->timing, TPOT_NOT_STREAM);
    clear_derived(r);
}

bool record_is_generating_stream(const struct record *r)
{
    return r->is_stream && r->dialect && r->dialect[0] != '\0';
}

bool record_has_no_first_token(const struct record *r, enum no_first_token *ret)
{
    if (!record_is_generating_stream(r) || mono_is_set(r->t_first_token))
        return false;
    switch (r->outcome) {
    case OUTCOME_CLIENT_GONE_BEFORE_FIRST:
    case OUTCOME_CLIENT_GONE_AFTER_FIRST:
        *ret = NO_FIRST_TOKEN_CANCELED;
        break;
    case OUTCOME_TIMEOUT:
    case OUTCOME_STALLED:
        *ret = NO_FIRST_TOKEN_TIMEOUT;
        break;
    case OUTCOME_OK:
        *ret = r->unobserved[0] ? NO_FIRST_TOKEN_UNOBSERVED : NO_FIRST_TOKEN_NO_OUTPUT;
        break;
    default:
        *ret = NO_FIRST_TOKEN_ERROR;
        break;
    }
    return true;
}

/* --- stages --- */

/* The end of a stage; a stage whose end is not set was not reached. */
struct stage_end {
    mono_t at;
    bool is_possible; /* false: this request cannot have that stage */
};

/* Exactly 0 means of these that they did not happen. */
static bool is_nothing_when_zero(int stage)
{
    return stage == STAGE_QUEUE || stage == STAGE_RETRY || stage == STAGE_CONNECT ||
           stage == STAGE_REASONING || stage == STAGE_DELIVERY;
}

static bool is_early_response(const struct record *r)
{
    return mono_is_set(r->t_headers) && (!mono_is_set(r->t_sent) || r->t_headers.ns < r->t_sent.ns);
}

/* End of the exchange: t_delivered, else the last stamp there is. */
static mono_t end_of(const struct record *r)
{
    if (mono_is_set(r->t_delivered))
        return r->t_delivered;
    const mono_t stamps[] = {r->t_accept,       r->t_identified, r->t_request,     r->t_routed,
                             r->t_admitted,     r->t_attempt,    r->t_connected,   r->t_sent,
                             r->t_headers,      r->t_first_byte, r->t_first_event, r->t_first_token,
                             r->t_first_answer, r->t_last_token, r->t_end_event,   r->t_done};
    mono_t end = r->t_accept;
    for (size_t i = 0; i < ARRAY_LEN(stamps); i++)
        end = mono_max(end, stamps[i]);
    return end;
}

static void list_ends(const struct record *r, bool is_early, struct stage_end ends[STAGE_COUNT_])
{
    bool is_eventful = mono_is_set(r->t_first_event);
    /* The head may be all there is of a stream so far; what follows it is then the first event. */
    bool may_be_eventful = is_eventful || (r->is_stream && !mono_is_set(r->t_done));
    bool has_output = mono_is_set(r->t_first_token);
    bool has_answer = mono_is_set(r->t_first_answer);
    bool is_done = mono_is_set(r->t_done);
    const struct stage_end all[STAGE_COUNT_] = {
        [STAGE_RECEIVE] = {r->t_request, true},
        [STAGE_AUTH] = {r->t_identified, mono_is_set(r->t_identified)},
        [STAGE_ROUTE] = {r->t_routed, true},
        [STAGE_QUEUE] = {r->t_admitted, true},
        [STAGE_RETRY] = {r->t_attempt, r->n_attempts > 1},
        [STAGE_CONNECT] = {r->t_connected, true},
        [STAGE_SEND] = {is_early ? r->t_headers : r->t_sent, true},
        [STAGE_WAIT] = {r->t_headers, !is_early},
        [STAGE_FIRST_EVENT] = {r->t_first_event, may_be_eventful},
        [STAGE_FIRST_TOKEN] = {r->t_first_token, may_be_eventful && (has_output || !is_done)},
        [STAGE_REASONING] = {has_answer ? r->t_first_answer : r->t_last_token, has_output},
        [STAGE_ANSWER] = {is_eventful ? r->t_last_token : r->t_done,
                          is_eventful ? has_answer : !may_be_eventful},
        [STAGE_TAIL] = {r->t_done, is_eventful},
        [STAGE_DELIVERY] = {is_done ? end_of(r) : MONO_NONE, true},
    };
    memcpy(ends, all, sizeof(all));
}

/* A body that was streamed past the plan ends behind t_routed and what follows; and an early
 * answer may begin before the request ended. Both are clamped and no fault. */
static bool is_order_expected(const struct record *r, int stage)
{
    if ((r->flags & RECORD_WINDOW_EXCEEDED) && stage <= STAGE_SEND)
        return true;
    return (r->flags & RECORD_EARLY_RESPONSE) != 0;
}

static int derive_stages(struct record *r)
{
    struct stage_end ends[STAGE_COUNT_];
    int n_clamped = 0;
    mono_t end = mono_max(end_of(r), r->t_accept);
    mono_t at = r->t_accept;
    int last = -1; /* the last stage that was reached */
    list_ends(r, is_early_response(r), ends);
    for (int i = 0; i < STAGE_COUNT_; i++) {
        mono_t stage_end = ends[i].at;
        if (!ends[i].is_possible || !mono_is_set(stage_end))
            continue;
        bool is_clamped = stage_end.ns < at.ns || stage_end.ns > end.ns;
        n_clamped += is_clamped && !is_order_expected(r, i);
        stage_end.ns = stage_end.ns < at.ns ? at.ns : stage_end.ns;
        stage_end.ns = stage_end.ns > end.ns ? end.ns : stage_end.ns;
        int64_t ns = mono_diff(stage_end, at);
        if (ns > 0 || !is_nothing_when_zero(i))
            r->stage_ns[i] = ns;
        at = stage_end;
        last = i;
    }
    /* The rest belongs to what was under way: the next stage that this request could have. */
    int64_t rest_ns = mono_diff(end, at);
    int next = last + 1;
    while (next < STAGE_COUNT_ - 1 && !ends[next].is_possible)
        next++;
    if (next >= STAGE_COUNT_)
        next = STAGE_COUNT_ - 1;
    if (rest_ns > 0)
        r->stage_ns[next] = (r->stage_ns[next] > 0 ? r->stage_ns[next] : 0) + rest_ns;
    return n_clamped;
}

/* --- durations --- */

/* b - a; -1 when one of them is not set or it would be negative. */
static int64_t duration(mono_t b, mono_t a)
{
    if (!mono_is_set(a) || !mono_is_set(b) || b.ns < a.ns)
        return -1;
    return mono_diff(b, a);
}

static int64_t overhead_ns(const struct record *r)
{
    if (!mono_is_set(r->t_request) || !mono_is_set(r->t_routed) || !mono_is_set(r->t_sent) ||
        !mono_is_set(r->t_admitted) || (r->flags & RECORD_EARLY_RESPONSE))
        return -1;
    mono_t ready = mono_max(mono_max(r->t_admitted, r->t_connected), r->t_request);
    int64_t plan_ns = duration(r->t_routed, r->t_request);
    int64_t send_ns = duration(r->t_sent, ready);
    return (plan_ns > 0 ? plan_ns : 0) + (send_ns > 0 ? send_ns : 0);
}

/* Only where the engine tells both of its stages for this request. */
static void derive_unattributed(struct record *r)
{
    int64_t queue_ns = r->engine_ns[ENGINE_QUEUE];
    int64_t prefill_ns = r->engine_ns[ENGINE_PREFILL];
    if (r->upstream_ttft_ns < 0 || queue_ns < 0 || prefill_ns < 0)
        return;
    int64_t rest_ns = r->upstream_ttft_ns - queue_ns - prefill_ns; /* each below 2^62 */
    if (rest_ns >= 0)
        r->engine_ns[ENGINE_UNATTRIBUTED] = rest_ns;
    else
        r->flags |= RECORD_ENGINE_TIMES_ODD;
}

int record_derive(struct record *r)
{
    clear_derived(r);
    if (!mono_is_set(r->t_accept))
        return 0;
    if (is_early_response(r) || (mono_is_set(r->t_headers) && mono_is_set(r->t_request) &&
                                 r->t_headers.ns < r->t_request.ns))
        r->flags |= RECORD_EARLY_RESPONSE;
    int n_clamped = derive_stages(r);
    r->total_ns = mono_diff(mono_max(end_of(r), r->t_accept), r->t_accept);
    r->queue_ns = duration(r->t_admitted, r->t_routed);
    r->ttfb_ns = duration(r->t_first_byte, r->t_request);
    r->ttfe_ns = duration(r->t_first_event, r->t_request);
    if (r->is_stream) {
        r->ttft_ns = duration(r->t_first_token, r->t_request);
        r->ttfa_ns = duration(r->t_first_answer, r->t_request);
    }
    if (r->is_stream && !(r->flags & RECORD_EARLY_RESPONSE))
        r->upstream_ttft_ns = duration(r->t_first_token, r->t_sent);
    mono_t done = r->is_stream && mono_is_set(r->t_end_event) ? r->t_end_event : r->t_done;
    r->e2e_ns = duration(done, r->t_request);
    r->overhead_request_ns = overhead_ns(r);
    derive_unattributed(r);
    return n_clamped;
}
