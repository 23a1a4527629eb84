/* SPDX-License-Identifier: Apache-2.0 */
/*
 * engine/recognise.c - engines of a page, the source of each signal, and what is missing.
 */
#include "engine/recognise.h"

#include <errno.h>

#include "engine/engine_private.h"

/* --- engines --- */

/* How much of a page is of one alias of an engine. */
struct trace {
    struct span prefix;
    size_t n_families, n_known;
};

static bool has_any_label(const struct page_family *fam, const char *const *labels)
{
    for (size_t i = 0; labels[i]; i++)
        if (labels_get(fam->samples[0].labels, span_cstr(labels[i])).n > 0)
            return true;
    return false;
}

/* What stands in front of a name of the table, with the table's own prefix. */
static bool find_prefix(const struct engine_map *map, const struct engine_prefix *alias,
                        const struct page_family *fam, struct span *ret)
{
    size_t n_own = strlen(alias->in_table);

    if (!has_any_label(fam, map->labels))
        return false;
    for (size_t i = 0; i < map->n_names; i++) {
        struct span name = span_cstr(map->names[i].name);
        size_t n_front = fam->name.n - name.n;

        if (!span_ends_with(fam->name, name) || (n_front > 0 && fam->name.p[n_front - 1] != '_'))
            continue;
        *ret = span_of(fam->name.p, n_front + n_own);
        return true;
    }
    return false;
}

static struct trace trace_of(const struct families *f, const struct engine_map *map,
                             const struct engine_prefix *alias)
{
    bool is_any = (alias->flags & ENGINE_PREFIX_ANY) != 0;
    struct trace t = {.prefix = is_any ? SPAN("") : span_cstr(alias->as)};
    struct engine_found e = {.map = map, .alias = alias};

    for (size_t i = 0; i < f->n; i++) {
        const struct page_family *fam = &f->at[i];

        if (fam->n == 0 ||
            (is_any && t.prefix.n == 0 && !find_prefix(map, alias, fam, &t.prefix)) ||
            !span_starts_with(fam->name, t.prefix))
            continue;
        e.prefix = t.prefix;
        t.n_families++;
        t.n_known += naming_is_known(&e, fam->name);
    }
    return t;
}

static bool is_enough(const struct engine_prefix *alias, const struct trace *t)
{
    return alias->n_min > 0 ? t->n_known >= alias->n_min : t->n_families > 0;
}

/* The alias under which most names of an engine are there; of two pages behind one address (Ray's
 * names beside the engine's own) so only one counts. */
static bool find_engine(const struct families *f, const struct engine_map *map,
                        struct engine_found *ret)
{
    size_t n_best = 0;

    for (const struct engine_prefix *alias = map->prefixes; alias->as; alias++) {
        struct trace t = trace_of(f, map, alias);

        if (!is_enough(alias, &t) || t.n_families <= n_best)
            continue;
        n_best = t.n_families;
        *ret = (struct engine_found){.map = map, .alias = alias, .prefix = t.prefix};
    }
    return n_best > 0;
}

static int find_engines(const struct families *f, struct arena *a, struct engine_page *page)
{
    struct engine_found *found = arena_array(a, engine_maps_n, sizeof *found);
    size_t n = 0;

    if (!found)
        return -ENOMEM;
    for (size_t i = 0; i < engine_maps_n; i++) {
        if (!find_engine(f, engine_maps[i], &found[n]))
            continue;
        int r = versions_find(f, a, &found[n]);
        if (r < 0)
            return r;
        n++;
    }
    page->engines = found;
    page->n_engines = n;
    return 0;
}

/* --- signals --- */

struct signals {
    struct signal_found *at;
    size_t n, cap;
    struct arena *a;
};

static bool is_alternative(const struct engine_source *x, const struct engine_source *y)
{
    return x->signal == y->signal && !x->label_is == !y->label_is &&
           (!x->label_is || strcmp(x->label_is, y->label_is) == 0);
}

/* An engine's word counts, then that of what stands in front of it. */
static bool is_taken(const struct signals *s, const struct engine_found *e,
                     const struct engine_source *source)
{
    for (size_t i = 0; i < s->n; i++) {
        const struct signal_found *x = &s->at[i];

        if (x->engine == e ? is_alternative(x->source, source)
                           : x->signal == source->signal && e->map->rank == ENGINE_RANK_WRAPPER)
            return true;
    }
    return false;
}

static int add_signal(const struct families *f, const struct engine_found *e,
                      const struct engine_source *source, struct signals *s)
{
    struct signal_found found = {source->signal, e, source, .note = source->note};
    struct signal_value *values;
    size_t n_values;
    bool is_odd;
    int r = values_read(f, &found, s->a, &values, &n_values, &is_odd);

    if (r < 0 || n_values == 0)
        return r;
    for (size_t i = 0; i < ENGINE_PARTS_MAX && source->part[i].metric; i++) {
        const struct page_family *fam = naming_family(f, e, source->part[i].metric);
        found.metric[i] = fam ? fam->name : SPAN("");
    }
    if (is_odd)
        found.note = "two figures that should be the same differ: values may be under wrong labels";
    s->at = arena_grow(s->a, s->at, s->n, 1, &s->cap, sizeof *s->at);
    if (!s->at)
        return -ENOMEM;
    s->at[s->n++] = found;
    return 0;
}

static int find_signals(const struct families *f, struct arena *a, struct engine_page *page)
{
    struct signals s = {.a = a};

    for (size_t i = 0; i < page->n_engines; i++) {
        const struct engine_found *e = &page->engines[i];

        for (size_t k = 0; k < e->map->n_sources; k++) {
            if (is_taken(&s, e, &e->map->sources[k]))
                continue;
            int r = add_signal(f, e, &e->map->sources[k], &s);
            if (r < 0)
                return r;
        }
    }
    page->signals = s.at;
    page->n_signals = s.n;
    return 0;
}

