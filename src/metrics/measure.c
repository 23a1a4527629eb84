/* SPDX-License-Identifier: Apache-2.0 */
/*
 * metrics/measure.c - which numbers go into which series, and when (docs/DEFINITIONS.md, "When,
 * with which labels"). Runs on the shard's thread; numbers are single-writer relaxed atomics.
 */
#include "base/stat.h"
#include "metrics/registry.h"

static struct metrics_series *series_in(struct metrics_series_set *set, enum metric metric, int i)
{
    if (!set) {
        stat_inc(STAT_DROP_NO_MEMORY);
        return NULL;
    }
    return series_of(set->blocks[family_table[metric].scope], metric, i);
}

static struct hist *hist_in(struct metrics_series_set *set, enum metric metric, int i)
{
    struct metrics_series *s = series_in(set, metric, i);
    return s ? &s->hist : NULL;
}

static void record(struct metrics_series_set *set, enum metric metric, int i, int64_t raw)
{
    struct hist *h = hist_in(set, metric, i);
    if (h)
        hist_record(h, raw);
}

static void record_exemplar(struct metrics_series_set *set, enum metric metric, int i, int64_t raw,
                            const char *id)
{
    struct hist *h = hist_in(set, metric, i);
    if (h)
        hist_record_exemplar(h, raw, id, clock_wall());
}

static void bump(struct metrics_series *s, int64_t n)
{
    if (s)
        atomic_store_explicit(&s->value, atomic_load_explicit(&s->value, memory_order_relaxed) + n,
                              memory_order_relaxed);
}

static void count(struct metrics_series_set *set, enum metric metric, int i, int64_t n)
{
    bump(series_in(set, metric, i), n);
}

/*
 * The maximum of a moving window: one word per minute, even and odd, so that a reader sees this
 * minute's and the last one's. A word is (minute << 40 | value); values above 2^40 are cut.
 */
#define WINDOW_VALUE_BITS 40
#define WINDOW_VALUE_MAX  ((INT64_C(1) << WINDOW_VALUE_BITS) - 1)

static uint64_t window_minute(mono_t now)
{
    return (uint64_t)(now.ns / (60 * NS_PER_S));
}

static void raise_max(struct metrics_series *s, int64_t value, mono_t now)
{
    if (!s || value < 0)
        return;
    uint64_t minute = window_minute(now);
    uint64_t v = (uint64_t)(value < WINDOW_VALUE_MAX ? value : WINDOW_VALUE_MAX);
    _Atomic uint64_t *word = &s->window[minute % 2];
    uint64_t old = atomic_load_explicit(word, memory_order_relaxed);
    if (old >> WINDOW_VALUE_BITS != minute || (old & (uint64_t)WINDOW_VALUE_MAX) < v)
        atomic_store_explicit(word, minute << WINDOW_VALUE_BITS | v, memory_order_relaxed);
}

int64_t measure_window_max(const struct metrics_series *s, mono_t now)
{
    uint64_t minute = window_minute(now);
    int64_t max = -1;
    for (int i = 0; i < 2; i++) {
        uint64_t word = atomic_load_explicit(&s->window[i], memory_order_relaxed);
        uint64_t age = minute - (word >> WINDOW_VALUE_BITS);
        int64_t value = (int64_t)(word & (uint64_t)WINDOW_VALUE_MAX);
        if (word != 0 && age <= 1 && value > max)
            max = value;
    }
    return max;
}

/* --- the instant they happen --- */

void metrics_stream_started(struct metrics_series_set *set)
{
    if (!set || set->is_stream_started)
        return;
    for (int i = 0; i < NO_FIRST_TOKEN_COUNT_; i++)
        count(set, METRIC_NO_FIRST_TOKEN, i, 0);
    count(set, METRIC_BUFFERED_STREAMS, 0, 0);
    set->is_stream_started = true;
}

struct metrics_series *metrics_inflight_begin(struct metrics_series_set *set)
{
    struct metrics_series *s = series_in(set, METRIC_INFLIGHT, 0);
    bump(s, 1);
    return s;
}

void metrics_inflight_end(struct metrics_series *inflight)
{
    bump(inflight, -1);
}

void metrics_record_runaway(struct metrics_series_set *set)
{
    count(set, METRIC_RUNAWAY_STREAMS, 0, 1);
}

void metrics_attempt_over(struct metrics_series_set *set)
{
    count(set, METRIC_ATTEMPTS, 0, 1);
}

static void set_value(struct metrics_series_set *set, enum metric m, int i, int64_t value)
{
    struct metrics_series *s = series_in(set, m, i);
    if (s)
        atomic_store_explicit(&s->value, value, memory_order_relaxed);
}

void metrics_set_upstream_silent(struct metrics_series_set *set, int64_t silent_ns)
{
    set_value(set, METRIC_UPSTREAM_SILENT, 0, silent_ns / NS_PER_S);
}

