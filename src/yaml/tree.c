/* SPDX-License-Identifier: Apache-2.0 */
/*
 * yaml/tree.c - libyaml's events -> struct yaml_node.
 *
 * The tree is built here and not by yaml_parser_load, which expands aliases, recurses without a
 * bound and gives up at the first mistake. Every event carries the place it came from. A refused
 * construct (anchor, tag, duplicate key) is listed and reading goes on; only a text that libyaml
 * cannot follow, or one over a limit, ends it, and then what was read so far is still handed out.
 */
#include "yaml/tree.h"

#include <errno.h>
#include <stdint.h>

#include "base/mem.h"
#include "yaml/tree_private.h"

struct err *yaml_error_at(struct yaml_reader *rd, int line, int column)
{
    rd->has_mistakes = true;
    return err_list_add(rd->errs, rd->where, line, column);
}

struct err *yaml_error_at_mark(struct yaml_reader *rd, yaml_mark_t mark)
{
    return yaml_error_at(rd, (int)mark.line + 1, (int)mark.column + 1);
}

struct yaml_node *yaml_free(struct yaml_node *node)
{
    while (node) {
        struct yaml_node *next = node->next;

        yaml_free(node->first); /* at most YAML_DEPTH_MAX deep */
        yaml_free(node->value);
        mem_free(node);
        node = next;
    }
    return NULL;
}

struct yaml_node *yaml_node_new(enum yaml_node_kind kind, struct span text)
{
    struct yaml_node *node = mem_zalloc(1, sizeof(*node) + text.n + 1);

    if (!node)
        return NULL;
    node->kind = kind;
    node->n = text.n;
    if (text.n > 0)
        memcpy(node->text, text.p, text.n);
    return node;
}

struct yaml_node *yaml_scalar(struct span text)
{
    return yaml_node_new(YAML_NODE_SCALAR, text);
}

static int next_event(struct yaml_reader *rd, yaml_event_t *ret_event)
{
    return yaml_parser_parse(&rd->parser, ret_event) ? 0 : yaml_syntax_error(rd);
}

/* --- nodes --- */

static struct span yaml_text(const yaml_char_t *text, size_t n)
{
    return span_of(text, n);
}

static void refuse_extras(struct yaml_reader *rd, yaml_mark_t mark, const yaml_char_t *anchor,
                          const yaml_char_t *tag)
{
    char shown[ERR_LIST_SHOWN_MAX];
    struct err *e;

    if (anchor && !rd->options.has_aliases) {
        e = yaml_error_at_mark(rd, mark);
        (void)err_set(e, -EINVAL, "anchor \"&%s\" is not supported",
                      err_list_shown(span_cstr((const char *)anchor), shown));
        err_hint(e, "write the value out, or put texts that begin with & in quotes");
    }
    if (tag) {
        e = yaml_error_at_mark(rd, mark);
        (void)err_set(e, -EINVAL, "tag \"%s\" is not supported",
                      err_list_shown(span_cstr((const char *)tag), shown));
        err_hint(e, "remove it, or put texts that begin with ! in quotes");
    }
}

static int refuse_alias(struct yaml_reader *rd, yaml_mark_t mark, const char *name,
                        struct yaml_node **slot)
{
    char shown[ERR_LIST_SHOWN_MAX];
    struct err *e = yaml_error_at_mark(rd, mark);

    (void)err_set(e, -EINVAL, "alias \"*%s\" is not supported",
                  err_list_shown(span_cstr(name), shown));
    err_hint(e, "write the value out, or put texts that begin with * in quotes");
    *slot = yaml_node_new(YAML_NODE_BAD, SPAN(""));
    if (!*slot)
        return -ENOMEM;
    (*slot)->line = (int)mark.line + 1;
    (*slot)->column = (int)mark.column + 1;
    return 0;
}

static int read_alias(struct yaml_reader *rd, yaml_event_t *event, int depth,
                      struct yaml_node **slot)
{
    const char *name = (const char *)event->data.alias.anchor;
    yaml_mark_t mark = event->start_mark;
    int r = yaml_count_node(rd, (int)mark.line + 1, (int)mark.column + 1, depth);

    if (r == 0)
        r = rd->options.has_aliases ? yaml_alias(rd, mark, name, depth, slot)
                                    : refuse_alias(rd, mark, name, slot);
    yaml_event_delete(event);
    return r;
}

static const char *anchor_of_event(const yaml_event_t *event)
{
    const yaml_char_t *anchor =
        event->type == YAML_SCALAR_EVENT           ? event->data.scalar.anchor
        : event->type == YAML_SEQUENCE_START_EVENT ? event->data.sequence_start.anchor
        : event->type == YAML_MAPPING_START_EVENT  ? event->data.mapping_start.anchor
                                                   : NULL;
    return (const char *)anchor;
}

