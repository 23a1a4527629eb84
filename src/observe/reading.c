/* SPDX-License-Identifier: Apache-2.0 */
/*
 * observe/reading.c - the answer of the current attempt: bytes -> events -> measurements.
 *
 * Invariants: nothing is allocated per streamed event (the reader of events keeps only what
 * straddles two reads). After the end mark the answer is over, whatever else comes. When an event
 * was lost (too large) no time is taken any more, but usage, errors and the end mark still are.
 */
#include "base/limits.h"
#include "observe/exchange.h"

/* dialect/ and timing/ do not know each other; their kinds are the same bits. */
_Static_assert((int)DIALECT_TEXT == (int)OUTPUT_TEXT, "kinds");
_Static_assert((int)DIALECT_REASONING == (int)OUTPUT_REASONING, "kinds");
_Static_assert((int)DIALECT_REASONING_OPAQUE == (int)OUTPUT_REASONING_OPAQUE, "kinds");
_Static_assert((int)DIALECT_TOOL_NAME == (int)OUTPUT_TOOL_NAME, "kinds");
_Static_assert((int)DIALECT_TOOL_ARGS == (int)OUTPUT_TOOL_ARGS, "kinds");
_Static_assert((int)DIALECT_REFUSAL == (int)OUTPUT_REFUSAL, "kinds");
_Static_assert((int)DIALECT_AUDIO == (int)OUTPUT_AUDIO, "kinds");
_Static_assert((int)DIALECT_IMAGE == (int)OUTPUT_IMAGE, "kinds");
_Static_assert((int)DIALECT_REASONING_SUMMARY == (int)OUTPUT_REASONING_SUMMARY, "kinds");

#define LENGTH_UNKNOWN UINT64_MAX

void observe_give_up(struct tap *t, const char *reason, enum stat_id stat)
{
    if (t->rec.unobserved[0] != '\0')
        return;
    (void)span_copy(span_cstr(reason), t->rec.unobserved, sizeof(t->rec.unobserved));
    stat_inc(stat);
}

void reading_free(struct tap *t)
{
    t->decoder = decoder_free(t->decoder);
    events_done(&t->events);
    buf_done(&t->body);
}

void reading_reset(struct tap *t)
{
    reading_free(t);
    events_init(&t->events, FRAMING_SSE, LIMIT_EVENT_BYTES);
    buf_init(&t->body, LIMIT_ANSWER_BYTES);
    dialect_answer_init(&t->answer);
    timing_init(&t->timing);
    burst_init(&t->burst);
    timeline_init(&t->timeline, t->timeline_room);
    t->reading = READING_NOTHING;
    t->is_followed = false;
    t->is_timing_off = false;
    t->is_inside_event = false;
    t->is_paused = false;
    t->pause_from = t->pause_to = MONO_NONE;
    t->t_awaited = t->t_body = t->t_unread = MONO_NONE;
    t->length_left = LENGTH_UNKNOWN;
    t->t_last_read = MONO_NONE;
    t->t_unforwarded = MONO_NONE;
    t->n_tokens_told = 0;

    struct record *r = &t->rec;
    r->t_connected = r->t_sent = r->t_headers = r->t_first_byte = MONO_NONE;
    r->t_end_event = r->t_done = MONO_NONE;
    r->connect_dns_ns = r->connect_tcp_ns = r->connect_tls_ns = -1;
    r->upstream_status = 0;
    r->unobserved[0] = '\0';
    r->is_stream = t->is_stream_asked;
    atomic_store_explicit(&t->shown_first_token_ns, 0, memory_order_relaxed);
    atomic_store_explicit(&t->shown_last_token_ns, 0, memory_order_relaxed);
    atomic_store_explicit(&t->shown_n_output_events, 0, memory_order_relaxed);
    look_clear(t);
}

/* --- head --- */

/* The media type without its parameters. */
static struct span media_type(const struct http1_head *head)
{
    struct span value = http1_field_value(head, SPAN("content-type"));
    return span_trim((struct span){value.p, span_find_char(value, ';')});
}

/* Answers that come coded, although identity was asked for, are decoded beside their way to the
 * client. false: this one cannot be read. */
static bool begin_decoding(struct tap *t, const struct http1_head *head)
{
    enum coding coding = coding_of(http1_field_value(head, SPAN("content-encoding")));
    if (coding == CODING_IDENTITY)
        return true;
    if (coding == CODING_OTHER)
        observe_give_up(t, "content_coded", STAT_UNOBSERVED_CODED);
    else if (decoder_new(coding, &t->decoder) < 0)
        observe_give_up(t, "no_memory", STAT_UNOBSERVED_NO_MEMORY);
    t->length_left = LENGTH_UNKNOWN; /* it counts coded bytes */
    return t->decoder != NULL;
}

