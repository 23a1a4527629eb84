/* SPDX-License-Identifier: Apache-2.0 */
/*
 * yaml/tree.h - YAML text -> a small tree that knows line and column of everything.
 *
 * Role:      the part of YAML that a configuration needs: one document of mappings, lists and
 *            scalars. Anchors, aliases, merge keys and tags are refused, so that a small file
 *            cannot stand for a large one; all but tags are followed where the caller asks for it,
 *            and then every copy counts. Knows nothing of keys.
 * Limits:    YAML_BYTES_MAX of text, YAML_NODES_MAX values, YAML_KEYS_MAX keys in a
 *            mapping (or what the caller says), YAML_DEPTH_MAX levels.
 * Threading: plain values.
 */
#ifndef YAML_TREE_H
#define YAML_TREE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/attr.h"
#include "base/err_list.h"
#include "base/span.h"

enum {
    YAML_BYTES_MAX = 1 << 20,
    YAML_NODES_MAX = 10000,
    YAML_DEPTH_MAX = 10,
    YAML_KEYS_MAX = 5000, /* each is compared with all others */
};

enum yaml_node_kind {
    YAML_NODE_SCALAR,
    YAML_NODE_LIST,
    YAML_NODE_MAP,
    YAML_NODE_BAD, /* a mistake is listed already; to be passed over */
};

struct yaml_node {
    enum yaml_node_kind kind;
    int line, column;        /* from 1; column in characters */
    bool is_plain;           /* a scalar without quotes */
    bool is_cut;             /* a list or mapping whose end was not reached */
    struct yaml_node *next;  /* in the list, or the next key of the mapping */
    struct yaml_node *first; /* of a list or mapping; the children of a mapping are its keys */
    struct yaml_node *value; /* of a key; NULL when the text ended before it */
    size_t n;                /* scalar: bytes; list, mapping: children */
    char text[];             /* scalar: NUL-terminated */
};

/* A scalar's text; empty of anything else, as a key may be, too. */
static inline struct span yaml_span(const struct yaml_node *node)
{
    return node->kind == YAML_NODE_SCALAR ? span_of(node->text, node->n) : SPAN("");
}

/* Empty, "~" or "null" without quotes. */
static inline bool yaml_is_null(const struct yaml_node *node)
{
    return node->kind == YAML_NODE_SCALAR && node->is_plain &&
           (node->n == 0 || strcmp(node->text, "~") == 0 || strcmp(node->text, "null") == 0);
}

/*
 * Parses text; where names it in messages. Duplicate keys are mistakes too.
 * Returns 0 with the tree in *ret_root (yaml_free), NULL for an empty document. On mistakes,
 * which are added to errs: -EINVAL, and *ret_root is what was understood, so that the rest can be
 * checked as well; -EBADMSG when the text could not be followed to its end, so that keys may seem
 * to be missing. -ENOMEM: *ret_root is untouched.
 */
int yaml_read(struct span text, const char *where, struct yaml_node **ret_root,
              struct err_list *errs) WARN_UNUSED;

/* For files that may be larger, or that may have aliases. */
struct yaml_options {
    size_t bytes_max; /* of the text, and once more of what aliases copy */
    size_t nodes_max; /* those that aliases copy included */
    size_t keys_max;  /* of one mapping */
    /*
     * Anchors, aliases and merge keys ("<<") are followed. A copy has the places of what was
     * copied, and a merged key stands behind the mapping's own; "<<" itself is YAML_NODE_BAD then.
     */
    bool has_aliases;
};
int yaml_read_with(struct span text, const char *where, const struct yaml_options *options,
                   struct yaml_node **ret_root, struct err_list *errs) WARN_UNUSED;

/*
 * Where byte `at` of a scalar's value stands in the text that it was read from, whatever its style:
 * folded lines, escapes, block scalars. Of white space and of the end it is the place behind what
 * is before it. false: it cannot be told; then it is where the scalar begins.
 */
bool yaml_place(struct span text, const struct yaml_node *scalar, size_t at, int *ret_line,
                int *ret_column);

/* A scalar made of text, as from line 0. NULL: out of memory. */
struct yaml_node *yaml_scalar(struct span text);

struct yaml_node *yaml_free(struct yaml_node *node); /* returns NULL */

#endif
