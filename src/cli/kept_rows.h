/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/kept_rows.h - answers with request rows, taken apart.
 *
 * Ownership: an arena's; texts may be views into the answer, which outlives the result.
 * Threading: pure.
 */
#ifndef CLI_KEPT_ROWS_H
#define CLI_KEPT_ROWS_H

#include "base/arena.h"
#include "record/record.h"

struct kept_row {
    struct span json;
    /* By the number of the field in record_fields: a text without quotes and escapes, anything else
     * as it was sent. p is NULL: not there, or null. */
    struct span *values;
};
struct kept_page {
    struct kept_row *rows;
    size_t n;
    struct span next;  /* p == NULL: that was all */
    struct span error; /* p == NULL: it went well */
};

/* -EPROTO: this is no such answer. -ENOMEM. */
int kept_page_read(struct span json, struct arena *a, struct kept_page *ret) WARN_UNUSED;
/* The same of a single row: a page of one, or an error. */
int kept_single_read(struct span json, struct arena *a, struct kept_page *ret) WARN_UNUSED;

/* The value of the field of that name. */
struct span kept_value(const struct kept_row *row, const char *name);
/* As a number; NaN where it is none. */
double kept_number(struct span value);

#endif
