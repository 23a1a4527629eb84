/* SPDX-License-Identifier: Apache-2.0 */
/*
 * top/table.c - each series is added to the row it belongs to, then rows get their figures.
 */
#include "top/table.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "base/jsonw.h"
#include "base/mem.h"
#include "top/cells.h"
#include "top/table_private.h"

const double top_quantiles[TOP_QUANTILES] = {0.5, 0.95, 0.99};
const char *const top_quantile_names[TOP_QUANTILES] = {"p50", "p95", "p99"};
const char *const top_stage_names[TOP_STAGES] = {"queue", "ttft", "tpot", "e2e"};

/* --- rows --- */

static bool is_row(const struct top_row *row, const struct top_wish *w, const struct top_series *s)
{
    for (size_t i = 0; i < TOP_DIMS_MAX; i++)
        if (w->by[i] && row->dims[i] != s->dims[i])
            return false;
    return true;
}

static void row_init(struct top_row *row, const struct top_wish *w, const struct top_series *s)
{
    *row = (struct top_row){0};
    for (size_t i = 0; i < TOP_DIMS_MAX; i++)
        row->dims[i] = w->by[i] ? s->dims[i] : 0;
}

enum { SLOTS = 4096 }; /* of a hash table of rows: a power of two, more than twice TOP_ROWS_MAX */

static size_t row_hash(const struct top_wish *w, const struct top_series *s)
{
    uint64_t h = 0;
    for (size_t i = 0; i < TOP_DIMS_MAX; i++)
        h = (h ^ (w->by[i] ? s->dims[i] : 0)) * 0x9e3779b97f4a7c15u;
    return (size_t)(h >> 20) & (SLOTS - 1);
}

/* Of a series: its row, which may be a new one; TOP_ROWS_MAX: there is no room for that. slots:
 * numbers of rows and 1. */
static int row_number(struct top_table *t, const struct top_wish *w, const struct top_series *s,
                      uint16_t *slots)
{
    size_t at = row_hash(w, s);
    for (; slots[at] != 0; at = (at + 1) & (SLOTS - 1))
        if (is_row(&t->rows[slots[at] - 1], w, s))
            return slots[at] - 1;
    if (t->n == TOP_ROWS_MAX) {
        t->n_left_out++;
        return TOP_ROWS_MAX;
    }
    if ((t->n & (t->n - 1)) == 0) { /* 0, 1, 2, 4, ...: is full */
        size_t cap = t->n ? 2 * t->n : 1;
        struct top_row *rows = mem_realloc(t->rows, cap * sizeof(*rows));
        if (!rows)
            return -ENOMEM;
        t->rows = rows;
    }
    row_init(&t->rows[t->n++], w, s);
    slots[at] = (uint16_t)t->n;
    return (int)t->n - 1;
}

/* The row of each series, or TOP_ROWS_MAX. */
static int find_rows(const struct top_feed *f, const struct top_wish *w, struct top_table *t,
                     uint16_t *row_of)
{
    uint16_t slots[SLOTS] = {0};
    for (size_t i = 0; i < f->n_series; i++) {
        int r = row_number(t, w, &f->series[i], slots);
        if (r < 0)
            return r;
        row_of[i] = (uint16_t)r;
    }
    return 0;
}

/* --- sums --- */

double top_table_increase(const struct top_moment *from, const struct top_moment *to, size_t series)
{
    double a = top_feed_value(from, series), b = top_feed_value(to, series);
    return b < a ? b : b - a;
}

static void row_add(struct top_row *row, const struct top_series *s, double d, double gauge)
{
    switch (s->family) {
    case TOP_OK:
        row->requests_per_s += d;
        break;
    case TOP_ERRORS:
        row->requests_per_s += d;
        row->errors_per_s += d;
        break;
    case TOP_PROMPT_TOKENS:
        row->prompt_per_s += d;
        break;
    case TOP_COMPLETION_TOKENS:
        row->tokens_per_s += d;
        break;
    case TOP_INFLIGHT:
        row->inflight += gauge;
        break;
    default: /* a stage */
        row->counts[s->family][s->bound] += d;
    }
}

/* --- quantiles --- */

/* Numbers of bounds, sorted by the bounds. */
static void sort_bounds(const struct top_feed *f, enum top_family stage, uint8_t *order)
{
    for (size_t i = 0; i < f->n_bounds[stage]; i++) {
        size_t at = i;
        for (; at > 0 && f->bounds[stage][order[at - 1]] > f->bounds[stage][i]; at--)
            order[at] = order[at - 1];
        order[at] = (uint8_t)i;
    }
}

