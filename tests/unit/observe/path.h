/* SPDX-License-Identifier: Apache-2.0 */
/*
 * path.h - a fake byte path with exact stamps, and a sink that remembers what it was told.
 *
 * Stamps are microseconds of the test's own time; us(0) is when the first byte came in.
 */
#ifndef PATH_H
#define PATH_H

#include <string.h>

#include "base/attr.h"
#include "dialect/dialect.h"
#include "harness.h"
#include "observe/observe.h"

enum { SEEN_MAX = 512 };

/* What the sink was told. */
struct seen {
    int n_retried, n_runaway;
    int n_started, n_admitted, n_ttft, n_ttfa, n_gaps, n_overheads, n_itl, n_done;
    int64_t queue_ns, ttft_ns, ttfa_ns;
    int64_t gaps_ns[SEEN_MAX];
    int64_t overheads_ns[SEEN_MAX];
    uint64_t itl_tokens;
    double itl_total_ns;
    struct {
        int64_t ns;
        uint64_t n_tokens;
    } itl[SEEN_MAX];
    bool was_started;
    bool is_late; /* something came after done */
    struct record record;
    char timeline[TIMELINE_BYTES]; /* what the record borrowed */
    char label_texts[RECORD_LABELS_MAX];
    struct sink_labels labels;
};

struct path {
    struct observer *observer;
    struct tap *tap;
    struct seen seen;
    struct dialect_request request;
    uint32_t n_attempts;
    size_t upstream;
    const char *version; /* of the upstream's model */
    const struct tap_label *labels;
    size_t n_labels;
    bool is_clock; /* stamps come from the clock, not the kernel */
};

static inline mono_t us(int64_t n)
{
    return (mono_t){NS_PER_S + n * NS_PER_US};
}

static inline struct stamp stamp_us(const struct path *p, int64_t n)
{
    return (struct stamp){.at = us(n), .is_kernel = !p->is_clock};
}

static inline void seen_started(void *sink, struct sink_labels *l)
{
    struct seen *s = sink;
    s->n_started++;
    s->labels = *l;
}

static inline void seen_admitted(void *sink, struct sink_labels *l, int64_t ns)
{
    struct seen *s = sink;
    (void)l;
    s->n_admitted++;
    s->queue_ns = ns;
}

static inline void seen_first_token(void *sink, struct sink_labels *l, int64_t ns)
{
    struct seen *s = sink;
    (void)l;
    s->n_ttft++;
    s->ttft_ns = ns;
    s->is_late = s->is_late || s->n_done > 0;
}

static inline void seen_first_answer(void *sink, struct sink_labels *l, int64_t ns)
{
    struct seen *s = sink;
    (void)l;
    s->n_ttfa++;
    s->ttfa_ns = ns;
}

static inline void seen_gap(void *sink, struct sink_labels *l, int64_t ns)
{
    struct seen *s = sink;
    (void)l;
    assert_true(s->n_gaps < SEEN_MAX);
    s->gaps_ns[s->n_gaps++] = ns;
}

static inline void seen_overhead(void *sink, struct sink_labels *l, int64_t ns)
{
    struct seen *s = sink;
    (void)l;
    assert_true(s->n_overheads < SEEN_MAX);
    s->overheads_ns[s->n_overheads++] = ns;
}

static inline void seen_itl(void *sink, struct sink_labels *l, int64_t ns, uint64_t n_tokens)
{
    struct seen *s = sink;
    (void)l;
    assert_true(s->n_itl < SEEN_MAX);
    s->itl[s->n_itl].ns = ns;
    s->itl[s->n_itl].n_tokens = n_tokens;
    s->n_itl++;
    s->itl_tokens += n_tokens;
    s->itl_total_ns += (double)ns * (double)n_tokens;
    s->is_late = s->is_late || s->n_done > 0;
}

