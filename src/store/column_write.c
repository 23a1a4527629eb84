/* SPDX-License-Identifier: Apache-2.0 */
/*
 * store/column_write.c - rows of one field into a column.
 *
 * Texts go into a dictionary until it shows that too many of them differ. Numbers that are packed
 * tightly hardly compress further, but many columns repeat themselves, and those shrink to nothing.
 */
#include <errno.h>
#include <zstd.h>

#include "base/limits.h"
#include "base/mem.h"
#include "store/column_private.h"

enum { SLOTS = 4096, LEVEL = 1, HEAD_MAX = 4096 };

struct column_writer {
    ZSTD_CCtx *zstd;
    struct buf raw, body;
    /* The dictionary: texts by hash, and which text each known row has. */
    uint16_t slots[SLOTS]; /* number + 1; 0: empty */
    uint32_t n_texts;
    struct span texts[SLOTS / 2];
    uint16_t index[COLUMN_ROWS_MAX];
};

int column_writer_new(struct column_writer **ret)
{
    struct column_writer *w = mem_zalloc(1, sizeof(*w));
    if (!w)
        return -ENOMEM;
    buf_init(&w->raw, COLUMN_BYTES_MAX);
    buf_init(&w->body, COLUMN_BYTES_MAX + MIB);
    w->zstd = ZSTD_createCCtx();
    if (!w->zstd || ZSTD_isError(ZSTD_CCtx_setParameter(w->zstd, ZSTD_c_checksumFlag, 1)) ||
        ZSTD_isError(ZSTD_CCtx_setParameter(w->zstd, ZSTD_c_compressionLevel, LEVEL))) {
        column_writer_free(w);
        return -ENOMEM;
    }
    *ret = w;
    return 0;
}

struct column_writer *column_writer_free(struct column_writer *w)
{
    if (!w)
        return NULL;
    ZSTD_freeCCtx(w->zstd);
    buf_done(&w->raw);
    buf_done(&w->body);
    mem_free(w);
    return NULL;
}

static int compress(struct column_writer *w, struct span *ret)
{
    char *p;
    struct span raw = buf_span(&w->raw);
    buf_clear(&w->body);
    int r = buf_reserve(&w->body, ZSTD_compressBound(raw.n), &p);
    if (r < 0)
        return r;
    size_t n = ZSTD_compress2(w->zstd, p, ZSTD_compressBound(raw.n), raw.p, raw.n);
    if (ZSTD_isError(n))
        return -ENOMEM; /* there is room, and nothing else can go wrong */
    *ret = span_of(p, n);
    return 0;
}

/* All in front of the bitmap. */
static int put_head(struct column_writer *w, const struct record_field *f, enum column_form form,
                    size_t n, size_t n_known)
{
    char *p;
    buf_clear(&w->raw);
    int r = buf_reserve(&w->raw, HEAD_MAX, &p);
    if (r < 0)
        return r;
    char *at = p;
    *at++ = fields_letter(f->type);
    *at++ = (char)form;
    at = bytes_put_varint(at, n);
    at = bytes_put_varint(at, n_known);
    buf_commit(&w->raw, (size_t)(at - p));
    bool has_names = f->type == RECORD_ENUM || f->type == RECORD_FLAGS;
    return has_names ? layout_write_names(f, &w->raw) : 0;
}

static int put_varint(struct column_writer *w, uint64_t v)
{
    char text[VARINT_MAX_BYTES];
    return buf_append(&w->raw, span_of(text, (size_t)(bytes_put_varint(text, v) - text)));
}

/* Zeroed room of n bytes, and slack that does not count. */
static int put_room(struct column_writer *w, size_t n, char **ret)
{
    int r = buf_reserve(&w->raw, n + COLUMN_SLACK, ret);
    if (r < 0)
        return r;
    memset(*ret, 0, n + COLUMN_SLACK);
    buf_commit(&w->raw, n);
    return 0;
}

/* --- numbers --- */

struct range {
    int64_t min, max;
    size_t n_known;
};

