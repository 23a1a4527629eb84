/* SPDX-License-Identifier: Apache-2.0 */
/*
 * promql/lexer.h - the words of a query, one after the other.
 *
 * Role:      below the parser. What a word means depends on where it stands: in braces every word
 *            is an identifier, in brackets only durations stand.
 * Memory:    none; tokens borrow from the text.
 * Errors:    TOKEN_ERROR, with the reason in lexer.error; sticky.
 * Threading: pure.
 */
#ifndef PROMQL_LEXER_H
#define PROMQL_LEXER_H

#include <stdbool.h>
#include <stddef.h>

#include "base/span.h"

enum token_kind {
    TOKEN_END,
    TOKEN_ERROR,
    TOKEN_IDENTIFIER,
    TOKEN_METRIC_IDENTIFIER, /* with a colon */
    TOKEN_NUMBER,
    TOKEN_DURATION,
    TOKEN_STRING, /* with its quotes */
    TOKEN_LEFT_PAREN,
    TOKEN_RIGHT_PAREN,
    TOKEN_LEFT_BRACE,
    TOKEN_RIGHT_BRACE,
    TOKEN_LEFT_BRACKET,
    TOKEN_RIGHT_BRACKET,
    TOKEN_COMMA,
    TOKEN_COLON,
    TOKEN_AT,
    TOKEN_EQUAL,        /* = */
    TOKEN_REGEX,        /* =~ */
    TOKEN_NOT_REGEX,    /* !~ */
    TOKEN_OPERATOR,     /* which: enum binary_op; != of a matcher is OP_NE */
    TOKEN_AGGREGATE,    /* which: enum aggregate_op */
    TOKEN_KEYWORD,      /* which: enum keyword */
    TOKEN_PREPROCESSOR, /* which: enum preprocessor */
};

enum keyword {
    KEYWORD_OFFSET,
    KEYWORD_ANCHORED,
    KEYWORD_SMOOTHED,
    KEYWORD_BY,
    KEYWORD_WITHOUT,
    KEYWORD_ON,
    KEYWORD_IGNORING,
    KEYWORD_GROUP_LEFT,
    KEYWORD_GROUP_RIGHT,
    KEYWORD_FILL, /* the three only before a parenthesis */
    KEYWORD_FILL_LEFT,
    KEYWORD_FILL_RIGHT,
    KEYWORD_BOOL,
};

enum preprocessor { WORD_START, WORD_END, WORD_STEP, WORD_RANGE, WORD_MIN_OF, WORD_MAX_OF };

struct token {
    enum token_kind kind;
    int which;
    size_t from; /* of text in the query */
    struct span text;
};

struct lexer {
    struct span input;
    size_t at;
    size_t start; /* of the token being read */
    int n_parens; /* open */
    bool is_in_braces, is_in_brackets, is_in_duration;
    bool has_colon, has_duration; /* seen in these brackets */
    char error[160];
};

void lexer_init(struct lexer *x, struct span input);
void lexer_next(struct lexer *x, struct token *ret);

/* The same word, wherever it stands: keyword, operator in letters, aggregation or identifier. */
void lexer_word(struct lexer *x, struct token *ret);

size_t token_end(const struct token *t); /* behind its text, in the query */

/* Whether a token is the given keyword / a word that may be a label's / a metric's name. */
bool token_is_keyword(const struct token *t, enum keyword which);
bool token_may_be_label(const struct token *t);
bool token_may_be_metric(const struct token *t);

/* As it is named in "unexpected ...": <op:+>, identifier "a", end of input. Terminated. */
void token_describe(const struct token *t, char *dst, size_t cap);

#endif
