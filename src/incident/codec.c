/* SPDX-License-Identifier: Apache-2.0 */
#include "incident/codec.h"

#include <errno.h>

#include "base/varint.h"

int codec_put_number(struct buf *out, uint64_t n)
{
    uint8_t bytes[VARINT_MAX_BYTES];
    return buf_append(out, span_of(bytes, (size_t)(varint_put(bytes, n) - bytes)));
}

static int put_text(struct buf *out, struct span s)
{
    int r = codec_put_number(out, s.n);
    return r < 0 ? r : buf_append(out, s);
}

int codec_put_labels(struct buf *out, struct labels l)
{
    int r = codec_put_number(out, l.n);
    for (size_t i = 0; i < l.n && r == 0; i++) {
        r = put_text(out, l.at[i].name);
        if (r == 0)
            r = put_text(out, l.at[i].value);
    }
    return r;
}

uint64_t codec_number(struct codec_reader *r)
{
    uint64_t n = 0;
    for (unsigned shift = 0; r->error == 0 && shift < 64; shift += 7) {
        if (r->rest.n == 0)
            break;
        uint8_t byte = (uint8_t)*span_take(&r->rest, 1).p;
        n |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80)
            return n;
    }
    r->error = r->error ? r->error : -EBADMSG;
    return 0;
}

struct span codec_bytes(struct codec_reader *r, size_t n)
{
    if (r->error == 0 && n > r->rest.n)
        r->error = -EBADMSG;
    return r->error ? (struct span){"", 0} : span_take(&r->rest, n);
}

static struct span text(struct codec_reader *r, struct arena *a)
{
    struct span s = codec_bytes(r, codec_number(r));
    struct span copy = arena_dup(a, s);
    if (!copy.p && r->error == 0)
        r->error = -ENOMEM;
    return copy.p ? copy : SPAN("");
}

struct labels codec_labels(struct codec_reader *r, struct arena *a)
{
    size_t n = codec_number(r);
    if (r->error == 0 && n > r->rest.n / 2) /* each takes two bytes at least */
        r->error = -EBADMSG;
    if (r->error || n == 0)
        return (struct labels){0};
    struct label *at = arena_array(a, n, sizeof(*at));
    if (!at)
        r->error = -ENOMEM;
    for (size_t i = 0; i < n && r->error == 0; i++) {
        at[i].name = text(r, a);
        at[i].value = text(r, a);
    }
    return (struct labels){at, r->error ? 0 : n};
}
