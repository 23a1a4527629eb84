/* SPDX-License-Identifier: Apache-2.0 */
/*
 * observe/observe.c - the tap: one exchange from begin to its record.
 *
 * Threads: everything happens on the worker's thread, except that observer.c and look.c show others
 * what is open. The lock is taken three times per exchange (begin, planned, end), never per read;
 * what changes while an answer streams is shown through relaxed atomics.
 */
#include "observe/observe.h"

#include <math.h>

#include "base/mem.h"
#include "base/stat.h"
#include "observe/exchange.h"

static struct tap *tap_take(struct observer *o)
{
    if (list_is_empty(&o->spare))
        return mem_alloc(sizeof(struct tap));
    struct tap *t = CONTAINER_OF(o->spare.next, struct tap, link);
    list_remove(&t->link);
    o->n_spare--;
    return t;
}

static void tap_give(struct observer *o, struct tap *t)
{
    if (o->n_spare >= SPARE_MAX) {
        mem_free(t);
        return;
    }
    list_push_front(&o->spare, &t->link);
    o->n_spare++;
}

static void note_stamp(struct tap *t, struct stamp at)
{
    t->n_kernel_stamps += at.is_kernel;
    t->n_clock_stamps += !at.is_kernel;
    if (at.is_clock_stepped)
        t->rec.flags |= RECORD_CLOCK_STEPPED;
}

/* --- the request --- */

static struct tap *on_begin(void *watcher, const struct tap_begin *b)
{
    struct observer *o = watcher;
    struct tap *t = tap_take(o);
    if (!t) {
        stat_inc(STAT_UNOBSERVED_NO_MEMORY);
        return NULL;
    }
    memset(t, 0, offsetof(struct tap, rec));
    t->observer = o;
    t->exchange = b->exchange;
    t->n_choices = 1;
    record_init(&t->rec);
    reading_reset(t);
    t->rec.t_accept = b->t_accept.at;
    t->rec.started_at = b->started_at;
    (void)span_copy(span_cstr(b->request_id), t->rec.request_id, sizeof(t->rec.request_id));
    names_from_head(&t->rec, b->head);
    if (b->is_pipelined)
        t->rec.flags |= RECORD_PIPELINED;
    note_stamp(t, b->t_accept);
    t->labels = (struct sink_labels){.model = t->rec.model_requested,
                                     .endpoint = t->rec.endpoint,
                                     .upstream = t->rec.upstream,
                                     .version = t->rec.model_version,
                                     .request_id = t->rec.request_id};
    observer_lock(o);
    list_push_back(&o->open, &t->link);
    o->n_open++;
    observer_unlock(o);
    return t;
}

static void on_request_end(struct tap *t, struct stamp at)
{
    note_stamp(t, at);
    t->rec.t_request = at.at;
}

static void on_identified(struct tap *t, const struct tap_identity *i)
{
    t->rec.t_identified = i->at;
    if (!i->key_id)
        return;
    (void)span_copy(span_cstr(i->key_id), t->rec.key_id, sizeof(t->rec.key_id));
    (void)span_copy(span_cstr(i->tenant), t->rec.tenant, sizeof(t->rec.tenant));
}

static void keep_version(struct record *r, const char *version)
{
    (void)span_copy(span_cstr(version), r->model_version, sizeof(r->model_version));
}

