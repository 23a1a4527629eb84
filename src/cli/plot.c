/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/plot.c - series over time as a plot of characters.
 */
#include "cli/plot.h"

#include <errno.h>
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/mem.h"

enum { LABEL_WIDTH = 8, INTERVALS = 4, TRIES = 8, DOTS_X = 2, DOTS_Y = 4, LEGEND_METRIC_MAX = 200 };

/* Colors of the series, in order; the marks are for terminals without UTF-8. */
static const int colors[PLOT_SERIES_MAX] = {32, 33, 36, 35, 34, 31};
static const char marks[PLOT_SERIES_MAX] = {'*', '+', 'o', 'x', '#', '@'};

struct cell {
    unsigned char dots;  /* of braille, or 1 */
    unsigned char owner; /* series + 1; the one drawn last */
};

struct canvas {
    const struct plot_options *o;
    int columns, rows, dots_x, dots_y;
    double low, high;
    struct cell *cells;
};

/* --- the scale --- */

static bool find_range(const struct query_series *series, size_t n, double *low, double *high)
{
    bool has_any = false;
    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; k < series[i].n; k++) {
            double v = series[i].at[k].v;
            if (!isfinite(v))
                continue;
            *low = has_any ? fmin(*low, v) : v;
            *high = has_any ? fmax(*high, v) : v;
            has_any = true;
        }
    }
    return has_any;
}

/* The next of 1, 2, 5, 10, ... that is not below v. */
static double nice(double v)
{
    double power = pow(10, floor(log10(v)));
    double digit = v / power;
    return (digit <= 1 ? 1 : digit <= 2 ? 2 : digit <= 5 ? 5 : 10) * power;
}

/* Widened so that each of the INTERVALS between labels is a round number. */
static void widen(double *low, double *high)
{
    double range = *high - *low;
    if (range <= 0 || !isfinite(range))
        range = *low == 0 ? 1 : fabs(*low) / 5;
    double step = nice(fmax(range / INTERVALS, DBL_MIN));
    for (int i = 0; i < TRIES && isfinite(step); i++) {
        double from = floor(*low / step) * step, to = from + INTERVALS * step;
        if (to >= *high && to > from && isfinite(to)) {
            *low = from;
            *high = to;
            return;
        }
        step = nice(step * 1.5);
    }
    *high = *low + fmax(1, range); /* beyond what can be labelled */
}

void plot_number(double v, char *dst)
{
    static const struct {
        double at;
        const char *prefix;
    } units[] = {{1e12, "T"}, {1e9, "G"},  {1e6, "M"},  {1e3, "k"},
                 {1, ""},     {1e-3, "m"}, {1e-6, "u"}, {1e-9, "n"}};
    double abs = fabs(v);
    if (v == 0 || !isfinite(v) || abs >= 1e15 || abs < 1e-9) {
        (void)snprintf(dst, 32, "%.3g", v);
        return;
    }
    size_t i = 0;
    while (i + 1 < sizeof(units) / sizeof(units[0]) && abs < units[i].at * 0.9995)
        i++;
    (void)snprintf(dst, 32, "%.4g%s", v / units[i].at, units[i].prefix);
}

/* --- drawing --- */

static void set_dot(struct canvas *c, int x, int y, size_t owner)
{
    /* Bits of the dots of a braille character, by row and column. */
    static const unsigned char bits[DOTS_Y][DOTS_X] = {
        {0x01, 0x08}, {0x02, 0x10}, {0x04, 0x20}, {0x40, 0x80}};
    if (x < 0 || x >= c->dots_x || y < 0 || y >= c->dots_y)
        return;
    int column = c->o->has_utf8 ? x / DOTS_X : x, row = c->o->has_utf8 ? y / DOTS_Y : y;
    struct cell *cell = &c->cells[row * c->columns + column];
    cell->dots |= c->o->has_utf8 ? bits[y % DOTS_Y][x % DOTS_X] : 1;
    cell->owner = (unsigned char)(owner + 1);
}