/* At HTTP level there is nothing but the media type to go by. */
static bool is_stream_answer(const struct tap *t, const struct http1_head *head,
                             enum framing *ret_framing)
{
    struct span type = media_type(head);
    bool is_asked = t->is_stream_asked && head->status < 300;
    if (t->dialect)
        return dialect_is_stream(t->dialect, type, is_asked, ret_framing);
    return span_eq_nocase(type, SPAN("text/event-stream")) || (type.n == 0 && is_asked);
}

void reading_head(struct tap *t, const struct http1_head *head, struct stamp at)
{
    struct record *r = &t->rec;
    enum framing framing = FRAMING_SSE;
    bool is_stream = is_stream_answer(t, head, &framing);
    r->t_headers = at.at;
    r->upstream_status = head->status;
    t->labels.upstream_status = head->status;
    if (head->framing == HTTP1_BODY_LENGTH)
        t->length_left = head->content_length;
    /* A stream that was asked for and answered with a whole body is none; an error leaves it what
     * it was asked to be, so that it is counted among those that reached no first token. */
    if (head->status < 300)
        r->is_stream = t->labels.is_stream = is_stream;
    if (!t->dialect || head->framing == HTTP1_BODY_NONE)
        return;
    if (!begin_decoding(t, head))
        return;
    t->reading = is_stream ? READING_EVENTS : READING_BODY;
    if (framing != FRAMING_SSE)
        events_init(&t->events, framing, LIMIT_EVENT_BYTES);
    t->is_followed = true;
}

/* --- events --- */

static bool is_multi_choice(const struct tap *t)
{
    return t->n_choices > 1 || t->answer.max_choice_index > 0;
}

/* The measurements of one output event, told at once. */
static void tell(struct tap *t, const struct timing_step *step)
{
    const struct sink_ops *ops = t->observer->ops;
    mono_t t_request = t->rec.t_request;
    atomic_store_explicit(&t->shown_first_token_ns, t->timing.t_first_token.ns,
                          memory_order_relaxed);
    atomic_store_explicit(&t->shown_last_token_ns, t->timing.t_last_token.ns, memory_order_relaxed);
    atomic_store_explicit(&t->shown_n_output_events, t->timing.n_output_events,
                          memory_order_relaxed);
    if (!t->is_started || !t->dialect->is_generating)
        return;
    /* Output before the request was complete (early answer) has no TTFT. */
    bool has_origin = mono_is_set(t_request) && t->timing.t_last_token.ns >= t_request.ns;
    if (step->is_first_token && has_origin && !t->has_told_first_token) {
        t->has_told_first_token = true;
        ops->first_token(t->observer->sink, &t->labels,
                         mono_diff(t->timing.t_first_token, t_request));
    }
    if (step->is_first_answer && has_origin && !t->has_told_first_answer) {
        t->has_told_first_answer = true;
        ops->first_answer(t->observer->sink, &t->labels,
                          mono_diff(t->timing.t_first_answer, t_request));
    }
    if (step->gap_ns >= 0 && !is_multi_choice(t))
        ops->gap(t->observer->sink, &t->labels, step->gap_ns);
}

/* Whether the time between two stamps overlaps a pause. */
static bool is_pause_between(const struct tap *t, mono_t from, mono_t to)
{
    return mono_is_set(t->pause_from) && to.ns > t->pause_from.ns && from.ns < t->pause_to.ns;
}

void reading_paused(struct tap *t, mono_t at)
{
    if (!mono_is_set(t->pause_from))
        t->pause_from = at;
    t->pause_to.ns = INT64_MAX;
    t->is_paused = true;
    burst_pause(&t->burst);
}

void reading_resumed(struct tap *t, mono_t at)
{
    t->pause_to = at;
    t->is_paused = false;
}

/* Tokens that the engine generated since it last told with an output event, so that those of events
 * without output are the next one's; -1: this event tells nothing about it. */
static int64_t tokens_since(struct tap *t, const struct token_event *said)
{
    if (said->kinds == 0 || !said->has_usage)
        return -1;
    int64_t n = usage_generated(t->dialect, &t->answer.usage);
    if (n < t->n_tokens_told)
        return -1;
    int64_t since = n - t->n_tokens_told;
    t->n_tokens_told = n;
    return since;
}

/* Since the request was complete; output from before that counts as from then. */
static int64_t since_request(const struct tap *t, mono_t at)
{
    return mono_is_set(t->rec.t_request) ? mono_diff(at, t->rec.t_request) : 0;
}