static struct range range_of(const int64_t *v, size_t n, int64_t nothing)
{
    struct range g = {INT64_MAX, INT64_MIN, 0};
    for (size_t i = 0; i < n; i++) {
        bool is_known = v[i] != nothing;
        g.n_known += is_known;
        g.min = is_known && v[i] < g.min ? v[i] : g.min;
        g.max = is_known && v[i] > g.max ? v[i] : g.max;
    }
    return g;
}

/* What cannot be said more narrowly is said widely. */
static struct column_zone zone_of(const struct record_field *f, struct range g, bool has_nothing)
{
    if (g.n_known == 0 && (has_nothing && !fields_is_known(f->type, fields_nothing(f->type))))
        return (struct column_zone){(double)INFINITY, -(double)INFINITY};
    if (f->type == RECORD_U64 && g.min < 0)
        return (struct column_zone){-(double)INFINITY, (double)INFINITY};
    double nothing = has_nothing ? fields_value(f->type, fields_nothing(f->type)) : (double)NAN;
    double min = g.n_known > 0 ? fields_value(f->type, g.min) : nothing;
    double max = g.n_known > 0 ? fields_value(f->type, g.max) : nothing;
    min = nothing < min ? nothing : min;
    max = nothing > max ? nothing : max;
    return (struct column_zone){isnan(min) ? -(double)INFINITY : min,
                                isnan(max) ? (double)INFINITY : max};
}

int column_write_numbers(struct column_writer *w, const struct record_field *f, const int64_t *v,
                         size_t n, struct span *ret, struct column_zone *ret_zone)
{
    int64_t nothing = fields_nothing(f->type);
    struct range g = range_of(v, n, nothing);
    uint64_t most = g.n_known > 0 ? (uint64_t)g.max - (uint64_t)g.min : 0;
    unsigned width = column_bits(most);
    char *bitmap = NULL;
    char *packed = NULL;
    int r = put_head(w, f, COLUMN_PACKED, n, g.n_known);
    if (r == 0 && g.n_known < n)
        r = put_room(w, (n + 7) / 8, &bitmap);
    for (size_t i = 0; bitmap && i < n; i++)
        bitmap[i / 8] = (char)(bitmap[i / 8] | (v[i] != nothing) << i % 8);
    if (r == 0)
        r = put_varint(w, varint_zigzag(g.n_known > 0 ? g.min : 0));
    if (r == 0)
        r = put_varint(w, width);
    if (r == 0)
        r = put_room(w, column_packed_bytes(g.n_known, width), &packed);
    if (r < 0)
        return r;
    size_t k = 0;
    for (size_t i = 0; i < n; i++) {
        if (v[i] != nothing)
            column_pack(packed, k++, width, (uint64_t)v[i] - (uint64_t)g.min);
    }
    *ret_zone = zone_of(f, g, g.n_known < n);
    return compress(w, ret);
}

/* --- texts --- */

/* What is to be known before a form is chosen. */
struct texts {
    size_t n_known, n_bytes, n_longest, n_hex; /* n_hex: digits of every text; 0: not all are hex */
};

static bool is_hex(struct span s)
{
    for (size_t i = 0; i < s.n; i++) {
        char c = s.p[i];
        if (!((c >= '0' && c <= '9') || (c >= 'a' && c <= 'f')))
            return false;
    }
    return true;
}

static struct texts texts_of(const struct span *v, size_t n)
{
    struct texts t = {0};
    bool is_even = true;
    for (size_t i = 0; i < n; i++) {
        if (v[i].n == 0)
            continue;
        if (t.n_known++ == 0)
            t.n_hex = v[i].n;
        is_even = is_even && v[i].n == t.n_hex && v[i].n % 2 == 0 && is_hex(v[i]);
        t.n_bytes += v[i].n;
        t.n_longest = v[i].n > t.n_longest ? v[i].n : t.n_longest;
    }
    t.n_hex = is_even && t.n_hex <= COLUMN_HEX_MAX ? t.n_hex : 0;
    return t;
}

/* The number of the text in the dictionary, added where it is new; -1: the dictionary is full. */
static int number_of(struct column_writer *w, struct span s, uint32_t max_texts)
{
    size_t at = bytes_hash(s) % SLOTS;
    for (; w->slots[at] != 0; at = (at + 1) % SLOTS) {
        if (span_eq(w->texts[w->slots[at] - 1], s))
            return w->slots[at] - 1;
    }
    if (w->n_texts == max_texts)
        return -1;
    w->texts[w->n_texts++] = s;
    w->slots[at] = (uint16_t)w->n_texts;
    return (int)w->n_texts - 1;
}

