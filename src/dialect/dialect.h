/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dialect/dialect.h - one ops table per API dialect: requests, stream events, answers, errors.
 *
 * Role:      messages -> what a request asks for, what a stream event carries, what was used.
 *            The only place that knows field names of vendors' APIs. Pure: no I/O, clock, logging,
 *            globals; every function works on spans and plain structs.
 * Adding one: a file dialect/<name>.c with its struct dialect, a row in dialect/registry.c, corpus
 *            test, fuzz seed, row in docs/DEFINITIONS.md.
 * Source:    vendors' public API references; shapes seen in the wild per corpus (tests/corpus).
 */
#ifndef DIALECT_DIALECT_H
#define DIALECT_DIALECT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/buf.h"
#include "base/span.h"
#include "dialect/shape.h"
#include "wire/events.h"
#include "wire/http1.h"

/* Bits of token_event.kinds; numerically equal to enum output_kind of timing/timing.h, which
 * observe/reading.c asserts (dialect/ and timing/ do not know each other). */
enum dialect_kind {
    DIALECT_TEXT = 1u << 0,
    DIALECT_REASONING = 1u << 1,
    DIALECT_REASONING_OPAQUE = 1u << 2,
    DIALECT_TOOL_NAME = 1u << 3,
    DIALECT_TOOL_ARGS = 1u << 4,
    DIALECT_REFUSAL = 1u << 5,
    DIALECT_AUDIO = 1u << 6,
    DIALECT_IMAGE = 1u << 7,
    DIALECT_REASONING_SUMMARY = 1u << 8, /* set with DIALECT_REASONING */
};

enum {
    DIALECT_MODEL_MAX = 128,
    DIALECT_FINISH_MAX = 32,
    DIALECT_FINGERPRINT_MAX = 64,
    DIALECT_ERROR_MAX = 64,
    DIALECT_CHOICES_MAX = 8
};

/* Token counts as the engine reported them, negative ones included; last value seen wins per field.
 */
#define USAGE_UNTOLD INT64_MIN
struct usage {
    int64_t prompt;
    int64_t completion;
    int64_t cached;
    int64_t cache_write;
    int64_t reasoning;
    int64_t total;       /* only evidence for what completion includes */
    int64_t tool_prompt; /* input that came from the engine's own tools, beside prompt (Gemini) */
};
#define USAGE_NONE                                                                                 \
    ((struct usage){USAGE_UNTOLD, USAGE_UNTOLD, USAGE_UNTOLD, USAGE_UNTOLD, USAGE_UNTOLD,          \
                    USAGE_UNTOLD, USAGE_UNTOLD})
static inline int64_t usage_first_told(int64_t a, int64_t b)
{
    return a != USAGE_UNTOLD ? a : b;
}
/* What u tells replaces what was told before, field by field: never a sum. */
void usage_fold(struct usage *into, const struct usage *u);
/* More than any request can have: a mistake, and no sum of what is below it overflows. */
#define USAGE_MAX (INT64_C(1) << 32)
static inline bool usage_is_count(int64_t v)
{
    return v >= 0 && v <= USAGE_MAX;
}
static inline bool usage_is_set(const struct usage *u)
{
    return usage_is_count(u->prompt) || usage_is_count(u->completion);
}

/* The same counts after dialect_normalise; -1 = unknown. */
struct dialect_tokens {
    int64_t prompt;     /* cached, cache_write and tool_prompt included */
    int64_t completion; /* reasoning included */
    int64_t cached;
    int64_t cache_write;
    int64_t reasoning;
};

/*
 * What the engine told about its own time for this request, in ns; -1: not told. From vLLM's
 * "metrics" (whose time_to_first_token_ms begins at scheduling, so it is the prefill), llama.cpp's
 * "timings", Ollama's *_duration, Groq's and Cerebras' *_time.
 */
struct engine_times {
    int64_t queue_ns;   /* until it was scheduled */
    int64_t load_ns;    /* loading the model */
    int64_t prefill_ns; /* scheduled, until the first token */
    int64_t decode_ns;  /* first token to last */
    int64_t total_ns;
};
#define ENGINE_TIMES_NONE ((struct engine_times){-1, -1, -1, -1, -1})
void usage_fold_times(struct engine_times *into, const struct engine_times *t);

