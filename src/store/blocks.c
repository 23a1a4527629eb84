/* SPDX-License-Identifier: Apache-2.0 */
#include "store/blocks.h"

#include <errno.h>

#include "base/mem.h"
#include "store/segment_private.h"

enum { BLOCK_CAP = ROWCODE_BYTES_MAX + 2 * ROWCODE_ROW_MAX };

void blocks_init(struct blocks *b, size_t max_bytes)
{
    *b = (struct blocks){.max_bytes = max_bytes};
}

static void free_block(struct block *block)
{
    if (block)
        buf_done(&block->bytes);
    mem_free(block);
}

void blocks_done(struct blocks *b)
{
    for (size_t i = 0; i < b->n; i++)
        free_block(b->at[i]);
    for (size_t i = 0; i < BLOCKS_SPARE; i++)
        free_block(b->spare[i]);
    mem_free(b->at);
    blocks_init(b, b->max_bytes);
}

/* A block of that day that takes one more row; NULL: none. The last two are looked at. */
static struct block *open_block(struct blocks *b, int64_t day)
{
    for (size_t i = b->n; i > 0 && i + 2 > b->n; i--) {
        struct block *block = b->at[i - 1];
        if (block->day == day && !block->is_closed && block->writer.n_rows < ROWCODE_ROWS_MAX &&
            buf_len(&block->bytes) < ROWCODE_BYTES_MAX)
            return block;
    }
    return NULL;
}

/* Room for n more pointers. */
static int reserve(struct blocks *b, size_t n)
{
    size_t cap = b->cap ? b->cap : 16;
    while (cap < b->n + n)
        cap *= 2;
    if (cap == b->cap)
        return 0;
    struct block **more = mem_realloc(b->at, cap * sizeof(struct block *));
    if (!more)
        return -ENOMEM;
    b->at = more;
    b->cap = cap;
    return 0;
}

static struct block *take_spare(struct blocks *b)
{
    for (size_t i = 0; i < BLOCKS_SPARE; i++) {
        struct block *block = b->spare[i];
        b->spare[i] = NULL;
        if (block)
            return block;
    }
    struct block *block = mem_alloc(sizeof(*block));
    if (block)
        buf_init(&block->bytes, BLOCK_CAP);
    return block;
}

static struct block *new_block(struct blocks *b, int64_t day)
{
    struct block *block = reserve(b, 1) < 0 ? NULL : take_spare(b);
    if (!block)
        return NULL;
    buf_clear(&block->bytes);
    rowcode_begin(&block->writer);
    block->day = day;
    block->is_closed = false;
    b->at[b->n++] = block;
    return block;
}

int blocks_append(struct blocks *b, const struct record *record)
{
    int64_t end_us = fields_end_us(record->started_at.us, record->total_ns);
    int64_t day = day_of(end_us);
    day = day < 0 ? 0 : day > DAY_MAX ? DAY_MAX : day; /* clocks that are wrong */
    if (b->n_bytes >= b->max_bytes)
        return -ENOBUFS;
    struct block *block = open_block(b, day);
    if (!block)
        block = new_block(b, day);
    if (!block)
        return -ENOMEM;
    size_t n_before = buf_len(&block->bytes);
    int error = rowcode_put(&block->writer, record, &block->bytes);
    if (error < 0)
        return error;
    bool is_first = block->writer.n_rows == 1;
    block->from_us = is_first || end_us < block->from_us ? end_us : block->from_us;
    block->to_us = is_first || end_us > block->to_us ? end_us : block->to_us;
    b->n_bytes += buf_len(&block->bytes) - n_before;
    b->n_rows++;
    return 0;
}

int blocks_close(struct blocks *b, struct block *block)
{
    size_t n_before = buf_len(&block->bytes);
    int error = block->is_closed ? 0 : segment_put_checksum(&block->bytes);
    b->n_bytes += buf_len(&block->bytes) - n_before;
    block->is_closed = block->is_closed || error == 0;
    return error;
}

struct day_block blocks_view(const struct block *block, struct span layout)
{
    return (struct day_block){.rows = buf_span(&block->bytes),
                              .layout = layout,
                              .n_rows = block->writer.n_rows,
                              .from_us = block->from_us,
                              .to_us = block->to_us};
}

static void keep_spare(struct blocks *b, struct block *block)
{
    for (size_t i = 0; i < BLOCKS_SPARE && block; i++) {
        struct block *before = b->spare[i];
        b->spare[i] = block;
        block = before; /* the one used last is the warmest */
    }
    free_block(block);
}

void blocks_drop(struct blocks *b, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        b->n_rows -= b->at[i]->writer.n_rows;
        b->n_bytes -= buf_len(&b->at[i]->bytes);
        keep_spare(b, b->at[i]);
    }
    b->n -= n;
    if (b->n > 0)
        memmove(b->at, b->at + n, b->n * sizeof(struct block *));
}

int blocks_move(struct blocks *from, struct blocks *to)
{
    if (to->n_bytes >= to->max_bytes)
        return -ENOBUFS;
    if (from->n == 0)
        return 0;
    if (reserve(to, from->n) < 0)
        return -ENOMEM;
    memcpy(to->at + to->n, from->at, from->n * sizeof(struct block *));
    to->n += from->n;
    to->n_rows += from->n_rows;
    to->n_bytes += from->n_bytes;
    from->n = from->n_rows = from->n_bytes = 0;
    for (size_t i = 0; i < BLOCKS_SPARE; i++) {
        from->spare[i] = from->spare[i] ? from->spare[i] : to->spare[i];
        to->spare[i] = to->spare[i] == from->spare[i] ? NULL : to->spare[i];
    }
    return 0;
}
