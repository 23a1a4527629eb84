/* SPDX-License-Identifier: Apache-2.0 */
/*
 * store/column_read.c - a column's rows.
 *
 * Everything that a row is found by is checked when the column is opened, so that reading a row
 * cannot leave the column.
 */
#include <errno.h>
#include <zstd.h>

#include "base/mem.h"
#include "store/column_private.h"

struct column_reader {
    ZSTD_DCtx *zstd;
    char *raw;
    size_t cap;
    uint32_t offsets[COLUMN_ROWS_MAX + 1];
    struct layout_names names;
    char hex[COLUMN_HEX_MAX];
};

int column_reader_new(struct column_reader **ret)
{
    struct column_reader *r = mem_zalloc(1, sizeof(*r));
    if (!r)
        return -ENOMEM;
    r->zstd = ZSTD_createDCtx();
    if (!r->zstd) {
        mem_free(r);
        return -ENOMEM;
    }
    *ret = r;
    return 0;
}

struct column_reader *column_reader_free(struct column_reader *r)
{
    if (!r)
        return NULL;
    ZSTD_freeDCtx(r->zstd);
    mem_free(r->raw);
    mem_free(r);
    return NULL;
}

static int decompress(struct column_reader *r, struct span body, struct span *ret)
{
    unsigned long long n = ZSTD_getFrameContentSize(body.p, body.n);
    if (n > COLUMN_BYTES_MAX) /* unknown and wrong sizes are large numbers */
        return -EBADMSG;
    if (n + COLUMN_SLACK > r->cap) {
        char *raw = mem_realloc(r->raw, n + COLUMN_SLACK);
        if (!raw)
            return -ENOMEM;
        r->raw = raw;
        r->cap = n + COLUMN_SLACK;
    }
    size_t got = ZSTD_decompressDCtx(r->zstd, r->raw, n, body.p, body.n);
    if (ZSTD_isError(got) || got != n)
        return -EBADMSG;
    memset(r->raw + n, 0, COLUMN_SLACK);
    *ret = span_of(r->raw, n);
    return 0;
}

static int take_names(struct column_reader *r, struct bytes *b, int own, struct column *c)
{
    struct span rest = span_of(b->at, bytes_left(b));
    int error = layout_read_names(&rest, own, &r->names);
    if (error < 0)
        return error;
    b->at = rest.p;
    c->names = r->names.is_same ? NULL : &r->names;
    return 0;
}

static int take_head(struct column_reader *r, struct bytes *b, int own, struct column *c)
{
    struct span head = bytes_take(b, 2);
    if (head.n < 2 || fields_type(head.p[0]) < 0 || (unsigned char)head.p[1] >= COLUMN_FORM_COUNT_)
        return -EBADMSG;
    c->type = (enum record_type)fields_type(head.p[0]);
    c->form = (enum column_form)head.p[1];
    c->n_rows = bytes_varint_to(b, COLUMN_ROWS_MAX);
    c->n_known = bytes_varint_to(b, c->n_rows);
    if (b->is_short || fields_is_text(c->type) != (c->form != COLUMN_PACKED))
        return -EBADMSG;
    if (c->type != record_fields[own].type)
        return -EPROTO;
    if (c->type == RECORD_ENUM || c->type == RECORD_FLAGS) {
        int error = take_names(r, b, own, c);
        if (error < 0)
            return error;
    }
    if (c->n_known < c->n_rows)
        c->bitmap = bytes_take(b, (c->n_rows + 7) / 8).p;
    return b->is_short ? -EBADMSG : 0;
}

/* As many bits as the head says, so that the number of a row stays below n_known. */
static bool is_bitmap_right(const struct column *c)
{
    size_t n = 0;
    for (size_t i = 0; c->bitmap && i < c->n_rows; i++)
        n += column_has(c, i);
    return !c->bitmap || n == c->n_known;
}

static void take_packed(struct bytes *b, struct column *c, uint64_t max_width)
{
    c->width = (unsigned)bytes_varint_to(b, max_width);
    c->packed = bytes_take(b, column_packed_bytes(c->n_known, c->width)).p;
}

