/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wire/ndjson.c - see ndjson.h. White space in front of a line is never kept, so a line that was
 * begun has something in it.
 */
#include "wire/ndjson.h"

void ndjson_init(struct ndjson *r, size_t max_event_bytes)
{
    *r = (struct ndjson){0};
    held_init(&r->_held, max_event_bytes);
}

void ndjson_done(struct ndjson *r)
{
    held_done(&r->_held);
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

static struct span without_blanks_behind(struct span s)
{
    while (s.n > 0 && is_blank(s.p[s.n - 1]))
        s.n--;
    return s;
}

static void pass(struct ndjson *r, struct span *in, size_t n)
{
    (void)span_take(in, n);
    r->_consumed += n;
}

static enum event_status deliver(struct ndjson *r, struct span part, struct event *ret)
{
    enum event_status status = held_deliver(&r->_held, part, ret);
    if (status == EVENT_WHOLE)
        ret->data = without_blanks_behind(ret->data);
    return status;
}

enum event_status ndjson_next(struct ndjson *r, struct span *in, struct event *ret)
{
    if (!held_begin(&r->_held))
        return EVENT_NO_MEMORY;
    while (held_is_empty(&r->_held) && in->n > 0 && is_blank(in->p[0]))
        pass(r, in, 1);
    size_t n = span_find_char(*in, '\n');
    struct span part = {in->p, n};
    bool is_ended = n < in->n;
    pass(r, in, n + is_ended);
    if (is_ended) {
        ret->end = r->_consumed;
        enum event_status status = deliver(r, part, ret);
        if (in->n == 0)
            r->_consumed = 0;
        return status;
    }
    r->_consumed = 0;
    return held_keep(&r->_held, part) ? EVENT_MORE : EVENT_NO_MEMORY;
}

enum event_status ndjson_finish(struct ndjson *r, struct event *ret)
{
    if (!held_begin(&r->_held))
        return EVENT_NO_MEMORY;
    if (held_is_empty(&r->_held))
        return EVENT_MORE;
    ret->end = 0;
    return deliver(r, (struct span){0}, ret);
}
