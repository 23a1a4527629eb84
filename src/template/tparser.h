/* SPDX-License-Identifier: Apache-2.0 */
/*
 * template/tparser.h - one parse: what its parts share.
 *
 * Parts:     tparser.c nodes and what they hold; tparser_define.c templates within; tparser_pipe.c
 *            pipelines; tparser_literal.c what numbers and strings are worth.
 * Errors:    -EINVAL, -E2BIG (too deep) with a text and its place, -ENOMEM.
 * Threading: one owner.
 */
#ifndef TEMPLATE_TPARSER_H
#define TEMPLATE_TPARSER_H

#include "template/builtin.h"
#include "template/tlexer.h"
#include "template/tnode.h"

struct tparser_variable {
    struct span name; /* with its $ */
};

struct tparser {
    struct template *t;
    struct tlexer lexer;
    struct tword word; /* looked at, not taken */
    struct err *err;
    struct tdefinition *definition;     /* that is being parsed */
    struct tparser_variable *variables; /* that can be seen; the index is the slot */
    size_t n_variables, cap_variables;
    int depth;
    int n_ranges;     /* around */
    size_t ended_at;  /* of the last end or else */
    bool is_dot_data; /* . is what it is at the beginning */
};

/* What ended a list of nodes. */
enum tparser_ending {
    TPARSER_AT_TEXT, /* the end of the text */
    TPARSER_AT_END,
    TPARSER_AT_ELSE,
};

/* Parses the text of t, which has its arena and its text, and fills the rest of it. */
int tparser_run(struct tparser *p) WARN_UNUSED;

/* Says what is wrong at an offset; returns -EINVAL. */
int tparser_fail(struct tparser *p, size_t at, const char *fmt, ...) PRINTF_LIKE(3, 4);
/* The word that does not belong there. */
int tparser_unexpected(struct tparser *p, const char *where);
/* Looks at the next word, behind the one that p looks at. */
int tparser_next(struct tparser *p) WARN_UNUSED;
int tparser_skip_space(struct tparser *p) WARN_UNUSED;
/* One level deeper; -E2BIG. The caller takes it back from p->depth. */
int tparser_descend(struct tparser *p, size_t at) WARN_UNUSED;

/* A new node at the end of list. */
int tparser_add(struct tparser *p, struct tlist *list, enum tnode_kind kind, size_t at,
                struct tnode **ret) WARN_UNUSED;
/* p is at what has to be }}, or blanks before it. */
int tparser_close(struct tparser *p, const char *where) WARN_UNUSED;
/*
 * The }} of a node that holds others, and those up to its end or else. What they declare is not
 * known behind them.
 */
int tparser_body(struct tparser *p, struct tlist *body, const char *where,
                 enum tparser_ending *ret) WARN_UNUSED;

/* Behind their keywords, which are at offset at. */
int tparser_template(struct tparser *p, struct tlist *list, size_t at) WARN_UNUSED;
int tparser_define(struct tparser *p, struct tlist *list, size_t at) WARN_UNUSED;
int tparser_block(struct tparser *p, struct tlist *list, size_t at) WARN_UNUSED;
/* Every {{template}} knows what it calls, so that a wrong name is found now. */
int tparser_resolve(struct tparser *p, const struct tlist *list) WARN_UNUSED;

/* A variable that can be seen from here on. */
int tparser_declare(struct tparser *p, struct span name, size_t *ret_slot) WARN_UNUSED;

/*
 * A pipeline up to what ends it, which is left: }} or a parenthesis. where: for messages ("range").
 * max_variables: how many may be set in front of it.
 */
int tparser_pipe(struct tparser *p, const char *where, size_t max_variables,
                 struct tpipe **ret) WARN_UNUSED;

/* The worth of a TWORD_NUMBER, _CHAR, _STRING or _RAW. */
int tparser_literal(struct tparser *p, const struct tword *w, struct tvalue *ret) WARN_UNUSED;

#endif
