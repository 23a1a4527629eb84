/* SPDX-License-Identifier: Apache-2.0 */
/*
 * metrics/family.h - the one table of metric families: name, help, unit, type, labels, bounds.
 *
 * Role:      recording, exposition, docs/METRICS.md and the tests all read this table. A family has
 *            the labels of its scope and at most two enumerated ones with fixed values.
 * Threading: constant data.
 */
#ifndef METRICS_FAMILY_H
#define METRICS_FAMILY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/buf.h"
#include "metrics/hist.h"

enum metric {
    METRIC_BACKLOG,
    METRIC_QUEUE,
    METRIC_TTFT,
    METRIC_TTFA,
    METRIC_UPSTREAM_TTFT,
    METRIC_CONNECT,
    METRIC_UPSTREAM_RTT,
    METRIC_UPSTREAM_RESENT,
    METRIC_CLIENT_RTT,
    METRIC_CLIENT_RESENT,
    METRIC_PROBE_CONNECT,
    METRIC_TOKENIZE,
    METRIC_PROBE_FAILURES,
    METRIC_ICL,
    METRIC_ITL,
    METRIC_TPOT,
    METRIC_JITTER,
    METRIC_E2E,
    METRIC_TTFT_BY_PROMPT,
    METRIC_PROMPT_TOKENS,
    METRIC_COMPLETION_TOKENS,
    METRIC_CACHED_TOKENS,
    METRIC_TOKENS_PER_EVENT,
    METRIC_TOKENS,
    METRIC_ESTIMATED_TOKENS,
    METRIC_COMPLETION_TOKENS_MAX,
    METRIC_REQUESTS,
    METRIC_SLO,
    METRIC_SLO_GOOD,
    METRIC_HTTP_RESPONSES,
    METRIC_ATTEMPTS,
    METRIC_INFLIGHT,
    METRIC_NO_FIRST_TOKEN,
    METRIC_TPOT_UNMEASURABLE,
    METRIC_STALLS,
    METRIC_BUFFERED_STREAMS,
    METRIC_RUNAWAY_STREAMS,
    METRIC_STREAM_EVENTS,
    METRIC_OVERHEAD,
    METRIC_STAGE,
    METRIC_ENGINE_STAGE,
    METRIC_UPSTREAM_SILENT,
    METRIC_ADMISSION_INFLIGHT,
    METRIC_ADMISSION_TOKENS,
    METRIC_ADMISSION_WAITING,
    METRIC_ADMISSION_REJECTED,
    METRIC_BREAKER_OPEN,
    METRIC_BREAKER_OPENINGS,
    METRIC_SERIES,
    METRIC_BUILD_INFO,
    METRIC_COUNT_,
};

enum family_type { FAMILY_COUNTER, FAMILY_GAUGE, FAMILY_HISTOGRAM };
const char *family_type_name(enum family_type type); /* "counter", "gauge", "histogram" */

/* Which labels a label set has. */
enum family_scope {
    SCOPE_PROCESS,  /* none */
    SCOPE_MODEL,    /* model */
    SCOPE_UPSTREAM, /* upstream */
    SCOPE_BACKEND,  /* model, upstream, version: where a sample per token is recorded */
    SCOPE_REQUEST,  /* model, endpoint, upstream, version, business labels */
    SCOPE_FINISHED, /* model, endpoint, upstream, version, stream, business labels: at the end */
    SCOPE_SLO,      /* model, upstream, slo: one label set of requests may be in several */
    SCOPE_COUNT_,
};
enum { FAMILY_SCOPE_LABELS_MAX = 5, FAMILY_BUSINESS_MAX = 4, FAMILY_ENUMS_MAX = 2 };
/* Names of the labels of a scope, those of the operator left out; returns how many. */
size_t family_scope_labels(enum family_scope scope, const char *ret[FAMILY_SCOPE_LABELS_MAX]);

/* Whether the labels that the operator named belong to it. */
bool family_has_business(enum family_scope scope);

/* Whether any family has a label of that name, so that the operator's may not be called so. */
bool family_is_label(const char *name);

/* A label whose values are fixed: 0 .. n - 1. */
struct family_enum {
    const char *label; /* NULL: not used */
    int n;
    const char *(*value)(int i);
};

struct family {
    const char *name;     /* as exposed; counters end with _total */
    const char *help;     /* one sentence */
    const char *unit;     /* "seconds", "tokens", or "" */
    const char *recorded; /* when, for docs/METRICS.md */
    enum family_type type;
    enum family_scope scope;
    enum hist_unit hist_unit; /* histograms: what a raw value is */
    bool is_computed;         /* made at reading, nothing is stored */
    bool is_max;              /* a gauge that is the maximum over a moving window */
    struct family_enum enums[FAMILY_ENUMS_MAX];
    const int64_t *default_bounds; /* histograms: raw, ascending */
    size_t n_default_bounds;
};
extern const struct family family_table[METRIC_COUNT_];

/* Product of the enumerated labels' sizes: series of one label set. At least 1. */
int family_n_slots(enum metric m);

/* The metric of that name, or METRIC_COUNT_. */
enum metric family_find(const char *name);

/* Values of "type" in METRIC_TOKENS and METRIC_ESTIMATED_TOKENS. */
enum token_type {
    TOKEN_PROMPT,
    TOKEN_COMPLETION,
    TOKEN_CACHED,
    TOKEN_CACHE_WRITE,
    TOKEN_REASONING,
    TOKEN_TYPE_COUNT_,
};

/* Values of "class" and "reason" in METRIC_ADMISSION_WAITING and METRIC_ADMISSION_REJECTED. */
enum admission_metric_class {
    ADMISSION_METRIC_INTERACTIVE,
    ADMISSION_METRIC_BATCH,
    ADMISSION_METRIC_CLASS_COUNT_,
};
enum admission_metric_reason {
    ADMISSION_METRIC_FULL,
    ADMISSION_METRIC_TIMEOUT,
    ADMISSION_METRIC_REASON_COUNT_,
};

/* Values of "kind" in METRIC_CLIENT_RTT and METRIC_UPSTREAM_RTT. */
enum rtt_kind { RTT_SMOOTHED, RTT_MIN, RTT_KIND_COUNT_ };

/* Values of "step" in METRIC_PROBE_CONNECT. */
enum probe_step { PROBE_STEP_DNS, PROBE_STEP_TCP, PROBE_STEP_TLS, PROBE_STEP_COUNT_ };

/* Values of "reason" in METRIC_PROBE_FAILURES. */
enum probe_failure {
    PROBE_FAILURE_DNS,
    PROBE_FAILURE_CONNECT,
    PROBE_FAILURE_TLS,
    PROBE_FAILURE_TIMEOUT,
    PROBE_FAILURE_STATUS,
    PROBE_FAILURE_OTHER,
    PROBE_FAILURE_COUNT_,
};

enum overhead_phase { OVERHEAD_REQUEST, OVERHEAD_EVENT, OVERHEAD_PHASE_COUNT_ };
enum stream_event_kind { STREAM_EVENT_OUTPUT, STREAM_EVENT_OTHER, STREAM_EVENT_KIND_COUNT_ };

/* Values of "status" in METRIC_HTTP_RESPONSES; status 0: none was sent. */
int family_status_index(int status);

/* Bands of METRIC_TTFT_BY_PROMPT. cached_tokens < 0: unknown. */
int family_prompt_band(int64_t prompt_tokens);
int family_cached_band(int64_t prompt_tokens, int64_t cached_tokens);

/* docs/METRICS.md: this table and base/stat.h's. */
int metrics_to_markdown(struct buf *out) WARN_UNUSED;

#endif
