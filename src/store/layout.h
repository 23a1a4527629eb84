/* SPDX-License-Identifier: Apache-2.0 */
/*
 * store/layout.h - which fields stored rows have, by name, and which of them this program knows.
 *
 * Role:      rows are stored by the fields of the program that wrote them; a layout says which
 *            these are. Enumerations and flags are stored as numbers of that program, so their
 *            names are in the layout, too. Fields that this program has not, or has with another
 *            type, are passed over; what a layout lacks is unknown.
 * Memory:    one block per layout.
 * Errors:    -EBADMSG, -ENOMEM.
 * Threading: immutable once made.
 */
#ifndef STORE_LAYOUT_H
#define STORE_LAYOUT_H

#include "base/buf.h"
#include "store/fields.h"

enum { LAYOUT_NAMES_MAX = 64, LAYOUT_BYTES_MAX = 64 * 1024 };

/* What numbers of an enumeration, or bits of flags, are here. */
struct layout_names {
    uint8_t n;
    bool is_same;                 /* nothing to translate */
    int8_t own[LAYOUT_NAMES_MAX]; /* -1: unknown here */
};

struct layout_field {
    int own; /* index in record_fields; -1: not known here */
    enum record_type type;
    bool is_text;
    const struct layout_names *names; /* NULL: nothing to translate */
};

struct layout {
    size_t n_fields;
    struct layout_field fields[FIELDS_MAX];
    size_t n_names;
    struct layout_names names[];
};

/* The bytes of this program's layout. */
int layout_write(struct buf *out) WARN_UNUSED;
int layout_read(struct span bytes, struct layout **ret) WARN_UNUSED;
struct layout *layout_free(struct layout *l);

/* One field's names: written as their number and each with its length. */
int layout_write_names(const struct record_field *f, struct buf *out) WARN_UNUSED;
/* -EBADMSG. own: index in record_fields, or -1. */
int layout_read_names(struct span *bytes, int own, struct layout_names *ret) WARN_UNUSED;

/* v as a number of this program. */
int64_t layout_translate(const struct layout_names *names, enum record_type type, int64_t v);

#endif
