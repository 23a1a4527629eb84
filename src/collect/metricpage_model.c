/* SPDX-License-Identifier: Apache-2.0 */
/*
 * collect/metricpage_model.c - a page as an engine's: recognised once, read at every scrape.
 *
 * What signals need of a page is copied with a place for each value; series know their place, so
 * that a scrape sets values and does nothing else before signals are worked out.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/mem.h"
#include "collect/metricpage_private.h"

/* --- samples of signals --- */

static void signals_done(struct metricpage_signals *s)
{
    for (size_t i = 0; i < s->n; i++)
        present_let_go(s->at[i].series);
    arena_done(&s->arena);
    *s = (struct metricpage_signals){.at = NULL};
}

struct metricpage_model *metricpage_model_free(struct metricpage_model *m)
{
    if (!m)
        return NULL;
    signals_done(&m->signals);
    arena_done(&m->arena);
    mem_free(m);
    return NULL;
}

/* One value's samples, compared with the list, or put into it. */
struct walk {
    struct metricpage *p;
    struct metricpage_signals *to;
    const struct signal_value *of;
    size_t value, at;
};

static int compare(void *ctx, const char *tail, double le, double v)
{
    struct walk *w = ctx;
    struct metricpage_signal *s = w->at < w->to->n ? &w->to->at[w->at] : NULL;

    if (!s || s->value != w->value || s->tail != tail || s->from != w->of->from ||
        (le < s->le || le > s->le))
        return -ENOENT;
    s->v = v;
    w->at++;
    return 0;
}

/* As the last page had them? Then the values are in. */
static bool is_as_before(struct metricpage_signals *to, const struct signal_value *values, size_t n)
{
    struct walk w = {.to = to};

    if (n != to->n_values)
        return false;
    for (size_t i = 0; i < n; i++) {
        w.of = &values[i];
        w.value = i;
        if (!labels_eq(values[i].labels, to->values[i]) || signal_value_each(w.of, compare, &w) < 0)
            return false;
    }
    return w.at == to->n;
}

static int put(void *ctx, const char *tail, double le, double v)
{
    struct walk *w = ctx;
    struct metricpage_signals *to = w->to;
    struct arena *scratch = &w->p->scratch;
    struct metricpage_signal *at = arena_grow(&to->arena, to->at, to->n, 1, &to->cap, sizeof(*at));
    struct labels own, labels = {NULL, 0};

    if (!at)
        return -ENOMEM;
    to->at = at;
    at[to->n] = (struct metricpage_signal){
        .from = w->of->from, .tail = tail, .le = le, .v = v, .value = w->value};
    int r = signal_sample_labels(w->of, tail, le, scratch, &own);
    if (r == 0)
        r = metricpage_labels(w->p->job, w->p->labels, own, scratch, &labels);
    if (r == 0)
        r = present_hold(&w->p->live, labels, &at[to->n].series);
    to->n += r == 0;
    return r;
}

static int list_signals(struct metricpage *p, const struct signal_value *values, size_t n,
                        struct metricpage_signals *ret)
{
    struct walk w = {.p = p, .to = ret};
    int r = 0;

    *ret = (struct metricpage_signals){.at = NULL};
    arena_init(&ret->arena, NULL);
    ret->values = arena_array(&ret->arena, n, sizeof(*ret->values));
    if (!ret->values)
        r = -ENOMEM;
    for (size_t i = 0; i < n && r == 0; i++) {
        w.of = &values[i];
        w.value = i;
        r = labels_copy(&ret->arena, values[i].labels, &ret->values[i]);
        if (r == 0)
            r = signal_value_each(w.of, put, &w);
    }
    ret->n_values = n;
    if (r < 0)
        signals_done(ret);
    return r;
}

static size_t count_signals(const struct signal_value *values, size_t n)
{
    size_t n_signals = 0;

    for (size_t i = 0; i < n; i++)
        n_signals += i == 0 || values[i].from != values[i - 1].from;
    return n_signals;
}

