/* SPDX-License-Identifier: Apache-2.0 */
/*
 * api/prom_json.c - labels, samples and results of queries as Prometheus' API writes them.
 */
#include <math.h>

#include "api/prom.h"
#include "base/num.h"

enum { POINT_BYTES = 96 };

/* "12.345": seconds with all three decimals, or none. Returns the length. */
static size_t put_time(int64_t ms, char *dst)
{
    uint64_t abs = ms < 0 ? 0 - (uint64_t)ms : (uint64_t)ms;
    size_t n = 0;
    if (ms < 0)
        dst[n++] = '-';
    n += num_format_u64(abs / 1000, dst + n);
    if (abs % 1000 != 0) {
        dst[n++] = '.';
        num_format_padded(abs % 1000, 3, dst + n);
        n += 3;
    }
    return n;
}

/* "\"1.5\"": with an exponent only where it is very small or very large. Returns the length. */
static size_t put_number(double v, char dst[POINT_BYTES])
{
    double abs = fabs(v);
    size_t n = 1;
    dst[0] = '"';
    if (abs != 0 && (abs < 1e-6 || abs >= 1e21)) {
        n += num_format_double(v, dst + n);
    } else {
        char plain[NUM_PLAIN_BYTES];
        size_t len = num_format_plain(v, plain); /* below 1e21: at most 30 bytes */
        memcpy(dst + n, plain, len);
        n += len;
    }
    dst[n++] = '"';
    return n;
}

static void write_number(struct jsonw *w, double v)
{
    char text[POINT_BYTES];
    jsonw_raw(w, span_of(text, put_number(v, text)));
}

static void write_time(struct jsonw *w, int64_t ms)
{
    char text[POINT_BYTES];
    jsonw_raw(w, span_of(text, put_time(ms, text)));
}

/* [1435781451.781,"1"] */
static void write_point(struct jsonw *w, int64_t ms, double v)
{
    char text[2 * POINT_BYTES];
    size_t n = 1;
    text[0] = '[';
    n += put_time(ms, text + n);
    text[n++] = ',';
    n += put_number(v, text + n);
    text[n++] = ']';
    jsonw_raw(w, span_of(text, n));
}

/* Which ends of a bucket belong to it: 0 the upper, 1 the lower, 2 none, 3 both. */
static int64_t ends_of(const struct fhist_range *b)
{
    if (b->is_lower_inclusive)
        return b->is_upper_inclusive ? 3 : 1;
    return b->is_upper_inclusive ? 0 : 2;
}

static void write_histogram(struct jsonw *w, const struct fhist *h)
{
    struct fhist_walk walk;
    struct fhist_range b;
    bool has_buckets = false;
    jsonw_begin_object(w);
    jsonw_key(w, "count");
    write_number(w, h->count);
    jsonw_key(w, "sum");
    write_number(w, h->sum);
    fhist_walk_begin(&walk, h);
    while (fhist_walk_next(&walk, &b)) {
        if (b.count == 0)
            continue;
        if (!has_buckets) {
            jsonw_key(w, "buckets");
            jsonw_begin_array(w);
            has_buckets = true;
        }
        jsonw_begin_array(w);
        jsonw_i64(w, ends_of(&b));
        write_number(w, b.lower);
        write_number(w, b.upper);
        write_number(w, b.count);
        jsonw_end_array(w);
    }
    if (has_buckets)
        jsonw_end_array(w);
    jsonw_end_object(w);
}

static void write_histogram_point(struct jsonw *w, int64_t ms, const struct fhist *h)
{
    jsonw_begin_array(w);
    write_time(w, ms);
    write_histogram(w, h);
    jsonw_end_array(w);
}

static void begin_series(struct jsonw *w, struct labels l)
{
    jsonw_begin_object(w);
    jsonw_key(w, "metric");
    labels_write(l, NULL, w);
}

/* One array of points of a kind, with its key before the first one. */
struct points {
    struct jsonw *w;
    const char *key;
    bool is_open;
};

static void open_points(struct points *p)
{
    if (p->is_open)
        return;
    jsonw_key(p->w, p->key);
    jsonw_begin_array(p->w);
    p->is_open = true;
}

