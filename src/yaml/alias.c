/* SPDX-License-Identifier: Apache-2.0 */
/*
 * yaml/alias.c - anchors, aliases and merge keys, where a reader asked for them.
 *
 * An alias becomes a copy, node by node, each counted like one that was written: ten lines that
 * stand for a billion values end at the same limit as a text of that many. An anchor is known when
 * its value is complete, so no value can contain itself.
 */
#include <errno.h>

#include "base/mem.h"
#include "yaml/tree_private.h"

enum { ANCHORS_MAX = 1000 }; /* looked through one by one */

static int grow(struct yaml_reader *rd)
{
    size_t cap = rd->_cap > 0 ? 2 * rd->_cap : 8;
    struct yaml_anchor *p;

    if (rd->n_anchors < rd->_cap)
        return 0;
    p = mem_realloc(rd->anchors, cap * sizeof(*p));
    if (!p)
        return -ENOMEM;
    rd->anchors = p;
    rd->_cap = cap;
    return 0;
}

int yaml_anchor_begin(struct yaml_reader *rd, yaml_mark_t mark, const char *name, size_t *ret_i)
{
    struct yaml_anchor *a;

    if (rd->n_anchors == ANCHORS_MAX) {
        struct err *e = yaml_error_at_mark(rd, mark);
        (void)err_set(e, -E2BIG, "more than %d anchors", ANCHORS_MAX);
        err_hint(e, "write the values out, or make several files of it");
        return -EBADMSG;
    }
    if (grow(rd) < 0)
        return -ENOMEM;
    a = &rd->anchors[rd->n_anchors];
    a->node = NULL;
    a->name = mem_strdup(name);
    if (!a->name)
        return -ENOMEM;
    *ret_i = rd->n_anchors++;
    return 0;
}

void yaml_anchor_set(struct yaml_reader *rd, size_t i, const struct yaml_node *node)
{
    rd->anchors[i].node = node;
}

void yaml_anchors_done(struct yaml_reader *rd)
{
    for (size_t i = 0; i < rd->n_anchors; i++)
        mem_free(rd->anchors[i].name);
    mem_free(rd->anchors);
}

static int count_copy(struct yaml_reader *rd, const struct yaml_node *node)
{
    struct err *e;

    rd->n_copied += node->n;
    if (rd->n_copied <= rd->options.bytes_max)
        return 0;
    e = yaml_error_at(rd, node->line, node->column);
    (void)err_set(e, -E2BIG, "aliases make more than %zu KiB of this file",
                  rd->options.bytes_max / 1024);
    err_hint(e, "use fewer aliases of long texts");
    return -EBADMSG;
}

static int copy(struct yaml_reader *rd, const struct yaml_node *from, int depth,
                struct yaml_node **slot);

static int copy_children(struct yaml_reader *rd, const struct yaml_node *from, int depth,
                         struct yaml_node *to)
{
    struct yaml_node **slot = &to->first;
    int r = 0;

    for (const struct yaml_node *c = from->first; c && r == 0; c = c->next) {
        if (from->kind == YAML_NODE_MAP && c->kind == YAML_NODE_BAD) {
            to->n--; /* it has said what it had to, and what "<<" brought is here */
            continue;
        }
        r = copy(rd, c, depth + 1, slot);
        if (r == 0 && c->value)
            r = copy(rd, c->value, depth + 1, &(*slot)->value);
        if (r == 0)
            slot = &(*slot)->next;
    }
    return r;
}

/* What could not be copied to its end is in *slot all the same, so that it is freed with the rest.
 */
static int copy(struct yaml_reader *rd, const struct yaml_node *from, int depth,
                struct yaml_node **slot)
{
    bool is_text = from->kind == YAML_NODE_SCALAR;
    int r = yaml_count_node(rd, from->line, from->column, depth);
    struct yaml_node *to;

    if (r == 0 && is_text)
        r = count_copy(rd, from);
    if (r < 0)
        return r;
    to = yaml_node_new(from->kind, is_text ? yaml_span(from) : SPAN(""));
    if (!to)
        return -ENOMEM;
    to->line = from->line;
    to->column = from->column;
    to->is_plain = from->is_plain;
    to->n = from->n;
    *slot = to;
    return copy_children(rd, from, depth, to);
}

