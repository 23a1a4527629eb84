/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wire/chunked: data, end and refusal do not depend on the division of the input.
 */
#include "pieces.h"

#include "wire/chunked.h"

struct result {
    struct chunked_decoder decoder;
    enum chunked_status status;
    uint64_t hash;
    uint64_t n_data;
    uint64_t n_used; /* when the body ended: bytes of it */
};

static bool feed(void *ctx, struct span part)
{
    struct result *r = ctx;
    struct span in = part;
    struct span piece;
    while ((r->status = chunked_next(&r->decoder, &in, &piece)) == CHUNKED_DATA) {
        FUZZ_CHECK(piece.n > 0 && pieces_is_within(piece, part));
        r->hash = pieces_hash(r->hash, piece);
        r->n_data += piece.n;
    }
    FUZZ_CHECK(r->status != CHUNKED_MORE || in.n == 0);
    r->n_used += part.n - in.n;
    return r->status == CHUNKED_MORE;
}

static struct result decode(struct span input, uint8_t choice)
{
    struct result r = {.status = CHUNKED_MORE};
    chunked_init(&r.decoder);
    pieces_each(input, choice, feed, &r);
    return r;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct span input;
    uint8_t choice = pieces_choice(data, size, &input);
    struct result whole = decode(input, 0);
    struct result cut = decode(input, choice);
    FUZZ_CHECK(whole.status == cut.status && whole.hash == cut.hash);
    FUZZ_CHECK(whole.n_data == cut.n_data && whole.n_used == cut.n_used);
    FUZZ_CHECK(whole.n_data < input.n || input.n == 0);
    return 0;
}
