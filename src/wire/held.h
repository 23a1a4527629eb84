/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wire/held.h - the bytes of an unfinished event, kept from one input to the next. Private to
 * wire/: what NDJSON and JSON arrays share.
 *
 * Memory:    none while events lie whole in one input; else a buffer of at most `max` bytes, freed
 *            by the call after the one that delivered it. An event over the limit is skipped.
 */
#ifndef WIRE_HELD_H
#define WIRE_HELD_H

#include <stdbool.h>

#include "base/buf.h"
#include "wire/event.h"

struct held {
    struct buf _kept;
    size_t _max;
    size_t _n;          /* bytes of the unfinished event so far, kept or not */
    bool _is_delivered; /* the buffer belongs to the event that the last call returned */
    bool _is_broken;    /* EVENT_NO_MEMORY was returned */
};

void held_init(struct held *h, size_t max);
void held_done(struct held *h);

/* At the beginning of every call: what was delivered is gone. false: EVENT_NO_MEMORY it is. */
bool held_begin(struct held *h);

/* More of the unfinished event, at the end of an input. false: no memory. */
bool held_keep(struct held *h, struct span part);

/* The unfinished event ends with this part. EVENT_WHOLE or EVENT_TOO_LARGE or EVENT_NO_MEMORY; the
 * data is a view of part where nothing was kept. */
enum event_status held_deliver(struct held *h, struct span part, struct event *ret);

/* Nothing of an unfinished event was seen. */
static inline bool held_is_empty(const struct held *h)
{
    return h->_n == 0;
}

#endif
