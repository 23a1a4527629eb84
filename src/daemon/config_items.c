/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/config_items.h"

#include <errno.h>

#include "base/mem.h"
#include "daemon/config_values.h"
#include "daemon/config_walk.h"

static struct config_items list_of(const void *field)
{
    struct config_items list;

    memcpy(&list, field, sizeof(list));
    return list;
}

static void *item_at(const struct config_item *type, const struct config_items *list, size_t i)
{
    return (char *)list->items + i * type->size;
}

/* --- one item --- */

static void item_done(const struct config_item *type, void *item)
{
    for (size_t i = 0; i < type->table.n; i++) {
        const struct config_key *key = &type->table.keys[i];

        if (key->type->done)
            key->type->done(key, config_keys_field(key, item));
    }
    memset(item, 0, type->size);
}

static int item_set(const struct config_source *source, const struct config_key *key,
                    const struct yaml_node *node, void *item)
{
    if (node->kind == YAML_NODE_BAD || node->is_cut)
        return -EINVAL; /* why is listed already */
    return key->type->set(source, key, node, false, config_keys_field(key, item));
}

static int item_default(const struct config_key *key, void *item)
{
    struct err_list errs;
    const struct config_source source = {"default", &errs};
    struct yaml_node *node = NULL;
    int r;

    err_list_init(&errs);
    if (!key->type->is_scalar && (*key->def == '[' || *key->def == '{'))
        r = yaml_read(span_cstr(key->def), "default", &node, &errs);
    else
        r = (node = yaml_scalar(span_cstr(key->def))) ? 0 : -ENOMEM;
    if (r == 0)
        r = item_set(&source, key, node, item);
    yaml_free(node);
    return r;
}

static int item_defaults(const struct config_item *type, void *item)
{
    int r = 0;

    for (size_t i = 0; i < type->table.n && r == 0; i++) {
        if (type->table.keys[i].def)
            r = item_default(&type->table.keys[i], item);
    }
    return r;
}

struct item_walk {
    struct config_walk walk;
    void *item;
    struct config_key_set seen; /* right or wrong */
    bool has_mistake;
};

static int on_value(struct config_walk *w, const struct config_key *key,
                    const struct yaml_node *node)
{
    struct item_walk *iw = CONTAINER_OF(w, struct item_walk, walk);
    int r = item_set(w->source, key, node, iw->item);

    config_key_set_add(&iw->seen, (size_t)(key - w->table->keys));
    if (r < 0)
        iw->has_mistake = true;
    return r == -ENOMEM ? r : 0;
}

static void check_required(struct item_walk *iw, const struct config_item *type,
                           const struct yaml_node *map)
{
    for (size_t i = 0; i < type->table.n; i++) {
        const struct config_key *key = &type->table.keys[i];
        struct err *e;

        if (key->def || config_key_set_has(&iw->seen, i))
            continue;
        iw->has_mistake = true;
        e = config_keys_error(iw->walk.source, map);
        (void)err_set(e, -EINVAL, "%s without \"%s\"", type->noun, key->path);
        err_hint(e, "add %s: %s", key->path, key->example);
    }
}

static int item_take_map(const struct config_source *source, const struct config_item *type,
                         const struct yaml_node *map, void *item)
{
    struct item_walk iw = {.walk = {.table = &type->table, .source = source, .on_value = on_value},
                           .item = item};
    int r = config_walk_map(&iw.walk, map);

    if (r < 0)
        return r;
    check_required(&iw, type, map);
    return iw.has_mistake || iw.walk.has_unknown ? -EINVAL : 0;
}

static int item_take(const struct config_source *source, const struct config_item *type,
                     const struct yaml_node *node, void *item)
{
    int r = item_defaults(type, item);

    if (r < 0)
        return r;
    if (node->kind == YAML_NODE_MAP)
        r = item_take_map(source, type, node, item);
    else
        r = item_set(source, type->one_word, node, item);
    if (r == 0 && type->finish)
        r = type->finish(source, node, item);
    return r;
}

/* --- the list --- */

static void items_done(const struct config_item *type, struct config_items *list)
{
    for (size_t i = 0; i < list->n; i++)
        item_done(type, item_at(type, list, i));
    mem_free(list->items);
    *list = (struct config_items){0};
}

static const struct yaml_node *first_of(const struct yaml_node *node)
{
    return node->kind == YAML_NODE_LIST ? node->first : node;
}

static size_t count_of(const struct yaml_node *node)
{
    return node->kind == YAML_NODE_LIST ? node->n : 1;
}

static int check_kind(const struct config_source *source, const struct config_key *key,
                      const struct yaml_node *node)
{
    struct err *e;

    if (node->kind != YAML_NODE_MAP)
        return 0;
    e = config_keys_error(source, node);
    (void)err_set(e, -EINVAL, "\"%s\" has to be a list, not a mapping", key->path);
    err_hint(e, "put \"- \" in front of the first key of each item");
    return -EINVAL;
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
    err_hint(e, "allowed: %s, for example %s", config_keys_range(key, range), key->example);
    return -EINVAL;
}

static int check_not_twice(const struct config_source *source, const struct config_item *type,
                           const struct yaml_node *node, const struct config_items *list,
                           const void *item)
{
    const char *name = type->name(item);

    for (size_t i = 0; i < list->n; i++) {
        struct err *e;

        if (strcmp(type->name(item_at(type, list, i)), name) != 0)
            continue;
        e = config_keys_error(source, node);
        (void)err_set(e, -EINVAL, "%s \"%s\" stands twice", type->noun, name);
        err_hint(e, "remove one of them, or give it another name");
        return -EINVAL;
    }
    return 0;
}

