/* SPDX-License-Identifier: Apache-2.0 */
/*
 * incident/curve_pack.c - a curve as bytes. Within a frame of zstd, whose checksum tells what a
 * disk made of it: version, start, step, numbers of points, of series left out and of series; of
 * each series its labels and the points as floats, little-endian.
 */
#include <endian.h>
#include <errno.h>
#include <math.h>
#include <zstd.h>

#include "base/limits.h"
#include "base/mem.h"
#include "incident/codec.h"
#include "incident/curve.h"

enum { VERSION = 1, LEVEL = 3 };
#define RAW_MAX_BYTES (8 * MIB)
#define FAR_MS        (INT64_C(1) << 53)

static int put_points(const struct curve *c, const float *at, struct buf *out)
{
    int r = 0;
    for (size_t k = 0; k < c->n_points && r == 0; k++) {
        uint32_t bits;
        memcpy(&bits, &at[k], sizeof(bits));
        bits = htole32(bits);
        r = buf_append(out, span_of(&bits, sizeof(bits)));
    }
    return r;
}

static int put_raw(const struct curve *c, struct buf *out)
{
    const uint64_t head[] = {VERSION,     (uint64_t)c->start_ms, (uint64_t)c->step_ms,
                             c->n_points, c->n_left_out,         c->n_series};
    int r = 0;
    for (size_t i = 0; i < ARRAY_LEN(head) && r == 0; i++)
        r = codec_put_number(out, head[i]);
    for (size_t i = 0; i < c->n_series && r == 0; i++) {
        r = codec_put_labels(out, c->series[i].labels);
        if (r == 0)
            r = put_points(c, c->series[i].at, out);
    }
    return r;
}

static int squeeze(struct span raw, struct buf *out)
{
    char *room;
    size_t cap = ZSTD_compressBound(raw.n);
    int r = buf_reserve(out, cap, &room);
    if (r < 0)
        return r;
    ZSTD_CCtx *z = ZSTD_createCCtx();
    if (!z)
        return -ENOMEM;
    size_t n = ZSTD_CCtx_setParameter(z, ZSTD_c_checksumFlag, 1);
    if (!ZSTD_isError(n))
        n = ZSTD_CCtx_setParameter(z, ZSTD_c_compressionLevel, LEVEL);
    if (!ZSTD_isError(n))
        n = ZSTD_compress2(z, room, cap, raw.p, raw.n);
    ZSTD_freeCCtx(z);
    if (ZSTD_isError(n))
        return -ENOMEM;
    buf_commit(out, n);
    return 0;
}

int curve_pack(const struct curve *c, struct buf *out)
{
    struct buf raw;
    buf_init(&raw, RAW_MAX_BYTES);
    int r = put_raw(c, &raw);
    if (r == 0)
        r = squeeze(buf_span(&raw), out);
    buf_done(&raw);
    return r;
}

static int unsqueeze(struct span packed, struct buf *raw)
{
    unsigned long long n = ZSTD_getFrameContentSize(packed.p, packed.n);
    char *room;
    if (n == ZSTD_CONTENTSIZE_UNKNOWN || n == ZSTD_CONTENTSIZE_ERROR || n > RAW_MAX_BYTES)
        return -EBADMSG;
    int r = buf_reserve(raw, (size_t)n, &room);
    if (r < 0)
        return r;
    if (ZSTD_decompress(room, (size_t)n, packed.p, packed.n) != (size_t)n)
        return -EBADMSG;
    buf_commit(raw, (size_t)n);
    return 0;
}

static int take_series(struct codec_reader *in, struct curve *c)
{
    struct curve_series *s = &c->series[c->n_series];
    s->labels = codec_labels(in, c->arena);
    s->max = -INFINITY;
    s->at = arena_array(c->arena, INCIDENT_POINTS_MAX, sizeof(*s->at));
    if (!s->at)
        return -ENOMEM;
    for (size_t k = 0; k < INCIDENT_POINTS_MAX; k++) {
        uint32_t bits;
        s->at[k] = NAN;
        if (k >= c->n_points)
            continue;
        struct span bytes = codec_bytes(in, sizeof(bits));
        if (in->error)
            return in->error;
        memcpy(&bits, bytes.p, sizeof(bits));
        bits = le32toh(bits);
        memcpy(&s->at[k], &bits, sizeof(bits));
        s->max = fmaxf(s->max, s->at[k]);
    }
    c->n_series++;
    return in->error;
}

static int take_raw(struct codec_reader *in, struct arena *a, struct curve *ret)
{
    struct curve c = {.arena = a};
    uint64_t version = codec_number(in);
    c.start_ms = (int64_t)codec_number(in);
    c.step_ms = (int64_t)codec_number(in);
    c.n_points = codec_number(in);
    c.n_left_out = codec_number(in);
    uint64_t n_series = codec_number(in);
    bool is_time = c.start_ms > -FAR_MS && c.start_ms < FAR_MS && c.step_ms >= CURVE_STEP_MS &&
                   c.step_ms < FAR_MS / INCIDENT_POINTS_MAX;
    if (in->error || version != VERSION || !is_time || c.n_points > INCIDENT_POINTS_MAX ||
        n_series > INCIDENT_SERIES_MAX)
        return -EBADMSG;
    int r = 0;
    while (r == 0 && c.n_series < n_series)
        r = take_series(in, &c);
    if (r == 0)
        *ret = c;
    return r;
}

int curve_unpack(struct span packed, struct arena *a, struct curve *ret)
{
    struct buf raw;
    buf_init(&raw, RAW_MAX_BYTES);
    int r = unsqueeze(packed, &raw);
    struct codec_reader in = {.rest = buf_span(&raw)};
    if (r == 0)
        r = take_raw(&in, a, ret);
    buf_done(&raw);
    return r;
}
