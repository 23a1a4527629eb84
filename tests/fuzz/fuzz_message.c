/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wire/message: heads, body bytes, ends and failures do not depend on the division of the input.
 */
#include "pieces.h"

#include "wire/message.h"

struct result {
    struct message_reader reader;
    enum message_status status;
    uint64_t hash;
    uint64_t n_body;
};

static struct http1_head head;

static void note_head(struct result *r)
{
    r->hash = pieces_hash(pieces_hash_number(r->hash, head.method.n), head.method);
    r->hash = pieces_hash(pieces_hash_number(r->hash, head.target.n), head.target);
    r->hash = pieces_hash(pieces_hash_number(r->hash, (uint64_t)head.status), head.reason);
    r->hash = pieces_hash_number(r->hash, (uint64_t)head.framing);
    r->hash = pieces_hash_number(r->hash, head.content_length);
    r->hash = pieces_hash_number(r->hash, head.n_fields);
    for (size_t i = 0; i < head.n_fields; i++) {
        r->hash = pieces_hash(pieces_hash_number(r->hash, i), head.fields[i].name);
        r->hash = pieces_hash(pieces_hash_number(r->hash, i), head.fields[i].value);
    }
}

static bool feed(void *ctx, struct span part)
{
    struct result *r = ctx;
    struct span in = part;
    struct span body;
    while ((r->status = message_next(&r->reader, &in, &head, &body)) > MESSAGE_MORE) {
        FUZZ_CHECK(in.p + in.n == part.p + part.n);
        if (r->status == MESSAGE_BODY) {
            FUZZ_CHECK(body.n > 0 && pieces_is_within(body, part));
            r->hash = pieces_hash(r->hash, body);
            r->n_body += body.n;
        } else if (r->status == MESSAGE_HEAD) {
            note_head(r);
        } else {
            r->hash = pieces_hash_number(r->hash, r->n_body);
            FUZZ_CHECK(message_is_idle(&r->reader));
        }
    }
    FUZZ_CHECK(r->status != MESSAGE_MORE || in.n == 0);
    return r->status == MESSAGE_MORE;
}

static struct result parse(struct span input, uint8_t choice, uint8_t kind)
{
    struct result r = {.status = MESSAGE_MORE};
    message_init(&r.reader, kind & 1 ? MESSAGE_RESPONSES : MESSAGE_REQUESTS);
    r.reader.request_was_head = (kind & 3) == 3;
    pieces_each(input, choice, feed, &r);
    bool is_idle = message_is_idle(&r.reader);
    enum message_status end = message_eof(&r.reader);
    FUZZ_CHECK(is_idle == (end == MESSAGE_MORE));
    r.hash = pieces_hash_number(r.hash, (uint64_t)end);
    message_done(&r.reader);
    return r;
}

/* The first byte says how to cut, the second what to read. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct span input;
    uint8_t choice = pieces_choice(data, size, &input);
    uint8_t kind = input.n > 0 ? (uint8_t)*span_take(&input, 1).p : 0;
    struct result whole = parse(input, 0, kind);
    struct result cut = parse(input, choice, kind);
    FUZZ_CHECK(whole.status == cut.status && whole.hash == cut.hash);
    FUZZ_CHECK(whole.n_body == cut.n_body && whole.reader.error == cut.reader.error);
    FUZZ_CHECK(whole.reader.is_bad_chunk == cut.reader.is_bad_chunk);
    FUZZ_CHECK(mem_live_blocks() == 0);
    return 0;
}