static void on_planned(struct tap *t, const struct tap_planned *p)
{
    const struct dialect_request *req = p->request;
    struct record *r = &t->rec;
    r->t_routed = p->at;
    t->dialect = p->dialect;
    t->upstream = (uint16_t)(p->upstream_index % TAP_UPSTREAMS_MAX);
    observer_lock(t->observer);
    r->endpoint = p->endpoint ? p->endpoint : "";
    r->dialect = t->dialect ? t->dialect->name : "";
    (void)span_copy(span_cstr(p->upstream), r->upstream, sizeof(r->upstream));
    keep_version(r, p->model_version);
    if (req) {
        (void)span_copy(span_cstr(req->model), r->model_requested, sizeof(r->model_requested));
        (void)span_copy(span_cstr(req->model), r->model_upstream, sizeof(r->model_upstream));
        r->max_tokens = req->max_tokens;
        t->n_choices = req->n;
        t->is_stream_asked = req->is_stream;
        r->is_stream = req->is_stream;
    }
    t->labels.endpoint = r->endpoint;
    if (p->model) /* all of a model's names are one in the metrics */
        t->labels.model = p->model;
    t->labels.is_stream = r->is_stream;
    t->labels.is_generating = t->dialect && t->dialect->is_generating;
    observer_unlock(t->observer);
    names_keep_labels(t, p->labels, p->n_labels);
    if (p->is_window_exceeded)
        r->flags |= RECORD_WINDOW_EXCEEDED;
    t->is_started = true;
    t->observer->ops->started(t->observer->sink, &t->labels);
}

static void on_admitted(struct tap *t, mono_t at)
{
    t->rec.t_admitted = at;
    int64_t queue_ns = mono_diff(at, t->rec.t_routed);
    if (t->is_started)
        t->observer->ops->admitted(t->observer->sink, &t->labels, queue_ns > 0 ? queue_ns : 0);
}

/* --- attempts and the answer --- */

static void on_attempt(struct tap *t, const struct tap_attempt *a)
{
    struct record *r = &t->rec;
    look_remember(t);
    reading_reset(t);
    t->labels.upstream_status = 0;
    t->upstream = (uint16_t)(a->upstream_index % TAP_UPSTREAMS_MAX);
    observer_lock(t->observer);
    (void)span_copy(span_cstr(a->upstream), r->upstream, sizeof(r->upstream));
    (void)span_copy(span_cstr(a->model ? a->model : r->model_requested), r->model_upstream,
                    sizeof(r->model_upstream));
    keep_version(r, a->model_version);
    observer_unlock(t->observer);
    t->rec.t_attempt = a->at;
    t->rec.n_attempts = a->number;
    t->rec.flags &= ~(uint32_t)RECORD_USAGE_INJECTED;
    if (a->is_usage_injected)
        t->rec.flags |= RECORD_USAGE_INJECTED;
    if (a->number > 1 && t->is_started)
        t->observer->ops->retried(t->observer->sink, &t->labels);
}

static void on_connected(struct tap *t, const struct tap_connected *c)
{
    struct record *r = &t->rec;
    /* A reused connection was usable at once: no stage "connect". */
    mono_t t_ready = r->n_attempts > 1 ? r->t_attempt : r->t_admitted;
    r->t_connected = c->is_reused && mono_is_set(t_ready) ? t_ready : c->at;
    r->connect_dns_ns = c->is_reused ? -1 : c->dns_ns;
    r->connect_tcp_ns = c->is_reused ? -1 : c->tcp_ns;
    r->connect_tls_ns = c->is_reused ? -1 : c->tls_ns;
}

static void on_sent(struct tap *t, mono_t at)
{
    t->rec.t_sent = at;
    bool is_early = mono_is_set(t->rec.t_end_event) || mono_is_set(t->rec.t_done);
    if (t->dialect && !is_early) /* else the answer is over, or not the engine's */
        t->t_awaited = at;
}

static void on_response_head(struct tap *t, const struct http1_head *head, struct stamp at)
{
    if (head->status < 200 && head->status != 101)
        return; /* interim: the head that counts follows */
    note_stamp(t, at);
    reading_head(t, head, at);
}

static void on_response_body(struct tap *t, struct span bytes, struct stamp at)
{
    note_stamp(t, at);
    reading_body(t, bytes, at);
}

static void on_response_end(struct tap *t, struct stamp at)
{
    note_stamp(t, at);
    reading_end(t, at.at);
}

