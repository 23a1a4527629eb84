/* SPDX-License-Identifier: Apache-2.0 */
/*
 * promql/lexer.c - the words of a query.
 */
#include "promql/lexer.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/utf8.h"
#include "promql/ast.h"
#include "promql/lexer_private.h"
#include "promql/quote.h"

static const struct word {
    struct span text;
    enum token_kind kind;
    int which;
} words[] = {
    {SPAN_INIT("and"), TOKEN_OPERATOR, OP_AND},
    {SPAN_INIT("or"), TOKEN_OPERATOR, OP_OR},
    {SPAN_INIT("unless"), TOKEN_OPERATOR, OP_UNLESS},
    {SPAN_INIT("atan2"), TOKEN_OPERATOR, OP_ATAN2},
    {SPAN_INIT("offset"), TOKEN_KEYWORD, KEYWORD_OFFSET},
    {SPAN_INIT("anchored"), TOKEN_KEYWORD, KEYWORD_ANCHORED},
    {SPAN_INIT("smoothed"), TOKEN_KEYWORD, KEYWORD_SMOOTHED},
    {SPAN_INIT("by"), TOKEN_KEYWORD, KEYWORD_BY},
    {SPAN_INIT("without"), TOKEN_KEYWORD, KEYWORD_WITHOUT},
    {SPAN_INIT("on"), TOKEN_KEYWORD, KEYWORD_ON},
    {SPAN_INIT("ignoring"), TOKEN_KEYWORD, KEYWORD_IGNORING},
    {SPAN_INIT("group_left"), TOKEN_KEYWORD, KEYWORD_GROUP_LEFT},
    {SPAN_INIT("group_right"), TOKEN_KEYWORD, KEYWORD_GROUP_RIGHT},
    {SPAN_INIT("fill"), TOKEN_KEYWORD, KEYWORD_FILL},
    {SPAN_INIT("fill_left"), TOKEN_KEYWORD, KEYWORD_FILL_LEFT},
    {SPAN_INIT("fill_right"), TOKEN_KEYWORD, KEYWORD_FILL_RIGHT},
    {SPAN_INIT("bool"), TOKEN_KEYWORD, KEYWORD_BOOL},
    {SPAN_INIT("start"), TOKEN_PREPROCESSOR, WORD_START},
    {SPAN_INIT("end"), TOKEN_PREPROCESSOR, WORD_END},
    {SPAN_INIT("step"), TOKEN_PREPROCESSOR, WORD_STEP},
    {SPAN_INIT("range"), TOKEN_PREPROCESSOR, WORD_RANGE},
    {SPAN_INIT("min_of"), TOKEN_PREPROCESSOR, WORD_MIN_OF},
    {SPAN_INIT("max_of"), TOKEN_PREPROCESSOR, WORD_MAX_OF},
    {SPAN_INIT("inf"), TOKEN_NUMBER, 0},
    {SPAN_INIT("nan"), TOKEN_NUMBER, 0},
};

/* Signs, longer ones first. */
static const struct word signs[] = {
    {SPAN_INIT("=="), TOKEN_OPERATOR, OP_EQ},
    {SPAN_INIT("!="), TOKEN_OPERATOR, OP_NE},
    {SPAN_INIT("<="), TOKEN_OPERATOR, OP_LE},
    {SPAN_INIT("</"), TOKEN_OPERATOR, OP_TRIM_UPPER},
    {SPAN_INIT("<"), TOKEN_OPERATOR, OP_LT},
    {SPAN_INIT(">="), TOKEN_OPERATOR, OP_GE},
    {SPAN_INIT(">/"), TOKEN_OPERATOR, OP_TRIM_LOWER},
    {SPAN_INIT(">"), TOKEN_OPERATOR, OP_GT},
    {SPAN_INIT("+"), TOKEN_OPERATOR, OP_ADD},
    {SPAN_INIT("-"), TOKEN_OPERATOR, OP_SUB},
    {SPAN_INIT("*"), TOKEN_OPERATOR, OP_MUL},
    {SPAN_INIT("/"), TOKEN_OPERATOR, OP_DIV},
    {SPAN_INIT("%"), TOKEN_OPERATOR, OP_MOD},
    {SPAN_INIT("^"), TOKEN_OPERATOR, OP_POW},
    {SPAN_INIT("="), TOKEN_EQUAL, 0},
    {SPAN_INIT(","), TOKEN_COMMA, 0},
    {SPAN_INIT("@"), TOKEN_AT, 0},
};

