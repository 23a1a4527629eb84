/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/plot.h - series over time as a plot of characters.
 *
 * Shape:     a canvas of braille characters (2 x 4 points each), or of one mark per character where
 *            the terminal has no UTF-8; values at the left, times below, a legend with the last
 *            values. Gaps stay gaps; what is no finite number is left out.
 * Limits:    PLOT_SERIES_MAX series are drawn, the others are counted in the legend.
 * Threading: pure.
 */
#ifndef CLI_PLOT_H
#define CLI_PLOT_H

#include <stdbool.h>

#include "base/buf.h"
#include "cli/query_data.h"

enum { PLOT_SERIES_MAX = 6, PLOT_WIDTH_MIN = 40, PLOT_WIDTH_MAX = 400 };

struct plot_options {
    int width;  /* characters in all */
    int height; /* of the canvas: a multiple of 4, and one more */
    bool has_color, has_utf8;
    double start, end, step; /* seconds */
};

int plot_print(const struct query_series *series, size_t n, const struct plot_options *o,
               struct buf *out) WARN_UNUSED;

/* "1.25k", "300m", "0": at most three digits and a prefix; dst >= 32 B. */
void plot_number(double v, char *dst);

#endif
