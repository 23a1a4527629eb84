/* SPDX-License-Identifier: Apache-2.0 */
#include "store/layout.h"

#include <errno.h>

#include "base/mem.h"
#include "store/bytes.h"

enum { VERSION = 1, NAME_MAX_BYTES = 64 };

static int put_varint(struct buf *out, uint64_t v)
{
    char text[VARINT_MAX_BYTES];
    return buf_append(out, span_of(text, (size_t)(bytes_put_varint(text, v) - text)));
}

static int put_text(struct buf *out, struct span s)
{
    int r = put_varint(out, s.n);
    return r < 0 || s.n == 0 ? r : buf_append(out, s);
}

int layout_write_names(const struct record_field *f, struct buf *out)
{
    int n = fields_n_names(f);
    int r = put_varint(out, (uint64_t)n);
    for (int i = 0; i < n && r == 0; i++)
        r = put_text(out, span_cstr(f->enum_name(i)));
    return r;
}

int layout_write(struct buf *out)
{
    int r = put_varint(out, VERSION);
    if (r == 0)
        r = put_varint(out, record_n_fields);
    for (size_t i = 0; i < record_n_fields && r == 0; i++) {
        const struct record_field *f = &record_fields[i];
        char letter = fields_letter(f->type);
        r = buf_append(out, span_of(&letter, 1));
        if (r == 0)
            r = put_text(out, span_cstr(f->name));
        if (r == 0)
            r = layout_write_names(f, out);
    }
    return r;
}

static struct span take_text(struct bytes *b)
{
    return bytes_take(b, bytes_varint_to(b, NAME_MAX_BYTES));
}

/* The number of that name here, or -1. */
static int own_number(const struct record_field *f, struct span name)
{
    int n = f ? fields_n_names(f) : 0;
    for (int i = 0; i < n; i++) {
        if (span_eq(span_cstr(f->enum_name(i)), name))
            return i;
    }
    return -1;
}

int layout_read_names(struct span *bytes, int own, struct layout_names *ret)
{
    struct bytes b = bytes_of(*bytes);
    uint64_t n = bytes_varint_to(&b, LAYOUT_NAMES_MAX);
    const struct record_field *f = own >= 0 ? &record_fields[own] : NULL;
    *ret = (struct layout_names){.n = (uint8_t)n, .is_same = true};
    for (uint64_t i = 0; i < n; i++) {
        struct span name = take_text(&b);
        ret->own[i] = (int8_t)own_number(f, name);
        ret->is_same = ret->is_same && ret->own[i] == (int)i;
    }
    *bytes = span_of(b.at, bytes_left(&b));
    return b.is_short ? -EBADMSG : 0;
}

int64_t layout_translate(const struct layout_names *names, enum record_type type, int64_t v)
{
    if (!names || names->is_same)
        return v;
    if (type == RECORD_ENUM)
        return v >= 0 && v < names->n ? names->own[v] : -1;
    int64_t own = 0;
    for (int i = 0; i < names->n && i < 32; i++) {
        if (v >> i & 1 && names->own[i] >= 0)
            own |= INT64_C(1) << names->own[i];
    }
    return own;
}

static bool has_names(enum record_type type)
{
    return type == RECORD_ENUM || type == RECORD_FLAGS;
}

/* One field of the layout; 0 or -EBADMSG. */
static int read_field(struct bytes *b, struct layout *l)
{
    struct span letter = bytes_take(b, 1);
    struct span name = take_text(b);
    int type = letter.n == 1 ? fields_type(letter.p[0]) : -1;
    struct layout_field *f = &l->fields[l->n_fields++];
    struct span rest = span_of(b->at, bytes_left(b));
    struct layout_names *names = &l->names[l->n_names];
    if (b->is_short || type < 0)
        return -EBADMSG;
    f->own = fields_find(name);
    f->type = (enum record_type)type;
    f->is_text = fields_is_text(f->type);
    if (f->own >= 0 && record_fields[f->own].type != f->type)
        f->own = -1;
    if (layout_read_names(&rest, f->own, names) < 0)
        return -EBADMSG;
    if (has_names(f->type)) {
        f->names = names->is_same ? NULL : names;
        l->n_names++;
    }
    b->at = rest.p;
    return 0;
}

int layout_read(struct span bytes, struct layout **ret)
{
    struct bytes b = bytes_of(bytes);
    uint64_t version = bytes_varint(&b);
    uint64_t n = bytes_varint_to(&b, FIELDS_MAX);
    if (b.is_short || version != VERSION)
        return -EBADMSG;
    struct layout *l = mem_zalloc(1, sizeof(*l) + (n + 1) * sizeof(l->names[0]));
    if (!l)
        return -ENOMEM;
    int r = 0;
    for (uint64_t i = 0; i < n && r == 0; i++)
        r = read_field(&b, l);
    if (r == 0 && bytes_left(&b) > 0)
        r = -EBADMSG;
    if (r < 0) {
        layout_free(l);
        return r;
    }
    *ret = l;
    return 0;
}

struct layout *layout_free(struct layout *l)
{
    mem_free(l);
    return NULL;
}
