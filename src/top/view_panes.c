/* SPDX-License-Identifier: Apache-2.0 */
/*
 * top/view_panes.c - rows, open requests and alerts, an item a line.
 */
#include <math.h>
#include <stdio.h>

#include "top/view_private.h"

/* --- rows --- */

enum { WIDE = 190, NAME_WIDTH_MAX = 72, STAGE_WIDTH = 7, QUANTILE_WIDTH = 10 };

static void put_requests(const struct top_row *row, char *dst)
{
    top_cells_number(row->requests_per_s, dst);
}

static void put_errors(const struct top_row *row, char *dst)
{
    top_cells_ratio(row->error_ratio, dst);
}

static void put_tokens(const struct top_row *row, char *dst)
{
    top_cells_number(row->tokens_per_s, dst);
}

static void put_inflight(const struct top_row *row, char *dst)
{
    top_cells_number(row->inflight, dst);
}

static const struct {
    const char *title;
    size_t width;
    enum top_figure figure;
    void (*put)(const struct top_row *row, char *dst);
} columns[] = {
    {"REQ/S", 6, TOP_BY_REQUESTS, put_requests},
    {"ERR", 6, TOP_BY_ERRORS, put_errors},
    {"TOK/S", 6, TOP_BY_TOKENS, put_tokens},
    {"OPEN", 5, TOP_BY_INFLIGHT, put_inflight},
};
static const char *const stage_titles[TOP_STAGES] = {"QUEUE", "TTFT", "TPOT", "E2E"};

static bool is_wide(const struct top_drawing *d)
{
    return d->view->width >= WIDE;
}

static size_t name_width(const struct top_drawing *d)
{
    size_t used = 1 + top_view_trend(d->view);
    for (size_t i = 0; i < ARRAY_LEN(columns); i++)
        used += columns[i].width;
    used += TOP_STAGES * (is_wide(d) ? TOP_QUANTILES * QUANTILE_WIDTH : STAGE_WIDTH);
    size_t left = d->view->width > used ? d->view->width - used : 1;
    return left < NAME_WIDTH_MAX ? left : NAME_WIDTH_MAX;
}

static void title_cell(struct top_drawing *d, const char *title, size_t width,
                       enum top_figure figure)
{
    bool is_sorted = d->wish->sort == figure;
    top_view_style(d, is_sorted ? TOP_BOLD : TOP_DIM);
    if (figure == TOP_BY_NAME)
        top_view_cell(d, span_cstr(title), width, TOP_LEFT);
    else
        top_view_right(d, title, width);
}

static void draw_heads(struct top_drawing *d)
{
    char title[TOP_CELL_BYTES];
    title_cell(d, "NAME", name_width(d), TOP_BY_NAME);
    for (size_t i = 0; i < ARRAY_LEN(columns); i++)
        title_cell(d, columns[i].title, columns[i].width, columns[i].figure);
    for (size_t s = 0; s < TOP_STAGES; s++) {
        enum top_figure figure = (enum top_figure)(TOP_BY_STAGE + s);
        if (!is_wide(d))
            title_cell(d, stage_titles[s], STAGE_WIDTH, figure);
        for (size_t q = 0; is_wide(d) && q < TOP_QUANTILES; q++) {
            (void)snprintf(title, sizeof(title), "%s %s", stage_titles[s], top_quantile_names[q]);
            title_cell(d, title, QUANTILE_WIDTH,
                       q == (size_t)d->wish->quantile ? figure : TOP_FIGURES);
        }
    }
    top_view_style(d, TOP_DIM);
    top_view_cell(d, SPAN(" "), 1, TOP_LEFT);
    (void)snprintf(title, sizeof(title), "%s 5m", stage_titles[d->wish->trend]);
    top_view_cell(d, span_cstr(title), top_view_trend(d->view), TOP_LEFT);
    top_view_end(d);
}

static enum top_style row_style(const struct top_row *row)
{
    if (row->error_ratio >= 0.05)
        return TOP_RED;
    return row->error_ratio >= 0.01 ? TOP_YELLOW : TOP_PLAIN;
}