static void take_dictionary(struct column_reader *r, struct bytes *b, struct column *c)
{
    uint32_t at = 0;
    c->n_texts = bytes_varint_to(b, c->n_known);
    for (size_t i = 0; i < c->n_texts; i++) {
        r->offsets[i] = at;
        at += (uint32_t)bytes_varint_to(b, COLUMN_BYTES_MAX);
        b->is_short = b->is_short || at > COLUMN_BYTES_MAX;
        if (b->is_short)
            return;
    }
    r->offsets[c->n_texts] = at;
    c->texts = bytes_take(b, at).p;
    c->width = c->n_texts > 0 ? column_bits(c->n_texts - 1) : 0;
    c->packed = bytes_take(b, column_packed_bytes(c->n_known, c->width)).p;
    for (size_t k = 0; k < c->n_known && !b->is_short; k++)
        b->is_short = column_unpack(c->packed, k, c->width) >= c->n_texts;
}

static void take_plain(struct column_reader *r, struct bytes *b, struct column *c)
{
    uint64_t at = 0;
    take_packed(b, c, 32);
    c->n_texts = c->n_known;
    for (size_t k = 0; k < c->n_known && !b->is_short; k++) {
        r->offsets[k] = (uint32_t)at;
        at += column_unpack(c->packed, k, c->width);
        b->is_short = at > COLUMN_BYTES_MAX;
    }
    r->offsets[c->n_known] = (uint32_t)at;
    c->texts = bytes_take(b, at).p;
}

int column_open(struct column_reader *r, struct span body, int own, struct column *ret)
{
    struct span raw;
    struct column c = {.offsets = r->offsets, .hex = r->hex};
    int error = decompress(r, body, &raw);
    if (error < 0)
        return error;
    struct bytes b = bytes_of(raw);
    error = take_head(r, &b, own, &c);
    if (error < 0)
        return error;
    if (c.form == COLUMN_PACKED) {
        c.min = varint_unzigzag(bytes_varint(&b));
        take_packed(&b, &c, 64);
    } else if (c.form == COLUMN_DICTIONARY) {
        take_dictionary(r, &b, &c);
    } else if (c.form == COLUMN_HEX) {
        c.n_hex = bytes_varint_to(&b, COLUMN_HEX_MAX) & ~UINT64_C(1);
        c.n_texts = c.n_known;
        c.texts = bytes_take(&b, c.n_known * c.n_hex / 2).p;
    } else {
        take_plain(r, &b, &c);
    }
    if (b.is_short || bytes_left(&b) > 0 || !is_bitmap_right(&c))
        return -EBADMSG;
    *ret = c;
    return 0;
}

/* Known rows before row i. */
static size_t rank_of(const struct column *c, size_t i)
{
    size_t k = 0;
    if (!c->bitmap)
        return i;
    for (size_t word = 0; word < i / 64; word++)
        k += (size_t)__builtin_popcountll(bytes_word(c->bitmap + 8 * word));
    for (size_t row = i / 64 * 64; row < i; row++)
        k += column_has(c, row);
    return k;
}

static int64_t number_at(const struct column *c, size_t k)
{
    int64_t v = (int64_t)((uint64_t)c->min + column_unpack(c->packed, k, c->width));
    return c->names ? layout_translate(c->names, c->type, v) : v;
}

int64_t column_number(const struct column *c, size_t i)
{
    return column_has(c, i) ? number_at(c, rank_of(c, i)) : fields_nothing(c->type);
}

void column_numbers(const struct column *c, int64_t *out)
{
    int64_t nothing = fields_nothing(c->type);
    size_t k = 0;
    for (size_t i = 0; i < c->n_rows; i++)
        out[i] = column_has(c, i) ? number_at(c, k++) : nothing;
}

size_t column_text_index(const struct column *c, size_t k)
{
    return c->form == COLUMN_DICTIONARY ? column_unpack(c->packed, k, c->width) : k;
}

struct span column_text_at(const struct column *c, size_t index)
{
    static const char digits[] = "0123456789abcdef";
    if (c->form != COLUMN_HEX)
        return span_of(c->texts + c->offsets[index], c->offsets[index + 1] - c->offsets[index]);
    const char *from = c->texts + index * (c->n_hex / 2);
    for (size_t i = 0; i < c->n_hex / 2; i++) {
        c->hex[2 * i] = digits[(unsigned char)from[i] >> 4];
        c->hex[2 * i + 1] = digits[from[i] & 15];
    }
    return span_of(c->hex, c->n_hex);
}

struct span column_text(const struct column *c, size_t i)
{
    if (!column_has(c, i))
        return (struct span){0};
    return column_text_at(c, column_text_index(c, rank_of(c, i)));
}
