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
        bytes_done(&c->columns[i].out);
    mem_free(c->columns);
    bytes_done(&c->t);
    if (c->hist)
        histrec_done(c->hist);
    mem_free(c->hist);
    *c = (struct tschunk){0};
}

size_t tschunk_bytes(const struct tschunk *c)
{
    size_t n = c->t.n;
    for (uint32_t i = 0; c->columns && i < c->n_columns; i++)
        n += c->columns[i].out.n;
    return n;
}

/* Checks t and makes room for it and for one value in each column. */
static int prepare(struct tschunk *c, int64_t t_ms, size_t n_value_bytes)
{
    int64_t unused;
    if (c->n > 0 && (t_ms <= c->t_last || __builtin_sub_overflow(t_ms, c->t_first, &unused)))
        return -EINVAL;
    if (!bytes_room(&c->t, VARINT_MAX_BYTES))
        return -ENOMEM;
    for (uint32_t i = 0; i < c->n_columns; i++)
        if (!bytes_room(&c->columns[i].out, n_value_bytes))
            return -ENOMEM;
    return 0;
}

static void append_time(struct tschunk *c, int64_t t_ms)
{
    if (c->n == 0) {
        c->t_first = t_ms;
        c->t_step = 0;
    } else {
        /* Wraps around where steps are as large as the whole range; so does reading. */
        uint64_t step = (uint64_t)t_ms - (uint64_t)c->t_last;
        int64_t diff = (int64_t)(step - (uint64_t)c->t_step);
        bytes_end(&c->t, varint_put_signed(c->t.p + c->t.n, diff));
        c->t_step = (int64_t)step;
    }
    c->t_last = t_ms;
    c->n++;
}

static void append_value(struct tschunk_column *column, double v)
{
    uint8_t *at = column->out.p + column->out.n;
    bytes_end(&column->out, tscolumn_put(&column->state, at, v));
}

int tschunk_append(struct tschunk *c, int64_t t_ms, double v)
{
    int r = prepare(c, t_ms, TSCOLUMN_MAX_BYTES);
    if (r < 0)
        return r;
    append_time(c, t_ms);
    append_value(&c->columns[0], v);
    return 0;
}

int tschunk_append_summary(struct tschunk *c, int64_t t_ms, const double *values)
{
    int r = prepare(c, t_ms, TSCOLUMN_MAX_BYTES);
    if (r < 0)
        return r;
    append_time(c, t_ms);
    for (uint32_t i = 0; i < c->n_columns; i++)
        append_value(&c->columns[i], values[i]);
    return 0;
}

int tschunk_append_hist(struct tschunk *c, int64_t t_ms, const struct fhist *h)
{
    int r = prepare(c, t_ms, 1);
    if (r < 0)
        return r;
    if (!c->hist && !(c->hist = mem_zalloc(1, sizeof(*c->hist))))
        return -ENOMEM;
    struct bytes *out = &c->columns[0].out;
    uint32_t n_before = out->n;
    bytes_end(out, tscolumn_put_other(out->p + out->n));
    if ((r = histrec_put(c->hist, out, h)) < 0) {
        out->n = n_before;
        return r;
    }
    append_time(c, t_ms);
    return 0;
}

int tschunk_write(const struct tschunk *c, struct bytes *out)
{
    uint8_t *at = bytes_room(out, (size_t)VARINT_MAX_BYTES * (5 + c->n_columns) + tschunk_bytes(c));
    if (!at)
        return -ENOMEM;
    at = varint_put(at, c->n);
    at = varint_put_signed(at, c->t_first);
    at = varint_put(at, (uint64_t)c->t_last - (uint64_t)c->t_first);
    at = varint_put(at, c->n_columns);
    at = varint_put(at, c->t.n);
    for (uint32_t i = 0; i < c->n_columns; i++)
        at = varint_put(at, c->columns[i].out.n);
    bytes_end(out, at);
    int r = bytes_add(out, c->t.p, c->t.n);
    for (uint32_t i = 0; r == 0 && i < c->n_columns; i++)
        r = bytes_add(out, c->columns[i].out.p, c->columns[i].out.n);
    return r;
}
