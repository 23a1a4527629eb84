/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wire/held.c - see held.h. Whether an event is too large depends on its length alone, so that the
 * answer does not depend on how the input was split.
 */
#include "wire/held.h"

void held_init(struct held *h, size_t max)
{
    *h = (struct held){._max = max};
    buf_init(&h->_kept, max);
}

void held_done(struct held *h)
{
    buf_done(&h->_kept);
    h->_is_delivered = false;
}

bool held_begin(struct held *h)
{
    if (h->_is_delivered)
        held_done(h);
    return !h->_is_broken;
}

bool held_keep(struct held *h, struct span part)
{
    h->_n += part.n;
    if (h->_n > h->_max) {
        buf_done(&h->_kept); /* skipped to its end, and only counted */
        return true;
    }
    if (part.n > 0 && buf_append(&h->_kept, part) < 0) {
        held_done(h);
        h->_is_broken = true;
        return false;
    }
    return true;
}

enum event_status held_deliver(struct held *h, struct span part, struct event *ret)
{
    if (h->_n > 0 && !held_keep(h, part))
        return EVENT_NO_MEMORY;
    size_t n = h->_n > 0 ? h->_n : part.n;
    ret->name = ret->data = (struct span){0};
    h->_is_delivered = true;
    if (n > h->_max) {
        h->_n = 0;
        return EVENT_TOO_LARGE;
    }
    ret->data = h->_n > 0 ? buf_span(&h->_kept) : part;
    h->_n = 0;
    return EVENT_WHOLE;
}