static void draw_row(struct top_drawing *d, const struct top_row *row)
{
    char text[TOP_CELL_BYTES];
    struct buf name;
    buf_init(&name, 64 * 1024);
    if (d->error == 0)
        d->error = top_table_name(d->feed, d->wish, row, &name);
    top_view_style(d, row_style(row));
    top_view_cell(d, buf_span(&name), name_width(d), TOP_LEFT);
    buf_done(&name);
    for (size_t i = 0; i < ARRAY_LEN(columns); i++) {
        columns[i].put(row, text);
        top_view_right(d, text, columns[i].width);
    }
    for (size_t s = 0; s < TOP_STAGES; s++)
        for (size_t q = 0; q < TOP_QUANTILES; q++) {
            top_cells_seconds(row->stages[s][q], text);
            if (is_wide(d))
                top_view_right(d, text, QUANTILE_WIDTH);
            else if (q == (size_t)d->wish->quantile)
                top_view_right(d, text, STAGE_WIDTH);
        }
    top_view_cell(d, SPAN(" "), 1, TOP_LEFT);
    if (d->error == 0)
        d->error = top_cells_trend(row->trend, top_view_trend(d->view), d->view->has_utf8, d->out);
    top_view_end(d);
}

/* " by model, upstream" */
static void put_by(struct top_drawing *d, struct buf *out)
{
    for (size_t i = 0; i < d->feed->n_dims && d->error == 0; i++)
        if (d->wish->by[i])
            d->error = buf_printf(out, "%s%.*s", buf_len(out) > 0 ? ", " : " by ",
                                  SPAN_ARG(top_cells_clip(d->feed->dims[i])));
}

/* Why there are not more of them. */
static void put_choice(struct top_drawing *d, struct buf *out)
{
    int r = 0;
    if (d->wish->filter.n > 0)
        r = buf_printf(out, " with \"%.*s\"", SPAN_ARG(d->wish->filter));
    if (r == 0 && d->table->n_left_out + d->feed->n_left_out > 0)
        r = buf_append(out, SPAN(", too many to show them all"));
    if (d->error == 0)
        d->error = r;
}

void top_view_rows(struct top_drawing *d, size_t first, size_t n)
{
    char window[TOP_CELL_BYTES];
    struct buf by, choice;
    buf_init(&by, 64 * 1024);
    buf_init(&choice, 64 * 1024);
    put_by(d, &by);
    put_choice(d, &choice);
    top_cells_seconds(d->table->window_s, window);
    top_view_title(d, TOP_PANE_ROWS, "%zu rows%.*s%.*s, %slast %s, %s", d->table->n,
                   SPAN_ARG(buf_span(&by)), SPAN_ARG(buf_span(&choice)),
                   d->table->n == 0 && d->feed->n_moments > 1 ? "no requests in the " : "", window,
                   top_quantile_names[d->wish->quantile]);
    buf_done(&by);
    buf_done(&choice);
    draw_heads(d);
    for (size_t i = first; i < first + n; i++)
        draw_row(d, &d->table->rows[i]);
}

/* --- open requests --- */

enum { AGE_WIDTH = 8, EVENTS_WIDTH = 7 };

/* Model and upstream share what is left. */
static size_t label_width(const struct top_drawing *d, bool is_model)
{
    size_t left = d->view->width - 4 * AGE_WIDTH - EVENTS_WIDTH - 2;
    size_t model = left * 3 / 5 < NAME_WIDTH_MAX ? left * 3 / 5 : NAME_WIDTH_MAX;
    return is_model ? model : left - model;
}

static const char *state_of(const struct top_flight *f)
{
    if (!isnan(f->stalled_ms))
        return "stalled";
    return isnan(f->since_first_ms) ? "waits" : "streams";
}

