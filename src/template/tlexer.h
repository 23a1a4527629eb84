/* SPDX-License-Identifier: Apache-2.0 */
/*
 * template/tlexer.h - the words of a template: text outside of {{ }}, and what is inside.
 *
 * Role:      below the parser. Comments and the white space that trim markers take never get there.
 * Memory:    none; words borrow from the text.
 * Errors:    TWORD_ERROR: lexer.error says what is wrong, the word's offset where.
 * Threading: pure.
 */
#ifndef TEMPLATE_TLEXER_H
#define TEMPLATE_TLEXER_H

#include <stdbool.h>
#include <stddef.h>

#include "base/span.h"

enum tword_kind {
    TWORD_END,
    TWORD_ERROR,
    TWORD_TEXT,
    TWORD_OPEN,     /* {{ */
    TWORD_CLOSE,    /* }} */
    TWORD_SPACE,    /* any amount */
    TWORD_NAME,     /* a function, or a word that takes a value's place: true, false, nil */
    TWORD_KEYWORD,  /* if, range, ... */
    TWORD_FIELD,    /* .name */
    TWORD_VARIABLE, /* $, $name */
    TWORD_DOT,
    TWORD_NUMBER,
    TWORD_CHAR,   /* with its quotes, as the two kinds of strings */
    TWORD_STRING, /* "..." */
    TWORD_RAW,    /* `...` */
    TWORD_BAR,
    TWORD_COMMA,
    TWORD_LEFT_PAREN,
    TWORD_RIGHT_PAREN,
    TWORD_ASSIGN,  /* = */
    TWORD_DECLARE, /* := */
};

struct tword {
    enum tword_kind kind;
    struct span text;
    size_t at; /* offset in the whole text */
};

struct tlexer {
    struct span all;
    size_t at;
    bool is_inside;  /* an action */
    bool is_trimmed; /* the action before ended with a trim marker */
    int n_parens;
    size_t open_at; /* of the action */
    char error[96];
};

void tlexer_init(struct tlexer *l, struct span text);
struct tword tlexer_next(struct tlexer *l);

/* What trim markers take away. */
bool tlexer_is_space(char c);

/* Line and column of an offset, both from 1; columns count bytes. */
void tlexer_place(struct span text, size_t at, int *ret_line, int *ret_column);

#endif