void metrics_set_admission(struct metrics_series_set *set, const struct metrics_admission *now)
{
    set_value(set, METRIC_ADMISSION_INFLIGHT, 0, now->n_inflight);
    set_value(set, METRIC_ADMISSION_TOKENS, 0, now->tokens_inflight);
    for (int c = 0; c < ADMISSION_METRIC_CLASS_COUNT_; c++) {
        set_value(set, METRIC_ADMISSION_WAITING, c, now->n_waiting[c]);
        for (int r = 0; r < ADMISSION_METRIC_REASON_COUNT_; r++)
            set_value(set, METRIC_ADMISSION_REJECTED, c * ADMISSION_METRIC_REASON_COUNT_ + r,
                      now->n_rejected[c][r]);
    }
}

void metrics_set_breaker(struct metrics_series_set *set, bool is_open, uint64_t n_openings)
{
    set_value(set, METRIC_BREAKER_OPEN, 0, is_open);
    set_value(set, METRIC_BREAKER_OPENINGS, 0, (int64_t)n_openings);
}

/* --- probes --- */

void metrics_probe_started(struct metrics_series_set *set)
{
    for (int i = 0; i < PROBE_FAILURE_COUNT_; i++)
        count(set, METRIC_PROBE_FAILURES, i, 0);
}

void metrics_record_probe_connect(struct metrics_series_set *set, int64_t dns_ns, int64_t tcp_ns,
                                  int64_t tls_ns)
{
    const int64_t steps[PROBE_STEP_COUNT_] = {
        [PROBE_STEP_DNS] = dns_ns, [PROBE_STEP_TCP] = tcp_ns, [PROBE_STEP_TLS] = tls_ns};
    for (int i = 0; i < PROBE_STEP_COUNT_; i++)
        if (steps[i] >= 0)
            record(set, METRIC_PROBE_CONNECT, i, steps[i]);
}

void metrics_record_tokenize(struct metrics_series_set *set, int64_t ns)
{
    record(set, METRIC_TOKENIZE, 0, ns);
}

void metrics_record_probe_failure(struct metrics_series_set *set, enum probe_failure why)
{
    count(set, METRIC_PROBE_FAILURES, (int)why, 1);
}

/* --- requests, the instant it happens --- */

void metrics_record_queue(struct metrics_series_set *set, int64_t queue_ns)
{
    record(set, METRIC_QUEUE, 0, queue_ns);
}

void metrics_record_ttft(struct metrics_series_set *set, int64_t ttft_ns, const char *request_id)
{
    record_exemplar(set, METRIC_TTFT, 0, ttft_ns, request_id);
}

void metrics_record_ttfa(struct metrics_series_set *set, int64_t ttfa_ns)
{
    record(set, METRIC_TTFA, 0, ttfa_ns);
}

void metrics_record_gap(struct metrics_series_set *set, int64_t icl_ns)
{
    if (LIKELY(set && set->icl)) {
        hist_record(set->icl, icl_ns);
        return;
    }
    struct hist *h = hist_in(set, METRIC_ICL, 0);
    if (!h)
        return;
    set->icl = h;
    hist_record(h, icl_ns);
}

void metrics_record_itl(struct metrics_series_set *set, int64_t itl_ns, uint64_t n_tokens)
{
    struct hist *h = hist_in(set, METRIC_ITL, 0);
    if (h)
        hist_record_n(h, itl_ns, n_tokens);
}

void metrics_record_event_overhead(struct metrics_shard *shard, int64_t overhead_ns)
{
    if (UNLIKELY(!shard->event_overhead)) {
        struct metrics_series *s = series_of(shard->process, METRIC_OVERHEAD, OVERHEAD_EVENT);
        if (!s)
            return;
        shard->event_overhead = &s->hist;
    }
    hist_record(shard->event_overhead, overhead_ns);
}

/* --- at the end --- */

static void record_result(struct metrics_series_set *set, const struct record *r)
{
    count(set, METRIC_REQUESTS, (int)r->outcome, 1);
    count(set, METRIC_HTTP_RESPONSES, family_status_index(r->status), 1);
    if (r->n_attempts > 0)
        count(set, METRIC_ATTEMPTS, 0,
              1); /* the last; those before it were counted when it began */
    if (r->e2e_ns >= 0)
        record_exemplar(set, METRIC_E2E, (int)r->outcome, r->e2e_ns, r->request_id);
    if (r->backlog_ns >= 0)
        record(set, METRIC_BACKLOG, 0, r->backlog_ns);
    if (r->upstream_ttft_ns >= 0)
        record(set, METRIC_UPSTREAM_TTFT, 0, r->upstream_ttft_ns);
    if (r->stage_ns[STAGE_CONNECT] >= 0)
        record(set, METRIC_CONNECT, 0, r->stage_ns[STAGE_CONNECT]);
}

static void record_stages(struct metrics_series_set *set, const struct record *r)
{
    for (int i = 0; i < STAGE_COUNT_; i++) {
        if (r->stage_ns[i] >= 0)
            record(set, METRIC_STAGE, i, r->stage_ns[i]);
    }
    if (r->overhead_request_ns >= 0)
        record(set, METRIC_OVERHEAD, OVERHEAD_REQUEST, r->overhead_request_ns);
}