static const struct word brace_signs[] = {
    {SPAN_INIT("=~"), TOKEN_REGEX, 0}, {SPAN_INIT("!~"), TOKEN_NOT_REGEX, 0},
    {SPAN_INIT("="), TOKEN_EQUAL, 0},  {SPAN_INIT("!="), TOKEN_OPERATOR, OP_NE},
    {SPAN_INIT(","), TOKEN_COMMA, 0},
};

void lexer_init(struct lexer *x, struct span input)
{
    *x = (struct lexer){.input = input};
}

void lexer_emit(const struct lexer *x, struct token *ret, enum token_kind kind, int which)
{
    *ret = (struct token){
        .kind = kind,
        .which = which,
        .from = x->start,
        .text = span_of(x->input.p + x->start, x->at - x->start),
    };
}

void lexer_fail(struct lexer *x, struct token *ret, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    (void)vsnprintf(x->error, sizeof(x->error), fmt, args);
    va_end(args);
    lexer_emit(x, ret, TOKEN_ERROR, 0);
}

int32_t lexer_rune(const struct lexer *x, size_t *ret_n)
{
    *ret_n = 0;
    if (x->at >= x->input.n)
        return -1;
    bool is_valid;
    *ret_n = utf8_step(span_from(x->input, x->at), &is_valid);
    return is_valid ? (int32_t)utf8_value(span_of(x->input.p + x->at, *ret_n)) : -2;
}

const char *lexer_quoted(const struct lexer *x, char dst[16])
{
    size_t n;
    quote_rune(lexer_rune(x, &n), dst);
    return dst;
}

/* Blanks and comments; the latter not among durations. */
static void skip(struct lexer *x)
{
    while (x->at < x->input.n) {
        char c = x->input.p[x->at];
        if (is_blank((unsigned char)c)) {
            x->at++;
        } else if (c == '#' && !x->is_in_duration) {
            while (x->at < x->input.n && x->input.p[x->at] != '\n' && x->input.p[x->at] != '\r')
                x->at++;
        } else {
            return;
        }
    }
}

static bool take_sign(struct lexer *x, const struct word *known, size_t n, struct token *ret)
{
    struct span rest = span_from(x->input, x->at);
    for (size_t i = 0; i < n; i++) {
        if (span_starts_with(rest, known[i].text)) {
            x->at += known[i].text.n;
            lexer_emit(x, ret, known[i].kind, known[i].which);
            return true;
        }
    }
    return false;
}

static const struct word *find_word(struct span text)
{
    for (size_t i = 0; i < ARRAY_LEN(words); i++) {
        if (span_eq_nocase(words[i].text, text))
            return &words[i];
    }
    return NULL;
}

static bool find_aggregate(struct span text, int *ret)
{
    for (int i = 0; i < AGG_COUNT_; i++) {
        if (span_eq_nocase(span_cstr(aggregate_ops[i].text), text)) {
            *ret = i;
            return true;
        }
    }
    return false;
}

static bool is_before_paren(const struct lexer *x)
{
    size_t at = x->at;
    while (at < x->input.n && is_blank((unsigned char)x->input.p[at]))
        at++;
    return at < x->input.n && x->input.p[at] == '(';
}

