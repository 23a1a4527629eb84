/* SPDX-License-Identifier: Apache-2.0 */
/*
 * store/segment_index.c - zones and filters: what says that a segment need not be read; and the
 * layouts of a file.
 */
#include <errno.h>

#include "base/mem.h"
#include "store/bytes.h"
#include "store/segment.h"
#include "store/segment_private.h"

enum { ZONE_BYTES = 2 * 8, CHECKSUM_BYTES = 8, FILTER_BITS_PER_ROW = 12, PROBES = 6 };

/* --- zones: number of the field, min, max; behind all a checksum --- */

int segment_put_zone(struct buf *zones, int64_t field, const struct column_zone *z)
{
    char text[VARINT_MAX_BYTES + ZONE_BYTES];
    char *at = bytes_put_varint(text, (uint64_t)field);
    memcpy(at, &z->min, sizeof(z->min));
    memcpy(at + sizeof(z->min), &z->max, sizeof(z->max));
    return buf_append(zones, span_of(text, (size_t)(at - text) + ZONE_BYTES));
}

int segment_put_checksum(struct buf *b)
{
    uint64_t hash = bytes_hash(buf_span(b));
    return buf_append(b, span_of(&hash, sizeof(hash)));
}

int segment_check_block(struct span *block)
{
    if (block->n < CHECKSUM_BYTES)
        return -EBADMSG;
    struct span rows = {block->p, block->n - CHECKSUM_BYTES};
    if (bytes_word(rows.p + rows.n) != bytes_hash(rows))
        return -EBADMSG;
    *block = rows;
    return 0;
}

bool segment_zone(struct span zones, int64_t field, struct column_zone *ret)
{
    if (segment_check_block(&zones) < 0)
        return false;
    struct bytes b = bytes_of(zones);
    while (bytes_left(&b) > 0) {
        int64_t id = (int64_t)bytes_varint(&b);
        struct span z = bytes_take(&b, ZONE_BYTES);
        if (b.is_short)
            return false;
        if (id != field)
            continue;
        memcpy(&ret->min, z.p, sizeof(ret->min));
        memcpy(&ret->max, z.p + sizeof(ret->min), sizeof(ret->max));
        return true;
    }
    return false;
}

/* --- filters --- */

/* The i-th bit of an id among n. */
static size_t probe(uint64_t hash, size_t i, size_t n)
{
    return (hash + i * ((hash >> 32) | 1)) % n;
}

int segment_make_filter(const struct span *ids, size_t n_ids, struct buf *out)
{
    char *bits;
    size_t n_bytes = (n_ids * FILTER_BITS_PER_ROW + 63) / 64 * 8;
    buf_clear(out);
    int r = buf_reserve(out, n_bytes, &bits);
    if (r < 0)
        return r;
    memset(bits, 0, n_bytes);
    buf_commit(out, n_bytes);
    for (size_t k = 0; k < n_ids; k++) {
        uint64_t hash = bytes_hash(ids[k]);
        for (size_t i = 0; i < PROBES; i++) {
            size_t bit = probe(hash, i, n_bytes * 8);
            bits[bit / 8] = (char)(bits[bit / 8] | 1 << bit % 8);
        }
    }
    return segment_put_checksum(out);
}

bool segment_may_have(struct span filter, struct span id)
{
    if (segment_check_block(&filter) < 0 || filter.n == 0)
        return true;
    uint64_t hash = bytes_hash(id);
    for (size_t i = 0; i < PROBES; i++) {
        size_t bit = probe(hash, i, filter.n * 8);
        if (!(filter.p[bit / 8] >> bit % 8 & 1))
            return false;
    }
    return true;
}

/* --- layouts --- */

static int read_layout(struct db *db, int64_t id, struct layout **ret)
{
    sqlite3_stmt *s;
    int r = db_prepare(db, "SELECT body FROM layouts WHERE id = ?", &s);
    if (r < 0)
        return r;
    sqlite3_bind_int64(s, 1, id);
    r = db_step(s);
    if (r == 1)
        r = layout_read(db_column_span(s, 0), ret);
    else if (r == 0)
        r = -EBADMSG;
    sqlite3_finalize(s);
    return r;
}

int segment_layout(struct segment_layouts *l, struct db *db, int64_t id, const struct layout **ret)
{
    for (size_t i = 0; i < l->n; i++) {
        if (l->ids[i] == id) {
            *ret = l->at[i];
            return 0;
        }
    }
    struct layout **at = mem_realloc(l->at, (l->n + 1) * sizeof(struct layout *));
    if (!at)
        return -ENOMEM;
    l->at = at;
    int64_t *ids = mem_realloc(l->ids, (l->n + 1) * sizeof(*ids));
    if (!ids)
        return -ENOMEM;
    l->ids = ids;
    int r = read_layout(db, id, &l->at[l->n]);
    if (r < 0)
        return r;
    l->ids[l->n] = id;
    *ret = l->at[l->n++];
    return 0;
}

void segment_layouts_done(struct segment_layouts *l)
{
    for (size_t i = 0; i < l->n; i++)
        layout_free(l->at[i]);
    mem_free(l->at);
    mem_free(l->ids);
    *l = (struct segment_layouts){0};
}
