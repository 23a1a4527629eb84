/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tsdb/tschunk.c - a chunk while it is written.
 *
 * Written out: n, t_first (signed), t_last - t_first, the number of columns, the sizes of all
 * streams, then the streams: times first. The first time stands in the head only; each later one is
 * the difference of its distance to the distance before, so that a steady interval is zeros.
 */
#include "tsdb/tschunk.h"

int tschunk_init(struct tschunk *c, uint32_t n_columns)
{
    *c = (struct tschunk){.n_columns = n_columns};
    c->columns = mem_zalloc(n_columns, sizeof(c->columns[0]));
    return c->columns ? 0 : -ENOMEM;
}

void tschunk_done(struct tschunk *c)
{
    for (uint32_t i = 0; c->columns && i < c->n_columns; i++)
        bytes_done(&c->columns[i].stream.out);
    mem_free(c->columns);
    bytes_done(&c->t.out);
    if (c->hist)
        histrec_done(c->hist);
    mem_free(c->hist);
    *c = (struct tschunk){0};
}

/* --- streams --- */

static size_t stream_n(const struct tschunk_stream *s)
{
    return (size_t)s->out.n + s->n_zeros;
}

static bool is_zero(const uint8_t *p, size_t n)
{
    return n == 1 && *p == 0;
}

/* Room for what stream_put puts. */
static int stream_room(struct tschunk_stream *s, const uint8_t *p, size_t n)
{
    return n == 0 || is_zero(p, n) || bytes_room(&s->out, s->n_zeros + n) ? 0 : -ENOMEM;
}

/* The zeros as bytes; there has to be room. */
static void stream_spell(struct tschunk_stream *s)
{
    if (s->n_zeros == 0)
        return;
    memset(s->out.p + s->out.n, 0, s->n_zeros);
    s->out.n += s->n_zeros;
    s->n_zeros = 0;
}

static void stream_put(struct tschunk_stream *s, const uint8_t *p, size_t n)
{
    if (n == 0)
        return;
    if (is_zero(p, n)) {
        s->n_zeros++;
        return;
    }
    stream_spell(s);
    memcpy(s->out.p + s->out.n, p, n);
    s->out.n += (uint32_t)n;
}

/* Appends it to out, which has room. */
static int stream_write(const struct tschunk_stream *s, struct bytes *out)
{
    int r = bytes_add(out, s->out.p, s->out.n);
    if (r < 0)
        return r;
    memset(out->p + out->n, 0, s->n_zeros);
    out->n += s->n_zeros;
    return 0;
}

size_t tschunk_bytes(const struct tschunk *c)
{
    size_t n = stream_n(&c->t);
    for (uint32_t i = 0; c->columns && i < c->n_columns; i++)
        n += stream_n(&c->columns[i].stream);
    return n;
}

/* --- appending --- */

struct next_time {
    uint8_t bytes[VARINT_MAX_BYTES];
    size_t n;
    int64_t step;
};

struct next_value {
    uint8_t bytes[TSCOLUMN_MAX_BYTES];
    size_t n;
    struct tscolumn state;
};

/* -EINVAL: not newer. Steps wrap around where they are as large as the whole range; so does
 * reading. */
static int encode_time(const struct tschunk *c, int64_t t_ms, struct next_time *ret)
{
    int64_t unused;
    ret->n = 0;
    ret->step = 0;
    if (c->n == 0)
        return 0;
    if (t_ms <= c->t_last || __builtin_sub_overflow(t_ms, c->t_first, &unused))
        return -EINVAL;
    uint64_t step = (uint64_t)t_ms - (uint64_t)c->t_last;
    ret->step = (int64_t)step;
    ret->n =
        (size_t)(varint_put_signed(ret->bytes, (int64_t)(step - (uint64_t)c->t_step)) - ret->bytes);
    return 0;
}

static void put_time(struct tschunk *c, int64_t t_ms, const struct next_time *next)
{
    if (c->n == 0)
        c->t_first = t_ms;
    stream_put(&c->t, next->bytes, next->n);
    c->t_step = next->step;
    c->t_last = t_ms;
    c->n++;
}

static void encode_value(const struct tschunk_column *column, double v, struct next_value *ret)
{
    ret->state = column->state;
    ret->n = (size_t)(tscolumn_put(&ret->state, ret->bytes, v) - ret->bytes);
}

/* v: room for what the columns get. */
static inline int append(struct tschunk *c, int64_t t_ms, const double *values,
                         struct next_value *v)
{
    struct next_time t;
    int r = encode_time(c, t_ms, &t);
    if (r == 0)
        r = stream_room(&c->t, t.bytes, t.n);
    for (uint32_t i = 0; r == 0 && i < c->n_columns; i++) {
        encode_value(&c->columns[i], values[i], &v[i]);
        r = stream_room(&c->columns[i].stream, v[i].bytes, v[i].n);
    }
    if (r < 0)
        return r;
    put_time(c, t_ms, &t);
    for (uint32_t i = 0; i < c->n_columns; i++) {
        stream_put(&c->columns[i].stream, v[i].bytes, v[i].n);
        c->columns[i].state = v[i].state;
    }
    return 0;
}

int tschunk_append(struct tschunk *c, int64_t t_ms, double v)
{
    struct next_value one;
    return append(c, t_ms, &v, &one);
}

int tschunk_append_summary(struct tschunk *c, int64_t t_ms, const double *values)
{
    struct next_value each[TSCHUNK_SUMMARY];
    return append(c, t_ms, values, each);
}

int tschunk_append_hist(struct tschunk *c, int64_t t_ms, const struct fhist *h)
{
    struct next_time t;
    struct tschunk_stream *s = &c->columns[0].stream;
    int r = encode_time(c, t_ms, &t);
    if (r == 0)
        r = stream_room(&c->t, t.bytes, t.n);
    if (r < 0)
        return r;
    if (!c->hist && !(c->hist = mem_zalloc(1, sizeof(*c->hist))))
        return -ENOMEM;
    if (!bytes_room(&s->out, (size_t)s->n_zeros + 1))
        return -ENOMEM;
    stream_spell(s);
    uint32_t n_before = s->out.n;
    bytes_end(&s->out, tscolumn_put_other(s->out.p + s->out.n));
    if ((r = histrec_put(c->hist, &s->out, h)) < 0) {
        s->out.n = n_before;
        return r;
    }
    put_time(c, t_ms, &t);
    return 0;
}

/* --- the whole --- */

int tschunk_write(const struct tschunk *c, struct bytes *out)
{
    uint8_t *at = bytes_room(out, (size_t)VARINT_MAX_BYTES * (5 + c->n_columns) + tschunk_bytes(c));
    if (!at)
        return -ENOMEM;
    at = varint_put(at, c->n);
    at = varint_put_signed(at, c->t_first);
    at = varint_put(at, (uint64_t)c->t_last - (uint64_t)c->t_first);
    at = varint_put(at, c->n_columns);
    at = varint_put(at, stream_n(&c->t));
    for (uint32_t i = 0; i < c->n_columns; i++)
        at = varint_put(at, stream_n(&c->columns[i].stream));
    bytes_end(out, at);
    int r = stream_write(&c->t, out);
    for (uint32_t i = 0; r == 0 && i < c->n_columns; i++)
        r = stream_write(&c->columns[i].stream, out);
    return r;
}
