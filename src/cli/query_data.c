/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/query_data.c - the answer to a query, taken apart.
 */
#include "cli/query_data.h"

#include <errno.h>
#include <math.h>

#include "base/limits.h"
#include "base/num.h"
#include "series/labels.h"
#include "wire/json.h"

enum { LABELS_MAX = 256 };

struct data_reader {
    struct json j;
    struct arena *arena;
    struct query_data *ret;
    size_t cap_series, cap_notes;
    int r; /* sticky */
};

static void fail(struct data_reader *d, int r)
{
    if (d->r == 0)
        d->r = r;
}

/* Room for one more of n. */
static void *more(struct data_reader *d, void *at, size_t n, size_t *cap, size_t size)
{
    void *p = arena_grow(d->arena, at, n, 1, cap, size);
    if (!p)
        fail(d, -ENOMEM);
    return p;
}

static struct span text_of(struct data_reader *d, struct span raw)
{
    char *p = arena_alloc(d->arena, raw.n + 1);
    if (!p) {
        fail(d, -ENOMEM);
        return SPAN("");
    }
    return span_of(p, json_unescape(raw, p, raw.n + 1));
}

static struct span take_text(struct data_reader *d)
{
    struct json_value v;
    if (!json_next(&d->j, &v) || v.type != JSON_STRING) {
        fail(d, -EPROTO);
        return SPAN("");
    }
    return text_of(d, v.raw);
}

static double number_of(struct span s)
{
    double v;
    if (num_parse_double(s, &v) == 0)
        return v;
    if (span_eq(s, SPAN("+Inf")))
        return (double)INFINITY;
    return span_eq(s, SPAN("-Inf")) ? -(double)INFINITY : (double)NAN;
}

/* What stands behind the time of a point: a text, or a histogram, shown as it was sent. */
static void take_value(struct data_reader *d, struct query_point *p)
{
    struct json_value v;
    if (!json_next(&d->j, &v) || (v.type != JSON_STRING && v.type != JSON_OBJECT)) {
        fail(d, -EPROTO);
        return;
    }
    if (v.type == JSON_STRING) {
        p->text = v.has_escape ? text_of(d, v.raw) : v.raw;
        p->v = number_of(p->text);
        return;
    }
    const char *begin = v.raw.p;
    size_t at = json_offset(&d->j);
    p->v = (double)NAN;
    if (!json_leave(&d->j))
        fail(d, -EPROTO);
    else
        p->text = span_of(begin, json_offset(&d->j) - at + 1);
}

/* Behind the bracket of [time, value], up to its end. */
static struct query_point take_point(struct data_reader *d)
{
    struct query_point p = {0};
    struct json_value v;
    if (!json_item(&d->j) || !json_next(&d->j, &v) || !json_double(&v, &p.t) || !json_item(&d->j))
        fail(d, -EPROTO);
    else
        take_value(d, &p);
    if (d->r == 0 && json_item(&d->j))
        fail(d, -EPROTO);
    return p;
}

static bool take_open(struct data_reader *d, enum json_type type)
{
    struct json_value v;
    bool is_ok = d->r == 0 && json_next(&d->j, &v) && v.type == type;
    if (!is_ok)
        fail(d, -EPROTO);
    return is_ok;
}

static void add_point(struct data_reader *d, struct query_series *s, size_t *cap,
                      struct query_point p)
{
    struct query_point *at = more(d, s->at, s->n, cap, sizeof(*at));
    if (!at || d->r < 0)
        return;
    s->at = at;
    s->at[s->n++] = p;
}

static void take_points(struct data_reader *d, struct query_series *s, size_t *cap)
{
    if (!take_open(d, JSON_ARRAY))
        return;
    while (d->r == 0 && json_item(&d->j)) {
        if (take_open(d, JSON_ARRAY))
            add_point(d, s, cap, take_point(d));
    }
}

static struct span print_metric(struct data_reader *d, struct label *pairs, size_t n)
{
    struct labels l;
    struct buf out;
    struct span text = SPAN("");
    buf_init(&out, MIB);
    if (labels_normalise(pairs, n, &l, NULL) < 0)
        fail(d, -EPROTO);
    else if (labels_print(l, &out) < 0 || !(text = arena_dup(d->arena, buf_span(&out))).p)
        fail(d, -ENOMEM);
    buf_done(&out);
    return text;
}

