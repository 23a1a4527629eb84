/* SPDX-License-Identifier: Apache-2.0 */
/*
 * store: columns, blocks of the tail with their layouts, zones: whatever the bytes are, reading
 * stays within them, and what could be read can be written and reads the same. fuzz-links: store
 * zstd
 */
#include <zstd.h>

#include "pieces.h"

#include "base/arena.h"
#include "store/column.h"
#include "store/rowcode.h"
#include "store/segment.h"

static int64_t numbers[COLUMN_ROWS_MAX];
static struct span texts[COLUMN_ROWS_MAX];

/* The frame is ours: with a checksum no change would come through. */
static struct span frame_of(struct span raw, char **ret)
{
    size_t cap = ZSTD_compressBound(raw.n);
    *ret = mem_must(mem_alloc(cap));
    size_t n = ZSTD_compress(*ret, cap, raw.p, raw.n, 1);
    FUZZ_CHECK(!ZSTD_isError(n));
    return span_of(*ret, n);
}

static void check_numbers(const struct column *c, size_t field, struct column_writer *w)
{
    struct column_zone zone;
    struct span again;
    struct column_reader *reader = NULL;
    struct column copy;
    column_numbers(c, numbers);
    for (size_t i = 0; i < c->n_rows; i += 1 + c->n_rows / 64)
        FUZZ_CHECK(column_number(c, i) == numbers[i]);
    FUZZ_CHECK(column_write_numbers(w, &record_fields[field], numbers, c->n_rows, &again, &zone) ==
               0);
    FUZZ_CHECK(column_reader_new(&reader) == 0);
    FUZZ_CHECK(column_open(reader, again, (int)field, &copy) == 0);
    for (size_t i = 0; i < c->n_rows; i++) {
        double v = fields_value(c->type, numbers[i]);
        FUZZ_CHECK(column_number(&copy, i) == numbers[i]);
        FUZZ_CHECK(isnan(v) || (v >= zone.min && v <= zone.max));
    }
    column_reader_free(reader);
}

static void check_texts(const struct column *c, size_t field, struct column_writer *w)
{
    struct span again;
    struct column_reader *reader = NULL;
    struct column copy;
    struct arena arena;
    arena_init(&arena, NULL);
    for (size_t i = 0; i < c->n_rows; i++)
        texts[i] = arena_dup(&arena, column_text(c, i));
    FUZZ_CHECK(column_write_texts(w, &record_fields[field], texts, c->n_rows, &again) == 0);
    FUZZ_CHECK(column_reader_new(&reader) == 0);
    FUZZ_CHECK(column_open(reader, again, (int)field, &copy) == 0);
    for (size_t i = 0; i < c->n_rows; i++)
        FUZZ_CHECK(span_eq(column_text(&copy, i), texts[i]));
    column_reader_free(reader);
    arena_done(&arena);
}

static void fuzz_column(struct span in)
{
    struct column_reader *reader = NULL;
    struct column_writer *writer = NULL;
    struct column c;
    char *frame;
    if (in.n == 0)
        return;
    size_t field = (unsigned char)in.p[0] % record_n_fields;
    FUZZ_CHECK(column_reader_new(&reader) == 0 && column_writer_new(&writer) == 0);
    struct span body = frame_of(span_from(in, 1), &frame);
    if (column_open(reader, body, (int)field, &c) == 0 && c.n_rows > 0) {
        if (c.form == COLUMN_PACKED)
            check_numbers(&c, field, writer);
        else if (c.texts && c.n_known * 64 < 1 << 20)
            check_texts(&c, field, writer);
    }
    (void)(column_open(reader, in, (int)field, &c) == 0); /* the bytes as they are, too */
    mem_free(frame);
    column_reader_free(reader);
    column_writer_free(writer);
}

static struct span keep(void *ctx, struct span text)
{
    return arena_dup(ctx, text);
}

/* A layout with its length in front, the number of rows, rows. */
static void fuzz_block(struct span in)
{
    struct bytes b = bytes_of(in);
    struct span bytes = bytes_take(&b, bytes_varint(&b));
    uint64_t n_rows = bytes_varint_to(&b, 64);
    struct layout *layout = NULL;
    struct rowcode_batch *batch = NULL;
    struct arena arena;
    if (b.is_short || layout_read(bytes, &layout) < 0)
        return;
    FUZZ_CHECK(rowcode_batch_new(64, &batch) == 0);
    arena_init(&arena, NULL);
    if (rowcode_read(span_of(b.at, bytes_left(&b)), n_rows, layout, batch) == 0) {
        FUZZ_CHECK(batch->n_rows == n_rows);
        for (size_t i = 0; i < n_rows; i++) {
            struct record r;
            FUZZ_CHECK(rowcode_record(batch, i, keep, &arena, &r) == 0);
        }
    } else {
        FUZZ_CHECK(batch->n_rows == 0);
    }
    arena_done(&arena);
    rowcode_batch_free(batch);
    layout_free(layout);
}

static void fuzz_index(struct span in)
{
    struct column_zone zone;
    struct span block = in;
    (void)segment_zone(in, 7, &zone);
    (void)segment_may_have(in, SPAN("0123"));
    FUZZ_CHECK(segment_check_block(&block) < 0 || block.n + 8 == in.n);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static void (*const targets[])(struct span in) = {fuzz_column, fuzz_block, fuzz_index};
    if (size == 0)
        return 0;
    targets[data[0] % ARRAY_LEN(targets)](span_of(data + 1, size - 1));
    FUZZ_CHECK(mem_live_blocks() == 0);
    return 0;
}
