/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wire/events.c - see events.h.
 */
#include "wire/events.h"

void events_init(struct events *e, enum framing framing, size_t max_event_bytes)
{
    e->framing = framing;
    if (framing == FRAMING_SSE)
        sse_init(&e->_of.sse, max_event_bytes);
    else if (framing == FRAMING_NDJSON)
        ndjson_init(&e->_of.ndjson, max_event_bytes);
    else
        jsonarray_init(&e->_of.array, max_event_bytes);
}

void events_done(struct events *e)
{
    if (e->framing == FRAMING_SSE)
        sse_done(&e->_of.sse);
    else if (e->framing == FRAMING_NDJSON)
        ndjson_done(&e->_of.ndjson);
    else
        jsonarray_done(&e->_of.array);
}

enum event_status events_next(struct events *e, struct span *in, struct event *ret)
{
    if (LIKELY(e->framing == FRAMING_SSE))
        return sse_next(&e->_of.sse, in, ret);
    if (e->framing == FRAMING_NDJSON)
        return ndjson_next(&e->_of.ndjson, in, ret);
    return jsonarray_next(&e->_of.array, in, ret);
}

enum event_status events_finish(struct events *e, struct event *ret)
{
    if (e->framing == FRAMING_SSE)
        return sse_finish(&e->_of.sse, ret);
    if (e->framing == FRAMING_NDJSON)
        return ndjson_finish(&e->_of.ndjson, ret);
    return jsonarray_finish(&e->_of.array, ret);
}

bool events_is_between(const struct events *e)
{
    if (e->framing == FRAMING_SSE)
        return sse_is_between_events(&e->_of.sse);
    if (e->framing == FRAMING_NDJSON)
        return held_is_empty(&e->_of.ndjson._held);
    return !e->_of.array._is_in_element;
}

bool events_is_over(const struct events *e)
{
    return e->framing == FRAMING_JSON_ARRAY && e->_of.array.is_over;
}

struct span events_stray(const struct events *e)
{
    return e->framing == FRAMING_SSE ? sse_stray(&e->_of.sse) : (struct span){0};
}

uint64_t events_n_comments(const struct events *e)
{
    return e->framing == FRAMING_SSE ? e->_of.sse.n_comments : 0;
}