void top_table_orders(const struct top_feed *f, struct top_orders *o)
{
    for (size_t s = 0; s < TOP_STAGES; s++)
        sort_bounds(f, (enum top_family)s, o->at[s]);
}

double top_table_quantile(const struct top_feed *f, enum top_family stage, const uint8_t *order,
                          const double *counts, double q)
{
    size_t n = f->n_bounds[stage], i = 0;
    const double *bounds = f->bounds[stage];
    if (n < 2 || !isinf(bounds[order[n - 1]]) || !(counts[order[n - 1]] > 0))
        return (double)NAN;
    double rank = q * counts[order[n - 1]];
    while (i + 1 < n && counts[order[i]] < rank)
        i++;
    if (i == n - 1)
        return bounds[order[n - 2]]; /* above the last bound: that is all one knows */
    double low = i > 0 ? bounds[order[i - 1]] : 0, high = bounds[order[i]];
    double before = i > 0 ? counts[order[i - 1]] : 0, in = counts[order[i]] - before;
    if (i == 0 && high <= 0)
        return high;
    return in > 0 ? low + (high - low) * (rank - before) / in : high;
}

static void row_finish(const struct top_feed *f, const struct top_orders *o, double s,
                       struct top_row *row)
{
    double n = row->requests_per_s;
    row->error_ratio = n > 0 ? row->errors_per_s / n : (double)NAN;
    row->requests_per_s = s > 0 ? n / s : (double)NAN;
    row->errors_per_s = s > 0 ? row->errors_per_s / s : (double)NAN;
    row->tokens_per_s = s > 0 ? row->tokens_per_s / s : (double)NAN;
    row->prompt_per_s = s > 0 ? row->prompt_per_s / s : (double)NAN;
    for (size_t k = 0; k < TOP_STAGES; k++)
        for (size_t q = 0; q < TOP_QUANTILES; q++)
            row->stages[k][q] = top_table_quantile(f, (enum top_family)k, o->at[k], row->counts[k],
                                                   top_quantiles[q]);
}

/* --- order and choice --- */

double top_table_figure(const struct top_row *row, enum top_figure by, enum top_quantile q)
{
    switch (by) {
    case TOP_BY_REQUESTS:
        return row->requests_per_s;
    case TOP_BY_ERRORS:
        return row->error_ratio;
    case TOP_BY_TOKENS:
        return row->tokens_per_s;
    case TOP_BY_INFLIGHT:
        return row->inflight;
    case TOP_BY_NAME:
        return (double)NAN;
    default:
        return row->stages[by - TOP_BY_STAGE][q];
    }
}

struct sorting {
    const struct top_feed *feed;
    const struct top_wish *wish;
};

static int by_name(const struct top_row *a, const struct top_row *b, const struct sorting *s)
{
    int order = 0;
    for (size_t i = 0; i < s->feed->n_dims && order == 0; i++)
        order = span_cmp(top_feed_text(s->feed, a->dims[i]), top_feed_text(s->feed, b->dims[i]));
    return order;
}

/* What has no figure comes last, either way. */
static int by_figure(const void *a, const void *b, void *ctx)
{
    const struct sorting *s = ctx;
    const struct top_row *left = a, *right = b;
    double x = top_table_figure(left, s->wish->sort, s->wish->quantile);
    double y = top_table_figure(right, s->wish->sort, s->wish->quantile);
    if (s->wish->sort == TOP_BY_NAME)
        return s->wish->is_upwards ? -by_name(left, right, s) : by_name(left, right, s);
    if (isnan(x) || isnan(y) || x == y)
        return isnan(x) != isnan(y) ? (isnan(x) ? 1 : -1) : by_name(left, right, s);
    return ((x < y) == s->wish->is_upwards) ? -1 : 1;
}

static bool has_part(struct span text, struct span part)
{
    for (size_t i = 0; i + part.n <= text.n; i++)
        if (span_eq_nocase(span_of(text.p + i, part.n), part))
            return true;
    return false;
}

/* Also rows of labels that are gone: those that nothing happened to. */
static int choose(const struct top_feed *f, const struct top_wish *w, struct top_table *t)
{
    size_t n = 0;
    struct buf name;
    int r = 0;
    buf_init(&name, 64 * 1024);
    for (size_t i = 0; i < t->n && r == 0; i++) {
        bool is_quiet = !(t->rows[i].requests_per_s > 0) && !(t->rows[i].inflight > 0) &&
                        isnan(t->rows[i].stages[TOP_TTFT][0]);
        buf_clear(&name);
        r = top_table_name(f, w, &t->rows[i], &name);
        if (r == 0 && !is_quiet && has_part(buf_span(&name), w->filter))
            t->rows[n++] = t->rows[i];
    }
    t->n = n;
    buf_done(&name);
    return r;
}