static void close_points(struct points *p)
{
    if (p->is_open)
        jsonw_end_array(p->w);
}

static void write_run(struct jsonw *w, const struct run *r)
{
    struct points floats = {w, "values", false}, histograms = {w, "histograms", false};
    begin_series(w, r->labels);
    for (size_t i = 0; i < r->n; i++) {
        if (r->h && r->h[i])
            continue;
        open_points(&floats);
        write_point(w, r->t[i], r->v[i]);
    }
    close_points(&floats);
    for (size_t i = 0; r->h && i < r->n; i++) {
        if (!r->h[i])
            continue;
        open_points(&histograms);
        write_histogram_point(w, r->t[i], r->h[i]);
    }
    close_points(&histograms);
    jsonw_end_object(w);
}

static void write_column(struct jsonw *w, const struct value *v, const struct column *c)
{
    struct points floats = {w, "values", false}, histograms = {w, "histograms", false};
    begin_series(w, c->labels);
    for (size_t i = 0; i < v->n_steps; i++) {
        if (!c->has[i] || (c->h && c->h[i]))
            continue;
        open_points(&floats);
        write_point(w, v->start_ms + (int64_t)i * v->step_ms, c->v[i]);
    }
    close_points(&floats);
    for (size_t i = 0; c->h && i < v->n_steps; i++) {
        if (!c->has[i] || !c->h[i])
            continue;
        open_points(&histograms);
        write_histogram_point(w, v->start_ms + (int64_t)i * v->step_ms, c->h[i]);
    }
    close_points(&histograms);
    jsonw_end_object(w);
}

static void write_sample(struct jsonw *w, const struct value *v, const struct column *c)
{
    begin_series(w, c->labels);
    if (c->h && c->h[0]) {
        jsonw_key(w, "histogram");
        write_histogram_point(w, v->start_ms, c->h[0]);
    } else {
        jsonw_key(w, "value");
        write_point(w, v->start_ms, c->v[0]);
    }
    jsonw_end_object(w);
}

static bool has_cells(const struct value *v, const struct column *c)
{
    return memchr(c->has, 1, v->n_steps) != NULL;
}

static void write_columns(struct jsonw *w, const struct value *v, bool is_range, size_t limit,
                          bool *ret_is_cut)
{
    size_t n = 0;
    jsonw_begin_array(w);
    for (size_t i = 0; i < v->n_columns; i++) {
        const struct column *c = &v->columns[i];
        if (!has_cells(v, c))
            continue;
        if (limit > 0 && n++ == limit) {
            *ret_is_cut = true;
            break;
        }
        if (is_range)
            write_column(w, v, c);
        else
            write_sample(w, v, c);
    }
    jsonw_end_array(w);
}

static void write_runs(struct jsonw *w, const struct value *v, size_t limit, bool *ret_is_cut)
{
    jsonw_begin_array(w);
    for (size_t i = 0; i < v->n_runs; i++) {
        if (limit > 0 && i == limit) {
            *ret_is_cut = true;
            break;
        }
        write_run(w, &v->runs[i]);
    }
    jsonw_end_array(w);
}

void prom_write_value(struct jsonw *w, const struct value *v, bool is_range, size_t limit,
                      bool *ret_is_cut)
{
    static const char *const names[] = {"scalar", "vector", "matrix", "string"};
    *ret_is_cut = false;
    jsonw_put_cstr(w, "resultType", is_range ? "matrix" : names[v->type]);
    jsonw_key(w, "result");
    if (v->type == PROMQL_MATRIX) {
        write_runs(w, v, limit, ret_is_cut);
    } else if (v->type == PROMQL_STRING) {
        jsonw_begin_array(w);
        write_time(w, v->start_ms);
        jsonw_str(w, v->string);
        jsonw_end_array(w);
    } else if (v->type == PROMQL_SCALAR && !is_range) {
        write_point(w, v->start_ms, v->columns[0].v[0]);
    } else {
        write_columns(w, v, is_range, limit, ret_is_cut);
    }
}