static void draw_flight(struct top_drawing *d, const struct top_flight *f)
{
    char text[TOP_CELL_BYTES];
    const struct {
        double ms;
    } times[] = {{f->age_ms}, {f->age_ms - f->since_first_ms}, {f->since_last_ms}};
    top_view_style(d, !isnan(f->stalled_ms) ? TOP_RED : TOP_PLAIN);
    top_view_cell(d, span_cstr(state_of(f)), AGE_WIDTH, TOP_LEFT);
    for (size_t i = 0; i < ARRAY_LEN(times); i++) {
        top_cells_seconds(times[i].ms / 1e3, text);
        top_view_right(d, text, AGE_WIDTH);
    }
    top_cells_number(f->n_events, text);
    top_view_right(d, text, EVENTS_WIDTH);
    top_view_cell(d, SPAN(" "), 1, TOP_LEFT);
    top_view_cell(d, f->model, label_width(d, true), TOP_LEFT);
    top_view_cell(d, SPAN(" "), 1, TOP_LEFT);
    top_view_cell(d, f->upstream, label_width(d, false), TOP_LEFT);
    top_view_end(d);
}

void top_view_flights(struct top_drawing *d, size_t first, size_t n)
{
    top_view_title(d, TOP_PANE_FLIGHTS, "open requests: %zu%s",
                   d->lists->n_flights + d->lists->n_more_flights,
                   d->lists->n_flights > 0 ? ", the oldest first" : "");
    top_view_style(d, TOP_DIM);
    top_view_cell(d, SPAN("STATE"), AGE_WIDTH, TOP_LEFT);
    top_view_right(d, "AGE", AGE_WIDTH);
    top_view_right(d, "TTFT", AGE_WIDTH);
    top_view_right(d, "SILENT", AGE_WIDTH);
    top_view_right(d, "EVENTS", EVENTS_WIDTH);
    top_view_cell(d, SPAN(" MODEL"), label_width(d, true) + 1, TOP_LEFT);
    top_view_cell(d, SPAN(" UPSTREAM"), label_width(d, false) + 1, TOP_LEFT);
    top_view_end(d);
    for (size_t i = first; i < first + n; i++)
        draw_flight(d, &d->lists->flights[i]);
}

/* --- alerts --- */

enum { TIER_WIDTH = 4, SINCE_WIDTH = 8, ALERT_WIDTH = 30 };

static void draw_alert(struct top_drawing *d, const struct top_alert *a)
{
    char since[TOP_CELL_BYTES];
    size_t used = AGE_WIDTH + 1 + TIER_WIDTH + SINCE_WIDTH + 1 + ALERT_WIDTH + 1;
    size_t left = d->view->width > used ? d->view->width - used : 1;
    struct buf what;
    buf_init(&what, 64 * 1024);
    if (d->error == 0)
        d->error = buf_printf(&what, "%.*s%s%.*s", SPAN_ARG(top_cells_clip(a->of)),
                              a->of.n > 0 ? "  " : "", SPAN_ARG(top_cells_clip(a->summary)));
    top_cells_seconds((double)(d->view->now_ms - a->since_ms) / 1e3, since);
    top_view_style(d, a->is_firing ? TOP_RED : TOP_YELLOW);
    top_view_cell(d, a->is_firing ? SPAN("firing") : SPAN("pending"), AGE_WIDTH, TOP_LEFT);
    top_view_cell(d, SPAN(" "), 1, TOP_LEFT);
    top_view_cell(d, a->tier, TIER_WIDTH, TOP_LEFT);
    top_view_right(d, since, SINCE_WIDTH);
    top_view_cell(d, SPAN(" "), 1, TOP_LEFT);
    top_view_cell(d, a->name, ALERT_WIDTH, TOP_LEFT);
    top_view_cell(d, SPAN(" "), 1, TOP_LEFT);
    top_view_cell(d, buf_span(&what), left, TOP_LEFT);
    top_view_end(d);
    buf_done(&what);
}

void top_view_alerts(struct top_drawing *d, size_t first, size_t n)
{
    size_t n_firing = 0;
    while (n_firing < d->lists->n_alerts && d->lists->alerts[n_firing].is_firing)
        n_firing++;
    top_view_title(d, TOP_PANE_ALERTS, "alerts: %zu firing, %zu pending", n_firing,
                   d->lists->n_alerts + d->lists->n_more_alerts - n_firing);
    for (size_t i = first; i < first + n; i++)
        draw_alert(d, &d->lists->alerts[i]);
}