/* Whether the texts repeat themselves enough. */
static bool make_dictionary(struct column_writer *w, const struct span *v, size_t n, size_t n_known)
{
    uint32_t max = (uint32_t)(n_known / 4 + 1);
    size_t k = 0;
    memset(w->slots, 0, sizeof(w->slots));
    w->n_texts = 0;
    max = max < SLOTS / 2 ? max : SLOTS / 2;
    for (size_t i = 0; i < n; i++) {
        int number = v[i].n > 0 ? number_of(w, v[i], max) : 0;
        if (number < 0)
            return false;
        if (v[i].n > 0)
            w->index[k++] = (uint16_t)number;
    }
    return true;
}

static int put_dictionary(struct column_writer *w, size_t n_known)
{
    unsigned width = w->n_texts > 0 ? column_bits(w->n_texts - 1) : 0;
    char *packed = NULL;
    int r = put_varint(w, w->n_texts);
    for (uint32_t i = 0; i < w->n_texts && r == 0; i++)
        r = put_varint(w, w->texts[i].n);
    for (uint32_t i = 0; i < w->n_texts && r == 0; i++)
        r = buf_append(&w->raw, w->texts[i]);
    if (r == 0)
        r = put_room(w, column_packed_bytes(n_known, width), &packed);
    for (size_t k = 0; k < n_known && r == 0; k++)
        column_pack(packed, k, width, w->index[k]);
    return r;
}

static unsigned hex_value(char c)
{
    return c <= '9' ? (unsigned)(c - '0') : (unsigned)(c - 'a' + 10);
}

static int put_hex(struct column_writer *w, const struct span *v, size_t n, const struct texts *t)
{
    char *at = NULL;
    int r = put_varint(w, t->n_hex);
    if (r == 0)
        r = put_room(w, t->n_bytes / 2, &at);
    for (size_t i = 0; i < n && r == 0; i++) {
        for (size_t k = 0; k < v[i].n; k += 2)
            *at++ = (char)(hex_value(v[i].p[k]) << 4 | hex_value(v[i].p[k + 1]));
    }
    return r;
}

static int put_plain(struct column_writer *w, const struct span *v, size_t n, const struct texts *t)
{
    unsigned width = column_bits(t->n_longest);
    char *packed = NULL;
    char *at = NULL;
    size_t k = 0;
    int r = put_varint(w, width);
    if (r == 0)
        r = put_room(w, column_packed_bytes(t->n_known, width), &packed);
    for (size_t i = 0; i < n && r == 0; i++) {
        if (v[i].n > 0)
            column_pack(packed, k++, width, v[i].n);
    }
    if (r == 0)
        r = put_room(w, t->n_bytes, &at);
    for (size_t i = 0; i < n && r == 0; i++)
        at = bytes_put_span(at, v[i]);
    return r;
}

int column_write_texts(struct column_writer *w, const struct record_field *f, const struct span *v,
                       size_t n, struct span *ret)
{
    struct texts t = texts_of(v, n);
    enum column_form form = t.n_hex > 0 ? COLUMN_HEX : COLUMN_PLAIN;
    char *bitmap = NULL;
    if (make_dictionary(w, v, n, t.n_known))
        form = COLUMN_DICTIONARY;
    int r = put_head(w, f, form, n, t.n_known);
    if (r == 0 && t.n_known < n)
        r = put_room(w, (n + 7) / 8, &bitmap);
    for (size_t i = 0; bitmap && i < n; i++)
        bitmap[i / 8] = (char)(bitmap[i / 8] | (v[i].n > 0) << i % 8);
    if (r == 0 && form == COLUMN_DICTIONARY)
        r = put_dictionary(w, t.n_known);
    else if (r == 0 && form == COLUMN_HEX)
        r = put_hex(w, v, n, &t);
    else if (r == 0)
        r = put_plain(w, v, n, &t);
    return r < 0 ? r : compress(w, ret);
}
