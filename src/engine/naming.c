/* SPDX-License-Identifier: Apache-2.0 */
/*
 * engine/naming.c - from names of the tables to those of a page and back.
 */
#include <stdarg.h>
#include <stdio.h>

#include "engine/engine_private.h"

#define TOTAL SPAN("_total")

/* Two texts in one; false: too long. */
static bool join(struct span head, struct span tail, char dst[ENGINE_NAME_MAX])
{
    if (head.n + tail.n >= ENGINE_NAME_MAX)
        return false;
    memcpy(dst, head.p, head.n);
    memcpy(dst + head.n, tail.p, tail.n);
    dst[head.n + tail.n] = '\0';
    return true;
}

/* Ray's counters have a _total more or less than the engine's. */
static const struct page_family *find_with_total(const struct families *f, struct span name)
{
    char other[ENGINE_NAME_MAX];

    if (span_ends_with(name, TOTAL))
        return families_find(f, span_of(name.p, name.n - TOTAL.n));
    return join(name, TOTAL, other) ? families_find(f, span_cstr(other)) : NULL;
}

const struct page_family *naming_family(const struct families *f, const struct engine_found *e,
                                        const char *metric)
{
    struct span name = span_cstr(metric), in_table = span_cstr(e->alias->in_table);
    char text[ENGINE_NAME_MAX];
    const struct page_family *ret;

    if (span_starts_with(name, in_table)) {
        if (!join(e->prefix, span_from(name, in_table.n), text))
            return NULL;
        name = span_cstr(text);
    }
    ret = families_find(f, name);
    if (!ret && (e->alias->flags & ENGINE_PREFIX_NO_TOTAL) != 0)
        ret = find_with_total(f, name);
    return ret;
}

static int name_cmp(const char *row, struct span name)
{
    int r = strncmp(row, name.p, name.n);

    return r != 0 ? r : row[name.n] != '\0';
}

/* Rows are sorted; of one name the row without a label comes first. */
bool naming_has(const struct engine_map *map, struct span name)
{
    size_t low = 0, high = map->n_names;

    if (name.n == 0)
        return false;
    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (name_cmp(map->names[middle].name, name) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low < map->n_names && !map->names[low].label &&
           name_cmp(map->names[low].name, name) == 0;
}

/* With its _total, or without. */
static bool has_without(const struct engine_map *map, struct span name, struct span tail)
{
    char counter[ENGINE_NAME_MAX];

    if (!span_ends_with(name, tail))
        return false;
    name.n -= tail.n;
    return naming_has(map, name) ||
           (join(name, TOTAL, counter) && naming_has(map, span_cstr(counter)));
}

bool naming_to_table(const struct engine_found *e, struct span family, char *dst)
{
    if (!span_starts_with(family, e->prefix))
        return join(family, SPAN(""), dst) && naming_has(e->map, family);
    return join(span_cstr(e->alias->in_table), span_from(family, e->prefix.n), dst);
}

bool naming_is_known(const struct engine_found *e, struct span family)
{
    char text[ENGINE_NAME_MAX];
    struct span name;

    if (!naming_to_table(e, family, text))
        return false;
    name = span_cstr(text);
    if (naming_has(e->map, name) || has_without(e->map, name, SPAN("_created")))
        return true;
    return (e->alias->flags & ENGINE_PREFIX_NO_TOTAL) != 0 &&
           (has_without(e->map, name, SPAN("")) || has_without(e->map, name, TOTAL));
}

const char *naming_text(struct arena *a, const char *fmt, ...)
{
    char text[512];
    va_list ap;

    va_start(ap, fmt);
    (void)vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    return arena_dup(a, span_cstr(text)).p;
}