static inline void seen_done(void *sink, struct sink_labels *l, const struct record *r,
                             bool was_started)
{
    struct seen *s = sink;
    s->n_done++;
    s->record = *r;
    assert_true(r->timeline.n <= sizeof(s->timeline));
    if (r->timeline.n > 0)
        memcpy(s->timeline, r->timeline.p, r->timeline.n);
    s->record.timeline.p = s->timeline;
    assert_true(r->labels.n <= sizeof(s->label_texts));
    if (r->labels.n > 0)
        memcpy(s->label_texts, r->labels.p, r->labels.n);
    s->record.labels.p = s->label_texts;
    s->labels = *l;
    s->was_started = was_started;
}

static void seen_retried(void *sink, struct sink_labels *l)
{
    struct seen *s = sink;
    (void)l;
    s->n_retried++;
}

static void seen_runaway(void *sink, struct sink_labels *l)
{
    struct seen *s = sink;
    (void)l;
    s->n_runaway++;
}

static const struct sink_ops seen_ops = {
    .started = seen_started,
    .admitted = seen_admitted,
    .retried = seen_retried,
    .runaway = seen_runaway,
    .first_token = seen_first_token,
    .first_answer = seen_first_answer,
    .gap = seen_gap,
    .event_overhead = seen_overhead,
    .itl = seen_itl,
    .done = seen_done,
};

/* With the timeline of every n-th stream kept. */
static inline void path_open_sampling(struct path *p, uint32_t timeline_every)
{
    const struct observer_config config = {.timeline_every = timeline_every};
    memset(p, 0, sizeof(*p));
    assert_int_equal(observer_new(&config, &seen_ops, &p->seen, &p->observer), 0);
}

static inline void path_open(struct path *p)
{
    path_open_sampling(p, 0);
}

static inline void path_close(struct path *p)
{
    p->observer = observer_free(p->observer);
}

static inline void path_begin(struct path *p, const struct http1_head *head)
{
    memset(&p->seen, 0, sizeof(p->seen));
    p->n_attempts = 0;
    struct tap_begin b = {.head = head,
                          .exchange = (struct exchange *)(void *)p,
                          .t_accept = stamp_us(p, 0),
                          .started_at = {INT64_C(1700000000000000)},
                          .request_id = "gw-1"};
    p->tap = observe_tap.begin(p->observer, &b);
}

/* Planned at 110 us and admitted at 115 us; request complete at 100 us. */
static inline void path_plan_at(struct path *p, const char *dialect, const char *target,
                                const char *body)
{
    const struct dialect *d = dialect_by_name(span_cstr(dialect));
    observe_tap.request_end(p->tap, stamp_us(p, 100));
    if (d)
        d->inspect(span_cstr(target), span_cstr(body), true, &p->request);
    struct tap_planned planned = {.at = us(110),
                                  .upstream = "up",
                                  .upstream_index = p->upstream,
                                  .model_version = p->version,
                                  .labels = p->labels,
                                  .n_labels = p->n_labels,
                                  .endpoint = d ? "chat_completions" : "other",
                                  .dialect = d,
                                  .request = d ? &p->request : NULL};
    observe_tap.planned(p->tap, &planned);
    observe_tap.admitted(p->tap, us(115));
}

static inline void path_plan(struct path *p, const char *dialect, const char *body)
{
    path_plan_at(p, dialect, "", body);
}

/* An attempt on a new connection, sent at `sent`. */
static inline void path_attempt(struct path *p, int64_t sent)
{
    struct tap_attempt a = {.at = us(sent - 30),
                            .number = ++p->n_attempts,
                            .upstream = "up",
                            .upstream_index = p->upstream,
                            .model_version = p->version};
    struct tap_connected c = {.at = us(sent - 10), .dns_ns = -1, .tcp_ns = 20000, .tls_ns = 30000};
    observe_tap.attempt(p->tap, &a);
    observe_tap.connected(p->tap, &c);
    observe_tap.sent(p->tap, us(sent));
}

