/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wire/event.h - what every reader of a stream of events delivers, whatever the framing.
 */
#ifndef WIRE_EVENT_H
#define WIRE_EVENT_H

#include <stddef.h>

#include "base/span.h"

enum event_status {
    EVENT_NO_MEMORY = -1, /* an event could not be kept: give the stream up (sticky) */
    EVENT_MORE = 0,       /* all input consumed, no complete event */
    EVENT_WHOLE = 1,      /* *ret holds one event; call again with the rest */
    EVENT_TOO_LARGE = 2,  /* one event was over the limit: *ret has its end only; call again */
};

struct event {
    struct span name; /* SSE: "event:" field or empty */
    struct span data; /* SSE: data lines joined by '\n'; NDJSON: the line; array: the element */
    size_t end;       /* bytes of the current input consumed when this event was complete, what ends
                       * it included; 0 at the end of the stream */
};

#endif