int metricpage_model_read(struct metricpage *p, bool *ret_lost)
{
    struct metricpage_model *m = p->model;
    struct signal_value *values = NULL;
    struct metricpage_signals list;
    size_t n = 0, n_signals;

    *ret_lost = false;
    if (m->page.n_signals == 0)
        return 0;
    struct families *view = mem_alloc(sizeof(*view)); /* too large to be kept with each page */
    if (!view)
        return -ENOMEM;
    view->at = m->families.at;
    view->n = m->families.n;
    int r = engine_values(view, &m->page, &p->scratch, &values, &n);
    mem_free(view);
    if (r < 0)
        return r;
    n_signals = count_signals(values, n);
    *ret_lost = n_signals < m->n_with_data;
    m->n_with_data = n_signals > m->n_with_data ? n_signals : m->n_with_data;
    if (is_as_before(&m->signals, values, n))
        return 0;
    r = list_signals(p, values, n, &list);
    if (r < 0)
        return r;
    signals_done(&m->signals);
    m->signals = list;
    return 0;
}

int metricpage_model_tell(struct metricpage *p, int64_t t_ms, struct batch *out)
{
    const struct metricpage_signals *s = &p->model->signals;
    int r = 0;

    for (size_t i = 0; i < s->n && r == 0; i++)
        r = present_tell(&p->live, s->at[i].series, t_ms, s->at[i].v, true, out);
    return r;
}

/* --- what was recognised, on its own --- */

static int dup_text(struct arena *a, const char **text)
{
    if (*text)
        *text = arena_dup(a, span_cstr(*text)).p;
    return *text ? 0 : -ENOMEM;
}

static int dup_span(struct arena *a, struct span *s)
{
    *s = arena_dup(a, *s);
    return s->p ? 0 : -ENOMEM;
}

static void *dup_array(struct arena *a, const void *at, size_t n, size_t size)
{
    void *copy = arena_array(a, n, size);

    if (copy && n > 0)
        memcpy(copy, at, n * size);
    return copy;
}

static int keep_engine(struct arena *a, struct engine_found *e)
{
    const char **because = dup_array(a, e->because, e->n_because, sizeof(*because));
    int r = because ? dup_span(a, &e->prefix) : -ENOMEM;

    for (size_t i = 0; i < e->n_because && r == 0; i++)
        r = dup_text(a, &because[i]);
    e->because = because;
    return r;
}

static int keep_engines(struct arena *a, struct engine_page *page, struct engine_found **ret)
{
    struct engine_found *engines = dup_array(a, page->engines, page->n_engines, sizeof(*engines));
    int r = engines ? 0 : -ENOMEM;

    for (size_t i = 0; i < page->n_engines && r == 0; i++)
        r = keep_engine(a, &engines[i]);
    *ret = engines;
    return r;
}

static int keep_signals(struct arena *a, struct engine_page *page,
                        const struct engine_found *engines)
{
    struct signal_found *at = dup_array(a, page->signals, page->n_signals, sizeof(*at));
    int r = at ? 0 : -ENOMEM;

    for (size_t i = 0; i < page->n_signals && r == 0; i++) {
        at[i].engine = &engines[at[i].engine - page->engines];
        if (at[i].note)
            r = dup_text(a, &at[i].note);
        for (size_t k = 0; k < ENGINE_PARTS_MAX && r == 0; k++)
            r = dup_span(a, &at[i].metric[k]);
    }
    page->signals = at;
    return r;
}

static int keep_missing(struct arena *a, struct engine_page *page,
                        const struct engine_found *engines)
{
    struct signal_missing *at = dup_array(a, page->missing, page->n_missing, sizeof(*at));
    int r = at ? 0 : -ENOMEM;

    for (size_t i = 0; i < page->n_missing && r == 0; i++) {
        at[i].engine = &engines[at[i].engine - page->engines];
        r = dup_text(a, &at[i].why);
    }
    page->missing = at;
    return r;
}

/* Nothing of it is the page's or of the scratch any more. */
static int keep_page(struct arena *a, struct engine_page *page)
{
    struct span *unknown = dup_array(a, page->unknown, page->n_unknown, sizeof(*unknown));
    struct engine_found *engines = NULL;
    int r = unknown ? keep_engines(a, page, &engines) : -ENOMEM;

    if (r == 0)
        r = keep_signals(a, page, engines);
    if (r == 0)
        r = keep_missing(a, page, engines);
    for (size_t i = 0; i < page->n_unknown && r == 0; i++)
        r = dup_span(a, &unknown[i]);
    if (r == 0 && page->remark)
        r = dup_text(a, &page->remark);
    page->engines = engines;
    page->unknown = unknown;
    return r;
}

