/* SPDX-License-Identifier: Apache-2.0 */
/*
 * promql/lexer_private.h - between the lexer's files.
 *
 * Threading: pure.
 */
#ifndef PROMQL_LEXER_PRIVATE_H
#define PROMQL_LEXER_PRIVATE_H

#include <stdint.h>

#include "base/attr.h"
#include "promql/lexer.h"

static inline int lexer_peek_at(const struct lexer *x, size_t ahead)
{
    return x->at + ahead < x->input.n ? (unsigned char)x->input.p[x->at + ahead] : -1;
}

static inline int lexer_peek(const struct lexer *x)
{
    return lexer_peek_at(x, 0);
}

static inline bool is_digit(int c)
{
    return c >= '0' && c <= '9';
}

static inline bool is_alpha(int c)
{
    return c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static inline bool is_alnum(int c)
{
    return is_alpha(c) || is_digit(c);
}

static inline bool is_blank(int c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

void lexer_emit(const struct lexer *x, struct token *ret, enum token_kind kind, int which);
void lexer_fail(struct lexer *x, struct token *ret, const char *fmt, ...) PRINTF_LIKE(3, 4);
/* The character at x->at, quoted as 'x'. */
const char *lexer_quoted(const struct lexer *x, char dst[16]);
/* The code point at x->at; -1 at the end, -2 when it is not UTF-8. */
int32_t lexer_rune(const struct lexer *x, size_t *ret_n);

void lexer_string(struct lexer *x, struct token *ret);
void lexer_number(struct lexer *x, struct token *ret);

#endif
