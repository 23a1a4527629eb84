/* SPDX-License-Identifier: Apache-2.0 */
/*
 * coding: the first byte chooses a coding, the second one a division of the rest. What comes out
 * does not depend on the division, and there is never much more of it than came in.
 * fuzz-links: coding
 */
#include "pieces.h"

#include "base/limits.h"
#include "coding/coding.h"

/* What was decoded, hashed; the hash at KEPT places tells whether one result begins the other. */
enum { OUT_BYTES = 16 * 1024, BLOCK = 64, KEPT = 1 << 15 };

struct result {
    struct decoder *decoder;
    enum decode_status status;
    uint64_t n_in;
    uint64_t n_out;
    uint64_t hash;
    uint64_t hashes[KEPT]; /* after each BLOCK bytes, as far as they came */
};

static void take(void *arg, struct span bytes)
{
    struct result *r = arg;
    FUZZ_CHECK(bytes.n > 0 && bytes.n <= OUT_BYTES);
    while (bytes.n > 0) {
        size_t n = BLOCK - r->n_out % BLOCK;
        struct span part = span_take(&bytes, n < bytes.n ? n : bytes.n);
        r->hash = pieces_hash(r->hash, part);
        r->n_out += part.n;
        if (r->n_out % BLOCK == 0 && r->n_out / BLOCK < KEPT)
            r->hashes[r->n_out / BLOCK] = r->hash;
    }
    FUZZ_CHECK(r->n_out <= LIMIT_DECODED_FREE_BYTES || r->n_out / LIMIT_DECODED_RATIO <= r->n_in);
}

static bool feed(void *ctx, struct span part)
{
    struct result *r = ctx;
    bool was_over = r->status != DECODE_MORE;
    enum decode_status before = r->status;
    uint64_t n_before = r->n_out;
    r->n_in += part.n;
    r->status = decoder_feed(r->decoder, part, take, r);
    FUZZ_CHECK(!was_over || (r->status == before && r->n_out == n_before));
    return true;
}

static void decode(struct result *r, enum coding coding, struct span input, uint8_t choice)
{
    memset(r, 0, offsetof(struct result, hashes) + sizeof(r->hashes[0]));
    FUZZ_CHECK(decoder_new(coding, &r->decoder) == 0);
    pieces_each(input, choice, feed, r);
    r->decoder = decoder_free(r->decoder);
}

/* Two divisions may find what is wrong at different times; what came is the same up to there. */
static void check_beginning(const struct result *a, const struct result *b)
{
    uint64_t n = (a->n_out < b->n_out ? a->n_out : b->n_out) / BLOCK;
    n = n < KEPT ? n : KEPT - 1;
    FUZZ_CHECK(a->hashes[n] == b->hashes[n]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const enum coding codings[] = {CODING_GZIP, CODING_DEFLATE, CODING_BR, CODING_ZSTD};
    static struct result whole;
    static struct result cut;
    struct span input;
    enum coding coding = codings[pieces_choice(data, size, &input) % 4];
    uint8_t choice = pieces_choice((const uint8_t *)input.p, input.n, &input);
    decode(&whole, coding, input, 0);
    decode(&cut, coding, input, choice);
    check_beginning(&whole, &cut);
    if (whole.status != DECODE_TOO_LARGE && cut.status != DECODE_TOO_LARGE) {
        FUZZ_CHECK(whole.status == cut.status);
        FUZZ_CHECK(whole.status < 0 || (whole.n_out == cut.n_out && whole.hash == cut.hash));
    }
    FUZZ_CHECK(mem_live_blocks() == 0);
    return 0;
}
