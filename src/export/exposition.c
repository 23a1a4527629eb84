/* SPDX-License-Identifier: Apache-2.0 */
/*
 * export/exposition.c - the two text formats, which differ in details only: struct flavour names
 * them.
 *
 * References: Prometheus "Exposition formats" (text 0.0.4) and the OpenMetrics 1.0 specification.
 * `le` is printed in the shortest form that reads back as the same number, in OpenMetrics with a
 * point or exponent ("1.0"), as its specification asks; selectors on `le` must take both.
 */
#include <stdint.h>
#include <string.h>

#include "base/num.h"
#include "export/format.h"
#include "metrics/expose.h"

struct flavour {
    bool is_openmetrics; /* no _total in family names, UNIT and created lines, exemplars, EOF */
    const char *help_escapes;
};
static const struct flavour flavour_text = {false, "\\\n"};
static const struct flavour flavour_openmetrics = {true, "\\\n\""};

enum { NUMBER_MAX = 40, LABELS_BYTES_MAX = 8 * 1024 };

struct text_writer {
    const struct flavour *flavour;
    struct buf *out;
    struct buf labels;                /* `a="b",c="d"` of the current series, escaped */
    const char *family;               /* name of the current one */
    struct span base;                 /* the same without _total */
    const struct hist_bounds *bounds; /* those that le was printed for */
    char le[HIST_BOUNDS_MAX][NUMBER_MAX];
    int error; /* sticky: the first negative errno */
};

static void put(struct text_writer *w, struct span s)
{
    if (w->error == 0)
        w->error = buf_append(w->out, s);
}

static void put_cstr(struct text_writer *w, const char *s)
{
    put(w, span_cstr(s));
}

static void put_i64(struct text_writer *w, int64_t v)
{
    char text[NUMBER_MAX];
    put(w, span_of(text, num_format_i64(v, text)));
}

static void put_u64(struct text_writer *w, uint64_t v)
{
    char text[NUMBER_MAX];
    put(w, span_of(text, num_format_u64(v, text)));
}

static void put_double(struct text_writer *w, double v)
{
    char text[NUMBER_MAX];
    put(w, span_of(text, num_format_double(v, text)));
}

/* Seconds since the epoch, with microseconds. */
static void put_stamp(struct text_writer *w, wall_t t)
{
    if (w->error == 0)
        w->error =
            buf_printf(w->out, "%lld.%06d", (long long)(t.us / 1000000), (int)(t.us % 1000000));
}

int exposition_escape(struct span s, const char *escapes, struct buf *out)
{
    size_t n_escapes = strlen(escapes);
    int r = 0;
    while (s.n > 0 && r == 0) {
        size_t n = 0;
        while (n < s.n && !memchr(escapes, s.p[n], n_escapes))
            n++;
        r = buf_append(out, span_of(s.p, n));
        if (n < s.n && r == 0)
            r = s.p[n] == '\n' ? buf_append(out, SPAN("\\n")) : buf_printf(out, "\\%c", s.p[n]);
        s = span_from(s, n < s.n ? n + 1 : n);
    }
    return r;
}

static void put_escaped(struct text_writer *w, const char *s, const char *escapes)
{
    if (w->error == 0)
        w->error = exposition_escape(span_cstr(s), escapes, w->out);
}

/* --- families --- */

static struct span without_total(const char *name)
{
    static const struct span total = SPAN_INIT("_total");
    struct span s = span_cstr(name);
    bool has_total = s.n > total.n && memcmp(s.p + s.n - total.n, total.p, total.n) == 0;
    return has_total ? span_of(s.p, s.n - total.n) : s;
}

static bool ends_with_unit(struct span name, struct span unit)
{
    return name.n > unit.n && name.p[name.n - unit.n - 1] == '_' &&
           memcmp(name.p + name.n - unit.n, unit.p, unit.n) == 0;
}

static void begin_family(struct text_writer *w, const struct expose_series *s)
{
    w->family = s->name;
    w->base = s->type == FAMILY_COUNTER ? without_total(s->name) : span_cstr(s->name);
    struct span name = w->flavour->is_openmetrics ? w->base : span_cstr(s->name);
    struct span unit = span_cstr(s->unit);
    put(w, SPAN("# HELP "));
    put(w, name);
    put(w, SPAN(" "));
    put_escaped(w, s->help, w->flavour->help_escapes);
    put(w, SPAN("\n# TYPE "));
    put(w, name);
    put(w, SPAN(" "));
    put_cstr(w, family_type_name(s->type));
    put(w, SPAN("\n"));
    if (w->flavour->is_openmetrics && unit.n > 0 && ends_with_unit(name, unit)) {
        put(w, SPAN("# UNIT "));
        put(w, name);
        put(w, SPAN(" "));
        put(w, unit);
        put(w, SPAN("\n"));
    }
}

