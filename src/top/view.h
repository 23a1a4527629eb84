/* SPDX-License-Identifier: Apache-2.0 */
/*
 * top/view.h - a live table as lines of text, for a terminal of any size.
 *
 * Shape:     three lines on the whole, then rows, open requests and alerts, one below the other,
 *            and a line of keys. Where there is too little room, the one with the focus gets it and
 *            the others show their first items; with 190 columns each stage has all its quantiles.
 * States:    before the first answer, without requests in the window, and with answers that stay
 *            away, it says so.
 * Styles:    bytes of enum top_style (cells.h).
 * Errors:    -ENOMEM, -EMSGSIZE.
 * Threading: pure.
 */
#ifndef TOP_VIEW_H
#define TOP_VIEW_H

#include "top/lists.h"
#include "top/table.h"

enum { TOP_WIDTH_MIN = 60, TOP_HEIGHT_MIN = 17, TOP_WIDTH_MAX = 500 };

enum top_pane { TOP_PANE_ROWS, TOP_PANE_FLIGHTS, TOP_PANE_ALERTS, TOP_PANES };

struct top_view {
    size_t width;
    size_t height; /* 0: as many lines as there are, and no keys */
    bool has_utf8;
    struct span where; /* who is asked */
    int64_t now_ms;    /* Unix time */
    enum top_pane focus;
    size_t scroll; /* items of the focused pane that are above its first line */
    bool is_paused, is_typing /* the filter */, is_help;
    struct span trouble; /* why there is no answer; empty: there is */
    double stale_s;      /* since the last answer */
};

/* What is wanted of the table: columns for a trend. */
size_t top_view_trend(const struct top_view *v);

int top_view_draw(const struct top_view *v, const struct top_feed *f, const struct top_wish *w,
                  const struct top_table *t, const struct top_lists *l,
                  struct buf *out) WARN_UNUSED;

/* Items of a pane. */
size_t top_view_items(enum top_pane p, const struct top_table *t, const struct top_lists *l);

#endif
