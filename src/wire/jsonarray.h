/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wire/jsonarray.h - incremental reader for one JSON array that is streamed element by element
 * (Gemini without alt=sse).
 *
 * Role:      bytes -> events. No I/O, no clock, no logging.
 * Grammar:   splits at the commas of the outermost array; an element is delivered as soon as its
 *            closing bracket came, without waiting for the comma. A text that is no array (an error
 *            object) is one element. Elements are not checked: a splitter counts brackets outside
 *            of strings, and whoever reads an element finds out what is wrong with it.
 * Limits:    an element of more than max_event_bytes is EVENT_TOO_LARGE, in its place, and reading
 *            goes on. Brackets nest as deep as they like.
 * Threading: a reader belongs to one.
 */
#ifndef WIRE_JSONARRAY_H
#define WIRE_JSONARRAY_H

#include <stdint.h>

#include "base/attr.h"
#include "wire/event.h"
#include "wire/held.h"

struct jsonarray {
    struct held _held;
    size_t _consumed;    /* of the current input */
    uint64_t _depth;     /* open brackets of the element */
    bool _has_outer;     /* the outer '[' was seen */
    bool _is_in_element; /* something of it was seen */
    bool _is_in_string;
    bool _is_escaped; /* the last byte was a backslash in a string */
    bool is_over;     /* the outer ']' was seen; what follows is none of the array's */
};

/* max_event_bytes: at least 1. */
void jsonarray_init(struct jsonarray *r, size_t max_event_bytes);
void jsonarray_done(struct jsonarray *r);

/* As sse_next and sse_finish: events are views, valid until the next call and while the input
 * lives; their sequence does not depend on how the input was split. */
enum event_status jsonarray_next(struct jsonarray *r, struct span *in, struct event *ret);

/* The end of the stream: an element that did not end is delivered as far as it came. */
enum event_status jsonarray_finish(struct jsonarray *r, struct event *ret);

#endif
