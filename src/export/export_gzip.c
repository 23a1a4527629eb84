/* SPDX-License-Identifier: Apache-2.0 */
/*
 * export/export_gzip.c - compression of a scrape's body with zlib.
 *
 * Level 3: an exposition repeats itself so much that higher levels take several times as long for
 * a few per cent.
 */
#include <errno.h>
#include <limits.h>

#define ZLIB_CONST /* zlib does not write to its input */
#include <zlib.h>

#include "base/check.h"
#include "export/export.h"

enum { LEVEL = 3, WINDOW_BITS_GZIP = 15 + 16, MEM_LEVEL = 8, CHUNK_BYTES = 64 * 1024 };

/* Feeds what is left of *in, at most UINT_MAX at a time; true when all of it is with zlib. */
static bool feed(z_stream *z, struct span *in)
{
    if (z->avail_in == 0 && in->n > 0) {
        struct span part = span_take(in, in->n < UINT_MAX ? in->n : UINT_MAX);
        z->next_in = (const Bytef *)part.p;
        z->avail_in = (uInt)part.n;
    }
    return in->n == 0;
}

int export_gzip(struct span in, struct buf *out)
{
    z_stream z = {0};
    size_t len = buf_len(out);
    if (deflateInit2(&z, LEVEL, Z_DEFLATED, WINDOW_BITS_GZIP, MEM_LEVEL, Z_DEFAULT_STRATEGY) !=
        Z_OK)
        return -ENOMEM;
    int r = 0;
    int state = Z_OK;
    while (r == 0 && state != Z_STREAM_END) {
        char *room;
        int flush = feed(&z, &in) ? Z_FINISH : Z_NO_FLUSH;
        r = buf_reserve(out, CHUNK_BYTES, &room);
        if (r < 0)
            break;
        z.next_out = (Bytef *)room;
        z.avail_out = CHUNK_BYTES;
        state = deflate(&z, flush);
        if (NEVER(state != Z_OK && state != Z_STREAM_END && state != Z_BUF_ERROR))
            r = -EIO;
        buf_commit(out, CHUNK_BYTES - z.avail_out);
    }
    deflateEnd(&z);
    if (r < 0)
        buf_truncate(out, len);
    return r;
}
