/* SPDX-License-Identifier: Apache-2.0 */
/*
 * policy/filter.h - takes one kind of event out of an event stream, every other byte unchanged.
 *
 * Role:      bytes in, spans to pass on out. An event here is a block from its first line that is
 *            no comment to the empty line that closes it.
 * Memory:    while an event straddles reads its bytes are held back, at most
 *            LIMIT_HELD_EVENT_BYTES; a larger one passes unseen (fails open). Comments, and lines
 *            outside events, are never held.
 * Result:    does not depend on how the input was split. One line end is added where the stream
 *            would begin, without the events removed from its front, with the byte EF: a byte order
 *            mark is one at the very beginning only, and this one was not there.
 */
#ifndef POLICY_FILTER_H
#define POLICY_FILTER_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/span.h"

struct filter {
    bool (*_may_be_unwanted)(struct span event); /* its bytes: most need no closer look */
    bool (*_is_unwanted)(struct span data);      /* the data of one event */
    struct buf _held;                            /* bytes of the unfinished event */
    bool _is_held_out;    /* the last call returned them: empty it at the next */
    bool _in_event;       /* a line of it was begun */
    bool _in_line;        /* the last byte was no line end */
    bool _in_comment;     /* that line is a comment outside an event */
    bool _had_line;       /* a line has ended: no BOM can follow */
    bool _may_have_bom;   /* the event began on the first line of the stream */
    bool _is_passing;     /* this event is too large to be judged */
    bool _after_cr;       /* an LF may still belong to the last line end */
    bool _is_removing_lf; /* and that was the end of a removed event */
    bool _has_passed;     /* a byte was passed on */
    unsigned n_removed;
};

/* may_be_unwanted looks at an event's bytes, is_unwanted then decides on its data. */
void filter_init(struct filter *f, bool (*may_be_unwanted)(struct span event),
                 bool (*is_unwanted)(struct span data));
void filter_done(struct filter *f);

/*
 * Takes from the front of *in and writes up to max (>= 3) spans to pass on, in order, valid until
 * the next call and as long as the input lives. Returns how many; call again while *in is not
 * empty. is_last: nothing follows, an event that no empty line closed is judged as it is.
 */
size_t filter_next(struct filter *f, struct span *in, bool is_last, struct span *out, size_t max);

#endif