static int dot_x(const struct canvas *c, double t)
{
    double range = c->o->end - c->o->start;
    double share = range > 0 ? (t - c->o->start) / range : 0.5;
    return (int)lround(fmin(fmax(share, 0), 1) * (c->dots_x - 1));
}

static int dot_y(const struct canvas *c, double v)
{
    double share = (v - c->low) / (c->high - c->low);
    return c->dots_y - 1 - (int)lround(fmin(fmax(share, 0), 1) * (c->dots_y - 1));
}

static void draw_line(struct canvas *c, int x0, int y0, int x1, int y1, size_t owner)
{
    int steps = abs(x1 - x0) > abs(y1 - y0) ? abs(x1 - x0) : abs(y1 - y0);
    for (int i = 0; i <= steps; i++) {
        double share = steps ? (double)i / steps : 0;
        set_dot(c, x0 + (int)lround(share * (x1 - x0)), y0 + (int)lround(share * (y1 - y0)), owner);
    }
}

/* Neighbours are joined unless a step is missing between them. */
static void draw_series(struct canvas *c, const struct query_series *s, size_t owner)
{
    double gap = c->o->step > 0 ? c->o->step * 1.5 : (double)INFINITY;
    const struct query_point *before = NULL;
    for (size_t i = 0; i < s->n; i++) {
        const struct query_point *p = &s->at[i];
        if (!isfinite(p->v)) {
            before = NULL;
            continue;
        }
        if (before && p->t - before->t <= gap)
            draw_line(c, dot_x(c, before->t), dot_y(c, before->v), dot_x(c, p->t), dot_y(c, p->v),
                      owner);
        else
            set_dot(c, dot_x(c, p->t), dot_y(c, p->v), owner);
        before = p;
    }
}

/* --- text --- */

static int put_cell(const struct canvas *c, const struct cell *cell, unsigned char *color,
                    struct buf *out)
{
    int r = 0;
    if (c->o->has_color && cell->owner != *color) {
        r = cell->owner ? buf_printf(out, "\033[%dm", colors[cell->owner - 1])
                        : buf_append(out, SPAN("\033[0m"));
        *color = cell->owner;
    }
    if (r < 0)
        return r;
    if (cell->dots == 0)
        return buf_append(out, SPAN(" "));
    if (!c->o->has_utf8)
        return buf_append(out, span_of(&marks[cell->owner - 1], 1));
    /* U+2800 and the dots. */
    const char utf8[] = {(char)0xe2, (char)(0xa0 | cell->dots >> 6),
                         (char)(0x80 | (cell->dots & 0x3f))};
    return buf_append(out, span_of(utf8, sizeof(utf8)));
}

static int put_row(const struct canvas *c, int row, struct buf *out)
{
    char label[32] = "";
    unsigned char color = 0;
    bool is_labelled = row * INTERVALS % (c->rows - 1) == 0;
    if (is_labelled)
        plot_number(c->high - (c->high - c->low) * row / (c->rows - 1), label);
    int r = buf_printf(out, "%*s %s", LABEL_WIDTH, label,
                       c->o->has_utf8 ? (is_labelled ? "\xe2\x94\xa4" : "\xe2\x94\x82") : "|");
    for (int i = 0; i < c->columns && r == 0; i++)
        r = put_cell(c, &c->cells[row * c->columns + i], &color, out);
    if (r == 0 && color)
        r = buf_append(out, SPAN("\033[0m"));
    return r ? r : buf_append(out, SPAN("\n"));
}

static void format_time(double t, double range, char dst[32])
{
    time_t s = (time_t)floor(t);
    struct tm tm;
    if (!gmtime_r(&s, &tm)) {
        dst[0] = '\0';
        return;
    }
    (void)strftime(dst, 32, range > 2 * 86400 ? "%m-%d %H:%M" : "%H:%M:%S", &tm);
}

