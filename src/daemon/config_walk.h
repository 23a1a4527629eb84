/* SPDX-License-Identifier: Apache-2.0 */
/*
 * daemon/config_walk.h - private to daemon/config*: a YAML mapping, key by key, guided by a table.
 *
 * Role:      finds the row of every key, nested ones too; lists unknown keys and sections that are
 *            none. What becomes of a value is the visitor's.
 * Threading: plain values.
 */
#ifndef DAEMON_CONFIG_WALK_H
#define DAEMON_CONFIG_WALK_H

#include "daemon/config_keys.h"

struct config_walk {
    const struct config_table *table;
    const struct config_source *source;
    /* One key and its value; negative ends the walk. */
    int (*on_value)(struct config_walk *w, const struct config_key *key,
                    const struct yaml_node *node);
    bool has_unknown; /* a mistake of the walk's own was listed */
};

/* map is a mapping. 0, or what on_value ended with. */
int config_walk_map(struct config_walk *w, const struct yaml_node *map);

#endif