static void on_forwarded(struct tap *t, mono_t at)
{
    mono_t since = t->t_unforwarded;
    t->t_unforwarded = MONO_NONE;
    if (t->is_started && mono_is_set(since) && at.ns >= since.ns)
        t->observer->ops->event_overhead(t->observer->sink, &t->labels, mono_diff(at, since));
}

/* --- the record --- */

static void fill_stream(struct record *r, const struct timing *timing)
{
    r->t_first_event = timing->t_first_event;
    r->t_first_token = timing->t_first_token;
    r->t_first_answer = timing->t_first_answer;
    r->t_last_token = timing->t_last_token;
    r->n_events = timing->n_events;
    r->n_output_events = timing->n_output_events;
    r->n_content_events = timing->n_content_events;
    r->n_arrivals = timing->n_arrivals;
    r->n_coalesced = timing->n_coalesced;
    r->output_kinds = timing->kinds;
    if (timing->n_coalesced > 0)
        r->flags |= RECORD_COALESCED;
    if (timing->n_blocked_gaps > 0)
        r->flags |= RECORD_CLIENT_LIMITED;
    if (timing->is_order_violated)
        stat_inc(STAT_STAMP_ORDER_VIOLATIONS);
}

static void estimate_usage(struct tap *t)
{
    struct record *r = &t->rec;
    /* A whole answer without usage stays without: its engine does not count, and we do not guess.
     */
    if (r->outcome == OUTCOME_OK || t->timing.n_output_events == 0 || t->is_timing_off)
        return;
    double ratio = estimates_get(&t->observer->estimates, r->model_requested);
    if (ratio < 0.0)
        return;
    double n_tokens = ratio * (double)t->timing.n_output_events;
    if (n_tokens > (double)USAGE_MAX)
        return;
    r->completion_tokens = (int64_t)llround(n_tokens);
    r->usage_source = USAGE_SOURCE_ESTIMATED;
    r->flags |= RECORD_ESTIMATED;
}

/* A count from before the output is none of it. */
static struct usage usage_of_output(const struct tap *t)
{
    struct usage u = t->answer.usage;
    if (t->answer.is_completion_early && (t->timing.n_output_events > 0 || t->is_timing_off))
        u.completion = USAGE_UNTOLD;
    return u;
}

static void fill_tokens(struct tap *t)
{
    struct record *r = &t->rec;
    const struct usage *raw = &t->answer.usage;
    bool is_anomalous = false;
    if (!t->dialect)
        return;
    struct usage usage = usage_of_output(t);
    struct dialect_tokens tokens = dialect_normalise(t->dialect, &usage, &is_anomalous);
    r->prompt_tokens = tokens.prompt;
    r->completion_tokens = tokens.completion;
    r->cached_tokens = tokens.cached;
    r->cache_write_tokens = tokens.cache_write;
    r->reasoning_tokens = tokens.reasoning;
    r->raw_prompt_tokens = raw->prompt;
    r->raw_completion_tokens = raw->completion;
    r->raw_cached_tokens = raw->cached;
    r->raw_cache_write_tokens = raw->cache_write;
    r->raw_reasoning_tokens = raw->reasoning;
    if (is_anomalous) {
        r->flags |= RECORD_USAGE_ANOMALY;
        stat_inc(STAT_USAGE_ANOMALIES);
    }
    if (usage_is_set(&usage))
        r->usage_source = USAGE_SOURCE_ENGINE;
    if (tokens.completion < 0)
        estimate_usage(t);
}

static void fill_engine(struct tap *t)
{
    const struct engine_times *told = &t->answer.engine;
    int64_t *ns = t->rec.engine_ns;
    ns[ENGINE_QUEUE] = told->queue_ns;
    ns[ENGINE_LOAD] = told->load_ns;
    ns[ENGINE_PREFILL] = told->prefill_ns;
    ns[ENGINE_DECODE] = told->decode_ns;
    ns[ENGINE_TOTAL] = told->total_ns;
}

