/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/query_show.c - the answer to a query as a table or as CSV; where a query is wrong.
 */
#include "cli/query_show.h"

#include <math.h>
#include <stdio.h>
#include <time.h>

#include "cli/csv.h"

enum { METRIC_WIDTH_MAX = 100 };

/* 2026-11-29T16:25:39.270Z; what no calendar has is written in seconds. */
static int put_time(double t, struct buf *out)
{
    time_t s = (time_t)floor(t);
    int ms = (int)lround((t - floor(t)) * 1000);
    struct tm tm;
    char text[40];
    if (ms == 1000) {
        s++;
        ms = 0;
    }
    if (fabs(t) > 1e11 || !gmtime_r(&s, &tm) ||
        strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S", &tm) == 0)
        return buf_printf(out, "%.3f", t);
    return buf_printf(out, ms ? "%s.%03dZ" : "%sZ", text, ms);
}

static bool is_single(const struct query_data *d)
{
    return !span_eq(d->type, SPAN("matrix"));
}

static int max_width(const struct query_data *d)
{
    size_t width = 0;
    for (size_t i = 0; i < d->n_series; i++)
        width = d->series[i].metric.n > width ? d->series[i].metric.n : width;
    return width > METRIC_WIDTH_MAX ? METRIC_WIDTH_MAX : (int)width;
}

/* One line per series. */
static int put_singles(const struct query_data *d, struct buf *out)
{
    int width = max_width(d), r = 0;
    for (size_t i = 0; i < d->n_series && r == 0; i++) {
        const struct query_series *s = &d->series[i];
        struct span metric = s->metric;
        if (width > 0 && metric.n == 0)
            metric = SPAN("{}");
        int pad = (int)metric.n < width ? width - (int)metric.n : 0;
        if (s->n == 0)
            continue;
        r = width > 0 ? buf_printf(out, "%.*s%*s  ", SPAN_ARG(metric), pad, "") : 0;
        if (r == 0)
            r = buf_printf(out, "%.*s\n", SPAN_ARG(s->at[0].text));
    }
    return r;
}

/* A head line per series, and its samples under it. */
static int put_blocks(const struct query_data *d, struct buf *out)
{
    int r = 0;
    for (size_t i = 0; i < d->n_series && r == 0; i++) {
        const struct query_series *s = &d->series[i];
        struct span metric = s->metric.n > 0 ? s->metric : SPAN("{}");
        r = buf_printf(out, "%s%.*s\n", i ? "\n" : "", SPAN_ARG(metric));
        for (size_t k = 0; k < s->n && r == 0; k++) {
            r = buf_append(out, SPAN("  "));
            if (r == 0)
                r = put_time(s->at[k].t, out);
            if (r == 0)
                r = buf_printf(out, "  %.*s\n", SPAN_ARG(s->at[k].text));
        }
    }
    return r;
}

int query_show_table(const struct query_data *d, struct buf *out)
{
    if (d->n_series == 0)
        return buf_append(out, SPAN("no data\n"));
    return is_single(d) ? put_singles(d, out) : put_blocks(d, out);
}

int query_show_csv(const struct query_data *d, struct buf *out)
{
    int r = buf_append(out, SPAN("metric,time,value\n"));
    for (size_t i = 0; i < d->n_series; i++) {
        const struct query_series *s = &d->series[i];
        for (size_t k = 0; k < s->n && r == 0; k++) {
            r = csv_field(s->metric, out);
            if (r == 0)
                r = buf_append(out, SPAN(","));
            if (r == 0)
                r = put_time(s->at[k].t, out);
            if (r == 0)
                r = buf_append(out, SPAN(","));
            if (r == 0)
                r = csv_field(s->at[k].text, out);
            if (r == 0)
                r = buf_append(out, SPAN("\n"));
        }
    }
    return r;
}

/* Begins a character: bytes in the middle of one take no room. */
static bool is_first_byte(char c)
{
    return ((unsigned char)c & 0xc0) != 0x80;
}

int query_show_place(struct span query, const struct promql_error *e, struct buf *out)
{
    size_t begin = e->at <= query.n ? e->at : query.n, end = begin;
    if (e->line == 0)
        return 0; /* about no place */
    while (begin > 0 && query.p[begin - 1] != '\n')
        begin--;
    while (end < query.n && query.p[end] != '\n')
        end++;
    int r = buf_printf(out, "  %.*s\n  ", SPAN_ARG(span_of(query.p + begin, end - begin)));
    for (size_t i = begin; i < e->at && r == 0; i++) {
        if (is_first_byte(query.p[i]))
            r = buf_append(out, query.p[i] == '\t' ? SPAN("\t") : SPAN(" "));
    }
    if (r == 0)
        r = buf_append(out, SPAN("^"));
    for (size_t i = e->at + 1; i < e->to && i < end && r == 0; i++) {
        if (is_first_byte(query.p[i]))
            r = buf_append(out, SPAN("~"));
    }
    return r ? r : buf_append(out, SPAN("\n"));
}
