/* SPDX-License-Identifier: Apache-2.0 */
/*
 * top/view.c - lines on the whole, and how much room each pane gets.
 */
#include "top/view.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <time.h>

#include "top/view_private.h"

enum { HEAD_LINES = 3, LINE_MAX_BYTES = 4096 };

/* --- lines --- */

void top_view_style(struct top_drawing *d, enum top_style s)
{
    if (d->error == 0)
        d->error = top_cells_style(s, d->out);
}

void top_view_cell(struct top_drawing *d, struct span text, size_t width, enum top_align align)
{
    if (d->error == 0)
        d->error = top_cells_put(text, width, align, d->view->has_utf8, d->out);
}

void top_view_right(struct top_drawing *d, const char *text, size_t width)
{
    top_view_cell(d, SPAN(""), 1, TOP_LEFT);
    top_view_cell(d, span_cstr(text), width - 1, TOP_RIGHT);
}

void top_view_end(struct top_drawing *d)
{
    if (d->error == 0)
        d->error = buf_append(d->out, SPAN("\n"));
}

PRINTF_LIKE(3, 0)
static void line_put(struct top_drawing *d, enum top_style s, const char *fmt, va_list ap)
{
    char text[LINE_MAX_BYTES];
    (void)vsnprintf(text, sizeof(text), fmt, ap);
    top_view_style(d, s);
    top_view_cell(d, span_cstr(text), d->view->width, TOP_LEFT);
    top_view_end(d);
}

void top_view_line(struct top_drawing *d, enum top_style s, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    line_put(d, s, fmt, ap);
    va_end(ap);
}

void top_view_title(struct top_drawing *d, enum top_pane p, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    line_put(d, d->view->focus == p && d->view->height > 0 ? TOP_REVERSE : TOP_BOLD, fmt, ap);
    va_end(ap);
}

/* --- on the whole --- */

static void draw_where(struct top_drawing *d)
{
    const struct top_lists *l = d->lists;
    char up[TOP_CELL_BYTES], stale[TOP_CELL_BYTES], clock[16] = "";
    time_t s = (time_t)(d->view->now_ms / 1000);
    struct tm tm;
    if (gmtime_r(&s, &tm))
        (void)strftime(clock, sizeof(clock), "%H:%M:%SZ", &tm);
    top_cells_seconds(l->uptime_s, up);
    top_cells_seconds(d->view->stale_s, stale);
    if (d->view->trouble.n > 0)
        top_view_line(d, TOP_RED, "%s  no answer for %s: %.*s", clock, stale,
                      SPAN_ARG(d->view->trouble));
    else
        top_view_line(d, TOP_BOLD, "%sinferometer %.*s at %.*s, %.*s, up %s  %s",
                      d->view->is_paused ? "PAUSED  " : "", SPAN_ARG(l->version),
                      SPAN_ARG(d->view->where), SPAN_ARG(l->state), up, clock);
}

static void draw_total(struct top_drawing *d)
{
    const struct top_row *t = &d->table->total;
    enum top_quantile q = d->wish->quantile;
    char requests[TOP_CELL_BYTES], errors[TOP_CELL_BYTES], in[TOP_CELL_BYTES], out[TOP_CELL_BYTES];
    char open[TOP_CELL_BYTES], stages[TOP_STAGES][TOP_CELL_BYTES];
    if (d->feed->n_moments < 2) {
        top_view_line(d, TOP_DIM, "%s",
                      d->feed->n_moments == 0 ? "waiting for the first figures"
                                              : "rates are there from the second look on");
        return;
    }
    top_cells_number(t->requests_per_s, requests);
    top_cells_ratio(t->error_ratio, errors);
    top_cells_number(t->prompt_per_s, in);
    top_cells_number(t->tokens_per_s, out);
    top_cells_number(t->inflight, open);
    for (size_t i = 0; i < TOP_STAGES; i++)
        top_cells_seconds(t->stages[i][q], stages[i]);
    top_view_line(d, TOP_PLAIN,
                  "%s req/s, errors %s; %s TTFT %s TPOT %s E2E %s; %s open; tokens/s %s in %s out",
                  requests, errors, top_quantile_names[q], stages[TOP_TTFT], stages[TOP_TPOT],
                  stages[TOP_E2E], open, in, out);
}

static void draw_engines(struct top_drawing *d)
{
    const struct top_lists *l = d->lists;
    char running[TOP_CELL_BYTES], waiting[TOP_CELL_BYTES], kv[TOP_CELL_BYTES], gpu[TOP_CELL_BYTES];
    size_t n_good = 0;
    struct buf bad;
    buf_init(&bad, 64 * 1024);
    for (size_t i = 0; i < l->n_upstreams; i++) {
        if (span_eq(l->upstreams[i].breaker, SPAN("closed")))
            n_good++;
        else if (d->error == 0 && buf_len(&bad) < LINE_MAX_BYTES)
            d->error = buf_printf(&bad, "%s%.*s", buf_len(&bad) > 0 ? ", " : ": ",
                                  SPAN_ARG(top_cells_clip(l->upstreams[i].name)));
    }
    top_cells_number(l->running, running);
    top_cells_number(l->waiting, waiting);
    top_cells_ratio(l->kv_ratio_max, kv);
    top_cells_ratio(l->gpu_ratio_mean, gpu);
    top_view_line(d, n_good < l->n_upstreams ? TOP_RED : TOP_PLAIN,
                  "upstreams %zu of %zu good%.*s; engines: %s running, %s waiting, KV cache %s, "
                  "GPU %s",
                  n_good, l->n_upstreams, SPAN_ARG(buf_span(&bad)), running, waiting, kv, gpu);
    buf_done(&bad);
}

