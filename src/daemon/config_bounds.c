/* SPDX-License-Identifier: Apache-2.0 */
/*
 * daemon/config_bounds.c - "metrics.bounds": histogram family -> list of bucket bounds.
 *
 * Families and their units are those of metrics/family.h. Bounds are kept as the raw integers that
 * histograms compare with, so that "250ms" is exactly that; what does not fit into them exactly is
 * refused instead of rounded.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/num.h"
#include "base/suggest.h"
#include "daemon/config_values.h"

enum { PER_UNIT_MILLI = 1000 };

/* --- families --- */

static bool is_histogram(enum metric m)
{
    return m != METRIC_COUNT_ && family_table[m].type == FAMILY_HISTOGRAM;
}

static int unknown_family(const struct config_source *source, const struct config_key *key,
                          const struct yaml_node *k)
{
    char shown[ERR_LIST_SHOWN_MAX];
    struct suggest s;
    struct err *e = config_keys_error(source, k);
    bool is_name = strspn(k->text, "abcdefghijklmnopqrstuvwxyz_") == k->n && k->n > 0;

    (void)err_set(e, -EINVAL,
                  is_name ? "\"%s\": there is no histogram \"%s\""
                          : "\"%s\": \"%s\" is not the name of a metric (letters a-z and _)",
                  key->path, err_list_shown(yaml_span(k), shown));
    suggest_init(&s, yaml_span(k));
    for (int m = 0; m < METRIC_COUNT_; m++) {
        if (is_histogram((enum metric)m))
            suggest_offer(&s, span_cstr(family_table[m].name));
    }
    if (s.best.n > 0)
        err_hint(e, "did you mean \"%.*s\"?", SPAN_ARG(s.best));
    else
        err_hint(e, "docs/METRICS.md lists them, for example llm_ttft_seconds");
    return -EINVAL;
}

/* --- one bound --- */

static const char *example_of(enum hist_unit unit)
{
    if (unit == HIST_NS)
        return "[100ms, 500ms, 2s]";
    return unit == HIST_COUNT ? "[16, 128, 1024]" : "[0.5, 1, 2]";
}

static int bad_number(const struct config_source *source, const struct config_key *key,
                      const struct yaml_node *item, enum hist_unit unit)
{
    char shown[ERR_LIST_SHOWN_MAX];
    struct err *e = config_keys_error(source, item);

    (void)err_set(e, -EINVAL, "\"%s\": \"%s\" is not a %s from %s", key->path,
                  err_list_shown(yaml_span(item), shown),
                  unit == HIST_COUNT ? "whole number" : "number with at most 3 decimals",
                  unit == HIST_COUNT ? "1 to 1000000000000" : "0.001 to 1000000000");
    err_hint(e, "for example %s", example_of(unit));
    return -EINVAL;
}

/* "1.25" -> 1250, exactly; the unit of a duration in ms does just that. */
static int parse_milli(struct span s, int64_t *ret)
{
    char text[32];
    int64_t ns;
    int n = s.n < sizeof(text) - 2 ? snprintf(text, sizeof(text), "%.*sms", SPAN_ARG(s)) : -1;

    if (n < 0 || (size_t)n != s.n + 2 || num_parse_duration(span_of(text, (size_t)n), &ns) < 0 ||
        ns % NS_PER_US != 0)
        return -EINVAL;
    *ret = ns / NS_PER_US;
    return 0;
}

static int take_bound(const struct config_source *source, const struct config_key *key,
                      const struct yaml_node *item, enum hist_unit unit, int64_t *ret)
{
    static const int64_t max_raw = INT64_C(1000000000000); /* of counts and thousandths */
    struct span s = yaml_span(item);
    int r = config_values_need_scalar(source, key, item);
    int64_t v = 0;

    if (r < 0)
        return r;
    switch (unit) {
    case HIST_NS:
        r = config_values_parse_duration(source, key, item, &v);
        if (r < 0)
            return r;
        break;
    case HIST_COUNT:
        if (num_parse_i64(s, &v) < 0 || v > max_raw)
            return bad_number(source, key, item, unit);
        break;
    default:
        if (parse_milli(s, &v) < 0 || v > max_raw)
            return bad_number(source, key, item, unit);
        break;
    }
    if (v <= 0)
        return err_set(config_keys_error(source, item), -EINVAL,
                       "\"%s\": a bound has to be larger than 0", key->path);
    *ret = v;
    return 0;
}

/* --- one family --- */

static int take_values(const struct config_source *source, const struct config_key *key,
                       const struct yaml_node *list, enum hist_unit unit, int64_t *values)
{
    size_t i = 0;

    for (const struct yaml_node *item = list->first; item; item = item->next, i++) {
        int r = take_bound(source, key, item, unit, &values[i]);
        struct err *e;

        if (r < 0)
            return r;
        if (i > 0 && values[i] <= values[i - 1]) {
            e = config_keys_error(source, item);
            (void)err_set(e, -EINVAL, "\"%s\": %s is not larger than the bound before it",
                          key->path, item->text);
            err_hint(e, "bounds ascend");
            return -EINVAL;
        }
    }
    return 0;
}

