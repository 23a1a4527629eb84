/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/query_show.h - the answer to a query for people and for other programs; a query's error with
 *                    a mark under its place.
 *
 * Threading: pure.
 */
#ifndef CLI_QUERY_SHOW_H
#define CLI_QUERY_SHOW_H

#include "cli/query_data.h"
#include "promql/parse.h"

int query_show_table(const struct query_data *d, struct buf *out) WARN_UNUSED;
/* A line per sample: metric,time,value. */
int query_show_csv(const struct query_data *d, struct buf *out) WARN_UNUSED;

/* The line of the query that is wrong, and ^~~~ under the bytes. */
int query_show_place(struct span query, const struct promql_error *e, struct buf *out) WARN_UNUSED;

#endif
