/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz/framing.h - the events of a stream do not depend on its division into reads, whatever the
 * framing; every call gets on.
 */
#ifndef FUZZ_FRAMING_H
#define FUZZ_FRAMING_H

#include "pieces.h"

#include "wire/events.h"

struct framing_result {
    struct events events;
    size_t max;
    uint64_t hash;
    uint64_t n_events;
};

static inline void framing_note(struct framing_result *r, enum event_status status,
                                const struct event *e)
{
    r->n_events++;
    r->hash = pieces_hash_number(r->hash, (uint64_t)status);
    if (status != EVENT_WHOLE)
        return;
    FUZZ_CHECK(e->name.n == 0 && e->data.n > 0 && e->data.n <= r->max);
    r->hash = pieces_hash(pieces_hash_number(r->hash, e->data.n), e->data);
}

static inline bool framing_feed(void *ctx, struct span part)
{
    struct framing_result *r = ctx;
    struct span in = part;
    struct event e;
    enum event_status status;
    size_t end = 0;
    bool is_first = true;
    while ((status = events_next(&r->events, &in, &e)) != EVENT_MORE) {
        FUZZ_CHECK(status == EVENT_WHOLE || status == EVENT_TOO_LARGE);
        /* only what an earlier part began may end in front of the first byte */
        FUZZ_CHECK((e.end > end || is_first) && e.end == part.n - in.n);
        end = e.end;
        is_first = false;
        framing_note(r, status, &e);
    }
    FUZZ_CHECK(in.n == 0);
    return true;
}

static inline struct framing_result framing_read(enum framing framing, struct span input,
                                                 uint8_t choice, size_t max)
{
    struct framing_result r = {.max = max};
    struct event e;
    events_init(&r.events, framing, max);
    pieces_each(input, choice, framing_feed, &r);
    enum event_status status = events_finish(&r.events, &e);
    if (status != EVENT_MORE)
        framing_note(&r, status, &e);
    FUZZ_CHECK(events_finish(&r.events, &e) == EVENT_MORE);
    events_done(&r.events);
    return r;
}

static inline int framing_fuzz(enum framing framing, const uint8_t *data, size_t size)
{
    struct span input;
    uint8_t choice = pieces_choice(data, size, &input);
    size_t max = choice & 1 ? 16 : 1 << 20;
    struct framing_result whole = framing_read(framing, input, 0, max);
    struct framing_result cut = framing_read(framing, input, choice, max);
    FUZZ_CHECK(whole.hash == cut.hash && whole.n_events == cut.n_events);
    FUZZ_CHECK(whole.n_events <= input.n);
    FUZZ_CHECK(mem_live_blocks() == 0);
    return 0;
}

#endif
