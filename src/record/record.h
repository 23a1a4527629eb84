/* SPDX-License-Identifier: Apache-2.0 */
/*
 * record/record.h - the one canonical row of a request, and the table of its fields.
 *
 * Role:      filled by observe/, carried by value or pointer to metrics, log, (later) store.
 *            record_fields describes every field once (name, type, unit, nature, help); the JSON
 *            line, docs/RECORD.md and later the store's columns come from it.
 * Units:     stamps mono_t; durations int64_t ns, -1 = did not happen / unknown; tokens -1 =
 *            unknown. JSON writes durations in milliseconds with ns exactness
 *            ("ttft_ms": 12.345678).
 * Content:   no prompt, no completion, no credentials: only names, counts, times.
 */
#ifndef RECORD_RECORD_H
#define RECORD_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/span.h"
#include "timing/timeline.h"
#include "timing/timing.h"

/* Exactly one per request (definitions: "Outcome"). */
enum outcome {
    OUTCOME_OK,
    OUTCOME_HTTP_ERROR,
    OUTCOME_CONNECT_FAILED,
    OUTCOME_BAD_RESPONSE,
    OUTCOME_STREAM_ERROR,
    OUTCOME_TRUNCATED,
    OUTCOME_UPSTREAM_CUT,
    OUTCOME_CLIENT_GONE_BEFORE_FIRST,
    OUTCOME_CLIENT_GONE_AFTER_FIRST,
    OUTCOME_STALLED,
    OUTCOME_TIMEOUT,
    OUTCOME_CUT_BY_GATEWAY,
    OUTCOME_REJECTED,
    OUTCOME_UNAUTHORIZED,
    OUTCOME_FORBIDDEN,
    OUTCOME_BAD_REQUEST,
    OUTCOME_INTERNAL,
    OUTCOME_COUNT_,
};
const char *outcome_name(enum outcome o); /* label value: "ok", "http_error", ... */

/* Why a stream that generates has no first token (label values of llm_no_first_token_total). */
enum no_first_token {
    NO_FIRST_TOKEN_CANCELED, /* client gone */
    NO_FIRST_TOKEN_TIMEOUT,
    NO_FIRST_TOKEN_ERROR,      /* HTTP error, stream error, cut, truncated, connect failed */
    NO_FIRST_TOKEN_NO_OUTPUT,  /* ended well without output */
    NO_FIRST_TOKEN_UNOBSERVED, /* the answer could not be followed */
    NO_FIRST_TOKEN_COUNT_,
};
const char *no_first_token_name(enum no_first_token r); /* label value: "canceled", ... */

/* Stages partition [t_accept, t_delivered] exactly, in this order (definitions: "Stages"). */
enum stage {
    STAGE_RECEIVE,
    STAGE_AUTH,
    STAGE_ROUTE,
    STAGE_QUEUE,
    STAGE_RETRY,
    STAGE_CONNECT,
    STAGE_SEND,
    STAGE_WAIT,
    STAGE_FIRST_EVENT,
    STAGE_FIRST_TOKEN,
    STAGE_REASONING,
    STAGE_ANSWER,
    STAGE_TAIL,
    STAGE_DELIVERY,
    STAGE_COUNT_,
};
const char *stage_name(enum stage s);

enum stamp_source { STAMP_NONE, STAMP_KERNEL, STAMP_CLOCK, STAMP_MIXED };
enum usage_source { USAGE_SOURCE_NONE, USAGE_SOURCE_ENGINE, USAGE_SOURCE_ESTIMATED };
const char *stamp_source_name(enum stamp_source s);
const char *usage_source_name(enum usage_source s);

/* What an engine tells about its own time (definitions: "unattributed" is what is left of it). */
enum engine_stage {
    ENGINE_QUEUE,   /* until it was scheduled */
    ENGINE_LOAD,    /* loading the model */
    ENGINE_PREFILL, /* scheduled, until the first token */
    ENGINE_DECODE,  /* first token to last */
    ENGINE_TOTAL,
    ENGINE_UNATTRIBUTED, /* upstream_ttft - (queue + prefill): network, HTTP, tokenising */
    ENGINE_STAGE_COUNT_,
};
const char *engine_stage_name(enum engine_stage s);