static void draw_help(struct top_drawing *d)
{
    static const char *const lines[] = {
        "q         quit",
        "g         what rows stand for: model and upstream, model, upstream, tenant, all",
        "p         quantile: p50, p95, p99",
        "t         stage of the trend: queue, TTFT, TPOT, E2E",
        "w         window: 10 s, 1 min, 5 min",
        "< >       sort by the column to the left or right;  r  the other way round",
        "/         show rows with a text in their name: type it, Enter; Esc shows all again",
        "tab       next part: rows, open requests, alerts;  arrows, page up and down scroll it",
        "space     stop and go on",
        "",
        "queue, TTFT, TPOT, E2E   quantiles over the window (docs/DEFINITIONS.md); - is no sample",
        "err       requests with an outcome that is neither ok nor the client's doing",
        "trend     that quantile of one stage over the last 5 minutes, against its own maximum",
    };
    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
        top_view_line(d, TOP_PLAIN, "%s", lines[i]);
}

static void draw_keys(struct top_drawing *d)
{
    if (d->view->is_typing)
        top_view_line(d, TOP_REVERSE, "show rows with: %.*s_", SPAN_ARG(d->wish->filter));
    else if (d->view->is_help)
        top_view_line(d, TOP_DIM, "any key: back");
    else
        top_view_line(d, TOP_DIM,
                      "q quit  g group  p quantile  w window  <> sort  r reverse  / filter  tab "
                      "next  ? help");
}

/* --- panes --- */

static const struct {
    size_t n_heads; /* lines before the items */
    size_t n_least; /* items that are shown anyway */
    void (*draw)(struct top_drawing *d, size_t first, size_t n);
} panes[TOP_PANES] = {
    [TOP_PANE_ROWS] = {2, 4, top_view_rows},
    [TOP_PANE_FLIGHTS] = {2, 2, top_view_flights},
    [TOP_PANE_ALERTS] = {1, 2, top_view_alerts},
};

size_t top_view_items(enum top_pane p, const struct top_table *t, const struct top_lists *l)
{
    return p == TOP_PANE_ROWS ? t->n : p == TOP_PANE_FLIGHTS ? l->n_flights : l->n_alerts;
}

size_t top_view_trend(const struct top_view *v)
{
    return v->width < 110 ? 7 : 20;
}

/* Lines for items of each pane, of n lines for all. */
static void share(const struct top_drawing *d, size_t n, size_t lines[TOP_PANES])
{
    size_t wanted[TOP_PANES], used = 0;
    for (int p = 0; p < TOP_PANES; p++) {
        wanted[p] = top_view_items((enum top_pane)p, d->table, d->lists);
        lines[p] = wanted[p] < panes[p].n_least ? wanted[p] : panes[p].n_least;
        used += panes[p].n_heads + lines[p];
    }
    for (int i = 0; i < TOP_PANES && used < n; i++) {
        int p = ((int)d->view->focus + i) % TOP_PANES;
        size_t more = wanted[p] - lines[p] < n - used ? wanted[p] - lines[p] : n - used;
        lines[p] += more;
        used += more;
    }
    for (; used < n; used++)
        lines[TOP_PANE_ALERTS]++; /* blank */
}

static void draw_panes(struct top_drawing *d)
{
    const struct top_view *v = d->view;
    size_t lines[TOP_PANES];
    if (v->height > 0)
        share(d, v->height - HEAD_LINES - 1, lines);
    for (int p = 0; p < TOP_PANES; p++) {
        size_t n_items = top_view_items((enum top_pane)p, d->table, d->lists), first = 0;
        size_t n = v->height > 0 ? lines[p] : n_items;
        if (p == (int)v->focus && n < n_items)
            first = v->scroll < n_items - n ? v->scroll : n_items - n;
        size_t shown = n_items - first < n ? n_items - first : n;
        panes[p].draw(d, first, shown);
        for (size_t i = shown; i < n; i++)
            top_view_line(d, TOP_PLAIN, "%s", "");
    }
}

int top_view_draw(const struct top_view *v, const struct top_feed *f, const struct top_wish *w,
                  const struct top_table *t, const struct top_lists *l, struct buf *out)
{
    struct top_drawing d = {v, f, w, t, l, out, 0};
    if (v->width < TOP_WIDTH_MIN || (v->height > 0 && v->height < TOP_HEIGHT_MIN)) {
        top_view_line(&d, TOP_PLAIN, "at least %d columns and %d lines, please", TOP_WIDTH_MIN,
                      TOP_HEIGHT_MIN);
        return d.error;
    }
    draw_where(&d);
    draw_total(&d);
    draw_engines(&d);
    if (v->is_help)
        draw_help(&d);
    else
        draw_panes(&d);
    if (v->height > 0)
        draw_keys(&d);
    return d.error;
}
