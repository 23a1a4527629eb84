/* SPDX-License-Identifier: Apache-2.0 */
/*
 * coding/coding.c - see coding.h.
 *
 * Each library is one row of a table: how it begins, how it ends, and one step that turns input
 * into at most one buffer of output. The loop around it, the limits and the stickiness are shared.
 */
#include "coding/coding.h"

#include <brotli/decode.h>
#include <errno.h>
#include <string.h>
#include <zlib.h>
#include <zstd.h>
#include <zstd_errors.h>

#include "base/limits.h"
#include "base/mem.h"

enum { ZSTD_WINDOW_LOG_MAX = 23, ZSTD_HEADER_BYTES_MAX = 18 };
enum { GZIP_WINDOW_BITS = 15 + 16, ZLIB_WINDOW_BITS = 15 };
enum { OUT_BYTES = 16 * 1024 };

struct decoder {
    const struct decoder_ops *ops;
    enum decode_status status;
    uint64_t n_in;
    uint64_t n_out;
    union {
        z_stream zlib;
        BrotliDecoderState *brotli;
        ZSTD_DCtx *zstd;
    } as;
    bool is_zlib_bare; /* deflate without its zlib wrapping */
    bool is_between;   /* gzip, zstd: behind a member or frame; another may follow */
    uint64_t n_frame;  /* zstd: bytes of this frame so far */
};

/* Consumes from *in and writes to out (OUT_BYTES); *ret_n: bytes written. */
struct decoder_ops {
    int (*begin)(struct decoder *d);
    void (*end)(struct decoder *d);
    enum decode_status (*step)(struct decoder *d, struct span *in, char *out, size_t *ret_n);
};

enum coding coding_of(struct span content_encoding)
{
    static const struct {
        struct span name;
        enum coding coding;
    } names[] = {
        {SPAN_INIT("identity"), CODING_IDENTITY},
        {SPAN_INIT("gzip"), CODING_GZIP},
        {SPAN_INIT("x-gzip"), CODING_GZIP},
        {SPAN_INIT("deflate"), CODING_DEFLATE},
        {SPAN_INIT("br"), CODING_BR},
        {SPAN_INIT("zstd"), CODING_ZSTD},
    };
    struct span name = span_trim(content_encoding);
    if (name.n == 0)
        return CODING_IDENTITY;
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        if (span_eq_nocase(name, names[i].name))
            return names[i].coding;
    }
    return CODING_OTHER;
}

/* For zlib and brotli. */
static void library_free(void *arg, void *p)
{
    (void)arg;
    mem_free(p);
}

/* --- zlib: gzip and deflate --- */

static void *zlib_alloc(void *arg, unsigned n, unsigned size)
{
    (void)arg;
    return mem_alloc((size_t)n * size); /* both are small: zlib's own window and state */
}

static int zlib_begin(struct decoder *d, int window_bits)
{
    d->as.zlib = (z_stream){.zalloc = zlib_alloc, .zfree = library_free};
    return inflateInit2(&d->as.zlib, window_bits) == Z_OK ? 0 : -ENOMEM;
}

static int gzip_begin(struct decoder *d)
{
    return zlib_begin(d, GZIP_WINDOW_BITS);
}

static int deflate_begin(struct decoder *d)
{
    return zlib_begin(d, ZLIB_WINDOW_BITS);
}

static void zlib_end(struct decoder *d)
{
    (void)inflateEnd(&d->as.zlib);
}

static int zlib_run(struct decoder *d, struct span *in, char *out, size_t *ret_n)
{
    z_stream *z = &d->as.zlib;
    union {
        const char *in;
        Bytef *out;
    } next = {.in = in->p};
    size_t n = in->n < UINT32_MAX ? in->n : UINT32_MAX;
    z->next_in = next.out; /* only read from */
    z->avail_in = (unsigned)n;
    z->next_out = (Bytef *)out;
    z->avail_out = OUT_BYTES;
    int r = inflate(z, Z_SYNC_FLUSH);
    (void)span_take(in, n - z->avail_in);
    *ret_n = OUT_BYTES - z->avail_out;
    return r;
}