int yaml_alias(struct yaml_reader *rd, yaml_mark_t mark, const char *name, int depth,
               struct yaml_node **slot)
{
    char shown[ERR_LIST_SHOWN_MAX];
    size_t i = rd->n_anchors;
    struct yaml_node *bad;
    struct err *e;

    while (i > 0 && strcmp(rd->anchors[i - 1].name, name) != 0)
        i--;
    if (i > 0 && rd->anchors[i - 1].node)
        return copy(rd, rd->anchors[i - 1].node, depth, slot);
    bad = yaml_node_new(YAML_NODE_BAD, SPAN(""));
    if (!bad)
        return -ENOMEM;
    bad->line = (int)mark.line + 1;
    bad->column = (int)mark.column + 1;
    *slot = bad;
    e = yaml_error_at_mark(rd, mark);
    err_list_shown(span_cstr(name), shown);
    if (i > 0) {
        (void)err_set(e, -EINVAL, "alias \"*%s\" stands inside of its own anchor", shown);
        err_hint(e, "a value cannot contain itself; write it out");
        return 0;
    }
    (void)err_set(e, -EINVAL, "alias \"*%s\" has no anchor above it", shown);
    err_hint(e,
             "write &%s in front of the value that is meant, or put texts that begin with * in "
             "quotes",
             shown);
    return 0;
}

static bool is_merge_key(const struct yaml_node *key)
{
    return key->kind == YAML_NODE_SCALAR && key->is_plain && span_eq(yaml_span(key), SPAN("<<"));
}

static bool has_key(const struct yaml_node *map, const struct yaml_node *key)
{
    for (const struct yaml_node *k = map->first; k; k = k->next)
        if (k->kind == YAML_NODE_SCALAR && span_eq(yaml_span(k), yaml_span(key)))
            return true;
    return false;
}

static int too_many_keys(struct yaml_reader *rd, const struct yaml_node *map)
{
    struct err *e = yaml_error_at(rd, map->line, map->column);

    (void)err_set(e, -E2BIG, "more than %zu keys in one mapping, merged ones included",
                  rd->options.keys_max);
    err_hint(e, "no configuration needs so many; is this the right file?");
    return -EBADMSG;
}

/* Keys that the mapping has already stay. */
static int merge_map(struct yaml_reader *rd, struct yaml_node *map, const struct yaml_node *from,
                     int depth)
{
    struct yaml_node **slot = &map->first;
    int r = 0;

    while (*slot)
        slot = &(*slot)->next;
    for (const struct yaml_node *k = from->first; k && r == 0; k = k->next) {
        if (k->kind != YAML_NODE_SCALAR || has_key(map, k))
            continue;
        if (map->n >= rd->options.keys_max)
            return too_many_keys(rd, map);
        r = copy(rd, k, depth + 1, slot);
        if (r == 0 && k->value)
            r = copy(rd, k->value, depth + 1, &(*slot)->value);
        if (*slot) {
            slot = &(*slot)->next;
            map->n++;
        }
    }
    return r;
}

static int merge_value(struct yaml_reader *rd, struct yaml_node *map, const struct yaml_node *value,
                       int depth)
{
    struct err *e;

    if (!value || value->kind == YAML_NODE_BAD)
        return 0;
    if (value->kind == YAML_NODE_MAP)
        return merge_map(rd, map, value, depth);
    e = yaml_error_at(rd, value->line, value->column);
    (void)err_set(e, -EINVAL, "\"<<\" wants a mapping, or a list of mappings");
    err_hint(e, "name the anchor of a mapping: \"<<: *defaults\"");
    return 0;
}

int yaml_merge(struct yaml_reader *rd, struct yaml_node *map, int depth)
{
    struct yaml_node *key = map->first;
    int r = 0;

    while (key && !is_merge_key(key))
        key = key->next;
    if (!key)
        return 0;
    key->kind = YAML_NODE_BAD; /* it has said what it had to */
    if (!key->value || key->value->kind != YAML_NODE_LIST)
        return merge_value(rd, map, key->value, depth);
    for (const struct yaml_node *v = key->value->first; v && r == 0; v = v->next)
        r = merge_value(rd, map, v, depth);
    return r;
}