/* --- what is missing --- */

/* Told by this engine, or by what stands in front of it. */
static bool is_told(const struct engine_page *page, const struct engine_found *e, enum signal s)
{
    for (size_t i = 0; i < page->n_signals; i++) {
        const struct signal_found *x = &page->signals[i];
        bool is_other = e->map->rank == ENGINE_RANK_ENGINE &&
                        x->engine->map->rank == ENGINE_RANK_ENGINE && x->engine != e;

        if (x->signal == s && !is_other)
            return true;
    }
    return false;
}

static bool is_missed(const struct signal_missing *at, size_t n, enum signal s)
{
    for (size_t i = 0; i < n; i++)
        if (at[i].signal == s)
            return true;
    return false;
}

static int find_missing(const struct families *f, struct arena *a, struct engine_page *page)
{
    struct signal_missing *at = NULL;
    size_t n = 0, cap = 0;

    for (size_t i = 0; i < page->n_engines; i++) {
        const struct engine_found *e = &page->engines[i];

        for (size_t k = 0; k < e->map->n_expected; k++) {
            enum signal s = e->map->expected[k];

            if (is_told(page, e, s) || (e->map->rank == ENGINE_RANK_WRAPPER && is_missed(at, n, s)))
                continue;
            at = arena_grow(a, at, n, 1, &cap, sizeof *at);
            int r = at ? missing_why(f, e, s, a, &at[n]) : -ENOMEM;
            if (r < 0)
                return r;
            n++;
        }
    }
    page->missing = at;
    page->n_missing = n;
    return 0;
}

/* --- names that are in no table --- */

enum owner { OWNER_NONE, OWNER_PREFIX, OWNER_KNOWN };

static enum owner owner_of(const struct engine_page *page, struct span family)
{
    enum owner owner = OWNER_NONE;

    for (size_t i = 0; i < page->n_engines; i++) {
        const struct engine_found *e = &page->engines[i];

        if (naming_is_known(e, family))
            return OWNER_KNOWN;
        if ((e->alias->flags & ENGINE_PREFIX_EXACT) == 0 && span_starts_with(family, e->prefix))
            owner = OWNER_PREFIX;
    }
    return owner;
}

static int find_unknown(const struct families *f, struct arena *a, struct engine_page *page)
{
    struct span *at = arena_array(a, f->n, sizeof *at);

    if (!at)
        return -ENOMEM;
    for (size_t i = 0; i < f->n; i++) {
        enum owner owner = f->at[i].n == 0 ? OWNER_KNOWN : owner_of(page, f->at[i].name);

        if (owner == OWNER_PREFIX)
            at[page->n_unknown++] = f->at[i].name;
        page->n_foreign += owner == OWNER_NONE;
    }
    page->unknown = at;
    return 0;
}

/* --- remarks --- */

static bool has_prefix(const struct families *f, struct span prefix, bool with_samples)
{
    for (size_t i = 0; i < f->n; i++)
        if (span_starts_with(f->at[i].name, prefix) && (f->at[i].n > 0) == with_samples)
            return true;
    return false;
}

/* Why no engine was found. */
static const char *why_nothing(const struct families *f, struct arena *a)
{
    for (size_t i = 0; i < engine_maps_n; i++) {
        const struct engine_map *map = engine_maps[i];
        const struct engine_prefix *alias = map->prefixes;

        if (alias->n_min == 0 && has_prefix(f, span_cstr(alias->as), false))
            return naming_text(a, "%s declares metrics (%s...) and has no sample of them yet",
                               map->title, alias->as);
    }
    if (f->n_samples == 0)
        return "there is no sample on this page";
    if (has_prefix(f, SPAN("http_"), true) || has_prefix(f, SPAN("python_"), true))
        return "a Python server without metrics of an engine: a vLLM with --disable-log-stats (or "
               "a "
               "0.5.4 whose frontend is a process of its own), an SGLang without --enable-metrics, "
               "or another port than the engine's";
    return "no metrics of an engine or exporter that is known; is it the right port and path?";
}

static const char *remark_of(const struct families *f, struct arena *a,
                             const struct engine_page *page)
{
    if (page->n_engines == 0)
        return why_nothing(f, a);
    for (size_t i = 0; i < page->n_engines; i++)
        if (page->engines[i].is_mixed)
            return naming_text(a,
                               "no version of %s has all of these names: two versions behind one "
                               "address, or names that were changed on the way",
                               page->engines[i].map->title);
    return NULL;
}

int engine_recognise(const struct families *f, struct arena *a, struct engine_page *ret)
{
    struct engine_page page = {.engines = NULL};
    int r = find_engines(f, a, &page);

    if (r == 0)
        r = find_signals(f, a, &page);
    if (r == 0)
        r = find_missing(f, a, &page);
    if (r == 0)
        r = find_unknown(f, a, &page);
    if (r < 0)
        return r;
    page.remark = remark_of(f, a, &page);
    *ret = page;
    return 0;
}

const char *engine_why_no_page(struct span body)
{
    while (body.n > 0 && strchr(" \t\r\n", body.p[0]))
        body = span_from(body, 1);
    if (body.n == 0)
        return "the body is empty";
    if (body.p[0] == '{' || body.p[0] == '[')
        return "this is JSON: trtllm-serve has its page at /prometheus/metrics (with "
               "return_perf_metrics), other servers elsewhere";
    if (body.p[0] == '<')
        return "this is HTML: a proxy, a user interface, or another path than that of the metrics";
    return NULL;
}
