/* SPDX-License-Identifier: Apache-2.0 */
/*
 * encode.h - content codings as servers do them: written in parts, flushed where they like.
 *
 *   struct encoder e; encoder_init(&e, ENCODE_GZIP, 6);
 *   struct span coded = encode(&e, SPAN("data: x\n\n"), ENCODE_FLUSH);   valid until the next call
 *   encoder_done(&e);
 *
 * A test that includes this names the encoders that its module does not link anyhow:
 * "test-links: brotlienc", and z and zstd where coding/ is not below it.
 */
#ifndef ENCODE_H
#define ENCODE_H

#include "harness.h"

#include <string.h>

#include <brotli/encode.h>
#include <zlib.h>
#include <zstd.h>

#include "base/buf.h"
#include "base/limits.h"

enum encoding { ENCODE_GZIP, ENCODE_ZLIB, ENCODE_BARE, ENCODE_BR, ENCODE_ZSTD, ENCODINGS };
enum encode_op { ENCODE_GO, ENCODE_FLUSH, ENCODE_END };

/* The names that these have in a header. */
static const char *const encoding_names[ENCODINGS] = {"gzip", "deflate", "deflate", "br", "zstd"};

struct encoder {
    enum encoding as;
    z_stream zlib;
    BrotliEncoderState *brotli;
    ZSTD_CCtx *zstd;
    struct buf out;
};

static inline void encoder_init(struct encoder *e, enum encoding as, int level)
{
    static const int bits[] = {[ENCODE_GZIP] = 15 + 16, [ENCODE_ZLIB] = 15, [ENCODE_BARE] = -15};
    memset(e, 0, sizeof(*e));
    e->as = as;
    buf_init(&e->out, 512 * MIB);
    if (as == ENCODE_BR) {
        e->brotli = BrotliEncoderCreateInstance(NULL, NULL, NULL);
        assert_non_null(e->brotli);
        assert_true(BrotliEncoderSetParameter(e->brotli, BROTLI_PARAM_QUALITY, (uint32_t)level));
    } else if (as == ENCODE_ZSTD) {
        e->zstd = ZSTD_createCCtx();
        assert_non_null(e->zstd);
        assert_false(ZSTD_isError(ZSTD_CCtx_setParameter(e->zstd, ZSTD_c_compressionLevel, level)));
        assert_false(ZSTD_isError(ZSTD_CCtx_setParameter(e->zstd, ZSTD_c_checksumFlag, 1)));
    } else {
        assert_int_equal(deflateInit2(&e->zlib, level, Z_DEFLATED, bits[as], 8, Z_DEFAULT_STRATEGY),
                         Z_OK);
    }
}

static inline void encoder_done(struct encoder *e)
{
    if (e->as == ENCODE_BR)
        BrotliEncoderDestroyInstance(e->brotli);
    else if (e->as == ENCODE_ZSTD)
        (void)ZSTD_freeCCtx(e->zstd);
    else
        (void)deflateEnd(&e->zlib); /* also says when it was not at its end */
    buf_done(&e->out);
}

/* One call of the library; false: it has nothing more to give. */
static inline bool encode_step(struct encoder *e, struct span *in, enum encode_op op)
{
    static const int zlib_ops[] = {Z_NO_FLUSH, Z_SYNC_FLUSH, Z_FINISH};
    static const BrotliEncoderOperation brotli_ops[] = {
        BROTLI_OPERATION_PROCESS, BROTLI_OPERATION_FLUSH, BROTLI_OPERATION_FINISH};
    static const ZSTD_EndDirective zstd_ops[] = {ZSTD_e_continue, ZSTD_e_flush, ZSTD_e_end};
    enum { ROOM = 64 * 1024 };
    char *room;
    assert_int_equal(buf_reserve(&e->out, ROOM, &room), 0);
    size_t n_left = ROOM;
    bool has_more;
    if (e->as == ENCODE_BR) {
        const uint8_t *next_in = (const uint8_t *)in->p;
        uint8_t *next_out = (uint8_t *)room;
        size_t n_in = in->n;
        assert_true(BrotliEncoderCompressStream(e->brotli, brotli_ops[op], &n_in, &next_in, &n_left,
                                                &next_out, NULL));
        (void)span_take(in, in->n - n_in);
        has_more = BrotliEncoderHasMoreOutput(e->brotli);
    } else if (e->as == ENCODE_ZSTD) {
        ZSTD_inBuffer from = {in->p, in->n, 0};
        ZSTD_outBuffer to = {room, ROOM, 0};
        size_t r = ZSTD_compressStream2(e->zstd, &to, &from, zstd_ops[op]);
        assert_false(ZSTD_isError(r));
        (void)span_take(in, from.pos);
        n_left = ROOM - to.pos;
        has_more = op != ENCODE_GO && r > 0;
    } else {
        e->zlib.next_in = (Bytef *)(uintptr_t)in->p; /* only read from */
        e->zlib.avail_in = (unsigned)in->n;
        e->zlib.next_out = (Bytef *)room;
        e->zlib.avail_out = ROOM;
        int r = deflate(&e->zlib, zlib_ops[op]);
        assert_true(r == Z_OK || r == Z_STREAM_END || r == Z_BUF_ERROR);
        (void)span_take(in, in->n - e->zlib.avail_in);
        n_left = e->zlib.avail_out;
        has_more = n_left == 0;
    }
    buf_commit(&e->out, ROOM - n_left);
    return in->n > 0 || has_more;
}

/* What came out of it for this input. */
static inline struct span encode(struct encoder *e, struct span in, enum encode_op op)
{
    buf_clear(&e->out);
    while (encode_step(e, &in, op))
        continue;
    return buf_span(&e->out);
}

/* All of in at once, into an encoder that is to be done with. */
static inline struct span encode_whole(struct encoder *e, enum encoding as, struct span in)
{
    encoder_init(e, as, 6);
    return encode(e, in, ENCODE_END);
}

#endif
