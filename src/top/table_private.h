/* SPDX-License-Identifier: Apache-2.0 */
/*
 * top/table_private.h - what rows and their trends share. Private to table*.c.
 */
#ifndef TOP_TABLE_PRIVATE_H
#define TOP_TABLE_PRIVATE_H

#include "top/table.h"

/* Numbers of a stage's bounds, the smallest bound first. */
struct top_orders {
    uint8_t at[TOP_STAGES][TOP_BOUNDS_MAX];
};
void top_table_orders(const struct top_feed *f, struct top_orders *o);

/* counts: cumulative, by the bounds' numbers. */
double top_table_quantile(const struct top_feed *f, enum top_family stage, const uint8_t *order,
                          const double *counts, double q);
double top_table_increase(const struct top_moment *from, const struct top_moment *to,
                          size_t series);

/* Fills the rows' trends. row_of: the row of each series, or TOP_ROWS_MAX. */
int top_table_trends(const struct top_feed *f, const struct top_wish *w, const struct top_orders *o,
                     const uint16_t *row_of, struct top_table *t) WARN_UNUSED;

#endif
