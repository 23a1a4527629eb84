/* SPDX-License-Identifier: Apache-2.0 */
/*
 * timing/timeline.c - see timeline.h.
 *
 * Invariant: the room holds whole entries, each of `stride` arrivals; the one under construction is
 * _latest. An entry takes at most ENTRY_BYTES_MAX, and one that would not fit makes the room be
 * thinned first, which frees about half of it; numbers that all need a byte more when added up can
 * make a second time necessary.
 */
#include "timing/timeline.h"

#include "base/varint.h"

enum { ENTRY_BYTES_MAX = 3 * VARINT_MAX_BYTES };

void timeline_init(struct timeline *t, char *room)
{
    *t = (struct timeline){._room = room, .stride = 1};
}

bool timeline_next(struct span *bytes, struct timeline_entry *ret)
{
    uint64_t us;
    uint64_t n_events;
    uint64_t n_tokens;
    struct varint_in in = varint_in(*bytes);
    if (!varint_get(&in, &us) || !varint_get(&in, &n_events) || !varint_get(&in, &n_tokens))
        return false;
    *bytes = span_of(in.p, (size_t)(in.end - in.p));
    ret->offset_us = (int64_t)((uint64_t)ret->offset_us + us);
    ret->n_events = n_events;
    ret->n_tokens = n_tokens;
    return true;
}

/* Appends an entry to the room, in which it fits. */
static void put_entry(struct timeline *t, const struct timeline_entry *e)
{
    uint8_t *at = (uint8_t *)t->_room + t->_n;
    at = varint_put(at, (uint64_t)(e->offset_us - t->_written_us));
    at = varint_put(at, e->n_events);
    at = varint_put(at, e->n_tokens);
    t->_n = (size_t)((char *)at - t->_room);
    t->_written_us = e->offset_us;
}

/* *later takes in what came before it. */
static void add(struct timeline_entry *later, const struct timeline_entry *e)
{
    if (later->offset_us < e->offset_us)
        later->offset_us = e->offset_us;
    later->n_events += e->n_events;
    later->n_tokens += e->n_tokens;
}

/* Merges neighbours in pairs; an odd one out joins the latest. A merged entry never takes more than
 * its two parts did, so writing stays behind reading. */
static void thin(struct timeline *t)
{
    struct span rest = span_of(t->_room, t->_n);
    struct timeline_entry e = {0};
    t->_n = 0;
    t->_written_us = 0;
    t->stride *= 2;
    while (timeline_next(&rest, &e)) {
        struct timeline_entry first = e;
        if (!timeline_next(&rest, &e)) {
            add(&t->_latest, &first);
            t->_n_latest += t->stride / 2;
            break;
        }
        add(&e, &first);
        put_entry(t, &e);
    }
}

static void make_room(struct timeline *t)
{
    while (t->_n + ENTRY_BYTES_MAX > TIMELINE_BYTES)
        thin(t);
}

static void flush(struct timeline *t)
{
    if (t->_n_latest > 0)
        put_entry(t, &t->_latest);
    t->_n_latest = 0;
    t->_latest = (struct timeline_entry){0};
}

void timeline_add(struct timeline *t, int64_t ns, bool is_same_arrival, int64_t n_tokens)
{
    if (!t->_room)
        return;
    if (!is_same_arrival || t->_n_latest == 0) {
        make_room(t); /* which may make the latest entry stand for more arrivals yet */
        if (t->_n_latest >= t->stride)
            flush(t);
        int64_t us = ns > 0 ? ns / NS_PER_US : 0;
        int64_t least_us = t->_n_latest > 0 ? t->_latest.offset_us : t->_written_us;
        t->_latest.offset_us = us > least_us ? us : least_us;
        t->_n_latest++;
    }
    t->_latest.n_events++;
    t->_latest.n_tokens += n_tokens > 0 ? (uint64_t)n_tokens : 0;
}

struct span timeline_bytes(struct timeline *t)
{
    if (!t->_room)
        return (struct span){0};
    make_room(t);
    flush(t);
    return span_of(t->_room, t->_n);
}