static void fill_names(struct tap *t)
{
    struct record *r = &t->rec;
    (void)span_copy(span_cstr(t->answer.model), r->model_response, sizeof(r->model_response));
    (void)span_copy(span_cstr(t->answer.fingerprint), r->engine_fingerprint,
                    sizeof(r->engine_fingerprint));
    (void)span_copy(span_cstr(t->answer.finish), r->finish_reason, sizeof(r->finish_reason));
    if (r->upstream_status < 300 && names_is_model_mismatch(r->model_upstream, r->model_response)) {
        r->flags |= RECORD_MODEL_MISMATCH;
        stat_inc(STAT_MODEL_MISMATCHES);
    }
}

struct itl_ctx {
    const struct observer *observer;
    struct sink_labels *labels;
};

static void emit_itl(void *ctx, int64_t itl_ns, uint64_t n_tokens)
{
    struct itl_ctx *c = ctx;
    c->observer->ops->itl(c->observer->sink, c->labels, itl_ns, n_tokens);
}

static void fill_timing(struct tap *t)
{
    struct record *r = &t->rec;
    bool is_multi = t->n_choices > 1 || t->answer.max_choice_index > 0;
    if (is_multi)
        r->flags |= RECORD_MULTI_CHOICE;
    if (!record_is_generating_stream(r))
        return;
    if (t->is_timing_off || r->unobserved[0] != '\0') {
        timing_summary_init(&r->timing, TPOT_UNOBSERVED);
        return;
    }
    struct timing_tokens tokens = {r->completion_tokens, r->reasoning_tokens, is_multi};
    timing_summarise(&t->timing, tokens, &r->timing);
    if (r->timing.is_reasoning_hidden)
        r->flags |= RECORD_REASONING_HIDDEN;
    if (r->timing.n_stalls > 0 || mono_is_set(look_stalled_since(t, r->t_delivered)))
        r->flags |= RECORD_STALLED;
    r->buffer_bytes = (int)burst_buffer_bytes(&t->burst);
    if (r->buffer_bytes > 0)
        r->flags |= RECORD_BUFFERED_HOP;
    if (is_multi || !t->is_started)
        return;
    struct itl_ctx ctx = {t->observer, &t->labels};
    timing_each_itl(&t->timing, r->timing.tokens_per_event, emit_itl, &ctx);
    if (r->usage_source == USAGE_SOURCE_ENGINE && r->outcome == OUTCOME_OK &&
        r->timing.tokens_per_event > 0.0)
        estimates_update(&t->observer->estimates, r->model_requested, r->timing.tokens_per_event);
}

/* Every n-th stream of this worker. */
static bool is_sample(struct observer *o)
{
    if (o->config.timeline_every == 0 || ++o->n_sampled_of < o->config.timeline_every)
        return false;
    o->n_sampled_of = 0;
    return true;
}

/* Slow, failed and sampled streams keep their timeline; a failure of the client's counts, too. */
static void fill_timeline(struct tap *t, mono_t now)
{
    struct record *r = &t->rec;
    if (!t->dialect || !t->dialect->is_generating)
        return;
    if (r->outcome == OUTCOME_OK &&
        slow_judge(&t->observer->slow, r->model_requested, r->ttft_ns, r->e2e_ns, now))
        r->flags |= RECORD_SLOW;
    bool is_kept = r->outcome != OUTCOME_OK || (r->flags & RECORD_SLOW) != 0;
    if (!r->is_stream || t->is_timing_off || !(is_sample(t->observer) || is_kept))
        return;
    r->timeline = timeline_bytes(&t->timeline);
    if (r->timeline.n > 0)
        r->timeline_from_ns = r->t_request.ns;
    if (t->timeline.stride > 1)
        r->flags |= RECORD_TIMELINE_THINNED;
}