/* --- series --- */

static void set_labels(struct text_writer *w, const struct expose_series *s)
{
    int r = 0;
    buf_clear(&w->labels);
    for (size_t i = 0; i < s->n_labels && r == 0; i++) {
        r = buf_printf(&w->labels, "%s%s=\"", i > 0 ? "," : "", s->labels[i].name);
        if (r == 0)
            r = exposition_escape(span_cstr(s->labels[i].value), EXPOSITION_VALUE_ESCAPES,
                                  &w->labels);
        if (r == 0)
            r = buf_append(&w->labels, SPAN("\""));
    }
    if (w->error == 0)
        w->error = r;
}

/* "name_suffix{labels,le="..."} "; le NULL: none. */
static void put_name(struct text_writer *w, const char *suffix, const char *le)
{
    put(w, w->base);
    put_cstr(w, suffix);
    if (le || buf_len(&w->labels) > 0) {
        put(w, SPAN("{"));
        put(w, buf_span(&w->labels));
        if (le) {
            put(w, buf_len(&w->labels) > 0 ? SPAN(",le=\"") : SPAN("le=\""));
            put_cstr(w, le);
            put(w, SPAN("\""));
        }
        put(w, SPAN("}"));
    }
    put(w, SPAN(" "));
}

static void put_created(struct text_writer *w, wall_t created_at)
{
    if (!w->flavour->is_openmetrics || created_at.us == 0)
        return;
    put_name(w, "_created", NULL);
    put_stamp(w, created_at);
    put(w, SPAN("\n"));
}

static void set_bounds(struct text_writer *w, const struct hist_bounds *b)
{
    if (w->bounds == b)
        return;
    w->bounds = b;
    for (size_t i = 0; i < b->n; i++) {
        double upper = hist_raw_to_unit(b->layout, b->upper[i]);
        size_t n = w->flavour->is_openmetrics ? num_format_fraction(upper, w->le[i])
                                              : num_format_double(upper, w->le[i]);
        w->le[i][n] = '\0';
    }
}

static void put_exemplar(struct text_writer *w, const struct hist_snapshot *h, size_t i)
{
    const struct hist_exemplar *e = &h->exemplars[i];
    if (!w->flavour->is_openmetrics || e->at.us == 0)
        return;
    put(w, SPAN(" # {request_id=\""));
    put_escaped(w, e->id, "\\\"\n");
    put(w, SPAN("\"} "));
    put_double(w, hist_raw_to_unit(h->bounds->layout, e->raw));
    put(w, SPAN(" "));
    put_stamp(w, e->at);
}

static void put_histogram(struct text_writer *w, const struct expose_series *s)
{
    const struct hist_snapshot *h = s->hist;
    uint64_t n = 0;
    set_bounds(w, h->bounds);
    for (size_t i = 0; i <= h->bounds->n; i++) {
        n += h->classic[i];
        put_name(w, "_bucket", i < h->bounds->n ? w->le[i] : "+Inf");
        put_u64(w, n);
        put_exemplar(w, h, i);
        put(w, SPAN("\n"));
    }
    put_name(w, "_sum", NULL);
    put_double(w, hist_snapshot_sum(h));
    put(w, SPAN("\n"));
    put_name(w, "_count", NULL);
    put_u64(w, n);
    put(w, SPAN("\n"));
    put_created(w, s->created_at);
}

static int visit(void *ctx, const struct expose_series *s)
{
    struct text_writer *w = ctx;
    if (s->name != w->family)
        begin_family(w, s);
    set_labels(w, s);
    if (s->type == FAMILY_HISTOGRAM) {
        put_histogram(w, s);
        return w->error;
    }
    bool has_total = w->flavour->is_openmetrics || w->base.n < strlen(s->name);
    put_name(w, s->type == FAMILY_COUNTER && has_total ? "_total" : "", NULL);
    put_i64(w, s->value);
    put(w, SPAN("\n"));
    if (s->type == FAMILY_COUNTER)
        put_created(w, s->created_at);
    return w->error;
}

static int write_flavour(const struct metrics *m, struct buf *out, const struct flavour *flavour)
{
    struct text_writer w = {.flavour = flavour, .out = out};
    buf_init(&w.labels, LABELS_BYTES_MAX);
    int r = expose_each(m, visit, &w);
    if (r == 0 && flavour->is_openmetrics)
        r = buf_append(out, SPAN("# EOF\n"));
    buf_done(&w.labels);
    return r;
}

int exposition_write(const struct metrics *m, struct buf *out)
{
    return write_flavour(m, out, &flavour_text);
}

int exposition_write_openmetrics(const struct metrics *m, struct buf *out)
{
    return write_flavour(m, out, &flavour_openmetrics);
}
