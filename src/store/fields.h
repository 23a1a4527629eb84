/* SPDX-License-Identifier: Apache-2.0 */
/*
 * store/fields.h - fields of a record as the store sees them: numbers or texts.
 *
 * Role:      the one place that knows what a record_type is in memory. A number is an int64_t: of a
 *            RECORD_DOUBLE its bits, of a RECORD_U64 the same bits; all else is a text.
 * Units:     as docs/RECORD.md, durations in ns, times in us.
 * Threading: pure.
 */
#ifndef STORE_FIELDS_H
#define STORE_FIELDS_H

#include <math.h>

#include "base/attr.h"
#include "record/record.h"

/* More fields than a record has; more than this in a file are an error. */
enum { FIELDS_MAX = 160 };

bool fields_is_text(enum record_type type);

/* The number that is not stored, since it says nothing: that of record_init. */
int64_t fields_nothing(enum record_type type);

/* The number of rows whose program had no such field: unknown, where the type can say so. */
int64_t fields_missing(enum record_type type);

int64_t fields_number(const struct record_field *f, const struct record *r);
void fields_set_number(const struct record_field *f, struct record *r, int64_t v);

/* Borrowed from the record. */
struct span fields_text(const struct record_field *f, const struct record *r);
/* A RECORD_STR is copied, cut where it is too long; the others are borrowed, and a RECORD_CSTR has
 * a NUL behind it. */
void fields_set_text(const struct record_field *f, struct record *r, struct span text);

/* Whether the number is one; texts are known when they are not empty. */
bool fields_is_known(enum record_type type, int64_t v);
/* As questions see it; NaN: unknown. */
double fields_value(enum record_type type, int64_t v);

/* Index in record_fields; -1: there is none of that name. */
int fields_find(struct span name);
/* The same for people: of a name that ends with _ms, that may be left out. */
int fields_find_short(struct span name);
/* Of those that the store itself needs. */
int fields_started_at(void);
int fields_total(void);
int fields_request_id(void);

/* When a request ended: the time that rows are kept by. total_ns < 0: unknown. */
static inline int64_t fields_end_us(int64_t started_us, int64_t total_ns)
{
    return started_us + (total_ns > 0 ? total_ns / NS_PER_US : 0);
}

/* A letter that stands for a type on disk, and back; -1: no type. */
char fields_letter(enum record_type type);
int fields_type(char letter);

/* Values of an enumeration, bits of flags: how many have a name. 0 for other types. */
int fields_n_names(const struct record_field *f);

#endif
