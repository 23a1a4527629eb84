/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sim/outlet.c - the plain case is one call of the server with the parts of the event, nothing
 * allocated and nothing copied; everything unusual is assembled in _pending first.
 */
#include "sim/outlet.h"

#include <errno.h>
#include <stdio.h>
#include <zlib.h>

#include "base/limits.h"
#include "base/mem.h"
#include "sim/fault.h"

enum { HEAD_PIECES = 16, GZIP_WINDOW_BITS = 15 + 16 };

/* --- gzip --- */

static voidpf gzip_alloc(voidpf opaque, uInt count, uInt size)
{
    (void)opaque;
    return mem_zalloc(count, size);
}

static void gzip_release(voidpf opaque, voidpf p)
{
    (void)opaque;
    mem_free(p);
}

static int gzip_new(struct z_stream_s **ret)
{
    z_stream *z = mem_zalloc(1, sizeof(*z));

    if (!z)
        return -ENOMEM;
    z->zalloc = gzip_alloc;
    z->zfree = gzip_release;
    if (deflateInit2(z, Z_BEST_SPEED, Z_DEFLATED, GZIP_WINDOW_BITS, 8, Z_DEFAULT_STRATEGY) !=
        Z_OK) {
        mem_free(z);
        return -ENOMEM;
    }
    *ret = z;
    return 0;
}

static void gzip_free(struct z_stream_s *z)
{
    if (z) {
        (void)deflateEnd(z); /* Z_DATA_ERROR: freed before the end, as an answer that was cut is */
        mem_free(z);
    }
}

static int gzip_write(struct z_stream_s *z, struct span in, int flush, struct buf *out)
{
    union {
        const char *in;
        Bytef *out;
    } u = {.in = in.p};

    z->next_in = u.out;
    z->avail_in = (uInt)in.n;
    do {
        enum { ROOM = 16 * 1024 };
        char *p;
        int r = buf_reserve(out, ROOM, &p);

        if (r < 0)
            return r;
        z->next_out = (Bytef *)p;
        z->avail_out = ROOM;
        if (deflate(z, flush) == Z_STREAM_ERROR)
            return -EIO;
        buf_commit(out, ROOM - z->avail_out);
    } while (z->avail_out == 0);
    return 0;
}

int outlet_gzip(struct span body, struct buf *out)
{
    struct z_stream_s *z;
    int r = gzip_new(&z);

    if (r == 0) {
        r = gzip_write(z, body, Z_FINISH, out);
        gzip_free(z);
    }
    return r;
}

/* --- life --- */

void outlet_init(struct outlet *o, struct http_server_conn *c, const struct switches *s,
                 struct truth_entry *truth)
{
    *o = (struct outlet){._conn = c, ._switches = s, ._truth = truth};
    o->_is_plain = !s->is_gzip && s->batch == 1 && s->split == 1;
    buf_init(&o->_pending, LIMIT_REQUEST_BODY_BYTES);
}

void outlet_done(struct outlet *o)
{
    buf_done(&o->_pending);
    gzip_free(o->_gzip);
    o->_gzip = NULL;
}

/* --- writes --- */

static int outlet_write(struct outlet *o, const struct span *parts, int n, bool is_last)
{
    if (o->_is_head_out)
        return http_server_body(o->_conn, parts, n, is_last);
    o->_is_head_out = true;
    o->t_headers = clock_mono();
    return http_server_head(o->_conn, o->_status, (struct span){0}, span_cstr(o->_fields),
                            o->_framing, parts, n, is_last);
}

/* Sends _pending in n writes, the first one now. */
static int pieces_begin(struct outlet *o, int64_t n, int64_t gap_ns)
{
    o->_n_pieces = n;
    o->_piece_gap_ns = gap_ns;
    o->t_piece = clock_mono();
    return outlet_piece(o);
}

static int head_dribble(struct outlet *o)
{
    int r = http_head_status(&o->_pending, 1, o->_status, span_cstr(http1_reason(o->_status)));

    if (r == 0)
        r = buf_append(&o->_pending, span_cstr(o->_fields));
    if (r == 0 && o->_switches->is_close)
        r = buf_append(&o->_pending, SPAN("Connection: close\r\n"));
    if (r == 0)
        r = http_head_end(&o->_pending, o->_framing);
    if (r < 0)
        return r;
    o->_is_head_piece = true;
    return pieces_begin(o, HEAD_PIECES, o->_switches->slow_head_ns / (HEAD_PIECES - 1));
}