/* Start, middle and end, under the canvas. */
static int put_times(const struct canvas *c, struct buf *out)
{
    double range = c->o->end - c->o->start;
    char start[32], middle[32], end[32];
    format_time(c->o->start, range, start);
    format_time(c->o->start + range / 2, range, middle);
    format_time(c->o->end, range, end);
    int left = (c->columns - (int)strlen(middle)) / 2 - (int)strlen(start);
    int right = c->columns - left - (int)(strlen(start) + strlen(middle) + strlen(end));
    int r = buf_printf(out, "%*s %s", LABEL_WIDTH, "", c->o->has_utf8 ? "\xe2\x94\x94" : "+");
    for (int i = 0; i < c->columns && r == 0; i++)
        r = buf_append(out, c->o->has_utf8 ? SPAN("\xe2\x94\x80") : SPAN("-"));
    return r ? r
             : buf_printf(out, "\n%*s  %s%*s%s%*s%s\n", LABEL_WIDTH, "UTC", start, left, "", middle,
                          right, "", end);
}

static int put_legend(const struct canvas *c, const struct query_series *series, size_t n,
                      struct buf *out)
{
    size_t shown = n < PLOT_SERIES_MAX ? n : PLOT_SERIES_MAX;
    int r = 0;
    for (size_t i = 0; i < shown && r == 0; i++) {
        const struct query_series *s = &series[i];
        char last[32] = "-";
        if (s->n > 0)
            plot_number(s->at[s->n - 1].v, last);
        struct span metric = s->metric.n > 0 ? s->metric : SPAN("{}");
        if (metric.n > LEGEND_METRIC_MAX)
            metric.n = LEGEND_METRIC_MAX;
        r = c->o->has_color ? buf_printf(out, "\033[%dm", colors[i]) : 0;
        if (r == 0 && c->o->has_utf8)
            r = buf_append(out, SPAN("  \xe2\x96\xa0 "));
        else if (r == 0)
            r = buf_printf(out, "  %c ", marks[i]);
        if (r == 0)
            r = buf_printf(out, "%s%.*s  last %s\n", c->o->has_color ? "\033[0m" : "",
                           SPAN_ARG(metric), last);
    }
    if (r == 0 && n > shown)
        r = buf_printf(out, "  and %zu more, which are not drawn\n", n - shown);
    return r;
}

static void canvas_init(struct canvas *c, const struct plot_options *o)
{
    int width = o->width < PLOT_WIDTH_MIN   ? PLOT_WIDTH_MIN
                : o->width > PLOT_WIDTH_MAX ? PLOT_WIDTH_MAX
                                            : o->width;
    *c = (struct canvas){.o = o};
    c->columns = width - LABEL_WIDTH - 3;
    c->rows = o->height < INTERVALS + 1 ? INTERVALS + 1 : o->height;
    c->dots_x = o->has_utf8 ? c->columns * DOTS_X : c->columns;
    c->dots_y = o->has_utf8 ? c->rows * DOTS_Y : c->rows;
}

int plot_print(const struct query_series *series, size_t n, const struct plot_options *o,
               struct buf *out)
{
    struct canvas c;
    size_t n_drawn = n < PLOT_SERIES_MAX ? n : PLOT_SERIES_MAX;
    canvas_init(&c, o);
    if (!find_range(series, n_drawn, &c.low, &c.high))
        return buf_append(out, SPAN("no data\n"));
    widen(&c.low, &c.high);
    c.cells = mem_zalloc((size_t)c.columns * (size_t)c.rows, sizeof(*c.cells));
    if (!c.cells)
        return -ENOMEM;
    for (size_t i = n_drawn; i > 0; i--)
        draw_series(&c, &series[i - 1], i - 1);
    int r = 0;
    for (int row = 0; row < c.rows && r == 0; row++)
        r = put_row(&c, row, out);
    if (r == 0)
        r = put_times(&c, out);
    if (r == 0)
        r = put_legend(&c, series, n, out);
    mem_free(c.cells);
    return r;
}