static enum decode_status zlib_status(int r)
{
    switch (r) {
    case Z_OK:
    case Z_BUF_ERROR: /* nothing to do without more input */
        return DECODE_MORE;
    case Z_STREAM_END:
        return DECODE_END;
    case Z_MEM_ERROR:
        return DECODE_NO_MEMORY;
    default:
        return DECODE_MALFORMED;
    }
}

/* Members follow each other; zeros behind the last one are padding. */
static enum decode_status gzip_step(struct decoder *d, struct span *in, char *out, size_t *ret_n)
{
    *ret_n = 0;
    if (d->is_between) {
        if (in->p[0] != '\x1f')
            return DECODE_END;
        d->is_between = false;
        if (inflateReset(&d->as.zlib) != Z_OK)
            return DECODE_MALFORMED;
    }
    int r = zlib_run(d, in, out, ret_n);
    d->is_between = r == Z_STREAM_END;
    return d->is_between ? DECODE_MORE : zlib_status(r);
}

/* "deflate" is the zlib format, but some servers send it bare; the first byte tells. */
static enum decode_status deflate_step(struct decoder *d, struct span *in, char *out, size_t *ret_n)
{
    bool is_first = d->n_in == 0 && d->n_out == 0 && !d->is_zlib_bare;
    *ret_n = 0;
    if (is_first && (in->p[0] & 0x0f) != Z_DEFLATED) {
        d->is_zlib_bare = true;
        if (inflateReset2(&d->as.zlib, -ZLIB_WINDOW_BITS) != Z_OK)
            return DECODE_NO_MEMORY;
    }
    return zlib_status(zlib_run(d, in, out, ret_n));
}

/* --- brotli --- */

static void *brotli_alloc(void *arg, size_t n)
{
    (void)arg;
    return mem_alloc(n);
}

static int brotli_begin(struct decoder *d)
{
    d->as.brotli = BrotliDecoderCreateInstance(brotli_alloc, library_free, NULL);
    return d->as.brotli ? 0 : -ENOMEM;
}

static void brotli_end(struct decoder *d)
{
    BrotliDecoderDestroyInstance(d->as.brotli);
}

static bool is_brotli_out_of_memory(BrotliDecoderErrorCode e)
{
    return e <= BROTLI_DECODER_ERROR_ALLOC_CONTEXT_MODES &&
           e >= BROTLI_DECODER_ERROR_ALLOC_BLOCK_TYPE_TREES;
}

static enum decode_status brotli_step(struct decoder *d, struct span *in, char *out, size_t *ret_n)
{
    const uint8_t *next_in = (const uint8_t *)in->p;
    uint8_t *next_out = (uint8_t *)out;
    size_t n_in = in->n;
    size_t n_out = OUT_BYTES;
    BrotliDecoderResult r =
        BrotliDecoderDecompressStream(d->as.brotli, &n_in, &next_in, &n_out, &next_out, NULL);
    (void)span_take(in, in->n - n_in);
    *ret_n = OUT_BYTES - n_out;
    if (r == BROTLI_DECODER_RESULT_SUCCESS)
        return DECODE_END;
    if (r == BROTLI_DECODER_RESULT_ERROR)
        return is_brotli_out_of_memory(BrotliDecoderGetErrorCode(d->as.brotli)) ? DECODE_NO_MEMORY
                                                                                : DECODE_MALFORMED;
    return DECODE_MORE;
}

/* --- zstd --- */

/* libzstd allocates by itself: handing it an allocator is no part of its stable interface. */
static int zstd_begin(struct decoder *d)
{
    d->as.zstd = ZSTD_createDCtx();
    if (!d->as.zstd)
        return -ENOMEM;
    (void)ZSTD_DCtx_setParameter(d->as.zstd, ZSTD_d_windowLogMax, ZSTD_WINDOW_LOG_MAX);
    return 0;
}

static void zstd_end(struct decoder *d)
{
    (void)ZSTD_freeDCtx(d->as.zstd);
}

