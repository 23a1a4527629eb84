/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wire/events.h - one reader for a stream of events in any framing, chosen by the answer's head.
 *
 * Role:      what observe/, replay and load read streams with. No I/O, no clock, no logging.
 * Memory, limits, threads: those of the framing's reader.
 */
#ifndef WIRE_EVENTS_H
#define WIRE_EVENTS_H

#include "wire/event.h"
#include "wire/jsonarray.h"
#include "wire/ndjson.h"
#include "wire/sse.h"

enum framing {
    FRAMING_SSE,        /* text/event-stream */
    FRAMING_NDJSON,     /* application/x-ndjson */
    FRAMING_JSON_ARRAY, /* application/json: one array, streamed */
};

struct events {
    enum framing framing;
    union {
        struct sse_parser sse;
        struct ndjson ndjson;
        struct jsonarray array;
    } _of;
};

/* max_event_bytes: at least 1. */
void events_init(struct events *e, enum framing framing, size_t max_event_bytes);
void events_done(struct events *e);

/*
 * Consumes from the front of *in until one event is complete or the input ends. The event's spans
 * are views, valid until the next call on e and while the input lives. The sequence of events does
 * not depend on how the input was split. A new input begins when the last one is used up.
 */
enum event_status events_next(struct events *e, struct span *in, struct event *ret);

/* The framing itself told the end: an array's closing bracket. */
bool events_is_over(const struct events *e);

/* End of the stream: delivers a last event that nothing closed, else EVENT_MORE. */
enum event_status events_finish(struct events *e, struct event *ret);

/* Nothing of an unfinished event was seen. */
bool events_is_between(const struct events *e);

/* What stood in an event stream without being part of it, see sse_stray. Whole after events_finish,
 * valid until events_done; empty where a framing has no such thing. */
struct span events_stray(const struct events *e);

/* Comment lines seen; 0 where a framing has none. */
uint64_t events_n_comments(const struct events *e);

#endif