/* Every item is looked at, so that all mistakes are listed. list grows with each. */
static int take_all(const struct config_source *source, const struct config_key *key,
                    const struct yaml_node *node, struct config_items *list)
{
    const struct yaml_node *item = first_of(node);
    int result = 0;

    for (size_t i = count_of(node); i > 0; i--, item = item->next) {
        void *at = item_at(key->item, list, list->n);
        int r = item_take(source, key->item, item, at);

        if (r == 0)
            r = check_not_twice(source, key->item, item, list, at);
        if (r == -ENOMEM || r == 0)
            list->n++;
        else
            item_done(key->item, at);
        if (r == -ENOMEM)
            return r;
        if (r < 0)
            result = r;
    }
    return result;
}

static int items_set(const struct config_source *source, const struct config_key *key,
                     const struct yaml_node *node, bool is_append, void *field)
{
    struct config_items old = list_of(field);
    struct config_items list = {0};
    size_t n_kept = is_append ? old.n : 0;
    int r = check_kind(source, key, node);

    if (r == 0)
        r = check_count(source, key, node, n_kept + count_of(node));
    if (r < 0)
        return r;
    list.items = mem_zalloc(n_kept + count_of(node) + 1, key->item->size);
    if (!list.items)
        return -ENOMEM;
    if (n_kept > 0)
        memcpy(list.items, old.items, n_kept * key->item->size);
    list.n = n_kept;
    r = take_all(source, key, node, &list);
    if (r < 0) {
        if (n_kept > 0)
            memset(list.items, 0, n_kept * key->item->size); /* still the old list's */
        items_done(key->item, &list);
        return r;
    }
    if (n_kept > 0)
        old.n = 0; /* its items have moved */
    items_done(key->item, &old);
    memcpy(field, &list, sizeof(list));
    return 0;
}

/* --- as text --- */

static int key_format(const struct config_key *key, const void *item, const char *separator,
                      struct buf *out)
{
    int r = buf_printf(out, "%s%s: ", separator, config_keys_leaf(key));

    return r < 0 ? r : key->type->format(key, config_keys_const_field(key, item), out);
}

/* Keys that are as by default are left out; a section is a mapping of its own. */
static int item_format(const struct config_item *type, const void *item, const void *defaults,
                       struct buf *out)
{
    struct span section = SPAN("");
    const char *separator = "";
    int r = buf_append(out, SPAN("{"));

    for (size_t i = 0; i < type->table.n && r == 0; i++) {
        const struct config_key *key = &type->table.keys[i];
        struct span own = config_keys_section(key);

        if (key->def && key->type->is_equal(key, config_keys_const_field(key, item),
                                            config_keys_const_field(key, defaults)))
            continue;
        if (!span_eq(own, section)) {
            r = buf_printf(out, "%s%s", section.n > 0 ? "}" : "", separator);
            if (r == 0 && own.n > 0)
                r = buf_printf(out, "%.*s: {", SPAN_ARG(own));
            section = own;
            separator = "";
        }
        if (r == 0)
            r = key_format(key, item, separator, out);
        separator = ", ";
    }
    return r < 0 ? r : buf_append(out, section.n > 0 ? SPAN("}}") : SPAN("}"));
}

static int items_format(const struct config_key *key, const void *field, struct buf *out)
{
    struct config_items list = list_of(field);
    void *defaults = mem_zalloc(1, key->item->size);
    int r = defaults ? item_defaults(key->item, defaults) : -ENOMEM;

    if (r == 0)
        r = buf_append(out, SPAN("["));
    for (size_t i = 0; i < list.n && r == 0; i++) {
        if (i > 0)
            r = buf_append(out, SPAN(", "));
        if (r == 0)
            r = item_format(key->item, item_at(key->item, &list, i), defaults, out);
    }
    if (defaults)
        item_done(key->item, defaults);
    mem_free(defaults);
    return r < 0 ? r : buf_append(out, SPAN("]"));
}

/* --- compared --- */

static bool item_differs(const struct config_item *type, const void *a, const void *b,
                         enum config_reload class)
{
    for (size_t i = 0; i < type->table.n; i++) {
        const struct config_key *key = &type->table.keys[i];

        if (key->reload == class && !key->type->is_equal(key, config_keys_const_field(key, a),
                                                         config_keys_const_field(key, b)))
            return true;
    }
    return false;
}

bool config_items_differ(const struct config_key *key, const void *a, const void *b,
                         enum config_reload class)
{
    struct config_items la = list_of(a), lb = list_of(b);

    if (la.n != lb.n)
        return class == key->reload;
    for (size_t i = 0; i < la.n; i++) {
        if (item_differs(key->item, item_at(key->item, &la, i), item_at(key->item, &lb, i), class))
            return true;
    }
    return false;
}

static bool items_is_equal(const struct config_key *key, const void *a, const void *b)
{
    return !config_items_differ(key, a, b, CONFIG_RELOAD) &&
           !config_items_differ(key, a, b, CONFIG_RESTART);
}

static void items_clear(const struct config_key *key, void *field)
{
    struct config_items list = list_of(field);

    items_done(key->item, &list);
    memcpy(field, &list, sizeof(list));
}

const struct config_type config_type_items = {
    .what = "a list of mappings",
    .is_list = true,
    .set = items_set,
    .format = items_format,
    .is_equal = items_is_equal,
    .done = items_clear,
};
