/* SPDX-License-Identifier: Apache-2.0 */
/*
 * daemon/config_lists.c - lists: of addresses and of texts. One scalar stands for a list
 * of one.
 */
#include <errno.h>

#include "base/mem.h"
#include "base/suggest.h"
#include "daemon/config_values.h"
#include "io/addr.h"

enum { TEXT_BYTES_MAX = 200 };

/* --- lists of texts --- */

/* Makes *ret of the text of one item; -EINVAL with the mistake listed, -ENOMEM. */
typedef int item_take(const struct config_source *source, const struct config_key *key,
                      const struct yaml_node *item, char **ret);

void config_lists_texts_clear(const struct config_key *key, void *field)
{
    (void)key;
    struct config_texts *t = field;

    for (size_t i = 0; i < t->n; i++)
        mem_free(t->items[i]);
    mem_free(t->items);
    *t = (struct config_texts){0};
}

static int check_not_twice(const struct config_source *source, const struct config_key *key,
                           const struct yaml_node *item, const struct config_texts *t)
{
    char shown[ERR_LIST_SHOWN_MAX];
    struct err *e;

    for (size_t i = 0; i < t->n; i++) {
        if (span_eq(span_cstr(t->items[i]), yaml_span(item))) {
            e = config_keys_error(source, item);
            if (key->type->is_private)
                (void)err_set(e, -EEXIST, "\"%s\": an item stands twice", key->path);
            else
                (void)err_set(e, -EEXIST, "\"%s\": \"%s\" stands twice", key->path,
                              err_list_shown(yaml_span(item), shown));
            err_hint(e, "remove one of them");
            return -EINVAL;
        }
    }
    return 0;
}

/* The items of node: its children, or the node itself when it is no list. */
static const struct yaml_node *items_first(const struct yaml_node *node)
{
    return node->kind == YAML_NODE_LIST ? node->first : node;
}

static size_t items_count(const struct yaml_node *node)
{
    return node->kind == YAML_NODE_LIST ? node->n : 1;
}

static int check_count(const struct config_source *source, const struct config_key *key,
                       const struct yaml_node *node, size_t n)
{
    char range[CONFIG_RANGE_MAX];
    struct err *e;

    if (n >= (size_t)key->min && n <= (size_t)key->max)
        return 0;
    e = config_keys_error(source, node);
    (void)err_set(e, -EINVAL, n == 0 ? "\"%s\" is empty" : "\"%s\" has too many items", key->path);
    err_hint(e, "allowed: %s", config_keys_range(key, range));
    return -EINVAL;
}

/* Every item is looked at, so that all mistakes are listed. */
static int texts_take(const struct config_source *source, const struct config_key *key,
                      const struct yaml_node *node, item_take *take, struct config_texts *t)
{
    const struct yaml_node *item = items_first(node);
    int result = 0;

    for (size_t i = items_count(node); i > 0; i--, item = item->next) {
        int r = take(source, key, item, &t->items[t->n]);

        if (r == 0)
            r = check_not_twice(source, key, item, t);
        else
            t->items[t->n] = NULL;
        t->n++;
        if (r == -ENOMEM)
            return r;
        if (r < 0)
            result = r;
    }
    return result;
}

static int texts_set(const struct config_source *source, const struct config_key *key,
                     const struct yaml_node *node, bool is_append, item_take *take, void *field)
{
    struct config_texts *old = field;
    struct config_texts t = {0};
    size_t n_kept = is_append ? old->n : 0;
    int r = check_count(source, key, node, n_kept + items_count(node));

    if (r < 0)
        return r;
    t.items = mem_zalloc(n_kept + items_count(node) + 1, sizeof(*t.items));
    if (!t.items)
        return -ENOMEM;
    for (; t.n < n_kept; t.n++)
        t.items[t.n] = old->items[t.n];
    r = texts_take(source, key, node, take, &t);
    if (r < 0) {
        for (size_t i = 0; i < n_kept; i++)
            t.items[i] = NULL; /* still the old list's */
        config_lists_texts_clear(key, &t);
        return r;
    }
    if (is_append)
        old->n = 0; /* its texts have moved */
    config_lists_texts_clear(key, old);
    *old = t;
    return 0;
}

int config_lists_texts_format(const struct config_key *key, const void *field, struct buf *out)
{
    const struct config_texts *t = field;
    int r = buf_append(out, SPAN("["));

    (void)key;
    for (size_t i = 0; i < t->n && r == 0; i++) {
        if (i > 0)
            r = buf_append(out, SPAN(", "));
        if (r == 0)
            r = config_values_text(span_cstr(t->items[i]), out);
    }
    return r < 0 ? r : buf_append(out, SPAN("]"));
}

bool config_lists_texts_is_equal(const struct config_key *key, const void *a, const void *b)
{
    (void)key;
    const struct config_texts *ta = a, *tb = b;

    if (ta->n != tb->n)
        return false;
    for (size_t i = 0; i < ta->n; i++) {
        if (strcmp(ta->items[i], tb->items[i]) != 0)
            return false;
    }
    return true;
}

static int take_name(const struct config_source *source, const struct config_key *key,
                     const struct yaml_node *item, char **ret)
{
    if (item->kind == YAML_NODE_SCALAR && item->n == 0 && !item->is_plain)
        return err_set(config_keys_error(source, item), -EINVAL, "\"%s\" has an empty item",
                       key->path);
    if (item->is_plain && span_find_char(yaml_span(item), ',') < item->n) {
        struct err *e = config_keys_error(source, item);
        err_set(e, -EINVAL, "\"%s\": a name with a comma looks like several", key->path);
        err_hint(e, "write a list as [a, b]; put quotes around a name that has a comma");
        return -EINVAL;
    }
    return config_values_take_text(source, key, item, TEXT_BYTES_MAX, ret);
}

static int names_set(const struct config_source *source, const struct config_key *key,
                     const struct yaml_node *node, bool is_append, void *field)
{
    return texts_set(source, key, node, is_append, take_name, field);
}

const struct config_type config_type_texts = {
    .what = "a list of texts",
    .is_list = true,
    .set = names_set,
    .format = config_lists_texts_format,
    .is_equal = config_lists_texts_is_equal,
    .done = config_lists_texts_clear,
};

static int take_addr(const struct config_source *source, const struct config_key *key,
                     const struct yaml_node *item, char **ret)
{
    char *text = NULL;
    int r = config_type_addr.set(source, key, item, false, &text);

    if (r == 0)
        *ret = text;
    return r;
}

static int addrs_set(const struct config_source *source, const struct config_key *key,
                     const struct yaml_node *node, bool is_append, void *field)
{
    return texts_set(source, key, node, is_append, take_addr, field);
}

const struct config_type config_type_addrs = {
    .what = "an address or a list of them",
    .is_list = true,
    .set = addrs_set,
    .format = config_lists_texts_format,
    .is_equal = config_lists_texts_is_equal,
    .done = config_lists_texts_clear,
};