void lexer_word(struct lexer *x, struct token *ret)
{
    while (is_alnum(lexer_peek(x)) || lexer_peek(x) == ':')
        x->at++;
    struct span text = span_of(x->input.p + x->start, x->at - x->start);
    int which = 0;
    const struct word *w = find_word(text);
    bool is_fill =
        w && w->kind == TOKEN_KEYWORD && w->which >= KEYWORD_FILL && w->which <= KEYWORD_FILL_RIGHT;
    if (w && !(is_fill && !is_before_paren(x)))
        lexer_emit(x, ret, w->kind, w->which);
    else if (find_aggregate(text, &which))
        lexer_emit(x, ret, TOKEN_AGGREGATE, which);
    else if (span_find_char(text, ':') < text.n)
        lexer_emit(x, ret, TOKEN_METRIC_IDENTIFIER, 0);
    else
        lexer_emit(x, ret, TOKEN_IDENTIFIER, 0);
}

/* step, range, min_of or max_of, among durations; false: another word, x->at is behind it. */
static bool take_duration_word(struct lexer *x, struct token *ret)
{
    while (is_alpha(lexer_peek(x)))
        x->at++;
    const struct word *w = find_word(span_of(x->input.p + x->start, x->at - x->start));
    if (!w || w->kind != TOKEN_PREPROCESSOR || w->which < WORD_STEP)
        return false;
    lexer_emit(x, ret, w->kind, w->which);
    return true;
}

/* What begins with a letter or a colon in brackets, behind a number. */
static void bracket_word(struct lexer *x, struct token *ret)
{
    char quoted[16];
    (void)lexer_quoted(x, quoted);
    if (lexer_peek(x) == ':') {
        x->at++;
        if (x->has_colon)
            lexer_fail(x, ret, "unexpected colon %s", quoted);
        else
            lexer_emit(x, ret, TOKEN_COLON, 0);
        x->has_colon = true;
        return;
    }
    if (!take_duration_word(x, ret))
        lexer_fail(x, ret, "unexpected character: %s, expected ':'", quoted);
}

static void close_paren(struct lexer *x, struct token *ret)
{
    x->at++;
    if (--x->n_parens < 0)
        lexer_fail(x, ret, "unexpected right parenthesis ')'");
    else
        lexer_emit(x, ret, TOKEN_RIGHT_PAREN, 0);
}

/* One of the brackets; false: another character. */
static bool take_bracket(struct lexer *x, struct token *ret)
{
    switch (lexer_peek(x)) {
    case '(':
        x->at++;
        x->n_parens++;
        lexer_emit(x, ret, TOKEN_LEFT_PAREN, 0);
        return true;
    case ')':
        close_paren(x, ret);
        return true;
    case '{':
        x->at++;
        x->is_in_braces = true;
        lexer_emit(x, ret, TOKEN_LEFT_BRACE, 0);
        return true;
    case '[':
        x->at++;
        if (x->is_in_brackets) {
            lexer_fail(x, ret, "unexpected left bracket '['");
            return true;
        }
        x->has_colon = false;
        x->is_in_brackets = x->is_in_duration = true;
        lexer_emit(x, ret, TOKEN_LEFT_BRACKET, 0);
        return true;
    case ']':
        x->at++;
        if (!x->is_in_brackets) {
            lexer_fail(x, ret, "unexpected right bracket ']'");
            return true;
        }
        x->is_in_brackets = false;
        lexer_emit(x, ret, TOKEN_RIGHT_BRACKET, 0);
        return true;
    default:
        return false;
    }
}

