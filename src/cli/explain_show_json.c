/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/explain_show_json.c - the same as JSON, for programs.
 *
 * A signal that several sources make together (throttling by reason) is one entry.
 */
#include <math.h>

#include "base/jsonw.h"
#include "base/num.h"
#include "cli/explain_show.h"

static void str(struct jsonw *w, const char *key, const char *text)
{
    jsonw_key(w, key);
    if (text)
        jsonw_cstr(w, text);
    else
        jsonw_null(w);
}

static void write_engine(struct jsonw *w, const struct engine_found *e)
{
    char since[ENGINE_VERSION_TEXT_MAX], until[ENGINE_VERSION_TEXT_MAX];

    explain_show_version(e, e->since, since);
    explain_show_version(e, e->until, until);
    jsonw_begin_object(w);
    str(w, "engine", e->map->name);
    str(w, "title", e->map->title);
    str(w, "edition", e->edition);
    jsonw_put_str(w, "prefix", e->prefix);
    str(w, "since", since[0] ? since : NULL);
    str(w, "until", until[0] ? until : NULL);
    jsonw_key(w, "because");
    jsonw_begin_array(w);
    for (size_t i = 0; i < e->n_because; i++)
        jsonw_cstr(w, e->because[i]);
    jsonw_end_array(w);
    jsonw_put_bool(w, "is_whole", e->is_whole);
    jsonw_put_bool(w, "is_mixed", e->is_mixed);
    jsonw_end_object(w);
}

/* --- signals --- */

static void write_buckets(struct jsonw *w, const struct signal_value *v)
{
    jsonw_key(w, "buckets");
    jsonw_begin_array(w);
    for (size_t i = 0; i < v->n_buckets; i++) {
        char le[32];

        (void)num_format_double(v->buckets[i].le, le);
        jsonw_begin_object(w);
        str(w, "le", le);
        jsonw_put_double(w, "count", v->buckets[i].n);
        jsonw_end_object(w);
    }
    jsonw_end_array(w);
}

static void write_value(struct jsonw *w, const struct signal_value *v)
{
    jsonw_begin_object(w);
    labels_write(v->labels, "labels", w);
    if (v->shape == SIGNAL_PLAIN || v->shape == SIGNAL_MEAN)
        jsonw_put_double(w, v->shape == SIGNAL_MEAN ? "mean" : "value", v->v);
    else {
        jsonw_put_double(w, "count", v->count);
        jsonw_put_double(w, "sum", v->sum);
    }
    if (v->shape == SIGNAL_HISTOGRAM)
        write_buckets(w, v);
    jsonw_end_object(w);
}

/* The sources of values [first, end), in one text. */
static void write_from(struct jsonw *w, const struct explained *x, size_t first, size_t end)
{
    struct buf text;
    int r = 0;

    buf_init(&text, 64 * 1024);
    for (size_t i = first; i < end && r == 0; i++) {
        if (i > first && x->values[i].from == x->values[i - 1].from)
            continue;
        if (i > first)
            r = buf_append(&text, SPAN(", "));
        if (r == 0)
            r = explain_show_source(x->values[i].from, &text);
    }
    jsonw_put_str(w, "from", buf_span(&text));
    if (r < 0)
        jsonw_fail(w, r);
    buf_done(&text);
}

static void write_signal(struct jsonw *w, const struct explained *x, size_t first, size_t end)
{
    const struct signal_found *s = x->values[first].from;
    const struct signal_info *info = &signal_table[s->signal];

    jsonw_begin_object(w);
    str(w, "signal", info->name);
    str(w, "series", info->series);
    str(w, "type", metric_type_name(info->type));
    str(w, "unit", info->unit);
    write_from(w, x, first, end);
    str(w, "engine", s->engine->map->name);
    str(w, "note", s->note);
    jsonw_put_bool(w, "is_approximate", (s->source->flags & ENGINE_SOURCE_APPROXIMATE) != 0);
    jsonw_key(w, "samples");
    jsonw_begin_array(w);
    for (size_t i = first; i < end; i++)
        write_value(w, &x->values[i]);
    jsonw_end_array(w);
    jsonw_end_object(w);
}

