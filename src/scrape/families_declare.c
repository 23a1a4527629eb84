/* SPDX-License-Identifier: Apache-2.0 */
/*
 * scrape/families_declare.c - which families comments declare, and which one a sample is of.
 */
#include <errno.h>
#include <stdlib.h>

#include "scrape/families_private.h"

/* Ends of samples' names by type. OpenMetrics alone: types that the other format does not have, or
 * has under the sample's own name. */
static const struct suffix {
    struct span text;
    enum metric_type type;
} suffixes[] = {
    {SPAN_INIT("_bucket"), METRIC_HISTOGRAM},     {SPAN_INIT("_sum"), METRIC_HISTOGRAM},
    {SPAN_INIT("_count"), METRIC_HISTOGRAM},      {SPAN_INIT("_sum"), METRIC_SUMMARY},
    {SPAN_INIT("_count"), METRIC_SUMMARY},        {SPAN_INIT("_bucket"), METRIC_GAUGE_HISTOGRAM},
    {SPAN_INIT("_gsum"), METRIC_GAUGE_HISTOGRAM}, {SPAN_INIT("_gcount"), METRIC_GAUGE_HISTOGRAM},
    {SPAN_INIT("_total"), METRIC_COUNTER},        {SPAN_INIT("_info"), METRIC_INFO},
};

/* What families of these types are called by in OpenMetrics: the name of their samples. */
static struct span own_suffix(enum metric_type type)
{
    return type == METRIC_COUNTER ? SPAN("_total") : type == METRIC_INFO ? SPAN("_info") : SPAN("");
}

static int decl_cmp(const void *a, const void *b)
{
    const struct families_decl *x = a, *y = b;
    int c = span_cmp(x->name, y->name);
    return c != 0 ? c : (x->line > y->line) - (x->line < y->line);
}

/* b comes later than a and is about the same name. */
static void join(struct families_reading *r, struct families_decl *a, const struct families_decl *b)
{
    char shown[ERR_LIST_SHOWN_MAX];

    if (b->has_type && a->has_type) {
        struct err *err = families_advise(r, b->line);
        (void)err_set(err, -EEXIST, "family \"%s\" is declared again",
                      err_list_shown(b->name, shown));
        if (b->type != a->type)
            err_hint(err, "its type was %s and is %s from now on", metric_type_name(a->type),
                     metric_type_name(b->type));
    }
    if (b->has_type)
        a->type = b->type;
    a->has_type |= b->has_type;
    a->help = b->help.p ? b->help : a->help;
    a->unit = b->unit.p ? b->unit : a->unit;
}

static int name_family(struct families_reading *r, struct families_decl *d)
{
    struct span suffix = r->format == TEXT_OPENMETRICS ? own_suffix(d->type) : SPAN("");

    d->family = d->name;
    if (suffix.n == 0 || span_ends_with(d->name, suffix))
        return 0;
    char *p = arena_alloc(&r->out->_arena, d->name.n + suffix.n);
    if (!p)
        return -ENOMEM;
    memcpy(p, d->name.p, d->name.n);
    memcpy(p + d->name.n, suffix.p, suffix.n);
    d->family = span_of(p, d->name.n + suffix.n);
    return 0;
}

int families_declare(struct families_reading *r)
{
    size_t n = 0;
    int e = 0;

    if (r->n_decls > 1)
        qsort(r->decls, r->n_decls, sizeof(*r->decls), decl_cmp);
    for (size_t i = 0; i < r->n_decls; i++) {
        if (n > 0 && span_eq(r->decls[n - 1].name, r->decls[i].name))
            join(r, &r->decls[n - 1], &r->decls[i]);
        else
            r->decls[n++] = r->decls[i];
    }
    r->n_decls = n;
    for (size_t i = 0; i < n && e == 0; i++)
        e = name_family(r, &r->decls[i]);
    return e;
}

static const struct families_decl *decl_find(const struct families_reading *r, struct span name)
{
    size_t low = 0, high = r->n_decls;

    while (low < high) {
        size_t at = low + (high - low) / 2;
        int c = span_cmp(r->decls[at].name, name);
        if (c == 0)
            return &r->decls[at];
        if (c < 0)
            low = at + 1;
        else
            high = at;
    }
    return NULL;
}

/* The declared family that the name is a part of; NULL: none. */
static const struct families_decl *decl_of_part(const struct families_reading *r, struct span name)
{
    for (size_t i = 0; i < ARRAY_LEN(suffixes); i++) {
        if (!span_ends_with(name, suffixes[i].text))
            continue;
        const struct families_decl *d = decl_find(r, span_of(name.p, name.n - suffixes[i].text.n));
        bool is_there = d && d->has_type && d->type == suffixes[i].type;
        if (is_there && (own_suffix(d->type).n == 0 || r->format == TEXT_OPENMETRICS))
            return d;
    }
    return NULL;
}

/* "x_created" of a counter, histogram or summary "x". */
static bool is_created(const struct families_reading *r, struct span name)
{
    if (r->format != TEXT_OPENMETRICS || !span_ends_with(name, SPAN("_created")))
        return false;
    const struct families_decl *d = decl_find(r, span_of(name.p, name.n - strlen("_created")));
    return d && d->has_type &&
           (d->type == METRIC_COUNTER || d->type == METRIC_HISTOGRAM || d->type == METRIC_SUMMARY);
}

void families_assign(const struct families_reading *r, struct families_ref *ref)
{
    struct span name = labels_name(ref->sample.labels);
    const struct families_decl *own = decl_find(r, name);
    const struct families_decl *d;

    if (own && !span_eq(own->family, name))
        own = NULL; /* a counter's sample without "_total": nobody declared that name */
    d = own && own->has_type ? own : decl_of_part(r, name);
    d = d ? d : own;
    ref->family = d ? d->family : name;
    ref->type = d ? d->type : is_created(r, name) ? METRIC_GAUGE : METRIC_UNKNOWN;
}
