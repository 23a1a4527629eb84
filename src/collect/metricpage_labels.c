/* SPDX-License-Identifier: Apache-2.0 */
/*
 * collect/metricpage_labels.c - labels of a page's series beside those of its target, as Prometheus
 * has them.
 */
#include <errno.h>
#include <stdlib.h>

#include "collect/metricpage_private.h"

#define EXPORTED "exported_"

/* Behind the value at s, which begins with its quote. */
static struct span skip_value(struct span s)
{
    size_t i = 1;

    while (i < s.n && s.p[i] != '"')
        i += s.p[i] == '\\' ? 2 : 1;
    return span_from(s, i + 1);
}

/* Whether a series, as it is written, has that label with an empty value: text_labels leaves those
 * out, but with honor_labels they take the target's label away. */
static bool has_empty(struct span written, struct span name)
{
    struct span left = span_from(written, span_find_char(written, '{') + 1);

    while (left.n > 0) {
        size_t n_name = span_find_char(left, '='), n_to = span_find_char(left, '"');
        struct span word = span_trim(span_of(left.p, n_name));
        while (word.n > 0 && (word.p[0] == ',' || word.p[0] == ' ' || word.p[0] == '\t'))
            word = span_from(word, 1);
        left = span_from(left, n_to);
        if (span_eq(word, name))
            return left.n > 1 && left.p[1] == '"';
        left = skip_value(left);
    }
    return false;
}

static int merge_honoring(struct labels target, struct labels own, struct span written,
                          struct arena *a, struct labels *ret)
{
    int r = 0;

    *ret = own;
    for (size_t i = 0; i < target.n && r == 0; i++)
        if (labels_get(own, target.at[i].name).n == 0 && !has_empty(written, target.at[i].name))
            r = labels_with(a, *ret, target.at[i].name, target.at[i].value, ret);
    return r;
}

static int name_length_cmp(const void *a, const void *b)
{
    const struct label *x = a, *y = b;

    if (x->name.n != y->name.n)
        return x->name.n < y->name.n ? -1 : 1;
    return span_cmp(x->name, y->name);
}

/* "exported_" in front, as often as it takes. */
static int add_exported(struct label l, struct arena *a, struct labels *ret)
{
    struct span name = l.name;

    do {
        size_t n = sizeof(EXPORTED) - 1 + name.n;
        char *p = arena_zalloc(a, n + 1, 1);
        if (!p)
            return -ENOMEM;
        memcpy(p, EXPORTED, sizeof(EXPORTED) - 1);
        memcpy(p + sizeof(EXPORTED) - 1, name.p, name.n);
        name = span_of(p, n);
    } while (labels_get(*ret, name).n > 0);
    return labels_with(a, *ret, name, l.value, ret);
}

static int merge_exporting(struct labels target, struct labels own, struct arena *a,
                           struct labels *ret)
{
    struct label *clashes = arena_array(a, target.n, sizeof(*clashes));
    size_t n = 0;
    int r = clashes ? 0 : -ENOMEM;

    *ret = own;
    for (size_t i = 0; i < target.n && r == 0; i++) {
        struct span value = labels_get(own, target.at[i].name);
        if (value.n > 0)
            clashes[n++] = (struct label){target.at[i].name, value};
        r = labels_with(a, *ret, target.at[i].name, target.at[i].value, ret);
    }
    if (n > 1)
        qsort(clashes, n, sizeof(*clashes), name_length_cmp);
    for (size_t i = 0; i < n && r == 0; i++)
        r = add_exported(clashes[i], a, ret);
    return r;
}

int metricpage_labels_written(const struct scrape_job *j, struct labels target, struct labels own,
                              struct span written, struct arena *a, struct labels *ret)
{
    return j->honors_labels ? merge_honoring(target, own, written, a, ret)
                            : merge_exporting(target, own, a, ret);
}

int metricpage_labels(const struct scrape_job *j, struct labels target, struct labels own,
                      struct arena *a, struct labels *ret)
{
    return metricpage_labels_written(j, target, own, SPAN(""), a, ret);
}