static void statement(struct lexer *x, struct token *ret)
{
    int c = lexer_peek(x);
    char quoted[16];
    if (c < 0 && x->n_parens > 0)
        lexer_fail(x, ret, "unclosed left parenthesis");
    else if (c < 0 && x->is_in_brackets)
        lexer_fail(x, ret, "unclosed left bracket");
    else if (c < 0)
        lexer_emit(x, ret, TOKEN_END, 0);
    else if (is_digit(c) || (c == '.' && is_digit(lexer_peek_at(x, 1))))
        lexer_number(x, ret);
    else if (c == '"' || c == '\'' || c == '`')
        lexer_string(x, ret);
    else if ((is_alpha(c) || c == ':') && x->is_in_brackets)
        bracket_word(x, ret);
    else if (is_alpha(c) || c == ':')
        lexer_word(x, ret);
    else if (c == '=' && lexer_peek_at(x, 1) == '~')
        lexer_fail(x, ret, "unexpected character after '=': '~'");
    else if (c == '!' && lexer_peek_at(x, 1) != '=') {
        x->at++;
        lexer_fail(x, ret, "unexpected character after '!': %s", lexer_quoted(x, quoted));
    } else if (!take_bracket(x, ret) && !take_sign(x, signs, ARRAY_LEN(signs), ret))
        lexer_fail(x, ret, "unexpected character: %s", lexer_quoted(x, quoted));
}

static void braces(struct lexer *x, struct token *ret)
{
    int c = lexer_peek(x);
    char quoted[16];
    if (c < 0) {
        lexer_fail(x, ret, "unexpected end of input inside braces");
    } else if (is_alpha(c)) {
        while (is_alnum(lexer_peek(x)))
            x->at++;
        lexer_emit(x, ret, TOKEN_IDENTIFIER, 0);
    } else if (c == '"' || c == '\'' || c == '`') {
        lexer_string(x, ret);
    } else if (c == '}') {
        x->at++;
        x->is_in_braces = false;
        lexer_emit(x, ret, TOKEN_RIGHT_BRACE, 0);
    } else if (c == '{') {
        lexer_fail(x, ret, "unexpected left brace '{'");
    } else if (c == '!' && lexer_peek_at(x, 1) != '=' && lexer_peek_at(x, 1) != '~') {
        x->at++;
        lexer_fail(x, ret, "unexpected character after '!' inside braces: %s",
                   lexer_quoted(x, quoted));
    } else if (!take_sign(x, brace_signs, ARRAY_LEN(brace_signs), ret)) {
        lexer_fail(x, ret, "unexpected character inside braces: %s", lexer_quoted(x, quoted));
    }
}

static void duration_colon(struct lexer *x, struct token *ret)
{
    x->at++;
    if (!x->has_duration)
        lexer_fail(x, ret, "unexpected colon before duration in duration expression");
    else if (x->has_colon)
        lexer_fail(x, ret, "unexpected repeated colon in duration expression");
    else
        lexer_emit(x, ret, TOKEN_COLON, 0);
    x->has_colon = true;
}

/* Behind '[', until a number was seen. */
static void duration(struct lexer *x, struct token *ret)
{
    static const char allowed[] = "()]+-*/%^,";
    int c = lexer_peek(x);
    char quoted[16];
    (void)lexer_quoted(x, quoted);
    if (c < 0) {
        lexer_fail(x, ret, "unexpected end of input in duration expression");
    } else if (c == ':') {
        duration_colon(x, ret);
    } else if (is_digit(c) || (c == '.' && is_digit(lexer_peek_at(x, 1)))) {
        x->has_duration = true;
        x->is_in_duration = false;
        lexer_number(x, ret);
    } else if (c != 0 && strchr(allowed, c)) {
        if (c == ']')
            x->has_colon = x->is_in_duration = false;
        if (!take_bracket(x, ret))
            (void)take_sign(x, signs, ARRAY_LEN(signs), ret); /* one of them it is */
    } else if (!is_alpha(c) || !take_duration_word(x, ret)) {
        lexer_fail(x, ret, "unexpected character in duration expression: %s", quoted);
    }
}

void lexer_next(struct lexer *x, struct token *ret)
{
    skip(x);
    x->start = x->at;
    if (x->error[0])
        lexer_emit(x, ret, TOKEN_ERROR, 0);
    else if (x->is_in_braces)
        braces(x, ret);
    else if (x->is_in_duration)
        duration(x, ret);
    else
        statement(x, ret);
}
