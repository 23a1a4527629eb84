/* SPDX-License-Identifier: Apache-2.0 */
#include "store/rowcode.h"

#include <errno.h>

#include "base/check.h"
#include "base/mem.h"

enum { BITMAP_MAX = FIELDS_MAX / 8 };

static size_t bitmap_bytes(size_t n_fields)
{
    return (n_fields + 7) / 8;
}

static size_t slot_of(struct span s)
{
    return bytes_hash(s) % ROWCODE_SLOTS;
}

void rowcode_begin(struct rowcode_writer *w)
{
    memset(w, 0, sizeof(*w));
}

/* A text that has something to tell. start: of the block, at: where to write. */
static char *put_text(struct rowcode_slot *slots, struct span s, const char *start, char *at)
{
    struct rowcode_slot *slot = &slots[slot_of(s)];
    if (slot->n == s.n && memcmp(start + slot->offset, s.p, s.n) == 0)
        return bytes_put_varint(at, (uint64_t)(slot - slots));
    at = bytes_put_varint(at, ROWCODE_SLOTS + s.n);
    *slot = (struct rowcode_slot){(uint32_t)(at - start), (uint32_t)s.n};
    return bytes_put_span(at, s);
}

static char *put_number(struct rowcode_writer *w, enum record_type type, int64_t v, char *at)
{
    uint64_t difference = (uint64_t)v - (uint64_t)w->last_wall;
    if (type == RECORD_DOUBLE)
        return bytes_put_u64(at, (uint64_t)v);
    if (type != RECORD_WALL)
        return bytes_put_varint(at, varint_zigzag(v));
    w->last_wall = v;
    return bytes_put_varint(at, varint_zigzag((int64_t)difference));
}

int rowcode_put(struct rowcode_writer *w, const struct record *r, struct buf *block)
{
    char *row;
    size_t n_text = 0;
    size_t n_before = buf_len(block);
    if (NEVER(r->labels.n > RECORD_LABELS_MAX || r->timeline.n > TIMELINE_BYTES))
        return -EINVAL;
    int error = buf_reserve(block, ROWCODE_ROW_MAX, &row);
    if (error < 0)
        return error;
    const char *start = row - n_before;
    char *at = row + bitmap_bytes(record_n_fields);
    memset(row, 0, (size_t)(at - row));
    for (size_t i = 0; i < record_n_fields; i++) {
        const struct record_field *f = &record_fields[i];
        if (fields_is_text(f->type)) {
            struct span s = fields_text(f, r);
            struct rowcode_slot *slots = w->slots[n_text++];
            if (s.n == 0)
                continue;
            at = put_text(slots, s, start, at);
        } else {
            int64_t v = fields_number(f, r);
            if (v == fields_nothing(f->type))
                continue;
            at = put_number(w, f->type, v, at);
        }
        row[i / 8] = (char)(row[i / 8] | 1 << i % 8);
    }
    buf_commit(block, (size_t)(at - row));
    w->n_rows++;
    return 0;
}

/* --- batches --- */

int rowcode_batch_new(size_t cap, struct rowcode_batch **ret)
{
    size_t n_bytes = 0;
    struct rowcode_batch *b = mem_zalloc(1, sizeof(*b));
    for (size_t i = 0; i < record_n_fields; i++)
        n_bytes += cap * (fields_is_text(record_fields[i].type) ? sizeof(struct span) : 8);
    void *memory = b ? mem_alloc(n_bytes + 1) : NULL;
    if (!memory) {
        mem_free(b);
        return -ENOMEM;
    }
    b->_memory = memory;
    b->cap = cap;
    for (size_t i = 0; i < record_n_fields; i++) {
        if (fields_is_text(record_fields[i].type)) {
            b->texts[i] = memory;
            memory = b->texts[i] + cap;
        } else {
            b->numbers[i] = memory;
            memory = b->numbers[i] + cap;
        }
    }
    *ret = b;
    return 0;
}

struct rowcode_batch *rowcode_batch_free(struct rowcode_batch *b)
{
    if (b)
        mem_free(b->_memory);
    mem_free(b);
    return NULL;
}

void rowcode_batch_clear(struct rowcode_batch *b)
{
    b->n_rows = 0;
    memset(b->is_there, 0, sizeof(b->is_there));
}

/* --- reading --- */

struct row_reader {
    const struct layout *layout;
    struct bytes bytes;
    int64_t last_wall;
    struct span slots[FIELDS_MAX / 4][ROWCODE_SLOTS];
};