static int take_family(const struct config_source *source, const struct config_key *key,
                       const struct yaml_node *k, struct metrics_bounds *b)
{
    const struct yaml_node *list = k->value;
    enum metric m;
    int64_t *values;
    struct err *e;
    int r;

    if (k->kind == YAML_NODE_BAD || !list || list->kind == YAML_NODE_BAD)
        return -EINVAL; /* listed already */
    m = strlen(k->text) == k->n ? family_find(k->text) : METRIC_COUNT_;
    if (!is_histogram(m))
        return unknown_family(source, key, k);
    if (list->kind != YAML_NODE_LIST || list->n == 0 || list->n > HIST_BOUNDS_MAX) {
        e = config_keys_error(source, list);
        (void)err_set(e, -EINVAL, "\"%s\": \"%s\" needs a list of 1 to %d bounds", key->path,
                      k->text, HIST_BOUNDS_MAX);
        err_hint(e, "for example %s", example_of(family_table[m].hist_unit));
        return -EINVAL;
    }
    values = mem_zalloc(list->n, sizeof(*values));
    if (!values)
        return -ENOMEM;
    r = take_values(source, key, list, family_table[m].hist_unit, values);
    if (r < 0) {
        mem_free(values);
        return r;
    }
    *b = (struct metrics_bounds){.metric = m, .values = values, .n = list->n};
    return 0;
}

/* --- the type --- */

void config_bounds_clear(struct config_bounds *b)
{
    for (size_t i = 0; i < b->n; i++) {
        void *values; /* const for their users only */

        memcpy(&values, &b->items[i].values, sizeof(values));
        mem_free(values);
    }
    mem_free(b->items);
    *b = (struct config_bounds){0};
}

static void bounds_clear(const struct config_key *key, void *field)
{
    (void)key;
    config_bounds_clear(field);
}

/* In the order of families, so that the order in the file is no difference. */
static void bounds_insert(struct config_bounds *b, struct metrics_bounds family)
{
    size_t i = b->n++;

    for (; i > 0 && b->items[i - 1].metric > family.metric; i--)
        b->items[i] = b->items[i - 1];
    b->items[i] = family;
}

static int bounds_set(const struct config_source *source, const struct config_key *key,
                      const struct yaml_node *node, bool is_append, void *field)
{
    struct config_bounds b = {0};
    int result = 0;

    (void)is_append;
    if (yaml_is_null(node))
        return config_values_need_scalar(source, key, node);
    if (config_values_need_map(source, key, node) < 0)
        return -EINVAL;
    b.items = mem_zalloc(node->n + 1, sizeof(*b.items));
    if (!b.items)
        return -ENOMEM;
    for (const struct yaml_node *k = node->first; k; k = k->next) {
        struct metrics_bounds family;
        int r = take_family(source, key, k, &family);

        if (r == 0)
            bounds_insert(&b, family);
        if (r < 0)
            result = r;
        if (r == -ENOMEM)
            break;
    }
    if (result < 0) {
        bounds_clear(key, &b);
        return result;
    }
    bounds_clear(key, field);
    *(struct config_bounds *)field = b;
    return 0;
}

static int format_bound(enum hist_unit unit, int64_t raw, struct buf *out)
{
    char text[32];
    int decimals = PER_UNIT_MILLI;

    if (unit == HIST_NS) {
        config_values_duration(raw, text, sizeof(text));
        return buf_append(out, span_cstr(text));
    }
    if (unit == HIST_COUNT)
        return buf_printf(out, "%" PRId64, raw);
    if (raw % decimals == 0)
        return buf_printf(out, "%" PRId64, raw / decimals);
    return buf_printf(out, "%" PRId64 ".%03d", raw / decimals, (int)(raw % decimals));
}

static int bounds_format(const struct config_key *key, const void *field, struct buf *out)
{
    const struct config_bounds *b = field;
    int r = buf_append(out, SPAN("{"));

    (void)key;
    for (size_t i = 0; i < b->n && r == 0; i++) {
        const struct family *f = &family_table[b->items[i].metric];

        r = buf_printf(out, "%s%s: [", i > 0 ? ", " : "", f->name);
        for (size_t j = 0; j < b->items[i].n && r == 0; j++) {
            r = j > 0 ? buf_append(out, SPAN(", ")) : 0;
            if (r == 0)
                r = format_bound(f->hist_unit, b->items[i].values[j], out);
        }
        if (r == 0)
            r = buf_append(out, SPAN("]"));
    }
    return r < 0 ? r : buf_append(out, SPAN("}"));
}

static bool bounds_is_equal(const struct config_key *key, const void *a, const void *b)
{
    (void)key;
    const struct config_bounds *ba = a, *bb = b;

    if (ba->n != bb->n)
        return false;
    for (size_t i = 0; i < ba->n; i++) {
        const struct metrics_bounds *x = &ba->items[i], *y = &bb->items[i];

        if (x->metric != y->metric || x->n != y->n ||
            memcmp(x->values, y->values, x->n * sizeof(*x->values)) != 0)
            return false;
    }
    return true;
}

const struct config_type config_type_bounds = {
    .what = "a mapping from histograms to bounds",
    .set = bounds_set,
    .format = bounds_format,
    .is_equal = bounds_is_equal,
    .done = bounds_clear,
};
