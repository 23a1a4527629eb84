/* SPDX-License-Identifier: Apache-2.0 */
/*
 * daemon/config_items.h - private to daemon/config*: lists of mappings, each item by a table of its
 * own.
 *
 * Role:      "upstreams" and its like. The rows of an item's table are struct config_key with
 *            offsets in the item, so that every kind of value works there as it does at the top.
 * Ownership: the list owns its items; items are cleared by the types of their keys.
 * Threading: plain values.
 */
#ifndef DAEMON_CONFIG_ITEMS_H
#define DAEMON_CONFIG_ITEMS_H

#include "daemon/config_keys.h"

/* How such a list lies in struct config: every struct with these two members. */
struct config_items {
    void *items;
    size_t n;
};

struct config_item {
    struct config_table table;
    size_t size;                       /* of an item */
    const char *noun;                  /* "an upstream" */
    const struct config_key *one_word; /* the key that a scalar in place of a mapping tells */
    /* Checks what has to fit together and fills in what was not told. -EINVAL: listed; -ENOMEM.
     * NULL: nothing has to. */
    int (*finish)(const struct config_source *source, const struct yaml_node *node, void *item);
    /* Name of an item; no two of a list may have the same. */
    const char *(*name)(const void *item);
};

/* Whether keys of that class differ, or (CONFIG_RESTART) the number of items. */
bool config_items_differ(const struct config_key *key, const void *a, const void *b,
                         enum config_reload class);

#endif