/* The first byte of a frame's magic number, or of a skippable frame's. */
static bool is_zstd_frame(char first)
{
    return first == 0x28 || ((unsigned char)first & 0xf0) == 0x50;
}

/*
 * Frames follow each other; anything else behind one is no part of the answer.
 *
 * The library would also take frames from before the standard, with windows of any size. It knows
 * them by four bytes that it is given at once while it reads a frame's header (wherever these stand
 * in it), so until there can be no more of the header it gets single bytes.
 */
static enum decode_status zstd_step(struct decoder *d, struct span *in, char *out, size_t *ret_n)
{
    *ret_n = 0;
    if (d->n_frame == 0 && !is_zstd_frame(in->p[0]))
        return d->n_in > 0 ? DECODE_END : DECODE_MALFORMED;
    ZSTD_inBuffer from = {in->p, in->n, 0};
    ZSTD_outBuffer to = {out, OUT_BYTES, 0};
    if (d->n_frame < ZSTD_HEADER_BYTES_MAX && in->n > 0)
        from.size = 1;
    size_t r = ZSTD_decompressStream(d->as.zstd, &to, &from);
    (void)span_take(in, from.pos);
    *ret_n = to.pos;
    d->n_frame = r == 0 ? 0 : d->n_frame + from.pos;
    d->is_between = d->n_frame == 0;
    if (!ZSTD_isError(r))
        return DECODE_MORE;
    return ZSTD_getErrorCode(r) == ZSTD_error_memory_allocation ? DECODE_NO_MEMORY
                                                                : DECODE_MALFORMED;
}

/* --- all of them --- */

static const struct decoder_ops *ops_of(enum coding c)
{
    static const struct decoder_ops gzip = {gzip_begin, zlib_end, gzip_step};
    static const struct decoder_ops deflate = {deflate_begin, zlib_end, deflate_step};
    static const struct decoder_ops brotli = {brotli_begin, brotli_end, brotli_step};
    static const struct decoder_ops zstd = {zstd_begin, zstd_end, zstd_step};
    static const struct decoder_ops *const ops[] = {
        [CODING_GZIP] = &gzip,
        [CODING_DEFLATE] = &deflate,
        [CODING_BR] = &brotli,
        [CODING_ZSTD] = &zstd,
    };
    return ops[c];
}

int decoder_new(enum coding c, struct decoder **ret)
{
    struct decoder *d = mem_zalloc(1, sizeof(*d));
    if (!d)
        return -ENOMEM;
    d->ops = ops_of(c);
    int r = d->ops->begin(d);
    if (r < 0) {
        mem_free(d);
        return r;
    }
    *ret = d;
    return 0;
}

struct decoder *decoder_free(struct decoder *d)
{
    if (!d)
        return NULL;
    d->ops->end(d);
    mem_free(d);
    return NULL;
}

static bool is_bomb(const struct decoder *d)
{
    if (d->n_out > LIMIT_DECODED_BYTES)
        return true;
    return d->n_out > LIMIT_DECODED_FREE_BYTES && d->n_out / LIMIT_DECODED_RATIO > d->n_in;
}

enum decode_status decoder_feed(struct decoder *d, struct span in,
                                void (*on_bytes)(void *arg, struct span bytes), void *arg)
{
    char out[OUT_BYTES] UNINITIALIZED;
    size_t n_out = 0;
    /* A full buffer says that more may come without more input. */
    while (d->status == DECODE_MORE && (in.n > 0 || n_out == OUT_BYTES)) {
        size_t n_before = in.n;
        if (in.n == 0 && d->is_between)
            break;
        d->status = d->ops->step(d, &in, out, &n_out);
        d->n_in += n_before - in.n;
        d->n_out += n_out;
        if (is_bomb(d)) {
            d->status = DECODE_TOO_LARGE;
            break;
        }
        if (n_out > 0)
            on_bytes(arg, span_of(out, n_out));
        if (n_out == 0 && in.n == n_before && d->status == DECODE_MORE)
            break; /* it waits for bytes of which these are the beginning */
    }
    return d->status;
}