/* --- places of values --- */

static int select_families(struct metricpage_model *m, const struct families *f,
                           struct arena *scratch)
{
    struct span *names = arena_array(scratch, m->page.n_signals * ENGINE_PARTS_MAX, sizeof(*names));
    size_t n = 0, n_unique = 0;

    if (!names)
        return -ENOMEM;
    for (size_t i = 0; i < m->page.n_signals; i++)
        for (size_t k = 0; k < ENGINE_PARTS_MAX; k++)
            if (m->page.signals[i].metric[k].n > 0)
                names[n++] = m->page.signals[i].metric[k];
    if (n > 1)
        qsort(names, n, sizeof(*names), span_sort_cmp);
    for (size_t i = 0; i < n; i++)
        if (i == 0 || !span_eq(names[i], names[n_unique - 1]))
            names[n_unique++] = names[i];
    return families_select(f, names, n_unique, &m->arena, &m->families);
}

static int slot_cmp(const void *a, const void *b)
{
    return labels_cmp(((const struct family_slot *)a)->labels,
                      ((const struct family_slot *)b)->labels);
}

static int bind_entry(struct metricpage *p, struct metricpage_entry *e)
{
    const struct families_selection *f = &p->model->families;
    struct family_slot key = {.v = NULL};
    const char *mistake;
    int r = text_labels(e->bytes, &p->scratch, &key.labels, &mistake);

    if (r < 0)
        return r == -EINVAL ? 0 : r;
    const struct family_slot *slot =
        f->n_slots == 0 ? NULL : bsearch(&key, f->slots, f->n_slots, sizeof(*f->slots), slot_cmp);
    e->slot = slot ? slot->v : NULL;
    return 0;
}

static int bind(struct metricpage *p)
{
    const struct families_selection *f = &p->model->families;
    int r = 0;

    metricpage_table_use(&p->table, f);
    for (size_t i = 0; i < p->table.n_entry_buckets; i++)
        for (struct metricpage_entry *e = p->table.entries[i]; e && r == 0; e = e->next) {
            e->slot = NULL;
            if (e->round == p->round && e->name && e->name->is_used)
                r = bind_entry(p, e);
        }
    return r;
}

/* --- making it --- */

static bool has_no_data(const struct engine_page *page)
{
    for (size_t i = 0; i < page->n_missing; i++)
        if (page->missing[i].cause == MISSING_NO_DATA)
            return true;
    return false;
}

static int fill(struct metricpage *p, const struct families *f, struct metricpage_model *m)
{
    int r = engine_recognise(f, &p->scratch, &m->page);

    if (r == 0)
        r = keep_page(&m->arena, &m->page);
    if (r == 0)
        r = select_families(m, f, &p->scratch);
    if (r < 0)
        return r; /* the page may be half there */
    m->has_no_data = has_no_data(&m->page);
    m->made_in = p->round;
    return 0;
}

static int make(struct metricpage *p, const struct families *f, int64_t t_ms)
{
    struct metricpage_model *m = mem_zalloc(1, sizeof(*m));
    int r = m ? 0 : -ENOMEM;

    if (m) {
        arena_init(&m->arena, NULL);
        r = fill(p, f, m);
    }
    p->model = metricpage_model_free(p->model);
    p->model = m;
    if (r == 0)
        r = bind(p);
    if (r == 0)
        r = metricpage_missing_judge(p, f, t_ms);
    if (r < 0)
        p->model = metricpage_model_free(m); /* slots are not read without it */
    return r;
}

int metricpage_model_make(struct metricpage *p, struct span body, enum text_format format,
                          int64_t t_ms)
{
    struct families *f = mem_alloc(sizeof(*f));
    int r = f ? families_read(body, format, "page", f) : -ENOMEM;

    if (r == -E2BIG)
        (void)metricpage_refuse(p, r, "the page has more samples than can be read");
    if (r == 0) {
        r = make(p, f, t_ms);
        families_done(f);
    }
    mem_free(f);
    return r;
}