static struct span take_metric(struct data_reader *d)
{
    struct label pairs[LABELS_MAX];
    size_t n = 0;
    struct span key;
    if (!take_open(d, JSON_OBJECT))
        return SPAN("");
    while (d->r == 0 && json_key(&d->j, &key)) {
        if (n == LABELS_MAX) {
            fail(d, -EPROTO);
            break;
        }
        pairs[n].name = text_of(d, key);
        pairs[n++].value = take_text(d);
    }
    return d->r == 0 ? print_metric(d, pairs, n) : SPAN("");
}

static struct query_series *add_series(struct data_reader *d)
{
    struct query_data *q = d->ret;
    q->series = more(d, q->series, q->n_series, &d->cap_series, sizeof(*q->series));
    if (!q->series)
        return NULL;
    struct query_series *s = &q->series[q->n_series++];
    *s = (struct query_series){.metric = SPAN("")};
    return s;
}

static void take_series(struct data_reader *d)
{
    struct query_series *s = add_series(d);
    struct span key;
    size_t cap = 0;
    while (s && d->r == 0 && json_key(&d->j, &key)) {
        if (span_eq(key, SPAN("metric")))
            s->metric = take_metric(d);
        else if (span_eq(key, SPAN("values")) || span_eq(key, SPAN("histograms")))
            take_points(d, s, &cap);
        else if (!span_eq(key, SPAN("value")) && !span_eq(key, SPAN("histogram")))
            (void)json_skip(&d->j);
        else if (take_open(d, JSON_ARRAY))
            add_point(d, s, &cap, take_point(d));
    }
}

/* [t, v] of a scalar or a string; the bracket and t were taken. */
static void take_single(struct data_reader *d, const struct json_value *t)
{
    struct query_point p = {0};
    size_t cap = 0;
    struct query_series *s = add_series(d);
    if (!s || !json_double(t, &p.t) || !json_item(&d->j)) {
        fail(d, -EPROTO);
        return;
    }
    take_value(d, &p);
    add_point(d, s, &cap, p);
}

static void take_result(struct data_reader *d)
{
    struct json_value v;
    if (!take_open(d, JSON_ARRAY))
        return;
    while (d->r == 0 && json_item(&d->j)) {
        bool is_value = json_next(&d->j, &v);
        if (is_value && v.type == JSON_OBJECT)
            take_series(d);
        else if (is_value && d->ret->n_series == 0)
            take_single(d, &v);
        else
            fail(d, -EPROTO);
    }
}

static void take_data(struct data_reader *d)
{
    struct span key;
    if (!take_open(d, JSON_OBJECT))
        return;
    while (d->r == 0 && json_key(&d->j, &key)) {
        if (span_eq(key, SPAN("resultType")))
            d->ret->type = take_text(d);
        else if (span_eq(key, SPAN("result")))
            take_result(d);
        else
            (void)json_skip(&d->j);
    }
}

static void take_notes(struct data_reader *d)
{
    struct query_data *q = d->ret;
    if (!take_open(d, JSON_ARRAY))
        return;
    while (d->r == 0 && json_item(&d->j)) {
        struct span text = take_text(d);
        q->notes = more(d, q->notes, q->n_notes, &d->cap_notes, sizeof(*q->notes));
        if (q->notes)
            q->notes[q->n_notes++] = text;
    }
}

int query_data_read(struct span json, struct arena *a, struct query_data *ret)
{
    struct data_reader d = {.arena = a, .ret = ret};
    struct span key;
    *ret = (struct query_data){.type = SPAN("")};
    json_init(&d.j, json);
    if (take_open(&d, JSON_OBJECT)) {
        while (d.r == 0 && json_key(&d.j, &key)) {
            if (span_eq(key, SPAN("data")))
                take_data(&d);
            else if (span_eq(key, SPAN("error")))
                ret->error = take_text(&d);
            else if (span_eq(key, SPAN("errorType")))
                ret->error_type = take_text(&d);
            else if (span_eq(key, SPAN("warnings")) || span_eq(key, SPAN("infos")))
                take_notes(&d);
            else
                (void)json_skip(&d.j);
        }
    }
    if (d.r == 0 && json_status(&d.j) != JSON_OK)
        d.r = -EPROTO;
    if (d.r == 0 && !ret->error.p && ret->type.n == 0)
        d.r = -EPROTO;
    return d.r;
}
