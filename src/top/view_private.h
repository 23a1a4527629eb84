/* SPDX-License-Identifier: Apache-2.0 */
/*
 * top/view_private.h - what the parts of a view share. Private to view*.c.
 */
#ifndef TOP_VIEW_PRIVATE_H
#define TOP_VIEW_PRIVATE_H

#include "top/cells.h"
#include "top/view.h"

struct top_drawing {
    const struct top_view *view;
    const struct top_feed *feed;
    const struct top_wish *wish;
    const struct top_table *table;
    const struct top_lists *lists;
    struct buf *out;
    int error; /* sticky */
};

/* Each does nothing behind an error. */
void top_view_style(struct top_drawing *d, enum top_style s);
void top_view_cell(struct top_drawing *d, struct span text, size_t width, enum top_align align);
/* A blank and a cell that is aligned to the right. */
void top_view_right(struct top_drawing *d, const char *text, size_t width);
void top_view_end(struct top_drawing *d); /* of a line */
/* A whole line in one style. */
void top_view_line(struct top_drawing *d, enum top_style s, const char *fmt, ...) PRINTF_LIKE(3, 4);

/* The first line of a pane. */
void top_view_title(struct top_drawing *d, enum top_pane p, const char *fmt, ...) PRINTF_LIKE(3, 4);

/* Lines of panes: title, heads, and n of their items from first on. */
void top_view_rows(struct top_drawing *d, size_t first, size_t n);
void top_view_flights(struct top_drawing *d, size_t first, size_t n);
void top_view_alerts(struct top_drawing *d, size_t first, size_t n);

#endif