static void record_path(struct metrics_series_set *set, const struct record_path *p,
                        enum metric rtt, enum metric resent)
{
    if (p->rtt_ns >= 0)
        record(set, rtt, RTT_SMOOTHED, p->rtt_ns);
    if (p->rtt_min_ns >= 0)
        record(set, rtt, RTT_MIN, p->rtt_min_ns);
    if (p->rtt_ns >= 0 || p->n_resent > 0)
        count(set, resent, 0, p->n_resent); /* 0 from the first look on */
}

static void record_engine(struct metrics_series_set *set, const struct record *r)
{
    for (int i = 0; i < ENGINE_STAGE_COUNT_; i++) {
        if (r->engine_ns[i] >= 0)
            record(set, METRIC_ENGINE_STAGE, i, r->engine_ns[i]);
    }
}

/* What a stream that generates has beside its tokens. */
static void record_stream(struct metrics_series_set *set, const struct record *r)
{
    const struct timing_summary *t = &r->timing;
    enum no_first_token reason;
    if (record_has_no_first_token(r, &reason)) {
        metrics_stream_started(set);
        count(set, METRIC_NO_FIRST_TOKEN, (int)reason, 1);
    } else if (t->tpot_status != TPOT_OK) {
        count(set, METRIC_TPOT_UNMEASURABLE, (int)t->tpot_status, 1);
    }
    /* Interleaved choices have figures in the record, and no samples. */
    if (!(r->flags & RECORD_MULTI_CHOICE)) {
        if (t->tpot_status == TPOT_OK && t->tpot_ns >= 0)
            record_exemplar(set, METRIC_TPOT, 0, t->tpot_ns, r->request_id);
        if (t->jitter_ns >= 0)
            record(set, METRIC_JITTER, 0, t->jitter_ns);
        count(set, METRIC_STALLS, 0, t->n_stalls);
    }
    if (t->tokens_per_event >= 0)
        record(set, METRIC_TOKENS_PER_EVENT, 0, (int64_t)(t->tokens_per_event * 1000 + 0.5));
    if (r->flags & RECORD_BUFFERED_HOP)
        count(set, METRIC_BUFFERED_STREAMS, 0, 1);
    uint32_t n_output = r->n_output_events < r->n_events ? r->n_output_events : r->n_events;
    count(set, METRIC_STREAM_EVENTS, STREAM_EVENT_OUTPUT, n_output);
    count(set, METRIC_STREAM_EVENTS, STREAM_EVENT_OTHER, r->n_events - n_output);
}

static void record_tokens(struct metrics_series_set *set, const struct record *r)
{
    const int64_t tokens[TOKEN_TYPE_COUNT_] = {
        [TOKEN_PROMPT] = r->prompt_tokens,       [TOKEN_COMPLETION] = r->completion_tokens,
        [TOKEN_CACHED] = r->cached_tokens,       [TOKEN_CACHE_WRITE] = r->cache_write_tokens,
        [TOKEN_REASONING] = r->reasoning_tokens,
    };
    if (r->usage_source == USAGE_SOURCE_NONE)
        return;
    /* Of the counts only the completion is ever an estimate. */
    bool is_estimate = r->usage_source == USAGE_SOURCE_ESTIMATED;
    for (int i = 0; i < TOKEN_TYPE_COUNT_; i++) {
        bool is_this = is_estimate && i == TOKEN_COMPLETION;
        if (tokens[i] >= 0)
            count(set, is_this ? METRIC_ESTIMATED_TOKENS : METRIC_TOKENS, i, tokens[i]);
    }
    if (r->completion_tokens >= 0)
        raise_max(series_in(set, METRIC_COMPLETION_TOKENS_MAX, 0), r->completion_tokens,
                  clock_mono());
    if (r->prompt_tokens >= 0)
        record(set, METRIC_PROMPT_TOKENS, 0, r->prompt_tokens);
    if (r->completion_tokens >= 0 && !is_estimate)
        record(set, METRIC_COMPLETION_TOKENS, 0, r->completion_tokens);
    if (r->cached_tokens >= 0)
        record(set, METRIC_CACHED_TOKENS, 0, r->cached_tokens);
    if (r->ttft_ns >= 0 && r->prompt_tokens >= 0) {
        int band =
            family_prompt_band(r->prompt_tokens) * family_table[METRIC_TTFT_BY_PROMPT].enums[1].n +
            family_cached_band(r->prompt_tokens, r->cached_tokens);
        record(set, METRIC_TTFT_BY_PROMPT, band, r->ttft_ns);
    }
}

void metrics_record_done(struct metrics_series_set *set, const struct record *r)
{
    if (!set) {
        stat_inc(STAT_DROP_NO_MEMORY);
        return;
    }
    record_result(set, r);
    record_stages(set, r);
    record_path(set, &r->client_path, METRIC_CLIENT_RTT, METRIC_CLIENT_RESENT);
    record_path(set, &r->upstream_path, METRIC_UPSTREAM_RTT, METRIC_UPSTREAM_RESENT);
    record_engine(set, r);
    if (record_is_generating_stream(r))
        record_stream(set, r);
    record_tokens(set, r);
}
