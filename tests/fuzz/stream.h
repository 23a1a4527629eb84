/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz/stream.h - a dialect's stream: the answer and its timing do not depend on the division into
 * reads, and the figures hold together whatever the bytes are, also when they are read as a
 * request.
 */
#ifndef FUZZ_STREAM_H
#define FUZZ_STREAM_H

#include "pieces.h"

#include "dialect/dialect.h"
#include "timing/timing.h"
#include "wire/events.h"

struct stream {
    const struct dialect *dialect;
    struct events events;
    struct dialect_answer answer;
    struct timing timing; /* with event numbers for stamps */
};

static inline void stream_event(struct stream *s, const struct event *ev)
{
    struct token_event said;
    s->dialect->event(&s->answer, ev->name, ev->data, &said);
    /* Only a last line of Ollama's may be both. */
    FUZZ_CHECK(!said.is_end || said.kinds == 0 || s->dialect->framing == FRAMING_NDJSON);
    /* What was learned of earlier events changes nothing. */
    struct dialect_answer fresh;
    struct token_event anew;
    dialect_answer_init(&fresh);
    s->dialect->event(&fresh, ev->name, ev->data, &anew);
    FUZZ_CHECK(said.kinds == anew.kinds && said.is_end == anew.is_end);
    FUZZ_CHECK(said.is_error == anew.is_error && said.has_usage == anew.has_usage);
    FUZZ_CHECK(!said.is_error || s->answer.has_error);
    (void)timing_event(&s->timing, (mono_t){1 + s->timing.n_events}, said.kinds, false);
    if (s->dialect->is_bare_usage && s->dialect->is_bare_usage(ev->data)) {
        FUZZ_CHECK(said.has_usage && said.has_no_choices && said.kinds == 0);
    }
}

static inline bool stream_feed(void *ctx, struct span part)
{
    struct stream *s = ctx;
    struct event ev;
    enum event_status status;
    while ((status = events_next(&s->events, &part, &ev)) != EVENT_MORE) {
        if (status == EVENT_WHOLE)
            stream_event(s, &ev);
    }
    return true;
}

/* The dialect's own, but that a stream which may be an array is one only if it begins so. */
static inline enum framing stream_framing(const struct dialect *d, struct span input)
{
    bool is_array = input.n > 0 && input.p[0] == '[';
    return d->framing == FRAMING_JSON_ARRAY && !is_array ? FRAMING_SSE : d->framing;
}

static inline void stream_read(struct stream *s, const struct dialect *d, struct span input,
                               uint8_t choice)
{
    struct event ev;
    memset(s, 0, sizeof(*s));
    s->dialect = d;
    events_init(&s->events, stream_framing(d, input), 1 << 20);
    dialect_answer_init(&s->answer);
    timing_init(&s->timing);
    pieces_each(input, choice, stream_feed, s);
    if (events_finish(&s->events, &ev) == EVENT_WHOLE)
        stream_event(s, &ev);
    events_done(&s->events);
}

static inline void stream_check(const struct stream *s)
{
    bool is_anomalous;
    struct timing_summary summary;
    const struct dialect_answer *a = &s->answer;
    struct dialect_tokens t = dialect_normalise(s->dialect, &a->usage, &is_anomalous);
    FUZZ_CHECK(t.cached < 0 || t.prompt < 0 || t.cached <= t.prompt);
    FUZZ_CHECK(t.reasoning < 0 || t.completion < 0 || t.reasoning <= t.completion);
    FUZZ_CHECK(t.prompt >= -1 && t.completion >= -1 && t.cached >= -1 && t.reasoning >= -1);
    FUZZ_CHECK(memchr(a->model, 0, sizeof(a->model)) && memchr(a->error, 0, sizeof(a->error)));
    FUZZ_CHECK(a->has_error == (a->error[0] != '\0'));
    timing_summarise(&s->timing, (struct timing_tokens){t.completion, t.reasoning, false},
                     &summary);
    FUZZ_CHECK((summary.tpot_ns >= 0) == (summary.tpot_status == TPOT_OK));
    FUZZ_CHECK(s->timing.gaps.n_gaps + s->timing.hidden_gaps.n_gaps + 1 >= s->timing.n_arrivals);
}

static inline int stream_fuzz(const char *dialect, const uint8_t *data, size_t size)
{
    struct span input;
    struct stream whole;
    struct stream cut;
    uint8_t choice = pieces_choice(data, size, &input);
    const struct dialect *d = dialect_by_name(span_cstr(dialect));
    stream_read(&whole, d, input, 0);
    stream_read(&cut, d, input, choice);
    FUZZ_CHECK(memcmp(&whole.answer, &cut.answer, sizeof(whole.answer)) == 0);
    FUZZ_CHECK(memcmp(&whole.timing, &cut.timing, sizeof(whole.timing)) == 0);
    stream_check(&whole);

    struct dialect_answer a;
    dialect_answer_init(&a);
    d->answer(&a, input);

    struct dialect_request r;
    d->inspect(input, input, (choice & 1) != 0, &r);
    FUZZ_CHECK(r.n >= 1 && r.max_tokens >= -1 && r.prompt_bytes >= 0);
    FUZZ_CHECK((uint64_t)r.prompt_bytes <= input.n);
    FUZZ_CHECK(memchr(r.model, 0, sizeof(r.model)) != NULL);
    FUZZ_CHECK(mem_live_blocks() == 0);
    return 0;
}

#endif