static void time_event(struct tap *t, const struct token_event *said, mono_t at)
{
    bool is_paused = is_pause_between(t, t->timing.t_last_token, at);
    uint32_t n_arrivals = t->timing.n_arrivals;
    int64_t n_tokens = tokens_since(t, said);
    struct timing_step step =
        timing_event_counted(&t->timing, at, said->kinds, is_paused, n_tokens);
    if (said->kinds == 0)
        return;
    timeline_add(&t->timeline, since_request(t, t->timing.t_last_token),
                 t->timing.n_arrivals == n_arrivals, n_tokens);
    if (at.ns >= t->pause_to.ns)
        t->pause_from = t->pause_to = MONO_NONE; /* no later gap can overlap it */
    tell(t, &step);
}

void reading_read_stray(struct tap *t)
{
    if (t->reading == READING_EVENTS)
        dialect_read_stray(t->dialect, &t->answer, events_stray(&t->events));
}

/* Nothing that counts follows. */
static void end_stream(struct tap *t, mono_t at)
{
    reading_read_stray(t);
    t->rec.t_end_event = at;
    t->t_awaited = MONO_NONE;
    t->reading = READING_DONE;
}

static void on_event(struct tap *t, const struct event *ev, mono_t at)
{
    struct token_event said;
    uint32_t n_bad_json = t->answer.n_bad_json;
    t->dialect->event(&t->answer, ev->name, ev->data, &said);
    if (t->answer.n_bad_json != n_bad_json && ev->data.n > 0)
        t->t_unread = at;
    if (!t->is_timing_off)
        time_event(t, &said, at);
    if (said.is_end)
        end_stream(t, mono_max(at, t->timing.t_last_event));
}

/* Nothing of this answer can be read from here on. */
static void stop_reading(struct tap *t, const char *reason, enum stat_id stat)
{
    buf_done(&t->body);
    t->reading = READING_NOTHING;
    t->is_followed = false;
    t->is_timing_off = true; /* its silence from here on is ours, not the engine's */
    observe_give_up(t, reason, stat);
}

/* What the reader of events returned; ev: with EVENT_WHOLE. */
static void take_event(struct tap *t, enum event_status status, const struct event *ev, mono_t at)
{
    switch (status) {
    case EVENT_WHOLE:
        on_event(t, ev, at);
        break;
    case EVENT_TOO_LARGE:
        if (!t->is_timing_off)
            (void)timing_event(&t->timing, at, 0, false); /* no output: no step */
        t->is_timing_off = true;
        observe_give_up(t, "too_large", STAT_UNOBSERVED_TOO_LARGE);
        break;
    case EVENT_NO_MEMORY:
        stop_reading(t, "no_memory", STAT_UNOBSERVED_NO_MEMORY);
        break;
    case EVENT_MORE:
        break;
    }
}

static void read_events(struct tap *t, struct span bytes, mono_t at)
{
    enum event_status status = EVENT_WHOLE;
    struct event ev;
    while (t->reading == READING_EVENTS && status != EVENT_MORE) {
        status = events_next(&t->events, &bytes, &ev);
        take_event(t, status, &ev, at);
    }
    t->is_inside_event = status == EVENT_MORE && !events_is_between(&t->events);
    if (t->is_inside_event)
        t->t_unread = at;
    if (t->reading == READING_EVENTS && events_is_over(&t->events)) {
        t->answer.has_end_mark = true;
        end_stream(t, t->timing.t_last_event); /* the bracket may come late, and says nothing */
    }
}

/* --- whole bodies --- */

static void read_body(struct tap *t, struct span bytes)
{
    bool is_whole = t->length_left == 0 && buf_len(&t->body) == 0;
    if (is_whole) { /* the common case: one read, nothing to copy */
        t->dialect->answer(&t->answer, bytes);
        t->reading = READING_DONE;
        return;
    }
    if (buf_len(&t->body) + bytes.n > LIMIT_ANSWER_BYTES)
        stop_reading(t, "too_large", STAT_UNOBSERVED_TOO_LARGE);
    else if (buf_append(&t->body, bytes) < 0)
        stop_reading(t, "no_memory", STAT_UNOBSERVED_NO_MEMORY);
}

/* Whether a body begins as an event stream does; no JSON text begins like that. */
static bool is_like_events(struct span bytes)
{
    static const struct span fields[] = {SPAN_INIT("data:"), SPAN_INIT("event:"), SPAN_INIT("id:"),
                                         SPAN_INIT("retry:"), SPAN_INIT(":")};
    if (span_starts_with(bytes, SPAN("\xef\xbb\xbf")))
        (void)span_take(&bytes, 3);
    for (size_t i = 0; i < ARRAY_LEN(fields); i++) {
        if (span_starts_with(bytes, fields[i]))
            return true;
    }
    return false;
}

/* Some servers call their events something else. Where a stream was asked for, the first bytes of
 * what would be a whole body tell. */