static struct span take_text(struct row_reader *rd, size_t n_text)
{
    struct bytes *b = &rd->bytes;
    uint64_t code = bytes_varint(b);
    if (code < ROWCODE_SLOTS) {
        struct span s = rd->slots[n_text][code];
        b->is_short = b->is_short || s.n == 0;
        return s;
    }
    struct span s = bytes_take(b, code - ROWCODE_SLOTS);
    if (s.n > 0)
        rd->slots[n_text][slot_of(s)] = s;
    return s;
}

static int64_t take_number(struct row_reader *rd, enum record_type type)
{
    if (type == RECORD_DOUBLE)
        return (int64_t)bytes_u64(&rd->bytes);
    int64_t v = varint_unzigzag(bytes_varint(&rd->bytes));
    if (type != RECORD_WALL)
        return v;
    rd->last_wall = (int64_t)((uint64_t)rd->last_wall + (uint64_t)v);
    return rd->last_wall;
}

/* One row into row i of the batch. */
static void take_row(struct row_reader *rd, struct rowcode_batch *b, size_t i)
{
    const struct layout *l = rd->layout;
    size_t n_text = 0;
    struct span bitmap = bytes_take(&rd->bytes, bitmap_bytes(l->n_fields));
    for (size_t k = 0; k < l->n_fields && !rd->bytes.is_short; k++) {
        const struct layout_field *f = &l->fields[k];
        bool is_told = bitmap.p[k / 8] >> k % 8 & 1;
        if (f->is_text) {
            struct span s = is_told ? take_text(rd, n_text) : (struct span){0};
            n_text++;
            if (f->own >= 0)
                b->texts[f->own][i] = s;
            continue;
        }
        int64_t v = is_told ? take_number(rd, f->type) : fields_nothing(f->type);
        if (f->own >= 0)
            b->numbers[f->own][i] = f->names ? layout_translate(f->names, f->type, v) : v;
    }
}

/* What the layout lacks and the batch has is nothing. */
static void fill_missing(const struct layout *l, struct rowcode_batch *b, size_t first, size_t n)
{
    bool is_read[FIELDS_MAX] = {false};
    for (size_t k = 0; k < l->n_fields; k++) {
        if (l->fields[k].own >= 0)
            b->is_there[l->fields[k].own] = is_read[l->fields[k].own] = true;
    }
    for (size_t f = 0; f < record_n_fields; f++) {
        if (is_read[f])
            continue;
        for (size_t i = first; i < first + n; i++) {
            if (b->texts[f])
                b->texts[f][i] = (struct span){0};
            else
                b->numbers[f][i] = fields_missing(record_fields[f].type);
        }
    }
}

static size_t n_texts(const struct layout *l)
{
    size_t n = 0;
    for (size_t k = 0; k < l->n_fields; k++)
        n += l->fields[k].is_text;
    return n;
}

int rowcode_read(struct span block, size_t n_rows, const struct layout *l, struct rowcode_batch *b)
{
    if (n_rows > b->cap - b->n_rows)
        return -EMSGSIZE;
    if (n_texts(l) > FIELDS_MAX / 4)
        return -EBADMSG;
    struct row_reader *rd = mem_alloc(sizeof(*rd));
    if (!rd)
        return -ENOMEM;
    rd->layout = l;
    rd->bytes = bytes_of(block);
    rd->last_wall = 0;
    memset(rd->slots, 0, sizeof(rd->slots[0]) * n_texts(l));
    for (size_t i = 0; i < n_rows && !rd->bytes.is_short; i++)
        take_row(rd, b, b->n_rows + i);
    bool is_broken = rd->bytes.is_short || bytes_left(&rd->bytes) > 0;
    mem_free(rd);
    if (is_broken)
        return -EBADMSG;
    fill_missing(l, b, b->n_rows, n_rows);
    b->n_rows += n_rows;
    return 0;
}

int rowcode_record(const struct rowcode_batch *b, size_t i,
                   struct span (*keep)(void *ctx, struct span text), void *ctx, struct record *r)
{
    record_init(r);
    for (size_t k = 0; k < record_n_fields; k++) {
        const struct record_field *f = &record_fields[k];
        if (!b->texts[k]) {
            fields_set_number(f, r, b->numbers[k][i]);
            continue;
        }
        struct span s = b->texts[k][i];
        if (f->type == RECORD_CSTR && s.n > 0)
            s = keep(ctx, s);
        else if (f->type == RECORD_CSTR)
            s.p = "";
        if (!s.p && f->type == RECORD_CSTR)
            return -ENOMEM;
        fields_set_text(f, r, s);
    }
    return 0;
}
