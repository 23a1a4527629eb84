/* SPDX-License-Identifier: Apache-2.0 */
/*
 * template/tnode.h - a parsed template: a tree that is never changed again.
 *
 * Shape:     a list of nodes; actions hold pipelines, pipelines commands, commands operands.
 *            Variables are places in a frame, known when the template is parsed.
 * Memory:    all in the template's arena; texts borrow from its copy of the text.
 * Threading: constant once parsed.
 */
#ifndef TEMPLATE_TNODE_H
#define TEMPLATE_TNODE_H

#include "template/tvalue.h"

struct builtin;
struct tpipe;

enum toperand_kind {
    TOPERAND_DOT,
    TOPERAND_CONSTANT,
    TOPERAND_VARIABLE,
    TOPERAND_FUNCTION,
    TOPERAND_PIPE, /* in parentheses */
};

struct toperand {
    enum toperand_kind kind;
    size_t at;
    union {
        struct tvalue constant;
        size_t slot;
        const struct builtin *function;
        const struct tpipe *pipe;
    };
    const struct span *fields; /* .a.b behind it */
    size_t n_fields;
};

struct tcommand {
    const struct toperand *at; /* [0] is what is done, the others its arguments */
    size_t n;
};

enum { TPIPE_VARIABLES_MAX = 2 };

struct tpipe {
    size_t at;
    size_t slots[TPIPE_VARIABLES_MAX]; /* what := or = sets */
    size_t n_slots;
    const struct tcommand *commands;
    size_t n;
};

enum tnode_kind {
    TNODE_TEXT,
    TNODE_ACTION, /* prints its pipeline, unless that sets a variable */
    TNODE_IF,
    TNODE_WITH,
    TNODE_RANGE,
    TNODE_TEMPLATE,
    TNODE_BREAK,
    TNODE_CONTINUE,
};

struct tnode;

struct tlist {
    struct tnode *first, *last;
};

/* A template of its own: the whole text, or what {{define}} and {{block}} name. */
struct tdefinition {
    struct span name; /* empty: the whole text */
    struct tlist body;
    size_t n_slots; /* of its frame; [0] is $ */
    struct tdefinition *next;
};

struct tnode {
    enum tnode_kind kind;
    size_t at;
    struct tnode *next;
    const struct tpipe *pipe; /* TNODE_TEMPLATE: NULL when nothing is handed on */
    union {
        struct span text;
        struct tlist body;
        struct {
            struct span name;
            const struct tdefinition *definition;
        };
    };
    struct tlist otherwise; /* else */
};

struct template
{
    struct arena arena;
    struct span text;
    struct tdefinition *definitions; /* the whole text first */
};

#endif