static void look_for_events(struct tap *t, struct span bytes)
{
    bool is_first = buf_len(&t->body) == 0;
    if (!is_first || !t->is_stream_asked || t->rec.upstream_status >= 300 ||
        t->dialect->framing != FRAMING_SSE || !is_like_events(bytes))
        return;
    t->reading = READING_EVENTS;
    t->rec.is_stream = t->labels.is_stream = true;
}

/* Bytes of the body, decoded, at the stamp of the read that brought them. */
static void read_bytes(struct tap *t, struct span bytes)
{
    mono_t at = t->t_last_read;
    if (t->reading == READING_BODY)
        look_for_events(t, bytes);
    if (t->reading == READING_EVENTS) {
        uint32_t n_before = t->timing.n_output_events;
        /* What arrived while reading was paused waited for the client, not for us. */
        bool was_paused = is_pause_between(t, at, at);
        read_events(t, bytes, at);
        if (t->timing.n_output_events != n_before && !was_paused)
            t->t_unforwarded = at;
    } else if (t->reading == READING_BODY) {
        read_body(t, bytes);
    }
}

/* What one read may cost is bounded: others of this worker wait meanwhile. */
static void on_decoded(void *arg, struct span bytes)
{
    struct tap *t = arg;
    t->n_decoded_of_read += bytes.n;
    if (t->n_decoded_of_read <= LIMIT_DECODED_READ_BYTES)
        read_bytes(t, bytes);
    else if (t->reading == READING_EVENTS || t->reading == READING_BODY)
        stop_reading(t, "too_large", STAT_UNOBSERVED_TOO_LARGE);
}

static void read_coded(struct tap *t, struct span bytes)
{
    enum decode_status status = decoder_feed(t->decoder, bytes, on_decoded, t);
    bool is_wanted = t->reading == READING_EVENTS || t->reading == READING_BODY;
    if (is_wanted && status == DECODE_MALFORMED)
        stop_reading(t, "content_coded", STAT_UNOBSERVED_CODED);
    else if (is_wanted && status == DECODE_TOO_LARGE)
        stop_reading(t, "too_large", STAT_UNOBSERVED_TOO_LARGE);
    else if (is_wanted && status == DECODE_NO_MEMORY)
        stop_reading(t, "no_memory", STAT_UNOBSERVED_NO_MEMORY);
    if (t->reading == READING_NOTHING || t->reading == READING_DONE)
        t->decoder = decoder_free(t->decoder); /* its window is large, and the rest may be long */
}

/* An answer whose output is not seen shows by its bytes that the engine lives. Heads, comments and
 * errors come from the server in front of it, also while it hangs. */
static void note_body(struct tap *t, mono_t at)
{
    bool is_followed = t->reading == READING_EVENTS && !t->is_timing_off;
    if (t->dialect && t->rec.upstream_status < 400 && !is_followed && t->reading != READING_DONE)
        t->t_body = at;
}

void reading_body(struct tap *t, struct span bytes, struct stamp at)
{
    if (bytes.n == 0)
        return;
    if (!mono_is_set(t->rec.t_first_byte))
        t->rec.t_first_byte = at.at;
    if (at.at.ns != t->t_last_read.ns) { /* a read may come in several parts (chunks) */
        t->t_unforwarded = MONO_NONE;
        t->n_decoded_of_read = 0;
    }
    t->t_last_read = at.at;
    if (t->length_left != LENGTH_UNKNOWN)
        t->length_left -= bytes.n < t->length_left ? bytes.n : t->length_left;
    note_body(t, at.at);
    if (t->reading == READING_NOTHING || t->reading == READING_DONE)
        return;
    uint32_t n_before = t->timing.n_output_events;
    if (t->decoder)
        read_coded(t, bytes);
    else
        read_bytes(t, bytes);
    burst_add(&t->burst, at.at, bytes.n, t->timing.n_output_events - n_before, t->is_inside_event);
}

void reading_end(struct tap *t, mono_t at)
{
    struct event ev;
    t->rec.t_done = at;
    if (t->reading == READING_EVENTS) /* a last event that nothing closed */
        take_event(t, events_finish(&t->events, &ev), &ev, t->t_last_read);
    reading_read_stray(t);
    if (t->reading == READING_BODY && buf_len(&t->body) > 0)
        t->dialect->answer(&t->answer, buf_span(&t->body));
    if (t->reading == READING_EVENTS && t->dialect->is_ended(&t->answer))
        t->rec.t_end_event = t->timing.t_last_event; /* no end mark: its final chunk */
    note_body(t, at);
    if (t->reading == READING_EVENTS || t->reading == READING_BODY)
        t->reading = READING_DONE;
    t->t_awaited = MONO_NONE;
    reading_free(t);
}