static struct yaml_node *node_of_event(struct yaml_reader *rd, const yaml_event_t *event)
{
    struct yaml_node *node = NULL;

    switch (event->type) {
    case YAML_SCALAR_EVENT:
        refuse_extras(rd, event->start_mark, event->data.scalar.anchor, event->data.scalar.tag);
        node = yaml_node_new(YAML_NODE_SCALAR,
                             yaml_text(event->data.scalar.value, event->data.scalar.length));
        if (node)
            node->is_plain = event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
        return node;
    case YAML_SEQUENCE_START_EVENT:
        refuse_extras(rd, event->start_mark, event->data.sequence_start.anchor,
                      event->data.sequence_start.tag);
        return yaml_node_new(YAML_NODE_LIST, SPAN(""));
    case YAML_MAPPING_START_EVENT:
        refuse_extras(rd, event->start_mark, event->data.mapping_start.anchor,
                      event->data.mapping_start.tag);
        return yaml_node_new(YAML_NODE_MAP, SPAN(""));
    default: /* the grammar allows no other event where a node begins */
        return yaml_node_new(YAML_NODE_BAD, SPAN(""));
    }
}

int yaml_count_node(struct yaml_reader *rd, int line, int column, int depth)
{
    struct err *e;

    if (depth > YAML_DEPTH_MAX) {
        e = yaml_error_at(rd, line, column);
        (void)err_set(e, -E2BIG, "more than %d levels of nesting", YAML_DEPTH_MAX);
        err_hint(e, "no key needs so many; is this the right file?");
        return -EBADMSG;
    }
    if (++rd->n_nodes > rd->options.nodes_max) {
        e = yaml_error_at(rd, line, column);
        (void)err_set(e, -E2BIG, "more than %zu keys and values", rd->options.nodes_max);
        err_hint(e, "no configuration needs so many; is this the right file?");
        return -EBADMSG;
    }
    return 0;
}

/* Marks the key that was just added when it is not usable. */
static void check_key(struct yaml_reader *rd, const struct yaml_node *map, struct yaml_node *key)
{
    char shown[ERR_LIST_SHOWN_MAX];
    struct err *e;

    if (key->kind == YAML_NODE_LIST || key->kind == YAML_NODE_MAP) {
        e = yaml_error_at(rd, key->line, key->column);
        (void)err_set(e, -EINVAL, "a key has to be a text, not a list or mapping");
        err_hint(e, "put texts that begin with [ or { in quotes");
        key->kind = YAML_NODE_BAD;
    }
    if (key->kind == YAML_NODE_BAD)
        return;
    for (const struct yaml_node *k = map->first; k != key; k = k->next) {
        if (k->kind == YAML_NODE_SCALAR && span_eq(yaml_span(k), yaml_span(key))) {
            e = yaml_error_at(rd, key->line, key->column);
            (void)err_set(e, -EEXIST, "key \"%s\" stands twice",
                          err_list_shown(yaml_span(key), shown));
            err_hint(e, "the first one is on line %d; keep one of them", k->line);
            key->kind = YAML_NODE_BAD;
            return;
        }
    }
}

static int read_children(struct yaml_reader *rd, struct yaml_node *parent, int depth);

/* The node that begins with *event, which is consumed, into *slot. */
static int read_node(struct yaml_reader *rd, yaml_event_t *event, int depth,
                     struct yaml_node **slot)
{
    yaml_mark_t mark = event->start_mark;
    const char *anchor = rd->options.has_aliases ? anchor_of_event(event) : NULL;
    struct yaml_node *node = NULL;
    size_t i_anchor = SIZE_MAX;
    int r;

    if (event->type == YAML_ALIAS_EVENT)
        return read_alias(rd, event, depth, slot);
    r = yaml_count_node(rd, (int)mark.line + 1, (int)mark.column + 1, depth);
    if (r == 0 && anchor)
        r = yaml_anchor_begin(rd, mark, anchor, &i_anchor);
    if (r == 0) {
        node = node_of_event(rd, event);
        r = node ? 0 : -ENOMEM;
    }
    yaml_event_delete(event);
    if (!node)
        return r;
    node->line = (int)mark.line + 1;
    node->column = (int)mark.column + 1;
    *slot = node;
    if (node->kind == YAML_NODE_LIST || node->kind == YAML_NODE_MAP)
        r = read_children(rd, node, depth);
    if (r == 0 && i_anchor != SIZE_MAX)
        yaml_anchor_set(rd, i_anchor, node);
    return r;
}