/* What was followed but made no sense, or mostly none, is not measured either. */
static void check_malformed(struct tap *t)
{
    if (!t->is_followed || t->answer.n_bad_json == 0 || t->rec.upstream_status >= 300)
        return;
    const struct dialect_answer *a = &t->answer;
    uint32_t n_read = t->timing.n_events -
                      (a->n_bad_json < t->timing.n_events ? a->n_bad_json : t->timing.n_events);
    if (!t->rec.is_stream || n_read == 0 || a->n_bad_objects > n_read)
        observe_give_up(t, "malformed", STAT_UNOBSERVED_MALFORMED);
}

/* One that passed a limit since the last look, or whose engine told the tokens at the end only. */
static void check_runaway(struct tap *t)
{
    const struct observer_config *c = &t->observer->config;
    bool has_many = c->runaway_tokens > 0 && t->rec.completion_tokens > c->runaway_tokens;
    if (runaway_is(t, t->rec.t_delivered) || (has_many && t->rec.is_stream))
        runaway_note(t);
}

static void count_coverage(const struct record *r)
{
    if (!record_is_generating_stream(r) || r->outcome != OUTCOME_OK)
        return;
    stat_inc(STAT_STREAMS_FINISHED);
    if (mono_is_set(r->t_first_token))
        stat_inc(STAT_STREAMS_WITH_TTFT);
    if (r->usage_source == USAGE_SOURCE_ENGINE)
        stat_inc(STAT_STREAMS_WITH_USAGE);
}

static enum stamp_source stamp_source_of(const struct tap *t)
{
    if (t->n_kernel_stamps > 0)
        return t->n_clock_stamps > 0 ? STAMP_MIXED : STAMP_KERNEL;
    return t->n_clock_stamps > 0 ? STAMP_CLOCK : STAMP_NONE;
}

static void fill_record(struct tap *t, const struct tap_finish *f)
{
    struct record *r = &t->rec;
    r->t_delivered = f->at;
    r->status = f->status;
    r->n_attempts = f->n_attempts;
    r->client_blocked_ns = f->client_blocked_ns;
    r->request_bytes = f->request_bytes;
    r->response_bytes = f->response_bytes;
    r->client_path =
        (struct record_path){f->client.rtt_ns, f->client.rtt_min_ns, (int)f->client.n_resent};
    r->upstream_path =
        (struct record_path){f->upstream.rtt_ns, f->upstream.rtt_min_ns, (int)f->upstream.n_resent};
    r->stamp_source = stamp_source_of(t);
    if (f->client_blocked_ns > 0)
        r->flags |= RECORD_CLIENT_LIMITED;
    if (f->n_attempts > 1 && mono_is_set(r->t_headers))
        r->flags |= RECORD_IS_RETRY;
    fill_stream(r, &t->timing);
    verdict_decide(t, f);
    check_malformed(t);
    fill_names(t);
    fill_tokens(t);
    check_runaway(t);
    fill_engine(t);
    fill_timing(t);
    if (record_derive(r) > 0)
        stat_inc(STAT_STAMP_ORDER_VIOLATIONS);
    fill_timeline(t, f->at);
    count_coverage(r);
}

static void on_end(struct tap *t, const struct tap_finish *f)
{
    struct observer *o = t->observer;
    observer_lock(o);
    list_remove(&t->link);
    o->n_open--;
    observer_unlock(o);
    look_remember(t);
    look_clear(t);
    reading_read_stray(t); /* an answer that was cut */
    fill_record(t, f);
    o->ops->done(o->sink, &t->labels, &t->rec, t->is_started);
    reading_free(t);
    mem_free(t->label_texts);
    tap_give(o, t);
}

const struct tap_ops observe_tap = {
    .begin = on_begin,
    .request_end = on_request_end,
    .identified = on_identified,
    .planned = on_planned,
    .admitted = on_admitted,
    .attempt = on_attempt,
    .connected = on_connected,
    .sent = on_sent,
    .response_head = on_response_head,
    .response_body = on_response_body,
    .paused = reading_paused,
    .resumed = reading_resumed,
    .response_end = on_response_end,
    .forwarded = on_forwarded,
    .end = on_end,
};
