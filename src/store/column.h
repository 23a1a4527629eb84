/* SPDX-License-Identifier: Apache-2.0 */
/*
 * store/column.h - one field of a segment's rows: packed, compressed, checked.
 *
 * Form:      one zstd frame with its checksum: type, rows, names of an enumeration, a bit per row
 *            that says whether it has something to tell (none where all have), then of those that
 *            do: numbers as the difference to the smallest, in as many bits as the largest needs;
 *            texts as numbers of a dictionary, as halves of their hex digits, or one behind the
 *            other. Every row can be read without those before it.
 * Memory:    a writer and a reader keep their rooms; a reader's grows to the largest column, at
 *            most COLUMN_BYTES_MAX.
 * Errors:    -EBADMSG: not a whole column; -ENOMEM.
 * Threading: one owner each.
 */
#ifndef STORE_COLUMN_H
#define STORE_COLUMN_H

#include "store/layout.h"

enum { COLUMN_ROWS_MAX = 8192, COLUMN_BYTES_MAX = 32 * 1024 * 1024 };

/* Between which numbers all known ones of a column are, if not more narrowly. */
struct column_zone {
    double min, max; /* min > max: none is known */
};

struct column_writer;
int column_writer_new(struct column_writer **ret) WARN_UNUSED;
struct column_writer *column_writer_free(struct column_writer *w);

/* n: 1 .. COLUMN_ROWS_MAX. The column is valid until the next call on w. */
int column_write_numbers(struct column_writer *w, const struct record_field *f, const int64_t *v,
                         size_t n, struct span *ret, struct column_zone *ret_zone) WARN_UNUSED;
int column_write_texts(struct column_writer *w, const struct record_field *f, const struct span *v,
                       size_t n, struct span *ret) WARN_UNUSED;

enum column_form { COLUMN_PACKED, COLUMN_DICTIONARY, COLUMN_HEX, COLUMN_PLAIN, COLUMN_FORM_COUNT_ };

struct column {
    enum record_type type;
    enum column_form form;
    size_t n_rows, n_known;
    const char *bitmap; /* NULL: all rows are known */
    int64_t min;
    unsigned width;     /* bits of a packed number */
    const char *packed; /* n_known numbers */
    const char *texts;  /* texts [offsets[i], offsets[i + 1]) of it, or halves of hex digits */
    size_t n_texts;     /* of a dictionary, else n_known */
    size_t n_hex;       /* digits of each text */
    const uint32_t *offsets;
    const struct layout_names *names; /* NULL: nothing to translate */
    char *hex;
};

struct column_reader;
int column_reader_new(struct column_reader **ret) WARN_UNUSED;
struct column_reader *column_reader_free(struct column_reader *r);

/* own: index in record_fields. A column of another type than that field's is -EPROTO. ret and what
 * it gives is valid until the next call. */
int column_open(struct column_reader *r, struct span body, int own, struct column *ret) WARN_UNUSED;

/* Of row i < n_rows, fields_nothing / empty where the row has nothing to tell. A text of hex digits
 * is valid until the next one is asked for. */
int64_t column_number(const struct column *c, size_t i);
struct span column_text(const struct column *c, size_t i);
/* All rows. */
void column_numbers(const struct column *c, int64_t *out);

/* For walks over all rows: whether row i is known; of the k-th known row, which text it has, and
 * that text. */
static inline bool column_has(const struct column *c, size_t i)
{
    return !c->bitmap || (c->bitmap[i / 8] >> i % 8 & 1);
}
size_t column_text_index(const struct column *c, size_t k);
struct span column_text_at(const struct column *c, size_t index);

#endif
