/* SPDX-License-Identifier: Apache-2.0 */
/*
 * yaml/tree_private.h - what the files that read YAML share.
 */
#ifndef YAML_TREE_PRIVATE_H
#define YAML_TREE_PRIVATE_H

#include <yaml.h>

#include "yaml/tree.h"

struct yaml_anchor {
    char *name;
    const struct yaml_node *node; /* in the tree; NULL while it is being read */
};

struct yaml_reader {
    yaml_parser_t parser;
    struct span text;
    struct yaml_options options;
    const char *where;
    struct err_list *errs;
    size_t n_nodes;
    size_t n_copied; /* bytes of texts, by aliases */
    bool has_mistakes;
    struct yaml_anchor *anchors;
    size_t n_anchors, _cap;
};

/* tree.c */
struct err *yaml_error_at(struct yaml_reader *rd, int line, int column);
struct err *yaml_error_at_mark(struct yaml_reader *rd, yaml_mark_t mark);
struct yaml_node *yaml_node_new(enum yaml_node_kind kind, struct span text);
/* One node more, that deep; -EBADMSG: over a limit, which is listed. */
int yaml_count_node(struct yaml_reader *rd, int line, int column, int depth) WARN_UNUSED;

/* syntax.c: lists why libyaml gave up. -EBADMSG, -ENOMEM. */
int yaml_syntax_error(struct yaml_reader *rd) WARN_UNUSED;

/*
 * alias.c. All return 0, -ENOMEM, or -EBADMSG when reading has to end.
 * The value that begins here has an anchor: *ret_i is for yaml_anchor_set, when it is complete.
 */
int yaml_anchor_begin(struct yaml_reader *rd, yaml_mark_t mark, const char *name,
                      size_t *ret_i) WARN_UNUSED;
void yaml_anchor_set(struct yaml_reader *rd, size_t i, const struct yaml_node *node);
/* A copy of the value with that anchor into *slot; YAML_NODE_BAD where there is none. */
int yaml_alias(struct yaml_reader *rd, yaml_mark_t mark, const char *name, int depth,
               struct yaml_node **slot) WARN_UNUSED;
/* Copies into a mapping, at that depth, what its key "<<" brings. */
int yaml_merge(struct yaml_reader *rd, struct yaml_node *map, int depth) WARN_UNUSED;
void yaml_anchors_done(struct yaml_reader *rd);

#endif
