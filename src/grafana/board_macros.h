/* SPDX-License-Identifier: Apache-2.0 */
/*
 * grafana/board_macros.h - queries that occur again and again. Private to board_*.c.
 */
#ifndef GRAFANA_BOARD_MACROS_H
#define GRAFANA_BOARD_MACROS_H

#include "grafana/board.h"

#define OF  "{" BOARD_OF_MODEL "}"
#define WIN "[$__rate_interval]"

/* A quantile of a histogram; q: a number or $quantile; by: "" or ", model". */
#define QUANTILE(q, metric, of, by)                                                                \
    "histogram_quantile(" q ", sum by (le" by ") (rate(" metric "_bucket" of WIN ")))"
/* Buckets of a heat map. */
#define BUCKETS(metric, of) "sum by (le) (increase(" metric "_bucket" of WIN "))"
/* Per second, by labels. */
#define RATE(metric, of, by) "sum by (" by ") (rate(" metric of WIN "))"
#define RATE_ALL(metric, of) "sum(rate(" metric of WIN "))"
/* The mean of a histogram. */
#define MEAN(metric, of, by)                                                                       \
    "sum by (" by ") (rate(" metric "_sum" of WIN ")) / sum by (" by ") (rate(" metric             \
    "_count" of WIN "))"

/* Queries for p50, p95, p99 of one histogram. */
#define THREE(metric, of)                                                                          \
    {QUANTILE("0.5", metric, of, ""), "p50"}, {QUANTILE("0.95", metric, of, ""), "p95"},           \
    {                                                                                              \
        QUANTILE("0.99", metric, of, ""), "p99"                                                    \
    }
#define FIVE(metric, of)                                                                           \
    {QUANTILE("0.5", metric, of, ""), "p50"}, {QUANTILE("0.9", metric, of, ""), "p90"},            \
        {QUANTILE("0.95", metric, of, ""), "p95"}, {QUANTILE("0.99", metric, of, ""), "p99"},      \
    {                                                                                              \
        QUANTILE("0.999", metric, of, ""), "p99.9"                                                 \
    }

#endif