/* What a request asks for, from its target and its first window. */
struct dialect_request {
    bool is_json;     /* the window is a JSON object (or the beginning of one) */
    bool is_complete; /* the whole body was seen */
    bool is_stream;
    bool has_include_usage;        /* the client asked for usage itself */
    bool is_duplicate_model;       /* another reader may find another model, see inspect.h */
    bool is_model_cut;             /* model[] is only the beginning of the name */
    bool is_model_in_target;       /* model_at counts in the target, else in the window */
    size_t model_at, model_bytes;  /* where the name stands, in a body with its quotes; 0 bytes:
                                    * nowhere that it could be replaced */
    int64_t max_tokens;            /* -1: not told */
    int64_t n;                     /* choices asked for; 1 when not told */
    int64_t prompt_bytes;          /* size of messages / prompt in bytes, for estimates */
    struct span metadata;          /* the member "metadata" as it stands in the window; empty:
                                    * none */
    char model[DIALECT_MODEL_MAX]; /* "" when not told */
};

/*
 * One edit of the request body: replace `remove` bytes at `at` by insert. Built by
 * add_include_usage; the caller splices it.
 */
struct dialect_edit {
    size_t at;
    size_t remove;
    struct span insert; /* static text */
};

/* Accumulated over the events of one answer. */
struct dialect_answer {
    struct usage usage;       /* as reported */
    bool is_completion_early; /* its completion was told before the output that it should count */
    struct engine_times engine;
    char model[DIALECT_MODEL_MAX];             /* response model, first one seen */
    char fingerprint[DIALECT_FINGERPRINT_MAX]; /* system_fingerprint, first one seen */
    char finish[DIALECT_FINISH_MAX]; /* of choice 0, else of the first that finished; last seen */
    struct {
        int64_t index;
        char finish[DIALECT_FINISH_MAX];
    } choices[DIALECT_CHOICES_MAX]; /* finish per choice, in order of first sight */
    int n_choices_finished;
    int64_t max_choice_index; /* highest choice index seen; -1: none */
    bool has_finish;
    bool has_end_mark;             /* the dialect's own end ([DONE], message_stop, done:true) */
    bool has_done_marker;          /* [DONE] */
    bool has_error;                /* error event or object */
    char error[DIALECT_ERROR_MAX]; /* its type or code, never its text */
    uint32_t n_bad_json;           /* events (or bodies) that were no JSON object */
    uint32_t n_bad_objects;        /* of these, events that began like one */
    struct shape shape;            /* of the text events of this answer */
};

/* What one event said. */
struct token_event {
    uint32_t kinds; /* dialect_kind bits */
    bool is_end;    /* the dialect's end mark: the stream ends here */
    bool is_error;
    bool has_usage;      /* a non-null usage object */
    bool has_no_choices; /* has_usage, and no or empty choices: a bare usage chunk */
};

/* Situations in which the gateway answers itself. */
enum dialect_refusal {
    REFUSAL_BAD_REQUEST,     /* 400 */
    REFUSAL_UNAUTHORIZED,    /* 401 */
    REFUSAL_FORBIDDEN,       /* 403 */
    REFUSAL_NOT_FOUND,       /* 404 */
    REFUSAL_REQUEST_TIMEOUT, /* 408: the client was too slow */
    REFUSAL_BODY_TOO_LARGE,  /* 413 */
    REFUSAL_TOO_MANY,        /* 429: the queue is full */
    REFUSAL_QUEUE_TIMEOUT,   /* 429: it waited too long */
    REFUSAL_INTERNAL,        /* 500 */
    REFUSAL_CONNECT_FAILED,  /* 502 */
    REFUSAL_BAD_RESPONSE,    /* 502 */
    REFUSAL_UPSTREAM_CUT,    /* 502 */
    REFUSAL_DRAINING,        /* 503 */
    REFUSAL_TIMEOUT,         /* 504 */
    REFUSAL_COUNT_,
};
int dialect_refusal_status(enum dialect_refusal r);

struct dialect {
    const char *name;       /* "openai-chat" */
    enum framing framing;   /* of its streams, where the answer's media type leaves it open */
    bool is_generating;     /* produces tokens: TTFT applies to its streams */
    bool can_include_usage; /* stream_options.include_usage exists here */