static int read_value(struct yaml_reader *rd, struct yaml_node *map, struct yaml_node *key,
                      int depth)
{
    yaml_event_t event;
    int r;

    check_key(rd, map, key);
    r = next_event(rd, &event);
    return r < 0 ? r : read_node(rd, &event, depth + 1, &key->value);
}

static int too_many_keys(struct yaml_reader *rd, yaml_event_t *event)
{
    struct err *e = yaml_error_at_mark(rd, event->start_mark);

    yaml_event_delete(event);
    (void)err_set(e, -E2BIG, "more than %zu keys in one mapping", rd->options.keys_max);
    err_hint(e, "no configuration needs so many; is this the right file?");
    return -EBADMSG;
}

static int read_children(struct yaml_reader *rd, struct yaml_node *parent, int depth)
{
    struct yaml_node *last = NULL;

    parent->is_cut = true;
    for (;;) {
        struct yaml_node **slot = last ? &last->next : &parent->first;
        yaml_event_t event;
        int r = next_event(rd, &event);

        if (r < 0)
            return r;
        if (event.type == YAML_SEQUENCE_END_EVENT || event.type == YAML_MAPPING_END_EVENT) {
            yaml_event_delete(&event);
            parent->is_cut = false;
            return parent->kind == YAML_NODE_MAP && rd->options.has_aliases
                       ? yaml_merge(rd, parent, depth)
                       : 0;
        }
        if (parent->kind == YAML_NODE_MAP && parent->n == rd->options.keys_max)
            return too_many_keys(rd, &event);
        r = read_node(rd, &event, depth + 1, slot);
        last = *slot;
        parent->n += last != NULL; /* also where its own end was not reached */
        if (r == 0 && parent->kind == YAML_NODE_MAP)
            r = read_value(rd, parent, last, depth);
        if (r < 0)
            return r;
    }
}

/* --- documents --- */

static int second_document(struct yaml_reader *rd, yaml_mark_t mark)
{
    struct err *e = yaml_error_at_mark(rd, mark);

    (void)err_set(e, -EINVAL, "a second document begins here");
    err_hint(e, "one file holds one document; remove the line \"---\" or what follows it");
    return -EBADMSG;
}

static int read_stream(struct yaml_reader *rd, struct yaml_node **root)
{
    for (;;) {
        yaml_event_t event;
        yaml_mark_t mark;
        yaml_event_type_t type;
        int r = next_event(rd, &event);

        if (r < 0)
            return r;
        mark = event.start_mark;
        type = event.type;
        switch (type) {
        case YAML_STREAM_START_EVENT:
        case YAML_DOCUMENT_END_EVENT:
        case YAML_DOCUMENT_START_EVENT:
        case YAML_NO_EVENT:
        case YAML_STREAM_END_EVENT:
            yaml_event_delete(&event);
            break;
        default:
            r = read_node(rd, &event, 0, root);
            break;
        }
        if (r < 0)
            return r;
        if (type == YAML_STREAM_END_EVENT || type == YAML_NO_EVENT)
            return 0;
        if (type == YAML_DOCUMENT_START_EVENT && *root)
            return second_document(rd, mark);
    }
}

static int too_large(const struct yaml_reader *rd)
{
    struct err *e = err_list_add(rd->errs, rd->where, 0, 0);

    (void)err_set(e, -EFBIG, "larger than %zu KiB", rd->options.bytes_max / 1024);
    err_hint(e, "no configuration needs so much; is this the right file?");
    return -EBADMSG;
}

int yaml_read_with(struct span text, const char *where, const struct yaml_options *options,
                   struct yaml_node **ret_root, struct err_list *errs)
{
    struct yaml_reader rd = {.text = text, .options = *options, .where = where, .errs = errs};
    struct yaml_node *root = NULL;
    int r;

    if (text.n > options->bytes_max) {
        *ret_root = NULL;
        return too_large(&rd);
    }
    if (!yaml_parser_initialize(&rd.parser))
        return -ENOMEM;
    yaml_parser_set_input_string(&rd.parser, (const unsigned char *)(text.n > 0 ? text.p : ""),
                                 text.n);
    r = read_stream(&rd, &root);
    yaml_parser_delete(&rd.parser);
    yaml_anchors_done(&rd);
    if (r == -ENOMEM) {
        yaml_free(root);
        return r;
    }
    if (root && yaml_is_null(root))
        root = yaml_free(root);
    *ret_root = root;
    return r == 0 && rd.has_mistakes ? -EINVAL : r;
}

int yaml_read(struct span text, const char *where, struct yaml_node **ret_root,
              struct err_list *errs)
{
    static const struct yaml_options options = {YAML_BYTES_MAX, YAML_NODES_MAX, YAML_KEYS_MAX,
                                                false};

    return yaml_read_with(text, where, &options, ret_root, errs);
}
