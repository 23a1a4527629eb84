/* SPDX-License-Identifier: Apache-2.0 */
/*
 * promql/range.h - functions over ranges: a kernel per function, called for the samples of each
 * window of each series.
 *
 * Role:      range.c reads a series once and moves two pointers over it; the kernels are in
 *            kernel_over_time.c, moments.c, kernel_rate.c, kernel_counters.c and kernel_trend.c.
 * Units:     ms.
 * Memory:    what a kernel returns is in call->out.
 * Errors:    a kernel returns 1 (*ret is the value), 0 (none) or a negative errno.
 * Threading: one thread per query.
 */
#ifndef PROMQL_RANGE_H
#define PROMQL_RANGE_H

#include "promql/column.h"
#include "promql/time.h"

/* Samples of one series without stale markers, floats and histograms apart, ascending in time. */
struct range_series {
    struct labels labels;
    int64_t *ft;
    double *fv;
    size_t nf;
    int64_t *ht;
    const struct fhist **hh;
    size_t nh;
    size_t *resets; /* of fv: indexes i with fv[i] < fv[i - 1] */
    size_t n_resets;
    uint8_t *h_resets; /* of hh: whether it is a reset to the one before */
};

/* The samples in (start, end]. */
struct window {
    const int64_t *ft;
    const double *fv;
    size_t nf;
    const int64_t *ht;
    const struct fhist *const *hh;
    size_t nh;
    size_t from, h_from; /* indexes of fv[0] and hh[0] in the series */
    size_t step;         /* of the grid */
    int64_t start_ms, end_ms;
    int64_t asked_ms; /* the range as the query has it; start may be earlier (widened) */
    int64_t apart_ms; /* of summaries where it begins; 0: none */
    int64_t at_ms;    /* evaluated at */
};

struct cell {
    double v;
    const struct fhist *h;
};

struct range_function;
struct range_call {
    struct eval *e;
    const struct range_function *function;
    const struct grid *grid;
    size_t at;             /* of the first argument, for notes */
    const double *args[2]; /* scalars, a value per step */
    const struct range_series *series;
    struct arena *out;    /* of the column */
    struct arena work;    /* void behind each series */
    struct arena scratch; /* void behind each window */
    double *room;         /* nf doubles of the longest window yet */
    size_t n_room;
    size_t n_seen;     /* samples in windows since eval_work was told */
    unsigned said;     /* bits of notes that were told of this series */
    size_t next_reset; /* rate: first reset that may be in the window */
    bool is_summed;    /* count_over_time: samples are counts */
};

typedef int range_kernel(struct range_call *c, const struct window *w, struct cell *ret);
struct range_function {
    const char *name;
    range_kernel *kernel;
    enum series_aspect aspect; /* asked for where only summaries are held */
    bool keeps_name, needs_resets, is_for_counters;
};
const struct range_function *range_function_find(const char *name);

/* A call of such a function: as a value, and series by series. */
node_eval range_call_eval;
int range_call_each(struct eval *e, const struct node *n, const struct grid *g,
                    const struct sink *to) WARN_UNUSED;
bool range_call_is(const struct node *n);

/* absent_over_time, over the same windows. */
node_eval range_absent_eval;

/* Scratch for n doubles; NULL without memory. */
double *range_room(struct range_call *c, size_t n);
/* Tells once per series and kind. */
enum range_note {
    RANGE_MIXED = 1,
    RANGE_IGNORED = 2,
    RANGE_SCHEMAS = 4,
    RANGE_RECONCILED_SUB = 8,
    RANGE_RECONCILED_ADD = 16,
    RANGE_RECONCILED_AGG = 32,
    RANGE_NOT_COUNTER = 64,
    RANGE_NOT_GAUGE = 128,
    RANGE_HINTS = 256,
    RANGE_QUANTILE = 512,
};
int range_say(struct range_call *c, enum range_note what) WARN_UNUSED;

/* The kernels. */
range_kernel kernel_sum, kernel_avg, kernel_count, kernel_min, kernel_max, kernel_first,
    kernel_last, kernel_present, kernel_stddev, kernel_stdvar, kernel_quantile, kernel_mad,
    kernel_ts_first, kernel_ts_last, kernel_ts_min, kernel_ts_max, kernel_rate, kernel_increase,
    kernel_delta, kernel_irate, kernel_idelta, kernel_resets, kernel_changes, kernel_deriv,
    kernel_predict_linear, kernel_smoothing;

#endif
