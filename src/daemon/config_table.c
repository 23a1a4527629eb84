/* SPDX-License-Identifier: Apache-2.0 */
/*
 * daemon/config_table.c - questions about a table of configuration keys.
 */
#include <stdio.h>

#include "base/suggest.h"
#include "daemon/config_values.h"

const struct config_key *config_table_find(const struct config_table *t, struct span path)
{
    for (size_t i = 0; i < t->n; i++) {
        if (span_eq(span_cstr(t->keys[i].path), path))
            return &t->keys[i];
    }
    return NULL;
}

/* The part of path behind "section.", or NULL when it is not below section ("" is the top). */
static const char *below(struct span section, const char *path)
{
    if (section.n == 0)
        return path;
    if (!span_starts_with(span_cstr(path), section) || path[section.n] != '.')
        return NULL;
    return path + section.n + 1;
}

bool config_table_is_section(const struct config_table *t, struct span path)
{
    for (size_t i = 0; i < t->n; i++) {
        if (path.n > 0 && below(path, t->keys[i].path))
            return true;
    }
    return false;
}

const char *config_keys_leaf(const struct config_key *key)
{
    const char *dot = strrchr(key->path, '.');
    return dot ? dot + 1 : key->path;
}

struct span config_keys_section(const struct config_key *key)
{
    const char *leaf = config_keys_leaf(key);
    return leaf == key->path ? SPAN("") : span_of(key->path, (size_t)(leaf - 1 - key->path));
}

static const char *format_bound(const struct config_key *key, int64_t v, char *dst, size_t cap)
{
    if (key->type == &config_type_duration)
        config_values_duration(v, dst, cap);
    else if (key->type == &config_type_bytes)
        config_values_bytes((uint64_t)v, dst, cap);
    else
        (void)snprintf(dst, cap, "%lld", (long long)v);
    return dst;
}

const char *config_keys_range(const struct config_key *key, char *dst)
{
    char min[32], max[32];

    dst[0] = '\0';
    if (key->max == 0)
        return dst;
    format_bound(key, key->min, min, sizeof(min));
    format_bound(key, key->max, max, sizeof(max));
    if (key->type->is_list)
        (void)snprintf(dst, CONFIG_RANGE_MAX, key->min == key->max ? "%s item" : "%s to %s items",
                       min, max);
    else
        (void)snprintf(dst, CONFIG_RANGE_MAX, "%s to %s%s%s", min, max, key->word ? ", or " : "",
                       key->word ? key->word : "");
    return dst;
}

/* --- unknown names --- */

/* Calls offer with every name directly in section, once. */
static void each_name(const struct config_table *t, struct span section,
                      void (*offer)(void *ctx, struct span name), void *ctx)
{
    struct span before = {0};

    for (size_t i = 0; i < t->n; i++) {
        const char *rest = below(section, t->keys[i].path);
        struct span name;

        if (!rest)
            continue;
        name = span_of(rest, span_find_char(span_cstr(rest), '.'));
        if (!span_eq(name, before)) /* sections stand together */
            offer(ctx, name);
        before = name;
    }
}

static void offer_suggestion(void *ctx, struct span name)
{
    suggest_offer(ctx, name);
}

struct name_list {
    char text[200];
    size_t n;
};

static void offer_to_list(void *ctx, struct span name)
{
    struct name_list *l = ctx;
    int n = snprintf(l->text + l->n, sizeof(l->text) - l->n, "%s%.*s", l->n > 0 ? ", " : "",
                     SPAN_ARG(name));

    if (n > 0 && l->n + (size_t)n < sizeof(l->text))
        l->n += (size_t)n;
    else
        l->text[l->n] = '\0'; /* no half name at the end */
}

/* "timeouts.connect" at the top, written as one key. */
static bool hint_nested(const struct config_table *t, struct span name, struct err *e)
{
    const struct config_key *key = config_table_find(t, name);
    const char *leaf;

    if (!key || span_find_char(name, '.') == name.n)
        return false;
    leaf = config_keys_leaf(key);
    err_hint(e, "write \"%.*s:\" and, indented on the next line, \"%s:\"",
             (int)(leaf - 1 - key->path), key->path, leaf);
    return true;
}

/* The right name, more or less, in the wrong place. */
static bool hint_elsewhere(const struct config_table *t, struct span name, struct err *e)
{
    struct suggest s;

    suggest_init(&s, name);
    for (size_t i = 0; i < t->n; i++)
        suggest_offer(&s, span_cstr(config_keys_leaf(&t->keys[i])));
    for (size_t i = 0; i < t->n && s.best.n > 0; i++) {
        if (config_keys_leaf(&t->keys[i]) == s.best.p) {
            err_hint(e, "did you mean \"%s\"?", t->keys[i].path);
            return true;
        }
    }
    return false;
}

void config_table_hint(const struct config_table *t, struct span section, struct span name,
                       struct err *e)
{
    struct name_list list = {.n = 0};
    struct suggest s;

    if (section.n == 0 && hint_nested(t, name, e))
        return;
    suggest_init(&s, name);
    each_name(t, section, offer_suggestion, &s);
    if (s.best.n > 0) {
        err_hint(e, "did you mean \"%.*s\"?", SPAN_ARG(s.best));
        return;
    }
    if (hint_elsewhere(t, name, e))
        return;
    each_name(t, section, offer_to_list, &list);
    err_hint(e, "known here: %s", list.text);
}