/* --- all of it --- */

static int make(const struct top_feed *f, const struct top_wish *w, uint16_t *row_of,
                struct top_table *t)
{
    const struct top_moment *to = f->n_moments > 0 ? &f->moments[f->n_moments - 1] : NULL;
    const struct top_moment *from = to ? top_feed_at(f, to->t_ms - w->window_ms) : NULL;
    struct sorting sorting = {f, w};
    struct top_orders orders = {0};
    int r = find_rows(f, w, t, row_of);
    if (r < 0 || !to)
        return r;
    t->window_s = (double)(to->t_ms - from->t_ms) / 1000;
    for (size_t i = 0; i < f->n_series; i++) {
        double d = from == to ? 0 : top_table_increase(from, to, i);
        row_add(&t->total, &f->series[i], d, top_feed_value(to, i));
        if (row_of[i] < TOP_ROWS_MAX)
            row_add(&t->rows[row_of[i]], &f->series[i], d, top_feed_value(to, i));
    }
    top_table_orders(f, &orders);
    row_finish(f, &orders, t->window_s, &t->total);
    for (size_t i = 0; i < t->n; i++)
        row_finish(f, &orders, t->window_s, &t->rows[i]);
    r = top_table_trends(f, w, &orders, row_of, t);
    if (r == 0)
        r = choose(f, w, t);
    if (r == 0 && t->n > 1)
        qsort_r(t->rows, t->n, sizeof(*t->rows), by_figure, &sorting);
    return r;
}

int top_table_make(const struct top_feed *f, const struct top_wish *w, struct top_table *ret)
{
    struct top_table t = {0};
    uint16_t *row_of = mem_zalloc(f->n_series + 1, sizeof(*row_of));
    int r = row_of ? make(f, w, row_of, &t) : -ENOMEM;
    mem_free(row_of);
    if (r < 0)
        top_table_done(&t);
    else
        *ret = t;
    return r;
}

void top_table_done(struct top_table *t)
{
    mem_free(t->rows);
    *t = (struct top_table){0};
}

int top_table_name(const struct top_feed *f, const struct top_wish *w, const struct top_row *row,
                   struct buf *out)
{
    int r = 0, n = 0;
    for (size_t i = 0; i < f->n_dims && r == 0; i++) {
        struct span value = top_feed_text(f, row->dims[i]);
        if (!w->by[i])
            continue;
        r = n++ > 0 ? buf_append(out, SPAN(" / ")) : 0;
        if (r == 0)
            r = buf_append(out, value.n > 0 ? top_cells_clip(value) : SPAN("-"));
    }
    return n == 0 ? buf_append(out, SPAN("all")) : r;
}

/* --- for programs --- */

static void write_row(const struct top_row *row, struct jsonw *j)
{
    char key[16];
    jsonw_put_double(j, "requests_per_s", row->requests_per_s);
    jsonw_put_double(j, "error_ratio", row->error_ratio);
    jsonw_put_double(j, "prompt_tokens_per_s", row->prompt_per_s);
    jsonw_put_double(j, "completion_tokens_per_s", row->tokens_per_s);
    jsonw_put_double(j, "in_flight", row->inflight);
    for (size_t k = 0; k < TOP_STAGES; k++) {
        struct span name = span_cstr(top_stage_names[k]);
        memcpy(key, name.p, name.n);
        memcpy(key + name.n, "_s", 3);
        jsonw_key(j, key);
        jsonw_begin_object(j);
        for (size_t q = 0; q < TOP_QUANTILES; q++)
            jsonw_put_double(j, top_quantile_names[q], row->stages[k][q]);
        jsonw_end_object(j);
    }
}

void top_table_write(const struct top_feed *f, const struct top_wish *w, const struct top_table *t,
                     struct jsonw *j)
{
    jsonw_put_double(j, "window_s", t->window_s);
    jsonw_key(j, "total");
    jsonw_begin_object(j);
    write_row(&t->total, j);
    jsonw_end_object(j);
    jsonw_key(j, "rows");
    jsonw_begin_array(j);
    for (size_t i = 0; i < t->n; i++) {
        jsonw_begin_object(j);
        jsonw_key(j, "labels");
        jsonw_begin_object(j);
        for (size_t k = 0; k < f->n_dims; k++)
            if (w->by[k]) {
                jsonw_key_str(j, f->dims[k]);
                jsonw_str(j, top_feed_text(f, t->rows[i].dims[k]));
            }
        jsonw_end_object(j);
        write_row(&t->rows[i], j);
        jsonw_end_object(j);
    }
    jsonw_end_array(j);
}
