/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/config_walk.h"

#include <errno.h>

#include "daemon/config_values.h"

enum { PATH_BYTES_MAX = 96 }; /* longer than every key's path */

static void unknown_key(struct config_walk *w, struct span section, const struct yaml_node *k)
{
    char shown[ERR_LIST_SHOWN_MAX];
    struct err *e = config_keys_error(w->source, k);

    w->has_unknown = true;
    err_list_shown(yaml_span(k), shown);
    if (section.n > 0)
        (void)err_set(e, -EINVAL, "unknown key \"%s\" in \"%.*s\"%s", shown, SPAN_ARG(section),
                      w->table->of);
    else
        (void)err_set(e, -EINVAL, "unknown key \"%s\"%s", shown, w->table->of);
    config_table_hint(w->table, section, yaml_span(k), e);
}

/* "section.name", or false when no key can be called so. */
static bool join_path(struct span section, const struct yaml_node *k, char *dst, size_t cap,
                      struct span *ret_path)
{
    size_t n_dot = section.n > 0;
    struct span path = {dst, section.n + n_dot + k->n};

    /* A dot in a name is no nesting: the same key could then stand twice. */
    if (path.n >= cap || span_find_char(yaml_span(k), '.') < k->n)
        return false;
    (void)span_copy(section, dst, cap);
    (void)span_copy(SPAN("."), dst + section.n, n_dot + 1);
    (void)span_copy(yaml_span(k), dst + section.n + n_dot, k->n + 1);
    *ret_path = path;
    return true;
}

static int walk(struct config_walk *w, struct span section, const struct yaml_node *map);

static int walk_section(struct config_walk *w, struct span path, const struct yaml_node *node)
{
    if (node->kind == YAML_NODE_MAP)
        return walk(w, path, node);
    if (node->kind != YAML_NODE_BAD && !yaml_is_null(node)) {
        struct err *e = config_keys_error(w->source, node);

        w->has_unknown = true;
        (void)err_set(e, -EINVAL, "\"%.*s\"%s has to be a mapping of keys, not %s", SPAN_ARG(path),
                      w->table->of, config_values_kind(node));
        config_table_hint(w->table, path, SPAN(""), e);
    }
    return 0;
}

static int walk(struct config_walk *w, struct span section, const struct yaml_node *map)
{
    int r = 0;

    for (const struct yaml_node *k = map->first; k && r == 0; k = k->next) {
        char text[PATH_BYTES_MAX];
        struct span path;
        const struct config_key *key;

        if (k->kind == YAML_NODE_BAD || !k->value)
            continue; /* listed already */
        if (!join_path(section, k, text, sizeof(text), &path)) {
            unknown_key(w, section, k);
            continue;
        }
        key = config_table_find(w->table, path);
        if (key)
            r = w->on_value(w, key, k->value);
        else if (config_table_is_section(w->table, path))
            r = walk_section(w, path, k->value);
        else
            unknown_key(w, section, k);
    }
    return r;
}

int config_walk_map(struct config_walk *w, const struct yaml_node *map)
{
    return walk(w, SPAN(""), map);
}
