/* SPDX-License-Identifier: Apache-2.0 */
/*
 * template/tlexer.c - words of a template.
 *
 * A trim marker is a '-' next to the braces with white space on its other side: {{- x -}}. So
 * {{-3}} is a number. A comment fills its action: nothing but trim markers is beside it.
 */
#include "template/tlexer.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>

#include "base/attr.h"
#include "base/utf8.h"

void tlexer_init(struct tlexer *l, struct span text)
{
    *l = (struct tlexer){.all = text};
}

void tlexer_place(struct span text, size_t at, int *ret_line, int *ret_column)
{
    size_t line = 1, from = 0;
    for (size_t i = 0; i < at && i < text.n; i++) {
        if (text.p[i] != '\n')
            continue;
        line++;
        from = i + 1;
    }
    *ret_line = (int)line;
    *ret_column = (int)(at - from) + 1;
}

static struct span rest(const struct tlexer *l)
{
    return span_from(l->all, l->at);
}

/* The byte n behind the current one; 0 at the end. */
static char peek(const struct tlexer *l, size_t n)
{
    return span_at(l->all, l->at + n);
}

bool tlexer_is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

/* Letters of other scripts count as letters, whatever they are. */
static bool is_letter(char c)
{
    unsigned char u = (unsigned char)c;
    return u == '_' || u >= 0x80 || isalnum(u);
}

static PRINTF_LIKE(3, 4) struct tword fail(struct tlexer *l, size_t at, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    (void)vsnprintf(l->error, sizeof(l->error), fmt, ap);
    va_end(ap);
    return (struct tword){.kind = TWORD_ERROR, .at = at};
}

static struct tword take(struct tlexer *l, enum tword_kind kind, size_t n)
{
    struct tword w = {kind, span_of(l->all.p + l->at, n), l->at};
    l->at += n;
    return w;
}

/* Whether the action ends here; *ret_n: bytes of its end, trim marker included. */
static bool is_at_close(const struct tlexer *l, size_t *ret_n)
{
    bool is_trim = tlexer_is_space(peek(l, 0)) && peek(l, 1) == '-' &&
                   span_starts_with(span_from(rest(l), 2), SPAN("}}"));
    if (!is_trim && !span_starts_with(rest(l), SPAN("}}")))
        return false;
    *ret_n = is_trim ? 4 : 2;
    return true;
}

static bool is_open_trimmed(struct span s)
{
    return s.n >= 4 && s.p[2] == '-' && tlexer_is_space(s.p[3]);
}

/* Behind the opening braces of a comment. */
static bool skip_comment(struct tlexer *l, struct tword *ret_error)
{
    size_t n = 0, end = span_find(rest(l), SPAN("*/"));
    size_t at = l->at;
    if (end == rest(l).n) {
        *ret_error = fail(l, at, "unclosed comment");
        return false;
    }
    l->at += end + 2;
    if (!is_at_close(l, &n)) {
        *ret_error = fail(l, at, "comment ends before closing delimiter");
        return false;
    }
    l->is_trimmed = n > 2;
    l->at += n;
    return true;
}

/* Text up to the next action; empty when there is none in between. */
static struct tword take_text(struct tlexer *l)
{
    while (l->is_trimmed && tlexer_is_space(peek(l, 0)))
        l->at++;
    l->is_trimmed = false;
    size_t n = span_find(rest(l), SPAN("{{"));
    struct tword w = take(l, TWORD_TEXT, n);
    if (is_open_trimmed(rest(l)))
        while (w.text.n > 0 && tlexer_is_space(w.text.p[w.text.n - 1]))
            w.text.n--;
    return w;
}

static struct tword next_outside(struct tlexer *l)
{
    struct tword error;
    for (;;) {
        struct tword w = take_text(l);
        if (w.text.n > 0)
            return w;
        if (rest(l).n == 0)
            return take(l, TWORD_END, 0);
        l->open_at = l->at;
        w = take(l, TWORD_OPEN, 2);
        if (is_open_trimmed(span_from(l->all, w.at)))
            l->at += 1 + (span_starts_with(span_from(rest(l), 2), SPAN("/*")) ? 1 : 0);
        if (!span_starts_with(rest(l), SPAN("/*"))) {
            l->is_inside = true;
            l->n_parens = 0;
            return w;
        }
        if (!skip_comment(l, &error))
            return error;
    }
}

/* Whether a word of letters may end here. */
static bool is_at_end_of_word(const struct tlexer *l)
{
    char c = peek(l, 0);
    return rest(l).n == 0 || tlexer_is_space(c) || strchr(".,|:()", c) ||
           span_starts_with(rest(l), SPAN("}}"));
}

static const char *name_of(struct span s, char dst[16])
{
    bool is_valid;
    size_t n = utf8_step(s, &is_valid);
    unsigned char c = (unsigned char)s.p[0];
    if (c < ' ' || c == 0x7f || !is_valid)
        (void)snprintf(dst, 16, "0x%02x", c);
    else
        (void)snprintf(dst, 16, "'%.*s'", n > 4 ? 4 : (int)n, s.p);
    return dst;
}

static size_t n_letters(const struct tlexer *l, size_t from)
{
    size_t n = from;
    while (is_letter(peek(l, n)))
        n++;
    return n;
}

