/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wire/sse: the events of a stream do not depend on its division into reads.
 */
#include "pieces.h"

#include "wire/sse.h"

struct result {
    struct sse_parser parser;
    uint64_t hash;
    uint64_t n_events;
};

static void note(struct result *r, enum event_status status, const struct event *e)
{
    r->n_events++;
    r->hash = pieces_hash_number(r->hash, (uint64_t)status);
    if (status != EVENT_WHOLE)
        return;
    FUZZ_CHECK(e->name.n + e->data.n <= r->parser._max);
    r->hash = pieces_hash(pieces_hash_number(r->hash, e->name.n), e->name);
    r->hash = pieces_hash(pieces_hash_number(r->hash, e->data.n), e->data);
}

static bool feed(void *ctx, struct span part)
{
    struct result *r = ctx;
    struct span in = part;
    struct event e;
    enum event_status status;
    size_t end = 0;
    while ((status = sse_next(&r->parser, &in, &e)) != EVENT_MORE) {
        FUZZ_CHECK(status == EVENT_WHOLE || status == EVENT_TOO_LARGE);
        FUZZ_CHECK(e.end > end && e.end == part.n - in.n);
        end = e.end;
        note(r, status, &e);
    }
    FUZZ_CHECK(in.n == 0);
    return true;
}

static struct result parse(struct span input, uint8_t choice, size_t max)
{
    struct result r = {.hash = 0};
    struct event e;
    sse_init(&r.parser, max);
    pieces_each(input, choice, feed, &r);
    enum event_status status = sse_finish(&r.parser, &e);
    if (status != EVENT_MORE)
        note(&r, status, &e);
    FUZZ_CHECK(sse_is_between_events(&r.parser));
    r.hash = pieces_hash(r.hash, sse_stray(&r.parser));
    sse_done(&r.parser);
    return r;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct span input;
    uint8_t choice = pieces_choice(data, size, &input);
    size_t max = choice & 1 ? 16 : 1 << 20;
    struct result whole = parse(input, 0, max);
    struct result cut = parse(input, choice, max);
    FUZZ_CHECK(whole.hash == cut.hash && whole.n_events == cut.n_events);
    FUZZ_CHECK(whole.parser.n_comments == cut.parser.n_comments);
    FUZZ_CHECK(whole.parser.n_stray == cut.parser.n_stray);
    FUZZ_CHECK(mem_live_blocks() == 0);
    return 0;
}
