/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/kept_show.h - request rows for people and for other programs.
 *
 * Threading: pure.
 */
#ifndef CLI_KEPT_SHOW_H
#define CLI_KEPT_SHOW_H

#include "cli/kept_rows.h"

enum { KEPT_COLUMNS_MAX = 24 };

/* Columns of a table, as wide as the widest value that was shown so far. */
struct kept_columns {
    int fields[KEPT_COLUMNS_MAX]; /* in record_fields */
    size_t widths[KEPT_COLUMNS_MAX];
    size_t n;
    bool has_head; /* was shown */
};
/* Those that a table has anyway. */
void kept_columns_init(struct kept_columns *c);
/* One more, unless it is there or there is no room. */
void kept_columns_add(struct kept_columns *c, int field);

int kept_show_table(struct kept_columns *c, const struct kept_page *p, struct buf *out) WARN_UNUSED;
/* As in the request log: a row per line. */
int kept_show_json(const struct kept_page *p, struct buf *out) WARN_UNUSED;
/* All fields. */
int kept_show_csv(const struct kept_page *p, bool has_head, struct buf *out) WARN_UNUSED;

/* One request: its stages one below the other as they followed each other, and all that is known of
 * it. */
struct kept_one_options {
    int width; /* columns */
    bool has_utf8;
};
int kept_show_one(const struct kept_row *row, const struct kept_one_options *o,
                  struct buf *out) WARN_UNUSED;

#endif
