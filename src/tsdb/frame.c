/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tsdb/frame.c - one byte (RAW or ZSTD), a checksum of the rest in four, the size of the content as
 * a varint, and the content.
 *
 * SQLite has no checksums: what a disk or a torn write made of a blob is found here.
 */
#include "tsdb/frame.h"

#include <zstd.h>

enum { KIND_RAW = 1, KIND_ZSTD = 2, HEAD_BYTES = 5 };

struct frame {
    ZSTD_CCtx *pack;
    ZSTD_DCtx *unpack;
    struct bytes out;
};

/* Eight bytes a step; a change of one word always changes the sum before it is folded. */
static uint32_t checksum(struct span s)
{
    uint64_t h = 0x9e3779b97f4a7c15 ^ s.n;
    while (s.n > 0) {
        uint64_t word = 0;
        size_t n = s.n < sizeof(word) ? s.n : sizeof(word);
        memcpy(&word, s.p, n);
        span_take(&s, n);
        h = (h ^ word) * 0xd6e8feb86659fd93;
        h ^= h >> 32;
    }
    h *= 0xd6e8feb86659fd93;
    return (uint32_t)(h >> 32);
}

int frame_new(struct frame **ret)
{
    struct frame *f = mem_zalloc(1, sizeof(*f));
    if (!f)
        return -ENOMEM;
    *ret = f;
    return 0;
}

struct frame *frame_free(struct frame *f)
{
    if (!f)
        return NULL;
    ZSTD_freeCCtx(f->pack);
    ZSTD_freeDCtx(f->unpack);
    bytes_done(&f->out);
    mem_free(f);
    return NULL;
}

static int write_content(struct frame *f, uint8_t **at, struct span raw, int level,
                         uint8_t *ret_kind)
{
    size_t room = f->out.cap - (size_t)(*at - f->out.p);
    size_t n = ZSTD_compressCCtx(f->pack, *at, room, raw.p, raw.n, level);
    bool is_smaller = !ZSTD_isError(n) && n < raw.n;
    if (!is_smaller) {
        if (raw.n > 0)
            memcpy(*at, raw.p, raw.n);
        n = raw.n;
    }
    *ret_kind = is_smaller ? KIND_ZSTD : KIND_RAW;
    *at += n;
    return 0;
}

int frame_seal(struct frame *f, struct span raw, int level, struct span *ret)
{
    if (raw.n > FRAME_MAX_BYTES)
        return -EMSGSIZE;
    if (!f->pack && !(f->pack = ZSTD_createCCtx()))
        return -ENOMEM;
    f->out.n = 0;
    uint8_t *at = bytes_room(&f->out, HEAD_BYTES + VARINT_MAX_BYTES + ZSTD_compressBound(raw.n));
    if (!at)
        return -ENOMEM;
    uint8_t *head = at;
    at = varint_put(at + HEAD_BYTES, raw.n);
    int r = write_content(f, &at, raw, level, head);
    if (r < 0)
        return r;
    uint32_t sum = checksum(span_of(head + HEAD_BYTES, (size_t)(at - head) - HEAD_BYTES)) ^ head[0];
    memcpy(head + 1, &sum, sizeof(sum));
    *ret = span_of(head, (size_t)(at - head));
    return 0;
}

static int unpack(struct frame *f, struct span packed, size_t n, struct span *ret)
{
    if (!f->unpack && !(f->unpack = ZSTD_createDCtx()))
        return -ENOMEM;
    f->out.n = 0;
    uint8_t *at = bytes_room(&f->out, n + 1);
    if (!at)
        return -ENOMEM;
    size_t got = ZSTD_decompressDCtx(f->unpack, at, n, packed.p, packed.n);
    if (ZSTD_isError(got) || got != n)
        return -EBADMSG;
    *ret = span_of(at, n);
    return 0;
}

int frame_open(struct frame *f, struct span blob, struct span *ret)
{
    uint32_t sum;
    uint64_t n;
    if (blob.n < HEAD_BYTES + 1)
        return -EBADMSG;
    uint8_t kind = (uint8_t)blob.p[0];
    memcpy(&sum, blob.p + 1, sizeof(sum));
    struct span rest = span_from(blob, HEAD_BYTES);
    if ((checksum(rest) ^ kind) != sum)
        return -EBADMSG;
    struct varint_in in = varint_in(rest);
    if (!varint_get(&in, &n) || n > FRAME_MAX_BYTES)
        return -EBADMSG;
    struct span content = span_of(in.p, (size_t)(in.end - in.p));
    if (kind == KIND_ZSTD)
        return unpack(f, content, (size_t)n, ret);
    if (kind != KIND_RAW || content.n != n)
        return -EBADMSG;
    *ret = content;
    return 0;
}