/* Bits of record.flags; written as a JSON array of record_flag_name. */
enum record_flag {
    RECORD_COALESCED = 1u << 0,      /* events shared a read */
    RECORD_EARLY_RESPONSE = 1u << 1, /* answer began before the request was sent */
    RECORD_CLIENT_LIMITED = 1u << 2, /* the client did not read fast enough */
    RECORD_MULTI_CHOICE = 1u << 3,
    RECORD_WINDOW_EXCEEDED = 1u << 4, /* body larger than the request window */
    RECORD_USAGE_INJECTED = 1u << 5,  /* the gateway asked for usage */
    RECORD_USAGE_ANOMALY = 1u << 6,
    RECORD_STALLED = 1u << 7,
    RECORD_IS_RETRY = 1u << 8,  /* answered by another attempt than the first */
    RECORD_PIPELINED = 1u << 9, /* waited behind an earlier request of its connection */
    RECORD_MODEL_MISMATCH = 1u << 10,
    RECORD_CLOCK_STEPPED = 1u << 11, /* real-time clock stepped while it ran */
    RECORD_HTTP_1_0 = 1u << 12,
    RECORD_REASONING_HIDDEN = 1u << 13,
    RECORD_ESTIMATED = 1u << 14,
    RECORD_ENGINE_TIMES_ODD = 1u << 15, /* the engine tells more time than passed */
    RECORD_SLOW = 1u << 16,             /* above the p95 of its model's last ten minutes */
    RECORD_TIMELINE_THINNED = 1u << 17, /* an entry of the timeline stands for several arrivals */
    RECORD_BUFFERED_HOP = 1u << 18,     /* something before the gateway held the stream back */
    RECORD_RUNAWAY = 1u << 19,          /* more tokens or a longer stream than is reasonable */
};
enum { RECORD_FLAG_BITS = 20 };
const char *record_flag_name(int bit);        /* 0 .. RECORD_FLAG_BITS - 1 */
const char *record_output_kind_name(int bit); /* bit of enum output_kind */

enum {
    RECORD_ID_MAX = 65,
    RECORD_NAME_MAX = 128,
    RECORD_REASON_MAX = 64,
    RECORD_VERSION_MAX = 64,
    RECORD_FINGERPRINT_MAX = 64,
    RECORD_LABELS_MAX = 768
};

/* Written as "schema_version" in every JSON line; grows when a field changes its meaning. */
enum { RECORD_SCHEMA_VERSION = 1 };

/* A raw token count that the engine did not report (a reported one may be negative). */
#define RECORD_UNTOLD INT64_MIN

/* What the kernel knows of the way to a peer. */
struct record_path {
    int64_t rtt_ns, rtt_min_ns; /* smoothed; the shortest of the last minutes; -1: not looked at */
    int n_resent;               /* segments sent again; 0: none, or not looked at */
};

struct record {
    /* identity */
    char request_id[RECORD_ID_MAX];        /* ours, returned as X-Request-Id */
    char client_request_id[RECORD_ID_MAX]; /* the client's own, "" when none */
    char trace_id[33];                     /* from traceparent, "" when none */
    wall_t started_at;                     /* wall time of t_accept */
    const char *endpoint;                  /* static: dialect_endpoint label */
    const char *dialect;                   /* static: dialect name, "" when none */
    char method[16];
    char upstream[RECORD_NAME_MAX];
    char key_id[9];  /* of the gateway key that was shown, "" when none */
    char tenant[64]; /* whose key that is */
    char model_requested[RECORD_NAME_MAX];
    char model_upstream[RECORD_NAME_MAX]; /* as sent */
    char model_response[RECORD_NAME_MAX];
    char engine_fingerprint[RECORD_FINGERPRINT_MAX]; /* "" when not told */
    char model_version[RECORD_VERSION_MAX]; /* of what the upstream serves, "" when not told */
    /* Business labels, "name\0value\0" each, at most RECORD_LABELS_MAX bytes in all. Borrowed, as
     * is the timeline. */
    struct span labels;

    /* result */
    enum outcome outcome;
    char outcome_reason[RECORD_REASON_MAX]; /* detail: "refused", "first_byte", error type; "" */
    char unobserved[RECORD_REASON_MAX];     /* why measuring stopped; "" = measured */
    char finish_reason[32];
    int status;          /* sent to the client; 0: none */
    int upstream_status; /* 0: none */
    bool is_stream;
    uint32_t flags; /* record_flag bits */
    uint32_t n_attempts;

    /* stamps; not set (0) when it did not happen. t_delivered is the end of the exchange, whether
     * or not everything was delivered. */
    mono_t t_accept, t_request, t_identified, t_routed, t_admitted, t_attempt, t_connected, t_sent,
        t_headers, t_first_byte, t_first_event, t_first_token, t_first_answer, t_last_token,
        t_end_event, t_done, t_delivered;
    enum stamp_source stamp_source;
    int64_t connect_dns_ns, connect_tcp_ns, connect_tls_ns; /* -1: reused or not done */

    struct record_path client_path, upstream_path;

    int64_t engine_ns[ENGINE_STAGE_COUNT_]; /* -1: not told; the last one is derived */

    /* derived; -1: none */
    int64_t stage_ns[STAGE_COUNT_];
    int64_t queue_ns, ttfb_ns, ttfe_ns, ttft_ns, ttfa_ns, upstream_ttft_ns, e2e_ns, total_ns;
    int64_t overhead_request_ns;
    int64_t backlog_ns; /* in a queue in front of the gateway, as the client tells; not derived */
    int64_t client_blocked_ns; /* 0: never blocked */
    struct timing_summary timing;