static struct tword take_word(struct tlexer *l, enum tword_kind kind, size_t n)
{
    char name[16];
    struct tword w = take(l, kind, n);
    if (!is_at_end_of_word(l))
        return fail(l, l->at, "bad character %s", name_of(rest(l), name));
    return w;
}

static bool is_keyword(struct span s)
{
    static const char *const words[] = {"block", "break", "continue", "define",   "else",
                                        "end",   "if",    "range",    "template", "with"};
    for (size_t i = 0; i < ARRAY_LEN(words); i++)
        if (span_eq(s, span_cstr(words[i])))
            return true;
    return false;
}

static struct tword take_name(struct tlexer *l)
{
    struct tword w = take_word(l, TWORD_NAME, n_letters(l, 0));
    if (w.kind == TWORD_NAME && is_keyword(w.text))
        w.kind = TWORD_KEYWORD;
    return w;
}

/* What is in it is the parser's concern; here it ends where letters and digits do. */
static struct tword take_number(struct tlexer *l)
{
    size_t n = peek(l, 0) == '+' || peek(l, 0) == '-' ? 1 : 0;
    bool is_hex = peek(l, n) == '0' && (peek(l, n + 1) | 0x20) == 'x';
    char exponent = is_hex ? 'p' : 'e';
    while (is_letter(peek(l, n)) || peek(l, n) == '.') {
        bool is_signed =
            (peek(l, n) | 0x20) == exponent && (peek(l, n + 1) == '+' || peek(l, n + 1) == '-');
        n += is_signed ? 2 : 1;
    }
    struct tword w = take(l, TWORD_NUMBER, n);
    if (!is_at_end_of_word(l))
        return fail(l, w.at, "bad number syntax: \"%.*s\"", (int)(n > 40 ? 40 : n) + 1, w.text.p);
    return w;
}

static struct tword take_quoted(struct tlexer *l, char quote)
{
    static const char *const what[] = {"unterminated character constant",
                                       "unterminated quoted string",
                                       "unterminated raw quoted string"};
    enum tword_kind kind = quote == '\'' ? TWORD_CHAR : quote == '"' ? TWORD_STRING : TWORD_RAW;
    size_t n = 1;
    for (; n < rest(l).n && peek(l, n) != quote; n++) {
        if (kind != TWORD_RAW && peek(l, n) == '\n')
            break;
        if (kind != TWORD_RAW && peek(l, n) == '\\' && peek(l, n + 1) != '\n')
            n++;
    }
    if (n >= rest(l).n || peek(l, n) != quote)
        return fail(l, l->at, "%s", what[kind - TWORD_CHAR]);
    return take(l, kind, n + 1);
}

static struct tword take_paren(struct tlexer *l, bool is_left)
{
    l->n_parens += is_left ? 1 : -1;
    if (l->n_parens < 0)
        return fail(l, l->at, "unexpected right paren");
    return take(l, is_left ? TWORD_LEFT_PAREN : TWORD_RIGHT_PAREN, 1);
}

static struct tword take_close(struct tlexer *l, size_t n)
{
    if (l->n_parens > 0)
        return fail(l, l->at, "unclosed left paren");
    l->is_inside = false;
    l->is_trimmed = n > 2;
    return take(l, TWORD_CLOSE, n);
}

static struct tword take_space(struct tlexer *l)
{
    size_t n = 0, n_close;
    struct tword w = take(l, TWORD_SPACE, 0);
    while (tlexer_is_space(peek(l, 0)) && !(n > 0 && is_at_close(l, &n_close))) {
        l->at++;
        n++;
    }
    w.text.n = n;
    return w;
}

static struct tword next_inside(struct tlexer *l)
{
    char c = peek(l, 0), name[16];
    size_t n_close;
    if (is_at_close(l, &n_close))
        return take_close(l, n_close);
    if (rest(l).n == 0)
        return fail(l, l->open_at, "unclosed action");
    if (tlexer_is_space(c))
        return take_space(l);
    switch (c) {
    case '|':
        return take(l, TWORD_BAR, 1);
    case ',':
        return take(l, TWORD_COMMA, 1);
    case '=':
        return take(l, TWORD_ASSIGN, 1);
    case ':':
        if (peek(l, 1) != '=')
            return fail(l, l->at, "expected :=");
        return take(l, TWORD_DECLARE, 2);
    case '(':
    case ')':
        return take_paren(l, c == '(');
    case '"':
    case '`':
    case '\'':
        return take_quoted(l, c);
    case '$':
        return take_word(l, TWORD_VARIABLE, n_letters(l, 1));
    default:
        break;
    }
    if (isdigit((unsigned char)c) || c == '+' || c == '-' ||
        (c == '.' && isdigit((unsigned char)peek(l, 1))))
        return take_number(l);
    if (c == '.' && !is_letter(peek(l, 1)))
        return take_word(l, TWORD_DOT, 1);
    if (c == '.')
        return take_word(l, TWORD_FIELD, n_letters(l, 1));
    if (is_letter(c))
        return take_name(l);
    return fail(l, l->at, "unexpected %s in an action", name_of(rest(l), name));
}

struct tword tlexer_next(struct tlexer *l)
{
    return l->is_inside ? next_inside(l) : next_outside(l);
}
