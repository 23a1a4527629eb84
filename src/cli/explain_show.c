/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/explain_show.c - the table. A signal has a row for each of its values.
 */
#include "cli/explain_show.h"

#include <math.h>
#include <string.h>

#include "base/num.h"
#include "cli/terminal.h"

enum { CELL_MAX = 64 };

/* --- what both need --- */

static const struct {
    const char *before, *between;
} hows[] = {
    [ENGINE_ONE] = {"", ""},
    [ENGINE_RATIO] = {"", " / "},
    [ENGINE_ADD] = {"", " + "},
    [ENGINE_LESS] = {"", " - "},
    [ENGINE_HIST_SUM] = {"sum of ", ""},
    [ENGINE_SUM_COUNT] = {"sum ", ", count "},
    [ENGINE_FACTORS] = {"labels of ", ""},
};

int explain_show_source(const struct signal_found *s, struct buf *out)
{
    const struct engine_source *source = s->source;
    size_t n = source->how == ENGINE_RATIO ? 2 : ENGINE_PARTS_MAX;
    int r = buf_append(out, span_cstr(hows[source->how].before));

    for (size_t i = 0; i < n && source->part[i].metric && r == 0; i++) {
        if (i > 0)
            r = buf_append(out, span_cstr(hows[source->how].between));
        if (r == 0)
            r = buf_append(out, s->metric[i]);
        if (r == 0 && source->part[i].select)
            r = buf_printf(out, "{%s}", source->part[i].select);
    }
    for (size_t i = 0; i < ENGINE_FACTORS_MAX && source->factors[i] && r == 0; i++)
        r = buf_printf(out, "%s%s", i > 0 ? " x " : ": ", source->factors[i]);
    return r;
}

void explain_show_version(const struct engine_found *e, engine_version v, char *dst)
{
    dst[0] = '\0';
    if (v != 0 && v != ENGINE_NEWEST)
        e->map->print_version(v, dst);
}

/* --- engines --- */

static int put(struct buf *out, const char *before, struct span text)
{
    int r = buf_append(out, span_cstr(before));

    return r < 0 ? r : terminal_put(text, out);
}

static int put_versions(struct buf *out, const struct engine_found *e)
{
    char since[ENGINE_VERSION_TEXT_MAX], until[ENGINE_VERSION_TEXT_MAX];

    explain_show_version(e, e->since, since);
    explain_show_version(e, e->until, until);
    if (since[0] && until[0] && strcmp(since, until) == 0)
        return buf_printf(out, ", %s", since);
    if (since[0] && until[0])
        return buf_printf(out, ", %s to %s", since, until);
    if (since[0])
        return buf_printf(out, ", %s or newer", since);
    return until[0] ? buf_printf(out, ", up to %s", until) : buf_printf(out, ", any version");
}

static int put_engine(struct buf *out, const struct engine_found *e)
{
    int r = buf_printf(out, "  %s", e->map->title);

    if (r == 0 && e->edition)
        r = buf_printf(out, " (%s)", e->edition);
    if (r == 0)
        r = put_versions(out, e);
    if (r == 0)
        r = buf_printf(out, "%s\n", e->is_mixed ? " fits best" : "");
    for (size_t i = 0; i < e->n_because && r == 0; i++) {
        r = put(out, "    ", span_cstr(e->because[i]));
        if (r == 0)
            r = buf_append(out, SPAN("\n"));
    }
    return r;
}

static int put_engines(struct buf *out, const struct explained *x)
{
    const struct engine_page *page = &x->page;
    int r = buf_printf(out, page->n_engines > 0 ? "engines\n" : "no engine was recognised\n");

    for (size_t i = 0; i < page->n_engines && r == 0; i++)
        r = put_engine(out, &page->engines[i]);
    if (r == 0 && page->remark)
        r = buf_printf(out, "  remark: %s\n", page->remark);
    return r;
}

/* --- signals --- */

static void number(double v, char dst[CELL_MAX])
{
    char text[32];

    (void)num_format_double(v, text);
    if (strlen(text) > 12)
        (void)snprintf(text, sizeof text, "%.6g", v);
    (void)snprintf(dst, CELL_MAX, "%s", text);
}

/* "0.5", or "12, mean 0.31" of what has a count. */
static void value_text(const struct signal_value *v, char dst[CELL_MAX])
{
    char count[CELL_MAX];

    if (v->shape == SIGNAL_PLAIN || v->shape == SIGNAL_MEAN) {
        number(v->v, count);
        (void)snprintf(dst, CELL_MAX, "%s%.32s", v->shape == SIGNAL_MEAN ? "mean " : "", count);
    } else if (isnan(v->count)) {
        number(v->sum, count);
        (void)snprintf(dst, CELL_MAX, "sum %.32s", count);
    } else {
        number(v->count, count);
        (void)snprintf(dst, CELL_MAX, "count %.24s", count);
        if (v->count > 0 && !isnan(v->sum))
            (void)snprintf(dst, CELL_MAX, "count %.24s, mean %.4g", count, v->sum / v->count);
    }
}

static int put_cell(struct buf *out, struct span text, size_t width)
{
    size_t columns = terminal_columns(text);
    int r = terminal_put(text, out);

    return r == 0 ? buf_printf(out, "%*s", (int)(columns < width ? width - columns : 0) + 2, "")
                  : r;
}

static int put_labels(struct buf *out, struct labels l)
{
    struct buf text;
    int r;

    if (l.n == 0)
        return 0;
    buf_init(&text, 64 * 1024);
    r = labels_print(l, &text);
    if (r == 0)
        r = put(out, "  ", buf_span(&text));
    buf_done(&text);
    return r;
}