    /* stream */
    uint32_t n_events, n_output_events, n_content_events, n_arrivals, n_coalesced;
    uint32_t output_kinds; /* output_kind bits */
    int buffer_bytes;      /* with RECORD_BUFFERED_HOP: of the buffer that held it back; 0: none */

    /* When output arrived (timing/timeline.h), from t_request on; empty when it is not kept.
     * Borrowed: whoever keeps the row copies the bytes. */
    struct span timeline;
    int64_t timeline_from_ns; /* CLOCK_MONOTONIC at t_request; -1: no timeline */

    /* tokens: normalised, -1 unknown; raw: as reported, RECORD_UNTOLD when not */
    enum usage_source usage_source;
    int64_t prompt_tokens, completion_tokens, cached_tokens, cache_write_tokens, reasoning_tokens;
    int64_t raw_prompt_tokens, raw_completion_tokens, raw_cached_tokens, raw_cache_write_tokens,
        raw_reasoning_tokens;
    int64_t max_tokens; /* asked for */

    /* sizes */
    uint64_t request_bytes, response_bytes; /* bodies */
};

void record_init(struct record *r);

/* Whether this is a stream of a dialect that generates tokens (TTFT applies). */
bool record_is_generating_stream(const struct record *r);

/* true and the reason when this is a generating stream that reached no first token. */
bool record_has_no_first_token(const struct record *r, enum no_first_token *ret);

/*
 * Fills stage_ns and the durations from the stamps, and sets RECORD_EARLY_RESPONSE where they show
 * one. The sum of the stages that happened is exactly total_ns = t_delivered - t_accept (the last
 * stamp that is set, when t_delivered is not). What was under way when the exchange ended gets the
 * time up to its end. Stamps out of order are clamped; returns how many were.
 *   queue, retry, connect, reasoning of exactly 0 did not happen (-1);
 *   a body that was streamed past the plan (RECORD_WINDOW_EXCEEDED) counts as receive to its end;
 *   early response: send ends with the answer's head, there is no wait;
 *   non-streams: answer runs from the head to the end of the body.
 * Sets RECORD_ENGINE_TIMES_ODD instead of ENGINE_UNATTRIBUTED where that would be negative.
 */
int record_derive(struct record *r);

/* --- the field table --- */
enum record_type {
    RECORD_STR,     /* char array */
    RECORD_CSTR,    /* const char *, NULL and "" are unknown */
    RECORD_I64,     /* -1 unknown */
    RECORD_RAW_I64, /* RECORD_UNTOLD unknown */
    RECORD_INT,     /* 0 unknown */
    RECORD_U32,
    RECORD_U64,
    RECORD_BOOL,
    RECORD_DURATION, /* int64_t ns, negative = unknown; JSON: milliseconds */
    RECORD_WALL,     /* RFC 3339, UTC, microseconds */
    RECORD_ENUM,
    RECORD_FLAGS,    /* uint32_t bits; JSON: array of enum_name(bit) */
    RECORD_DOUBLE,   /* negative = unknown */
    RECORD_LABELS,   /* struct span; JSON: object of texts */
    RECORD_TIMELINE, /* struct span; JSON: array of [ms, output events, tokens or 0] */
};

/* Bytes that may be read of any json_key, which is no longer: a copy of them needs no length. */
enum { RECORD_KEY_ROOM = 32 };

struct record_field {
    /* the first ones are what a line needs */
    struct span json_key; /* the name as it stands in the line: quoted, with its colon */
    size_t offset;
    size_t size;                     /* of the member */
    const char *(*enum_name)(int i); /* RECORD_ENUM: of the value, RECORD_FLAGS: of the bit */
    const char *group;               /* heading in docs/RECORD.md */
    enum record_type type;
    bool is_base;     /* always written, null when unknown; others only when known */
    const char *name; /* JSON key, with its unit */
    const char *unit; /* "ms", "tokens", "bytes", "" */
    const char *help;
};
extern const struct record_field record_fields[];
extern const char record_group_stream[]; /* the group of fields that only streams have */
extern const size_t record_n_fields;

/* Bytes that the longest line stays within, with the longest timeline and labels. */
enum { RECORD_LINE_MAX = 16 * 1024 + 12 * TIMELINE_BYTES + 6 * RECORD_LABELS_MAX };

/* One compact JSON object without line end, fields in table order. 0 or -errno of buf, which has to
 * have room for RECORD_LINE_MAX within its maximum. */
int record_to_json(const struct record *r, struct buf *out) WARN_UNUSED;

/* docs/RECORD.md. */
int record_to_markdown(struct buf *out) WARN_UNUSED;

#endif