int outlet_head(struct outlet *o, int status, const char *fields, struct http_framing framing,
                bool must_wait)
{
    o->_status = status;
    o->_framing = framing;
    (void)snprintf(o->_fields, sizeof(o->_fields), "%s%s", fields,
                   o->_switches->is_gzip ? "Content-Encoding: gzip\r\n" : "");
    if (o->_switches->is_close)
        fault_close_after(o->_conn);
    if (o->_switches->slow_head_ns > 0)
        return head_dribble(o);
    return must_wait ? 0 : outlet_write(o, NULL, 0, false);
}

static int pending_add(struct outlet *o, const struct chunk *chunk, bool is_last)
{
    int r = 0;

    if (o->_switches->is_gzip && !o->_gzip)
        r = gzip_new(&o->_gzip);
    for (int i = 0; i < chunk->n && r == 0; i++) {
        if (!o->_gzip)
            r = buf_append(&o->_pending, chunk->parts[i]);
        else
            r = gzip_write(o->_gzip, chunk->parts[i],
                           i + 1 < chunk->n ? Z_NO_FLUSH
                           : is_last        ? Z_FINISH
                                            : Z_SYNC_FLUSH,
                           &o->_pending);
    }
    return r;
}

static int pending_send(struct outlet *o, bool is_last)
{
    struct span all = buf_span(&o->_pending);
    int r;

    if (o->_n_pending == 0) /* only the end of the body or of the coding */
        o->_first_pending = truth_entry_len(o->_truth);
    o->_n_pending = 0;
    o->_is_last_piece = is_last;
    if (o->_switches->split > 1 && all.n > 0)
        return pieces_begin(o, o->_switches->split, o->_switches->split_gap_ns);
    truth_entry_restamp(o->_truth, o->_first_pending, clock_mono());
    r = outlet_write(o, &all, 1, is_last);
    buf_clear(&o->_pending);
    return r;
}

int outlet_event(struct outlet *o, enum truth_kind kind, int64_t n_tokens,
                 const struct chunk *chunk, bool is_last)
{
    mono_t now = clock_mono();
    int r;

    if (LIKELY(o->_is_plain && o->hold_bytes == 0 && o->_n_pending == 0)) {
        truth_entry_add(o->_truth, kind, n_tokens, now);
        return outlet_write(o, chunk->parts, chunk->n, is_last);
    }
    if (o->_n_pending == 0)
        o->_first_pending = truth_entry_len(o->_truth);
    truth_entry_add(o->_truth, kind, n_tokens, now);
    r = pending_add(o, chunk, is_last);
    if (r < 0)
        return r;
    o->_n_pending++;
    if (!is_last && (o->_n_pending < o->_switches->batch || buf_len(&o->_pending) < o->hold_bytes))
        return 0;
    return pending_send(o, is_last);
}

int outlet_head_now(struct outlet *o)
{
    return o->_is_head_out ? 0 : outlet_write(o, NULL, 0, false);
}

int outlet_flush(struct outlet *o)
{
    return o->_n_pending > 0 ? pending_send(o, false) : 0;
}

int outlet_body(struct outlet *o, struct span body)
{
    truth_entry_add(o->_truth, TRUTH_BODY, 0, clock_mono());
    return outlet_write(o, &body, 1, true);
}

void outlet_part(struct outlet *o, struct span part)
{
    int r = outlet_write(o, &part, 1, false);

    (void)r; /* sent or not, it ends here */
}

int outlet_end(struct outlet *o)
{
    int r = 0;

    if (o->_gzip)
        r = gzip_write(o->_gzip, (struct span){"", 0}, Z_FINISH, &o->_pending);
    return r < 0 ? r : pending_send(o, true);
}

/* --- pieces --- */

bool outlet_is_busy(const struct outlet *o)
{
    return o->_n_pieces > 0;
}

static int head_piece(struct outlet *o, struct span piece)
{
    int r = fault_raw(o->_conn, piece);

    if (r == 0 && o->_n_pieces == 1) {
        o->t_headers = o->t_piece;
        o->_is_head_out = true;
        o->_is_head_piece = false;
        r = fault_head_is_out(o->_conn, o->_framing);
    }
    return r;
}

int outlet_piece(struct outlet *o)
{
    struct span left = buf_span(&o->_pending);
    struct span piece = span_of(left.p, (left.n + (size_t)o->_n_pieces - 1) / (size_t)o->_n_pieces);
    mono_t now = clock_mono();
    int r;

    if (o->_is_head_piece) {
        o->t_piece = now;
        r = head_piece(o, piece);
    } else {
        truth_entry_restamp(o->_truth, o->_first_pending, now);
        r = outlet_write(o, &piece, 1, o->_is_last_piece && o->_n_pieces == 1);
    }
    buf_consume(&o->_pending, piece.n);
    o->_n_pieces--;
    o->t_piece = mono_add(now, o->_piece_gap_ns);
    return r;
}