static int put_source(struct buf *out, const struct signal_found *s)
{
    struct buf text;
    int r;

    buf_init(&text, 64 * 1024);
    r = explain_show_source(s, &text);
    if (r == 0)
        r = put(out, "      from ", buf_span(&text));
    buf_done(&text);
    if (r == 0 && (s->source->flags & ENGINE_SOURCE_APPROXIMATE) != 0)
        r = buf_append(out, SPAN(" (approximate)"));
    if (r == 0 && s->note)
        r = buf_printf(out, "; %s", s->note);
    return r == 0 ? buf_append(out, SPAN("\n")) : r;
}

struct widths {
    size_t signal, series;
};

static void widen(size_t *width, const char *text)
{
    *width = strlen(text) > *width ? strlen(text) : *width;
}

static int put_value(struct buf *out, const struct signal_value *v, bool is_first,
                     const struct widths *w)
{
    const struct signal_info *info = &signal_table[v->from->signal];
    char value[CELL_MAX];
    int r = buf_append(out, SPAN("  "));

    value_text(v, value);
    if (r == 0)
        r = put_cell(out, span_cstr(is_first ? info->name : ""), w->signal);
    if (r == 0)
        r = put_cell(out, span_cstr(is_first ? info->series : ""), w->series);
    if (r == 0)
        r = buf_printf(out, "%s %s", value, info->unit);
    if (r == 0)
        r = put_labels(out, v->labels);
    return r == 0 ? buf_append(out, SPAN("\n")) : r;
}

static int put_signals(struct buf *out, const struct explained *x)
{
    struct widths w = {0, 0};
    int r = x->n_values > 0 ? buf_append(out, SPAN("\nsignals\n")) : 0;

    for (size_t i = 0; i < x->n_values; i++) {
        widen(&w.signal, signal_table[x->values[i].from->signal].name);
        widen(&w.series, signal_table[x->values[i].from->signal].series);
    }
    for (size_t i = 0; i < x->n_values && r == 0; i++) {
        const struct signal_value *v = &x->values[i];
        bool is_first = i == 0 || v->from->signal != v[-1].from->signal;
        bool is_last = i + 1 == x->n_values || v->from != v[1].from;

        r = put_value(out, v, is_first, &w);
        if (r == 0 && is_last)
            r = put_source(out, v->from);
    }
    return r;
}

/* --- what is missing, odd, not known --- */

static int put_missing(struct buf *out, const struct explained *x)
{
    const struct engine_page *page = &x->page;
    int r = page->n_missing > 0 ? buf_append(out, SPAN("\nmissing\n")) : 0;
    size_t width = 0;

    for (size_t i = 0; i < page->n_missing; i++)
        widen(&width, signal_table[page->missing[i].signal].name);
    for (size_t i = 0; i < page->n_missing && r == 0; i++) {
        const struct signal_missing *m = &page->missing[i];

        r = buf_append(out, SPAN("  "));
        if (r == 0)
            r = put_cell(out, span_cstr(signal_table[m->signal].name), width);
        if (r == 0)
            r = put(out, "", span_cstr(m->why));
        if (r == 0 && page->n_engines > 1)
            r = buf_printf(out, " (%s)", m->engine->map->title);
        if (r == 0)
            r = buf_append(out, SPAN("\n"));
    }
    return r;
}

static int put_unknown_name(struct buf *out, struct span name)
{
    const char *why, *meant = engine_did_you_mean(name, &why);
    int r = put(out, "  ", name);

    if (r == 0 && why)
        r = buf_printf(out, ": %s", why);
    if (r == 0 && meant)
        r = buf_printf(out, "; did you mean %s?", meant);
    return r == 0 ? buf_append(out, SPAN("\n")) : r;
}

static int put_unknown(struct buf *out, const struct explained *x)
{
    const struct engine_page *page = &x->page;
    int r = 0;

    if (page->n_unknown > 0)
        r = buf_printf(out, "\nnames that are in no table: %zu\n", page->n_unknown);
    for (size_t i = 0; i < page->n_unknown && i < EXPLAIN_SHOW_NAMES_MAX && r == 0; i++)
        r = put_unknown_name(out, page->unknown[i]);
    if (r == 0 && page->n_unknown > EXPLAIN_SHOW_NAMES_MAX)
        r = buf_append(out, SPAN("  ...\n"));
    if (r == 0 && page->n_foreign > 0)
        r = page->n_foreign == 1
                ? buf_append(out, SPAN("\n1 family is of another program\n"))
                : buf_printf(out, "\n%zu families are of other programs\n", page->n_foreign);
    return r;
}

static int put_mistakes(struct buf *out, const char *title, const struct err_list *l, size_t n)
{
    int r = n > 0 ? buf_printf(out, "\n%s: %zu\n", title, n) : 0;

    for (size_t i = 0; i < l->n && r == 0; i++) {
        r = buf_printf(out, "  line %d, column %d: ", l->items[i].line, l->items[i].column);
        if (r == 0)
            r = put(out, "", span_cstr(l->items[i].err.text));
        if (r == 0)
            r = buf_append(out, SPAN("\n"));
    }
    return r;
}

int explain_show_table(const struct explained *x, struct buf *out)
{
    const struct families *f = x->families;
    int r = put_engines(out, x);

    if (r == 0)
        r = put_signals(out, x);
    if (r == 0)
        r = put_missing(out, x);
    if (r == 0)
        r = put_unknown(out, x);
    if (r == 0)
        r = put_mistakes(out, "lines that cannot be read", &f->mistakes, f->n_mistakes);
    if (r == 0)
        r = put_mistakes(out, "remarks", &f->advice, f->advice.n + f->advice.n_dropped);
    return r;
}