/* coding: of the content, or NULL. */
static inline void path_head_coded(struct path *p, int status, const char *type, const char *coding,
                                   int64_t at)
{
    struct http1_head head = {.status = status, .minor = 1, .framing = HTTP1_BODY_CHUNKED};
    if (type)
        head.fields[head.n_fields++] = (struct http1_field){SPAN("content-type"), span_cstr(type)};
    if (coding)
        head.fields[head.n_fields++] =
            (struct http1_field){SPAN("Content-Encoding"), span_cstr(coding)};
    observe_tap.response_head(p->tap, &head, stamp_us(p, at));
}

static inline void path_head(struct path *p, int status, const char *type, int64_t at)
{
    path_head_coded(p, status, type, NULL, at);
}

static const struct http1_head path_post = {.method = SPAN_INIT("POST"), .minor = 1};

/* A POST up to its plan. */
static inline void path_request(struct path *p, const char *dialect, const char *body)
{
    path_begin(p, &path_post);
    path_plan(p, dialect, body);
}

/* A POST that was sent at 150 us: what comes next is the answer's head. */
static inline void path_send(struct path *p, const char *dialect, const char *body)
{
    path_request(p, dialect, body);
    path_attempt(p, 150);
}

/* Everything up to the head of a streamed chat answer at 500 us. */
static inline void path_stream(struct path *p, const char *body)
{
    path_send(p, "openai-chat", body);
    path_head(p, 200, "text/event-stream", 500);
}

/* The same on a new path. */
static inline void path_open_stream(struct path *p, const char *body)
{
    path_open(p);
    path_stream(p, body);
}
#define STREAM_BODY "{\"model\":\"m\",\"stream\":true}"

/* One read, forwarded 20 us later. */
static inline void path_read_bytes(struct path *p, struct span bytes, int64_t at)
{
    observe_tap.response_body(p->tap, bytes, stamp_us(p, at));
    observe_tap.forwarded(p->tap, us(at + 20));
}

static inline void path_read(struct path *p, const char *bytes, int64_t at)
{
    path_read_bytes(p, span_cstr(bytes), at);
}

static inline void path_end_as(struct path *p, enum tap_end end, enum tap_reason reason, int64_t at)
{
    struct tap_finish f = {.at = us(at),
                           .end = end,
                           .reason = reason,
                           .status = 200,
                           .n_attempts = p->n_attempts,
                           .request_bytes = 10,
                           .response_bytes = 20,
                           .client = {40 * NS_PER_MS, 30 * NS_PER_MS, 2},
                           .upstream = {-1, -1, 0}};
    observe_tap.end(p->tap, &f);
    p->tap = NULL;
    assert_int_equal(p->seen.n_done, 1);
    assert_false(p->seen.is_late);
}

/* The answer ended regularly and was delivered. */
static inline void path_end(struct path *p, int64_t at)
{
    observe_tap.response_end(p->tap, stamp_us(p, at));
    path_end_as(p, TAP_END_COMPLETE, TAP_REASON_NONE, at + 10);
}

/* SSE events of the chat dialect. */
#define EVENT(json) "data: " json "\n\n"
#define ROLE                                                                                       \
    EVENT("{\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"\"}}]}")
#define TEXT(t)   EVENT("{\"choices\":[{\"index\":0,\"delta\":{\"content\":\"" t "\"}}]}")
#define THINK(t)  EVENT("{\"choices\":[{\"index\":0,\"delta\":{\"reasoning_content\":\"" t "\"}}]}")
#define FINISH(r) EVENT("{\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"" r "\"}]}")
#define USAGE(p, c)                                                                                \
    EVENT("{\"choices\":[],\"usage\":{\"prompt_tokens\":" #p ",\"completion_tokens\":" #c "}}")
#define DONE EVENT("[DONE]")

static inline bool has_flag(const struct path *p, enum record_flag flag)
{
    return (p->seen.record.flags & (uint32_t)flag) != 0;
}

#endif