    const char *key_field; /* header that has the API key; NULL: Authorization, as a bearer token */

    bool is_cached_beside_prompt;        /* its prompt count leaves out cached and cache writes */
    bool is_reasoning_beside_completion; /* its completion count leaves out reasoning */

    /* Reads a request's target and the window of its body. Never fails: what cannot be read stays
     * unknown. */
    void (*inspect)(struct span target, struct span window, bool is_complete,
                    struct dialect_request *ret);

    /* The edit that asks for usage: only for a whole window of a stream that does not ask for it
     * itself; every other byte stays. false when none is needed or possible. NULL: never. */
    bool (*add_include_usage)(struct span window, const struct dialect_request *req,
                              struct dialect_edit *ret);

    /* One stream event; folds it into *a. name: SSE event name, may be empty. */
    void (*event)(struct dialect_answer *a, struct span name, struct span data,
                  struct token_event *ret);

    /* Whether the event is nothing but the usage that add_include_usage asked for (choices empty,
     * usage not null), so that it is removed for a client that did not ask. NULL: never. */
    bool (*is_bare_usage)(struct span data);
    /* A cheap look at the bytes of a whole event: false only if it cannot be such a one. */
    bool (*may_be_bare_usage)(struct span event);

    /* One whole non-stream answer, or the body of an HTTP error; folds it into *a. */
    void (*answer)(struct dialect_answer *a, struct span body);

    /* End seen, by this dialect's own rule (chat: a finish reason or [DONE]). */
    bool (*is_ended)(const struct dialect_answer *a);

    /* The error body in the dialect's own form; message is plain text. 0 or -errno of buf. */
    int (*refusal_body)(enum dialect_refusal r, const char *message, struct buf *ret_body);
};

void dialect_answer_init(struct dialect_answer *a);

/* Text that stood in a stream without being part of it (events_stray): an error body there counts
 * as an error of the answer; of anything else nothing is taken. */
void dialect_read_stray(const struct dialect *d, struct dialect_answer *a, struct span text);

/* Whether a successful answer of this media type (without parameters, may be empty) is a stream of
 * events to a request that asked for one or did not, and how it is framed. */
bool dialect_is_stream(const struct dialect *d, struct span media_type, bool is_stream_asked,
                       enum framing *ret);

/*
 * Normalised tokens by definitions ("Tokens"): prompt includes cached and cache writes, completion
 * includes reasoning. What cannot be right (negative; above USAGE_MAX; cached or writes above
 * prompt) becomes unknown and is reported in *ret_is_anomalous. An engine that counts reasoning
 * beside completion (reasoning > completion, or total = prompt + completion + reasoning) has it
 * added; that is an anomaly only where its own total contradicts.
 */
struct dialect_tokens dialect_normalise(const struct dialect *d, const struct usage *raw,
                                        bool *ret_is_anomalous);

/* Tokens generated so far, reasoning included, as reported; -1: not told. */
int64_t usage_generated(const struct dialect *d, const struct usage *raw);

/* By name, for replay; NULL when unknown. */
const struct dialect *dialect_by_name(struct span name);
const struct dialect *dialect_at(size_t i); /* NULL behind the last */

/*
 * Endpoint table: method and path -> label value and dialect (NULL: measured at HTTP level only).
 * Matched from the end of the path, so that any prefix (/v1, /openai/v1, a deployment) fits; query,
 * scheme and authority do not count. Never NULL: "other" is the last row.
 */
struct dialect_endpoint {
    const char *label; /* "chat_completions", "completions", "models", ..., "other" */
    const struct dialect *dialect;
    bool is_lookup; /* lists models or tells health: no model works for it */
};
const struct dialect_endpoint *dialect_endpoint(struct span method, struct span target);
/* The same; *ret_prefix becomes the part of the path in front of what was matched: "/v1",
 * "/openai/deployments/NAME", "/v1beta/models/NAME"; empty for "other". */
const struct dialect_endpoint *dialect_endpoint_split(struct span method, struct span target,
                                                      struct span *ret_prefix);
const struct dialect_endpoint *dialect_endpoint_at(size_t i); /* NULL behind the last */

#endif
