/* SPDX-License-Identifier: Apache-2.0 */
/*
 * daemon/config_models.c - lists of texts in the forms that policy/routes.h takes.
 */
#include <errno.h>

#include "daemon/config_values.h"
#include "policy/routes.h"

typedef int check_text(const char *text, struct err *reterr);

/* The place of the i-th item. */
static const struct yaml_node *item_at(const struct yaml_node *node, size_t i)
{
    const struct yaml_node *item = node;

    if (node->kind != YAML_NODE_LIST)
        return node;
    for (item = node->first; i > 0; i--)
        item = item->next;
    return item;
}

/* The list as of any texts, then each item by its own rules. */
static int checked_set(const struct config_source *source, const struct config_key *key,
                       const struct yaml_node *node, bool is_append, check_text *check, void *field)
{
    struct config_texts list = {0};
    int result = config_type_texts.set(source, key, node, false, &list);

    if (result < 0)
        return result;
    for (size_t i = 0; i < list.n; i++) {
        struct err why = {0};

        if (check(list.items[i], &why) == 0)
            continue;
        *config_keys_error(source, item_at(node, i)) = why;
        result = -EINVAL;
    }
    config_type_texts.done(key, &list);
    return result < 0 ? result : config_type_texts.set(source, key, node, is_append, field);
}

static int models_set(const struct config_source *source, const struct config_key *key,
                      const struct yaml_node *node, bool is_append, void *field)
{
    return checked_set(source, key, node, is_append, routes_check_model, field);
}

static int aliases_set(const struct config_source *source, const struct config_key *key,
                       const struct yaml_node *node, bool is_append, void *field)
{
    return checked_set(source, key, node, is_append, routes_check_alias, field);
}

const struct config_type config_type_models = {
    .what = "a list of NAME, PREFIX*, NAME=SERVED",
    .is_list = true,
    .set = models_set,
    .format = config_lists_texts_format,
    .is_equal = config_lists_texts_is_equal,
    .done = config_lists_texts_clear,
};

const struct config_type config_type_aliases = {
    .what = "a list of NAME=MODEL",
    .is_list = true,
    .set = aliases_set,
    .format = config_lists_texts_format,
    .is_equal = config_lists_texts_is_equal,
    .done = config_lists_texts_clear,
};