static void write_signals(struct jsonw *w, const struct explained *x)
{
    jsonw_key(w, "signals");
    jsonw_begin_array(w);
    for (size_t i = 0, end; i < x->n_values; i = end) {
        const struct signal_found *s = x->values[i].from;

        for (end = i + 1; end < x->n_values; end++)
            if (x->values[end].from->signal != s->signal ||
                x->values[end].from->engine != s->engine)
                break;
        write_signal(w, x, i, end);
    }
    jsonw_end_array(w);
}

/* --- the rest --- */

static const char *const causes[] = {
    [MISSING_NEVER] = "never",
    [MISSING_VERSION] = "version",
    [MISSING_NO_DATA] = "no_data",
    [MISSING_ABSENT] = "absent",
};

static void write_missing(struct jsonw *w, const struct engine_page *page)
{
    jsonw_key(w, "missing");
    jsonw_begin_array(w);
    for (size_t i = 0; i < page->n_missing; i++) {
        const struct signal_missing *m = &page->missing[i];

        jsonw_begin_object(w);
        str(w, "signal", signal_table[m->signal].name);
        str(w, "engine", m->engine->map->name);
        str(w, "cause", causes[m->cause]);
        str(w, "why", m->why);
        jsonw_end_object(w);
    }
    jsonw_end_array(w);
}

static void write_unknown(struct jsonw *w, const struct engine_page *page)
{
    jsonw_key(w, "unknown"); /* the first of n_unknown */
    jsonw_begin_array(w);
    for (size_t i = 0; i < page->n_unknown && i < EXPLAIN_SHOW_NAMES_MAX; i++) {
        const char *why, *meant = engine_did_you_mean(page->unknown[i], &why);

        jsonw_begin_object(w);
        jsonw_put_str(w, "name", page->unknown[i]);
        str(w, "did_you_mean", meant);
        str(w, "why", why);
        jsonw_end_object(w);
    }
    jsonw_end_array(w);
}

static void write_mistakes(struct jsonw *w, const char *key, const struct err_list *l)
{
    jsonw_key(w, key);
    jsonw_begin_array(w);
    for (size_t i = 0; i < l->n; i++) {
        jsonw_begin_object(w);
        jsonw_put_i64(w, "line", l->items[i].line);
        jsonw_put_i64(w, "column", l->items[i].column);
        str(w, "why", l->items[i].err.text);
        jsonw_end_object(w);
    }
    jsonw_end_array(w);
}

int explain_show_json(const struct explained *x, struct buf *out)
{
    const struct families *f = x->families;
    struct jsonw w;

    jsonw_init(&w, out);
    jsonw_begin_object(&w);
    str(&w, "format", f->is_openmetrics ? "openmetrics" : "prometheus");
    jsonw_put_double(&w, "families", (double)f->n);
    jsonw_put_double(&w, "samples", (double)f->n_samples);
    jsonw_key(&w, "engines");
    jsonw_begin_array(&w);
    for (size_t i = 0; i < x->page.n_engines; i++)
        write_engine(&w, &x->page.engines[i]);
    jsonw_end_array(&w);
    str(&w, "remark", x->page.remark);
    write_signals(&w, x);
    write_missing(&w, &x->page);
    write_unknown(&w, &x->page);
    jsonw_put_double(&w, "n_unknown", (double)x->page.n_unknown);
    jsonw_put_double(&w, "foreign", (double)x->page.n_foreign);
    write_mistakes(&w, "mistakes", &f->mistakes);
    jsonw_put_double(&w, "n_mistakes", (double)f->n_mistakes);
    write_mistakes(&w, "remarks", &f->advice);
    jsonw_end_object(&w);
    if (jsonw_error(&w) < 0)
        return jsonw_error(&w);
    return buf_append(out, SPAN("\n"));
}
