/* SPDX-License-Identifier: Apache-2.0 */
/*
 * api/prom_labels.c - which series there are: their labels, names of labels, values of one.
 */
#include <stdlib.h>

#include "api/prom.h"

static size_t sort_unique(struct span *texts, size_t n)
{
    size_t n_unique = 0;
    if (n > 0)
        qsort(texts, n, sizeof(*texts), span_sort_cmp);
    for (size_t i = 0; i < n; i++) {
        if (n_unique == 0 || !span_eq(texts[n_unique - 1], texts[i]))
            texts[n_unique++] = texts[i];
    }
    return n_unique;
}

/* How many of n go out. */
static size_t apply_limit(struct prom_call *c, size_t n, size_t limit)
{
    if (limit == 0 || n <= limit)
        return n;
    prom_note(c, true, SPAN("results truncated due to limit"));
    return limit;
}

static void answer(struct prom_call *c, struct span *texts, size_t n, size_t limit)
{
    n = apply_limit(c, sort_unique(texts, n), limit);
    prom_begin(c);
    jsonw_begin_array(&c->w);
    for (size_t i = 0; i < n; i++)
        jsonw_str(&c->w, texts[i]);
    jsonw_end_array(&c->w);
    prom_end(c);
}

void prom_labels_names(struct prom_call *c)
{
    struct series_ref *series;
    size_t n_series, limit, n = 0, max = 0;
    if (!prom_limit(c, &limit) || !prom_select(c, false, &series, &n_series))
        return;
    for (size_t i = 0; i < n_series; i++)
        max += series[i].labels.n;
    struct span *names = arena_array(c->arena, max ? max : 1, sizeof(*names));
    if (!names) {
        prom_fail_memory(c);
        return;
    }
    for (size_t i = 0; i < n_series; i++) {
        for (size_t k = 0; k < series[i].labels.n; k++)
            names[n++] = series[i].labels.at[k].name;
    }
    answer(c, names, n, limit);
}

/* NAME of /api/v1/label/NAME/values, decoded; false: prom_fail was called. */
static bool label_of_path(struct prom_call *c, struct span *ret)
{
    static const char before[] = "/api/v1/label/", behind[] = "/values";
    struct span s = span_of(c->path.p + sizeof(before) - 1,
                            c->path.n - (sizeof(before) - 1) - (sizeof(behind) - 1));
    struct span decoded;
    if (params_decode(c->arena, s, false, &decoded) < 0 ||
        params_unescape_name(c->arena, decoded, ret) < 0 || ret->n == 0) {
        prom_fail(c, PROM_BAD_DATA, "invalid label name: \"%.*s\"", SPAN_ARG(s));
        return false;
    }
    return true;
}

void prom_labels_values(struct prom_call *c)
{
    struct series_ref *series;
    struct span name;
    size_t n_series, limit, n = 0;
    if (!label_of_path(c, &name) || !prom_limit(c, &limit) ||
        !prom_select(c, false, &series, &n_series))
        return;
    struct span *values = arena_array(c->arena, n_series ? n_series : 1, sizeof(*values));
    if (!values) {
        prom_fail_memory(c);
        return;
    }
    for (size_t i = 0; i < n_series; i++) {
        struct span v = labels_get(series[i].labels, name);
        if (v.n > 0)
            values[n++] = v;
    }
    answer(c, values, n, limit);
}

void prom_labels_series(struct prom_call *c)
{
    struct series_ref *series;
    size_t n, limit;
    if (!prom_limit(c, &limit) || !prom_select(c, true, &series, &n))
        return;
    n = apply_limit(c, n, limit);
    prom_begin(c);
    jsonw_begin_array(&c->w);
    for (size_t i = 0; i < n; i++)
        labels_write(series[i].labels, NULL, &c->w);
    jsonw_end_array(&c->w);
    prom_end(c);
}
