/* SPDX-License-Identifier: Apache-2.0 */
/*
 * top/cells.h - texts and numbers as cells of a terminal: so many columns, and no harm.
 *
 * Columns:   a wide character (East Asian, emoji) takes two, a combining one none.
 * Harm:      '?' stands for control characters, for those that change the direction of a text, and
 *            for bytes that are no UTF-8; without UTF-8 for all beyond ASCII.
 * Styles:    a byte of enum top_style switches to it, up to the end of the line. No text of others
 *            has such a byte, see above.
 * Threading: pure.
 */
#ifndef TOP_CELLS_H
#define TOP_CELLS_H

#include <stdbool.h>

#include "base/buf.h"

enum top_style {
    TOP_PLAIN = 1,
    TOP_BOLD,
    TOP_DIM,
    TOP_RED,
    TOP_YELLOW,
    TOP_GREEN,
    TOP_REVERSE,
};
int top_cells_style(enum top_style s, struct buf *out) WARN_UNUSED;

/* As much of a text as any screen shows: what is made of it stays small whatever it is. */
enum { TOP_CLIP_BYTES = 4096 };
static inline struct span top_cells_clip(struct span text)
{
    return span_of(text.p, text.n < TOP_CLIP_BYTES ? text.n : TOP_CLIP_BYTES);
}

enum top_align { TOP_LEFT, TOP_RIGHT };
/* Exactly `width` columns: cut (with a mark at the end) or filled up. */
int top_cells_put(struct span text, size_t width, enum top_align align, bool has_utf8,
                  struct buf *out) WARN_UNUSED;
size_t top_cells_width(struct span text); /* columns that a text takes, after harm is undone */

/* "12.3ms", "812ms", "1.23s", "3m20s", "2h13m", "3d4h"; "-" for NaN. dst >= TOP_CELL_BYTES. */
enum { TOP_CELL_BYTES = 32 };
void top_cells_seconds(double s, char *dst);
/* "0", "0.42", "12.3", "812", "1.25k", "3.4M"; "-" for NaN. */
void top_cells_number(double v, char *dst);
/* "0%", "0.4%", "12%"; "-" for NaN. */
void top_cells_ratio(double v, char *dst);

/* A column for a value: bars between 0 and the greatest; ' ' for NaN. */
int top_cells_trend(const float *v, size_t n, bool has_utf8, struct buf *out) WARN_UNUSED;

#endif
