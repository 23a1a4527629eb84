/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wire/sse.h - incremental parser for text/event-stream (WHATWG HTML, section 9.2).
 *
 * Role:      bytes -> events. Left of: dialect/, policy/. No I/O, no clock, no logging.
 * Grammar:   lines end in CRLF, LF or CR, also split anywhere; a leading BOM is dropped; one
 *            space after the colon is dropped; several data lines are joined by '\n'; comments
 *            are not events; a block without data is not an event.
 * Deviation: a last block that no empty line closes is delivered by sse_finish (the standard
 *            drops it; real providers end that way, and clients read it).
 * Memory:    none while events lie whole in one input and have one data line; what a straddling or
 *            many-lined event needs is kept in buffers of at most max_event_bytes, freed by the
 *            call after the one that delivered it. Comments and unknown fields are never kept, with
 *            one exception: from a line on that begins like a JSON object, unknown lines are (an
 *            error body that a server pasted into its stream), at most LIMIT_STRAY_BYTES of them.
 * Limits:    an event whose name and data together exceed max_event_bytes is an error of that event
 *            only: it is reported once as EVENT_TOO_LARGE, in its place among the events (at its
 *            empty line), counted as an event by the caller, and parsing goes on.
 * Threading: a parser belongs to one thread.
 */
#ifndef WIRE_SSE_H
#define WIRE_SSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/buf.h"
#include "base/span.h"
#include "wire/event.h"

struct sse_parser {
    struct buf _data;    /* data of the unfinished event, when it cannot be a view */
    struct buf _name;    /* its name, likewise */
    struct buf _stray;   /* see sse_stray */
    size_t _max;         /* bytes of an event */
    size_t _consumed;    /* of the current input, for event.end */
    int _line;           /* what the unfinished line is, see sse.c */
    unsigned _n_field;   /* bytes of its field name so far */
    char _field[6];      /* the longest known name and one more */
    unsigned _n_bom;     /* bytes of a BOM seen at the very beginning; 3: done with it */
    bool _after_cr;      /* an LF at the front of the next input belongs to the last line */
    bool _in_block;      /* a line was begun since the last empty one */
    bool _has_data;      /* the unfinished block has a data line */
    bool _is_skipping;   /* the unfinished block is over the limit */
    bool _has_kept;      /* the buffers are in use */
    bool _is_delivered;  /* they belong to the event that the last call returned */
    bool _is_broken;     /* EVENT_NO_MEMORY was returned */
    bool _is_stray_lost; /* too much of it, or no memory: none is kept */
    uint64_t n_comments; /* comment lines seen */
    uint64_t n_stray;    /* lines with an unknown field name (not part of the grammar's fields) */
};

/* max_event_bytes: at least 1. */
void sse_init(struct sse_parser *p, size_t max_event_bytes);
void sse_done(struct sse_parser *p);

/*
 * Consumes from the front of *in until one event is complete or the input ends. The event's spans
 * are views, valid until the next call on p and while the input lives. The sequence of events does
 * not depend on how the input was split. A new input begins when the last one is used up.
 */
enum event_status sse_next(struct sse_parser *p, struct span *in, struct event *ret);

/* End of stream: delivers a last unclosed block with data (EVENT_WHOLE, or EVENT_TOO_LARGE or
 * EVENT_NO_MEMORY in its place), else EVENT_MORE. A last line without line end counts as a line. */
enum event_status sse_finish(struct sse_parser *p, struct event *ret);

/* The lines that are none of the grammar's fields, from one on that begins with '{', each with a
 * line feed; empty when there was none, or more than LIMIT_STRAY_BYTES. Whole after sse_finish;
 * valid until the next call on p. */
struct span sse_stray(const struct sse_parser *p);

/* true when the input so far ends between blocks: no line was begun since the last empty one. */
bool sse_is_between_events(const struct sse_parser *p);

#endif
