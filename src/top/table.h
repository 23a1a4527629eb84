/* SPDX-License-Identifier: Apache-2.0 */
/*
 * top/table.h - figures of a live table: rows by labels, over the last so-many seconds.
 *
 * Quantiles: by linear interpolation between classic bounds, as histogram_quantile of PromQL does
 *            it; seconds. NaN: no sample in the window, which is not 0.
 * Rates:     per second between the moments that are nearest to the window's ends. A counter that
 *            fell began anew at 0.
 * Trend:     the wanted quantile of a stage in each slot of the minutes before.
 * Limits:    TOP_ROWS_MAX rows; what belongs to further ones is in the total only, and they are
 *            counted.
 * Errors:    -ENOMEM.
 * Threading: pure.
 */
#ifndef TOP_TABLE_H
#define TOP_TABLE_H

#include <stdbool.h>

#include "base/buf.h"
#include "top/feed.h"

enum { TOP_ROWS_MAX = 1000, TOP_TREND_MAX = 40 };

enum top_quantile { TOP_P50, TOP_P95, TOP_P99, TOP_QUANTILES };
extern const double top_quantiles[TOP_QUANTILES];
extern const char *const top_quantile_names[TOP_QUANTILES]; /* "p50", ... */

/* What rows can be sorted by; also what columns show. */
enum top_figure {
    TOP_BY_NAME,
    TOP_BY_REQUESTS,
    TOP_BY_ERRORS,
    TOP_BY_TOKENS,
    TOP_BY_INFLIGHT,
    TOP_BY_STAGE, /* and the stages behind it */
    TOP_FIGURES = TOP_BY_STAGE + TOP_STAGES
};

struct top_wish {
    bool by[TOP_DIMS_MAX]; /* which labels rows stand for */
    int64_t window_ms;
    enum top_figure sort;
    bool is_upwards;            /* smallest first */
    enum top_quantile quantile; /* of sorting and trend */
    enum top_family trend;      /* a stage */
    size_t n_trend;             /* slots; 0: none */
    int64_t trend_ms;           /* over all of them */
    struct span filter;         /* part of a row's name, whatever its case; empty: all */
};

struct top_row {
    uint32_t dims[TOP_DIMS_MAX];
    double requests_per_s, errors_per_s, prompt_per_s, tokens_per_s, inflight;
    double error_ratio; /* NaN: no request ended */
    double counts[TOP_STAGES][TOP_BOUNDS_MAX];
    double stages[TOP_STAGES][TOP_QUANTILES];
    float trend[TOP_TREND_MAX];
};
struct top_table {
    struct top_row total; /* of all rows, shown or not */
    struct top_row *rows;
    size_t n, n_left_out;
    double window_s; /* as it is; 0: there is no moment before the last */
};

int top_table_make(const struct top_feed *f, const struct top_wish *w,
                   struct top_table *ret) WARN_UNUSED;
void top_table_done(struct top_table *t);

/* "qwen / vllm-1": the labels that a row stands for; "all" where it stands for none. */
int top_table_name(const struct top_feed *f, const struct top_wish *w, const struct top_row *row,
                   struct buf *out) WARN_UNUSED;
/* {"window_s", "total": {...}, "rows": [{"labels", "requests_per_s", ..., "ttft_s": {"p50"}}]} */
struct jsonw;
void top_table_write(const struct top_feed *f, const struct top_wish *w, const struct top_table *t,
                     struct jsonw *j);

/* What sorting by that goes by; NaN: nothing to go by. */
double top_table_figure(const struct top_row *row, enum top_figure by, enum top_quantile q);
extern const char *const top_stage_names[TOP_STAGES]; /* "queue", ... */

#endif
