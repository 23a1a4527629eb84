/* SPDX-License-Identifier: Apache-2.0 */
/*
 * promql/token.c - what a token may stand for, and how it is named to people.
 */
#include <stdio.h>

#include "promql/lexer.h"
#include "promql/quote.h"

enum {
    DESCRIBED_MAX = 10, /* characters of a number or a string in a message */
    WORD_MAX = 32,      /* no word or sign of the language is longer */
};

size_t token_end(const struct token *t)
{
    return t->from + t->text.n;
}

bool token_is_keyword(const struct token *t, enum keyword which)
{
    return t->kind == TOKEN_KEYWORD && t->which == (int)which;
}

static bool is_word(const struct token *t)
{
    switch (t->kind) {
    case TOKEN_IDENTIFIER:
    case TOKEN_METRIC_IDENTIFIER:
    case TOKEN_AGGREGATE:
    case TOKEN_KEYWORD:
    case TOKEN_PREPROCESSOR:
        return true;
    case TOKEN_OPERATOR: /* and, or, unless, atan2 */
        return t->text.p[0] >= 'A';
    default:
        return false;
    }
}

bool token_may_be_label(const struct token *t)
{
    return is_word(t) && !token_is_keyword(t, KEYWORD_WITHOUT) &&
           !(t->kind == TOKEN_OPERATOR && t->text.p[0] == '^');
}

bool token_may_be_metric(const struct token *t)
{
    if (!is_word(t) || (t->kind == TOKEN_OPERATOR && t->text.n == strlen("atan2")))
        return false;
    static const enum keyword never[] = {KEYWORD_BOOL, KEYWORD_ON, KEYWORD_IGNORING,
                                         KEYWORD_GROUP_LEFT, KEYWORD_GROUP_RIGHT};
    for (size_t i = 0; i < sizeof(never) / sizeof(never[0]); i++) {
        if (token_is_keyword(t, never[i]))
            return false;
    }
    return true;
}

/* What stands before the text of a token of this kind; NULL: the text is all. */
static const char *kind_name(enum token_kind kind)
{
    switch (kind) {
    case TOKEN_IDENTIFIER:
        return "identifier ";
    case TOKEN_METRIC_IDENTIFIER:
        return "metric identifier ";
    case TOKEN_NUMBER:
        return "number ";
    case TOKEN_DURATION:
        return "duration ";
    case TOKEN_STRING:
        return "string ";
    default:
        return "";
    }
}

/* Signs and words of the language in brackets; NULL: others. */
static const char *frame_of(enum token_kind kind)
{
    switch (kind) {
    case TOKEN_KEYWORD:
        return "";
    case TOKEN_AGGREGATE:
        return "aggr:";
    case TOKEN_OPERATOR:
    case TOKEN_REGEX:
    case TOKEN_NOT_REGEX:
    case TOKEN_AT:
        return "op:";
    default:
        return NULL;
    }
}

void token_describe(const struct token *t, char *dst, size_t cap)
{
    const char *frame = frame_of(t->kind);
    if (t->kind == TOKEN_END) {
        (void)snprintf(dst, cap, "end of input");
        return;
    }
    if (frame) {
        int n = t->text.n < WORD_MAX ? (int)t->text.n : WORD_MAX;
        (void)snprintf(dst, cap, "<%s%.*s>", frame, n, t->text.p);
        return;
    }
    bool is_name = t->kind == TOKEN_IDENTIFIER || t->kind == TOKEN_METRIC_IDENTIFIER;
    bool is_cut = !is_name && t->text.n > DESCRIBED_MAX;
    char quoted[256];
    quote_copy(t->text, is_cut ? DESCRIBED_MAX : 0, quoted, sizeof(quoted));
    (void)snprintf(dst, cap, "%s%s%s", kind_name(t->kind), quoted, is_cut ? "..." : "");
}
