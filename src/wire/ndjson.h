/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wire/ndjson.h - incremental reader for application/x-ndjson: one JSON text per line.
 *
 * Role:      bytes -> events. No I/O, no clock, no logging.
 * Grammar:   lines end in LF; a CR before it and lines of white space only are dropped; a last line
 *            without LF counts as one. The content of a line is not looked at.
 * Limits:    a line of more than max_event_bytes is EVENT_TOO_LARGE, in its place, and reading goes
 *            on.
 * Threading: a reader belongs to one.
 */
#ifndef WIRE_NDJSON_H
#define WIRE_NDJSON_H

#include "base/attr.h"
#include "wire/event.h"
#include "wire/held.h"

struct ndjson {
    struct held _held;
    size_t _consumed; /* of the current input */
};

/* max_event_bytes: at least 1. */
void ndjson_init(struct ndjson *r, size_t max_event_bytes);
void ndjson_done(struct ndjson *r);

/* As sse_next and sse_finish: events are views, valid until the next call and while the input
 * lives; their sequence does not depend on how the input was split. */
enum event_status ndjson_next(struct ndjson *r, struct span *in, struct event *ret);
enum event_status ndjson_finish(struct ndjson *r, struct event *ret);

#endif
